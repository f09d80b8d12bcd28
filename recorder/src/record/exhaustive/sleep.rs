//! Options that need not be explored because an explored one leads to the same orders at no higher cost.
//!
//! A sleep set (Godefroid, *Partial-Order Methods for the Verification of Concurrent Systems*, 1996)
//! holds what was explored at a state: after steps that do not depend on it, doing it now gives what
//! doing it then gave. With a bound on preemptions that alone would lose orders, since doing it then may
//! cost more than doing it now (Coons, Musuvathi and McKinley, *Bounded partial-order reduction*, OOPSLA
//! 2013). So both are paid for here, with the thread that runs last in either, and an option is passed
//! over only where the explored order is no dearer, whatever comes after.
//!
//! Written `s w p z`: at `s` the thread `p` was explored to the end, now the steps `w` come first; then
//! `p` goes on, for one step or more, and after it `z`. In its place stands `s p w z`.

use super::{
    path::{ExecutedPath, NoticedEffect, PathChoice, PathChoiceKind, SyncOperation, bit},
    races::{Manner, Thing, parts},
    search::ExploredChoice,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Bound for the number of different deeds in one step; with more of them nothing sleeps.
const MOST_DEEDS: usize = 10_000;

/// A thread that was explored to the end at a choice, with its first step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explored {
    thread: u16,
    deeds: Vec<NoticedEffect>,
    after: After,
}

/// The state of a thread after its steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum After {
    GoesOn,
    GivesWay,
    /// The thread waits, or has ended.
    Stands,
}

impl After {
    fn of(next: &PathChoice) -> After {
        match next {
            _ if next.candidates & bit(next.running) == 0 => After::Stands,
            _ if next.gives_way => After::GivesWay,
            _ => After::GoesOn,
        }
    }

    /// Cost of leaving the thread.
    fn price(self) -> u32 {
        u32::from(self == After::GoesOn)
    }
}

impl Explored {
    /// The first step after this choice, if its deeds depend on nothing else and the run went on after it.
    pub fn of(path: &ExecutedPath, choice: usize) -> Option<Explored> {
        let step = step_at(path, choice)?;
        let step = path.steps.get(step)?;
        let next = path.choices.get(choice + 1)?;
        let mut deeds = step.deeds.clone();
        deeds.sort_unstable();
        deeds.dedup();
        (next.kind == PathChoiceKind::Thread && deeds.len() <= MOST_DEEDS).then(|| Explored {
            thread: step.thread,
            deeds,
            after: After::of(next),
        })
    }
}

/// The step that begins with this choice.
fn step_at(path: &ExecutedPath, choice: usize) -> Option<usize> {
    path.steps
        .binary_search_by_key(&choice, |step| step.choice)
        .ok()
}

/// Returns whether choosing `option` at the last of these nodes can be passed over; if so, the index of the node at
/// which `p` began.
pub fn covers(nodes: &[ExploredChoice], path: &ExecutedPath, option: u16) -> Option<usize> {
    let (node, before) = nodes.split_last()?;
    if node.choice.kind != PathChoiceKind::Thread {
        return None;
    }
    let step = step_at(path, before.len())?;
    if begins_anew(node, before, path, step, option) {
        return Some(before.len());
    }
    ends(node, before, path, step, option)
}

/// Returns whether `option` is `p`, which has not gone on yet.
fn begins_anew(
    node: &ExploredChoice,
    before: &[ExploredChoice],
    path: &ExecutedPath,
    step: usize,
    option: u16,
) -> bool {
    let mut between = StepsBetween::new(node);
    for step in path.steps.get(..step).unwrap_or_default().iter().rev() {
        let Some(then) = before.get(step.choice) else {
            return false;
        };
        if step.thread == option {
            return false;
        }
        between.add(then, &step.deeds);
        let explored = then.explored.iter().find(|it| it.thread == option);
        let Some(explored) = explored.filter(|_| then.choice.chosen != option) else {
            continue;
        };
        let late = Late {
            deeds: &Deeds::of(&explored.deeds),
            after: explored.after,
            price: node.choice.cost(option),
            is_after: false,
        };
        if !between.is_independent(&late) {
            return false;
        }
        if between.any_follows(then, &late, option) {
            return true;
        }
    }
    false
}

/// Handles an `option` that is `z`, where the thread that is to be left for it is `p`; returns the node at which that
/// began.
fn ends(
    node: &ExploredChoice,
    before: &[ExploredChoice],
    path: &ExecutedPath,
    step: usize,
    option: u16,
) -> Option<usize> {
    let thread = node.choice.running;
    if thread == option {
        return None;
    }
    let steps = path.steps.get(..step)?;
    let last = steps.iter().rposition(|step| step.thread != thread)?;
    let (earlier, stretch) = steps.split_at_checked(last + 1)?;
    let began = stretch.first()?.choice;
    let deeds = Deeds::of(stretch.iter().flat_map(|step| &step.deeds));
    let first = before.get(began)?;
    let late = Late {
        deeds: &deeds,
        after: After::of(&node.choice),
        price: first.choice.cost(thread),
        is_after: true,
    };
    let mut between = StepsBetween::new(first);
    for step in earlier
        .iter()
        .rev()
        .take_while(|step| step.thread != thread)
    {
        let then = before.get(step.choice)?;
        between.add(then, &step.deeds);
        if !between.is_independent(&late) {
            return None;
        }
        let is_explored = then.begun & bit(thread) != 0 && then.choice.chosen != thread;
        if is_explored && between.follows(then, &late, option, node.choice.cost(option)) {
            return Some(began);
        }
    }
    None
}

