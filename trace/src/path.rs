//! The path of a thread in path mode: the blocks of code that it went through, and where between them
//! its events stand.

use crate::{
    meta::{BlockRow, RunMeta},
    model::ThreadId,
    raw::pack::unpack,
};
use serde::{Deserialize, Serialize};

/// The path of one thread, packed: [`PathRow::steps`] reads it.
///
/// The packed bytes are units of [`raw::pack`](crate::raw::pack) in Base64. A word is 1 for the
/// thread's next event, or else 2 more than the number of a row of [`RunMeta::blocks`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PathRow {
    /// The thread that took the path.
    pub thread: ThreadId,
    /// Number of blocks that it entered.
    pub blocks: u64,
    /// The path.
    pub packed: String,
}

/// One step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathStep {
    /// A block was entered: a row of [`RunMeta::blocks`].
    Block(usize),
    /// The thread's next event.
    Event,
}

/// The word of an event.
pub const EVENT: u32 = 1;
/// Offset from the number of a block to its word.
pub const FIRST_BLOCK: u32 = EVENT + 1;

impl PathRow {
    /// The row for packed bytes.
    pub fn new(thread: ThreadId, blocks: u64, packed: &[u8]) -> PathRow {
        PathRow {
            thread,
            blocks,
            packed: encode(packed),
        }
    }

    /// The steps in their order. They end early where the row is damaged.
    pub fn steps(&self) -> impl Iterator<Item = PathStep> {
        let bytes = decode(&self.packed).unwrap_or_default();
        let mut at = 0;
        std::iter::from_fn(move || {
            let mut rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
            let mut words = Vec::new();
            unpack(&mut rest, &mut words)?;
            at = bytes.len() - rest.len();
            Some(words)
        })
        .flatten()
        .filter_map(|word| match word {
            EVENT => Some(PathStep::Event),
            word => Some(PathStep::Block(word.checked_sub(FIRST_BLOCK)? as usize)),
        })
    }
}

impl RunMeta {
    /// The path of a thread, if paths were recorded.
    pub fn path(&self, thread: ThreadId) -> Option<&PathRow> {
        self.paths.iter().find(|path| path.thread == thread)
    }

    /// The block of a [`PathStep::Block`]; an empty one for a number that is not in the table.
    pub fn block(&self, number: usize) -> BlockRow {
        self.blocks.get(number).copied().unwrap_or_default()
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 without padding.
fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..=three.len() as u32 {
            let digit = (bits >> (18 - 6 * i) & 63) as usize;
            text.push(char::from(DIGITS.get(digit).copied().unwrap_or(b'=')));
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for digit in four {
            let value = DIGITS.iter().position(|known| known == digit)?;
            bits = bits << 6 | value as u32;
        }
        bits <<= 6 * (4 - four.len() as u32);
        bytes.extend(bits.to_be_bytes().into_iter().skip(1).take(four.len() - 1));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::pack::{LastOccurrences, pack};
    use proptest::prelude::*;

    #[test]
    fn steps_of_a_path() {
        let mut packed = Vec::new();
        let mut table: LastOccurrences = [0; size_of::<LastOccurrences>() / 2];
        for words in [[2, 3, 1].as_slice(), &[4, 1]] {
            pack(words, &mut table, |byte| packed.push(byte));
        }
        let row = PathRow::new(ThreadId(1), 3, &packed);
        let steps: Vec<PathStep> = row.steps().collect();
        let block = PathStep::Block;
        assert_eq!(
            steps,
            [
                block(0),
                block(1),
                PathStep::Event,
                block(2),
                PathStep::Event
            ]
        );
    }

    #[test]
    fn a_damaged_path_ends_early() {
        let damaged = |packed: &str| PathRow {
            packed: packed.to_owned(),
            ..PathRow::default()
        };
        for text in ["?", "A?BC", "/w", "AwAAAA"] {
            assert_eq!(damaged(text).steps().count(), 0, "{text}");
        }
    }

    proptest! {
        #[test]
        fn base64_round_trips(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
