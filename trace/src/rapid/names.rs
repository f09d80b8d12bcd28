//! Numbers for names, in the order in which they appear.
//!
//! An open table over hashes of whole words; the names stay where they are in the text.

use super::line::Expected;

/// Names and their numbers, from 0.
pub(super) struct Names<'a> {
    slots: Vec<Slot>,
    names: Vec<&'a [u8]>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u64,
    /// Number plus one; 0 is an empty slot.
    number: u32,
}

const FIRST_SLOTS: usize = 256;

impl<'a> Names<'a> {
    pub(super) fn new() -> Names<'a> {
        Names {
            slots: vec![Slot::default(); FIRST_SLOTS],
            names: Vec::new(),
        }
    }

    /// The number of a name, and whether it is new. A new one must pass the test.
    #[inline]
    pub(super) fn number(
        &mut self,
        name: &'a [u8],
        test: fn(&[u8]) -> Result<(), Expected>,
    ) -> Result<(u32, bool), Expected> {
        let hash = hash(name);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(slot) = self.slots.get(at) {
            let Some(number) = slot.number.checked_sub(1) else {
                break;
            };
            if slot.hash == hash && self.name(number) == name {
                return Ok((number, false));
            }
            at = (at + 1) & mask;
        }
        test(name)?;
        Ok((self.add(at, hash, name), true))
    }

    /// All names, by number.
    pub(super) fn all(&self) -> &[&'a [u8]] {
        &self.names
    }

    fn name(&self, number: u32) -> &'a [u8] {
        self.names.get(number as usize).copied().unwrap_or(&[])
    }

    #[cold]
    fn add(&mut self, at: usize, hash: u64, name: &'a [u8]) -> u32 {
        let number = self.names.len() as u32;
        self.names.push(name);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot {
                hash,
                number: number + 1,
            };
        }
        if self.names.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let wider = vec![Slot::default(); self.slots.len() * 4];
        let mask = wider.len() - 1;
        for slot in std::mem::replace(&mut self.slots, wider) {
            if slot.number == 0 {
                continue;
            }
            let mut at = slot.hash as usize & mask;
            while self.slots.get(at).is_some_and(|slot| slot.number != 0) {
                at = (at + 1) & mask;
            }
            if let Some(place) = self.slots.get_mut(at) {
                *place = slot;
            }
        }
    }
}

#[inline]
fn hash(name: &[u8]) -> u64 {
    let length = (name.len() as u64).rotate_right(8);
    let Some(last) = name.last_chunk::<8>() else {
        let bytes = name.iter();
        let short = bytes.fold(0u64, |short, &byte| short << 8 | u64::from(byte));
        return mix(short ^ length);
    };
    let (words, _) = name.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(length, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
    mix(hash ^ u64::from_le_bytes(*last))
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

    #[test]
    fn names_keep_their_numbers_while_the_table_grows() {
        let texts: Vec<String> = (0..5000).map(|i| format!("name-{i}")).collect();
        let mut names = Names::new();
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
}
