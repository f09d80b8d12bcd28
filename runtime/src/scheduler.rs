//! The scheduler: decisions, the strategies that make them, and handing over the turn.

use crate::{
    checks, children,
    choices::{self, Candidates, random},
    departure, failure, files, follow, livelock, log,
    next::Next,
    objects, outside,
    pct::{self, Yields},
    plan::next_planned,
    polling,
    quiet::is_quiet,
    repeats, signals,
    state::{SHARED, Thread, Wait, header, live_threads, thread, unrecorded},
    stretch, sys, timers,
};
use core::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use unsnarl_trace::raw::{self, ChoiceKind, End, RawStrategy, unlogged};

/// Virtual nanoseconds that one decision takes.
const TICK: u64 = 100;

/// A point at which another thread may run before `this` goes on. Returns when `this` has the turn and its wish is
/// granted; `next` is its next step.
#[inline(always)]
pub fn decide(this: &Thread, next: Next) {
    livelock::decide(next);
    pass(this, next, Yields::No);
}

/// Like [`decide`], but prefers the others: the thread sleeps, spins or yields.
pub fn give_way(this: &Thread, next: Next) {
    livelock::look(this);
    rest(this, next);
}

/// Like [`give_way`], for a thread that is not in a circle, or has been looked at.
pub fn rest(this: &Thread, next: Next) {
    this.idle.set(0);
    pass(this, next, Yields::Asks);
}

/// Waits until `wish` is granted, at most until the virtual time `deadline` when that is not 0.
/// Returns whether it was granted.
pub fn block(this: &Thread, next: Next, wish: Wait, deadline: u64) -> bool {
    // How a wait on a condition ends is chosen where it begins: it goes on with the mutex.
    let asks = deadline != 0 && !matches!(wish, Wait::Condition { .. });
    if asks && choices::times_out_early() {
        run_out(this, next, Wait::Nothing, deadline);
        return false;
    }
    wait_for(this, next, wish, deadline)
}

/// Waits until the time of a wait is over before anything else happens to it: virtual time goes on to `deadline` once
/// `wish` is granted.
pub fn run_out(this: &Thread, next: Next, wish: Wait, deadline: u64) {
    wait_for(this, next, wish, 0);
    timers::go_on_to(deadline);
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The wish is granted.
    Granted,
    /// The time is over.
    TimedOut,
    /// A handler has run, and the call shall not begin anew.
    Interrupted,
}

/// Like [`block`], for a call that ends when a handler has run. With `restarts`, handlers that were installed with
/// `SA_RESTART` do not end it.
pub fn block_or_signal(
    this: &Thread,
    next: Next,
    wish: Wait,
    deadline: u64,
    restarts: bool,
) -> Waited {
    if deadline != 0 && choices::times_out_early() {
        run_out(this, next, Wait::Nothing, deadline);
        return Waited::TimedOut;
    }
    loop {
        if !wait_once(this, next, wish, deadline) {
            return Waited::TimedOut;
        }
        if !has_come(this) || grantable_by_itself(this, wish) {
            return Waited::Granted;
        }
        if !signals::deliver(this) || !restarts {
            return Waited::Interrupted;
        }
    }
}

/// Waits without interruption: handlers that run meanwhile do not end the wait.
fn wait_for(this: &Thread, next: Next, wish: Wait, deadline: u64) -> bool {
    loop {
        let in_time = wait_once(this, next, wish, deadline);
        if !in_time || !has_come(this) || keeps_signals(wish) || grantable_by_itself(this, wish) {
            return in_time;
        }
        signals::deliver(this);
    }
}

/// Returns whether a signal has come whose handler can run now.
fn has_come(this: &Thread) -> bool {
    this.heeds_signals.get() && this.signals.load(Relaxed) != 0
}

/// Returns whether another thread ends this wait by changing it: the thread must not leave it for a handler.
fn keeps_signals(wish: Wait) -> bool {
    matches!(
        wish,
        Wait::Nothing
            | Wait::Condition { .. }
            | Wait::Granted { .. }
            | Wait::Futex(_)
            | Wait::Outside
    )
}

