//! The grammar of results: names, tuples, lists, strings.

use super::{MiValue, Results};

/// Nesting of values that is followed; gdb's own is below ten.
const DEPTH: usize = 64;

/// The part of a line that is not read yet.
pub struct Reader<'a>(pub &'a str);

impl<'a> Reader<'a> {
    fn takes(&mut self, expected: char) -> bool {
        let rest = self.0.strip_prefix(expected);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn name(&mut self) -> Option<&'a str> {
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let end = self.0.find(is_end).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        (!name.is_empty()).then_some(name)
    }

    /// A name and results, up to the end of the line.
    pub fn class(&mut self) -> Option<(String, Results)> {
        let class = self.name()?.to_owned();
        let mut all = Vec::new();
        while self.takes(',') {
            all.push(self.result(0)?);
        }
        self.0.is_empty().then_some((class, Results(all)))
    }

    /// A string that is followed by nothing.
    pub fn only_string(&mut self) -> Option<String> {
        let text = self.string()?;
        self.0.is_empty().then_some(text)
    }

    fn result(&mut self, depth: usize) -> Option<(String, MiValue)> {
        let name = self.name()?.to_owned();
        let value = self.takes('=').then(|| self.value(depth))?;
        Some((name, value?))
    }

    fn value(&mut self, depth: usize) -> Option<MiValue> {
        if depth > DEPTH {
            return None;
        }
        if self.takes('{') {
            let all = self.until('}', |reader| reader.result(depth + 1))?;
            return Some(MiValue::Tuple(Results(all)));
        }
        if self.takes('[') {
            let all = self.until(']', |reader| reader.member(depth + 1))?;
            return Some(MiValue::List(all));
        }
        self.string().map(MiValue::Text)
    }

    fn member(&mut self, depth: usize) -> Option<MiValue> {
        if self.0.starts_with(['"', '{', '[']) {
            return self.value(depth);
        }
        self.result(depth).map(|(_, value)| value)
    }

    fn until<T>(
        &mut self,
        end: char,
        mut one: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut all = Vec::new();
        if self.takes(end) {
            return Some(all);
        }
        loop {
            all.push(one(self)?);
            if self.takes(end) {
                return Some(all);
            }
            self.takes(',').then_some(())?;
        }
    }

    /// A C string. Bytes that are no text are replaced.
    fn string(&mut self) -> Option<String> {
        self.takes('"').then_some(())?;
        let mut bytes = Vec::new();
        loop {
            let mut characters = self.0.chars();
            let next = characters.next()?;
            self.0 = characters.as_str();
            match next {
                '"' => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                '\\' => bytes.push(self.escaped()?),
                plain => bytes.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    fn escaped(&mut self) -> Option<u8> {
        let digits: String = self
            .0
            .chars()
            .take(3)
            .take_while(|c| ('0'..='7').contains(c))
            .collect();
        if !digits.is_empty() {
            self.0 = self.0.get(digits.len()..)?;
            return u8::try_from(u32::from_str_radix(&digits, 8).ok()?).ok();
        }
        let mut characters = self.0.chars();
        let next = characters.next()?;
        self.0 = characters.as_str();
        Some(match next {
            'a' => 7,
            'b' => 8,
            't' => b'\t',
            'n' => b'\n',
            'v' => 11,
            'f' => 12,
            'r' => b'\r',
            'e' => 27,
            same => u8::try_from(same).ok()?,
        })
    }
}
