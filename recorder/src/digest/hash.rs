//! Hashing of numbers and texts, the same in every process.

use unsnarl_trace::SiteRow;

/// One multiplication to 128 bits, folded: every bit of either side reaches every bit of the result.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let wide = u128::from(a ^ 0x9E37_79B9_7F4A_7C15) * u128::from(b ^ 0xD1B5_4A32_D192_ED03);
    let folded = (wide >> 64) as u64 ^ wide as u64;
    (folded ^ a.rotate_left(23)).wrapping_mul(0xA24B_AED4_963E_E407) ^ (folded >> 31)
}

/// A hash goes on by a number that is as good as drawn: as little work as there can be for each step of a run.
pub(super) fn go_on(hash: u64, by: u64) -> u64 {
    let next = (hash.rotate_left(5) ^ by).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    next ^ next >> 32
}

/// The hash of a text.
pub(super) fn text(text: &str) -> u64 {
    text.bytes()
        .fold(text.len() as u64, |hash, byte| mix(hash, u64::from(byte)))
}

/// The hash of a place in the source, without the text that stands there.
pub(super) fn site(row: &SiteRow) -> u64 {
    let place = u64::from(row.line) << 32 | u64::from(row.column);
    mix(mix(text(&row.file), text(&row.function)), place)
}
