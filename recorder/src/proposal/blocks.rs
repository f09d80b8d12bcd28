//! Heap blocks of a proposed schedule, and those of the run that take their places.
//!
//! A block is named by the thread that allocates it, and by its number there. Where several threads may be the first to
//! need a thing, as the entry of a map, another order gives it another name. So a block that another thread has allocated
//! in the same place may be the one that is wanted, if it takes the place of that block in all events.

use std::collections::BTreeMap;
use unsnarl_trace::Location;

/// The blocks that take each other's places, as far as the events tell.
#[derive(Default)]
pub(super) struct SameBlocks<'a> {
    taken_by: BTreeMap<&'a str, &'a str>,
    stands_for: BTreeMap<&'a str, &'a str>,
}

impl<'a> SameBlocks<'a> {
    /// Returns whether the location of the run may be the one that is wanted, and notes the blocks as the same if so.
    pub fn are_same(&mut self, wanted: &'a str, in_run: &'a str) -> bool {
        let (block, other) = (Location::of(wanted).block(), Location::of(in_run).block());
        let is_free = |map: &BTreeMap<&str, &str>, of, to| map.get(of).is_none_or(|at| *at == to);
        let may_be = is_same_part(wanted, in_run)
            && is_free(&self.taken_by, block, other)
            && is_free(&self.stands_for, other, block);
        if may_be {
            self.taken_by.insert(block, other);
            self.stands_for.insert(other, block);
        }
        may_be
    }
}

/// Returns whether the locations have one name, or are the same part of blocks that different threads have allocated in
/// one place.
fn is_same_part(wanted: &str, in_run: &str) -> bool {
    let allocated_by = |name| Location::of(name).allocated_by();
    wanted == in_run
        || allocated_by(wanted) != allocated_by(in_run)
            && Location::by_any_thread(wanted) == Location::by_any_thread(in_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_another_thread_has_allocated_takes_the_place_of_one() {
        let mut blocks = SameBlocks::default();
        assert!(blocks.are_same(
            "heap(a.c:2 by main.1 #0).next",
            "heap(a.c:2 by main.2 #3).next"
        ));
        assert!(blocks.are_same(
            "heap(a.c:2 by main.1 #0).key",
            "heap(a.c:2 by main.2 #3).key"
        ));
    }

    #[test]
    fn a_block_takes_the_place_of_one_only() {
        let mut blocks = SameBlocks::default();
        assert!(blocks.are_same("heap(a.c:2 by main.1 #0)+8", "heap(a.c:2 by main.2 #3)+8"));
        assert!(!blocks.are_same("heap(a.c:2 by main.1 #0)+8", "heap(a.c:2 by main.1 #0)+8"));
        assert!(!blocks.are_same("heap(a.c:2 by main.1 #1)+8", "heap(a.c:2 by main.2 #3)+8"));
    }

    #[test]
    fn another_block_of_the_same_thread_is_another_one() {
        let mut blocks = SameBlocks::default();
        assert!(!blocks.are_same(
            "heap(a.c:2 by main.1 #0).next",
            "heap(a.c:2 by main.1 #3).next"
        ));
        assert!(blocks.are_same(
            "heap(a.c:2 by main.1 #0).next",
            "heap(a.c:2 by main.1 #0).next"
        ));
    }

    #[test]
    fn other_places_fields_and_variables_are_others() {
        let mut blocks = SameBlocks::default();
        assert!(!blocks.are_same(
            "heap(a.c:2 by main.1 #0).next",
            "heap(a.c:3 by main.1 #0).next"
        ));
        assert!(!blocks.are_same(
            "heap(a.c:2 by main.1 #0).next",
            "heap(a.c:2 by main.1 #0).key"
        ));
        assert!(!blocks.are_same("count", "counts"));
        assert!(blocks.are_same("accounts[3].total", "accounts[3].total"));
        assert!(!blocks.are_same("accounts[3].total", "accounts[2].total"));
    }
}
