//! Packs sequences of words that repeat themselves, as paths through loops do, byte for byte the same
//! in the runtime and in run files.
//!
//! A *unit* is the packed form of up to [`MOST_WORDS`] words: their number, then alternately a number
//! of literal words with these words, and the length and distance of a repetition. Numbers are in
//! groups of seven bits, literals as differences from the literal before.

/// Most words of a unit.
pub const MOST_WORDS: usize = u16::MAX as usize;
/// Position of the last occurrence of two words, by their hash.
pub type LastOccurrences = [u16; 1 << TABLE_BITS];

const TABLE_BITS: u32 = 11;
/// A repetition costs up to six bytes; shorter ones are not worth it.
const SHORTEST: usize = 3;

/// Packs at most [`MOST_WORDS`] words; more are not looked at.
pub fn pack(words: &[u32], table: &mut LastOccurrences, out: impl FnMut(u8)) {
    pack_with(words, table, &mut Each(out), |_| 0, differences);
}

/// Packs words like [`pack`], but faster: literals are written as they are, and where nothing repeats itself it looks
/// less often. Returns the number of bytes of `place` that it used, at most six for each word and sixteen more.
/// [`unpack_plain`] reads the result.
#[inline(always)]
pub fn pack_plain(words: &[u32], table: &mut LastOccurrences, place: &mut [u8]) -> usize {
    let mut out = Filled { place, used: 0 };
    pack_with(words, table, &mut out, |misses| misses >> 5, plain);
    out.used
}

/// A sink for packed bytes.
trait Out {
    fn byte(&mut self, byte: u8);
    fn long(&mut self, word: u32);
}

struct Each<F>(F);

impl<F: FnMut(u8)> Out for Each<F> {
    fn byte(&mut self, byte: u8) {
        (self.0)(byte);
    }

    fn long(&mut self, word: u32) {
        word.to_le_bytes().into_iter().for_each(&mut self.0);
    }
}

struct Filled<'p> {
    place: &'p mut [u8],
    used: usize,
}

impl Out for Filled<'_> {
    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.place.get_mut(self.used) {
            *place = byte;
        }
        self.used += 1;
    }

    #[inline(always)]
    fn long(&mut self, word: u32) {
        if let Some(place) = self.place.get_mut(self.used..self.used + 4) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.used += 4;
    }
}

/// Packs words; `skip` returns the number of words to pass over after so many that begin no repetition.
#[inline(always)]
fn pack_with<O: Out>(
    words: &[u32],
    table: &mut LastOccurrences,
    out: &mut O,
    skip: impl Fn(usize) -> usize,
    literals: impl Fn(&[u32], &mut u32, &mut O),
) {
    let words = words.get(..MOST_WORDS).unwrap_or(words);
    table.fill(u16::MAX);
    number(words.len() as u64, out);
    let (mut at, mut literal, mut before) = (0, 0, 0);
    while at < words.len() {
        let (length, distance) = repetition(words, at, table);
        if length < SHORTEST {
            at += 1 + skip(at - literal);
            continue;
        }
        let new = words.get(literal..at).unwrap_or(&[]);
        number(new.len() as u64, out);
        literals(new, &mut before, out);
        number(length as u64, out);
        number(distance as u64, out);
        at += length;
        literal = at;
    }
    if literal < words.len() {
        let new = words.get(literal..).unwrap_or(&[]);
        number(new.len() as u64, out);
        literals(new, &mut before, out);
    }
}

#[inline(always)]
fn plain(words: &[u32], _: &mut u32, out: &mut impl Out) {
    words.iter().for_each(|word| out.long(*word));
}

/// The longest repetition that the table knows at a place, and the place's entry into the table.
fn repetition(words: &[u32], at: usize, table: &mut LastOccurrences) -> (usize, usize) {
    let (Some(&a), Some(&b)) = (words.get(at), words.get(at + 1)) else {
        return (0, 0);
    };
    let pair = u64::from(a) << 32 | u64::from(b);
    let hash = pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - TABLE_BITS);
    let Some(entry) = table.get_mut(hash as usize) else {
        return (0, 0);
    };
    let earlier = usize::from(core::mem::replace(entry, at as u16));
    if earlier >= at {
        return (0, 0);
    }
    let (Some(now), Some(then)) = (words.get(at..), words.get(earlier..)) else {
        return (0, 0);
    };
    let length = now.iter().zip(then).take_while(|(a, b)| a == b).count();
    (length, at - earlier)
}

