//! Following a proposed schedule: events that are to happen in this order, found by thread, kind and
//! place in the source.
//!
//! The thread of the current entry runs until it has done it. A thread whose next entry comes later is
//! held back right before it. While the thread of the current entry waits, the others run: the one that
//! it waits for first. When it cannot go on before a thread that is held back, the schedule is given
//! up, the standing of all threads is written down, and the run goes on by its strategy.
//!
//! If only the order of the entries is wanted ([`Follow::only_order`]), threads are held back in the same way, and
//! among the others the strategy chooses from the start.

use crate::{
    frames,
    next::Next,
    scheduler,
    state::{SHARED, Thread, Wait, header, live_threads, thread, unrecorded},
};
use core::{cell::Cell, sync::atomic::Ordering::Relaxed};
use unsnarl_trace::raw::{
    self, RecordKind, WaitsFor,
    follow::{Code, Entry, Follow, GaveUp, NONE, Name, Point, Stand, Standing},
};

/// Sites that the debug info gives to a place in the code.
type Site = u32;

struct FollowState {
    part: Cell<*const Follow>,
    /// `true` while there are entries that have not happened, and the schedule was not given up.
    active: Cell<bool>,
    /// `true` if the strategy chooses the threads in between.
    only_order: Cell<bool>,
    /// The next entry.
    at: Cell<u32>,
    /// The thread that last ran because the wanted one could not.
    helper: Cell<u16>,
    module: LastModule,
}

/// The module of the last program counter.
struct LastModule {
    start: Cell<u64>,
    end: Cell<u64>,
    bias: Cell<u64>,
    code: Cell<u32>,
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for FollowState {}

static STATE: FollowState = FollowState {
    part: Cell::new(core::ptr::null()),
    active: Cell::new(false),
    only_order: Cell::new(false),
    at: Cell::new(0),
    helper: Cell::new(0),
    module: LastModule {
        start: Cell::new(0),
        end: Cell::new(0),
        bias: Cell::new(0),
        code: Cell::new(0),
    },
};

/// A thread's state with regard to the schedule.
pub struct FollowingThread {
    /// The thread's next entry, or [`NONE`].
    entry: Cell<u32>,
    /// Matching events until it, that one included.
    left: Cell<u32>,
    /// `true` if the thread's next step may be it.
    is_next: Cell<bool>,
    /// `true` while the records of an update that changes nothing are written.
    is_vain: Cell<bool>,
}

impl FollowingThread {
    fn at_its_entry(&self) -> bool {
        self.is_next.get() && self.entry.get() != NONE
    }
}

/// Finds the schedule in the log, if there is one. `main` exists already.
pub fn set_up() {
    let header = header();
    if header.follow_at == 0 {
        return;
    }
    let place = SHARED.header.get() as usize + header.follow_at as usize;
    STATE.part.set(place as *const Follow);
    frames::reserve();
    STATE.active.set(part().entries > 0);
    STATE.only_order.set(part().only_order != 0);
    if STATE.active.get() {
        SHARED.is_watched.set(true);
    }
    created(thread(0), None);
}

#[inline(always)]
fn part() -> &'static Follow {
    // SAFETY: set by `set_up` before anything here is used; never unmapped.
    unsafe { &*STATE.part.get() }
}

/// Row `index` of the table at this offset.
fn row<T>(offset: u64, index: u32) -> &'static T {
    let base = STATE.part.get() as usize + offset as usize;
    // SAFETY: the recorder wrote tables that hold every index that it uses.
    unsafe { &*(base as *const T).add(index as usize) }
}

fn entry(index: u32) -> &'static Entry {
    row(part().entries_at, index)
}

fn name(index: u32) -> &'static Name {
    row(part().names_at, index)
}

/// Returns whether the schedule is being followed.
#[inline(always)]
pub fn is_active() -> bool {
    STATE.active.get()
}

