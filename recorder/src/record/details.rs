//! Details of one run's choices, for strategies that plan the next run by them.

use crate::assemble::RawLog;
use unsnarl_trace::{
    EventId, Run,
    raw::{Detail, End, Record},
};

/// The choices of one run and the records between them.
#[derive(Clone, Debug)]
pub struct Details {
    /// The choices in order.
    pub choices: Vec<Detail>,
    /// The records in order.
    pub records: Vec<Record>,
    /// The end of the run, as far as the runtime saw it.
    pub end: End,
    /// The first choice of the prefix that could not be followed, counted from 1; 0 when all were.
    pub first_divergence: u64,
    /// Bits of [`unsnarl_trace::raw::unlogged`].
    pub unlogged: u32,
}

impl Details {
    /// Copies them from the log, which is gone when the next run begins.
    pub fn read(log: &RawLog<'_>) -> Details {
        Details {
            choices: log.details().collect(),
            records: log.records().collect(),
            end: log.end(),
            first_divergence: log.first_divergence(),
            unlogged: log.unlogged(),
        }
    }

    /// Number of choices before the one that leads to a row of the run.
    pub fn choices_before(&self, run: &Run, row: EventId) -> Option<usize> {
        let seq = run.events.get(row)?.seq;
        let mut seen = 0;
        let record = self.records.iter().position(|record| {
            seen += u64::from(record.is_event());
            seen > seq
        })? as u64;
        Some(
            self.choices
                .partition_point(|choice| choice.record < record),
        )
    }

    /// The row of the run with which `thread` goes on after `record` records were written.
    pub fn step_after(&self, run: &Run, record: u64, thread: u16) -> Option<EventId> {
        let before = self.records.get(..usize::try_from(record).ok()?)?;
        let seq = before.iter().filter(|it| it.is_event()).count() as u64;
        let mut rows = run.events.sequence().iter().zip(run.events.threads());
        let at = rows.position(|(&at, &by)| at >= seq && by == thread)?;
        u32::try_from(at).ok().map(EventId)
    }
}