fn wait_once(this: &Thread, next: Next, wish: Wait, deadline: u64) -> bool {
    livelock::wait(wish, deadline);
    if deadline != 0 {
        note_unlogged(unlogged::TIME);
    }
    if livelock::waits_for_outside(wish) {
        note_unlogged(unlogged::KERNEL);
    }
    if livelock::lock_of(wish).is_none() {
        this.idle.set(0);
    }
    this.heeds_signals.set(this.inside.get() == 0);
    this.wait.set(wish);
    this.wait_pc.set(next.pc);
    this.deadline.set(deadline);
    this.timed_out.set(false);
    pass(this, next, Yields::No);
    this.wait.set(Wait::Nothing);
    this.deadline.set(0);
    !this.timed_out.get()
}

/// Notes a step that may depend on other threads and leaves no record.
pub fn note_unlogged(what: u32) {
    if SHARED.live_count.get() > 1 {
        header().unlogged.fetch_or(what, Relaxed);
    }
}

/// Handles a plain or atomic access before it happens. A thread that only reads for long is spinning and has to
/// yield.
#[inline(always)]
pub fn before_access(this: &Thread, next: Next, changes: bool) {
    if changes {
        livelock::stir();
        this.idle.set(0);
        return pass(this, next, Yields::No);
    }
    count_idle(this, next);
}

/// Handles a write to the thread's own stack before it happens: it offers no new choice for the others' sake, so a
/// loop that waits for them and keeps what it sees in a variable is still spinning.
#[inline(always)]
pub fn before_own_write(this: &Thread, next: Next) {
    pass(this, next, Yields::No);
}

/// Handles a step before it happens that may change nothing: a read, an attempt that can fail.
#[inline(always)]
pub fn count_idle(this: &Thread, next: Next) {
    let idle = this.idle.get() + 1;
    this.idle.set(idle);
    let spins = idle > SHARED.spin_limit.get();
    if next.addr == 0 {
        // It asks the clock, or the world outside.
        livelock::stir();
    }
    if spins {
        this.idle.set(0);
        livelock::look(this);
        return pass(this, next, Yields::Waits);
    }
    pass(this, next, Yields::No);
}

#[inline(always)]
fn pass(this: &Thread, next: Next, yields: Yields) {
    if this.signals.load(Relaxed) != 0 && this.wait.get() == Wait::Nothing {
        signals::deliver(this);
    }
    this.next.set(next);
    if SHARED.is_watched.get() {
        follow::announce(this, next);
    }
    this.passed.set(this.passed.get() + 1);
    let ticks = SHARED.ticks.get() + 1;
    SHARED.ticks.set(ticks);
    SHARED.calm.set(SHARED.calm.get() + 1);
    SHARED.clock.set(SHARED.clock.get() + TICK);
    if ticks > SHARED.alert.get() {
        attend(ticks);
    }
    if SHARED.live_count.get() == 1 && this.wait.get() == Wait::Nothing && !this.ended.get() {
        return;
    }
    let yields = match yields {
        Yields::No if stretch::waits_for_long(next) => Yields::Waits,
        yields => yields,
    };
    choose_and_switch(this, yields, is_quiet(next));
}

/// Checks the limit of the steps, and lets timers run out.
#[cold]
fn attend(ticks: u64) {
    if ticks > SHARED.max_steps.get() {
        failure::end_now(End::StepLimit);
    }
    timers::run_out();
}

/// Counts time without a decision: timers that run out without effect must not go on for ever.
fn count_tick() {
    let ticks = SHARED.ticks.get() + 1;
    SHARED.ticks.set(ticks);
    if ticks > SHARED.max_steps.get() {
        failure::end_now(End::StepLimit);
    }
}

/// Requests a check at the decision at which virtual time reaches `next`, unless time goes faster.
pub fn look_again_by(next: u64) {
    let left = next.saturating_sub(SHARED.clock.get()).div_ceil(TICK);
    let at = SHARED.ticks.get().saturating_add(left.saturating_sub(1));
    SHARED.alert.set(at.min(SHARED.max_steps.get()));
}

fn choose_and_switch(this: &Thread, yields: Yields, is_quiet: bool) {
    let waits = this.wait.get() != Wait::Nothing;
    let keeps_turn = this.atomic.get() != 0 || SHARED.keeps_order.get();
    if keeps_turn && !yields.any() && !waits && !this.ended.get() {
        return;
    }
    let is_quiet = is_quiet && !departure::is_under_way();
    if !yields.any() && !waits && is_quiet && !choices::follows() {
        // Noted like every choice, so that the schedule means the same without the list.
        let stays = this.number.get();
        return choices::note(stays, ChoiceKind::Thread, false, enabled_threads);
    }
    SHARED.steps.set(SHARED.steps.get() + 1);
    header().steps.store(SHARED.steps.get(), Relaxed);
    // What the compiler makes of moving a structure may be a call of the `memcpy` that is recorded.
    let chosen = unrecorded(this, || {
        let next = next_thread(this, yields)?;
        choices::note(next, ChoiceKind::Thread, yields.any(), enabled_threads);
        Some(next)
    });
    let Some(next) = chosen else {
        return;
    };
    if next != this.number.get() {
        SHARED.stretch.set(0);
        hand_over(this, next);
    }
}

