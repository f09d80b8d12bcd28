//! A proposed schedule: the order in which an engine or a person wants events to happen. `docs/schedule.md` specifies
//! its JSON form.
//!
//! It names threads by their place in the fork tree and events by kind and place in the source, so it
//! means the same in every run of the program; a [`Schedule`](crate::Schedule) is the choices of one run.

use crate::{
    Chances, Criteria, EventId, EventKind, Run, RunMeta, Schedule, SiteId, SiteRow, ThreadId,
    input::RunInput,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Version of the JSON that this crate writes and the only one that it reads.
pub const VERSION: u32 = 1;

/// A proposed schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Proposal {
    /// [`VERSION`].
    pub unsnarl_schedule: u32,
    /// Path of the program; relative ones start at `directory`.
    #[serde(default)]
    pub program: String,
    /// SHA-256 of the program's file; empty when any build will do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build_id: String,
    /// Path of the parent program that starts the program, as in [`RunMeta::parent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Program, or parent program, and arguments; only the program when it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Working directory; the current one when it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// Hash of arguments and standard input as in [`RunMeta::input_hash`]; empty when any input will do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input_hash: String,
    /// Input to give back to the program, as in [`RunMeta::input`]; when it is empty, the program gets whatever
    /// comes.
    #[serde(default, skip_serializing_if = "RunInput::is_empty")]
    pub input: RunInput,
    /// Criteria for a failure, as in [`RunMeta::criteria`].
    #[serde(default, skip_serializing_if = "Criteria::is_usual")]
    pub criteria: Criteria,
    /// The events, in the order in which they are to happen.
    pub events: Vec<Wanted>,
    /// Choices to make before the first event, as in a run's [`Schedule`](crate::Schedule); events are counted from
    /// the run's start all the same.
    #[serde(default, skip_serializing_if = "Schedule::is_empty")]
    pub choices: Schedule,
    /// Enforces only the order of the events: among the threads that need not wait for one of them, `then` chooses
    /// from the start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_order: bool,
    /// Policy for the rest of the run, after the last event.
    #[serde(default)]
    pub then: Policy,
    /// Choices other than threads that the run makes, as in [`RunMeta::chances`].
    #[serde(default, skip_serializing_if = "Chances::is_none")]
    pub chances: Chances,
}

/// An event that is to happen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The thread's name: `main`, `main.1`, `main.1.2`.
    pub thread: String,
    /// Kind of the event.
    #[serde(serialize_with = "write_kind", deserialize_with = "read_kind")]
    pub kind: EventKind,
    /// Source file, or the end of its path (`bank.c`); empty for any place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Line; 0 for any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// Column; 0 for any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub column: u32,
    /// Function; empty for any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Position of the event among such events of the thread after its previous event in this list, from 1. The
    /// location does not count for "such".
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub nth: u32,
    /// Name of what is accessed; checked once the run has ended. Empty for any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub location: String,
    /// An atomic update that changes the value: updates that leave it as it is, such as vain attempts to set a flag that is
    /// set, are no such events. How many there are of them depends on the other threads.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changes: bool,
    /// The event may be left out; if it happens, then after the events before it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
}

/// A policy for the rest of a run, after the events of a proposed schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Policy {
    /// Each thread runs until it waits.
    #[default]
    Sequential,
    /// A random walk.
    Random {
        /// Its seed.
        #[serde(default)]
        seed: u64,
    },
    /// Probabilistic concurrency testing.
    Pct {
        /// Its seed.
        #[serde(default)]
        seed: u64,
        /// Its depth, from 1.
        depth: u32,
        /// Steps that the run is expected to have.
        steps: u64,
    },
}

impl Wanted {
    /// The next event of a kind of a thread, wherever it is.
    pub fn anywhere(thread: String, kind: EventKind) -> Wanted {
        Wanted {
            thread,
            kind,
            file: String::new(),
            line: 0,
            column: 0,
            function: String::new(),
            nth: 1,
            location: String::new(),
            changes: false,
            optional: false,
        }
    }

    /// The next event of a kind of a thread at a place.
    pub fn at(thread: String, kind: EventKind, site: &SiteRow) -> Wanted {
        Wanted {
            file: site.file.clone(),
            line: site.line,
            column: site.column,
            function: site.function.clone(),
            ..Wanted::anywhere(thread, kind)
        }
    }

    /// `bank.c:31:5 in deposit`, with the parts that are given.
    pub fn place(&self) -> String {
        let mut place = self.file.clone();
        for number in [self.line, self.column] {
            if number != 0 {
                place.push_str(&format!(":{number}"));
            }
        }
        if self.function.is_empty() {
            return place;
        }
        let gap = if place.is_empty() { "" } else { " in " };
        format!("{place}{gap}{}", self.function)
    }
}

