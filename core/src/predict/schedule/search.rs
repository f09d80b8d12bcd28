//! Search through all orders of the steps that matter to other threads, where the walk with held threads
//! found none.
//!
//! Depth first from the thread with the earliest row; no state is visited twice. The result is merged back to
//! an order close to the recorded one.

use super::{
    goal::{CandidateGoal, GoalEvent, GoalProgress, GoalShape},
    index::{NONE, RunIndex},
};
use rustc_hash::FxHashSet;
use unsnarl_order::{
    builder::{BaseOrder, OrderState},
    kernel::{Blocked, SyncEffect},
};

/// Bound on the states of one search.
pub(super) const STATES: usize = 20_000;

/// End of a search without an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// No order exists.
    Exhausted,
    /// There are more states than the bound.
    TooMany,
}

/// A step of a thread, and the thread that a signal wakes.
#[derive(Clone, Copy, Debug)]
struct Move {
    thread: u16,
    wakes: Option<u16>,
}

/// State of the search.
#[derive(Clone)]
struct SearchState<'a> {
    steps: OrderState,
    progress: GoalProgress<'a>,
}

/// Identity of a state.
type StateKey = (Vec<u32>, Vec<Vec<(u16, u32)>>, Vec<Vec<u16>>);

struct ScheduleSearch<'a> {
    index: &'a RunIndex<'a>,
    goal: &'a CandidateGoal,
    /// Rows from this one on are not executed.
    end: u32,
    seen: FxHashSet<StateKey>,
}

/// Searches the orders that begin with the run's rows before `from` and have none from `end` on.
pub(super) fn search(
    index: &RunIndex,
    goal: &CandidateGoal,
    (from, end): (u32, u32),
) -> Result<Vec<u32>, Ended> {
    let mut search = ScheduleSearch {
        index,
        goal,
        end,
        seen: FxHashSet::default(),
    };
    let mut start = SearchState {
        steps: OrderState::new(index),
        progress: GoalProgress::new(goal),
    };
    let prefix: Vec<u32> = (0..from).collect();
    prefix.iter().for_each(|&row| start.steps.step(index, row));
    let steps = search.find(start.clone())?;
    Ok(search.merge(start, prefix, &steps))
}

impl<'a> ScheduleSearch<'a> {
    /// Finds the steps that lead to the candidate.
    fn find(&mut self, mut start: SearchState<'a>) -> Result<Vec<u32>, Ended> {
        self.settle(&mut start);
        let moves = self.moves(&start);
        let mut stack = vec![(start, moves)];
        let mut steps: Vec<u32> = Vec::new();
        while let Some((state, moves)) = stack.last_mut() {
            if self.is_shown(state) {
                return Ok(steps);
            }
            let Some(next) = moves.pop() else {
                stack.pop();
                steps.pop();
                continue;
            };
            let mut state = state.clone();
            let Some(row) = state.steps.next_of(next.thread) else {
                continue;
            };
            self.go(&mut state, next, row);
            self.settle(&mut state);
            let OrderState { next, sync } = &state.steps;
            let key = (next.clone(), sorted(sync.waiting()), sorted(sync.woken()));
            if !self.seen.insert(key) {
                continue;
            }
            if self.seen.len() > STATES {
                return Err(Ended::TooMany);
            }
            steps.push(row);
            let moves = self.moves(&state);
            stack.push((state, moves));
        }
        Err(Ended::Exhausted)
    }

    /// Returns whether a row is a step of its own: others wait for it, or it is the candidate's.
    fn is_step(&self, thread: u16, row: u32) -> bool {
        let mut points = self.goal.points.iter();
        row >= self.end
            || self.index.op(row).is_some()
            || points.any(|point| point.thread == thread && point.gate <= row && row <= point.row)
    }

    /// Lets all threads execute rows that matter to no other thread.
    fn settle(&self, state: &mut SearchState) {
        for thread in 0..state.steps.next.len() as u16 {
            while let Some(row) = state.steps.next_of(thread)
                && !self.is_step(thread, row)
            {
                state.steps.step(self.index, row);
            }
        }
    }

