//! Builder of orders: follows a base order, and lets the steps that a guide holds back, or that have to wait
//! for others, come as soon as they can.
//!
//! At each moment, the possible step that is the earliest in the base order is taken, so an order differs from
//! the base only as far as it has to. All makers of orders share the state of threads and objects
//! ([`OrderState`]); whatever else a step changes rides along with the [`Guide`].

use crate::{
    NONE,
    kernel::{Blocked, SyncState, Transitions},
};
use std::ops::Range;

/// Steps of several threads with an order to start from.
pub trait BaseOrder {
    /// Effects of steps on synchronization objects.
    fn transitions(&self) -> &Transitions;

    /// First step of each thread, [`NONE`] for a thread without steps.
    fn first(&self) -> Vec<u32>;

    /// Thread of the step.
    fn thread(&self, step: u32) -> u16;

    /// The thread's next step, or [`NONE`].
    fn next(&self, step: u32) -> u32;

    /// The step at this place of the order.
    fn at(&self, place: u32) -> Option<u32>;

    /// Place of the step in the order.
    fn place(&self, step: u32) -> u32;

    /// Returns whether the step cannot be separated from its thread's step before.
    fn is_glued(&self, _step: u32) -> bool {
        false
    }
}

/// State of threads and objects within an order.
#[derive(Clone, Debug)]
pub struct OrderState {
    /// The next step of each thread, or [`NONE`].
    pub next: Vec<u32>,
    /// The objects.
    pub sync: SyncState,
}

impl OrderState {
    /// The state before the first step.
    pub fn new(base: &impl BaseOrder) -> OrderState {
        OrderState {
            next: base.first(),
            sync: SyncState::new(base.transitions()),
        }
    }

    /// The thread's next step; none when it has finished.
    pub fn next_of(&self, thread: u16) -> Option<u32> {
        let next = self.next.get(usize::from(thread)).copied();
        next.filter(|step| *step != NONE)
    }

    /// Returns whether the step has come.
    pub fn has(&self, base: &impl BaseOrder, step: u32) -> bool {
        let next = self.next.get(usize::from(base.thread(step)));
        next.is_some_and(|next| *next > step)
    }

    /// Reason why the step has to wait now.
    pub fn blocked(&self, base: &impl BaseOrder, step: u32) -> Option<Blocked> {
        let done = |step| self.has(base, step);
        let thread = base.thread(step);
        self.sync.blocked(base.transitions(), step, thread, done)
    }

    /// Takes the step.
    pub fn step(&mut self, base: &impl BaseOrder, step: u32) {
        self.skip(base, step);
        self.sync.apply(base.transitions(), step, base.thread(step));
    }

    /// Passes the step without its effects on others.
    pub fn skip(&mut self, base: &impl BaseOrder, step: u32) {
        if let Some(next) = self.next.get_mut(usize::from(base.thread(step))) {
            *next = base.next(step);
        }
    }
}

/// Result of offering a step to a [`Guide`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// The step comes, and matters to no other thread but by its transition.
    Taken,
    /// The step comes, and may end what holds other threads back.
    Releases,
    /// The thread takes another path here: neither the step nor what follows comes.
    Refused,
}

/// Control over an order that is built, with what rides along.
pub trait Guide<B: BaseOrder> {
    /// Returns whether the thread is held back before this step, its next.
    fn holds(&self, thread: u16, step: u32) -> bool;

    /// Returns whether the thread comes to a step in spite of this reason to wait, only to leave its path.
    fn departs(&self, _blocked: Blocked) -> bool {
        false
    }

    /// Called for a step that is possible, before it changes the state.
    fn offer(&mut self, base: &B, state: &OrderState, step: u32) -> Offer;

    /// Called when a thread stays behind the base order at this step.
    fn lags(&mut self, _base: &B, _state: &OrderState, _step: u32) {}

    /// Returns whether the order is finished.
    fn is_done(&self, base: &B, state: &OrderState) -> bool;
}

/// An order that is built.
#[derive(Debug)]
pub struct OrderBuilder<'b, B> {
    base: &'b B,
    /// The state after the steps so far.
    pub state: OrderState,
    /// Threads that lag behind the base order.
    behind: Vec<u16>,
    /// The steps so far.
    pub order: Vec<u32>,
}

