//! One line of a trace: its parts, or what was expected instead.

/// Takes the text up to the next `byte`, which is passed over; all of it when there is none.
#[inline]
pub(super) fn split(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = find(text, byte)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Where the byte stands first. Eight bytes at a time: fields and lines are short.
#[inline]
fn find(text: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let (words, rest) = text.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let differs = u64::from_le_bytes(*word) ^ (u64::from(byte) * ONES);
        // The lowest byte that is zero gets its upper bit; only bytes above it can be wrong.
        let zeros = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
        if zeros != 0 {
            return Some(i * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|&here| here == byte)?;
    Some(words.len() * 8 + at)
}

/// What a line does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    Read,
    Write,
    Acquire,
    Release,
    Fork,
    Join,
    Begin,
    End,
    /// Read and written under a lock of its own.
    Sync,
    /// Says nothing.
    Nothing,
}

/// What was expected where something else stands.
pub(super) type Expected = &'static str;

pub(super) const THREE_FIELDS: Expected = "three fields: `thread|operation(operand)|location`";
const OPERATION: Expected = "an operation: r, w, acq, rel, fork, join, begin or end";
const OPERATION_OF_CSV: Expected = "an operation: r, w, acq, rel, start, join, sync, enter or exit";
const OPERAND: Expected = "an operand in parentheses, without white space: `r(x)`";
pub(super) const THREAD: Expected = "the name of a thread in the first field";
pub(super) const ONE_COLUMN: Expected = "one column, and only one, that is not empty";

/// The parts of `thread|operation(operand)|location`.
#[inline]
pub(super) fn of_std(line: &[u8]) -> Result<[&[u8]; 3], Expected> {
    let (thread, rest) = split(line, b'|').ok_or(THREE_FIELDS)?;
    let (operation, location) = split(rest, b'|').ok_or(THREE_FIELDS)?;
    if find(location, b'|').is_some() {
        return Err(THREE_FIELDS);
    }
    if thread.is_empty() {
        return Err(THREAD);
    }
    Ok([thread, operation, location])
}

/// The column that is not empty, and what stands in it.
pub(super) fn of_csv(line: &[u8]) -> Result<(usize, &[u8]), Expected> {
    let mut cells = line.split(|&byte| byte == b',').enumerate();
    let filled = cells.find(|(_, cell)| !cell.is_empty()).ok_or(ONE_COLUMN)?;
    match cells.all(|(_, cell)| cell.is_empty()) {
        true => Ok(filled),
        false => Err(ONE_COLUMN),
    }
}

/// What `operation(operand)` does, and to what. Only operations that need none may lack an operand.
#[inline]
pub(super) fn operation(text: &[u8], is_csv: bool) -> Result<(Word, &[u8]), Expected> {
    let (word, operand) = match split(text, b'(') {
        Some((word, rest)) => (word, rest.strip_suffix(b")").ok_or(OPERAND)?),
        None => (text, &[][..]),
    };
    let word = match (word, is_csv) {
        (b"r", _) => Word::Read,
        (b"w", _) => Word::Write,
        (b"acq", _) => Word::Acquire,
        (b"rel", _) => Word::Release,
        (b"fork", _) | (b"start", true) => Word::Fork,
        (b"join", _) => Word::Join,
        (b"sync", true) => Word::Sync,
        (b"begin", _) | (b"enter", true) => return Ok((Word::Begin, operand)),
        (b"end", _) | (b"exit", true) => return Ok((Word::End, operand)),
        (b"dummy" | b"branch", _) => return Ok((Word::Nothing, operand)),
        (_, true) => return Err(OPERATION_OF_CSV),
        (_, false) => return Err(OPERATION),
    };
    if operand.is_empty() || operand.iter().any(u8::is_ascii_whitespace) {
        return Err(OPERAND);
    }
    Ok((word, operand))
}

/// A number below `bound` in decimal digits, without zeros before it.
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
        for (at, &byte) in text.iter().enumerate() {
            let first = text.iter().position(|&b| b == byte);
            assert_eq!(find(text, byte), first, "{at}");
        }
        assert_eq!(find(text, b'?'), None);
        assert_eq!(find(b"", b'?'), None);
    }

    #[test]
    fn operations() {
        assert_eq!(operation(b"r(a(b))", false), Ok((Word::Read, &b"a(b)"[..])));
        assert_eq!(operation(b"begin", false), Ok((Word::Begin, &b""[..])));
        assert_eq!(operation(b"start(T1)", true), Ok((Word::Fork, &b"T1"[..])));
        assert_eq!(operation(b"start(T1)", false), Err(OPERATION));
        for bad in [&b"r"[..], b"r()", b"r(x", b"r(x y)", b"rel", b"r x"] {
            assert!(operation(bad, false).is_err(), "{bad:?}");
        }
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
