//! Floating-point numbers by their bits: computed as the machine does, never symbolically.

use unsnarl_trace::program::{BinaryOp, CompareOp};

/// The number that these bits of a width mean; `None` for widths that are not computed with (16, 128).
pub(super) fn number(bits: u128, width: u8) -> Option<f64> {
    match width {
        32 => Some(f64::from(f32::from_bits(bits as u32))),
        64 => Some(f64::from_bits(bits as u64)),
        80 => Some(from_extended(bits)),
        _ => None,
    }
}

/// The bits of a number in a width.
pub(super) fn bits(number: f64, width: u8) -> Option<u128> {
    match width {
        32 => Some((number as f32).to_bits().into()),
        64 => Some(number.to_bits().into()),
        80 => Some(to_extended(number)),
        _ => None,
    }
}

/// x87's 80 bits: sign, 15 bits of exponent, 64 bits with the leading one.
fn from_extended(bits: u128) -> f64 {
    let sign = if bits >> 79 & 1 == 1 { -1.0 } else { 1.0 };
    let exponent = (bits >> 64 & 0x7fff) as i32;
    let fraction = bits as u64;
    match (exponent, fraction << 1) {
        (0x7fff, 0) => sign * f64::INFINITY,
        (0x7fff, _) => f64::NAN,
        // In two steps: the power by itself may be too small for a number.
        _ => {
            let power = exponent - 16383 - 63;
            let half = power / 2;
            sign * (fraction as f64) * 2f64.powi(half) * 2f64.powi(power - half)
        }
    }
}

fn to_extended(number: f64) -> u128 {
    let raw = number.to_bits();
    let sign = u128::from(raw >> 63) << 79;
    let (exponent, fraction) = ((raw >> 52 & 0x7ff) as u128, u128::from(raw << 12));
    match exponent {
        0 if fraction == 0 => sign,
        0 => {
            // Smaller than any normal number: shifted until the leading one is there.
            let zeros = (fraction as u64).leading_zeros();
            let fraction = (fraction as u64) << zeros;
            let exponent = 16383u128.saturating_sub(1022 + u128::from(zeros) + 1);
            sign | exponent << 64 | u128::from(fraction)
        }
        0x7ff => sign | 0x7fff << 64 | 1 << 63 | fraction >> 1,
        _ => sign | (exponent + 16383 - 1023) << 64 | 1 << 63 | fraction >> 1,
    }
}

/// Arithmetic on two numbers of a width.
pub(super) fn binary(op: BinaryOp, a: u128, b: u128, width: u8) -> Option<u128> {
    if width == 32 {
        let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        let result = match op {
            BinaryOp::FAdd => a + b,
            BinaryOp::FSub => a - b,
            BinaryOp::FMul => a * b,
            BinaryOp::FDiv => a / b,
            BinaryOp::FRem => a % b,
            _ => return None,
        };
        return Some(result.to_bits().into());
    }
    let (a, b) = (number(a, width)?, number(b, width)?);
    let result = match op {
        BinaryOp::FAdd => a + b,
        BinaryOp::FSub => a - b,
        BinaryOp::FMul => a * b,
        BinaryOp::FDiv => a / b,
        BinaryOp::FRem => a % b,
        _ => return None,
    };
    bits(result, width)
}

/// Comparison of two numbers of a width.
pub(super) fn compare(op: CompareOp, a: u128, b: u128, width: u8) -> Option<bool> {
    let (a, b) = (number(a, width)?, number(b, width)?);
    let unordered = a.is_nan() || b.is_nan();
    Some(match op {
        CompareOp::FFalse => false,
        CompareOp::FTrue => true,
        CompareOp::FOeq => a == b,
        CompareOp::FOgt => a > b,
        CompareOp::FOge => a >= b,
        CompareOp::FOlt => a < b,
        CompareOp::FOle => a <= b,
        CompareOp::FOne => !unordered && a != b,
        CompareOp::FOrd => !unordered,
        CompareOp::FUno => unordered,
        CompareOp::FUeq => unordered || a == b,
        CompareOp::FUgt => unordered || a > b,
        CompareOp::FUge => unordered || a >= b,
        CompareOp::FUlt => unordered || a < b,
        CompareOp::FUle => unordered || a <= b,
        CompareOp::FUne => a != b,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_to_eighty_bits_and_back() {
        for value in [
            0.0,
            -0.0,
            1.0,
            -1.5,
            3.25e300,
            1e-300,
            5e-324,
            f64::INFINITY,
            2.0_f64.powi(52) + 1.0,
        ] {
            let wide = bits(value, 80).unwrap();
            assert_eq!(
                number(wide, 80).unwrap().to_bits(),
                value.to_bits(),
                "{value}"
            );
        }
        assert_eq!(bits(1.0, 80), Some(0x3fff << 64 | 1 << 63));
        assert!(number(bits(f64::NAN, 80).unwrap(), 80).unwrap().is_nan());
    }

    #[test]
    fn nothing_equals_what_is_no_number() {
        let (nan, one) = (f64::NAN.to_bits().into(), 1f64.to_bits().into());
        assert_eq!(compare(CompareOp::FOeq, nan, nan, 64), Some(false));
        assert_eq!(compare(CompareOp::FUne, nan, one, 64), Some(true));
        assert_eq!(compare(CompareOp::FUlt, nan, one, 64), Some(true));
        assert_eq!(
            binary(BinaryOp::FAdd, one, one, 64),
            Some(2f64.to_bits().into())
        );
        assert_eq!(compare(CompareOp::Eq, one, one, 64), None);
    }
}