/// The thread to run; `None` when every thread has ended and the process is about to.
fn next_thread(this: &Thread, yields: Yields) -> Option<u16> {
    if let Some(next) = followed().or_else(planned) {
        return Some(next);
    }
    if let Some(next) = follow::choose(this, yields.any()) {
        return Some(next);
    }
    loop {
        let chosen = by_strategy(this, yields);
        if chosen.is_some() {
            return chosen;
        }
        if SHARED.live_count.get() == 0 {
            return None;
        }
        if !advance_clock() && !follow::release() {
            failure::deadlock();
        }
    }
}

/// The strategy's choice; `None` when nobody can go on.
fn by_strategy(this: &Thread, yields: Yields) -> Option<u16> {
    let yields = departure::yields(this, yields);
    match checks::strategy() {
        RawStrategy::Random => random_choice(this, yields.any()),
        RawStrategy::Pct => departure::overdue().or_else(|| highest_priority(this, yields)),
        RawStrategy::Sequential => {
            departure::overdue().or_else(|| stay_or_next(this, yields.any()))
        }
    }
}

/// The next choice of the schedule that is followed, if there is one and it can be followed.
#[inline(always)]
fn followed() -> Option<u16> {
    if !choices::follows() {
        return None;
    }
    let choice = choices::next_followed();
    let is_known = u32::from(choice) < SHARED.thread_count.load(Relaxed);
    let can = is_known && can_follow(thread(choice)) || can_run(choice);
    if !can {
        choices::diverged();
    }
    can.then_some(choice)
}

/// The thread that a directive names, if there is a directive and the thread can run.
#[inline(always)]
fn planned() -> Option<u16> {
    next_planned(ChoiceKind::Thread).filter(|&choice| can_run(choice))
}

/// Returns whether this thread can go on, once time has passed if no thread can before.
fn can_run(choice: u16) -> bool {
    loop {
        if u32::from(choice) < SHARED.thread_count.load(Relaxed) && enabled(thread(choice)) {
            return true;
        }
        let nobody = !live_threads().iter().any(|&number| enabled(thread(number)));
        if !nobody || !advance_clock() {
            return false;
        }
    }
}

/// Returns whether the thread that a schedule names can go on, after waiting for the object of its wait.
fn can_follow(chosen: &'static Thread) -> bool {
    enabled(chosen) || chosen.live.get() && outside::help(chosen) && enabled(chosen)
}

/// The threads that could go on.
fn enabled_threads() -> Candidates {
    let live = live_threads().iter().copied();
    Candidates::of(live.filter(|&number| enabled(thread(number))))
}

/// Returns whether `other` could go on now.
#[inline(always)]
pub fn enabled(other: &Thread) -> bool {
    if !other.live.get() || SHARED.is_watched.get() && follow::withholds(other) {
        return false;
    }
    match other.wait.get() {
        Wait::Nothing => true,
        wait => grantable(other, wait),
    }
}

fn grantable(other: &Thread, wait: Wait) -> bool {
    // The end of the time comes first: so what a wait comes to depends on the clock only, not on how
    // often somebody asked.
    if times_out(other, wait) {
        return true;
    }
    grantable_by_itself(other, wait)
        || cancelled(other, wait)
        || !keeps_signals(wait) && has_come(other)
}