/// `main.1: read balance at bank.c:31`
impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.thread, self.kind.name())?;
        if !self.location.is_empty() {
            write!(f, " {}", self.location)?;
        }
        let place = self.place();
        if !place.is_empty() {
            write!(f, " at {place}")?;
        }
        Ok(())
    }
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_one(n: &u32) -> bool {
    *n == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn write_kind<S: Serializer>(kind: &EventKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

fn read_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    EventKind::from_name(&name)
        .ok_or_else(|| de::Error::custom(format!("`{name}` is no kind of event")))
}

/// The error for a text that is not a proposed schedule.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// Text that is not JSON, or not of this form.
    #[error("not a schedule: {0}\n  next: docs/schedule.md says what one looks like")]
    Json(serde_json::Error),
    /// A schedule of another version of the format.
    #[error(
        "a schedule of version {0}, but this unsnarl reads version {VERSION}\n  next: write it anew, or update unsnarl"
    )]
    Version(u32),
}

impl Proposal {
    /// Parses the JSON form.
    pub fn from_json(text: &str) -> Result<Proposal, ProposalError> {
        #[derive(Deserialize)]
        struct Versioned {
            unsnarl_schedule: u32,
        }
        let versioned: Versioned = serde_json::from_str(text).map_err(ProposalError::Json)?;
        match versioned.unsnarl_schedule {
            VERSION => serde_json::from_str(text).map_err(ProposalError::Json),
            other => Err(ProposalError::Version(other)),
        }
    }

    /// Returns the JSON form.
    pub fn to_json(&self) -> Result<String, ProposalError> {
        serde_json::to_string_pretty(self).map_err(ProposalError::Json)
    }

    /// Creates an empty proposal for the program, build and input of a run.
    pub fn on(meta: &RunMeta) -> Proposal {
        Proposal {
            unsnarl_schedule: VERSION,
            program: meta.program.clone(),
            build_id: meta.build_id.clone(),
            parent: meta.parent.clone(),
            command: meta.command.clone(),
            directory: meta.directory.clone(),
            input_hash: meta.input_hash.clone(),
            criteria: meta.criteria.clone(),
            input: input_of(meta),
            events: Vec::new(),
            choices: Schedule::default(),
            only_order: false,
            then: Policy::Sequential,
            chances: meta.chances,
        }
    }

    /// Creates a proposal for these events of a run, in the order given. Events that follow each other in one thread
    /// must be in the order of the run; each gets its occurrence number from what the thread did in between.
    pub fn of_events(run: &Run, events: &[EventId]) -> Proposal {
        Proposal::counted(run, events, &Occurrences::of(run))
    }

    /// Like [`of_events`](Proposal::of_events), with the precomputed occurrences of the run's events, for many
    /// proposals of one run.
    pub fn counted(run: &Run, events: &[EventId], counts: &Occurrences) -> Proposal {
        let mut before: BTreeMap<ThreadId, u64> = BTreeMap::new();
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let mut proposal = Proposal::on(&run.meta);
        for event in events.iter().filter_map(|event| run.events.get(*event)) {
            // The rows of one access to several locations are one event.
            if !seen.insert(event.seq) {
                continue;
            }
            let last = before.insert(event.thread, event.seq);
            let wanted = EventClass {
                thread: event.thread,
                kind: event.kind,
                site: counts.place(event.kind, event.site),
                changes: event.is_changing_update(),
            };
            proposal.events.push(Wanted {
                nth: counts.between(wanted, last, event.seq),
                location: run.location(event.location).to_owned(),
                ..wanted_at(run, wanted)
            });
        }
        proposal
    }
}

/// The input of a run together with the seed of its random numbers.
fn input_of(meta: &RunMeta) -> RunInput {
    let mut input = meta.input.clone();
    if !input.is_empty() {
        input.seed = input.seed.or(Some(meta.seed));
    }
    input
}

fn wanted_at(run: &Run, class: EventClass) -> Wanted {
    let thread = run.meta.thread(class.thread).name.clone();
    let wanted = match class.site {
        ANYWHERE => Wanted::anywhere(thread, class.kind),
        site => Wanted::at(thread, class.kind, run.meta.site(site)),
    };
    Wanted {
        changes: class.changes,
        ..wanted
    }
}

/// Events of one thread that are numbered together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EventClass {
    thread: ThreadId,
    kind: EventKind,
    site: SiteId,
    /// Atomic updates that change the value; otherwise all events.
    changes: bool,
}

/// The site of events that are told apart by thread and kind only.
const ANYWHERE: SiteId = SiteId(0);

/// Occurrences of each event kind at each site in each thread of a run, which number the events of a proposal.
pub struct Occurrences {
    times: BTreeMap<EventClass, Vec<u64>>,
    /// `true` for each site at which a thread can be held: one in the user's code.
    nameable: Vec<bool>,
}

