//! A failing run with all data that its explanation uses.

use super::{
    deadlock::without_whom,
    found::ENOUGH,
    handovers::Givers,
    slice::FailureDistances,
    unfinished::{UnfinishedChange, unfinished},
};
use crate::{
    call_tree::CallTree,
    callers,
    claims::{Operation, Visit},
    corpus::{Corpus, RunSummary},
    explanation::{FailurePlace, Place, Role, SiteMark, Step},
    facts::{self, ToldValue, ValueKind},
    failed,
    mining::trace::line_hash,
    orders::{HappensBefore, Orders},
    pairs::{AccessClass, AccessKey, RunPairs, Triple, TripleKey},
};
use rustc_hash::FxHashSet;
use std::{cell::OnceCell, collections::BTreeMap, sync::Arc};
use unsnarl_trace::{
    Event, EventId, EventKind, FailureKind, IndexVec, Location, LocationId, Outcome, Run, SiteId,
    ThreadId, model::flags,
};

/// A failing run and its orders, in its corpus.
pub(super) struct View<'a> {
    /// Corpus of the run.
    pub corpus: &'a Corpus,
    /// Summary of the run.
    pub summary: &'a RunSummary,
    /// The run.
    pub run: Arc<Run>,
    /// Orders of the run.
    pub orders: Orders,
    /// The order that no schedule can change.
    forced: HappensBefore,
    /// Rows of each thread.
    pub rows: ThreadRows,
    /// Posts and signals.
    pub givers: Givers,
    /// Calls of functions.
    calls: CallTree,
    /// Keys of sites, by class of access.
    keys: IndexVec<SiteId, [AccessKey; 3]>,
    /// The failing thread, if one failed.
    pub failed: Option<ThreadId>,
    /// Row of the failure, or the end of the run.
    pub failure: EventId,
    /// Accesses that flowed into the failure.
    pub slice: FailureDistances,
    /// Places at which the failing thread does something about the failure.
    only_failing: FxHashSet<SiteId>,
    /// The answer of [`View::unfinished`], once it was asked for.
    unfinished: OnceCell<Option<UnfinishedChange>>,
}