    /// Possible moves, the best last.
    fn moves(&self, state: &SearchState) -> Vec<Move> {
        let threads = 0..state.steps.next.len() as u16;
        let mut able: Vec<(u32, u16)> = threads
            .filter_map(|thread| {
                let row = state.steps.next_of(thread)?;
                self.may(state, thread, row).then_some((row, thread))
            })
            .collect();
        able.sort_unstable_by(|a, b| b.cmp(a));
        let moves = able
            .into_iter()
            .flat_map(|(row, thread)| self.ways(state, thread, row));
        moves.collect()
    }

    fn may(&self, state: &SearchState, thread: u16, row: u32) -> bool {
        row < self.end
            && !state.progress.holds(thread, row)
            && state.steps.blocked(self.index, row).is_none()
    }

    /// The alternatives of a step: a signal can wake any of the waiting threads.
    fn ways(&self, state: &SearchState, thread: u16, row: u32) -> Vec<Move> {
        if let Some(op) = self.index.op(row)
            && op.effect == SyncEffect::Signal
        {
            let waiters: Vec<u16> = state.steps.sync.waiters(op.object).collect();
            if waiters.len() > 1 {
                let wakes = waiters.into_iter().map(Some);
                return wakes.map(|wakes| Move { thread, wakes }).collect();
            }
        }
        vec![Move {
            thread,
            wakes: None,
        }]
    }

    /// Executes the step and the rows that follow it without a decision.
    fn go(&self, state: &mut SearchState, next: Move, row: u32) {
        let waiting = next
            .wakes
            .and_then(|waiter| Some((waiter, self.index.op(row)?.object)));
        if let Some((waiter, condition)) = waiting {
            state.steps.sync.wake(condition as usize, waiter);
            state.steps.skip(self.index, row);
        } else {
            state.steps.step(self.index, row);
        }
        state.progress.note(row);
        while let Some(row) = state.steps.next_of(next.thread)
            && self.index.is_glued(row)
            && row < self.end
        {
            state.steps.step(self.index, row);
            state.progress.note(row);
        }
    }

    fn stands(&self, state: &SearchState, point: &GoalEvent) -> bool {
        let blocked = || state.steps.blocked(self.index, point.gate);
        state.steps.next_of(point.thread) == Some(point.gate)
            && match self.goal.shape {
                GoalShape::Stand => matches!(blocked(), None | Some(Blocked::Lock(_))),
                _ => blocked().is_none(),
            }
    }

    fn is_shown(&self, state: &SearchState) -> bool {
        state.progress.is_shown(|point| self.stands(state, point))
    }

    /// Merges the steps with all other rows, as close to the run as possible.
    fn merge(&self, start: SearchState, prefix: Vec<u32>, steps: &[u32]) -> Vec<u32> {
        let mut next = start.steps.next;
        let mut order = prefix;
        let mut steps = steps.iter().copied().peekable();
        loop {
            let rows = next.iter().enumerate().filter(|(_, row)| **row != NONE);
            let free = rows.filter(|&(thread, &row)| {
                !self.is_step(thread as u16, row) || steps.peek() == Some(&row)
            });
            let Some((thread, row)) = free.min_by_key(|(_, row)| **row).map(|(t, row)| (t, *row))
            else {
                break;
            };
            let is_step = steps.next_if_eq(&row).is_some();
            self.put(&mut order, &mut next, thread, row);
            while let Some(&row) = next.get(thread)
                && self.index.is_glued(row)
                && (is_step || !self.is_step(thread as u16, row))
            {
                self.put(&mut order, &mut next, thread, row);
            }
            if steps.peek().is_none() && self.goal.shape == GoalShape::Sequence {
                break;
            }
        }
        if self.goal.shape == GoalShape::Together {
            for point in &self.goal.points {
                let thread = usize::from(point.thread);
                while let Some(row) = next.get(thread).copied().filter(|row| *row <= point.row) {
                    self.put(&mut order, &mut next, thread, row);
                }
            }
        }
        order
    }

    fn put(&self, order: &mut Vec<u32>, next: &mut [u32], thread: usize, row: u32) {
        order.push(row);
        if let Some(next) = next.get_mut(thread) {
            *next = self.index.next(row);
        }
    }
}

fn sorted<T: Ord + Clone>(threads: &[Vec<T>]) -> Vec<Vec<T>> {
    let mut sorted = threads.to_vec();
    sorted
        .iter_mut()
        .for_each(|threads| threads.sort_unstable());
    sorted
}
