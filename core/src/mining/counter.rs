//! Bit-sliced counters: the counts of 64 items stand in the columns of a few words, bit by bit.
//!
//! Eight sets are added together: full adders over words leave one carry of eight, which then ripples up (the
//! Harley-Seal bit count). Comparing all counts with a number is one pass. Only the requested words of the
//! sets are read.

/// One count for each item.
#[derive(Debug)]
pub struct Counter {
    /// Bits of a count.
    height: usize,
    /// For each word of a set: its bits of weight 1, 2, 4, ...
    planes: Vec<u64>,
    /// The words to count.
    words: Vec<u32>,
}

/// Number of sets that are added together.
pub const TOGETHER: usize = 8;

impl Counter {
    /// Makes counters up to `most` for sets of `width` words.
    pub fn new(width: usize, most: u32) -> Counter {
        let height = (u32::BITS - most.leading_zeros()).max(1) as usize;
        Counter {
            height,
            planes: vec![0; width * height],
            words: Vec::new(),
        }
    }

    /// Resets all counts and selects the words that have items in common with `asked`. Returns whether there
    /// are any.
    pub fn begin(&mut self, asked: &[u64]) -> bool {
        let planes = self.planes.chunks_exact_mut(self.height);
        self.words.clear();
        for ((at, word), planes) in (0..).zip(asked).zip(planes) {
            if *word != 0 {
                self.words.push(at);
                planes.fill(0);
            }
        }
        !self.words.is_empty()
    }

    /// Adds `weight` to the count of each item of the set at this position of `sets`.
    pub fn add(&mut self, sets: &[u64], set: usize, weight: u32) {
        for &at in &self.words {
            let word = sets.get(set + at as usize).copied().unwrap_or(0);
            let planes = plane(&mut self.planes, self.height, at);
            for bit in bits(weight) {
                ripple(planes.get_mut(bit..).unwrap_or(&mut []), word);
            }
        }
    }

    /// Adds `weight` to the count of each item of eight sets.
    pub fn add_all(&mut self, sets: &[u64], at: &[usize; TOGETHER], weight: u32) {
        for &word in &self.words {
            let words = at.map(|set| sets.get(set + word as usize).copied().unwrap_or(0));
            let planes = plane(&mut self.planes, self.height, word);
            for bit in bits(weight) {
                if let Some([one, two, four, rest @ ..]) = planes.get_mut(bit..) {
                    ripple(rest, sum(words, one, two, four));
                }
            }
        }
    }

    /// Computes the items counted at least `least` times; returns whether any was counted exactly `exactly`
    /// times.
    pub fn compare(&self, least: u32, exactly: u32, enough: &mut [u64]) -> bool {
        let mut any = 0;
        enough.fill(0);
        for &at in &self.words {
            let planes = self.of(at);
            let (greater, same) = against(planes, least);
            if let Some(enough) = enough.get_mut(at as usize) {
                *enough = greater | same;
            }
            any |= against(planes, exactly).1;
        }
        any != 0
    }

    /// Keeps the items counted at least `least` times, and stops counting others. Returns whether any are
    /// left.
    pub fn narrow(&mut self, least: u32, asked: &mut [u64]) -> bool {
        let (height, planes) = (self.height, &self.planes);
        self.words.retain(|&at| {
            let start = at as usize * height;
            let (greater, same) = against(planes.get(start..start + height).unwrap_or(&[]), least);
            let Some(asked) = asked.get_mut(at as usize) else {
                return false;
            };
            *asked &= greater | same;
            *asked != 0
        });
        !self.words.is_empty()
    }

    /// Count of the item.
    pub fn count(&self, item: u32) -> u32 {
        let planes = self.of(item / 64).iter().enumerate();
        let bits = planes.map(|(bit, plane)| ((plane >> (item % 64) & 1) as u32) << bit);
        bits.sum()
    }

    fn of(&self, word: u32) -> &[u64] {
        let start = word as usize * self.height;
        self.planes.get(start..start + self.height).unwrap_or(&[])
    }
}

fn plane(planes: &mut [u64], height: usize, word: u32) -> &mut [u64] {
    let start = word as usize * height;
    planes.get_mut(start..start + height).unwrap_or(&mut [])
}

/// Positions of the bits that are set.
fn bits(mut number: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = number.trailing_zeros();
        number &= number.wrapping_sub(1);
        (bit < u32::BITS).then_some(bit as usize)
    })
}

/// Adds eight words to the counts; returns the carry, of weight eight.
#[inline]
fn sum(words: [u64; TOGETHER], one: &mut u64, two: &mut u64, four: &mut u64) -> u64 {
    let [a, b, c, d, e, f, g, h] = words;
    let fours = [[a, b, c, d], [e, f, g, h]].map(|[a, b, c, d]| {
        let twos = [add(one, a, b), add(one, c, d)];
        add(two, twos[0], twos[1])
    });
    add(four, fours[0], fours[1])
}

/// A full adder for 64 columns: the sum stays, the carry is returned.
#[inline]
fn add(sum: &mut u64, a: u64, b: u64) -> u64 {
    let half = *sum ^ a;
    let carry = (*sum & a) | (half & b);
    *sum = half ^ b;
    carry
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

/// Compares 64 counts with the number: the sets of those greater and of those equal.
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
            eights in proptest::collection::vec((any::<[[u64; 2]; 8]>(), 1u32..7), 0..10),
            least in 0u32..100,
            exactly in 0u32..100,
        ) {
            let mut all = sets.clone();
            all.extend(eights.iter().flat_map(|(eight, weight)| eight.map(|set| (set, *weight))));
            let total = all.iter().map(|(_, weight)| weight).sum();
            let mut counter = Counter::new(2, total);
            for asked in [[u64::MAX; 2], [0, 1]] {
                counter.begin(&asked);
                sets.iter().for_each(|(set, weight)| counter.add(set, 0, *weight));
                for (eight, weight) in &eights {
                    let at = [0, 2, 4, 6, 8, 10, 12, 14];
                    counter.add_all(eight.as_flattened(), &at, *weight);
                }
                let mut enough = [7; 2];
                let any = counter.compare(least, exactly, &mut enough);
                let counted = (0..128).filter(|item| asked[item / 64] != 0);
                let mut same = false;
                for item in counted {
                    let has = |set: &[u64; 2]| set[item / 64] >> (item % 64) & 1 == 1;
                    let having = all.iter().filter(|(set, _)| has(set));
                    let count: u32 = having.map(|(_, weight)| weight).sum();
                    prop_assert_eq!(has(&enough), count >= least);
                    prop_assert_eq!(counter.count(item as u32), count);
                    same |= count == exactly;
                }
                prop_assert_eq!(any, same);
                prop_assert!(asked[0] != 0 || enough[0] == 0);
            }
        }
    }
}
