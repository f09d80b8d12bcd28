//! The plan of the second walk: the memory that threads share, and the borders at which it is split.

use super::wide::is_wide;
use rustc_hash::FxHashSet;
use unsnarl_trace::ThreadId;

/// A memory access of the first walk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PlannedAccess {
    pub address: u64,
    pub size: u64,
    pub thread: ThreadId,
    pub writes: bool,
}

/// The accesses, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses(FxHashSet<PlannedAccess>);

/// A piece of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SharedPiece {
    pub address: u64,
    pub size: u8,
}

/// Bound on the size of a piece that is one unknown, in bytes.
const LONGEST: u64 = 8;

impl Uses {
    pub fn note(&mut self, one: PlannedAccess) {
        self.0.insert(one);
    }

    /// Memory that two threads access and one of them writes, in pieces that no access splits, by address;
    /// also memory that nobody writes and that `may_change`, since another order may bring a write. Sorts.
    pub fn shared(&self, may_change: impl Fn(u64) -> bool) -> Vec<SharedPiece> {
        let mut borders: Vec<u64> = self
            .0
            .iter()
            .flat_map(|one| [one.address, one.address.saturating_add(one.size)])
            .collect();
        borders.sort_unstable();
        borders.dedup();
        // Per piece: a thread that accesses it, whether there are others, whether any of them writes.
        let mut pieces: Vec<(Option<ThreadId>, bool, bool)> =
            vec![(None, false, false); borders.len()];
        for one in &self.0 {
            let from = borders.partition_point(|&border| border < one.address);
            let to =
                borders.partition_point(|&border| border < one.address.saturating_add(one.size));
            for (who, many, written) in pieces.get_mut(from..to).unwrap_or_default() {
                *many |= who.is_some_and(|who| who != one.thread);
                *who = Some(one.thread);
                *written |= one.writes;
            }
        }
        let mut shared = Vec::new();
        for (pair, (who, many, written)) in borders.windows(2).zip(&pieces) {
            let &[from, to] = pair else { continue };
            let is_read = who.is_some();
            // Memory accessed only in wide ranges does not serve communication between threads.
            if is_wide(to - from) {
                continue;
            }
            if (*many && *written) || (is_read && !*written && may_change(from)) {
                cut(&mut shared, from, to);
            }
        }
        shared
    }
}

fn cut(shared: &mut Vec<SharedPiece>, mut from: u64, to: u64) {
    while from < to {
        let next = (from / LONGEST)
            .saturating_add(1)
            .saturating_mul(LONGEST)
            .min(to);
        shared.push(SharedPiece {
            address: from,
            size: (next - from) as u8,
        });
        from = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_cut_where_an_access_begins_or_ends() {
        let mut uses = Uses::default();
        let mut note = |address, size, thread, writes| {
            uses.note(PlannedAccess {
                address,
                size,
                thread: ThreadId(thread),
                writes,
            });
        };
        note(96, 32, 0, true);
        note(100, 4, 1, false);
        note(120, 8, 1, false);
        note(200, 8, 0, false);
        note(200, 8, 1, false);
        note(300, 8, 1, true);
        let pieces = uses.shared(|address| address == 200);
        let pieces: Vec<(u64, u8)> = pieces
            .iter()
            .map(|piece| (piece.address, piece.size))
            .collect();
        assert_eq!(pieces, [(100, 4), (120, 8), (200, 8)]);
    }
}
