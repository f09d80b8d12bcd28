//! One line of a trace: its parts, or what was expected instead.

/// Position of the first `byte` in `text` between `from` and `end`. Looks at eight bytes at a time, including some
/// behind `end`: lines and fields are short, the text is long.
#[inline]
pub(super) fn find(text: &[u8], from: usize, end: usize, byte: u8) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let mut at = from;
    while at < end {
        let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) else {
            let rest = text.get(at..end)?.iter();
            return rest.copied().position(|here| here == byte).map(|i| at + i);
        };
        let differs = u64::from_le_bytes(*word) ^ (u64::from(byte) * ONES);
        // The lowest byte that is zero gets its upper bit; only bytes above it can be wrong.
        let zeros = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
        if zeros != 0 {
            let found = at + zeros.trailing_zeros() as usize / 8;
            return (found < end).then_some(found);
        }
        at += 8;
    }
    None
}

/// The operation of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineOperation {
    Read,
    Write,
    Acquire,
    Release,
    Fork,
    Join,
    Begin,
    End,
    /// A read and a write under a lock of its own.
    Sync,
    /// An operation that is not an event.
    Nothing,
}

/// The form that was expected where something else stands.
pub(super) type Expected = &'static str;

pub(super) const THREE_FIELDS: Expected = "three fields: `thread|operation(operand)|location`";
const OPERATION: Expected = "an operation: r, w, acq, rel, fork, join, begin or end";
const OPERATION_OF_CSV: Expected = "an operation: r, w, acq, rel, start, join, sync, enter or exit";
const OPERAND: Expected = "an operand in parentheses, without white space: `r(x)`";
pub(super) const THREAD: Expected = "the name of a thread in the first field";
pub(super) const ONE_COLUMN: Expected = "one column, and only one, that is not empty";

/// The parts of `thread|operation(operand)|location`, the line from `start` to before `end` of the text.
#[inline]
pub(super) fn of_std(text: &[u8], start: usize, end: usize) -> Result<[&[u8]; 3], Expected> {
    let first = find(text, start, end, b'|').ok_or(THREE_FIELDS)?;
    let second = find(text, first + 1, end, b'|').ok_or(THREE_FIELDS)?;
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or(&[]);
    let thread = part(start, first);
    if thread.is_empty() {
        return Err(THREAD);
    }
    Ok([thread, part(first + 1, second), part(second + 1, end)])
}

/// The column that is not empty, and its text.
pub(super) fn of_csv(line: &[u8]) -> Result<(usize, &[u8]), Expected> {
    let mut cells = line.split(|&byte| byte == b',').enumerate();
    let filled = cells.find(|(_, cell)| !cell.is_empty()).ok_or(ONE_COLUMN)?;
    match cells.all(|(_, cell)| cell.is_empty()) {
        true => Ok(filled),
        false => Err(ONE_COLUMN),
    }
}

/// Parses `operation(operand)`. Operations other than those that need none must have an operand. White space in the
/// operand is not checked here: see [`is_name`].
#[inline]
pub(super) fn operation(text: &[u8], is_csv: bool) -> Result<(LineOperation, &[u8]), Expected> {
    // By far the most.
    if let [word @ (b'r' | b'w'), b'(', operand @ .., b')'] = text
        && !operand.is_empty()
    {
        let is_read = *word == b'r';
        return Ok((
            if is_read {
                LineOperation::Read
            } else {
                LineOperation::Write
            },
            operand,
        ));
    }
    let (word, operand) = match find(text, 0, text.len(), b'(') {
        Some(at) => {
            let rest = text.get(at + 1..).unwrap_or(&[]);
            let operand = rest.strip_suffix(b")").ok_or(OPERAND)?;
            (text.get(..at).unwrap_or(&[]), operand)
        }
        None => (text, &[][..]),
    };
    let word = match (word, is_csv) {
        (b"r", _) => LineOperation::Read,
        (b"w", _) => LineOperation::Write,
        (b"acq", _) => LineOperation::Acquire,
        (b"rel", _) => LineOperation::Release,
        (b"fork", _) | (b"start", true) => LineOperation::Fork,
        (b"join", _) => LineOperation::Join,
        (b"sync", true) => LineOperation::Sync,
        (b"begin", _) | (b"enter", true) => return Ok((LineOperation::Begin, operand)),
        (b"end", _) | (b"exit", true) => return Ok((LineOperation::End, operand)),
        (b"dummy" | b"branch", _) => return Ok((LineOperation::Nothing, operand)),
        (_, true) => return Err(OPERATION_OF_CSV),
        (_, false) => return Err(OPERATION),
    };
    if operand.is_empty() {
        return Err(OPERAND);
    }
    Ok((word, operand))
}

/// Checks that an operand is a valid name. Called when a name is new.
pub(super) fn is_name(operand: &[u8]) -> Result<(), Expected> {
    match operand.iter().any(u8::is_ascii_whitespace) {
        true => Err(OPERAND),
        false => Ok(()),
    }
}

/// Checks that a place is valid. Called when a place is new.
pub(super) fn is_place(place: &[u8]) -> Result<(), Expected> {
    match place.contains(&b'|') {
        true => Err(THREE_FIELDS),
        false => Ok(()),
    }
}

/// Parses a number below `bound` in decimal digits, without leading zeros.
#[inline]
pub(super) fn number(text: &[u8], bound: usize) -> Option<usize> {
    if text.is_empty() || text.len() > 7 || (text.len() > 1 && text.first() == Some(&b'0')) {
        return None;
    }
    let number = text.iter().try_fold(0usize, |number, &digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + usize::from(digit))
    })?;
    (number < bound).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_found_where_it_stands_first() {
        let text = b"0123456789abcdef\x01|\x80|xyz";
        for end in 0..=text.len() {
            for from in 0..=end {
                for &byte in text.iter().chain(b"?") {
                    let first = text[from..end].iter().position(|&b| b == byte);
                    assert_eq!(find(text, from, end, byte), first.map(|at| from + at));
                }
            }
        }
    }

    #[test]
    fn operations() {
        assert_eq!(
            operation(b"r(a(b))", false),
            Ok((LineOperation::Read, &b"a(b)"[..]))
        );
        assert_eq!(
            operation(b"begin", false),
            Ok((LineOperation::Begin, &b""[..]))
        );
        assert_eq!(
            operation(b"start(T1)", true),
            Ok((LineOperation::Fork, &b"T1"[..]))
        );
        assert_eq!(operation(b"start(T1)", false), Err(OPERATION));
        for bad in [&b"r"[..], b"r()", b"r(x", b"rel", b"r x"] {
            assert!(operation(bad, false).is_err(), "{bad:?}");
        }
        assert!(is_name(b"x y").is_err() && is_name(b"x|y").is_ok());
        assert!(is_place(b"x y").is_ok() && is_place(b"x|y").is_err());
    }

    #[test]
    fn columns() {
        assert_eq!(of_csv(b",,r(x),"), Ok((2, &b"r(x)"[..])));
        assert_eq!(of_csv(b",,"), Err(ONE_COLUMN));
        assert_eq!(of_csv(b"r(x),w(x)"), Err(ONE_COLUMN));
    }

    #[test]
    fn numbers() {
        assert_eq!(number(b"0", 10), Some(0));
        assert_eq!(number(b"907", 1000), Some(907));
        for bad in [&b""[..], b"10", b"01", b"1x", b"-1", b"99999999999"] {
            assert_eq!(number(bad, 10), None, "{bad:?}");
        }
    }
}
