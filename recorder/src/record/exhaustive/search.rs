//! Depth-first search over schedules with a bound on preemptions and partial-order reduction.
//!
//! A schedule is explored by following a prefix and then going on without preemption. From what the
//! run did, the points are derived at which another thread has to be tried: for every two dependent
//! steps of different threads that could have come in the other order, whoever begins what the later one
//! needs, before the earlier step (Flanagan and Godefroid, *Dynamic partial-order reduction for model
//! checking software*, POPL 2005; Abdulla, Aronis, Jonsson and Sagonas, *Optimal dynamic partial order
//! reduction*, POPL 2014). With a bound that alone would miss orders, since the reversed one may cost a
//! preemption more at that point: so the thread is also tried where the stretch of the earlier step's
//! thread began, where a change of thread is already paid for (Coons, Musuvathi and McKinley, *Bounded
//! partial-order reduction*, OOPSLA 2013). What explored options have shown is passed over
//! ([`super::sleep`]); since the runs that are not made for it could have asked for others, all others
//! are tried there.
//!
//! That nothing is missed is not proven but tested, on random programs. Of 150,000 with three threads of
//! up to six steps, one order of one was missed, which needs three preemptions.

use super::{
    path::{ExecutedPath, PathChoice, PathChoiceKind, bit, options},
    races,
    sleep::{Explored, covers},
};
use serde::{Deserialize, Serialize};

/// A choice on the path that is being explored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExploredChoice {
    /// The choice as it was met, with the option that is being explored.
    pub choice: PathChoice,
    /// Options to explore, the explored ones included.
    pub wanted: u64,
    /// Options explored or being explored, and those that are covered by explored ones.
    pub begun: u64,
    /// Explored options with their first steps, for [`super::sleep`].
    pub explored: Vec<Explored>,
    /// Cost of the choices before.
    pub spent: u32,
    /// Number of schedules that had been explored when the turn came to this option; `None` for the option that the
    /// run before took by itself.
    pub since: Option<u64>,
}

impl ExploredChoice {
    pub(super) fn cost_of(&self, option: u16) -> u32 {
        self.spent + self.choice.cost(option)
    }

    /// Options within the bound.
    pub(super) fn affordable(&self, bound: u32) -> u64 {
        options(self.wanted)
            .filter(|&option| self.cost_of(option) <= bound)
            .fold(0, |bits, option| bits | bit(option))
    }

    /// The next option to explore: cheap ones first.
    fn next(&self, bound: u32) -> Option<u16> {
        options(self.affordable(bound) & !self.begun).min_by_key(|&option| self.cost_of(option))
    }
}

/// The search within one bound.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BoundedSearch {
    /// Upper bound for the preemptions.
    pub bound: u32,
    /// The path that is explored next: its choices are the prefix to follow.
    pub nodes: Vec<ExploredChoice>,
    /// Number of the first choices that are not to be changed.
    #[serde(default)]
    pub fixed: usize,
    /// Number of schedules that were explored.
    pub explored: u64,
    /// Number of options that were explored to the end and of schedules that these took, for each number of remaining
    /// preemptions: the basis of the estimate for the other options.
    pub sizes: Vec<(u64, u64)>,
    /// `true` if something was left out because of the bound.
    pub is_cut: bool,
    /// Schedules whose prefix the program did not follow: it does not repeat.
    pub strayed: u64,
    /// `true` if nothing is left.
    pub is_done: bool,
}

impl BoundedSearch {
    /// Begins a search.
    pub fn new(bound: u32) -> BoundedSearch {
        BoundedSearch {
            bound,
            ..BoundedSearch::default()
        }
    }

    /// Goes on with the schedules that begin with these choices.
    pub fn begin_at(&mut self, nodes: Vec<ExploredChoice>) {
        self.fixed = nodes.len();
        self.nodes = nodes;
        self.is_done = false;
    }

    /// The choices of the run that followed the prefix, up to where it shows nothing new; `None` if it strayed. The
    /// schedule counts if it `is_own`, and nothing else is tried.
    pub fn whole_path(&mut self, path: &ExecutedPath, is_own: bool) -> Option<Vec<ExploredChoice>> {
        self.explored += u64::from(is_own);
        self.is_done = true;
        if !self.follows(path) {
            self.strayed += 1;
            return None;
        }
        let known = self.nodes.len();
        self.extend(path);
        self.cut_covered(path, known);
        Some(std::mem::take(&mut self.nodes))
    }

