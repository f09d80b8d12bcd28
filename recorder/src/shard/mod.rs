//! Shards: disjoint parts of one campaign, which different machines record.
//!
//! The runs of a campaign have numbers, and a run's number decides its seed and its turn in the portfolio. Each shard has
//! one number of every block of as many numbers as there are shards, a different place in each block: were it the same
//! place, a shard of eight would have random walks only, since the portfolio has eight turns.

mod variables;

pub use variables::{SHARDING_OF_TESTS, ShardSource, TakenShard, VariablesError, from_variables};

use std::{fmt, str::FromStr};

/// One of several disjoint parts of a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Its index, from 0.
    index: u64,
    /// Number of shards.
    count: u64,
}

/// The error for a text that names no shard.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no shard: expected I/N, with I from 1 to N")]
pub struct ShardError(pub String);

impl Shard {
    /// The shard with this index, from 0; `None` if there is no such shard.
    pub fn at(index: u64, count: u64) -> Option<Shard> {
        (index < count).then_some(Shard { index, count })
    }

    /// Returns whether the item with this number, from 0, belongs to the shard.
    pub fn owns(&self, number: u64) -> bool {
        let (block, place) = (number / self.count, number % self.count);
        place == self.place_in(block)
    }

    /// Number of the shard's n-th item, from 0.
    pub fn number(&self, nth: u64) -> u64 {
        let begin = nth.saturating_mul(self.count);
        begin.saturating_add(self.place_in(nth))
    }

    /// Number of items of the shard, if there are so many altogether.
    pub fn size(&self, all: u64) -> u64 {
        let (blocks, rest) = (all / self.count, all % self.count);
        blocks + u64::from(self.place_in(blocks) < rest)
    }

    /// Place of the shard's item in a block.
    fn place_in(&self, block: u64) -> u64 {
        (self.index + self.count - block % self.count) % self.count
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parse = || {
            let (number, count) = text.split_once('/')?;
            let index = number.parse::<u64>().ok()?.checked_sub(1)?;
            Shard::at(index, count.parse().ok().filter(|count| *count <= MOST)?)
        };
        parse().ok_or_else(|| ShardError(text.to_owned()))
    }
}

/// Upper bound for the number of shards: more machines than any campaign has.
const MOST: u64 = 1 << 32;

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_item_belongs_to_one_shard(count in 1u64..40, all in 0u64..200) {
            let shards: Vec<Shard> = (0..count).filter_map(|index| Shard::at(index, count)).collect();
            for number in 0..all {
                prop_assert_eq!(shards.iter().filter(|shard| shard.owns(number)).count(), 1);
            }
            for shard in &shards {
                let own: Vec<u64> = (0..all).filter(|number| shard.owns(*number)).collect();
                prop_assert_eq!(shard.size(all), own.len() as u64);
                let listed: Vec<u64> = (0..shard.size(all)).map(|nth| shard.number(nth)).collect();
                prop_assert_eq!(listed, own);
            }
        }
    }

    #[test]
    fn a_shard_has_every_turn_of_the_portfolio() {
        let turns = |index, count| {
            let shard = Shard::at(index, count).unwrap();
            let mut turns: Vec<u64> = (0..64).map(|nth| shard.number(nth) % 8).collect();
            turns.sort_unstable();
            turns.dedup();
            turns.len()
        };
        for count in [3, 8, 16, 100] {
            assert!((0..count).all(|index| turns(index, count) == 8), "{count}");
        }
        assert!((0..4).all(|index| turns(index, 4) == 4 && turns(index % 2, 2) == 4));
    }

    #[test]
    fn names_round_trip() {
        for name in ["1/1", "3/8", "8/8"] {
            assert_eq!(name.parse::<Shard>().unwrap().to_string(), name);
        }
        for bad in [
            "",
            "1",
            "0/4",
            "5/4",
            "1/0",
            "a/2",
            "1/2/3",
            "-1/2",
            "1/99999999999",
        ] {
            assert_eq!(bad.parse::<Shard>(), Err(ShardError(bad.to_owned())));
        }
    }

    #[test]
    fn so_many_items_as_there_are_numbers_are_no_trouble() {
        let shard = Shard::at(2, 3).unwrap();
        assert_eq!(shard.size(u64::MAX), u64::MAX / 3);
    }
}
