//! Sizes and alignments by the module's `target datalayout`.

/// Alignments in bytes, by kind and number of bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Alignments {
    integers: Vec<(u64, u32)>,
    floats: Vec<(u64, u32)>,
    vectors: Vec<(u64, u32)>,
    aggregate: u32,
    pointer: (u64, u32),
    is_big_endian: bool,
}

/// The defaults for what a text does not specify.
impl Default for Alignments {
    fn default() -> Alignments {
        Alignments {
            integers: vec![(1, 1), (8, 1), (16, 2), (32, 4), (64, 4)],
            floats: vec![(16, 2), (32, 4), (64, 8), (128, 16)],
            vectors: vec![(64, 8), (128, 16)],
            aggregate: 1,
            pointer: (8, 8),
            is_big_endian: false,
        }
    }
}

impl Alignments {
    /// Reads the layout that a text describes; its parts about other things than sizes are ignored.
    pub fn read(text: &str) -> Alignments {
        let mut layout = Alignments::default();
        for part in text.split('-') {
            layout.part(part);
        }
        layout
    }

    fn part(&mut self, part: &str) -> Option<()> {
        let (name, rest) = part.split_at_checked(1)?;
        let mut numbers = rest.split(':').map(|number| number.parse::<u64>().ok());
        let first = numbers.next().flatten();
        let second = numbers.next().flatten();
        let bytes = |bits: u64| u32::try_from(bits / 8).ok().map(|bytes| bytes.max(1));
        match name {
            "E" => self.is_big_endian = true,
            "p" if rest.starts_with(':') => {
                self.pointer = (second? / 8, bytes(numbers.next().flatten()?)?);
            }
            "i" => set(&mut self.integers, first?, bytes(second?)?),
            "f" => set(&mut self.floats, first?, bytes(second?)?),
            "v" => set(&mut self.vectors, first?, bytes(second?)?),
            "a" => self.aggregate = bytes(second?)?,
            _ => {}
        }
        Some(())
    }

    /// Returns whether addresses are 64 bits wide and the lowest byte comes first: the engines support nothing else.
    pub fn is_known(&self) -> bool {
        self.pointer.0 == 8 && !self.is_big_endian
    }

    /// Size and alignment of an address.
    pub fn pointer(&self) -> (u64, u32) {
        self.pointer
    }

    /// Size and alignment of an integer: those without an entry take the next larger one's, or the largest's.
    pub fn integer(&self, bits: u64) -> (u64, u32) {
        let larger = self.integers.iter().find(|(known, _)| *known >= bits);
        let align = larger.or(self.integers.last()).map_or(1, |entry| entry.1);
        (bits.div_ceil(8).next_multiple_of(u64::from(align)), align)
    }

    /// Size and alignment of a floating-point number.
    pub fn float(&self, bits: u64) -> (u64, u32) {
        let align = exactly(&self.floats, bits).unwrap_or_else(|| natural(bits.div_ceil(8)));
        (bits.div_ceil(8).next_multiple_of(u64::from(align)), align)
    }

    /// Size and alignment of a vector of this many bits.
    pub fn vector(&self, bits: u64) -> (u64, u32) {
        let align = exactly(&self.vectors, bits).unwrap_or_else(|| natural(bits.div_ceil(8)));
        (bits.div_ceil(8).next_multiple_of(u64::from(align)), align)
    }

    /// The least alignment of a structure.
    pub fn structure(&self) -> u32 {
        self.aggregate
    }
}

fn exactly(table: &[(u64, u32)], bits: u64) -> Option<u32> {
    let entry = table.iter().find(|(known, _)| *known == bits);
    entry.map(|entry| entry.1)
}

fn natural(bytes: u64) -> u32 {
    let power = bytes.checked_next_power_of_two();
    power.and_then(|power| power.try_into().ok()).unwrap_or(1)
}

/// Sets an entry of a table, which is sorted by bits.
fn set(table: &mut Vec<(u64, u32)>, bits: u64, align: u32) {
    match table.binary_search_by_key(&bits, |entry| entry.0) {
        Ok(at) => table.splice(at..=at, [(bits, align)]),
        Err(at) => table.splice(at..at, [(bits, align)]),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86_64: &str =
        "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";

    #[test]
    fn numbers_on_x86_64() {
        let layout = Alignments::read(X86_64);
        assert!(layout.is_known());
        let integers: Vec<_> = [1, 8, 24, 32, 33, 64, 128, 256]
            .into_iter()
            .map(|bits| layout.integer(bits))
            .collect();
        assert_eq!(
            integers,
            [
                (1, 1),
                (1, 1),
                (4, 4),
                (4, 4),
                (8, 8),
                (8, 8),
                (16, 16),
                (32, 16)
            ]
        );
        assert_eq!(layout.float(80), (16, 16));
        assert_eq!(layout.vector(96), (16, 16));
        assert_eq!(layout.vector(64), (8, 8));
    }

    #[test]
    fn other_machines_are_not_known() {
        assert!(!Alignments::read("E-p:64:64").is_known());
        assert!(!Alignments::read("e-p:32:32-i64:64").is_known());
        assert!(Alignments::read("").is_known() && Alignments::read("p:-i:x-é").is_known());
    }
}
