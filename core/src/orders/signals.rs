//! Matching of signals with the threads they woke, for orders that keep communication only: a wakeup is
//! ordered after the one signal that explains it, not after all earlier signals of the condition.

use super::clocks::{HappensBeforePass, learn};
use unsnarl_order::VectorClock;
use unsnarl_trace::kinds::EventRole;

/// A signal or broadcast whose wakeups are still to come.
pub(super) struct PendingSignal {
    row: u32,
    clock: VectorClock,
    wakes: u64,
}

impl HappensBeforePass<'_> {
    /// Processes an event on a condition variable. The trace does not say which waiter a signal woke: the
    /// first thread to wake is matched with the first signal that came while it waited.
    pub(super) fn communicate(&mut self, row: u32, t: u16, role: EventRole) {
        let woken = self.number(row);
        match role {
            EventRole::Sleep => {
                if let Some(thread) = self.threads.get_mut(usize::from(t)) {
                    thread.waiting = row;
                }
            }
            EventRole::Resume if woken == 0 => self.woken(row, t),
            EventRole::Notify { .. } if woken != 0 => {
                self.release(row, t);
                if let Some((object, clock)) = self.publish(row, t) {
                    let clock = clock.clone();
                    object.signals.push_back(PendingSignal {
                        row,
                        clock,
                        wakes: woken,
                    });
                }
            }
            _ => {}
        }
    }

    /// Orders a wakeup that no signal explains (in an imported trace) after all signals so far.
    fn woken(&mut self, row: u32, t: u16) {
        let Some(object) = self.object(row).and_then(|i| self.objects.get_mut(i)) else {
            return;
        };
        let Some(thread) = self.threads.get_mut(usize::from(t)) else {
            return;
        };
        let explains = |told: &PendingSignal| told.row > thread.waiting;
        let Some(told) = object.signals.iter_mut().find(|told| explains(told)) else {
            return self.acquire(row, t);
        };
        told.wakes -= 1;
        learn(&mut thread.clock, &mut self.learned, row, t, &told.clock);
        object.signals.retain(|told| told.wakes > 0);
    }
}
