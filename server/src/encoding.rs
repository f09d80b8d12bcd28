//! Columns: bytes inside, the client's units at the protocol boundary.

/// The unit in which the client counts columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// 16-bit units; the protocol's default.
    #[default]
    Utf16,
}

impl Encoding {
    /// Units in front of a byte of a line; a byte inside a character counts as its first.
    pub fn units(self, line: &str, byte: usize) -> u32 {
        let before = line
            .char_indices()
            .take_while(|(at, c)| at + c.len_utf8() <= byte);
        before.map(|(_, c)| self.width(c)).sum::<usize>() as u32
    }

    /// The byte at a unit of a line; the line's length for units past its end.
    pub fn byte(self, line: &str, units: u32) -> usize {
        let mut seen = 0;
        for (at, c) in line.char_indices() {
            seen += self.width(c);
            if seen > units as usize {
                return at;
            }
        }
        line.len()
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wide_characters() {
        let line = "a😀é=1";
        assert_eq!(Encoding::Utf16.units(line, 5), 3);
        assert_eq!(Encoding::Utf16.byte(line, 3), 5);
        assert_eq!(Encoding::Utf16.byte(line, 2), 1, "inside the pair");
        assert_eq!(Encoding::Utf8.byte(line, 99), line.len());
    }

    proptest! {
        #[test]
        fn there_and_back(line in "[a-é😀-😂]{0,12}") {
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                for (byte, _) in line.char_indices() {
                    prop_assert_eq!(encoding.byte(&line, encoding.units(&line, byte)), byte);
                }
            }
        }
    }
}
