//! Threads that make and put together the runs of a campaign side by side. What comes of that is looked at by one thread
//! only, in the order of the runs.

use crate::{digest::CampaignPlaces, launch::Starter};
// Tests run the crew under schedules of their own.
#[cfg(test)]
use shuttle::{
    sync::{
        Condvar, Mutex, MutexGuard,
        mpsc::{Receiver, channel},
    },
    thread,
};
use std::{collections::VecDeque, sync::PoisonError};
#[cfg(not(test))]
use std::{
    sync::{
        Condvar, Mutex, MutexGuard,
        mpsc::{Receiver, channel},
    },
    thread,
};

/// Resources that belong to one thread of the crew.
pub(super) struct Hand {
    /// Starts runs beside those of others.
    pub starter: Starter,
    /// Finds places again.
    pub places: CampaignPlaces,
}

type CrewTask<'a, H> = Box<dyn FnOnce(&mut H) + Send + 'a>;

/// Tasks that the crew still has to do.
struct Tasks<'a, H> {
    lists: Mutex<Lists<'a, H>>,
    changed: Condvar,
}

struct Lists<'a, H> {
    /// Goes before all runs: it frees memory.
    urgent: VecDeque<CrewTask<'a, H>>,
    runs: VecDeque<CrewTask<'a, H>>,
    is_closed: bool,
}

impl<'a, H> Tasks<'a, H> {
    fn new() -> Self {
        Tasks {
            lists: Mutex::new(Lists {
                urgent: VecDeque::new(),
                runs: VecDeque::new(),
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lists(&self) -> MutexGuard<'_, Lists<'a, H>> {
        // The lists are whole at any time.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one task after the other until there will be none any more.
    fn work(&self, mut hand: H) {
        while let Some(task) = self.next() {
            task(&mut hand);
        }
    }

    fn next(&self) -> Option<CrewTask<'a, H>> {
        let mut lists = self.lists();
        loop {
            let task = lists.urgent.pop_front();
            if let Some(task) = task.or_else(|| lists.runs.pop_front()) {
                return Some(task);
            }
            if lists.is_closed {
                return None;
            }
            let waited = self.changed.wait(lists);
            lists = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Sends the crew home, also when whoever has hired it fails.
struct Closing<'b, 'a, H>(&'b Tasks<'a, H>);

impl<H> Drop for Closing<'_, '_, H> {
    fn drop(&mut self) {
        let mut lists = self.0.lists();
        lists.is_closed = true;
        lists.runs.clear();
        self.0.changed.notify_all();
    }
}

/// The threads, each with resources of its own.
pub(super) struct Crew<'b, 'a, H = Hand> {
    tasks: &'b Tasks<'a, H>,
    size: usize,
}

/// Does something with a crew; without any, its work is done by the caller itself.
pub(super) fn with_crew<'a, T, H: Send>(
    hands: Vec<H>,
    act: impl FnOnce(&Crew<'_, 'a, H>) -> T,
) -> T {
    let (tasks, size) = (Tasks::new(), hands.len());
    thread::scope(|scope| {
        let _closing = Closing(&tasks);
        for hand in hands {
            scope.spawn(|| tasks.work(hand));
        }
        act(&Crew {
            tasks: &tasks,
            size,
        })
    })
}

impl<'a, H> Crew<'_, 'a, H> {
    /// Number of threads.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Hands over work that frees memory when it is done.
    pub fn hand_over<T: Send + 'a>(&self, work: impl FnOnce() -> T + Send + 'a) -> Ticket<T> {
        if self.size == 0 {
            return Ticket::Ready(work());
        }
        self.queue(true, |_| work())
    }

    /// Hands over a run to make. There has to be somebody who makes it.
    pub fn begin<T: Send + 'a>(&self, run: impl FnOnce(&mut H) -> T + Send + 'a) -> Ticket<T> {
        self.queue(false, run)
    }

    fn queue<T: Send + 'a>(
        &self,
        is_urgent: bool,
        work: impl FnOnce(&mut H) -> T + Send + 'a,
    ) -> Ticket<T> {
        let (give, take) = channel();
        let task = Box::new(move |hand: &mut H| {
            // Nobody may want it any more.
            let _ = give.send(work(hand));
        });
        let mut lists = self.tasks.lists();
        match is_urgent {
            true => lists.urgent.push_back(task),
            false => lists.runs.push_back(task),
        }
        self.tasks.changed.notify_one();
        Ticket::Coming(take)
    }
}

/// Result of a task that was handed over, now or later.
pub(super) enum Ticket<T> {
    /// It is done.
    Ready(T),
    /// Somebody does it.
    Coming(Receiver<T>),
}

impl<T> Ticket<T> {
    /// Waits for it; `None` when whoever did it has failed.
    pub fn wait(self) -> Option<T> {
        match self {
            Ticket::Ready(done) => Some(done),
            Ticket::Coming(take) => take.recv().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_crew;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Schedules that are drawn for each test, half of them by priorities.
    const SCHEDULES: usize = 2_000;

    /// Runs a test under many schedules. A schedule in which no thread can go on fails.
    fn under_schedules(test: fn()) {
        shuttle::check_random(test, SCHEDULES / 2);
        shuttle::check_pct(test, SCHEDULES / 2, 3);
    }

    #[test]
    fn each_task_is_done_once_and_its_result_arrives() {
        under_schedules(|| {
            let done = AtomicUsize::new(0);
            let total: usize = with_crew(vec![1, 2], |crew| {
                let count = |by: usize| done.fetch_add(1, SeqCst) + by;
                let run = crew.begin(move |hand: &mut usize| {
                    *hand += 10;
                    *hand
                });
                let urgent = crew.hand_over(move || count(0));
                let results = [run.wait(), urgent.wait()];
                assert!(matches!(results, [Some(11 | 12), Some(0)]), "{results:?}");
                results.into_iter().flatten().sum()
            });
            assert!(total >= 11);
            assert_eq!(done.load(SeqCst), 1);
        });
    }

    #[test]
    fn runs_that_nobody_has_begun_are_given_up_at_the_end() {
        under_schedules(|| {
            let begun = AtomicUsize::new(0);
            let count = |_: &mut ()| begun.fetch_add(1, SeqCst);
            let late = with_crew(vec![(), ()], |crew| [0; 3].map(|_| crew.begin(count)));
            // Every thread has gone home: what was begun has its result, what was not has none.
            let results = late.map(super::Ticket::wait);
            assert_eq!(results.iter().flatten().count(), begun.load(SeqCst));
        });
    }

    #[test]
    fn what_frees_memory_is_done_even_if_the_end_comes_first() {
        under_schedules(|| {
            let done = AtomicUsize::new(0);
            let freed = || done.fetch_add(1, SeqCst);
            let tickets = with_crew(vec![()], |crew| [0; 2].map(|_| crew.hand_over(freed)));
            assert_eq!(done.load(SeqCst), 2);
            assert!(tickets.into_iter().all(|ticket| ticket.wait().is_some()));
        });
    }

    #[test]
    fn without_a_crew_the_caller_does_the_work() {
        shuttle::check_random(
            || {
                let hands: Vec<()> = Vec::new();
                let result = with_crew(hands, |crew| crew.hand_over(|| 7).wait());
                assert_eq!(result, Some(7));
            },
            1,
        );
    }
}