impl Occurrences {
    /// Counts the events of a run.
    pub fn of(run: &Run) -> Occurrences {
        let sites = run.meta.sites.iter();
        let mut counts = Occurrences {
            times: BTreeMap::new(),
            nameable: sites.map(SiteRow::is_of_user).collect(),
        };
        for (_, event) in run.events.iter() {
            let class = EventClass {
                thread: event.thread,
                kind: event.kind,
                site: counts.place(event.kind, event.site),
                changes: false,
            };
            counts.add(class, event.seq);
            if event.is_changing_update() {
                let changes = true;
                counts.add(EventClass { changes, ..class }, event.seq);
            }
            counts.add_attempt(class, event.seq);
        }
        counts
    }

    /// Counts an event. Where another event of the kind has no place of its own it is counted among all of them.
    fn add(&mut self, class: EventClass, seq: u64) {
        let site = ANYWHERE;
        for class in [class, EventClass { site, ..class }] {
            let times = self.times.entry(class).or_default();
            if times.last() != Some(&seq) {
                times.push(seq);
            }
        }
    }

    /// Counts an attempt that succeeded among those of its place that may fail: which one fails is for the schedule to say.
    fn add_attempt(&mut self, class: EventClass, seq: u64) {
        let kind = EventKind::TryLockFailed;
        let succeeds = EventKind::ATTEMPTS.contains(&class.kind) && class.kind != kind;
        if succeeds && class.site != ANYWHERE {
            let times = self.times.entry(EventClass { kind, ..class }).or_default();
            times.push(seq);
        }
    }

    /// The place by which events of this kind are told apart. The first and last steps of a thread have no call,
    /// and nothing in the user's code leads to what a library does in a thread of its own (`std::async`): such an
    /// event is the n-th of its kind, wherever.
    fn place(&self, kind: EventKind, site: SiteId) -> SiteId {
        let is_nameable = self.nameable.get(site.index()).copied().unwrap_or(false);
        match kind {
            EventKind::Begin | EventKind::End => ANYWHERE,
            _ if !is_nameable => ANYWHERE,
            _ => site,
        }
    }

    /// The occurrence number of the event at `until`, counted from after `from`.
    fn between(&self, class: EventClass, from: Option<u64>, until: u64) -> u32 {
        let times = self.times.get(&class).map_or(&[][..], Vec::as_slice);
        let after = from.map_or(0, |from| times.partition_point(|time| *time <= from));
        let upto = times.partition_point(|time| *time <= until);
        u32::try_from(upto.saturating_sub(after).max(1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;

    /// A library's thread, which has no line of the user's code until it calls some.
    const TASK: &str = "
        file /usr/include/c++/12/future
        main.1 rmw state 0->1 @700 invoke
        file task.cc
        main.1 rmw total 0->1 @9 task
        file /usr/include/c++/12/future
        main.1 rmw state 1->2 @700 invoke
        main.1 rmw ready 0->1 @712 invoke
    ";

    #[test]
    fn updates_in_vain_do_not_count_for_one_that_changes_the_value() {
        let spins = "
            main.1 rmw word 1->1 @5 take
            main.1 rmw word 1->1 @5 take
            main.1 rmw word 0->1 @5 take
            main.1 rmw word 1->1 @5 take
        ";
        let run = script::parse(spins).unwrap();
        let of = |row| {
            let wanted = Proposal::of_events(&run, &[EventId(row)]).events.remove(0);
            (wanted.changes, wanted.nth)
        };
        assert_eq!(of(2), (true, 1));
        assert_eq!(of(1), (false, 2));
        assert_eq!(of(3), (false, 4));
    }

    /// The schedule says which of a place's attempts fails.
    #[test]
    fn an_attempt_that_failed_is_counted_among_those_that_succeed() {
        let run = script::parse(
            "
            main.1 lock m @5 poll
            main.1 unlock m @6 poll
            main.1 trylock-failed m @5 poll
        ",
        )
        .unwrap();
        let nth = |row| {
            Proposal::of_events(&run, &[EventId(row)])
                .events
                .remove(0)
                .nth
        };
        assert_eq!((nth(0), nth(2)), (1, 2));
    }

    #[test]
    fn what_no_line_of_the_user_leads_to_is_the_nth_of_its_kind() {
        let run = script::parse(TASK).unwrap();
        let all: Vec<EventId> = (0..4).map(EventId).collect();
        let place = |wanted: &Wanted| (wanted.place(), wanted.nth);
        let of = |events: &[EventId]| -> Vec<(String, u32)> {
            let proposal = Proposal::of_events(&run, events);
            proposal.events.iter().map(place).collect()
        };
        let anywhere = |nth| (String::new(), nth);
        let own = ("task.cc:9 in task".to_owned(), 1);
        assert_eq!(
            of(&all),
            [anywhere(1), own.clone(), anywhere(1), anywhere(1)]
        );
        assert_eq!(of(&all[1..]), [own, anywhere(1), anywhere(1)]);
        assert_eq!(of(&all[3..]), [anywhere(4)]);
    }
}
