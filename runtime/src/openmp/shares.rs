//! Work that the threads of a team share: loops, sections, single.

use super::{Member, address, caller, look, park, teams::Team, teams::team_of, wake};
use crate::{log, mutex, next::Next, scheduler, state::Thread};
use core::cell::Cell;
use unsnarl_trace::raw::{LockType, RecordKind};

/// Number of constructs without a barrier behind them by which a thread may be ahead of the others.
pub const SHARES: usize = 16;

/// The schedule by which iterations are handed out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    Static,
    Dynamic,
    Guided,
}

/// A loop: `from` to `to` (not reached) by `step`.
#[derive(Clone, Copy)]
pub struct Loop {
    pub from: i128,
    pub to: i128,
    pub step: i128,
    pub chunk: i128,
    pub schedule: Schedule,
}

/// One construct that is being worked on.
pub struct Share {
    /// Its place in the order of constructs, from 1; 0 when the place is free.
    id: Cell<u64>,
    /// Threads that are through with it.
    left: Cell<u32>,
    /// Iterations are counted from 0.
    next: Cell<i128>,
    count: Cell<i128>,
    from: Cell<i128>,
    step: Cell<i128>,
    chunk: Cell<i128>,
    schedule: Cell<Schedule>,
    /// The iteration whose ordered part comes next.
    ordered: Cell<i128>,
}

impl Share {
    /// Makes the place free.
    pub fn forget(&self) {
        self.id.set(0);
        self.left.set(0);
    }

    pub fn is_in_use(&self) -> bool {
        self.id.get() != 0
    }

    fn begin(&self, id: u64) {
        self.id.set(id);
        self.left.set(0);
        self.next.set(0);
        self.count.set(0);
        self.ordered.set(0);
    }

    fn describe(&self, what: &Loop) {
        let span = if what.step > 0 {
            what.to - what.from
        } else {
            what.from - what.to
        };
        let step = what.step.abs().max(1);
        self.count.set(if span > 0 {
            (span + step - 1) / step
        } else {
            0
        });
        self.from.set(what.from);
        self.step.set(what.step);
        self.chunk.set(what.chunk);
        self.schedule.set(what.schedule);
    }
}

/// Enters the next construct. Returns it, and `true` if this thread is the first there.
fn enter(this: &Thread, here: &Member, pc: u64) -> (&'static Share, bool) {
    let team = team_of(here);
    let id = here.entered.get() + 1;
    here.entered.set(id);
    here.trips.set(0);
    let Some(share) = team.shares.get(id as usize % SHARES) else {
        crate::failure::unsupported(c"a work-sharing construct without a place");
    };
    look(this, address(&share.id));
    while share.id.get() != id && share.is_in_use() && share.left.get() < team.size.get() {
        park(this, pc, address(&share.left));
    }
    here.share.set(share);
    let is_first = share.id.get() != id;
    if is_first {
        share.begin(id);
    }
    (share, is_first)
}

/// Enters a combined construct (`parallel for`): all threads enter the loop that was described beforehand.
pub fn enter_prepared(here: &Member, team: &Team) {
    here.entered.set(1);
    here.trips.set(0);
    here.share.set(
        team.shares
            .get(1)
            .map_or(core::ptr::null(), core::ptr::from_ref),
    );
}

/// Describes the loop of a combined construct.
pub fn prepare(team: &Team, what: &Loop) {
    team.is_combined.set(true);
    if let Some(share) = team.shares.get(1) {
        share.begin(1);
        share.describe(what);
    }
}

fn current(here: &Member) -> &'static Share {
    // SAFETY: set on entering a construct; shares live as long as the process.
    match unsafe { here.share.get().as_ref() } {
        Some(share) => share,
        None => crate::failure::unsupported(c"a work-sharing construct that was not entered"),
    }
}

/// Leaves the construct.
pub fn leave(this: &Thread, here: &Member) {
    let share = current(here);
    look(this, address(&share.id));
    share.left.set(share.left.get() + 1);
    if share.left.get() == team_of(here).size.get() {
        wake(address(&share.left));
    }
}

/// Enters a loop and takes the first chunk.
pub fn start(what: &Loop) -> Option<(i128, i128)> {
    let (this, here, pc) = caller();
    let (share, is_first) = enter(this, here, pc);
    if is_first {
        share.describe(what);
    }
    take(here, share)
}

