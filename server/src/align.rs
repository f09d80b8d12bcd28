//! Alignment of two texts: the line of the new text that a line of the old one certainly is.
//!
//! A match counts only when every longest common subsequence of the two texts contains it: a line that could as well
//! be somewhere else is left out rather than guessed.

/// Lines kept around the changed part of large texts, where a repeated block could slide.
const MARGIN: usize = 64;

/// Bound for the product of changed old and new lines up to which they are compared.
const MAX_CELLS: usize = 4_000_000;

/// Maps every old line to the new line that it certainly is. Lines are compared without the space around them; lines
/// without a letter or digit follow their neighbours.
pub fn align(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let (old, new) = (trimmed(old), trimmed(new));
    let mut map = vec![None; old.len()];
    let telling = |lines: &[&str]| -> Vec<usize> {
        lines
            .iter()
            .enumerate()
            .filter(|(_, line)| is_telling(line))
            .map(|(i, _)| i)
            .collect()
    };
    let (old_at, new_at) = (telling(&old), telling(&new));
    let pick = |lines: &[&str], at: &[usize]| -> Vec<u32> {
        let mut ids = rustc_hash::FxHashMap::default();
        for line in old.iter().chain(&new) {
            let next = ids.len() as u32;
            ids.entry(*line).or_insert(next);
        }
        at.iter()
            .filter_map(|i| ids.get(lines.get(*i)?).copied())
            .collect()
    };
    let certain = certain_matches(&pick(&old, &old_at), &pick(&new, &new_at));
    for (i, j) in certain {
        if let (Some(i), Some(j)) = (old_at.get(i), new_at.get(j))
            && let Some(slot) = map.get_mut(*i)
        {
            *slot = Some(*j);
        }
    }
    follow_neighbours(&mut map, &old, &new);
    map
}

fn trimmed<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    lines.iter().map(|line| line.trim()).collect()
}

fn is_telling(line: &str) -> bool {
    line.contains(|c: char| c.is_alphanumeric())
}

/// Maps braces and blank lines that lie between the same lines before and after them, if both moved by the same
/// distance.
fn follow_neighbours(map: &mut [Option<usize>], old: &[&str], new: &[&str]) {
    let known: Vec<(usize, usize)> = map
        .iter()
        .enumerate()
        .filter_map(|(i, j)| Some((i, (*j)?)))
        .collect();
    for (i, line) in old.iter().enumerate().filter(|(_, line)| !is_telling(line)) {
        let next = known.partition_point(|(k, _)| *k < i);
        let shift = |at: Option<&(usize, usize)>| at.map(|(i, j)| *j as i64 - *i as i64);
        let before = next.checked_sub(1).and_then(|at| shift(known.get(at)));
        let after = shift(known.get(next));
        let agreed = match (before, after) {
            (Some(a), Some(b)) if a == b => Some(a),
            // Nothing else in the text to go by: both ends stayed where they were.
            (None, Some(0)) | (Some(0), None) | (None, None) if old == new => Some(0),
            _ => None,
        };
        let target = agreed.and_then(|shift| usize::try_from(i as i64 + shift).ok());
        if let (Some(target), Some(slot)) =
            (target.filter(|j| new.get(*j) == Some(line)), map.get_mut(i))
        {
            *slot = Some(target);
        }
    }
}

/// Pairs of equal elements that every longest common subsequence contains.
fn certain_matches(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let same_start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let longest_end = old.len().min(new.len()) - same_start;
    let same_end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(longest_end)
        .take_while(|(a, b)| a == b)
        .count();
    if same_start == old.len() && same_start == new.len() {
        return (0..old.len()).map(|i| (i, i)).collect();
    }
    let head = same_start.saturating_sub(MARGIN);
    let tail = same_end.saturating_sub(MARGIN);
    let (old_middle, new_middle) = (
        old.get(head..old.len() - tail).unwrap_or(&[]),
        new.get(head..new.len() - tail).unwrap_or(&[]),
    );
    let middle = in_every_longest(old_middle, new_middle);
    (0..head)
        .map(|i| (i, i))
        .chain(middle.into_iter().map(|(i, j)| (i + head, j + head)))
        .chain((0..tail).map(|k| (old.len() - tail + k, new.len() - tail + k)))
        .collect()
}

