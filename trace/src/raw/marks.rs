//! Notes of a path as words, which [`super::pack`] makes small.
//!
//! Up to 30 conditional jumps in a row are one word: bit 31, then a bit that says where they begin, then
//! the jumps, the first one highest. Any other note is its first byte as a word, and a word for each four
//! bytes that follow.

use super::path::mark;

const JUMPS: u32 = 1 << 31;
/// Jumps of one word.
const MOST: u32 = 30;

/// Hands the words of `notes` to `word`, up to where nothing was written.
#[inline(always)]
pub fn words(notes: &[u8], mut word: impl FnMut(u32)) {
    let mut rest = notes;
    let (mut jumps, mut count) = (1u32, 0);
    loop {
        // Eight at a time: all of them are 0 or 1 mostly.
        while let Some((eight, after)) = rest.split_first_chunk::<8>() {
            let eight = u64::from_be_bytes(*eight);
            if eight & !LOWEST != 0 {
                break;
            }
            if count + 8 > MOST {
                word(JUMPS | jumps);
                (jumps, count) = (1, 0);
            }
            jumps = jumps << 8 | (eight.wrapping_mul(GATHER) >> 56) as u32;
            count += 8;
            rest = after;
        }
        let Some((&first, after)) = rest.split_first() else {
            break;
        };
        if first > 1 || count == MOST {
            if count > 0 {
                word(JUMPS | jumps);
                (jumps, count) = (1, 0);
            }
            if first <= 1 {
                continue;
            }
            let Some((more, after)) = mark::more(first).and_then(|n| after.split_at_checked(n))
            else {
                break;
            };
            word(u32::from(first));
            for four in more.chunks_exact(4) {
                word(
                    four.first_chunk()
                        .map_or(0, |four| u32::from_le_bytes(*four)),
                );
            }
            rest = after;
            continue;
        }
        jumps = jumps << 1 | u32::from(first);
        count += 1;
        rest = after;
    }
    if count > 0 {
        word(JUMPS | jumps);
    }
}

/// The lowest bit of each byte.
const LOWEST: u64 = 0x0101_0101_0101_0101;
/// Multiplying by this gathers them in the highest byte.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// A note of a thread's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A conditional jump; `true` if it is taken.
    Branch(bool),
    /// A function is entered: the lower half of its address.
    Entered(u32),
    /// A function elsewhere has returned.
    Returned,
    /// A jump to this address.
    Jumped(u32),
    /// Control has come to this address, with this stack pointer.
    Here(u32, u32),
    /// A step of synchronization.
    Sync,
}

/// The notes of these words. They end where a word makes no sense.
#[cfg(feature = "file")]
pub fn notes(words: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Note> {
    let mut words = words.into_iter();
    let (mut jumps, mut left) = (0u32, 0u32);
    core::iter::from_fn(move || {
        if left == 0 {
            let word = words.next()?;
            if word & JUMPS == 0 {
                return Some(match u8::try_from(word).ok()? {
                    mark::ENTERED => Note::Entered(words.next()?),
                    mark::RETURNED => Note::Returned,
                    mark::JUMPED => Note::Jumped(words.next()?),
                    mark::HERE => Note::Here(words.next()?, words.next()?),
                    mark::SYNC => Note::Sync,
                    _ => return None,
                });
            }
            jumps = word & !JUMPS;
            left = 31u32
                .checked_sub(jumps.leading_zeros())
                .filter(|n| *n > 0)?;
        }
        left -= 1;
        Some(Note::Branch(jumps >> left & 1 == 1))
    })
}

#[cfg(all(test, feature = "file"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(note: &Note) -> Vec<u8> {
        let long = |first: u8, values: &[u32]| {
            let bytes = values.iter().flat_map(|value| value.to_le_bytes());
            std::iter::once(first).chain(bytes).collect()
        };
        match *note {
            Note::Branch(taken) => vec![taken.into()],
            Note::Entered(at) => long(mark::ENTERED, &[at]),
            Note::Returned => vec![mark::RETURNED],
            Note::Jumped(at) => long(mark::JUMPED, &[at]),
            Note::Here(at, stack) => long(mark::HERE, &[at, stack]),
            Note::Sync => vec![mark::SYNC],
        }
    }

    fn note() -> impl Strategy<Value = Note> {
        prop_oneof![
            8 => any::<bool>().prop_map(Note::Branch),
            1 => any::<u32>().prop_map(Note::Entered),
            1 => Just(Note::Returned),
            1 => any::<u32>().prop_map(Note::Jumped),
            1 => any::<(u32, u32)>().prop_map(|(at, stack)| Note::Here(at, stack)),
            1 => Just(Note::Sync),
        ]
    }

    #[test]
    fn jumps_take_a_bit_each() {
        let mut count = 0;
        words(&[1; 300], |_| count += 1);
        assert_eq!(count, 13);
    }

    proptest! {
        #[test]
        fn notes_come_back(given in prop::collection::vec(note(), 0..300)) {
            let mut bytes: Vec<u8> = given.iter().flat_map(written).collect();
            bytes.extend([mark::NOTHING; 9]);
            let mut packed = Vec::new();
            words(&bytes, |word| packed.push(word));
            prop_assert_eq!(notes(packed).collect::<Vec<_>>(), given);
        }

        #[test]
        fn any_words_are_survived(given in prop::collection::vec(any::<u32>(), 0..50)) {
            prop_assert!(notes(given).count() < 2000);
        }
    }
}
