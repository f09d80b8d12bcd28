//! Numbers for names, in the order in which they appear.
//!
//! An open-addressing hash table. A name of up to eight bytes stands in its slot as one word; longer ones are
//! compared in a copy that holds nothing else: the text is too large to stay in a cache.

use super::line::Expected;
use rustc_hash::FxHashMap;

/// Names and their numbers, from 0. Names that are read as the same text have the same number.
pub(super) struct NumberedNames<'a> {
    slots: Vec<NameSlot>,
    /// Slots that are taken: one for each way a name is written.
    taken: usize,
    names: Vec<&'a [u8]>,
    reads: fn(&[u8]) -> String,
    /// Numbers of names that may be written in several ways, by their decoded text.
    texts: FxHashMap<String, u32>,
    /// The longer names, one behind the other.
    long: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct NameSlot {
    /// The bytes of a short name; the hash of a longer one.
    key: u64,
    /// Number plus one; 0 is an empty slot.
    number: u32,
    /// 0 for a short name; its start in `long`, plus one, for a longer one.
    start: u32,
}

const FIRST_SLOTS: usize = 256;

impl<'a> NumberedNames<'a> {
    /// An empty table; `reads` decodes names that hold more than printable ASCII without `%`.
    pub(super) fn new(reads: fn(&[u8]) -> String) -> NumberedNames<'a> {
        NumberedNames {
            slots: vec![NameSlot::default(); FIRST_SLOTS],
            taken: 0,
            names: Vec::new(),
            reads,
            texts: FxHashMap::default(),
            long: Vec::new(),
        }
    }

    /// The number of a name, and whether it is new. A new one must pass the test.
    #[inline]
    pub(super) fn number(
        &mut self,
        name: &'a [u8],
        test: fn(&[u8]) -> Result<(), Expected>,
    ) -> Result<(u32, bool), Expected> {
        let short = word(name);
        let key = short.unwrap_or_else(|| hash(name));
        let mask = self.slots.len() - 1;
        let mut at = place(key) & mask;
        while let Some(slot) = self.slots.get(at) {
            let Some(number) = slot.number.checked_sub(1) else {
                break;
            };
            let is_it = || match slot.start.checked_sub(1) {
                None => short.is_some(),
                Some(start) => short.is_none() && self.is_long(start, name),
            };
            if slot.key == key && is_it() {
                return Ok((number, false));
            }
            at = (at + 1) & mask;
        }
        test(name)?;
        let before = self.names.len();
        let number = self.add(at, key, name);
        Ok((number, self.names.len() > before))
    }

    /// All names, by number.
    pub(super) fn all(&self) -> &[&'a [u8]] {
        &self.names
    }

    /// Returns whether the long name at `start` is this one. No name is the beginning of another here: a line ends
    /// each.
    fn is_long(&self, start: u32, name: &[u8]) -> bool {
        let rest = self.long.get(start as usize..).unwrap_or(&[]);
        rest.strip_prefix(name).and_then(<[u8]>::first) == Some(&END)
    }

    #[cold]
    fn add(&mut self, at: usize, key: u64, name: &'a [u8]) -> u32 {
        let number = self.number_of_text(name);
        let mut start = 0;
        if word(name).is_none() {
            start = self.long.len() as u32 + 1;
            self.long.extend_from_slice(name);
            self.long.push(END);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = NameSlot {
                key,
                number: number + 1,
                start,
            };
        }
        self.taken += 1;
        if self.taken * 4 > self.slots.len() * 3 {
            self.grow();
        }
        number
    }

    /// The number of the name with the same decoded text, or the next free one.
    fn number_of_text(&mut self, name: &'a [u8]) -> u32 {
        let next = self.names.len() as u32;
        let number = match is_simple(name) {
            true => next,
            false => *self.texts.entry((self.reads)(name)).or_insert(next),
        };
        if number == next {
            self.names.push(name);
        }
        number
    }

    fn grow(&mut self) {
        let wider = vec![NameSlot::default(); self.slots.len() * 2];
        let mask = wider.len() - 1;
        for slot in std::mem::replace(&mut self.slots, wider) {
            if slot.number == 0 {
                continue;
            }
            let mut at = place(slot.key) & mask;
            while self.slots.get(at).is_some_and(|slot| slot.number != 0) {
                at = (at + 1) & mask;
            }
            if let Some(place) = self.slots.get_mut(at) {
                *place = slot;
            }
        }
    }
}