impl<'b, B: BaseOrder> OrderBuilder<'b, B> {
    /// Begins an order in this state.
    pub fn new(base: &'b B, state: OrderState) -> OrderBuilder<'b, B> {
        OrderBuilder {
            base,
            state,
            behind: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Goes through these places of the base order.
    pub fn scan(&mut self, guide: &mut impl Guide<B>, places: Range<u32>) {
        for place in places {
            let Some(step) = self.base.at(place) else {
                return;
            };
            let thread = self.base.thread(step);
            if self.state.next.get(usize::from(thread)) != Some(&step) {
                continue;
            }
            if !self.may(guide, thread, step) {
                self.behind.push(thread);
                guide.lags(self.base, &self.state, step);
            } else if self.go(guide, step) {
                self.catch_up(guide, place + 1);
            }
            if guide.is_done(self.base, &self.state) {
                return;
            }
        }
    }

    /// Lets lagging threads go on up to a place of the base order, the earliest step first.
    pub fn catch_up(&mut self, guide: &mut impl Guide<B>, upto: u32) {
        while !guide.is_done(self.base, &self.state)
            && let Some((_, thread, step)) = self.earliest(guide, upto)
        {
            self.go(guide, step);
            // Plain steps do not affect other threads: continue to the next step of one of them.
            let others = self.behind.iter().filter(|other| **other != thread);
            let others = others.filter_map(|other| self.place_of(*other));
            let until = others.min().unwrap_or(NONE).min(upto);
            while let Some(step) = self.next_before(thread, until)
                && self.base.transitions().get(step).is_none()
                && self.may(guide, thread, step)
                && !guide.is_done(self.base, &self.state)
            {
                self.go(guide, step);
            }
            if let Some(step) = self.next_before(thread, upto) {
                guide.lags(self.base, &self.state, step);
            }
        }
        let mut behind = std::mem::take(&mut self.behind);
        behind.retain(|thread| self.next_before(*thread, upto).is_some());
        self.behind = behind;
    }

    /// Looks at a thread again when others catch up.
    pub fn let_go(&mut self, thread: u16) {
        if !self.behind.contains(&thread) {
            self.behind.push(thread);
        }
    }

    /// Takes a step that comes whatever the guide says.
    pub fn push(&mut self, step: u32) {
        self.order.push(step);
        self.state.step(self.base, step);
    }

    /// The earliest possible step of the lagging threads, with its place and thread.
    fn earliest(&self, guide: &impl Guide<B>, upto: u32) -> Option<(u32, u16, u32)> {
        let steps = self.behind.iter().filter_map(|&thread| {
            let step = self.next_before(thread, upto)?;
            let place = self.base.place(step);
            self.may(guide, thread, step)
                .then_some((place, thread, step))
        });
        steps.min()
    }

    fn place_of(&self, thread: u16) -> Option<u32> {
        let step = self.state.next_of(thread)?;
        Some(self.base.place(step))
    }

    /// The thread's next step if it comes before a place.
    fn next_before(&self, thread: u16, place: u32) -> Option<u32> {
        let step = self.state.next_of(thread)?;
        (self.base.place(step) < place).then_some(step)
    }

    fn may(&self, guide: &impl Guide<B>, thread: u16, step: u32) -> bool {
        let blocked = || self.state.blocked(self.base, step);
        !guide.holds(thread, step) && blocked().is_none_or(|blocked| guide.departs(blocked))
    }

    /// Takes a step and those that are glued to it; `true` when that may let others go on.
    fn go(&mut self, guide: &mut impl Guide<B>, mut step: u32) -> bool {
        let mut matters = false;
        loop {
            match guide.offer(self.base, &self.state, step) {
                Offer::Refused => break,
                offer => matters |= offer == Offer::Releases,
            }
            matters |= self.base.transitions().get(step).is_some();
            self.push(step);
            step = self.base.next(step);
            let is_glued = step != NONE && self.base.is_glued(step);
            if !is_glued || guide.is_done(self.base, &self.state) {
                break;
            }
        }
        matters && !self.behind.is_empty()
    }
}
