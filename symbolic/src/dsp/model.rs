//! Data model of a differential schedule projection: plain data from which text, pictures and JSON are made.

use serde::{Deserialize, Serialize};
use unsnarl_core::explanation::{Place, Region};
use unsnarl_trace::EventId;

/// A differential schedule projection ([symbiosis], section 3.5): the differences between a failing order and
/// the nearest alternate, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Dsp {
    /// The operations that are shown, each once; the other fields refer to them by index.
    pub operations: Vec<ThreadOperation>,
    /// The failing order, as indices into `operations`. Operations that only the alternate has are not in it.
    pub failing: Vec<u32>,
    /// The alternate order.
    pub alternate: Vec<u32>,
    /// Data flows that only one of the orders has.
    pub flows: Flows,
    /// The flipped operations: in the failing order the first came first.
    pub flipped: Option<(u32, u32)>,
    /// The operation that fails in the failing order.
    pub failure: Option<u32>,
    /// Suggestion that would prevent this failure.
    pub advice: Option<Advice>,
    /// `true` if a flow that is shown leads to the failure, or to a branch where a thread departs; if not,
    /// the orders also differ in something else, and the projection explains little.
    pub explains: bool,
    /// Sizes of the orders and of the projection.
    pub counts: ProjectionCounts,
}

impl Dsp {
    /// First and last operation of the advised region.
    pub fn region(&self) -> Option<[&ThreadOperation; 2]> {
        let Some(Advice::Region { first, last, .. }) = &self.advice else {
            return None;
        };
        let operation = |at: u32| self.operations.get(at as usize);
        Some([operation(*first)?, operation(*last)?])
    }

    /// First and last operation of the advised region if the failing run did not reach its end.
    pub fn unfinished(&self) -> Option<[&ThreadOperation; 2]> {
        self.region().filter(|[_, last]| last.event.is_none())
    }

    /// Interfering operations in an advised region.
    pub fn between(&self) -> &[u32] {
        match &self.advice {
            Some(Advice::Region { between, .. }) => between,
            _ => &[],
        }
    }

    /// The projection with an order of the pair as its advice, instead of a region.
    pub fn with_order(mut self) -> Dsp {
        if let Some((second, first)) = self.flipped {
            self.advice = Some(Advice::Order { first, second });
        }
        self
    }
}

/// An operation of one thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadOperation {
    /// Thread, by its place in the fork tree: `main.2`.
    pub thread: String,
    /// Thread with its function: `withdraw (main.2)`.
    pub who: String,
    /// Place in the source.
    #[serde(flatten)]
    pub place: Place,
    /// Kind of the operation.
    pub does: Does,
    /// Variable or object, in the source's words.
    pub variable: String,
    /// Value read or written in the failing order, in words.
    pub failing_value: Option<String>,
    /// Value in the alternate.
    pub alternate_value: Option<String>,
    /// Expression that a write stores or a condition tests, over the values its thread read: `balance -
    /// a[4]`.
    pub expression: Option<String>,
    /// `true` if its position among the shown operations differs between the orders.
    pub is_moved: bool,
    /// `true` if it takes part in a data flow that only one order has: one of the paper's "operations to
    /// grok".
    pub is_in_flow: bool,
    /// `true` if the thread blocks here for ever in the failing order.
    #[serde(default)]
    pub is_stuck: bool,
    /// Event in the failing run, if it happened there.
    #[serde(skip)]
    pub event: Option<EventId>,
    /// Event in the run that executed the alternate, where that is known.
    #[serde(skip)]
    pub alternate_event: Option<EventId>,
}

/// Kinds of operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Reads memory.
    Reads,
    /// Writes memory.
    Writes,
    /// Reads and writes in one atomic step.
    Updates,
    /// Acquires a lock.
    Locks,
    /// Releases a lock.
    Unlocks,
    /// Checks the failing condition: an assertion, an access through an address.
    Checks,
    /// Frees memory.
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

/// Data flow of a value from a write to a read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// The write; none for an initial value.
    pub from: Option<u32>,
    /// The read; none for a final value.
    pub to: Option<u32>,
    /// The variable.
    pub variable: String,
    /// The value, in words.
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

/// Suggestion that would prevent this failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Advice {
    /// A region of one thread that should be atomic: in the alternate no other thread interferes.
    Region {
        /// Lines of the region.
        region: Region,
        /// Its thread: `withdraw (main.2)`.
        who: String,
        /// First operation within.
        first: u32,
        /// Last operation within.
        last: u32,
        /// Interfering operations in the failing order.
        between: Vec<u32>,
    },
    /// One operation should come before another of another thread.
    Order {
        /// The operation that should come first, as in the alternate.
        first: u32,
        /// The operation that should come second.
        second: u32,
    },
}

/// Sizes, for tables like Table 2 of the paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProjectionCounts {
    /// Events of the failing order.
    pub events: u32,
    /// Events in the projection: those of data-flow variations and those whose order differs.
    pub shown: u32,
    /// Data flows of the failing order: reads that take a write's value.
    pub flows: u32,
    /// Data-flow variations of both orders, counted once for each read (or final cell value) that takes
    /// another write's value.
    pub variations: u32,
    /// Variations left out, because the failure does not depend on them or they would be too many to read.
    pub not_shown: u32,
    /// Operations that take part in a variation that is shown.
    pub to_read: u32,
}
