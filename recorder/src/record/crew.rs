//! Threads that make and put together the runs of a campaign side by side. What comes of that is looked at by one thread
//! only, in the order of the runs.

use crate::{digest::CampaignPlaces, launch::Starter};
use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
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

type CrewTask<'a> = Box<dyn FnOnce(&mut Hand) + Send + 'a>;

/// Tasks that the crew still has to do.
#[derive(Default)]
struct Tasks<'a> {
    lists: Mutex<Lists<'a>>,
    changed: Condvar,
}

#[derive(Default)]
struct Lists<'a> {
    /// Goes before all runs: it frees memory.
    urgent: VecDeque<CrewTask<'a>>,
    runs: VecDeque<CrewTask<'a>>,
    is_closed: bool,
}

impl<'a> Tasks<'a> {
    fn lists(&self) -> MutexGuard<'_, Lists<'a>> {
        // The lists are whole at any time.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does one task after the other until there will be none any more.
    fn work(&self, mut hand: Hand) {
        while let Some(task) = self.next() {
            task(&mut hand);
        }
    }

    fn next(&self) -> Option<CrewTask<'a>> {
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
struct Closing<'b, 'a>(&'b Tasks<'a>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        let mut lists = self.0.lists();
        lists.is_closed = true;
        lists.runs.clear();
        self.0.changed.notify_all();
    }
}

/// The threads.
pub(super) struct Crew<'b, 'a> {
    tasks: &'b Tasks<'a>,
    size: usize,
}

/// Does something with a crew; without any, its work is done by the caller itself.
pub(super) fn with_crew<'a, T>(hands: Vec<Hand>, act: impl FnOnce(&Crew<'_, 'a>) -> T) -> T {
    let (tasks, size) = (Tasks::default(), hands.len());
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

impl<'a> Crew<'_, 'a> {
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
    pub fn begin<T: Send + 'a>(&self, run: impl FnOnce(&mut Hand) -> T + Send + 'a) -> Ticket<T> {
        self.queue(false, run)
    }

    fn queue<T: Send + 'a>(
        &self,
        is_urgent: bool,
        work: impl FnOnce(&mut Hand) -> T + Send + 'a,
    ) -> Ticket<T> {
        let (give, take) = channel();
        let task = Box::new(move |hand: &mut Hand| {
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
