//! Words of a line, and parsers for single words.

use crate::model::Value;

/// The words of a line, one after the other. Backticks hold a word with spaces together.
pub(super) struct LineWords<'a> {
    rest: &'a str,
}

impl<'a> LineWords<'a> {
    pub(super) fn of(line: &'a str) -> LineWords<'a> {
        LineWords { rest: line.trim() }
    }

    /// The rest of the line, which has not been taken.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// The next word without taking it; a quoted text is no word.
    pub(super) fn peek(&self) -> Option<&'a str> {
        let is_word = !self.rest.is_empty() && !self.rest.starts_with('"');
        is_word.then(|| self.rest.split_at(self.end_of_word()).0)
    }

    /// Takes the next word.
    pub(super) fn take(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = self.rest.split_at(word.len()).1.trim_start();
        Some(word)
    }

    /// Takes the next word if it passes the test.
    pub(super) fn take_if(&mut self, test: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.peek().filter(|word| test(word))?;
        self.take()
    }

    fn end_of_word(&self) -> usize {
        let mut in_ticks = false;
        let end = self.rest.find(|c: char| {
            in_ticks ^= c == '`';
            c.is_whitespace() && !in_ticks
        });
        end.unwrap_or(self.rest.len())
    }
}

/// A name without its backticks.
pub(super) fn name(word: &str) -> &str {
    word.strip_prefix('`')
        .and_then(|word| word.strip_suffix('`'))
        .unwrap_or(word)
}

/// Parses a number; a negative one has the bits that it has in `size` bytes.
pub(super) fn number(word: &str, size: u32) -> Option<u64> {
    if let Some(digits) = word.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    match word.parse::<i64>() {
        Ok(negative) if negative < 0 => Some(negative as u64 & mask(size)),
        _ => word.parse().ok(),
    }
}

fn mask(size: u32) -> u64 {
    u64::MAX
        .checked_shr(64u32.saturating_sub(size.saturating_mul(8)))
        .unwrap_or(u64::MAX)
}

/// Parses `3->4`.
pub(super) fn exchange(word: &str, size: u32) -> Option<(u64, u64)> {
    let (old, new) = word.split_once("->")?;
    Some((number(old, size)?, number(new, size)?))
}

/// The place after `@`.
pub(super) struct ScriptPlace<'a> {
    pub(super) file: Option<&'a str>,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Parses `67`, `67:3`, `bank.c:67`, `bank.c:67:3`.
pub(super) fn place(word: &str) -> Option<ScriptPlace<'_>> {
    let word = name(word);
    let (head, last) = match word.rsplit_once(':') {
        None => {
            return Some(ScriptPlace {
                file: None,
                line: word.parse().ok()?,
                column: 0,
            });
        }
        Some((head, last)) => (head, last.parse().ok()?),
    };
    if let Ok(line) = head.parse() {
        return Some(ScriptPlace {
            file: None,
            line,
            column: last,
        });
    }
    match head
        .rsplit_once(':')
        .map(|(file, line)| (file, line.parse()))
    {
        Some((file, Ok(line))) => Some(ScriptPlace {
            file: Some(file),
            line,
            column: last,
        }),
        _ => Some(ScriptPlace {
            file: Some(head),
            line: last,
            column: 0,
        }),
    }
}

/// A value whose location has no number yet.
pub(super) enum GivenValue<'a> {
    Bits(u64),
    AddressOf(&'a str),
}

/// Parses `=300` or `=&name`.
pub(super) fn given(word: &str, size: u32) -> Option<GivenValue<'_>> {
    let word = word.strip_prefix('=')?;
    match word.strip_prefix('&') {
        Some(location) => Some(GivenValue::AddressOf(name(location))),
        None => number(word, size).map(GivenValue::Bits),
    }
}

impl GivenValue<'_> {
    /// The value, with the location's number from `location`.
    pub(super) fn value(self, location: impl FnOnce(&str) -> crate::LocationId) -> Value {
        match self {
            GivenValue::Bits(bits) => Value::Bits(bits),
            GivenValue::AddressOf(name) => Value::Address(location(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number("-1", 4), Some(0xffff_ffff));
        assert_eq!(number("-1", 8), Some(u64::MAX));
        assert_eq!(number("-2", 1), Some(0xfe));
        assert_eq!(number("0xff", 4), Some(255));
        assert_eq!(number("18446744073709551615", 8), Some(u64::MAX));
        assert_eq!(number("x", 4), None);
    }

    #[test]
    fn places() {
        let parts = |word| place(word).map(|place| (place.file, place.line, place.column));
        assert_eq!(parts("7"), Some((None, 7, 0)));
        assert_eq!(parts("7:3"), Some((None, 7, 3)));
        assert_eq!(parts("a.c:7"), Some((Some("a.c"), 7, 0)));
        assert_eq!(parts("`my a.c:7:3`"), Some((Some("my a.c"), 7, 3)));
        assert_eq!(parts("a.c"), None);
    }
}