/// Returns whether a thread's wish can be granted.
fn grantable_by_itself(other: &Thread, wait: Wait) -> bool {
    match wait {
        Wait::Nothing => true,
        Wait::Lock(lock) => objects::at(lock).is_free_for_writing(),
        Wait::SharedLock(lock) => objects::at(lock).owner.get() == 0,
        Wait::Condition { .. } | Wait::Granted { .. } => false,
        Wait::Join(number) => thread(number).ended.get(),
        Wait::Semaphore(semaphore) => objects::at(semaphore).value.get() > 0,
        Wait::Once(once) => objects::at(once).owner.get() == 0,
        Wait::Input(descriptor) => outside::is_granted(other, descriptor, libc::POLLIN),
        Wait::Output(descriptor) => outside::is_granted(other, descriptor, libc::POLLOUT),
        Wait::Poll { descriptors, count } => {
            other.forced.get() || polling::any_ready(descriptors, count)
        }
        Wait::Outside => outside::is_back(other),
        Wait::Child { kind, id } => other.forced.get() || children::has_news(kind, id),
        Wait::FileLock(attempt) => files::try_again(attempt),
        Wait::Futex(_) | Wait::Signal => false,
    }
}

/// Returns whether a cancelled thread leaves this wait, which is a cancellation point.
fn cancelled(other: &Thread, wait: Wait) -> bool {
    if !other.cancelled.get() {
        return false;
    }
    match wait {
        Wait::Condition { mutex, .. } => {
            other.wait.set(Wait::Lock(mutex));
            grantable(other, Wait::Lock(mutex))
        }
        Wait::Join(_) | Wait::Semaphore(_) | Wait::Input(_) | Wait::Output(_) => true,
        Wait::Signal | Wait::Poll { .. } | Wait::Child { .. } | Wait::FileLock(_) => true,
        _ => false,
    }
}

/// Ends a wait whose time has come. A waiter on a condition goes on to wait for its mutex.
fn times_out(other: &Thread, wait: Wait) -> bool {
    if other.deadline.get() == 0 || SHARED.clock.get() < other.deadline.get() {
        return false;
    }
    other.timed_out.set(true);
    other.deadline.set(0);
    if let Wait::Condition { mutex, .. } = wait {
        other.wait.set(Wait::Lock(mutex));
        return grantable(other, Wait::Lock(mutex));
    }
    other.wait.set(Wait::Nothing);
    true
}

/// Ends waits whose time has come, before the waits are examined.
pub fn settle(other: &Thread) {
    if let wait @ Wait::Condition { .. } = other.wait.get() {
        grantable(other, wait);
    }
}

/// Lets time pass when no thread can go on, until the first timed wait ends, or until input comes from outside.
/// Returns `false` when there is nothing to wait for.
pub fn advance_clock() -> bool {
    let deadlines = live_threads()
        .iter()
        .map(|&number| thread(number).deadline.get());
    let deadlines = deadlines.chain([timers::next()]);
    let next = deadlines
        .filter(|&deadline| deadline != 0 && deadline != u64::MAX)
        .min();
    if outside::wait_for_outside(next.unwrap_or(0)) {
        return true;
    }
    match next {
        Some(deadline) => {
            count_tick();
            timers::go_on_to(deadline);
            true
        }
        None => false,
    }
}

/// Goes on with the same thread while it can, else with the next one in the order of creation.
fn stay_or_next(this: &Thread, yields: bool) -> Option<u16> {
    let number = this.number.get();
    if !yields && takes_part(number) {
        return Some(number);
    }
    let live = live_threads();
    let after = live.iter().filter(|&&other| other > number);
    let before = live.iter().filter(|&&other| other <= number);
    let in_order = after.chain(before).copied();
    let first = in_order.clone().find(|&other| takes_part(other));
    first.or_else(|| in_order.clone().find(|&other| enabled(thread(other))))
}

/// Returns whether the thread can go on and does not leave that to the others.
fn takes_part(number: u16) -> bool {
    let other = thread(number);
    enabled(other) && !departure::stands_back(other)
}

/// One of the enabled threads, each as likely as the others.
fn random_choice(this: &Thread, yields: bool) -> Option<u16> {
    let number = this.number.get();
    let stays = match SHARED.switch_one_in.get() {
        0 => raw::switch_one_in_after(SHARED.steps.get()),
        given => u64::from(given),
    };
    let goes_on = stays > 1 && !yields && takes_part(number);
    if goes_on && !random().is_multiple_of(stays) {
        return Some(number);
    }
    one_of(|other| takes_part(other) && !(yields && other == number))
        .or_else(|| one_of(takes_part))
        .or_else(|| one_of(|other| enabled(thread(other))))
}

/// One of the live threads that satisfy `fits`, each as likely as the others.
fn one_of(fits: impl Fn(u16) -> bool) -> Option<u16> {
    let fitting = || live_threads().iter().copied().filter(|&other| fits(other));
    match fitting().count() as u64 {
        0 => None,
        count => fitting().nth((random() % count) as usize),
    }
}

