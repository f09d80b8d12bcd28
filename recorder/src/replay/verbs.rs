//! Events as sentences.

use std::fmt::Write as _;
use unsnarl_trace::{Event, Run, Value};

/// `main.1 writes balance = 40 at bank.c:31`
pub(super) fn sentence(run: &Run, event: &Event) -> String {
    let thread = &run.meta.thread(event.thread).name;
    let mut text = format!("{thread} {}", event.kind.verb());
    let location = run.location(event.location);
    if !location.is_empty() {
        text.push(' ');
        text.push_str(location);
    }
    // Writing to a `String` cannot fail.
    let _ = match (event.other_thread(), event.value) {
        (Some(other), _) => write!(text, " {}", run.meta.thread(other).name),
        (None, Some(Value::Bits(bits))) if event.kind.is_access() => {
            write!(text, " = {}", signed(bits, event.size))
        }
        (None, Some(Value::Address(place))) => write!(text, " = &{}", run.location(place)),
        (None, Some(Value::Bits(_)) | None) => Ok(()),
    };
    let site = run.meta.site(event.site);
    if site.line != 0 {
        let file = site
            .file
            .strip_prefix(&run.meta.directory)
            .map_or(site.file.as_str(), |rest| rest.trim_start_matches('/'));
        let _ = write!(text, " at {file}:{}", site.line);
    }
    text
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
