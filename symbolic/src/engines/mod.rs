//! Engines that follow values through the program model, as proposers of causes of a failing run.
//!
//! What the engine dsp proposes here is the projection onto an order that passes as far as the model tells, with nothing
//! executed. That an order which it finds by *executing* settles an explanation stays with the experiments
//! (`lab/src/confirm/judge.rs`): it is an outcome, no proposal.

mod dsp;
mod invariants;
#[cfg(test)]
mod tests;

use crate::invariants::PreparedPaths;
use std::rc::Rc;
use unsnarl_core::explain::Proposer;
use unsnarl_trace::program::Program;

/// The engines, in the order in which they are asked, and the paths that one of them follows. Without a model they have nothing
/// to propose.
#[must_use]
pub fn engines(program: Program) -> (Vec<Box<dyn Proposer>>, Rc<PreparedPaths>) {
    let program = Rc::new(program);
    let paths = Rc::new(PreparedPaths::new(program.clone()));
    let engines: Vec<Box<dyn Proposer>> = vec![
        Box::new(dsp::DspEngine::new(program)),
        Box::new(invariants::Invariants::new(paths.clone())),
    ];
    (engines, paths)
}
