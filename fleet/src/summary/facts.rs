//! Facts about what happened in a run, each with the number of times.

use super::{
    run_facts::relative,
    signature::{hash, object},
};
use std::collections::BTreeMap;
use unsnarl_core::orders::{Accesses, Locks, Locksets, dependencies};
use unsnarl_trace::{Event, EventId, LocationId, Run, ThreadId, kinds::ObjectUse};

/// The kind of a fact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FactKind {
    /// The run as a whole.
    Run,
    /// Two accesses of different threads to one location, one right after the other, at least one of which writes.
    Pair,
    /// Two operations of different threads on one synchronization object, one right after the other.
    Order,
    /// An access to shared memory, with the locks that its thread held.
    Lock,
    /// A line that was come to.
    Line,
}

impl FactKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            FactKind::Run => "run",
            FactKind::Pair => "pair",
            FactKind::Order => "order",
            FactKind::Lock => "lock",
            FactKind::Line => "line",
        }
    }
}

/// A kind of event at a place in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Operation {
    /// Word for the kind; none where only the place counts.
    pub kind: Option<&'static str>,
    /// Function.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line; 0 when not known.
    pub line: u32,
}

impl Operation {
    fn words(&self) -> String {
        let kind = self.kind.unwrap_or_default();
        format!("{kind} {} {}:{}", self.function, self.file, self.line)
    }
}

/// A fact.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fact {
    /// Its kind.
    pub kind: FactKind,
    /// Name of the location or the object.
    pub object: Option<String>,
    /// The earlier operation, or the only one.
    pub first: Option<Operation>,
    /// The later operation.
    pub second: Option<Operation>,
    /// Names of the locks, sorted, separated by commas.
    pub locks: Option<String>,
}

/// The facts of a run with their numbers, sorted. Linear in the run.
pub fn facts(run: &Run) -> Vec<(Fact, u64)> {
    let mut counts = FactCounts {
        run,
        counts: BTreeMap::new(),
    };
    counts.add(Fact::of(FactKind::Run));
    let accesses = Accesses::new(run);
    counts.pairs(&accesses);
    counts.orders();
    counts.locks(&accesses);
    counts.lines();
    counts.counts.into_iter().collect()
}

impl Fact {
    /// Id of the fact, the same in every run. Lines count, so other builds may have other ones.
    pub fn id(&self) -> u64 {
        let steps = [&self.first, &self.second].map(|step| step.as_ref().map(Operation::words));
        let parts = [
            Some(self.kind.name().to_owned()),
            self.object.clone(),
            self.locks.clone(),
        ];
        let parts = parts.into_iter().chain(steps);
        let texts: Vec<String> = parts.map(Option::unwrap_or_default).collect();
        hash(texts.iter().map(String::as_str))
    }

    /// The fact that the same two operations met in the other order.
    pub fn reverse(&self) -> Option<Fact> {
        let (first, second) = (self.first.as_ref()?, self.second.as_ref()?);
        Some(Fact {
            first: Some(second.clone()),
            second: Some(first.clone()),
            ..self.clone()
        })
    }

    fn of(kind: FactKind) -> Fact {
        Fact {
            kind,
            object: None,
            first: None,
            second: None,
            locks: None,
        }
    }
}

struct FactCounts<'r> {
    run: &'r Run,
    counts: BTreeMap<Fact, u64>,
}

impl FactCounts<'_> {
    fn add(&mut self, fact: Fact) {
        *self.counts.entry(fact).or_insert(0) += 1;
    }

    fn operation(&self, event: &Event) -> Operation {
        let site = self.run.meta.site(event.site);
        Operation {
            kind: Some(event.kind.name()),
            function: site.function.clone(),
            file: relative(&self.run.meta, &site.file),
            line: site.line,
        }
    }

    fn met(&mut self, kind: FactKind, location: LocationId, first: EventId, second: EventId) {
        let [first, second] = [first, second].map(|row| self.run.events.event(row));
        self.add(Fact {
            object: Some(object(self.run, location)),
            first: Some(self.operation(&first)),
            second: Some(self.operation(&second)),
            ..Fact::of(kind)
        });
    }

    fn pairs(&mut self, accesses: &Accesses) {
        dependencies(self.run, accesses, |found| {
            if found.direct {
                self.met(FactKind::Pair, found.location, found.head, found.tail);
            }
        });
    }

    fn orders(&mut self) {
        let mut last: BTreeMap<LocationId, (ThreadId, EventId, ObjectUse)> = BTreeMap::new();
        for (row, event) in self.run.events.iter() {
            let Some(used) = event.kind.role().object_use() else {
                continue;
            };
            let now = (event.thread, row, used);
            let Some((thread, before, theirs)) = last.insert(event.location, now) else {
                continue;
            };
            let conflicts = used == ObjectUse::Changes || theirs == ObjectUse::Changes;
            if thread != event.thread && conflicts {
                self.met(FactKind::Order, event.location, before, row);
            }
        }
    }

    fn locks(&mut self, accesses: &Accesses) {
        let locksets = Locksets::new(&Locks::new(self.run, &mut Vec::new()));
        for location in accesses.shared() {
            for &row in accesses.of(location) {
                let event = self.run.events.event(row);
                let set = locksets.locks(locksets.at(event.thread, row)).iter();
                let mut names: Vec<String> = set
                    .map(|(lock, _)| object(self.run, LocationId(*lock)))
                    .collect();
                names.sort();
                names.dedup();
                self.add(Fact {
                    object: Some(object(self.run, location)),
                    first: Some(self.operation(&event)),
                    locks: Some(names.join(", ")),
                    ..Fact::of(FactKind::Lock)
                });
            }
        }
    }

    fn lines(&mut self) {
        for (_, event) in self.run.events.iter() {
            let operation = self.operation(&event);
            if operation.line != 0 {
                self.add(Fact {
                    first: Some(Operation {
                        kind: None,
                        ..operation
                    }),
                    ..Fact::of(FactKind::Line)
                });
            }
        }
    }
}
