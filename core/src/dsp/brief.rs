//! A projection that nobody waits for: of small runs, the nearest pairs only, nothing executed.

use super::{Dsp, Options, alternates, check_of, project};
use crate::{Budget, symbolic};
use unsnarl_trace::{Run, program::Program};

/// Events of a run up to which it is followed here.
const EVENTS: usize = 2000;
/// Pairs that are tried at most.
const PAIRS: usize = 64;

/// The projection of a failing run and the nearest order that does not fail as far as the model tells; none when
/// there is none nearby, the run is long, or there is no model. Bounded by counts, not by time.
pub fn in_brief(run: &Run, models: &Program, budget: &Budget) -> Option<Dsp> {
    if run.events.len() > EVENTS {
        return None;
    }
    let trace = symbolic::walk(run, models, budget).trace;
    let options = Options {
        pairs: PAIRS,
        candidates: 0,
        check: check_of(&trace, run),
        ..Options::default()
    };
    let others = alternates(&trace, &trace.order, &options, None, budget).ok()?;
    let nearest = others.found.first()?;
    let dsp = project(&trace, run, &trace.order, nearest, None).ok()?;
    dsp.explains.then_some(dsp)
}