    /// The choices to follow in the next run.
    pub fn prefix(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.choice.chosen).collect()
    }

    /// Cost of the next run.
    fn spent(&self) -> u32 {
        self.nodes
            .last()
            .map_or(0, |node| node.cost_of(node.choice.chosen))
    }

    /// Learns from the run that followed the prefix, and turns to the next one.
    pub fn learn(&mut self, path: &ExecutedPath) {
        self.explored += 1;
        if self.follows(path) {
            let known = self.nodes.len();
            self.extend(path);
            self.cut_covered(path, known);
            races::of(path).for_each(|(step, thread)| self.want(path, step, thread));
            self.advance(path);
        } else {
            self.strayed += 1;
            self.advance(&ExecutedPath::default());
        }
    }

    /// Skips the prefix: its run left nothing to learn from.
    pub fn skip(&mut self) {
        self.explored += 1;
        self.strayed += 1;
        self.advance(&ExecutedPath::default());
    }

    fn follows(&self, path: &ExecutedPath) -> bool {
        path.choices.len() >= self.nodes.len()
            && self
                .nodes
                .iter()
                .zip(&path.choices)
                .all(|(node, met)| node.choice == *met)
    }

    /// Adds the choices that the run made by itself.
    fn extend(&mut self, path: &ExecutedPath) {
        let mut spent = self.spent();
        for &choice in path.choices.iter().skip(self.nodes.len()) {
            let wanted = match choice.kind {
                PathChoiceKind::Thread => bit(choice.chosen),
                PathChoiceKind::Waiter | PathChoiceKind::Outcome | PathChoiceKind::Value => {
                    choice.candidates
                }
            };
            self.nodes.push(ExploredChoice {
                choice,
                wanted,
                begun: bit(choice.chosen),
                explored: Vec::new(),
                spent,
                since: None,
            });
            spent += choice.cost(choice.chosen);
        }
    }

    /// Cuts the path at options of the run's own choice that are covered. Then nothing that comes after is new, and
    /// options that are not covered there have to be asked for: no run comes to them by itself.
    fn cut_covered(&mut self, path: &ExecutedPath, known: usize) {
        let covered = (known..self.nodes.len()).find_map(|last| {
            let nodes = self.nodes.get(..=last)?;
            let began = covers(nodes, path, nodes.last()?.choice.chosen)?;
            Some((began, last))
        });
        if let Some((began, last)) = covered {
            self.nodes.truncate(last + 1);
            self.want_all(began);
            self.want_all(last);
        }
    }

    /// Asks for all options at a node: the part that was passed over there could have asked for any other thread.
    fn want_all(&mut self, at: usize) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.wanted |= node.choice.candidates;
        }
    }

    /// Asks for `thread` before this step, and at the beginning of the stretch that the step belongs to.
    fn want(&mut self, path: &ExecutedPath, step: usize, thread: u16) {
        self.want_at(path, step, thread);
        if let Some(first) = stretch_of(path, step) {
            self.want_at(path, first, thread);
        }
    }

    fn want_at(&mut self, path: &ExecutedPath, step: usize, thread: u16) {
        let Some(step) = path.steps.get(step) else {
            return;
        };
        let Some(node) = self.nodes.get_mut(step.choice) else {
            return;
        };
        let choice = node.choice;
        // A thread that cannot go on there is made able to by one that can.
        let able = choice.candidates & bit(thread);
        node.wanted |= if able != 0 { able } else { choice.candidates };
        // One that has given way could go on there at a price that the explored one did not have. It
        // may have been possible to come there without: by another order of the free changes before.
        if choice.gives_way && thread == choice.running && step.thread != thread {
            self.want_all_free_until(step.choice);
        }
    }

    fn want_all_free_until(&mut self, last: usize) {
        for node in self.nodes.iter_mut().take(last + 1) {
            let choice = node.choice;
            if choice.kind == PathChoiceKind::Thread {
                node.wanted |= options(choice.candidates)
                    .filter(|&option| choice.cost(option) <= choice.cost(choice.chosen))
                    .fold(0, |bits, option| bits | bit(option));
            }
        }
    }

    /// Goes on to the next prefix within the bound; `path` is that of the last run, as far as it is known.
    fn advance(&mut self, path: &ExecutedPath) {
        while self.nodes.len() > self.fixed {
            let last = self.nodes.len() - 1;
            let Some(node) = self.nodes.last_mut() else {
                break;
            };
            if let Some(since) = node.since.take() {
                let left = self.bound - node.cost_of(node.choice.chosen).min(self.bound);
                note_size(&mut self.sizes, left, self.explored - since);
            }
            if node.choice.kind == PathChoiceKind::Thread && node.wanted & !node.begun != 0 {
                node.explored.extend(Explored::of(path, last));
            }
            while let Some(option) = self.nodes.last().and_then(|node| node.next(self.bound)) {
                let covered = covers(&self.nodes, path, option);
                let explored = self.explored;
                let Some(node) = self.nodes.last_mut() else {
                    break;
                };
                node.begun |= bit(option);
                let Some(began) = covered else {
                    node.choice.chosen = option;
                    node.since = Some(explored);
                    return;
                };
                self.want_all(began);
                self.want_all(last);
            }
            self.is_cut |= self
                .nodes
                .pop()
                .is_some_and(|node| node.wanted & !node.begun != 0);
        }
        self.is_done = true;
    }
}

fn note_size(sizes: &mut Vec<(u64, u64)>, left: u32, schedules: u64) {
    let index = left as usize;
    if sizes.len() <= index {
        sizes.resize(index + 1, (0, 0));
    }
    if let Some((options, all)) = sizes.get_mut(index) {
        *options += 1;
        *all += schedules;
    }
}

/// The first step of the stretch in which one thread ran that this step belongs to.
fn stretch_of(path: &ExecutedPath, step: usize) -> Option<usize> {
    let steps = path.steps.get(..=step)?;
    let thread = steps.last()?.thread;
    steps
        .iter()
        .rposition(|step| step.thread != thread)
        .map_or(Some(0), |other| Some(other + 1))
}
