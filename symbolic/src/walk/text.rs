//! Calls that copy, compare and search strings.

use super::{
    calls::{Did, MadeCall},
    machine::PathMachine,
    thread::AccessChunk,
    value::Scalar,
};
use unsnarl_trace::{EventKind, ThreadId};

/// Bound on the length of a string that is examined.
pub(super) const LONGEST_TEXT: u64 = 1 << 16;

impl PathMachine<'_> {
    /// Models `std::string::compare` with a C string: the result follows from the texts, where they are
    /// known.
    pub fn compares_string(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let (string, other) = (self.place(id, made, 0)?, self.place(id, made, 1)?);
        let mut word = |at: u64| {
            let word = self.memory.read(&mut self.exprs, at, 8)?;
            Some(self.as_known(word).bits? as u64)
        };
        let (Some(from), Some(length)) = (word(string), word(string.saturating_add(8))) else {
            return Ok(Did::Strange);
        };
        let text: Option<Vec<u8>> = (0..length.min(LONGEST_TEXT))
            .map(|at| {
                let byte = self
                    .memory
                    .read(&mut self.exprs, from.saturating_add(at), 1)?;
                Some(self.as_known(byte).bits? as u8)
            })
            .collect();
        let (Some(text), Ok(other)) = (text, self.text_at(other, LONGEST_TEXT)) else {
            return Ok(Did::Strange);
        };
        let order = match text.cmp(&other) {
            std::cmp::Ordering::Less => 0xffff_ffff,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        };
        let value = Scalar::number(&mut self.exprs, order, made.width.unwrap_or(32));
        Ok(Did::Value(Some(value.into())))
    }

    /// Bytes of a string without its terminator.
    fn text_at(&mut self, at: u64, most: u64) -> Result<Vec<u8>, String> {
        self.memory
            .text(&mut self.exprs, at, most.min(LONGEST_TEXT))
            .ok_or_else(|| "a text is not known".into())
    }

    pub fn copies_text(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        if !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        let (to, from) = (self.place(id, made, 0)?, self.place(id, made, 1)?);
        let most = if made.name.starts_with("strn") {
            self.known(id, made, 2)?
        } else {
            LONGEST_TEXT
        };
        let length = self.text_at(from, most)?.len() as u64;
        let behind = match made.name {
            "strcat" | "strncat" => {
                let before = self.text_at(to, LONGEST_TEXT)?.len() as u64;
                let rows = self.rows_here(id, EventKind::Read, before + 1);
                let read = self.read_rows(id, (to, 0), &rows);
                self.fix_all(id, &read, made.name);
                to + before
            }
            _ => to,
        };
        let ends = u64::from(length < most || made.name == "strncat");
        let reads = self.rows_here(id, EventKind::Read, (length + 1).min(most));
        let mut chunks = match reads.is_empty() {
            true => {
                let by = self.by(id, None);
                self.read((from, length), by, &|_, _, _, _| None)
            }
            false => self.read_rows(id, (from, 0), &reads),
        };
        self.fix_all(id, &chunks, made.name);
        chunks.retain(|chunk| chunk.offset < length);
        let zero = Scalar::number(&mut self.exprs, 0, 8);
        let total = if made.name == "strncpy" {
            most
        } else {
            length + ends
        };
        let mut whole = self.cut_at(&chunks, length);
        whole.extend((length..total).map(|offset| AccessChunk {
            offset,
            size: 1,
            value: zero,
        }));
        self.write_here(id, behind, total, &whole);
        let result = if made.name == "stpcpy" {
            behind + length
        } else {
            to
        };
        Ok(Did::Value(Some(
            Scalar::address(&mut self.exprs, result).into(),
        )))
    }

    fn cut_at(&mut self, chunks: &[AccessChunk], length: u64) -> Vec<AccessChunk> {
        let cut = chunks.iter().map(|chunk| {
            let size = (length - chunk.offset).min(chunk.size.into()) as u8;
            let value = match size == chunk.size {
                true => chunk.value,
                false => chunk.value.bytes(&mut self.exprs, 0, size),
            };
            AccessChunk {
                size,
                value,
                ..*chunk
            }
        });
        cut.collect()
    }

    fn fix_all(&mut self, id: ThreadId, chunks: &[AccessChunk], name: &str) {
        for chunk in chunks {
            self.fixed(id, chunk.value, || format!("a text that {name} reads"));
        }
    }

    /// Models functions that only examine strings: the result is the recorded one.
    pub fn looks_at_text(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        if !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        let result = self.looked_at(id, made);
        while let Some(row) = self.row_here(id).filter(|row| row.kind == EventKind::Read) {
            let Some(at) = self.resolve(row.location) else {
                self.raw(id);
                continue;
            };
            let rows = self.take_rows(id, EventKind::Read, row.size.into());
            let chunks = self.read_rows(id, (at, 0), &rows);
            self.fix_all(id, &chunks, made.name);
        }
        let width = made.width.unwrap_or(32);
        Ok(Did::Value(Some(match result {
            Ok(bits) => Scalar::number(&mut self.exprs, bits, width).into(),
            Err(_) => self
                .outside(id, format!("result of {}", made.name), width, None)
                .into(),
        })))
    }

    fn looked_at(&mut self, id: ThreadId, made: &MadeCall) -> Result<u128, String> {
        let a = self.place(id, made, 0)?;
        let order = |a: &[u8], b: &[u8]| match a.cmp(b) {
            std::cmp::Ordering::Less => 0xffff_ffffu128,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        };
        match made.name {
            "strlen" => Ok(self.text_at(a, LONGEST_TEXT)?.len() as u128),
            "strnlen" => {
                let most = self.known(id, made, 1)?;
                Ok(self.text_at(a, most)?.len() as u128)
            }
            "strcmp" | "strncmp" => {
                let b = self.place(id, made, 1)?;
                let most = if made.name == "strncmp" {
                    self.known(id, made, 2)?
                } else {
                    LONGEST_TEXT
                };
                Ok(order(&self.text_at(a, most)?, &self.text_at(b, most)?))
            }
            "memcmp" | "bcmp" => {
                let (b, bytes) = (self.place(id, made, 1)?, self.known(id, made, 2)?);
                let mut bytes_of = |at: u64| -> Result<Vec<u8>, String> {
                    (0..bytes.min(LONGEST_TEXT))
                        .map(|offset| {
                            let byte = self
                                .memory
                                .read(&mut self.exprs, at + offset, 1)
                                .and_then(|byte| byte.bits);
                            byte.map(|byte| byte as u8)
                                .ok_or_else(|| "a byte is not known".into())
                        })
                        .collect()
                };
                Ok(order(&bytes_of(a)?, &bytes_of(b)?))
            }
            "memchr" | "memrchr" | "rawmemchr" => {
                let wanted = self.known(id, made, 1)? as u8;
                let bytes = match made.name {
                    "rawmemchr" => LONGEST_TEXT,
                    _ => self.known(id, made, 2)?.min(LONGEST_TEXT),
                };
                self.found_in(a, bytes, wanted, made.name == "memrchr")
            }
            "strstr" | "strpbrk" => {
                let b = self.place(id, made, 1)?;
                let (text, other) = (
                    self.text_at(a, LONGEST_TEXT)?,
                    self.text_at(b, LONGEST_TEXT)?,
                );
                let found = match made.name {
                    _ if other.is_empty() => (made.name == "strstr").then_some(0),
                    "strstr" => text.windows(other.len()).position(|part| part == other),
                    _ => text.iter().position(|byte| other.contains(byte)),
                };
                Ok(found.map_or(0, |at| u128::from(a) + at as u128))
            }
            "strspn" | "strcspn" => {
                let b = self.place(id, made, 1)?;
                let (text, other) = (
                    self.text_at(a, LONGEST_TEXT)?,
                    self.text_at(b, LONGEST_TEXT)?,
                );
                let goes_on = made.name == "strspn";
                let ends = |byte: &u8| other.contains(byte) != goes_on;
                Ok(text.iter().position(ends).unwrap_or(text.len()) as u128)
            }
            "strchr" | "strrchr" => {
                let wanted = self.known(id, made, 1)? as u8;
                let mut text = self.text_at(a, LONGEST_TEXT)?;
                text.push(0);
                let found = match made.name {
                    "strchr" => text.iter().position(|&byte| byte == wanted),
                    _ => text.iter().rposition(|&byte| byte == wanted),
                };
                Ok(found.map_or(0, |at| u128::from(a) + at as u128))
            }
            _ => Err("not computed".into()),
        }
    }

    /// The address of the first or last occurrence of a byte in a range; 0 if there is none.
    fn found_in(&mut self, at: u64, bytes: u64, wanted: u8, is_last: bool) -> Result<u128, String> {
        let mut found = 0;
        for place in at..at.saturating_add(bytes) {
            let byte = self.memory.read(&mut self.exprs, place, 1);
            let byte = byte.and_then(|byte| self.as_known(byte).bits);
            if byte.ok_or("a byte is not known")? == u128::from(wanted) {
                found = place.into();
                if !is_last {
                    break;
                }
            }
        }
        Ok(found)
    }
}
