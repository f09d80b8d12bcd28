//! Counts many items at once: the counts of 64 items stand in the columns of a few words, bit by bit.
//!
//! Adding a set of items to all their counts is then a ripple of carries over words, which mostly ends
//! after a few; comparing all counts with a number is one pass.

/// One count for each item.
#[derive(Debug)]
pub struct Counter {
    /// Bits of a count.
    height: usize,
    /// For each word of a set: its bits of weight 1, 2, 4, ...
    planes: Vec<u64>,
}

impl Counter {
    /// Counts up to `most` for sets of `width` words.
    pub fn new(width: usize, most: u32) -> Counter {
        let height = (u32::BITS - most.leading_zeros()).max(1) as usize;
        Counter {
            height,
            planes: vec![0; width * height],
        }
    }

    /// All counts are zero again.
    pub fn clear(&mut self) {
        self.planes.fill(0);
    }

    /// Adds `weight` to the count of each item of the set.
    pub fn add(&mut self, set: &[u64], weight: u32) {
        for (word, planes) in set.iter().zip(self.planes.chunks_exact_mut(self.height)) {
            let mut left = weight;
            let mut bit = 0;
            while left > 0 {
                let zeros = left.trailing_zeros() as usize;
                bit += zeros;
                ripple(planes.get_mut(bit..).unwrap_or(&mut []), *word);
                left = left.unbounded_shr(zeros as u32 + 1);
                bit += 1;
            }
        }
    }

    /// The items that were counted at least `least` times, and those counted exactly `exactly` times.
    pub fn compare(&self, least: u32, exactly: u32, enough: &mut [u64], equal: &mut [u64]) {
        let words = enough.iter_mut().zip(equal.iter_mut());
        for ((enough, equal), planes) in words.zip(self.planes.chunks_exact(self.height)) {
            let (greater, same) = against(planes, least);
            *enough = greater | same;
            (_, *equal) = against(planes, exactly);
        }
    }
}

fn ripple(planes: &mut [u64], word: u64) {
    let mut carry = word;
    for plane in planes {
        if carry == 0 {
            break;
        }
        let next = *plane & carry;
        *plane ^= carry;
        carry = next;
    }
}

/// Which of 64 counts are greater than the number, and which are equal to it.
fn against(planes: &[u64], number: u32) -> (u64, u64) {
    if number.unbounded_shr(planes.len() as u32) != 0 {
        return (0, 0);
    }
    let (mut greater, mut same) = (0, u64::MAX);
    for (bit, plane) in planes.iter().enumerate().rev() {
        if number >> bit & 1 == 1 {
            same &= plane;
        } else {
            greater |= same & plane;
            same &= !plane;
        }
    }
    (greater, same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_those_of_plain_counting(
            sets in proptest::collection::vec((any::<[u64; 2]>(), 1u32..7), 0..40),
            least in 0u32..30,
            exactly in 0u32..30,
        ) {
            let total = sets.iter().map(|(_, weight)| weight).sum();
            let mut counter = Counter::new(2, total);
            sets.iter().for_each(|(set, weight)| counter.add(set, *weight));
            let (mut enough, mut equal) = ([0; 2], [0; 2]);
            counter.compare(least, exactly, &mut enough, &mut equal);
            for item in 0..128 {
                let has = |set: &[u64; 2]| set[item / 64] >> (item % 64) & 1 == 1;
                let count: u32 =
                    sets.iter().filter(|(set, _)| has(set)).map(|(_, weight)| weight).sum();
                prop_assert_eq!(has(&enough), count >= least);
                prop_assert_eq!(has(&equal), count == exactly);
            }
        }
    }
}
