//! A stable radix sort with few passes, for the columns of a run, whose keys are small.

/// Number of bits per pass.
const BITS: u32 = 11;
/// Number of items below which they are sorted by comparison.
const FEW: usize = 256;

/// Sorts stably by a number: one counting pass for each 11 bits in which the numbers differ. Linear; input
/// that is in order already costs one pass.
pub(super) fn sort_by_number<T: Copy>(items: &mut [T], number: impl Fn(&T) -> u64) {
    if items.is_sorted_by_key(&number) {
        return;
    }
    if items.len() < FEW {
        return items.sort_by_key(number);
    }
    let all = items.iter().map(&number);
    let (ones, zeros) = all.fold((0, 0), |(ones, zeros), n| (ones | n, zeros | !n));
    let differing = ones & zeros;
    let mut spare = items.to_vec();
    let mut is_in_spare = false;
    for shift in (0..u64::BITS).step_by(BITS as usize) {
        if differing >> shift & MASK == 0 {
            continue;
        }
        match is_in_spare {
            false => pass(items, &mut spare, |item| digit(number(item), shift)),
            true => pass(&spare, items, |item| digit(number(item), shift)),
        }
        is_in_spare = !is_in_spare;
    }
    if is_in_spare {
        items.copy_from_slice(&spare);
    }
}

const MASK: u64 = (1 << BITS) - 1;

fn digit(number: u64, shift: u32) -> usize {
    (number >> shift & MASK) as usize
}

/// Distributes the items by their digits.
fn pass<T: Copy>(from: &[T], to: &mut [T], digit: impl Fn(&T) -> usize) {
    let mut next = [0usize; 1 << BITS];
    for item in from {
        if let Some(count) = next.get_mut(digit(item)) {
            *count += 1;
        }
    }
    let mut start = 0;
    for next in &mut next {
        start += std::mem::replace(next, start);
    }
    for item in from {
        if let Some(next) = next.get_mut(digit(item)) {
            if let Some(slot) = to.get_mut(*next) {
                *slot = *item;
            }
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few and many items, small and large numbers, equal ones among them.
        #[test]
        fn it_is_the_stable_sort(numbers in proptest::collection::vec(any::<u64>(), 0..600), shift in 0u32..64, zeros in 0u32..40) {
            let items: Vec<(u64, usize)> = numbers.iter().map(|n| n >> shift << zeros).zip(0..).collect();
            let (mut sorted, mut expected) = (items.clone(), items);
            sort_by_number(&mut sorted, |item| item.0);
            expected.sort_by_key(|item| item.0);
            prop_assert_eq!(sorted, expected);
        }
    }
}
