//! The locks that a thread holds, in the order in which it acquired them.

/// Locks held, each once with its recursion depth; `T` is kept with the acquisition.
#[derive(Clone, Debug)]
pub struct HeldLocks<T> {
    /// Lock, depth, and data of the first acquisition.
    held: Vec<(u32, u32, T)>,
}

impl<T> Default for HeldLocks<T> {
    fn default() -> HeldLocks<T> {
        HeldLocks { held: Vec::new() }
    }
}

impl<T> HeldLocks<T> {
    /// Acquires a lock; a lock that is held gets deeper and keeps its data.
    pub fn take(&mut self, lock: u32, data: T) {
        if !self.deepen(lock) {
            self.held.push((lock, 1, data));
        }
    }

    /// Acquires a lock once more; `false` if it is not held.
    pub fn deepen(&mut self, lock: u32) -> bool {
        let of = self.held.iter_mut().find(|(held, ..)| *held == lock);
        of.map(|(_, depth, _)| *depth += 1).is_some()
    }

    /// Releases a lock; `false` when one that was acquired later is still held.
    pub fn give(&mut self, lock: u32) -> bool {
        let Some(at) = self.held.iter().position(|(held, ..)| *held == lock) else {
            return true;
        };
        if let Some((_, depth, _)) = self.held.get_mut(at) {
            *depth -= 1;
            if *depth == 0 {
                self.held.remove(at);
                return at == self.held.len();
            }
        }
        true
    }

    /// Returns whether no lock is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Data of the acquisitions, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.held.iter().map(|(.., data)| data)
    }
}
