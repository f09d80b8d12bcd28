//! The orders in which what is blamed comes the other way round, executed.

use super::{
    attempt::{Control, OrderAttempt, attempt, control},
    case::{Case, PassedOrder, is_guard},
};
use anyhow::Result;
use unsnarl_core::{
    Place,
    corpus::failure_place,
    explain::{Turn, Turned, bears_out, is_spurious_wakeup, turned},
};
use unsnarl_trace::{EventId, EventKind, LocationId, Run};

/// Results of executing these orders.
#[derive(Default)]
pub(super) struct Directed {
    /// The first that passed, how often, and of how many times.
    pub passes: Option<(PassedOrder, u32, u32)>,
    /// Orders that failed.
    pub fails: Vec<Failed>,
    pub passing: Vec<Turn>,
    /// Orders that passed, where the failing one passes as well when it is executed so far: why they show nothing.
    pub undecided: Option<String>,
    pub stopped: bool,
}

/// An order that failed.
pub(super) struct Failed {
    /// The order by its difference.
    pub turn: Turn,
    /// The order, and how it failed.
    pub says: String,
    /// It failed in the same way without what is blamed.
    pub is_against: bool,
    /// The run.
    pub run: Box<Run>,
}

impl Directed {
    /// Everything that could be had fails in the same way without what is blamed.
    pub fn is_against(&self) -> bool {
        !self.fails.is_empty() && self.fails.iter().all(|failed| failed.is_against)
    }

    fn passes(&mut self, case: &mut Case<'_, '_>, turned: Turned, (passes, of): (u32, u32)) {
        case.needs_a_wakeup |= turned.turn == Turn::NotWoken;
        self.passing.push(turned.turn);
        let other = PassedOrder {
            says: turned.says,
            is_recorded: false,
        };
        self.passes.get_or_insert((other, passes, of));
    }
}

/// Executes those orders; `passed` are runs that passed, to learn how what never came would have come.
pub(super) fn directed(case: &mut Case<'_, '_>, passed: &[&Run]) -> Result<Directed> {
    let mut seen = Directed::default();
    for turned in turned(case.explanation, case.executor.run) {
        let is_region = matches!(turned.turn, Turn::RegionFirst | Turn::OthersFirst);
        if seen.passes.is_some() && !is_region {
            break;
        }
        let shown = shows(&turned, passed);
        match attempt(&case.executor, &turned, shown)? {
            OrderAttempt::Passes { passes, of } => match decides(case, &turned, shown)? {
                Ok(()) => seen.passes(case, turned, (passes, of)),
                Err(Some(why)) => {
                    seen.undecided.get_or_insert(why);
                }
                Err(None) => seen.stopped = true,
            },
            OrderAttempt::Fails { run: failed, why } => {
                let same = failure_place(&failed).as_ref() == Some(&case.explanation.failure);
                let is_without = bears_out(case.explanation, &failed) == Some(false);
                let says = format!("{}: {why}", turned.says);
                seen.fails.push(Failed {
                    turn: turned.turn,
                    says,
                    is_against: same && is_without,
                    run: failed,
                });
            }
            OrderAttempt::NotHad => {}
            OrderAttempt::Stopped => seen.stopped = true,
        }
        if seen.stopped {
            break;
        }
    }
    case.region(&seen);
    Ok(seen)
}

/// Is it the order that decides? The failing run's own, executed up to the same point, has to fail: else an order that
/// passes shows nothing, and why is said. No reason where it was stopped.
fn decides(
    case: &Case<'_, '_>,
    turned: &Turned,
    passed: Option<&Run>,
) -> Result<Result<(), Option<String>>> {
    // The wakeup is no matter of order: the run as it was recorded has it, and fails. Schedules that were drawn with what
    // is blamed tell more than one of them does.
    if turned.turn == Turn::NotWoken || is_guard(case.explanation) {
        return Ok(Ok(()));
    }
    let injected = has_injected(case.executor.run, turned.until);
    Ok(match control(&case.executor, turned, passed)? {
        Control::Decides => Ok(()),
        Control::NotHad if !injected => Ok(()),
        Control::NotHad => Err(Some(
            "its run has a wakeup, a timeout or a failure that was injected, and an order without it shows nothing".to_owned(),
        )),
        Control::PassesToo { passes, of } => Err(Some(format!(
            "the order that is blamed passes as well, {passes} times of {of}, depending on how it goes on"
        ))),
        Control::Stopped => Err(None),
    })
}

/// Has a run, up to a row, a wait that ended by itself or an allocation that failed?
fn has_injected(run: &Run, until: EventId) -> bool {
    let mut events = run.events.iter().take_while(|(row, _)| *row <= until);
    events.any(|(_, event)| match event.kind {
        EventKind::Wake => is_spurious_wakeup(&event),
        EventKind::Alloc => event.location == LocationId(0),
        _ => false,
    })
}

/// The first run in which what the order waits for comes.
fn shows<'r>(turned: &Turned, passed: &[&'r Run]) -> Option<&'r Run> {
    let absent = turned.awaited.as_ref()?;
    passed
        .iter()
        .find(|run| writes_at(run, &absent.place))
        .copied()
}

/// Does a run write there?
pub(super) fn writes_at(run: &Run, place: &Place) -> bool {
    let mut events = run.events.iter();
    events.any(|(_, event)| {
        let site = run.meta.site(event.site);
        event.kind.writes() && (site.line, &site.file) == (place.line, &place.file)
    })
}
