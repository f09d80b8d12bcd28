//! Property tests: no text makes the reader panic, and the model that it makes of a text can be read again.

use crate::program::condense;
use proptest::prelude::*;
use unsnarl_trace::program::{Unit, decode, encode};

/// A module with something of everything.
const TEXT: &str = include_str!("everything.ll");

/// All that others do with a unit.
fn use_up(unit: &Unit) {
    let blob = encode(unit).unwrap();
    assert_eq!(&decode(&blob).unwrap().1, unit);
    assert!(!unit.to_string().is_empty());
}

#[test]
fn the_whole_text_is_understood() {
    let unit = condense(TEXT).unwrap();
    assert_eq!(unit.problems, [""; 0]);
    use_up(&unit);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cut_off_texts(end in 0..TEXT.len()) {
        if let Ok(unit) = condense(TEXT.get(..end).unwrap_or(TEXT)) {
            use_up(&unit);
        }
    }

    #[test]
    fn texts_with_changed_bytes(changes in proptest::collection::vec((0..TEXT.len(), any::<u8>()), 1..40)) {
        let mut bytes = TEXT.as_bytes().to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        if let Ok(unit) = condense(&String::from_utf8_lossy(&bytes)) {
            use_up(&unit);
        }
    }

    /// Pieces of real lines in another order.
    #[test]
    fn mixed_up_lines(order in proptest::collection::vec((0..1000usize, 0..60usize), 1..60)) {
        let lines: Vec<&str> = TEXT.lines().collect();
        let piece = |(line, cut): (usize, usize)| {
            let line = lines[line % lines.len()];
            line.get(..line.len().saturating_sub(cut)).unwrap_or(line)
        };
        let mixed: Vec<&str> = order.into_iter().map(piece).collect();
        if let Ok(unit) = condense(&format!("source_filename = \"a\"\n{}", mixed.join("\n"))) {
            use_up(&unit);
        }
    }

    #[test]
    fn deep_nests(depth in 0..3000usize, open in "[\\[{<(]|getelementptr \\(i8, ptr |i32 \\[1 x ") {
        let text = format!("source_filename = \"a\"\n@a = global {}\n@b = global ptr {}\n", open.repeat(depth), open.repeat(depth));
        use_up(&condense(&text).unwrap());
    }
}