fn differences(words: &[u32], before: &mut u32, out: &mut impl Out) {
    for word in words {
        let difference = word.wrapping_sub(*before).cast_signed();
        let folded = (difference << 1) ^ (difference >> 31);
        number(u64::from(folded.cast_unsigned()), out);
        *before = *word;
    }
}

fn number(mut number: u64, out: &mut impl Out) {
    while number >= 0x80 {
        out.byte(number as u8 | 0x80);
        number >>= 7;
    }
    out.byte(number as u8);
}

/// The next unit of `bytes`: its words are handed to `word`. `None` when there is no whole unit.
#[cfg(feature = "file")]
pub fn unpack(bytes: &mut &[u8], words: &mut Vec<u32>) -> Option<()> {
    unpack_with(bytes, words, |bytes, before| {
        let folded = u32::try_from(read(bytes)?).ok()?;
        let difference = (folded >> 1) ^ (folded & 1).wrapping_neg();
        Some(before.wrapping_add(difference))
    })
}

/// Unpacks words like [`unpack`], from the output of [`pack_plain`].
#[cfg(feature = "file")]
pub fn unpack_plain(bytes: &mut &[u8], words: &mut Vec<u32>) -> Option<()> {
    unpack_with(bytes, words, |bytes, _| {
        let (word, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*word))
    })
}

#[cfg(feature = "file")]
fn unpack_with(
    bytes: &mut &[u8],
    words: &mut Vec<u32>,
    literal: impl Fn(&mut &[u8], u32) -> Option<u32>,
) -> Option<()> {
    let first = words.len();
    let count = usize::try_from(read(bytes)?)
        .ok()
        .filter(|count| *count <= MOST_WORDS)?;
    let mut before = 0u32;
    while words.len() - first < count {
        let left = count - (words.len() - first);
        let literals = usize::try_from(read(bytes)?).ok().filter(|n| *n <= left)?;
        for _ in 0..literals {
            before = literal(bytes, before)?;
            words.push(before);
        }
        if literals == left {
            break;
        }
        let length = usize::try_from(read(bytes)?)
            .ok()
            .filter(|n| *n <= left - literals)?;
        let distance = usize::try_from(read(bytes)?).ok()?;
        let start = words
            .len()
            .checked_sub(distance)
            .filter(|start| *start >= first && distance > 0)?;
        for i in start..start + length {
            words.push(*words.get(i)?);
        }
    }
    Some(())
}

#[cfg(feature = "file")]
fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(words: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(words, &mut [0; 1 << TABLE_BITS], |byte| bytes.push(byte));
        bytes
    }

    #[test]
    fn a_loop_takes_a_few_bytes() {
        let words: Vec<u32> = [7, 9, 8, 9].into_iter().cycle().take(16_000).collect();
        let bytes = packed(&words);
        assert!(bytes.len() < 24, "{} bytes", bytes.len());
    }

    #[test]
    fn broken_bytes_are_no_unit() {
        for bytes in [&[][..], &[5], &[3, 0, 3, 1], &[3, 1, 2, 2, 2], &[0xff; 12]] {
            assert_eq!(unpack(&mut &*bytes, &mut Vec::new()), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            parts in prop::collection::vec((prop::collection::vec(any::<u32>(), 1..5), 1..40usize), 0..30)
        ) {
            let words: Vec<u32> =
                parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            let bytes = [packed(&words), vec![42]].concat();
            let (mut rest, mut found) = (&*bytes, Vec::new());
            prop_assert!(unpack(&mut rest, &mut found).is_some());
            prop_assert_eq!((rest, &found), (&[42u8][..], &words));
            let (mut plain, mut found) = (vec![0; 6 * words.len() + 16], Vec::new());
            let used = pack_plain(&words, &mut [0; 1 << TABLE_BITS], &mut plain);
            prop_assert!(unpack_plain(&mut &plain[..used], &mut found).is_some());
            prop_assert_eq!(found, words);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut words = Vec::new();
            unpack(&mut &*bytes, &mut words);
            prop_assert!(words.len() <= 2 * MOST_WORDS);
        }
    }
}