/// The same without shortcuts: lengths for all prefixes and all suffixes, then for each old element
/// whether it can be left out and how many partners it can have.
fn in_every_longest(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) > MAX_CELLS {
        return Vec::new();
    }
    let prefixes = Lengths::of(old, new);
    let reversed = |ids: &[u32]| ids.iter().rev().copied().collect::<Vec<_>>();
    let suffixes = Lengths::of(&reversed(old), &reversed(new));
    let after = |i: usize, j: usize| suffixes.at(old.len() - i, new.len() - j);
    let longest = prefixes.at(old.len(), new.len());
    let partner = |(i, id): (usize, &u32)| {
        let dispensable = (0..=new.len()).any(|j| prefixes.at(i, j) + after(i + 1, j) == longest);
        if dispensable {
            return None;
        }
        let fits = |(j, other): &(usize, &u32)| {
            *other == id && prefixes.at(i, *j) + 1 + after(i + 1, j + 1) == longest
        };
        let mut partners = new.iter().enumerate().filter(fits);
        let first = partners.next().map(|(j, _)| (i, j));
        first.filter(|_| partners.next().is_none())
    };
    old.iter().enumerate().filter_map(partner).collect()
}

/// Lengths of the longest common subsequences of all pairs of prefixes.
struct Lengths {
    width: usize,
    cells: Vec<u32>,
}

impl Lengths {
    fn of(old: &[u32], new: &[u32]) -> Lengths {
        let width = new.len() + 1;
        let mut cells = vec![0u32; width];
        cells.reserve(width * old.len());
        let mut above = vec![0u32; width];
        for a in old {
            let mut row = Vec::with_capacity(width);
            let (mut left, mut corner) = (0, 0);
            row.push(0);
            for (b, up) in new.iter().zip(above.iter().skip(1)) {
                left = if a == b { corner + 1 } else { left.max(*up) };
                corner = *up;
                row.push(left);
            }
            cells.extend_from_slice(&row);
            above = row;
        }
        Lengths { width, cells }
    }

    fn at(&self, i: usize, j: usize) -> u32 {
        self.cells.get(i * self.width + j).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(old: &str, new: &str, expected: &[Option<usize>]) {
        let split = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let (old, new) = (split(old.to_owned().leak()), split(new.to_owned().leak()));
        assert_eq!(align(&old, &new), expected);
    }

    #[test]
    fn moves_are_followed_and_guesses_are_not() {
        check("a b c", "a b c", &[Some(0), Some(1), Some(2)]);
        check("a b c", "x a b y c", &[Some(1), Some(2), Some(4)]);
        check("a b c", "a B c", &[Some(0), None, Some(2)]);
        check("a", "a a", &[None]);
        check("a a", "a", &[None, None]);
        check("a x a y", "a y", &[None, None, None, Some(1)]);
        check(
            "a { b } c",
            "n a { b } c",
            &[Some(1), Some(2), Some(3), Some(4), Some(5)],
        );
        check("a } b", "a n } b", &[Some(0), None, Some(3)]);
    }

    #[test]
    fn a_line_in_a_long_text_is_found_again() {
        let lines: Vec<String> = (0..5000).map(|i| format!("line {i};")).collect();
        let old: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut new = old.clone();
        new.insert(2500, "int added;");
        new.remove(3000);
        let map = align(&old, &new);
        assert_eq!(
            (map[10], map[2499], map[2500]),
            (Some(10), Some(2499), Some(2501))
        );
        assert_eq!((map[2999], map[4999]), (None, Some(4999)));
    }

    /// All longest common subsequences by brute force.
    fn all_longest(old: &[u32], new: &[u32]) -> Vec<Vec<(usize, usize)>> {
        fn go(
            old: &[u32],
            new: &[u32],
            i: usize,
            j: usize,
            taken: &mut Vec<(usize, usize)>,
            all: &mut Vec<Vec<(usize, usize)>>,
        ) {
            all.push(taken.clone());
            for a in i..old.len() {
                for b in j..new.len() {
                    if old[a] == new[b] {
                        taken.push((a, b));
                        go(old, new, a + 1, b + 1, taken, all);
                        taken.pop();
                    }
                }
            }
        }
        let mut all = Vec::new();
        go(old, new, 0, 0, &mut Vec::new(), &mut all);
        let longest = all.iter().map(Vec::len).max().unwrap_or(0);
        all.retain(|way| way.len() == longest);
        all
    }

    proptest! {
        #[test]
        fn agrees_with_trying_every_way(
            old in proptest::collection::vec(0u32..3, 0..6),
            new in proptest::collection::vec(0u32..3, 0..6),
        ) {
            let ways = all_longest(&old, &new);
            let expected: Vec<_> = ways[0]
                .iter()
                .filter(|pair| ways.iter().all(|way| way.contains(pair)))
                .copied()
                .collect();
            prop_assert_eq!(in_every_longest(&old, &new), expected.clone());
            prop_assert_eq!(certain_matches(&old, &new), if old == new {
                (0..old.len()).map(|i| (i, i)).collect()
            } else {
                expected
            });
        }
    }
}
