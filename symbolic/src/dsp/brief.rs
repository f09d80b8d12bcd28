//! A projection that costs little, for results that must not wait: small runs, the nearest pairs only,
//! nothing executed.

use super::{AlternateLimits, Dsp, alternates, check_of, project};
use unsnarl_core::Budget;
use unsnarl_trace::{Run, program::Program};

/// Bound on the events of a run that is followed here.
const EVENTS: usize = 2000;
/// Bound on the pairs tried.
const PAIRS: usize = 64;

/// The projection of a failing run and the nearest alternate that the model finds; none without an alternate
/// nearby, for a long run, or without a model. Bounded by counts, not by time.
pub fn in_brief(run: &Run, models: &Program, budget: &Budget) -> Option<Dsp> {
    if run.events.len() > EVENTS {
        return None;
    }
    let trace = crate::walk(run, models, budget).trace;
    let options = AlternateLimits {
        pairs: PAIRS,
        candidates: 0,
        check: check_of(&trace, run),
        ..AlternateLimits::default()
    };
    let others = alternates(&trace, &trace.order, &options, None, budget).ok()?;
    let nearest = others.found.first()?;
    let dsp = project(&trace, run, &trace.order, nearest, None).ok()?;
    dsp.explains.then_some(dsp)
}
