//! Signals that a thread did not send, since what it looked at told it that nobody needs one, as a producer that signals only
//! where its queue was empty, before the consumer that it has woken has taken anything.

use super::{
    deadlock::Hang,
    draft::Draft,
    look::asks,
    view::View,
    waiting::{WaitingThread, object_name, request},
};
use crate::{
    callers,
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Role},
    facts::{is_in_no_container, own_part},
};
use std::collections::BTreeSet;
use unsnarl_trace::{Event, EventId, EventKind, LocationId, SiteId};

/// A signal that a waiting thread did not receive, since the one that used to send it had read something else.
struct WithheldSignal {
    /// The look by which the thread went on without a signal.
    look: EventId,
    /// A look on the same line that led to a signal.
    before: SentSignal,
    /// The change by another thread that came after the look.
    later: EventId,
}

/// Explains the first wait for which another thread did not send a signal: it came to a line that led to the signal before,
/// read something else there, and another thread has changed that since. Linear in the run for each of the waits.
pub(super) fn withheld(view: &View, waiters: &[WaitingThread]) -> Option<Hang> {
    let mut found = waiters.iter().filter_map(|waiter| {
        let wait = request(view, waiter);
        let withheld = WithheldSignal::during(view, wait)?;
        Some(Hang::of(withheld.explain(view, wait), wait))
    });
    found.next()
}

impl WithheldSignal {
    /// The last one during a wait.
    fn during(view: &View, wait: EventId) -> Option<WithheldSignal> {
        let condition = view.event(wait).location;
        let sent = sent(view, condition);
        let after = (wait.0..view.run.events.len() as u32).rev().map(EventId);
        let mut others = after.filter(|row| view.thread(*row) != view.thread(wait));
        others.find_map(|look| {
            let known: Vec<&SentSignal> = sent.iter().filter(|one| one.is_as(view, look)).collect();
            let is_other = |one: &&SentSignal| reads_differ(view, one.look, look);
            let mut before = known.iter().filter(|one| one.signal < look);
            let before = before.next().filter(|_| known.iter().all(is_other))?;
            (!goes_on_to(view, look, condition)).then_some(())?;
            Some(WithheldSignal {
                look,
                before: **before,
                later: changed_by_another(view, look)?,
            })
        })
    }

    /// Explains a wait by the signal that was not sent.
    fn explain(&self, view: &View, wait: EventId) -> Explanation {
        let headline = format!(
            "{} waits for a signal that {} did not send",
            view.words(wait),
            view.words(self.look)
        );
        let mut draft = Draft::new(view, BugKind::LostWakeup, headline);
        draft.set().certainty = Certainty::Likely;
        draft.detail(self.tell(view, wait));
        draft.set().remark = self.before.in_words(view);
        let mut step = view.step(wait, "for ever");
        step.does(format!("waits for {}", object_name(view, wait)));
        draft.add(step);
        draft.mark(wait, Role::Cause);
        draft.step(self.before.signal, "");
        draft.step(self.look, "no signal");
        draft.mark(self.look, Role::Interference);
        draft.step(self.later, "too late");
        draft.mark(self.later, Role::Interference);
        draft.finish()
    }

    fn tell(&self, view: &View, wait: EventId) -> String {
        let (look, later) = (self.look, self.later);
        format!(
            "{} read `{}`{} at {} and did not signal `{}`, for which {} waited at {};\n{} changed it{} only after that, at {}.",
            view.words(look),
            view.variable(look),
            view.equals_read(look),
            view.at(look),
            object_name(view, wait),
            view.name(wait),
            view.at(wait),
            view.words(later),
            changed_to(view, later),
            line(&view.place(later), &view.place(look)),
        )
    }
}

/// Text ` from 2 to 1` of a change, as far as the values are known.
pub(super) fn changed_to(view: &View, write: EventId) -> String {
    let known = view
        .orders
        .last_write_before(view.event(write).location, write);
    let values = known.and_then(|known| Some((view.value(known)?, view.value(write)?)));
    let values = values.filter(|(old, new)| old.is_known() && new.is_known());
    values.map_or_else(String::new, |(old, new)| format!(" from {old} to {new}"))
}

/// A signal of the run, with the look that led to it.
#[derive(Clone, Copy)]
struct SentSignal {
    look: EventId,
    signal: EventId,
}

impl SentSignal {
    /// Returns whether a row is the same look.
    fn is_as(&self, view: &View, row: EventId) -> bool {
        is_as(view, row, self.look)
    }

    /// Sentence of what led to it: `main had read `free` = 0 there, and signalled `changed`, at line 12.`
    fn in_words(&self, view: &View) -> String {
        format!(
            "{} had read `{}`{} there, and signalled `{}`, at {}.",
            view.words(self.look),
            view.variable(self.look),
            view.equals_read(self.look),
            object_name(view, self.signal),
            line(&view.place(self.signal), &view.place(self.look)),
        )
    }
}