/// Returns whether the name can be written in one way only.
fn is_simple(name: &[u8]) -> bool {
    name.iter()
        .all(|&byte| byte.is_ascii_graphic() && byte != b'%')
}

/// A byte that no name holds.
const END: u8 = b'\n';

/// A name of up to eight bytes as one number, a different one for each; none for longer names.
///
/// The length is that up to the last byte that is not zero; names that end in a zero count as longer.
#[inline]
fn word(name: &[u8]) -> Option<u64> {
    let low = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    match name {
        [.., last] if *last == 0 => None,
        [_, _, _, _, _, _, _, _, _, ..] => None,
        [..] if name.len() >= 4 => {
            let (first, last) = (name.first_chunk()?, name.last_chunk()?);
            let skipped = 8 * (name.len() as u32 - 4);
            Some(low(first) | low(last).wrapping_shl(skipped))
        }
        short => Some(
            short
                .iter()
                .rev()
                .fold(0, |word, &b| word << 8 | u64::from(b)),
        ),
    }
}

#[inline]
fn hash(name: &[u8]) -> u64 {
    let (words, _) = name.as_chunks::<8>();
    let last = name
        .last_chunk::<8>()
        .map_or(0, |last| u64::from_le_bytes(*last));
    let start = name.len() as u64;
    let hash = words
        .iter()
        .fold(start, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
    mix(hash ^ last)
}

/// The first slot in which to look for a key.
#[inline]
fn place(key: u64) -> usize {
    mix(key) as usize
}

/// Both halves of the product with a constant of which half the bits are set.
#[inline]
fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_it_stands(name: &[u8]) -> String {
        String::from_utf8_lossy(name).into_owned()
    }

    #[test]
    fn ways_to_write_one_name_share_its_number() {
        let mut names = NumberedNames::new(|name| as_it_stands(name).replace("%25", "%"));
        let fine = |_: &[u8]| Ok(());
        assert_eq!(names.number(b"%25", fine), Ok((0, true)));
        assert_eq!(names.number(b"%", fine), Ok((0, false)));
        assert_eq!(names.number(b"a", fine), Ok((1, true)));
        let ways: Vec<String> = (0..2000)
            .map(|i| "%".repeat(i % 9 + 3) + &"%25".repeat(i / 9))
            .collect();
        for way in &ways {
            let (number, _) = names.number(way.as_bytes(), fine).unwrap();
            assert_eq!(names.number(way.as_bytes(), fine), Ok((number, false)));
        }
        assert!(names.all().len() < 300);
    }

    #[test]
    fn names_keep_their_numbers_while_the_table_grows() {
        let texts: Vec<String> = (0..5000).map(|i| format!("name-{i}")).collect();
        let mut names = NumberedNames::new(as_it_stands);
        let fine = |_: &[u8]| Ok(());
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(names.number(text.as_bytes(), fine), Ok((i as u32, true)));
        }
        for (i, text) in texts.iter().enumerate() {
            assert_eq!(names.number(text.as_bytes(), fine), Ok((i as u32, false)));
        }
        assert_eq!(names.number(b"", fine), Ok((5000, true)));
        assert_eq!(names.number(b"x", |_| Err("no x")), Err("no x"));
        assert_eq!(names.all().len(), 5001);
    }

    #[test]
    fn names_that_are_nearly_the_same_are_told_apart() {
        let texts: [&[u8]; 14] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0",
            b"aaa",
            b"aaaa",
            b"aaaaa",
            b"aaaaaaa",
            b"aaaaaaaa",
            b"aaaaaaa\0",
            b"aaaaaaaaa",
            b"aaaaaaaaaa",
            b"aaaaaaaa\0",
        ];
        let mut names = NumberedNames::new(as_it_stands);
        for round in [true, false] {
            for (i, text) in texts.iter().enumerate() {
                assert_eq!(
                    names.number(text, |_| Ok(())),
                    Ok((i as u32, round)),
                    "{text:?}"
                );
            }
        }
        assert_eq!(names.all(), texts);
    }
}