impl<'a> View<'a> {
    /// Prepares a failing run; none when it was not kept or has no event that could be blamed.
    pub fn new(corpus: &'a Corpus, summary: &'a RunSummary) -> Option<View<'a>> {
        let run = summary.run.clone().filter(|run| !run.events.is_empty())?;
        let orders = Orders::new(&run);
        let forced = HappensBefore::forced(&run);
        let rows = ThreadRows::new(&run);
        let classes = [AccessClass::Read, AccessClass::Write, AccessClass::Update];
        let of_site = |site| classes.map(|class| AccessKey::new(site, class));
        let keys = run.meta.sites.iter().map(of_site).collect();
        let (failed, failure) = failure_point(&run);
        let only_failing = match summary.failure_kind {
            Some(FailureKind::Exit) => only_failing(corpus, &run),
            _ => FxHashSet::default(),
        };
        let slice = FailureDistances::new(&run, &orders, &rows, failed, failure);
        Some(View {
            corpus,
            givers: Givers::new(&run),
            calls: CallTree::of(&run),
            summary,
            run,
            orders,
            forced,
            rows,
            keys,
            failed,
            failure,
            slice,
            only_failing,
            unfinished: OnceCell::new(),
        })
    }

    /// Returns whether another thread changes what a row accesses, where it could come after the row. Linear in the accesses of
    /// that.
    pub fn is_changed_by_others(&self, row: EventId) -> bool {
        let event = self.event(row);
        let all = self.orders.accesses().of(event.location).iter();
        let mut writes = all.filter(|other| self.event(**other).kind.writes());
        writes.any(|other| self.thread(*other) != event.thread && !self.is_forced(*other, row))
    }

    /// A value for whose change a thread waits for ever, in a run that hangs.
    pub fn unfinished(&self) -> Option<&UnfinishedChange> {
        let hangs = self.summary.outcome == Outcome::Deadlocked;
        let found = || hangs.then(|| unfinished(self)).flatten();
        self.unfinished.get_or_init(found).as_ref()
    }

    /// Access pairs of this run.
    pub fn pairs(&self) -> &RunPairs {
        &self.summary.pairs
    }

    /// Returns whether the row takes or gives back a lock of the program's own, or asks for it: it is no access to data.
    pub fn is_of_spin_lock(&self, row: EventId) -> bool {
        let event = self.event(row);
        event.kind.is_access() && self.orders.locks().is_spin_lock(event.location)
    }

    /// Returns whether the second row belongs to another visit of the same lines.
    pub fn comes_again(&self, first: EventId, second: EventId) -> bool {
        self.calls.comes_again(&self.run, first, second)
    }

    /// An event by its row.
    pub fn event(&self, row: EventId) -> Event {
        self.run.events.event(row)
    }

    /// The thread of a row.
    pub fn thread(&self, row: EventId) -> ThreadId {
        self.run.events.thread(row)
    }

    /// Returns whether every lock that the program may take leaves events.
    pub fn sees_all_locks(&self) -> bool {
        self.run.meta.unseen_locks.is_empty()
    }

    /// Beginning of a sentence about two steps that nothing orders, as far as one can know.
    pub fn nothing_orders(&self) -> &'static str {
        match self.sees_all_locks() {
            true => "Nothing orders the two",
            false => "Nothing that was recorded orders the two",
        }
    }

    /// Name of a row's thread: `main.2`.
    pub fn name(&self, row: EventId) -> String {
        facts::thread_name(&self.run, self.thread(row))
    }

    /// Thread of a row with its function: `withdraw (main.2)`.
    pub fn words(&self, row: EventId) -> String {
        facts::thread_in_words(&self.run, self.thread(row))
    }

    /// Place of a row in the source.
    pub fn place(&self, row: EventId) -> Place {
        facts::place(&self.run, self.event(row).site)
    }

    /// Place of a row as text: `bank.c:100`.
    pub fn at(&self, row: EventId) -> String {
        facts::short(&self.place(row))
    }

    /// Variable of a row, in the source's words.
    pub fn variable(&self, row: EventId) -> String {
        facts::variable(&self.run, &self.event(row))
    }

    /// The rows of a row's thread before it, the latest first.
    pub fn own_before(&self, row: EventId) -> impl Iterator<Item = EventId> {
        let own = self.rows.before(self.thread(row), row);
        own.iter().rev().copied()
    }

    /// Name in the source of the variable of a row, if it has one.
    pub fn named(&self, row: EventId) -> Option<String> {
        facts::named(&self.run, &self.event(row))
    }

    /// The best name for the variable of some rows: an expression rather than a block; of several expressions
    /// the one on which most accesses of the location agree.
    pub fn variable_of(&self, rows: &[EventId]) -> String {
        const LOOKED_AT: usize = 64;
        let names = rows.iter().filter_map(|&row| self.named(row));
        let mut good: Vec<String> = names.collect();
        good.dedup();
        if good.len() < 2 {
            let block = || rows.first().map(|&row| self.variable(row));
            return good.pop().or_else(block).unwrap_or_default();
        }
        let locations = rows.iter().map(|&row| self.event(row).location);
        let all = locations
            .flat_map(|location| self.orders.accesses().of(location).iter().take(LOOKED_AT));
        let others: Vec<String> = all.map(|&row| self.variable(row)).collect();
        let votes = |name: &String| others.iter().filter(|other| *other == name).count();
        let best = good.into_iter().rev().max_by_key(|name| votes(name));
        best.unwrap_or_default()
    }

    /// The value that a row read or wrote, in words.
    pub fn value(&self, row: EventId) -> Option<ToldValue> {
        let event = self.event(row);
        let pointer = facts::holds_pointers(&self.run, self.orders.accesses().of(event.location))
            || event.size == 8 && facts::mentions_null(&self.run.meta.site(event.site).text);
        let location = self.run.location(event.location);
        facts::value_at(&self.run, row, pointer).filter(|_| !facts::is_letter(location))
    }

    /// Clause about a wait that never ended: `main.1 waits for ever at line 18`.
    pub fn waits_for_ever(&self, wait: EventId) -> String {
        let without = without_whom(self, self.thread(wait)).unwrap_or_default();
        let who = self.words(wait);
        format!("{who} waits for ever at {}{without}", self.at(wait))
    }

    /// Text ` = 300`, or nothing when the value is unknown or uninformative.
    pub fn equals(&self, row: EventId) -> String {
        self.is_value(row, self.value(row))
    }

    /// Text ` = 300` with the value that the row read: for an update, the old value.
    pub fn equals_read(&self, row: EventId) -> String {
        self.is_value(row, self.read_value(row))
    }

    /// Text ` = 300`; ` (length 3)` where the number is only a part of the variable that is named.
    fn is_value(&self, row: EventId, value: Option<ToldValue>) -> String {
        let measure = facts::measure(self.run.location(self.event(row).location));
        match (value.filter(ToldValue::is_known), measure) {
            (Some(value), Some(_)) => format!(" ({value})"),
            (Some(value), None) => format!(" = {value}"),
            (None, _) => String::new(),
        }
    }

    /// The write that made the value which a row read, as it is told: the last one before it; of the size of a container that of
    /// either of its ends.
    pub fn source(&self, row: EventId) -> Option<EventId> {
        let location = self.event(row).location;
        let last = |location| self.orders.last_write_before(location, row);
        let other = facts::other_bound(&self.run, location).and_then(last);
        last(location).max(other)
    }

    /// The value that a row read, in words.
    pub fn read_value(&self, row: EventId) -> Option<ToldValue> {
        let event = self.event(row);
        match event.kind {
            EventKind::Rmw => facts::old_value(&self.run, &event),
            _ => self.value(row),
        }
    }

    /// The visit of its line that a row belongs to: by its thread, on its location.
    pub fn visit(&self, row: EventId) -> Visit {
        let event = self.event(row);
        let at = |site| {
            let site = self.run.meta.site(site);
            (&site.file, site.line)
        };
        let is_same = |other: &&EventId| {
            let seen = self.event(**other);
            seen.location == event.location
                && AccessClass::of(seen.kind) == AccessClass::of(event.kind)
                && at(seen.site) == at(event.site)
        };
        let before = self.rows.before(event.thread, row).iter();
        Visit {
            thread: self.name(row),
            number: u32::try_from(before.filter(is_same).count()).unwrap_or(u32::MAX - 1) + 1,
        }
    }

    /// An update in words: `from 3 to 4`, if its values are known.
    pub fn update_in_words(&self, row: EventId) -> Option<String> {
        let is_update = self.event(row).kind == EventKind::Rmw;
        let (old, new) = (self.read_value(row)?, self.value(row)?);
        let is_known = new.kind != ValueKind::Freed;
        (is_update && is_known).then(|| format!("from {old} to {new}"))
    }

    /// Operation of a row, as claims name it.
    pub fn operation(&self, row: EventId) -> Operation {
        Operation {
            place: self.place(row),
            access: AccessClass::of(self.event(row).kind).unwrap_or(AccessClass::Read),
        }
    }

    /// Effect of a row in words: `reads 300`, `writes NULL`, `updates 3 to 4`.
    pub fn effect(&self, row: EventId) -> String {
        let event = self.event(row);
        if !event.kind.is_access() {
            return self.synchronization(&event);
        }
        let verb = facts::verb(event.kind);
        self.effect_value(row)
            .map_or_else(|| verb.to_owned(), |value| format!("{verb} {value}"))
    }

    /// The value in the effect of an access; of an update both: `3 to 4`.
    fn effect_value(&self, row: EventId) -> Option<ToldValue> {
        let event = self.event(row);
        if !event.kind.is_access() {
            return None;
        }
        let new = self.value(row)?;
        Some(match (event.kind, event.old) {
            (EventKind::Rmw, Some(_)) if new.kind != ValueKind::Freed => {
                let old = facts::old_value(&self.run, &event);
                let old = old.map_or(String::new(), |old| old.text);
                ToldValue::new(format!("{old} to {new}"), new.kind)
            }
            _ => new,
        })
    }

    /// Effect of an event that accesses no data: `locks account.lock`, `creates main.1`.
    fn synchronization(&self, event: &Event) -> String {
        let unheard = event.kind == EventKind::Broadcast
            && event.value == Some(unsnarl_trace::Value::Bits(0));
        let verb = if unheard {
            "signals"
        } else {
            facts::verb(event.kind)
        };
        let object = match (event.kind, crate::orders::other_thread(event.value)) {
            (EventKind::Free, _) => return "frees the block".to_owned(),
            (EventKind::Fork | EventKind::Join, Some(thread)) => {
                facts::thread_name(&self.run, ThreadId(thread))
            }
            _ => facts::variable(&self.run, event),
        };
        format!("{verb} {object}").trim_end().to_owned()
    }

    /// Returns whether `a` comes before `b` in every schedule, by the creation and joining of threads.
    pub fn is_forced(&self, a: EventId, b: EventId) -> bool {
        self.forced
            .ordered(a, self.thread(a).0, b, self.thread(b).0)
    }

    /// Returns whether `a` comes before `b` in every schedule that has both: it is forced to, or it belongs to the making of a
    /// block that is handed over after that.
    pub fn is_first(&self, a: EventId, b: EventId) -> bool {
        self.is_forced(a, b) || self.orders.happens_before(a, b) && self.makes(a)
    }

    /// Returns whether a row sets memory of a block that no other thread has come to before: it belongs to the making of it.
    pub fn makes(&self, row: EventId) -> bool {
        let event = self.event(row);
        let location = Location::of(self.run.location(event.location));
        let is_heap = matches!(location, Location::Heap { .. });
        let mut before = self.orders.accesses().before(event.location, row).iter();
        is_heap && event.kind.writes() && before.all(|row| self.thread(*row) == event.thread)
    }

    /// The pc-level key of a row.
    pub fn key(&self, row: EventId) -> AccessKey {
        let events = &self.run.events;
        let [read, write, update] = self.keys[events.site(row)];
        match AccessClass::of(events.kind(row)).unwrap_or(AccessClass::Read) {
            AccessClass::Read => read,
            AccessClass::Write => write,
            AccessClass::Update => update,
        }
    }

    /// The key of a triple of this run.
    pub fn triple_key(&self, triple: &Triple) -> TripleKey {
        TripleKey {
            first: self.key(triple.first),
            remote: self.key(triple.remote),
            second: self.key(triple.second),
            within: callers::within(&self.run, triple.first, triple.second),
        }
    }

    /// Makes a step of the explanation.
    pub fn step(&self, row: EventId, note: impl Into<String>) -> Step {
        let event = self.event(row);
        let note = match note.into() {
            note if note.is_empty() && event.flags & flags::MOVED != 0 => {
                "moved by the compiler".to_owned()
            }
            note => note,
        };
        Step {
            thread: self.name(row),
            place: self.place(row),
            access: event.kind.name().to_owned(),
            location: self.run.location(event.location).to_owned(),
            effect: self.effect(row),
            value: self.effect_value(row),
            note,
            event: row.0,
            via: Vec::new(),
        }
    }

    /// Makes a marked site.
    pub fn mark(&self, row: EventId, role: Role) -> SiteMark {
        let event = self.event(row);
        SiteMark {
            place: self.place(row),
            thread: self.words(row),
            access: event.kind.name().to_owned(),
            location: self.run.location(event.location).to_owned(),
            role,
            step: None,
        }
    }

    /// Message and place of the failure.
    pub fn failure_place(&self) -> FailurePlace {
        let unknown = || FailurePlace {
            site: None,
            message: self.run.meta.outcome.name().to_owned(),
            is_by_status: false,
        };
        self.summary.failure.clone().unwrap_or_else(unknown)
    }

    /// The read at which the failure shows: of the failing thread, nearest to the failure, on its line. Where
    /// the line reads several variables, one of those that the steps `told` so far are about, else one that another thread
    /// has set.
    fn failing_read(&self, told: &[Step]) -> Option<EventId> {
        const ON_A_LINE: usize = 8;
        let nearest = self.slice.nearest()?;
        let line = self.place(nearest).line;
        let before = self.rows.before(self.failed?, self.failure).iter().rev();
        let on_line = before
            .take(ON_A_LINE)
            .copied()
            .filter(|&row| self.event(row).kind.reads() && self.place(row).line == line);
        let on_line: Vec<EventId> = on_line.collect();
        let is_told = |row: &EventId| {
            let location = self.run.location(self.event(*row).location);
            told.iter().any(|step| step.location == location)
        };
        // What the compiler keeps on the stack, or a library of its own, says nothing to anybody.
        let has_name = |row: &EventId| {
            let location = Location::of(self.run.location(self.event(*row).location));
            !location.is_slot() && !location.is_of_library()
        };
        // What the failing thread has set itself is seldom wrong.
        let is_of_another = |row: &EventId| {
            let written = self.source(*row);
            written.is_some_and(|write| self.thread(write) != self.thread(*row))
        };
        let find = |is_it: &dyn Fn(&EventId) -> bool| on_line.iter().copied().find(is_it);
        let named = find(&|row| has_name(row) && is_of_another(row));
        let family = |row: EventId| facts::family(self.run.location(self.event(row).location));
        let of_several =
            named.filter(|row| !is_of_another(&nearest) && family(*row) != family(nearest));
        find(&is_told)
            .or(of_several)
            .or(Some(nearest).filter(has_name))
    }

    /// The other shared number that the same visit of a line reads, if there is one: either may be the wrong one.
    fn read_beside(&self, read: EventId) -> Option<EventId> {
        let (place, thread) = (self.place(read), self.thread(read));
        let is_here = |row: &&EventId| {
            let other = self.place(**row);
            (other.line, &other.file) == (place.line, &place.file)
        };
        let before = self.rows.before(thread, read).iter().rev();
        let after = self.rows.after(thread, read).iter();
        let near = before.take_while(is_here).chain(after.take_while(is_here));
        let mut found: BTreeMap<LocationId, EventId> = BTreeMap::new();
        for &row in near.filter(|row| self.tells_number(**row)) {
            found.entry(self.event(row).location).or_insert(row);
        }
        found.remove(&self.event(read).location);
        let is_one = found.len() == 1 && self.tells_number(read);
        found.into_values().next().filter(|_| is_one)
    }

    /// Returns whether a row reads a number that other threads may have set, of a variable with a name.
    fn tells_number(&self, row: EventId) -> bool {
        let event = self.event(row);
        let location = Location::of(self.run.location(event.location));
        let is_number = self
            .read_value(row)
            .is_some_and(|value| value.kind == ValueKind::Number);
        event.kind == EventKind::Read
            && event.flags & flags::OWN_STACK == 0
            && is_number
            && !location.is_slot()
            && !location.is_of_library()
            && self.named(row).is_some()
    }

    /// A read in words: `reads 300`; with its name when the preceding steps are about another variable, so
    /// that the value is not taken for theirs.
    fn read_in_words(&self, read: EventId, told: &[Step]) -> String {
        if let Some(beside) = self.read_beside(read) {
            let both = [beside.min(read), beside.max(read)];
            let [one, other] =
                both.map(|row| format!("{}{}", self.variable(row), self.equals_read(row)));
            return format!("reads {one} and {other}");
        }
        let location = self.run.location(self.event(read).location);
        if told.is_empty() || told.iter().any(|step| step.location == location) {
            return self.effect(read);
        }
        format!("reads {}{}", self.variable(read), self.equals_read(read))
    }

    /// The step of the failure, merged with `last` when that is the failing read.
    pub fn failure_step(&self, told: &[Step]) -> Option<Step> {
        let thread = self.failed?;
        let place = self.failure_place().site?;
        let read = self.failing_read(told);
        let is_exit = self.summary.failure_kind == Some(FailureKind::Exit);
        let ends = match self.summary.outcome {
            Outcome::TimedOut => "does not end".to_owned(),
            Outcome::Deadlocked => "waits for ever".to_owned(),
            _ if is_exit => {
                let failure = self.summary.failure.as_ref();
                format!(
                    "ends with {}",
                    failure.map_or("", |failure| &failure.message)
                )
            }
            _ => "fails".to_owned(),
        };
        let mut step = Step {
            thread: facts::thread_name(&self.run, thread),
            place,
            access: "failure".to_owned(),
            location: String::new(),
            effect: ends.clone(),
            value: None,
            note: String::new(),
            event: self.failure.0,
            via: Vec::new(),
        };
        // Code at a closing brace reads for its own purpose, as destructors do, and no access makes a program
        // end: its last read need not be the reason.
        let is_told = |read: EventId| {
            let location = self.run.location(self.event(read).location);
            told.iter().any(|step| step.location == location)
        };
        // An assertion names its file as the compiler was told.
        let at = |place: &Place| (place.line, facts::basename(&place.file).to_owned());
        let own = at(&step.place);
        let fails = |&read: &EventId| {
            let place = self.place(read);
            at(&place) == own && place.text != "}" && (!is_exit || is_told(read))
        };
        // What the thread did on the line after the read is told: it went well.
        let later = told.iter().rev().find(|known| {
            let is_own = known.thread == step.thread && at(&known.place) == own;
            is_own && read.is_some_and(|read| EventId(known.event) > read)
        });
        if let Some(known) = later {
            step.effect = format!("{}, {ends}", known.effect);
            step.value.clone_from(&known.value);
            step.event = known.event;
        } else if let Some(read) = read.filter(fails) {
            // The value of the pointer is uninformative.
            if self.summary.failure_kind == Some(FailureKind::DoubleFree) {
                step.effect = format!("frees it again, {ends}");
            } else if self.value(read).is_some_and(|value| value.is_known()) {
                step.effect = format!("{}, {ends}", self.read_in_words(read, told));
                step.value = self.effect_value(read);
            }
            step.access = self.event(read).kind.name().to_owned();
            step.location = self.run.location(self.event(read).location).to_owned();
            step.event = read.0;
            if step.place.text.is_empty() {
                step.place.text = self.place(read).text;
            }
        }
        if step.effect == ends && self.is_unsaid(&step.place) {
            let failure = self.summary.failure.as_ref();
            let message = failure.map_or("", |failure| &failure.message);
            step.effect = format!("{ends}: {message}");
        }
        Some(step)
    }

    /// Returns whether the line of a failure does not show what went wrong there, as an assertion does.
    fn is_unsaid(&self, place: &Place) -> bool {
        /// The C function, and how programs name their own of that kind.
        const ABORT: &str = "abort";
        use FailureKind::{Abort, DoubleFree, InvalidFree, UnlockNotHeld};
        match self.summary.failure_kind {
            Some(Abort) => !place.text.contains(ABORT),
            Some(kind) => matches!(kind, DoubleFree | InvalidFree | UnlockNotHeld),
            None => false,
        }
    }
}