/// The next chunk of the loop, as values of its variable.
pub fn next() -> Option<(i128, i128)> {
    let (this, here, _) = caller();
    let share = current(here);
    look(this, address(&share.id));
    take(here, share)
}

fn take(here: &Member, share: &Share) -> Option<(i128, i128)> {
    let size = i128::from(team_of(here).size.get());
    let (first, length) = match share.schedule.get() {
        Schedule::Static => static_chunk(here, share, size)?,
        Schedule::Dynamic => (share.next.get(), share.chunk.get().max(1)),
        Schedule::Guided => {
            let left = share.count.get() - share.next.get();
            (
                share.next.get(),
                ((left + size - 1) / size).max(share.chunk.get().max(1)),
            )
        }
    };
    let length = length.min(share.count.get() - first);
    if length <= 0 {
        return None;
    }
    share.next.set(share.next.get().max(first + length));
    here.chunk.set((first, first + length));
    let value = |iteration: i128| share.from.get() + iteration * share.step.get();
    Some((value(first), value(first + length)))
}

/// The next chunk of a static schedule: without a chunk size one even part for each thread, else chunks in turn.
fn static_chunk(here: &Member, share: &Share, size: i128) -> Option<(i128, i128)> {
    let trip = i128::from(here.trips.get());
    here.trips.set(here.trips.get() + 1);
    let number = i128::from(here.number.get());
    if share.chunk.get() > 0 {
        return Some((
            (trip * size + number) * share.chunk.get(),
            share.chunk.get(),
        ));
    }
    let (part, rest) = (share.count.get() / size, share.count.get() % size);
    let mine = part + i128::from(number < rest);
    (trip == 0).then_some((number * part + number.min(rest), mine))
}

/// Takes one section; 0 when none is left.
pub fn take_section(here: &Member) -> u32 {
    let share = current(here);
    let next = share.next.get() + 1;
    if next > share.count.get() {
        return 0;
    }
    share.next.set(next);
    next as u32
}

/// Enters sections and takes the first.
pub fn start_sections(count: u32) -> u32 {
    let (this, here, pc) = caller();
    let (share, is_first) = enter(this, here, pc);
    if is_first {
        share.count.set(i128::from(count));
    }
    take_section(here)
}

/// Takes another section.
pub fn next_section() -> u32 {
    let (this, here, _) = caller();
    look(this, address(&current(here).id));
    take_section(here)
}

/// Describes the sections of a combined construct.
pub fn prepare_sections(team: &Team, count: u32) {
    team.is_combined.set(true);
    if let Some(share) = team.shares.get(1) {
        share.begin(1);
        share.count.set(i128::from(count));
    }
}

/// Returns whether this thread is the one that executes the construct.
pub fn single() -> bool {
    let (this, here, pc) = caller();
    let (_, is_first) = enter(this, here, pc);
    leave(this, here);
    is_first
}

/// Waits for the turn of this thread's chunk, and logs it as a lock.
pub fn ordered_start() {
    let (this, here, pc) = caller();
    let share = current(here);
    let object = address(&share.ordered);
    wait_for_order(this, here, share, pc);
    mutex::acquire(this, object, 0, pc, LockType::Mutex);
}

pub fn ordered_end() {
    let (this, here, pc) = caller();
    let object = address(&current(here).ordered);
    scheduler::decide(this, Next::of(RecordKind::Unlock, pc, object));
    mutex::release(this, object, pc);
}

fn wait_for_order(this: &Thread, here: &Member, share: &Share, pc: u64) {
    let object = address(&share.ordered);
    look(this, object);
    while share.ordered.get() < here.chunk.get().0 {
        park(this, pc, object);
    }
}

/// The next chunk of an ordered loop, once the ordered parts before this one are through.
pub fn next_ordered() -> Option<(i128, i128)> {
    let (this, here, pc) = caller();
    let share = current(here);
    log::resolve(this);
    wait_for_order(this, here, share, pc);
    share
        .ordered
        .set(share.ordered.get().max(here.chunk.get().1));
    wake(address(&share.ordered));
    take(here, share)
}
