//! What a differential schedule projection is made of. Plain data: text, pictures and JSON are made of it.

use crate::explanation::{Place, Region};
use serde::{Deserialize, Serialize};
use unsnarl_trace::EventId;

/// A differential schedule projection ([symbiosis], section 3.5): what a failing order and the nearest order that
/// does not fail do differently, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Dsp {
    /// The operations that are shown, each once; the other fields name them by their place here.
    pub operations: Vec<Operation>,
    /// The failing order: indices into `operations`. What the alternate does only is not in it.
    pub failing: Vec<u32>,
    /// The order that does not fail.
    pub alternate: Vec<u32>,
    /// Data flow that only one of them has.
    pub flows: Flows,
    /// The two operations that came the other way: in the failing order the first came first.
    pub flipped: Option<(u32, u32)>,
    /// The operation that fails in the failing order.
    pub failure: Option<u32>,
    /// What would keep the program from failing like this.
    pub advice: Option<Advice>,
    /// A flow that is shown leads to the failure, or to where a thread goes another way; if not, the two orders
    /// differ in something else, too, and this says little.
    pub explains: bool,
    /// Sizes of what it was made of.
    pub counts: Counts,
}

impl Dsp {
    /// Where the advised region begins and ends.
    pub fn region(&self) -> Option<[&Operation; 2]> {
        let Some(Advice::Region { first, last, .. }) = &self.advice else {
            return None;
        };
        let operation = |at: u32| self.operations.get(at as usize);
        Some([operation(*first)?, operation(*last)?])
    }

    /// The same when the failing run did not come to its end.
    pub fn unfinished(&self) -> Option<[&Operation; 2]> {
        self.region().filter(|[_, last]| last.event.is_none())
    }

    /// What came in between in an advised region.
    pub fn between(&self) -> &[u32] {
        match &self.advice {
            Some(Advice::Region { between, .. }) => between,
            _ => &[],
        }
    }

    /// The same with the order of the pair in the place of a region.
    pub fn with_order(mut self) -> Dsp {
        if let Some((second, first)) = self.flipped {
            self.advice = Some(Advice::Order { first, second });
        }
        self
    }
}

/// An operation of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Who, by its place in the fork tree: `main.2`.
    pub thread: String,
    /// Who, as people say it: `withdraw (main.2)`.
    pub who: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What it does.
    pub does: Does,
    /// On what, in the source's words.
    pub variable: String,
    /// The value that it reads or writes in the failing order, in words.
    pub failing_value: Option<String>,
    /// The same in the alternate.
    pub alternate_value: Option<String>,
    /// What a write writes or a condition asks, over what its thread read: `balance - a[4]`.
    pub expression: Option<String>,
    /// It comes elsewhere among the shown operations than in the other order.
    pub is_moved: bool,
    /// It takes part in a data flow that only one order has. The paper's "operations to grok".
    pub is_in_flow: bool,
    /// In the failing order the thread waits here for ever.
    #[serde(default)]
    pub is_stuck: bool,
    /// The event of the failing run, if it happened there.
    #[serde(skip)]
    pub event: Option<EventId>,
    /// The event of the run that had the alternate, where that is known.
    #[serde(skip)]
    pub alternate_event: Option<EventId>,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Reads memory.
    Reads,
    /// Writes memory.
    Writes,
    /// Reads and writes in one step.
    Updates,
    /// Takes a lock.
    Locks,
    /// Gives a lock back.
    Unlocks,
    /// Checks what fails: an assertion, an access by an address.
    Checks,
    /// Gives memory back.
    Frees,
    /// Waits for a signal on a condition variable.
    Waits,
    /// Signals a condition variable.
    Signals,
    /// Other synchronization.
    Synchronizes,
}

impl Does {
    /// `reads`, `writes`, ...
    pub fn verb(self) -> &'static str {
        match self {
            Does::Reads => "reads",
            Does::Writes => "writes",
            Does::Updates => "updates",
            Does::Locks => "locks",
            Does::Unlocks => "unlocks",
            Does::Checks => "checks",
            Does::Frees => "frees",
            Does::Waits => "waits for",
            Does::Signals => "signals",
            Does::Synchronizes => "passes",
        }
    }
}

/// A value that a read takes from a write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// The write; none when the value was there before.
    pub from: Option<u32>,
    /// The read; none when the value is what is left at the end.
    pub to: Option<u32>,
    /// Of what.
    pub variable: String,
    /// Which value, in words.
    pub value: Option<String>,
}

/// Data-flow variations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Flows {
    /// Flows of the failing order that the alternate does not have.
    pub only_failing: Vec<Flow>,
    /// Flows of the alternate that the failing order does not have.
    pub only_alternate: Vec<Flow>,
}

/// What would keep the program from failing like this.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Advice {
    /// What one thread does here should be one step: the alternate has nothing of the others within.
    Region {
        /// The lines.
        region: Region,
        /// Its thread: `withdraw (main.2)`.
        who: String,
        /// First operation within.
        first: u32,
        /// Last operation within.
        last: u32,
        /// What came in between in the failing order.
        between: Vec<u32>,
    },
    /// One operation should come before another of another thread.
    Order {
        /// The one that should come first, as in the alternate.
        first: u32,
        /// The other.
        second: u32,
    },
}

/// Sizes, for tables like Table 2 of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Events of the failing order.
    pub events: u32,
    /// Events in the projection: those of data-flow variations and those that came in another order.
    pub shown: u32,
    /// Data flows of the failing order: reads that take what a write left.
    pub flows: u32,
    /// Data-flow variations, both ways, counted once for each read (or cell at the end) that takes another value's
    /// write.
    pub variations: u32,
    /// Variations that are not shown: what fails does not depend on them, or they would be too many to read.
    pub not_shown: u32,
    /// Operations that take part in a variation that is shown.
    pub to_read: u32,
}
