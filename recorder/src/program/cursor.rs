//! Tokens of LLVM's textual intermediate representation.

use super::trouble::{Parse, Trouble};

/// A token. Names stand as in the text: without quotes, but with what is escaped in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'t> {
    /// A word or a number.
    Word(&'t str),
    /// `%name` or `%"name"`.
    Local(&'t str),
    /// `@name` or `@"name"`.
    Global(&'t str),
    /// `!name`, `!12`, or a lone `!`.
    Meta(&'t str),
    /// `"text"`, also `!"text"`.
    Text(&'t str),
    /// `c"text"`.
    Bytes(&'t str),
    /// Anything else.
    Mark(char),
    /// The text is over.
    End,
}

/// A place in a text, from which tokens are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    /// The rest of the text, which has not been read yet.
    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Passes over blanks and comments.
    fn skip_blanks(&mut self) {
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b';' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Returns the next token without advancing.
    pub fn peek(&self) -> Token<'t> {
        self.clone_next()
    }

    fn clone_next(mut self) -> Token<'t> {
        self.next()
    }

    /// Returns the next token and advances.
    pub fn next(&mut self) -> Token<'t> {
        self.skip_blanks();
        let Some(byte) = self.byte(self.at) else {
            return Token::End;
        };
        match byte {
            b'%' => self.name().map_or(Token::Mark('%'), Token::Local),
            b'@' => self.name().map_or(Token::Mark('@'), Token::Global),
            b'!' if self.byte(self.at + 1) == Some(b'"') => {
                self.at += 1;
                Token::Text(self.quoted())
            }
            b'!' => Token::Meta(self.name().unwrap_or_else(|| {
                self.at += 1;
                ""
            })),
            b'"' => Token::Text(self.quoted()),
            b'c' if self.byte(self.at + 1) == Some(b'"') => {
                self.at += 1;
                Token::Bytes(self.quoted())
            }
            byte if is_word(byte) => Token::Word(self.word()),
            _ => self.mark(),
        }
    }

    fn mark(&mut self) -> Token<'t> {
        match self.rest().chars().next() {
            Some(mark) => {
                self.at += mark.len_utf8();
                Token::Mark(mark)
            }
            None => Token::End,
        }
    }

    /// Reads a name behind a sigil; does not advance if there is none.
    fn name(&mut self) -> Option<&'t str> {
        match self.byte(self.at + 1) {
            Some(b'"') => {
                self.at += 1;
                Some(self.quoted())
            }
            Some(byte) if is_word(byte) => {
                self.at += 1;
                Some(self.word())
            }
            _ => {
                self.at += usize::from(self.byte(self.at) != Some(b'!'));
                None
            }
        }
    }

    fn word(&mut self) -> &'t str {
        let bytes = self.rest().as_bytes();
        let length = bytes.iter().take_while(|&&byte| is_word(byte)).count();
        let word = self.rest().get(..length).unwrap_or("");
        self.at += length;
        word
    }

    /// Reads a quoted text that begins here; to the end if its end is missing.
    fn quoted(&mut self) -> &'t str {
        self.at += 1;
        let rest = self.rest();
        let length = rest.find('"').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.text.len());
        rest.get(..length).unwrap_or("")
    }

    /// Passes over the mark if it comes next.
    pub fn eat(&mut self, mark: char) -> bool {
        self.eat_token(Token::Mark(mark))
    }

    /// Passes over the word if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        self.eat_token(Token::Word(word))
    }

    fn eat_token(&mut self, wanted: Token<'_>) -> bool {
        let mut ahead = *self;
        let is_it = ahead.next() == wanted;
        if is_it {
            *self = ahead;
        }
        is_it
    }

    /// Passes over the mark, which must come next.
    pub fn expect(&mut self, mark: char) -> Parse<()> {
        match self.eat(mark) {
            true => Ok(()),
            false => Err(Trouble::expected(&format!("`{mark}`"))),
        }
    }

    /// Passes over the word, which must come next.
    pub fn expect_word(&mut self, word: &str) -> Parse<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(Trouble::expected(&format!("`{word}`"))),
        }
    }

    /// Passes over words of this list.
    pub fn skip_words(&mut self, words: &[&str]) {
        loop {
            let mut ahead = *self;
            match ahead.next() {
                Token::Word(word) if words.contains(&word) => *self = ahead,
                _ => return,
            }
        }
    }

    /// Skips a bracket that comes next, with everything inside; does nothing if there is none.
    pub fn skip_brackets(&mut self) {
        if matches!(self.peek(), Token::Mark('(' | '[' | '{' | '<')) {
            let mut depth = 0u32;
            loop {
                match self.next() {
                    Token::Mark('(' | '[' | '{' | '<') => depth += 1,
                    Token::Mark(')' | ']' | '}' | '>') => depth -= 1,
                    Token::End => return,
                    _ => {}
                }
                if depth == 0 {
                    return;
                }
            }
        }
    }

    /// Skips an attribute's argument in round brackets, if it comes next.
    pub fn skip_round(&mut self) {
        if self.peek() == Token::Mark('(') {
            self.skip_brackets();
        }
    }

    /// Skips everything up to a comma or closing bracket of the enclosing element.
    pub fn skip_element(&mut self) {
        loop {
            match self.peek() {
                Token::Mark(',' | ')' | ']' | '}' | '>') | Token::End => return,
                Token::Mark('(' | '[' | '{' | '<') => self.skip_brackets(),
                _ => {
                    self.next();
                }
            }
        }
    }

    /// Reads a number.
    pub fn number(&mut self) -> Parse<u64> {
        match self.next() {
            Token::Word(word) => word.parse().map_err(|_| Trouble::expected("a number")),
            _ => Err(Trouble::expected("a number")),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-' | b'+')
}

/// The bytes of a quoted text, with `\0A` and the like decoded.
pub(super) fn unescaped(raw: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, length) = match (first, behind) {
            (b'\\', [b'\\', ..]) => (b'\\', 2),
            (b'\\', [high, low, ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (first, 1),
            },
            _ => (first, 1),
        };
        bytes.push(byte);
        rest = rest.get(length..).unwrap_or(&[]);
    }
    bytes
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char)
        .to_digit(16)
        .and_then(|digit| digit.try_into().ok())
}