/// Finds the entries of a new thread. `place` is its parent and its ordinal among the parent's children.
pub fn created(new: &Thread, place: Option<(&Thread, u32)>) {
    new.follow.entry.set(NONE);
    if STATE.part.get().is_null() {
        return;
    }
    let is_it = |candidate: &u32| match place {
        None => *candidate == 0,
        Some((parent, nth)) => {
            let this = name(*candidate);
            let parents = name(this.parent).number.load(Relaxed);
            *candidate != 0 && this.nth == nth && parents == u32::from(parent.number.get()) + 1
        }
    };
    let Some(found) = (0..part().names).find(is_it) else {
        return;
    };
    let name = name(found);
    name.number.store(u32::from(new.number.get()) + 1, Relaxed);
    expect(&new.follow, name.first);
    announce(new, new.next.get());
}

fn expect(own: &FollowingThread, index: u32) {
    own.entry.set(index);
    own.is_next.set(false);
    if index != NONE {
        own.left.set(entry(index).nth);
    }
}

/// Notes before a decision whether the thread's next step is its next entry.
pub fn announce(this: &Thread, next: Next) {
    let own = &this.follow;
    own.is_next.set(false);
    if !is_active() || own.entry.get() == NONE || next.pc == 0 {
        return;
    }
    let wanted = entry(own.entry.get());
    let soon = own.left.get() <= most_records(next);
    let is_next = soon && may_be(next.kind, wanted) && is_at(this, next.pc, wanted);
    own.is_next.set(is_next);
}

/// Bound for the records of one kind that a step may leave.
fn most_records(next: Next) -> u32 {
    /// Bound for the words of a range that is logged word by word, see `access`.
    const MOST_WORDS: u32 = 34;
    match next.kind {
        RecordKind::ReadRange | RecordKind::WriteRange if next.size == 0 => MOST_WORDS,
        RecordKind::ReadRange | RecordKind::WriteRange => (next.size / 8 + 2).min(MOST_WORDS),
        _ => 1,
    }
}

fn is_kind(kind: RecordKind, wanted: &Entry) -> bool {
    let bit = kind as u8;
    let [low, high] = wanted.kinds;
    let word = if bit < 64 { low } else { high };
    word >> (bit & 63) & 1 != 0
}

/// Returns whether a step that is announced as `kind` may leave the wanted record.
fn may_be(kind: RecordKind, wanted: &Entry) -> bool {
    use RecordKind::*;
    let also: &[RecordKind] = match kind {
        ReadRange => &[Read],
        WriteRange => &[Read, ReadRange, Write],
        Rmw => &[AtomicRead],
        Lock => &[LockWait, TryFailed, Wake],
        SharedLock => &[LockWait, TryFailed],
        SemWait => &[TryFailed],
        Unlock => &[SharedUnlock],
        Wait => &[Unlock],
        Fork => &[Write],
        Free => &[Alloc, Read, ReadRange, Write, WriteRange],
        OnceBegin => &[OncePass],
        _ => &[],
    };
    is_kind(kind, wanted) || also.iter().any(|kind| is_kind(*kind, wanted))
}

fn is_at(this: &Thread, pc: u64, wanted: &Entry) -> bool {
    if wanted.wanted_len == 0 {
        return true;
    }
    // The compiler may compare with functions that are interposed.
    let Some(site) = unrecorded(this, || frames::first(this, pc, site_at)) else {
        return false;
    };
    let last = wanted.wanted + wanted.wanted_len;
    (wanted.wanted..last).any(|i| *row::<Site>(part().wanted_at, i) == site)
}

