//! An interruption by the user ends an analysis like the end of its budget.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use unsnarl_core::Budget;

/// Does the work; an interruption by the user cancels its budget.
pub fn cancellable<T>(stop: &AtomicBool, budget: &Budget, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    budget.cancel();
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        // Also where the work panics: the scope waits for the thread.
        let _done = DoneGuard(&is_done);
        work()
    })
}

/// Says that some work is done when it goes out of scope.
pub struct DoneGuard<'a>(pub &'a AtomicBool);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
