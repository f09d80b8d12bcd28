//! Events as sentences.

use std::fmt::Write as _;
use unsnarl_trace::{Event, Location, Run, Value};

/// `main.1 writes balance = 40 at bank.c:31`
pub(super) fn sentence(run: &Run, event: &Event) -> String {
    let thread = &run.meta.thread(event.thread).name;
    let mut text = format!("{thread} {}", event.kind.verb());
    let location = run.location(event.location);
    if !location.is_empty() {
        text.push(' ');
        text.push_str(&Location::in_words(location));
    }
    // Writing to a `String` cannot fail.
    let _ = match (event.other_thread(), event.value) {
        (Some(other), _) => write!(text, " {}", run.meta.thread(other).name),
        (None, Some(Value::Bits(bits))) if event.kind.is_access() => {
            let encoding = run.meta.encoding(event.location);
            let said = encoding.and_then(|encoding| encoding.text(bits, event.size));
            let said = said.unwrap_or_else(|| signed(bits, event.size));
            write!(text, " = {said}")
        }
        (None, Some(Value::Address(place))) => write!(text, " = {}", address(run.location(place))),
        (None, Some(Value::Bits(_)) | None) => Ok(()),
    };
    let site = run.meta.site(event.site);
    if site.line != 0 {
        let _ = write!(
            text,
            " at {}:{}",
            within(&run.meta.directory, &site.file),
            site.line
        );
    }
    text
}

/// A file by its path in the folder, or by its name where it is elsewhere.
fn within<'f>(folder: &str, file: &'f str) -> &'f str {
    match file.strip_prefix(folder) {
        Some(inside) => inside.trim_start_matches('/'),
        None if file.starts_with('/') => file.rsplit('/').next().unwrap_or(file),
        None => file,
    }
}

/// An address by what is there: `&count`, `the heap block from a.c:20`.
fn address(place: &str) -> String {
    match Location::of(place).is_on_heap() {
        true => Location::in_words(place),
        false => format!("&{place}"),
    }
}

/// Formats a number with a sign, where that is shorter.
fn signed(bits: u64, size: u32) -> String {
    let unused = 64u32.saturating_sub(size.min(8).saturating_mul(8));
    let signed = (bits << unused.min(63)).cast_signed() >> unused.min(63);
    match signed {
        -1000..0 if size > 1 => signed.to_string(),
        _ => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn small_negative_numbers_have_their_sign() {
        assert_eq!(signed(0xffff_ffff, 4), "-1");
        assert_eq!(signed(u64::MAX - 49, 8), "-50");
        assert_eq!(signed(0x8000_0000, 4), "2147483648");
        assert_eq!(signed(255, 1), "255");
        assert_eq!(signed(40, 4), "40");
    }
}