/// PCT: the enabled thread with the highest priority, after lowering the running one at change points.
fn highest_priority(this: &Thread, yields: Yields) -> Option<u16> {
    let step = SHARED.steps.get();
    for (i, point) in SHARED.change_points.iter().enumerate() {
        if i < SHARED.change_count.get() && point.get() == step {
            this.priority.set(pct::lowered(i));
        }
    }
    if yields.any() {
        lower(this, yields);
    }
    let live = || live_threads().iter().copied();
    let priority = |other: &u16| thread(*other).priority.get();
    let highest = live()
        .filter(|&other| takes_part(other))
        .max_by_key(priority);
    highest.or_else(|| {
        live()
            .filter(|&other| enabled(thread(other)))
            .max_by_key(priority)
    })
}

/// PCT: `this` lets the others go first.
fn lower(this: &Thread, yields: Yields) {
    let others = live_threads().iter().copied();
    let others = others.filter(|&other| other != this.number.get() && takes_part(other));
    let others = others.map(|other| (other, thread(other).priority.get()));
    let (raised, own) = SHARED.yielders.yielded(yields, this.priority.get(), others);
    if let Some((other, priority)) = raised {
        thread(other).priority.set(priority);
    }
    this.priority.set(own);
}

/// The priority of a new thread: random, above every change point's.
pub fn initial_priority() -> i64 {
    pct::drawn(random())
}

/// Draws PCT's change points: depth - 1 of the expected steps.
pub fn draw_change_points() {
    let header = header();
    let wanted = header.depth.saturating_sub(1) as usize;
    let count = wanted.min(SHARED.change_points.len());
    for point in SHARED.change_points.iter().take(count) {
        point.set(1 + random() % header.expected_steps.max(1));
    }
    SHARED.change_count.set(count);
    SHARED.yielders.draw(header.seed);
}

fn hand_over(this: &Thread, next: u16) {
    log::resolve(this);
    let ended = this.ended.get();
    pass_turn(next);
    if !ended {
        wait_for_turn(this);
    }
}

fn pass_turn(next: u16) {
    repeats::end_epoch();
    let switches = &header().switches;
    switches.store(switches.load(Relaxed) + 1, Relaxed);
    SHARED.current.set(next);
    header().current.store(u32::from(next), Relaxed);
    wake(&thread(next).turn);
}

/// Blocks until some thread hands over to this one.
pub fn wait_for_turn(this: &Thread) {
    while this.turn.swap(0, AcqRel) == 0 {
        sys::futex_wait(&this.turn);
    }
    core::sync::atomic::fence(Acquire);
}

fn wake(turn: &AtomicU32) {
    turn.store(1, Release);
    sys::futex_wake(turn);
}

/// Gives the turn to another thread while `this` is in the kernel. Returns `false` when no other thread can go on:
/// then `this` keeps the turn.
pub fn leave(this: &Thread) -> bool {
    unrecorded(this, || leave_now(this))
}

fn leave_now(this: &Thread) -> bool {
    let number = this.number.get();
    let next = match choices::follows() {
        true => Some(choices::next_followed()),
        false => another(this),
    };
    let next = next.filter(|&next| next != number);
    let next = next.filter(|&next| {
        let can = u32::from(next) < SHARED.thread_count.load(Relaxed) && can_follow(thread(next));
        if !can {
            choices::diverged();
        }
        can
    });
    let chosen = next.unwrap_or(number);
    choices::note(chosen, ChoiceKind::Thread, true, enabled_threads);
    if next.is_some() {
        SHARED.stretch.set(0);
        pass_turn(chosen);
    }
    next.is_some()
}

/// A thread to run instead of `this`, which cannot go on now; `None` when there is none.
fn another(this: &Thread) -> Option<u16> {
    loop {
        let next = by_strategy(this, Yields::Asks);
        if next.is_some() {
            return next;
        }
        let deadlines = live_threads()
            .iter()
            .map(|&other| thread(other).deadline.get());
        let next = deadlines.filter(|&deadline| deadline != 0).min();
        let timer = timers::next();
        timers::go_on_to(next.unwrap_or(timer).min(timer));
        // A timer's signal may be what `this` is about to wait for.
        let nobody = !live_threads().iter().any(|&other| enabled(thread(other)));
        if nobody && next.is_none_or(|next| timer < next) {
            return None;
        }
    }
}
