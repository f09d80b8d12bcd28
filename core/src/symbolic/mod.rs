//! Symbolic per-thread traces ([symbiosis], section 3.2): what each thread of a run did, as expressions over the
//! values that it read from shared memory.
//!
//! [`expr`] are the expressions, [`trace`] is what a walk of a run's threads over the program model makes.

pub mod expr;
mod fold;
pub mod path;
mod show;
pub mod trace;
mod walk;

pub use expr::{Binary, Compare, ExprId, Exprs, Node, SymbolId, Unary};
pub use path::{Local, LocalId, PathAction, PathNode, SourcePlace, Variable};
pub use trace::{
    Action, Bug, Cell, CellId, Concretized, Object, Origin, Step, StepId, Symbol, SymbolicTrace,
    ThreadTrace,
};
pub use walk::{Walked, WalkedPaths, concrete, walk, walk_in_words, walk_paths};