impl View<'_> {
    /// Returns whether nothing that the failure saw can come of a step: it is behind the failure or what the program does
    /// about it, or behind the failing thread's last step, and its thread changes nothing from there on.
    pub fn is_past(&self, row: EventId) -> bool {
        let Some(failed) = self.failed else {
            return false;
        };
        let changes = |row: &EventId| {
            let kind = self.event(*row).kind;
            kind.writes() || kind == EventKind::Free
        };
        let last = self.rows.before(failed, self.failure).last();
        let thread = self.thread(row);
        let own = self.rows.before(thread, self.failure).iter().rev();
        let mut from_there = own.take_while(|other| **other >= row);
        let is_behind_last = thread != failed && last.is_none_or(|last| row > *last);
        row > self.failure
            || thread == failed && self.only_failing.contains(&self.run.events.site(row))
            || is_behind_last && !from_there.any(changes)
    }
}

/// The failing thread, and the row of the failure.
fn failure_point(run: &Run) -> (Option<ThreadId>, EventId) {
    if let Some(row) = failed::step(run) {
        return (Some(run.events.thread(row)), row);
    }
    let failure = run.meta.failure.as_ref();
    let end = EventId((run.events.len() as u32).saturating_sub(1));
    let marked = || {
        let last = run
            .events
            .kinds()
            .iter()
            .rposition(|&kind| kind == EventKind::Failure as u8);
        last.map(|row| EventId(row as u32))
    };
    let row = failure.and_then(|failure| failure.event).or_else(marked);
    (
        failure
            .and_then(|failure| failure.thread)
            .or(row.map(|row| run.events.thread(row))),
        row.unwrap_or(end),
    )
}

