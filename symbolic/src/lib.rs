//! Symbolic per-thread traces ([symbiosis], section 3.2), the actions of each thread of a run as expressions over the
//! values that it read from shared memory, and what is found with them.
//!
//! [`expr`] holds the expressions, [`trace`] the result of a walk of a run's threads over the program model.
//! [`schedules`] solves for other orders, [`dsp`] projects a failing order onto one that passes, [`invariants`] says what
//! had to hold on the way to a failure; [`engines`] proposes causes by them. No other crate calls the solver.
//!
//! [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*,
//! PLDI 2015.

pub mod dsp;
pub mod engines;
pub mod expr;
mod fold;
pub mod invariants;
pub mod path;
pub mod schedules;
mod show;
pub mod trace;
mod walk;

pub use expr::{Binary, Comparison, ExprId, ExprNode, Exprs, SymbolId, Unary};
pub use path::{Local, LocalId, PathAction, PathNode, PrivateVariable, SourcePlace};
pub use trace::{
    Action, Bug, CellId, Concretized, MemoryObject, NamedValues, SharedCell, StepId, SymbolOrigin,
    SymbolicStep, SymbolicTrace, ThreadTrace, UnknownValue, ValueNames,
};
pub use walk::{Walked, WalkedPaths, concrete, walk, walk_in_words, walk_paths};
