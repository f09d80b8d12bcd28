//! The symbolic trace: the steps of each thread, with values read from shared memory as unknowns.

use super::{
    expr::{ExprId, Exprs, SymbolId},
    path::{Local, PathNode, PrivateVariable, SourcePlace},
};
use std::{collections::BTreeMap, sync::Arc};
use unsnarl_trace::{EventId, EventKind, LocationId, SiteId, ThreadId};

/// A run as expressions. Everything in it is a function of the symbols; the recorded run is one assignment.
#[derive(Clone, Debug, Default)]
pub struct SymbolicTrace {
    /// The expressions.
    pub exprs: Exprs,
    /// The symbols, by [`SymbolId`].
    pub symbols: Vec<UnknownValue>,
    /// Memory objects in ascending order of their bases, used to name numbers that are addresses.
    pub objects: Vec<MemoryObject>,
    /// Shared memory in pieces that no access splits, by [`CellId`].
    pub cells: Vec<SharedCell>,
    /// The threads, by [`ThreadId`] of the run.
    pub threads: Vec<ThreadTrace>,
    /// All steps in their recorded order, threads interleaved. Empty when no order was recorded.
    pub order: Vec<StepId>,
    /// Assignments of variables in memory of one thread, by [`LocalId`](super::LocalId), where paths were asked for.
    pub locals: Vec<Local>,
    /// Their variables.
    pub variables: Vec<PrivateVariable>,
    /// Places of path nodes; row 0 is "not known".
    pub places: Vec<SourcePlace>,
    /// Names that the source has for values of cells and variables.
    pub value_names: ValueNames,
    /// The bug condition of the failure.
    pub bug: Bug,
    /// Values that were fixed to their recorded number although they depend on values read, each site once.
    pub concretized: Vec<Concretized>,
    /// Parts of the run that could not be followed, in words, with the consequence.
    pub gaps: Vec<String>,
}

/// Names of the values of one type: enumerators, truth values, the null pointer.
pub type NamedValues = Arc<[(u128, String)]>;

/// Names that the source has for values, by what holds them.
#[derive(Clone, Debug, Default)]
pub struct ValueNames {
    /// For cells.
    pub cells: BTreeMap<CellId, NamedValues>,
    /// For rows of [`SymbolicTrace::variables`].
    pub variables: BTreeMap<u32, NamedValues>,
}

/// A step: thread and index into its [`ThreadTrace::steps`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StepId {
    /// The thread.
    pub thread: ThreadId,
    /// Index of the step in its thread.
    pub index: u32,
}

/// A piece of shared memory: index into [`SymbolicTrace::cells`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(pub u32);

impl CellId {
    /// The id as an index into its table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An unknown value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownValue {
    /// Width in bits.
    pub width: u8,
    /// Value in the recorded run; `None` when no values were recorded.
    pub recorded: Option<u128>,
    /// Origin of the value.
    pub origin: SymbolOrigin,
    /// The source's name for it (`balance`, `a[4]`, `result of rand`).
    pub name: String,
}

/// Origin of an unknown value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolOrigin {
    /// A read by this step.
    Read(StepId),
    /// A source outside the model (input, a library's result): the same in every order.
    Outside {
        /// The thread that got the value.
        thread: ThreadId,
        /// The site at which the thread got it.
        site: SiteId,
    },
}

/// A memory object; an address is its base plus an offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryObject {
    /// Its name as in run files, without a path into it.
    pub name: String,
    /// Its base. Bases are far apart; no object begins at 0.
    pub base: u64,
    /// Its size in bytes, 0 when not known.
    pub size: u64,
}

/// A piece of shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedCell {
    /// Its name as in run files.
    pub name: String,
    /// The run's location that begins here, if one does.
    pub location: LocationId,
    /// Its address.
    pub address: u64,
    /// Its size in bytes, 1 to 16.
    pub size: u8,
    /// Value before the first write; `None` when it is unknown.
    pub initial: Option<u128>,
}

/// Steps and path of one thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ThreadTrace {
    /// Its steps in program order.
    pub steps: Vec<SymbolicStep>,
    /// The path in the source's words, if it was asked for.
    pub path: Vec<PathNode>,
}

/// One step of a thread.
///
/// Steps of one event (an access of several cells, a read-modify-write) are neighbours, share `event`, and
/// are atomic.
#[derive(Clone, PartialEq, Debug)]
pub struct SymbolicStep {
    /// The recorded event; `None` for path conditions and for added steps.
    pub event: Option<EventId>,
    /// Site of the step in the program.
    pub site: SiteId,
    /// The step's action.
    pub action: Action,
}