/// A quoted text or name as people read it. A name that begins with byte 1 is the linker's as it is.
pub(super) fn plain(raw: &str) -> String {
    match raw.contains('\\') {
        true => {
            let bytes = unescaped(raw);
            let bytes = bytes.strip_prefix(&[1]).unwrap_or(&bytes);
            String::from_utf8_lossy(bytes).into_owned()
        }
        false => raw.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut cursor = Cursor::new(text);
        let more = || Some(cursor.next()).filter(|token| *token != Token::End);
        std::iter::from_fn(more).collect()
    }

    #[test]
    fn names_words_texts_and_marks() {
        use Token::*;
        assert_eq!(
            tokens("%\"a b\" = call @f(i32* -5, c\"\\00\", !\"x\") !dbg !7 #0 ; %end\n%.x"),
            [
                Local("a b"),
                Mark('='),
                Word("call"),
                Global("f"),
                Mark('('),
                Word("i32"),
                Mark('*'),
                Word("-5"),
                Mark(','),
                Bytes("\\00"),
                Mark(','),
                Text("x"),
                Mark(')'),
                Meta("dbg"),
                Meta("7"),
                Mark('#'),
                Word("0"),
                Local(".x"),
            ]
        );
        assert_eq!(
            tokens("!{é\"open"),
            [Meta(""), Mark('{'), Mark('é'), Text("open")]
        );
        assert_eq!(tokens("% @ !"), [Mark('%'), Mark('@'), Meta("")]);
    }

    #[test]
    fn brackets_are_passed_over_with_what_is_in_them() {
        let mut cursor = Cursor::new("(a, \")\", [b]) c, d");
        cursor.skip_brackets();
        cursor.skip_element();
        assert_eq!(cursor.rest(), ", d");
    }

    #[test]
    fn escaped_bytes_come_back() {
        assert_eq!(unescaped(r"a\0A\\\22\g\0"), b"a\n\\\"\\g\\0");
        assert_eq!(plain(r"\01foo"), "foo");
    }
}
