//! Last stage of a run, once it is decided whether to keep it: the run is put together and stored. This takes longest:
//! the crew does it while later runs are looked at, and the results are noted in the order of the runs.

use super::{CampaignTally, RecordError, Summary, coverage::NewPair, crew::Ticket, seen::MadeRun};
use crate::launch::check::FailedCheck;
use std::{cell::OnceCell, collections::VecDeque};
use unsnarl_trace::{EncodedRun, Outcome, Run, RunMeta};

/// A run that was put together.
pub(super) struct Assembled {
    /// Its metadata, where nothing but its file was made.
    meta: Option<RunMeta>,
    /// Its file, if it is to be kept.
    pub encoded: Option<EncodedRun>,
    run: OnceCell<Run>,
}

impl Assembled {
    /// The metadata of the run.
    pub fn meta(&self) -> &RunMeta {
        match &self.meta {
            Some(meta) => meta,
            None => &self.run().meta,
        }
    }

    /// The run. Where only its file was made, it is read from that, on demand.
    pub fn run(&self) -> &Run {
        let read = || self.encoded.as_ref()?.decode().ok();
        self.run.get_or_init(|| read().unwrap_or_default())
    }

    /// The run, to keep.
    pub fn into_run(self) -> Run {
        self.run();
        self.run.into_inner().unwrap_or_default()
    }
}

/// A run on its way.
pub(super) enum RunStage<'a> {
    /// Nothing is to be made of it.
    Read(Box<MadeRun<'a>>),
    /// It is put together, to be kept or to give names to what it has shown.
    Assembled(Ticket<Result<Box<Assembled>, RecordError>>),
    /// Nobody is told of it.
    Lost,
}

/// A run that was counted.
pub(super) struct CountedRun<'a> {
    pub stage: RunStage<'a>,
    pub outcome: Outcome,
    pub events: u64,
    /// The failed check that it printed.
    pub check: Option<FailedCheck>,
    /// The runs up to this one.
    pub tally: CampaignTally,
    /// Places that no run before has shown together, if the data on which they met are to be named.
    pub new: Vec<NewPair>,
    /// Reasons why its record is not complete that the run itself will not state.
    pub problems: Vec<String>,
}

impl CountedRun<'_> {
    /// One of which nothing is left but what is to be said of it.
    pub fn lost(tally: CampaignTally, problems: Vec<String>) -> CountedRun<'static> {
        CountedRun {
            stage: RunStage::Lost,
            outcome: Outcome::CutShort,
            events: 0,
            check: None,
            tally,
            new: Vec::new(),
            problems,
        }
    }
}

/// Use that is made of a run that is put together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It is kept.
    Kept,
    /// It is kept, and names what it has shown.
    KeptAndNamed,
    /// It names what it has shown.
    Named,
}

/// Puts a run together, and its file if it is to be kept.
pub(super) fn assemble(seen: MadeRun<'_>, purpose: Purpose) -> Result<Box<Assembled>, RecordError> {
    if purpose == Purpose::Kept && seen.can_be_encoded() {
        let (meta, encoded) = seen.encoded()?;
        return Ok(Box::new(Assembled {
            meta: Some(meta),
            encoded: Some(encoded),
            run: OnceCell::new(),
        }));
    }
    let run = seen.into_run();
    let keeps = purpose != Purpose::Named;
    Ok(Box::new(Assembled {
        meta: None,
        encoded: keeps.then(|| EncodedRun::of(&run)).transpose()?,
        run: OnceCell::from(run),
    }))
}

/// Runs that are put together, in their order.
#[derive(Default)]
pub(super) struct OrderedRuns<'a> {
    runs: VecDeque<CountedRun<'a>>,
    events: u64,
}

/// Bytes of memory that an event of a failing run, whose columns are made, takes until the run is stored; others take less.
const BYTES_PER_EVENT: u64 = 128;

impl<'a> OrderedRuns<'a> {
    pub fn push(&mut self, run: CountedRun<'a>) {
        self.events += run.events;
        self.runs.push_back(run);
    }

    /// The oldest one, where another would be too many or would take more memory than there is.
    pub fn overflow(&mut self, most: usize, room: u64) -> Option<CountedRun<'a>> {
        let bytes = self.events.saturating_mul(BYTES_PER_EVENT);
        (self.runs.len() > most || bytes > room).then(|| self.pop())?
    }

    /// The oldest one.
    pub fn pop(&mut self) -> Option<CountedRun<'a>> {
        let run = self.runs.pop_front()?;
        self.events -= run.events;
        Some(run)
    }
}

/// Bytes that runs on their way may take together: half of what the machine has left now.
pub(super) fn room() -> u64 {
    const USUAL: u64 = 1 << 30;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.map_or(USUAL, |kilobytes| kilobytes.saturating_mul(1024) / 2)
}

/// Notes a problem, once with the number of runs that had it.
pub(super) fn note(summary: &mut Summary, problem: &str) {
    let problems = &mut summary.problems;
    match problems.iter_mut().find(|(text, _)| text == problem) {
        Some((_, count)) => *count += 1,
        None => problems.push((problem.to_owned(), 1)),
    }
}