/// The steps of `p`.
struct Late<'a> {
    deeds: &'a Deeds,
    after: After,
    /// Cost of going on with `p` after `w`.
    price: u32,
    /// `true` if they are known from after `w`, not from before.
    is_after: bool,
}

/// The steps `w`, the last one first.
struct StepsBetween<'a> {
    /// The choice after them, which is `p`.
    next: &'a ExploredChoice,
    /// Steps that were not compared with `p` yet.
    new: Vec<&'a [NoticedEffect]>,
    /// `true` if one of their threads could not go on when it was left.
    stands: bool,
    /// `true` if one of them may have let another thread go on.
    enables: bool,
    /// `true` if one of them used a synchronization object.
    syncs: bool,
    /// Cost of the changes of thread among them.
    price: u32,
    /// The choice that was added last.
    first: Option<&'a ExploredChoice>,
}

impl<'a> StepsBetween<'a> {
    fn new(next: &'a ExploredChoice) -> StepsBetween<'a> {
        StepsBetween {
            next,
            new: Vec::new(),
            stands: After::of(&next.choice) == After::Stands,
            enables: false,
            syncs: false,
            price: 0,
            first: None,
        }
    }

    fn add(&mut self, node: &'a ExploredChoice, deeds: &'a [NoticedEffect]) {
        if let Some(later) = self.first.replace(node) {
            self.stands |= After::of(&later.choice) == After::Stands;
            self.price += later.choice.cost(later.choice.chosen);
        }
        self.syncs |= deeds
            .iter()
            .any(|deed| matches!(deed, NoticedEffect::Sync { .. }));
        self.enables |= deeds.iter().any(enables);
        self.new.push(deeds);
    }

    /// Returns whether nothing of `w` depends on `p`, not even in which threads can go on.
    fn is_independent(&mut self, late: &Late<'_>) -> bool {
        let stands = late.after == After::Stands;
        if self.stands && (late.deeds.enable || stands) || self.enables && stands {
            return false;
        }
        // What `p` waits for may be what `w` took.
        if late.is_after && stands && self.syncs {
            return false;
        }
        let mut new = self.new.drain(..).flatten();
        new.all(|deed| !late.deeds.depend_on(deed))
    }

    /// Cost that `s p w` saves compared with `s w p`; negative when it costs more.
    fn saved(&self, then: &ExploredChoice, late: &Late<'_>, thread: u16) -> i64 {
        let choice = &then.choice;
        let explored = choice.cost(thread) + late.after.price() + self.price;
        let now = choice.cost(choice.chosen) + self.price + late.price;
        i64::from(now) - i64::from(explored)
    }

    /// Cost of going on with `next` after `s p w`.
    fn price_of(&self, next: u16) -> i64 {
        let choice = &self.next.choice;
        let price = match After::of(choice) {
            After::GoesOn => choice.running != next,
            After::GivesWay => choice.running == next,
            After::Stands => false,
        };
        i64::from(price)
    }

    /// Returns whether `s p w z` costs no more than `s w p z`.
    fn follows(&self, then: &ExploredChoice, late: &Late<'_>, next: u16, price: u32) -> bool {
        let thread = self.next.choice.chosen;
        self.price_of(next) <= self.saved(then, late, thread) + i64::from(price)
    }

    /// Returns the same for all possible continuations, `thread` itself included.
    fn any_follows(&self, then: &ExploredChoice, late: &Late<'_>, thread: u16) -> bool {
        let saved = self.saved(then, late, thread);
        let last = self.next.choice.running;
        let leaving = i64::from(late.after.price());
        // A thread other than the two stands for all of them.
        let another = (0..3).find(|it| *it != thread && *it != last).unwrap_or(0);
        self.price_of(thread) <= saved
            && self.price_of(last) <= saved + leaving
            && self.price_of(another) <= saved + leaving
    }
}

/// Deeds of steps, by their objects.
struct Deeds {
    all: FxHashMap<Thing, Vec<Manner>>,
    /// `true` if they may let another thread go on.
    enable: bool,
}

impl Deeds {
    fn of<'a>(deeds: impl IntoIterator<Item = &'a NoticedEffect>) -> Deeds {
        let mut all: FxHashMap<Thing, Vec<Manner>> = FxHashMap::default();
        let mut enable = false;
        for deed in deeds {
            enable |= enables(deed);
            if let Some((thing, manner)) = parts(deed) {
                let manners = all.entry(thing).or_default();
                if !manners.contains(&manner) {
                    manners.push(manner);
                }
            }
        }
        Deeds { all, enable }
    }

    fn depend_on(&self, deed: &NoticedEffect) -> bool {
        parts(deed).is_some_and(|(thing, manner)| {
            let manners = self.all.get(&thing).map_or(&[][..], Vec::as_slice);
            manners.iter().any(|mine| mine.depends_on(manner))
        })
    }
}

fn enables(deed: &NoticedEffect) -> bool {
    use SyncOperation::{Lock, SharedLock};
    match deed {
        NoticedEffect::Memory { .. } | NoticedEffect::Follows(_) => false,
        NoticedEffect::Sync { operation, .. } => !matches!(operation, Lock | SharedLock),
        NoticedEffect::Enables(_) => true,
    }
}
