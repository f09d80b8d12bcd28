//! The result of a proposed schedule, in words.

use super::{
    Divergence, Obstacle,
    blocks::SameBlocks,
    part::{Stood, WrittenPart},
};
use crate::assemble::{ProgramDebugInfo, RawLog, site_of};
use rustc_hash::FxHashMap;
use unsnarl_trace::{
    EventId, EventKind, Proposal, Run, SiteRow, ThreadId, Wanted,
    index::Id,
    raw::{
        RecordKind, WaitsFor,
        follow::{GaveUp, Standing},
    },
};

/// All facts that are known once the run has ended.
pub(super) struct EndFacts<'a> {
    pub proposal: &'a Proposal,
    pub program: &'a ProgramDebugInfo,
    pub log: &'a RawLog<'a>,
    pub run: &'a Run,
    pub written: WrittenPart<'a>,
}

fn short(site: &SiteRow) -> String {
    match site.line {
        0 => site.function.clone(),
        line => format!("{}:{line}", site.file.rsplit('/').next().unwrap_or("")),
    }
}

impl EndFacts<'_> {
    /// Returns whether the schedule was followed until the run ended.
    pub fn was_kept_up(&self) -> bool {
        self.written.gave_up().0 == GaveUp::No
    }

    /// The first of the events that happened on another location than proposed.
    pub fn elsewhere(&self, reached: usize) -> Option<Divergence> {
        let named = |at: &usize| {
            let wanted = self.proposal.events.get(*at);
            wanted.is_some_and(|wanted| !wanted.location.is_empty())
        };
        let records = (0..reached).filter(named);
        let records: Vec<(usize, usize)> = records
            .filter_map(|at| Some((at, self.written.done_at(at)?)))
            .collect();
        let seqs = self.seqs(records.iter().map(|(_, record)| *record));
        let mut blocks = SameBlocks::default();
        records.iter().find_map(|(entry, record)| {
            let wanted = self.proposal.events.get(*entry)?;
            let rows = self.rows(*seqs.get(record)?);
            let names: Vec<&str> = rows.iter().map(|row| self.run.location(*row)).collect();
            if names
                .iter()
                .any(|name| blocks.are_same(&wanted.location, name))
            {
                return None;
            }
            let other = names.first().copied().unwrap_or("nothing");
            Some(Divergence {
                entry: *entry,
                wanted: wanted.clone(),
                cause: Obstacle::Elsewhere,
                reason: format!("it was `{other}`, not `{}`", wanted.location),
                threads: Vec::new(),
            })
        })
    }

    /// The numbers that records have in the run.
    fn seqs(&self, records: impl Iterator<Item = usize>) -> FxHashMap<usize, u64> {
        let mut wanted: Vec<usize> = records.collect();
        wanted.sort_unstable();
        let mut wanted = wanted.into_iter().peekable();
        let mut seq = 0;
        let mut found = FxHashMap::default();
        for (index, record) in self.log.records().enumerate() {
            let Some(next) = wanted.peek() else { break };
            if index == *next {
                found.insert(index, seq);
                while wanted.next_if(|next| *next == index).is_some() {}
            }
            seq += u64::from(record.is_event());
        }
        found
    }

    /// The locations of the rows with this number.
    fn rows(&self, seq: u64) -> Vec<unsnarl_trace::LocationId> {
        let (mut low, mut high) = (0, self.run.events.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.run.events.get(EventId(middle)) {
                Some(event) if event.seq < seq => low = middle + 1,
                _ => high = middle,
            }
        }
        (low..)
            .map_while(|row| self.run.events.get(EventId(row)))
            .take_while(|event| event.seq == seq)
            .map(|event| event.location)
            .collect()
    }

    /// The divergence at an entry: the reason, and the actions of the threads instead.
    pub fn divergence(&self, entry: usize) -> Divergence {
        let wanted = self
            .proposal
            .events
            .get(entry)
            .cloned()
            .unwrap_or_else(|| Wanted::anywhere(String::new(), EventKind::Begin));
        let threads = match self.was_kept_up() {
            true => self.blocked(),
            false => self.stands(),
        };
        Divergence {
            cause: self.cause(),
            reason: self.reason(&wanted),
            entry,
            wanted,
            threads,
        }
    }

    fn cause(&self) -> Obstacle {
        match self.written.gave_up().0 {
            GaveUp::OutOfOrder => Obstacle::OutOfOrder,
            GaveUp::Ended => Obstacle::Ended,
            GaveUp::HeldBack => Obstacle::HeldBack,
            GaveUp::No => Obstacle::RunEnded,
        }
    }

    fn reason(&self, wanted: &Wanted) -> String {
        let (why, about) = self.written.gave_up();
        let about = about.map(|thread| self.thread(thread));
        let actor = &wanted.thread;
        match (why, about) {
            (GaveUp::OutOfOrder, about) => format!(
                "{} did what a later event says, at a place where it cannot be held back",
                about.unwrap_or("a thread")
            ),
            (GaveUp::Ended, Some(about)) if about == actor => {
                format!("{actor} ended without it")
            }
            (GaveUp::Ended, Some(about)) => {
                format!("{about} ended and {actor} had not been created")
            }
            (GaveUp::Ended, None) => format!("{actor} was never created"),
            (GaveUp::HeldBack, Some(about)) => format!(
                "{actor} cannot get there before {about} goes on, which a later event holds back"
            ),
            (GaveUp::HeldBack, None) => format!(
                "{actor} cannot get there before a thread goes on that a later event holds back"
            ),
            (GaveUp::No, _) => self.run_ended(wanted),
        }
    }

    fn run_ended(&self, wanted: &Wanted) -> String {
        let mut threads = self.run.meta.threads.iter();
        if threads.all(|row| row.name != wanted.thread) {
            return format!("{} was never created", wanted.thread);
        }
        let how = match &self.run.meta.failure {
            Some(failure) => failure.message.as_str(),
            None => self.run.meta.outcome.name(),
        };
        format!("the run ended before it: {how}")
    }

    fn thread(&self, number: usize) -> &str {
        let row = ThreadId::of_number(number).and_then(|id| self.run.meta.threads.checked(id));
        row.map_or("?", |row| row.name.as_str())
    }

    /// The objects that the unfinished threads waited for at the end of the run.
    fn blocked(&self) -> Vec<(String, String)> {
        let rows = self.run.events.iter().map(|(_, event)| event);
        rows.filter(|event| event.kind == EventKind::Blocked)
            .map(|event| {
                let location = self.run.location(event.location);
                let what = if location.is_empty() {
                    "something".to_owned()
                } else {
                    format!("`{location}`")
                };
                let site = short(self.run.meta.site(event.site));
                let name = self.run.meta.thread(event.thread).name.clone();
                (name, format!("waits for {what} at {site}"))
            })
            .collect()
    }

    /// The states of the threads when the schedule was given up.
    fn stands(&self) -> Vec<(String, String)> {
        (0..self.run.meta.threads.len())
            .filter_map(|number| {
                let stood = self.written.stood(number)?;
                Some((self.thread(number).to_owned(), self.stand(&stood)))
            })
            .collect()
    }

    fn stand(&self, stood: &Stood) -> String {
        let at = site_of(self.log, self.program, stood.pc);
        let at = at.map_or_else(String::new, |site| format!(" at {}", short(&site)));
        match stood.standing {
            Standing::Waiting => format!("waits for {}{at}", self.object(stood)),
            Standing::HeldBack => match stood.entry {
                Some(entry) => format!("is held back before event {entry}{at}"),
                None => format!("is held back{at}"),
            },
            Standing::Ready | Standing::Absent if stood.pc == 0 => "could go on".to_owned(),
            Standing::Ready | Standing::Absent => {
                let kind = stood.kind.and_then(RecordKind::event);
                format!("would {}{at}", kind.map_or("go on", EventKind::name))
            }
        }
    }

    /// The object that a thread waited for, with its holder.
    fn object(&self, stood: &Stood) -> String {
        match WaitsFor::from_u32(stood.waits_for) {
            Some(WaitsFor::Join) => {
                let number = usize::try_from(stood.object).unwrap_or(usize::MAX);
                format!("the end of {}", self.thread(number))
            }
            Some(WaitsFor::Lock | WaitsFor::SharedLock) => self.lock(stood.object),
            other => other.unwrap_or(WaitsFor::Nothing).words().to_owned(),
        }
    }

    /// The lock at an address, by the last event that took it.
    fn lock(&self, address: u64) -> String {
        let takes = |kind| {
            let kind = RecordKind::from_u8(kind).and_then(RecordKind::event);
            kind.is_some_and(|kind| kind.role().acquires_lock())
        };
        let until = self.written.gave_up_at();
        let records = self.log.records().take(until).enumerate();
        let taken = records
            .filter(|(_, record)| record.addr == address && takes(record.kind))
            .last();
        let Some((index, record)) = taken else {
            return "a lock".to_owned();
        };
        let seq = self.seqs(std::iter::once(index)).get(&index).copied();
        let rows = seq.map(|seq| self.rows(seq)).unwrap_or_default();
        let name = rows.first().map_or("", |row| self.run.location(*row));
        let holder = self.thread(usize::from(record.thread));
        format!("`{name}`, which {holder} holds")
    }
}
