//! The mutation conditions (Algorithms 1 and 2 of [pecan] and their extension to four events), between
//! classes of accesses.
//!
//! [pecan]: crate::predict

use super::{
    classes::{ClassMember, ClassPair, RunClasses},
    stretches::Stretch,
};
use crate::{orders::LocksetId, predict::ForcedOrder};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use unsnarl_trace::EventId;

/// Evaluation of the conditions on classes.
pub(super) struct Fits<'a> {
    graph: &'a ForcedOrder<'a>,
    classes: &'a RunClasses,
    excludes: RefCell<FxHashMap<(LocksetId, LocksetId), bool>>,
}

/// A foreign access, or two of one region in program order.
#[derive(Clone, Copy)]
pub(super) struct Foreign {
    pub thread: u16,
    pub locksets: [LocksetId; 2],
}

impl From<&ClassMember> for Foreign {
    fn from(key: &ClassMember) -> Foreign {
        Foreign {
            thread: key.thread,
            locksets: [key.lockset; 2],
        }
    }
}

impl From<&ClassPair> for Foreign {
    fn from(key: &ClassPair) -> Foreign {
        Foreign {
            thread: key.thread,
            locksets: key.locksets,
        }
    }
}

impl<'a> Fits<'a> {
    pub fn new(graph: &'a ForcedOrder<'a>, classes: &'a RunClasses) -> Fits<'a> {
        Fits {
            graph,
            classes,
            excludes: RefCell::default(),
        }
    }

    /// Returns whether the sets have a lock in common that is not held for reading in both.
    fn exclude(&self, a: LocksetId, b: LocksetId) -> bool {
        let empty = LocksetId(0);
        a != empty
            && b != empty
            && *self
                .excludes
                .borrow_mut()
                .entry((a.min(b), a.max(b)))
                .or_insert_with(|| self.graph.locksets().common(a, b).is_some())
    }

    /// Algorithm 1: members of two classes that are independent, the earliest of the first.
    pub fn independent(&self, a: u32, b: u32) -> Option<[EventId; 2]> {
        let (of_a, of_b) = (self.access(a)?, self.access(b)?);
        if self.exclude(of_a.lockset, of_b.lockset) {
            return None;
        }
        let theirs = self.classes.accesses.members(b);
        self.classes.accesses.members(a).iter().find_map(|&event| {
            let order = self.graph.order();
            let from = order.known(event, of_a.thread, of_b.thread);
            let upto = order.known_from(event, of_a.thread, of_b.thread);
            let other = theirs.get(theirs.partition_point(|other| other.0 < from))?;
            (other.0 < upto).then_some([event, *other])
        })
    }

    /// Members of two classes under one lock that the run had in the opposite order, though nothing but the
    /// lock orders them: the earliest of the first, which came after one of the second.
    pub fn turned(&self, a: u32, b: u32) -> Option<[EventId; 2]> {
        let (of_a, of_b) = (self.access(a)?, self.access(b)?);
        if !self.exclude(of_a.lockset, of_b.lockset) {
            return None;
        }
        let theirs = self.classes.accesses.members(b);
        self.classes.accesses.members(a).iter().find_map(|&event| {
            let order = self.graph.order();
            let from = order.known(event, of_a.thread, of_b.thread);
            let upto = order.known_from(event, of_a.thread, of_b.thread);
            let other = theirs.get(theirs.partition_point(|other| other.0 < from))?;
            (other.0 < upto && *other < event).then_some([event, *other])
        })
    }

    fn access(&self, class: u32) -> Option<&ClassMember> {
        self.classes.accesses.keys.get(class as usize)
    }

    /// Algorithm 2: members of a class of pairs and of a class of foreign accesses with a place between the
    /// pair where no common lock and no order excludes the foreign access.
    pub fn between(&self, pair: u32, foreign: u32) -> Option<[EventId; 3]> {
        let key = self.access(foreign)?;
        let members = self.classes.accesses.members(foreign);
        let (first, last, foreign) = self.inside(pair, key.into(), members, |&event| [event; 2])?;
        Some([first, *foreign, last])
    }

    /// The extension of Algorithm 2 to two foreign accesses of one region: there are two places, the second
    /// not before the first.
    pub fn both_between(&self, pair: u32, foreign: u32) -> Option<[EventId; 4]> {
        let key = self.classes.pairs.keys.get(foreign as usize)?;
        let members = self.classes.pairs.members(foreign);
        let (first, last, foreign) = self.inside(pair, key.into(), members, |&(a, b)| [a, b])?;
        Some([first, foreign.0, foreign.1, last])
    }

    fn inside<'m, M>(
        &self,
        pair: u32,
        foreign: Foreign,
        members: &'m [M],
        events: impl Fn(&M) -> [EventId; 2],
    ) -> Option<(EventId, EventId, &'m M)> {
        let thread = self.classes.pairs.keys.get(pair as usize)?.thread;
        let stretches = self.classes.stretches.get(usize::from(thread))?;
        let pairs = self.classes.pairs.members(pair).iter();
        let mut windows = Vec::new();
        for (nth, &(first, last)) in pairs.enumerate() {
            let between = stretches.between(first, last);
            // The locks held in between are the same for all members of the class.
            if nth == 0 && !self.locks_let_in(between, foreign) {
                return None;
            }
            windows.clear();
            windows.extend(between.iter().map(|s| self.window(s, thread, foreign)));
            let from = windows.iter().map(|w| w.from).min()?;
            let upto = windows.iter().map(|w| w.upto).max()?;
            let begin = members.partition_point(|member| events(member)[0].0 < from);
            let mut near = members.get(begin..)?.iter();
            let found = near
                .by_ref()
                .take_while(|member| events(member)[0].0 < upto)
                .find(|member| fits(&windows, events(member)));
            if let Some(member) = found {
                return Some((first, last, member));
            }
        }
        None
    }

    /// Returns whether each of the two has a place as far as locks are concerned.
    fn locks_let_in(&self, between: &[Stretch], foreign: Foreign) -> bool {
        let free = |lockset| between.iter().any(|s| !self.exclude(s.lockset, lockset));
        foreign.locksets.into_iter().all(free)
    }

    fn window(&self, stretch: &Stretch, thread: u16, foreign: Foreign) -> Window {
        let order = self.graph.order();
        Window {
            open: foreign
                .locksets
                .map(|lockset| !self.exclude(stretch.lockset, lockset)),
            from: order.known(EventId(stretch.start), thread, foreign.thread),
            upto: order.known_from(EventId(stretch.start + 1), thread, foreign.thread),
        }
    }
}

/// Window for foreign accesses in the places of one stretch: the foreign thread's rows from `from` up to
/// `upto`, exclusive, with whether the locks admit the first or the second access.
struct Window {
    open: [bool; 2],
    from: u32,
    upto: u32,
}

/// Returns whether the first event fits into a window and the second into that one or a later one.
fn fits(windows: &[Window], [first, second]: [EventId; 2]) -> bool {
    let inside = |window: &Window, event: EventId| event.0 >= window.from && event.0 < window.upto;
    let mut later = windows
        .iter()
        .skip_while(|window| !(window.open[0] && inside(window, first)));
    later.any(|window| window.open[1] && inside(window, second))
}
