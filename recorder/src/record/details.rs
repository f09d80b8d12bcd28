//! What is known about the choices of one run, for strategies that plan the next run by them.

use crate::assemble::RawLog;
use unsnarl_trace::raw::{Detail, End, Record};

/// The choices of one run and the records between them.
#[derive(Clone, Debug)]
pub struct Details {
    /// The choices in order.
    pub choices: Vec<Detail>,
    /// The records in order.
    pub records: Vec<Record>,
    /// How the run ended, as far as the runtime saw it.
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
}
