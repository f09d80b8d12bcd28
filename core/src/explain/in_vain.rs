//! Threads that are woken in vain: what they waited for came, and was changed again before they looked, as in a barrier whose
//! next round begins before all have left the last one.

use super::{draft::Draft, handovers::signals, view::View, waiting::object_name};
use crate::{
    claims::{Claim, line},
    explanation::{BugKind, Certainty, Explanation, Role},
    facts::ToldValue,
};
use unsnarl_trace::{EventId, EventKind};

/// A thread that looks too late after it was woken, and waits again.
struct WokenInVain {
    /// The write of what it waited for.
    set: EventId,
    /// The signal that woke it.
    signal: EventId,
    /// The write that changed it again.
    change: EventId,
    /// Its look, after that.
    look: EventId,
    /// Its next wait.
    wait: EventId,
}

/// Explains that `change` came before `look`, where that is the look of a thread that was woken for what stood there before.
/// Linear in the thread's rows.
pub(super) fn woken_in_vain(view: &View, change: EventId, look: EventId) -> Option<Explanation> {
    Some(WokenInVain::of(view, change, look)?.explain(view))
}

impl WokenInVain {
    fn of(view: &View, change: EventId, look: EventId) -> Option<WokenInVain> {
        let (changed, looked) = (view.event(change), view.event(look));
        if !changed.kind.writes() || !looked.kind.reads() {
            return None;
        }
        let mut own = view.own_before(look);
        let wake = own.find(|row| view.event(*row).kind == EventKind::Wake)?;
        let wait = waits_again(view, look).filter(|wait| {
            let condition = |row: EventId| view.event(row).location;
            condition(*wait) == condition(wake)
        })?;
        let before = view.orders.accesses().before(looked.location, change);
        let mut writes = before.iter().rev().copied();
        let set = writes.find(|row| view.event(*row).kind.writes())?;
        let mut signals = signals(view, wake).into_iter();
        let signal = signals.find(|signal| view.thread(*signal) == view.thread(set))?;
        let is_between = set < change && signal < change && change < look;
        let is_again = is_between && view.event(set).value != changed.value;
        is_again.then_some(WokenInVain {
            set,
            signal,
            change,
            look,
            wait,
        })
    }

    fn explain(&self, view: &View) -> Explanation {
        let name = view.variable_of(&[self.look, self.change]);
        let headline = format!(
            "{} was woken in vain: `{name}` had changed again before it looked",
            view.words(self.look)
        );
        let mut draft = Draft::new(view, BugKind::LostWakeup, headline);
        draft.set().certainty = Certainty::Possible;
        draft.detail(self.tell(view, &name));
        let after = Claim::After {
            early: view.operation(self.change),
            late: view.operation(self.look),
            location: view.run.location(view.event(self.look).location).to_owned(),
        };
        draft.contrast(after, true, |counted| counted.holds_in == 0);
        draft.set().remark = format!(
            "What all that were woken wait for has to stay until each of them has looked, as the number of a round does.\n\
             Here {} undoes it.",
            line(&view.place(self.change), &view.place(self.look))
        );
        draft.step(self.set, "");
        draft.step(self.signal, "");
        draft.step(self.change, "too early");
        draft.step(self.look, "in vain");
        let mut step = view.step(self.wait, "for ever");
        step.does(format!("waits for {}", object_name(view, self.wait)));
        draft.add(step);
        draft.mark(self.change, Role::Cause);
        draft.mark(self.look, Role::Interference);
        draft.finish()
    }

    fn tell(&self, view: &View, name: &str) -> String {
        let (at, now) = (view.place(self.set), view.value(self.change));
        let now = now.filter(ToldValue::is_known);
        let to = now.map_or(String::new(), |value| format!(" to {value}"));
        format!(
            "{} set {name}{} at {} and signalled `{}` at {};\n{} changed it{to} at {}, before {} read it at {}.",
            view.words(self.set),
            view.equals(self.set),
            view.at(self.set),
            object_name(view, self.signal),
            line(&view.place(self.signal), &at),
            view.name(self.change),
            line(&view.place(self.change), &at),
            view.name(self.look),
            line(&view.place(self.look), &at),
        )
    }
}

/// The wait to which a thread goes on right after a look, until the end of the run.
fn waits_again(view: &View, look: EventId) -> Option<EventId> {
    let after = view.rows.after(view.thread(look), look).iter().copied();
    let mut after = after.filter(|row| *row > look);
    let wait = after.find(|row| {
        let kind = view.event(*row).kind;
        kind == EventKind::Wait || kind.writes() || kind.role().acquires_lock()
    })?;
    let is_wait = view.event(wait).kind == EventKind::Wait;
    (is_wait && !after.any(|row| view.event(row).kind == EventKind::Wake)).then_some(wait)
}
