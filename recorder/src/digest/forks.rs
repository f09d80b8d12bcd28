//! The order that the creation and joining of threads establishes.

/// Clock of each thread: the times up to which the other threads' steps happened before.
#[derive(Default)]
pub(super) struct Forks {
    /// Times before which all steps of another thread certainly came earlier, by thread and then by other thread.
    behind: Vec<Vec<u32>>,
}

impl Forks {
    /// Notes that `parent` creates `child` at the time `now`.
    pub fn fork(&mut self, parent: u16, child: u16, now: u32) {
        if parent != child {
            self.learn(child, parent, now);
        }
    }

    /// Notes that `thread` has waited for the end of `child`.
    pub fn join(&mut self, thread: u16, child: u16, now: u32) {
        if thread != child {
            self.learn(thread, child, now);
        }
    }

    /// Orders all steps of `other` up to now, and all steps before them, before the next step of `thread`.
    fn learn(&mut self, thread: u16, other: u16, now: u32) {
        let (thread, other) = (usize::from(thread), usize::from(other));
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
            *mine = (*mine).max(now);
        }
    }

    /// Returns whether a step of `other` at a given time came before everything that `thread` does now.
    pub fn is_behind(&self, thread: u16, other: u16, moment: u32) -> bool {
        let row = self.behind.get(usize::from(thread));
        let gone = row.and_then(|row| row.get(usize::from(other)));
        gone.is_some_and(|gone| moment < *gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creating_and_joining_a_thread_leaves_no_choice() {
        let mut forks = Forks::default();
        forks.fork(0, 1, 10);
        assert!(forks.is_behind(1, 0, 9) && !forks.is_behind(1, 0, 11));
        forks.fork(1, 2, 20);
        // What main did before it made the parent lies behind, what it did since does not.
        assert!(forks.is_behind(2, 0, 9) && !forks.is_behind(2, 0, 15));
        assert!(forks.is_behind(2, 1, 19));
        forks.join(0, 2, 30);
        // The grandchild's end says how far its parent had come when it made it, and no more.
        assert!(forks.is_behind(0, 2, 29) && forks.is_behind(0, 1, 19));
        assert!(!forks.is_behind(0, 1, 25) && !forks.is_behind(1, 2, 29));
    }
}