/// The site of the call that returns to `pc`, if that is in the user's code.
fn site_at(pc: u64) -> Option<Site> {
    let (code, address) = code_at(pc)?;
    let (mut low, mut high) = (code.first, code.first + code.len);
    while low < high {
        let middle = low + (high - low) / 2;
        let point: &Point = row(part().points_at, middle);
        if point.address == address {
            return Some(point.site);
        }
        if point.address < address {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    None
}

/// The module of `pc`, and the file's own address. The last module is cached: most calls are in the program itself.
fn code_at(pc: u64) -> Option<(&'static Code, u64)> {
    let last = &STATE.module;
    if !(last.start.get()..last.end.get()).contains(&pc) {
        let module = module_at(pc)?;
        let known = |i: &u32| row::<Code>(part().modules_at, *i).path == module.path;
        last.code.set((0..part().modules).find(known)?);
        last.bias.set(module.bias);
        last.start.set(module.start);
        last.end.set(module.end);
    }
    let address = pc.wrapping_sub(last.bias.get());
    Some((row(part().modules_at, last.code.get()), address))
}

fn module_at(pc: u64) -> Option<&'static raw::Module> {
    let header = header();
    let base = SHARED.header.get() as usize + header.modules_at as usize;
    (0..header.modules.load(Relaxed) as usize)
        // SAFETY: the table has a place for each module that is counted.
        .map(|i| unsafe { &*(base as *const raw::Module).add(i) })
        .find(|module| module.start <= pc && pc < module.end)
}

/// Writes the records of an update that leaves the value as it is.
pub fn in_vain(this: &Thread, write: impl FnOnce()) {
    this.follow.is_vain.set(true);
    write();
    this.follow.is_vain.set(false);
}

/// Handles a written record: if it is the thread's next entry, that has happened.
pub fn happened(this: &Thread, kind: RecordKind, pc: u64, index: u64) {
    let own = &this.follow;
    let at = own.entry.get();
    if !is_active() || at == NONE {
        return;
    }
    let wanted = entry(at);
    let is_vain = wanted.changes != 0 && own.is_vain.get();
    if is_vain || !is_kind(kind, wanted) || !is_at(this, pc, wanted) {
        return;
    }
    own.left.set(own.left.get().saturating_sub(1));
    if own.left.get() > 0 {
        return;
    }
    if at != STATE.at.get() {
        return give_up(GaveUp::OutOfOrder, Some(this.number.get()));
    }
    wanted.done_at.store(index + 1, Relaxed);
    expect(own, wanted.next);
    STATE.at.set(at + 1);
    part().reached.store(at + 1, Relaxed);
    if at + 1 >= part().entries {
        stop();
    }
}

fn stop() {
    STATE.active.set(false);
}

/// The thread that the schedule requires to run; `None` when it is not followed (any more), or when no thread can go
/// on.
pub fn choose(this: &Thread, yields: bool) -> Option<u16> {
    if STATE.only_order.get() {
        return None;
    }
    while is_active() {
        match wanted(this, yields) {
            Choice::Run(number) => return Some(number),
            Choice::GiveUp(why, about) => give_up(why, about),
            Choice::Wait => {
                if !scheduler::advance_clock() {
                    return nobody();
                }
            }
        }
    }
    None
}

/// Returns whether the strategy must not choose this thread: its next step comes after an entry that has not
/// happened.
pub fn withholds(other: &Thread) -> bool {
    is_active() && STATE.only_order.get() && is_held(other)
}

/// Gives the order up when no other thread can go on; returns whether some thread can go on then.
pub fn release() -> bool {
    let someone = live_threads()
        .iter()
        .find(|&&number| withholds(thread(number)));
    if let Some(&number) = someone {
        give_up(GaveUp::HeldBack, Some(number));
    }
    someone.is_some()
}

/// Handles the state in which no thread that is not held back can go on: a deadlock, unless some thread is held back.
fn nobody() -> Option<u16> {
    let held = |number: &&u16| scheduler::enabled(thread(**number));
    if live_threads().iter().any(|number| held(&number)) {
        give_up(GaveUp::HeldBack, None);
    }
    None
}

enum Choice {
    Run(u16),
    /// Time has to pass, or input has to come from outside.
    Wait,
    GiveUp(GaveUp, Option<u16>),
}

fn wanted(this: &Thread, yields: bool) -> Choice {
    let Some(actor) = nearest(entry(STATE.at.get()).name) else {
        return Choice::GiveUp(GaveUp::Ended, None);
    };
    if actor.ended.get() {
        return Choice::GiveUp(GaveUp::Ended, Some(actor.number.get()));
    }
    let spins = yields && actor.number.get() == this.number.get();
    if !spins && can_run(actor) {
        return Choice::Run(actor.number.get());
    }
    if is_held(actor) {
        return Choice::GiveUp(GaveUp::HeldBack, Some(actor.number.get()));
    }
    match needed_by(actor) {
        Some(helper) if can_run(helper) => Choice::Run(helper.number.get()),
        Some(helper) if is_held(helper) => {
            Choice::GiveUp(GaveUp::HeldBack, Some(helper.number.get()))
        }
        _ => anyone(this, actor, yields),
    }
}

/// The thread of this name, or its nearest ancestor that has been created.
fn nearest(mut index: u32) -> Option<&'static Thread> {
    for _ in 0..=part().names {
        let name = name(index);
        let number = name.number.load(Relaxed);
        if number != 0 {
            return Some(thread((number - 1) as u16));
        }
        index = name.parent;
    }
    None
}