/// Returns whether two rows are the same look: of the same line at the same variable, or at parts of one container.
fn is_as(view: &View, row: EventId, look: EventId) -> bool {
    let (other, own) = (view.event(row), view.event(look));
    let variable = |event: &Event| own_part(view.run.location(event.location));
    (other.site, other.kind) == (own.site, own.kind) && variable(&other) == variable(&own)
}

/// The reads of a look: at a container it takes several, one right after the other.
fn reads(view: &View, look: EventId) -> Vec<EventId> {
    let is_part = |row: &EventId| is_as(view, *row, look);
    if is_in_no_container(view.run.location(view.event(look).location)) {
        return vec![look];
    }
    let after = view.rows.after(view.thread(look), look).iter().copied();
    let after = after.filter(|row| *row > look).take_while(is_part);
    let before = view.own_before(look).take_while(is_part);
    before.chain([look]).chain(after).collect()
}

/// Returns whether two looks read different values of any variable.
fn reads_differ(view: &View, one: EventId, other: EventId) -> bool {
    let (one, other) = (reads(view, one), reads(view, other));
    let of = |row: EventId| (view.event(row).location, view.read_value(row));
    let differ = |a: EventId, b: EventId| of(a).0 == of(b).0 && of(a).1 != of(b).1;
    one.iter().any(|a| other.iter().any(|b| differ(*a, *b)))
}

/// The signals of a condition that came after a look at shared data, in the function that sends or in one that called it.
fn sent(view: &View, condition: LocationId) -> Vec<SentSignal> {
    let rows = view.run.events.iter();
    let signals = rows.filter(|(_, event)| event.location == condition && is_signal(event.kind));
    let sent = signals.filter_map(|(signal, _)| {
        let look = look_before(view, signal)?;
        Some(SentSignal { look, signal })
    });
    sent.collect()
}

fn is_signal(kind: EventKind) -> bool {
    matches!(kind, EventKind::Signal | EventKind::Broadcast)
}

/// Returns whether a line keeps what it reads under a name of its own, to ask for it later: `bool was_empty = jobs.empty();`.
fn keeps(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or_default();
    let is_name = |c: char| c.is_alphanumeric() || " _:<>".contains(c);
    let is_declared = name.trim().contains(' ') && name.chars().all(is_name);
    is_declared && !value.starts_with('=') && !name.ends_with(['<', '>'])
}

/// The last look of a signal's thread at what others write, before it, on a line that stands before the call by which it came
/// to the signal. Where no line asks, an atomic update tells what was there before, `old = count.fetch_add(1)`, or a line keeps
/// it.
fn look_before(view: &View, signal: EventId) -> Option<EventId> {
    /// Accesses of the thread before its signal that are looked at.
    const NEAR: usize = 40;
    let calls = callers::call_sites(&view.run, signal);
    let calls: BTreeSet<SiteId> = calls.into_iter().collect();
    let accesses = view.orders.accesses();
    let leads = |row: &EventId| {
        let (event, place) = (view.event(*row), view.place(*row));
        let leads = |call: &SiteId| {
            let call = view.run.meta.site(*call);
            (&call.file, &call.function) == (&place.file, &place.function)
                && place.line <= call.line
        };
        event.kind.reads() && accesses.is_shared(event.location) && calls.iter().any(leads)
    };
    let own = view.own_before(signal).take(NEAR).filter(leads);
    let looks: Vec<EventId> = own.collect();
    let find = |is_it: &dyn Fn(&EventId) -> bool| looks.iter().copied().find(is_it);
    find(&|row| asks(&view.place(*row)))
        .or(find(&|row| view.event(*row).kind == EventKind::Rmw))
        .or(find(&|row| keeps(&view.place(*row).text)))
}

/// Returns whether a thread signals a condition after a look, or waits for one itself, before it comes there again.
fn goes_on_to(view: &View, look: EventId, condition: LocationId) -> bool {
    let site = view.event(look).site;
    let after = view.rows.after(view.thread(look), look).iter().copied();
    let mut after = after
        .filter(|row| *row > look)
        .map(|row| view.event(row))
        .take_while(|event| event.site != site);
    after.any(|event| {
        event.kind == EventKind::Wait || event.location == condition && is_signal(event.kind)
    })
}

/// The first change by another thread of what a look reads, after it, if it could have come before.
fn changed_by_another(view: &View, look: EventId) -> Option<EventId> {
    let own = view.thread(look);
    let changed = |read: EventId| {
        let accesses = view.orders.accesses();
        let after = accesses.after(view.event(read).location, read);
        let mut after = after.iter().copied().filter(|row| *row > look);
        after.find(|row| view.event(*row).kind.writes() && view.thread(*row) != own)
    };
    let first = reads(view, look).into_iter().filter_map(changed).min()?;
    (!view.is_forced(look, first)).then_some(first)
}
