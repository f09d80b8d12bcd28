//! Numbers as the text writes them.

/// Returns whether a word is a number.
pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || first == '-')
}

/// The bits of an integer of this width, zero-extended; `None` if it is none, or wider than 128 bits.
pub(super) fn integer(word: &str, width: u32) -> Option<u128> {
    let bits = match word.strip_prefix('-') {
        Some(_) => word.parse::<i128>().ok()?.cast_unsigned(),
        None => word.parse::<u128>().ok()?,
    };
    (width <= 128).then_some(bits & mask(width))
}

fn mask(width: u32) -> u128 {
    match width {
        0 => 0,
        1..128 => (1 << width) - 1,
        _ => u128::MAX,
    }
}

/// The number that these bits of this width stand for, counted as signed.
pub(super) fn sign_extended(bits: u128, width: u32) -> i128 {
    match 128u32.checked_sub(width) {
        Some(above @ 0..128) => (bits << above).cast_signed() >> above,
        _ => bits.cast_signed(),
    }
}

/// The representation of a floating-point number of this width. Hexadecimal numbers are a double's, except for those
/// with a letter: `0xK` and the like.
pub(super) fn float(word: &str, width: u32) -> Option<u128> {
    let Some(digits) = word.strip_prefix("0x") else {
        let number: f64 = word.parse().ok()?;
        return narrowed(number.to_bits(), width);
    };
    match digits.chars().next()? {
        'H' | 'R' => hexadecimal(digits.get(1..)?),
        'K' => hexadecimal(digits.get(1..)?),
        // The halves stand in the order in which they lie in memory.
        'L' | 'M' => {
            let (low, high) = digits.get(1..)?.split_at_checked(16)?;
            Some(hexadecimal(high)? << 64 | hexadecimal(low)?)
        }
        _ => narrowed(u64::try_from(hexadecimal(digits)?).ok()?, width),
    }
}

fn hexadecimal(digits: &str) -> Option<u128> {
    u128::from_str_radix(digits, 16).ok()
}

/// A double's bits as those of a number of this width, which holds it exactly.
fn narrowed(double: u64, width: u32) -> Option<u128> {
    match width {
        64 => Some(double.into()),
        // A conversion would change what is not a number.
        32 if f64::from_bits(double).is_nan() => {
            let (sign, fraction) = (double >> 63, (double >> 29) & 0x7f_ffff);
            Some(u128::from(sign << 31 | 0x7f80_0000 | fraction))
        }
        32 => Some((f64::from_bits(double) as f32).to_bits().into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_cut_to_their_width() {
        assert_eq!(integer("-1", 8), Some(255));
        assert_eq!(integer("200", 8), Some(200));
        assert_eq!(
            integer("-170141183460469231731687303715884105728", 128),
            Some(1 << 127)
        );
        assert_eq!(integer("1", 256), None);
        assert_eq!(sign_extended(255, 8), -1);
        assert_eq!(sign_extended(127, 8), 127);
        assert_eq!(sign_extended(1, 128), 1);
        assert_eq!(sign_extended(0, 0), 0);
    }

    #[test]
    fn floats_keep_their_bits() {
        assert_eq!(float("1.000000e+00", 64), Some(1.0f64.to_bits().into()));
        assert_eq!(
            float("0x3FB99999A0000000", 32),
            Some(0.1f32.to_bits().into())
        );
        assert_eq!(float("0x7FF0000020000000", 32), Some(0x7f80_0001));
        assert_eq!(float("0xH3C00", 16), Some(0x3c00));
        assert_eq!(
            float("0xK3FFF8000000000000000", 80),
            Some(0x3fff_8000_0000_0000_0000)
        );
        assert_eq!(
            float("0xL00000000000000003FFF000000000000", 128),
            Some(0x3fff_0000_0000_0000_0000_0000_0000_0000)
        );
        assert_eq!(float("null", 64), None);
    }
}