/// Returns whether the thread is held back: its next step is an entry whose turn has not come.
fn is_held(other: &Thread) -> bool {
    other.follow.at_its_entry() && other.follow.entry.get() != STATE.at.get()
}

fn can_run(other: &Thread) -> bool {
    !is_held(other) && scheduler::enabled(other)
}

/// The thread at the end of the chain of waits that begins with `waiting`; `None` when it waits for no thread in
/// particular.
fn needed_by(waiting: &Thread) -> Option<&'static Thread> {
    let mut last = owner(waiting)?;
    for _ in 0..live_threads().len() {
        match owner(last) {
            Some(next) if !is_held(last) => last = next,
            _ => break,
        }
    }
    Some(last)
}

/// The thread that has to act before this one can go on.
fn owner(waiting: &Thread) -> Option<&'static Thread> {
    let number = match waiting.wait.get() {
        Wait::Lock(object) | Wait::SharedLock(object) | Wait::Once(object) => {
            crate::objects::at(object).owner.get().checked_sub(1)?
        }
        Wait::Join(number) => u32::from(number),
        _ => return None,
    };
    Some(thread(number as u16)).filter(|owner| owner.live.get())
}

/// A thread that is not held back: the running one while it goes on, then each in turn.
fn anyone(this: &Thread, actor: &Thread, yields: bool) -> Choice {
    let (this_number, actor_number) = (this.number.get(), actor.number.get());
    if !yields && this_number != actor_number && can_run(this) {
        return Choice::Run(this_number);
    }
    let last = STATE.helper.get();
    let live = live_threads();
    let after = live.iter().filter(|&&number| number > last);
    let before = live.iter().filter(|&&number| number <= last);
    let found = after
        .chain(before)
        .copied()
        .find(|&number| number != actor_number && can_run(thread(number)));
    match found {
        Some(number) => {
            STATE.helper.set(number);
            Choice::Run(number)
        }
        None if can_run(actor) => Choice::Run(actor_number),
        None => Choice::Wait,
    }
}

/// The preferred candidate of a choice such as which waiter a signal wakes: the one whose entry comes first.
pub fn prefer(count: usize, number_of: impl Fn(usize) -> u16) -> Option<usize> {
    if !is_active() || STATE.only_order.get() {
        return None;
    }
    let entry_of = |i: &usize| thread(number_of(*i)).follow.entry.get();
    (0..count).min_by_key(entry_of)
}

/// Ends following: notes the reason, and the states of all threads.
fn give_up(why: GaveUp, about: Option<u16>) {
    stop();
    let part = part();
    part.gave_up_thread
        .store(about.map_or(NONE, u32::from), Relaxed);
    part.gave_up_at
        .store(header().records.load(Relaxed), Relaxed);
    for &number in live_threads() {
        let other = thread(number);
        note_stand(other, row(part.stands_at, u32::from(number)));
    }
    part.gave_up.store(why as u32, Relaxed);
}

fn note_stand(other: &Thread, stand: &Stand) {
    let (waits_for, object) = other.wait.get().raw();
    let waits = waits_for != WaitsFor::Nothing && !scheduler::enabled(other);
    let standing = match (is_held(other), waits) {
        (true, _) => Standing::HeldBack,
        (false, true) => Standing::Waiting,
        (false, false) => Standing::Ready,
    };
    let next = other.next.get();
    stand.waits_for.store(waits_for as u32, Relaxed);
    stand.object.store(object as u64, Relaxed);
    stand.pc.store(next.pc, Relaxed);
    stand.kind.store(next.kind as u32, Relaxed);
    stand.entry.store(other.follow.entry.get(), Relaxed);
    stand.standing.store(standing as u32, Relaxed);
}