/// Places on lines to which no passing run comes: when the thread that ends the program comes there the run has failed, and
/// what it does there is about that. None when there are too few passing runs to say so.
fn only_failing(corpus: &Corpus, run: &Run) -> FxHashSet<SiteId> {
    if corpus.counts().passing() < ENOUGH {
        return FxHashSet::default();
    }
    let sites = (0..).map(SiteId).zip(&run.meta.sites);
    let lines = sites.map(|(id, site)| (id, line_hash(&site.file, site.line)));
    let is_known = |line: u64| {
        let mut passing = corpus.passing();
        passing.any(|one| one.lines.binary_search(&line).is_ok())
    };
    let unknown = lines.filter(|(_, line)| !is_known(*line));
    unknown.map(|(id, _)| id).collect()
}

/// Rows of each thread, in order.
pub(super) struct ThreadRows {
    rows: IndexVec<ThreadId, Vec<EventId>>,
    /// Rows at which each thread waits for another one.
    waits: IndexVec<ThreadId, Vec<EventId>>,
}

impl ThreadRows {
    fn new(run: &Run) -> ThreadRows {
        let mut rows = IndexVec::filled(Vec::new(), run.meta.threads.len());
        for (row, &thread) in (0..).map(EventId).zip(run.events.threads()) {
            rows[ThreadId(thread)].push(row);
        }
        // A sleep is no such wait: it only makes room for others.
        let is_wait = |row: &EventId| run.events.kind(*row).role().waits_for_another();
        let waits = rows.iter().map(|rows: &Vec<EventId>| {
            let waits = rows.iter().copied().filter(is_wait);
            waits.collect()
        });
        ThreadRows {
            waits: waits.collect(),
            rows,
        }
    }

    /// Rows at which the thread waits for another one, in order.
    pub fn waits(&self, thread: ThreadId) -> &[EventId] {
        &self.waits[thread]
    }

    /// Rows of the thread before `row`, in order.
    pub fn before(&self, thread: ThreadId, row: EventId) -> &[EventId] {
        let rows = &self.rows[thread];
        rows.get(..rows.partition_point(|&r| r < row))
            .unwrap_or(&[])
    }

    /// Rows of the thread after `row`, in order.
    pub fn after(&self, thread: ThreadId, row: EventId) -> &[EventId] {
        let rows = &self.rows[thread];
        rows.get(rows.partition_point(|&r| r <= row)..)
            .unwrap_or(&[])
    }
}
