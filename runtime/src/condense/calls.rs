//! The calls of functions that stay in the older part of a log: those in which something else stays, and those that
//! have not been left.

use super::accesses::{HOLDS, KEEP};
use unsnarl_trace::raw::{Record, RecordKind};

/// One pass over the older part, after the one that marks the accesses.
pub struct CallPass<'a> {
    pub records: &'a [Record],
    /// For an entered function the number plus one of the one that was entered before it.
    pub links: &'a mut [u32],
    pub marks: &'a mut [u8],
    /// The innermost function of each thread, likewise; 0 for none.
    pub innermost: &'a mut [u32],
}

impl CallPass<'_> {
    /// Marks what stays of the first `cut` records.
    pub fn run(&mut self, cut: usize) {
        for at in 0..cut {
            self.record(at);
        }
        for thread in 0..self.innermost.len() {
            while let Some(at) = self.leave(thread) {
                self.mark(at, KEEP);
            }
        }
    }

    fn record(&mut self, at: usize) -> Option<()> {
        let record = *self.records.get(at)?;
        let thread = usize::from(record.thread);
        match RecordKind::from_u8(record.kind)? {
            RecordKind::Enter => self.enter(at, &record, thread),
            RecordKind::Leave => match self.leave(thread) {
                Some(entered) if !self.has(entered, KEEP) => None,
                _ => self.mark(at, KEEP),
            },
            RecordKind::Extra => None,
            _ if self.has(at, KEEP) => {
                let inside = self.innermost.get(thread)?.checked_sub(1)?;
                self.mark(inside as usize, HOLDS)
            }
            _ => None,
        }
    }

    fn has(&self, at: usize, mark: u8) -> bool {
        self.marks.get(at).is_some_and(|marks| marks & mark != 0)
    }

    fn mark(&mut self, at: usize, mark: u8) -> Option<()> {
        *self.marks.get_mut(at)? |= mark;
        Some(())
    }

    /// Enters a function. Those whose frames lie below it were left without notice, as by `longjmp`.
    fn enter(&mut self, at: usize, record: &Record, thread: usize) -> Option<()> {
        while self.is_below(thread, record.addr) {
            self.leave(thread);
        }
        let innermost = self.innermost.get_mut(thread)?;
        *self.links.get_mut(at)? = core::mem::replace(innermost, at as u32 + 1);
        Some(())
    }

    /// Returns whether the innermost function's frame lies below a stack pointer.
    fn is_below(&self, thread: usize, stack_pointer: u64) -> bool {
        let innermost = self.innermost.get(thread).and_then(|at| at.checked_sub(1));
        let entered = innermost.and_then(|at| self.records.get(at as usize));
        entered.is_some_and(|entered| entered.addr <= stack_pointer)
    }

    /// Leaves the innermost function, and returns its number. It stays if something in it does; then the one around it
    /// does so as well.
    fn leave(&mut self, thread: usize) -> Option<usize> {
        let at = self.innermost.get(thread)?.checked_sub(1)? as usize;
        let outer = *self.links.get(at)?;
        *self.innermost.get_mut(thread)? = outer;
        if self.has(at, HOLDS) {
            self.mark(at, KEEP);
            if let Some(outer) = outer.checked_sub(1) {
                self.mark(outer as usize, HOLDS);
            }
        }
        Some(at)
    }
}
