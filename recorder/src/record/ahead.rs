//! Runs that are begun before it is certain that they come next: what they try is foreseen, and those of which it turns
//! out to be something else are dropped. So the runs of a campaign do not depend on how many are made at a time.

use super::{
    Job, RecordError, RunPlan,
    crew::{Crew, Ticket},
    seen::ReadLog,
};
use crate::{assemble::ProgramDebugInfo, launch::Starter};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::RecvTimeoutError,
    },
    time::Duration,
};
use unsnarl_trace::raw::Record;

/// Longest time between two looks at the user's wish to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs that were begun.
pub(super) struct Ahead<'c, 'b, 'a> {
    crew: &'c Crew<'b, 'a>,
    job: &'a Job,
    program: &'a ProgramDebugInfo,
    begun: Vec<Begun>,
}

/// A run that was begun. It is ended with the value.
struct Begun {
    attempt: RunPlan,
    dropped: Arc<AtomicBool>,
    result: Ticket<Result<ReadLog, RecordError>>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

impl<'c, 'b, 'a> Ahead<'c, 'b, 'a> {
    /// None yet.
    pub fn new(
        crew: &'c Crew<'b, 'a>,
        job: &'a Job,
        program: &'a ProgramDebugInfo,
    ) -> Ahead<'c, 'b, 'a> {
        Ahead {
            crew,
            job,
            program,
            begun: Vec::new(),
        }
    }

    /// Drops all of them.
    pub fn drop_all(&mut self) {
        self.begun.clear();
    }

    /// Number of runs that may be begun, if each has `events` events and all together may take `room` bytes of memory.
    pub fn most(&self, events: u64, room: u64) -> usize {
        let bytes = events.max(1).saturating_mul(size_of::<Record>() as u64);
        let most = usize::try_from(room / bytes).unwrap_or(usize::MAX);
        most.max(1).min(2 * self.crew.size())
    }

    /// The run of an attempt. Those that are foreseen are begun, and all others are dropped.
    pub fn take(
        &mut self,
        attempt: &RunPlan,
        foreseen: Vec<RunPlan>,
        stop: &AtomicBool,
    ) -> Result<ReadLog, RecordError> {
        let is_wanted =
            |begun: &Begun| begun.attempt == *attempt || foreseen.contains(&begun.attempt);
        self.begun.retain(is_wanted);
        let place = self.begun.iter().position(|it| it.attempt == *attempt);
        let next = match place {
            Some(place) => self.begun.remove(place),
            None => self.begin(attempt.clone()),
        };
        for attempt in foreseen {
            if !self.begun.iter().any(|begun| begun.attempt == attempt) {
                let begun = self.begin(attempt);
                self.begun.push(begun);
            }
        }
        next.wait(stop)
    }

    fn begin(&self, attempt: RunPlan) -> Begun {
        let dropped = Arc::new(AtomicBool::new(false));
        let (job, program, stop, tried) =
            (self.job, self.program, dropped.clone(), attempt.clone());
        let result = self.crew.begin(move |hand| {
            if stop.load(Ordering::Relaxed) {
                return Err(RecordError::NotBegun);
            }
            let job = with_starter(job, &hand.starter);
            ReadLog::make(&job, program, &tried, &mut hand.places, &stop)
        });
        Begun {
            attempt,
            dropped,
            result,
        }
    }
}

fn with_starter(job: &Job, starter: &Starter) -> Job {
    Job {
        starter: starter.clone(),
        ..job.clone()
    }
}

fn lost(why: &str) -> RecordError {
    RecordError::Launch(io::Error::other(why).into())
}

impl Begun {
    /// Waits for its end, which comes soon when the user wants to stop.
    fn wait(&self, stop: &AtomicBool) -> Result<ReadLog, RecordError> {
        let Ticket::Coming(result) = &self.result else {
            return Err(lost("it was not begun"));
        };
        loop {
            match result.recv_timeout(PATIENCE) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => return Err(lost("its thread has failed")),
                Err(RecvTimeoutError::Timeout) => {
                    let wants_end = stop.load(Ordering::Relaxed);
                    self.dropped.fetch_or(wants_end, Ordering::Relaxed);
                }
            }
        }
    }
}
