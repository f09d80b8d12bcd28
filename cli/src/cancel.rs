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
        let result = work();
        is_done.store(true, Ordering::Relaxed);
        result
    })
}