/// Action of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Reads a cell into a symbol of the cell's width.
    Read {
        /// The cell that is read.
        cell: CellId,
        /// The symbol that stands for the value read.
        symbol: SymbolId,
    },
    /// Writes a cell.
    Write {
        /// The cell that is written.
        cell: CellId,
        /// The value written, of the cell's width.
        value: ExprId,
    },
    /// A branch, a switch, an index or an address that was taken as recorded: this must be 1 for the thread to
    /// go on as it did.
    Assume(ExprId),
    /// Synchronization: any kind of event that is no access and no failure, with object and value as in the run.
    Sync {
        /// Kind of the event.
        kind: EventKind,
        /// The object that is synchronized on.
        object: LocationId,
        /// Value as in [`unsnarl_trace::EventKind`]: the thread of a fork or join, the thread that a signal
        /// woke.
        value: u64,
    },
    /// Release of a lock that the thread still held when the run ended ([symbiosis], section 4.2).
    Release {
        /// The lock.
        object: LocationId,
        /// `true` if the lock was held shared.
        is_shared: bool,
    },
}

/// The bug condition, Phi_bug in [symbiosis].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bug {
    /// No failure, or one without a known condition; the reason in words.
    Unknown(String),
    /// The condition that was 1 at this step (the last of its thread) and failed the run: a negated
    /// assertion, or a null address.
    Condition {
        /// The step, an [`Action::Assume`] of the condition.
        step: StepId,
        /// 1 in runs that fail like this.
        condition: ExprId,
    },
    /// An access of a block that had been freed.
    AfterFree {
        /// The access.
        step: StepId,
        /// The step that freed the block.
        freed: StepId,
    },
    /// A deadlock: no thread can go on after the recorded steps.
    Deadlock,
}

impl Default for Bug {
    fn default() -> Bug {
        Bug::Unknown("the run did not fail".into())
    }
}

/// A value that was fixed to its recorded number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Concretized {
    /// Site of the value.
    pub site: SiteId,
    /// Description of the value: `index of flags`, `result of sqrt`.
    pub what: String,
}

impl SymbolicTrace {
    /// The step.
    pub fn step(&self, id: StepId) -> Option<&SymbolicStep> {
        let thread = self.threads.get(id.thread.index())?;
        thread.steps.get(id.index as usize)
    }

    /// All steps, thread by thread.
    pub fn steps(&self) -> impl Iterator<Item = (StepId, &SymbolicStep)> {
        self.threads.iter().enumerate().flat_map(|(thread, trace)| {
            let thread = ThreadId(thread as u16);
            let steps = trace.steps.iter().enumerate();
            steps.map(move |(index, step)| {
                (
                    StepId {
                        thread,
                        index: index as u32,
                    },
                    step,
                )
            })
        })
    }

    /// The cell.
    pub fn cell(&self, id: CellId) -> Option<&SharedCell> {
        self.cells.get(id.index())
    }

    /// Initial values of the cells, by [`CellId`]: where none is known, the value that the first read in the
    /// recorded order found before any write. Linear in the recorded order.
    pub fn first_values(&self) -> Vec<Option<u128>> {
        let mut values: Vec<Option<u128>> = self.cells.iter().map(|cell| cell.initial).collect();
        let mut written = vec![false; values.len()];
        for step in self.order.iter().filter_map(|&id| self.step(id)) {
            match step.action {
                Action::Write { cell, .. } => {
                    if let Some(written) = written.get_mut(cell.index()) {
                        *written = true;
                    }
                }
                Action::Read { cell, symbol } if written.get(cell.index()) == Some(&false) => {
                    if let Some(value) = values.get_mut(cell.index()) {
                        *value = value.or_else(|| self.symbol(symbol)?.recorded);
                    }
                }
                _ => {}
            }
        }
        values
    }

    /// The symbol.
    pub fn symbol(&self, id: SymbolId) -> Option<&UnknownValue> {
        self.symbols.get(id.index())
    }

    /// The object that an address lies in, and the offset. Logarithmic.
    pub fn object(&self, address: u64) -> Option<(&MemoryObject, u64)> {
        let behind = self
            .objects
            .partition_point(|object| object.base <= address);
        let object = self.objects.get(behind.checked_sub(1)?)?;
        let offset = address - object.base;
        (offset <= object.size.max(1 << 16)).then_some((object, offset))
    }

    /// The expression in the source's words.
    pub fn show(&self, id: ExprId) -> String {
        let name = |symbol| {
            self.symbol(symbol)
                .map_or_else(|| "?".into(), |symbol| symbol.name.clone())
        };
        let address = |bits: u128| {
            let (object, offset) = self.object(u64::try_from(bits).ok()?)?;
            Some(match offset {
                0 => format!("&{}", object.name),
                _ => format!("&{} + {offset}", object.name),
            })
        };
        self.exprs.show(id, &name, &address)
    }
}
