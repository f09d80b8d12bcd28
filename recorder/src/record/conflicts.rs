//! Which accesses of different threads follow each other on one object and could have come the other
//! way round: the steps that an interleaving is made of.
//!
//! Accesses that creating or joining a thread puts in order are none. Every access is matched with the
//! last change of the object, and a change with the last look of each thread since: linear in the run.

use super::order::Touch;

/// One access, as later ones find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub thread: u16,
    /// Whatever the caller tells places apart by.
    pub place: u32,
    /// Part of the thread's life, see [`Forks`].
    part: u32,
}

/// What is known of an object.
#[derive(Clone, Default)]
struct Object {
    change: Option<Access>,
    /// At most one for each thread.
    looks: Vec<Access>,
}

/// The order that creating and joining threads makes. A thread's life is cut into parts at each
/// creation; of each other thread it is known which parts have surely gone by.
#[derive(Default)]
struct Forks {
    parts: Vec<u32>,
    /// By thread, then by other thread: the number of parts that lie behind.
    behind: Vec<Vec<u32>>,
}

impl Forks {
    fn part(&self, thread: u16) -> u32 {
        self.parts.get(usize::from(thread)).copied().unwrap_or(0)
    }

    /// All of `other` up to now, and what it knows, lies behind `thread`.
    fn learn(&mut self, thread: u16, other: u16) {
        let (thread, other, gone) = (thread.into(), usize::from(other), self.part(other) + 1);
        let rows = self.behind.len().max(other.max(thread) + 1);
        self.behind.resize(rows, Vec::new());
        let known = self.behind.get(other).cloned().unwrap_or_default();
        let Some(row) = self.behind.get_mut(thread) else {
            return;
        };
        row.resize(row.len().max(known.len()).max(other + 1), 0);
        row.iter_mut()
            .zip(&known)
            .for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        if let Some(mine) = row.get_mut(other) {
            *mine = (*mine).max(gone);
        }
    }

    fn fork(&mut self, parent: u16, child: u16) {
        self.learn(child, parent);
        let index = usize::from(parent);
        self.parts.resize(self.parts.len().max(index + 1), 0);
        if let Some(part) = self.parts.get_mut(index) {
            *part += 1;
        }
    }

    fn is_behind(&self, thread: u16, access: &Access) -> bool {
        let row = self.behind.get(usize::from(thread));
        let gone = row.and_then(|row| row.get(usize::from(access.thread)));
        gone.is_some_and(|gone| access.part < *gone)
    }
}

/// Follows a run access by access.
#[derive(Default)]
pub(super) struct Conflicts {
    objects: Vec<Object>,
    forks: Forks,
}

impl Conflicts {
    /// `parent` creates `child`.
    pub fn fork(&mut self, parent: u16, child: u16) {
        if parent != child {
            self.forks.fork(parent, child);
        }
    }

    /// `thread` has waited for the end of `child`.
    pub fn join(&mut self, thread: u16, child: u16) {
        if thread != child {
            self.forks.learn(thread, child);
        }
    }

    /// `thread` uses an object; `found` gets each access that this one could have come before.
    pub fn touch(
        &mut self,
        object: usize,
        thread: u16,
        place: u32,
        touch: Touch,
        mut found: impl FnMut(Access),
    ) {
        if self.objects.len() <= object {
            self.objects.resize(object + 1, Object::default());
        }
        let Some(known) = self.objects.get_mut(object) else {
            return;
        };
        let part = self.forks.part(thread);
        let access = Access {
            thread,
            place,
            part,
        };
        let is_open =
            |other: &Access| other.thread != thread && !self.forks.is_behind(thread, other);
        known
            .change
            .filter(is_open)
            .into_iter()
            .for_each(&mut found);
        match touch {
            Touch::Changes => {
                known.looks.drain(..).filter(is_open).for_each(found);
                known.change = Some(access);
            }
            Touch::Looks => match known.looks.iter_mut().find(|look| look.thread == thread) {
                Some(look) => *look = access,
                None => known.looks.push(access),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(conflicts: &mut Conflicts, thread: u16, place: u32, touch: Touch) -> Vec<u32> {
        let mut found = Vec::new();
        conflicts.touch(0, thread, place, touch, |access| found.push(access.place));
        found
    }

    #[test]
    fn changes_meet_the_last_change_and_the_reads_since() {
        let mut conflicts = Conflicts::default();
        assert_eq!(touch(&mut conflicts, 0, 1, Touch::Changes), [0u32; 0]);
        assert_eq!(touch(&mut conflicts, 1, 2, Touch::Looks), [1]);
        assert_eq!(touch(&mut conflicts, 2, 3, Touch::Looks), [1]);
        assert_eq!(touch(&mut conflicts, 1, 4, Touch::Changes), [1, 3]);
        assert_eq!(touch(&mut conflicts, 0, 5, Touch::Looks), [4]);
        assert_eq!(touch(&mut conflicts, 1, 6, Touch::Looks), [0u32; 0]);
    }

    #[test]
    fn creating_and_joining_a_thread_leaves_no_choice() {
        let mut conflicts = Conflicts::default();
        touch(&mut conflicts, 0, 1, Touch::Changes);
        conflicts.fork(0, 1);
        assert_eq!(touch(&mut conflicts, 1, 2, Touch::Looks), [0u32; 0]);
        assert_eq!(touch(&mut conflicts, 0, 3, Touch::Changes), [2]);
        conflicts.fork(1, 2);
        // What main did before it made the parent lies behind, what it did since does not.
        assert_eq!(touch(&mut conflicts, 2, 4, Touch::Looks), [3]);
        conflicts.join(0, 2);
        assert_eq!(touch(&mut conflicts, 0, 5, Touch::Changes), [0u32; 0]);
        // The grandchild's end says nothing about how far its parent went.
        assert_eq!(touch(&mut conflicts, 1, 6, Touch::Changes), [5]);
        conflicts.join(0, 1);
        assert_eq!(touch(&mut conflicts, 0, 7, Touch::Changes), [0u32; 0]);
    }
}
