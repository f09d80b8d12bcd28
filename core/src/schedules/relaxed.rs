//! Could an order of effects have happened under total or partial store order? The checker of [`crate::dsp`] knows
//! program order only, so this one looks at the result of the engine by itself: it shares with it what the trace
//! says ([`Problem`]), not how an order is found.

use super::problem::{Group, NodeId, Problem, Section};
use crate::symbolic::{Action, Bug, ExprId, SymbolId, expr::Values};
use rustc_hash::FxHashMap;

/// Why the order cannot happen or does not end as wanted; `None` when it can. Linear but for pairs of sections of a
/// lock and of steps of a condition or semaphore.
pub(super) fn refusal(
    problem: &Problem,
    order: &[NodeId],
    inputs: &[(SymbolId, u128)],
    fails: bool,
) -> Option<String> {
    let mut place = vec![usize::MAX; problem.nodes.len()];
    for (at, &id) in order.iter().enumerate() {
        if let Some(place) = place.get_mut(id as usize) {
            *place = at;
        }
    }
    let place = |id: NodeId| place.get(id as usize).copied().unwrap_or(usize::MAX);
    if order.len() != problem.nodes.len() || place_is_missing(problem, &place) {
        return Some("it does not have every step once".into());
    }
    let in_chains = problem
        .chains
        .iter()
        .all(|chain| chain.is_sorted_by_key(|&id| place(id)));
    if !in_chains || problem.edges.iter().any(|&(a, b)| place(a) > place(b)) {
        return Some("steps that are ordered in every run come in another order".into());
    }
    if problem.locks.iter().any(|lock| overlap(&lock.all, &place)) {
        return Some("two threads hold a lock at once".into());
    }
    if !all_served(&problem.groups, &place) {
        return Some("a wait goes on without what it waits for".into());
    }
    values(problem, order, inputs, fails, &place)
}

fn place_is_missing(problem: &Problem, place: &impl Fn(NodeId) -> usize) -> bool {
    (0..problem.nodes.len() as u32).any(|id| place(id) == usize::MAX)
}

fn overlap(threads: &[Vec<Section>], place: &impl Fn(NodeId) -> usize) -> bool {
    let sections: Vec<&Section> = threads.iter().flatten().collect();
    sections.iter().enumerate().any(|(at, a)| {
        sections.iter().skip(at + 1).any(|b| {
            let excludes = a.thread != b.thread && !(a.is_shared && b.is_shared);
            let end = |section: &Section| section.to.map_or(usize::MAX, place);
            excludes && place(a.from) < end(b) && place(b.from) < end(a)
        })
    })
}

/// Each group has an option that holds, none of which is used twice.
fn all_served(groups: &[Group], place: &impl Fn(NodeId) -> usize) -> bool {
    let mut user: FxHashMap<u32, usize> = FxHashMap::default();
    (0..groups.len()).all(|group| serve(groups, group, place, &mut user, &mut Vec::new()))
}

fn serve(
    groups: &[Group],
    at: usize,
    place: &impl Fn(NodeId) -> usize,
    user: &mut FxHashMap<u32, usize>,
    tried: &mut Vec<u32>,
) -> bool {
    let options = groups.get(at).map_or(&[][..], |group| &group.options);
    options.iter().any(|(orders, uses)| {
        let holds = orders.iter().all(|&(a, b)| place(a) < place(b));
        match uses {
            _ if !holds => false,
            None => true,
            Some(uses) if tried.contains(uses) => false,
            Some(uses) => {
                tried.push(*uses);
                let other = user.get(uses).copied();
                let is_free = other.is_none_or(|other| serve(groups, other, place, user, tried));
                if is_free {
                    user.insert(*uses, at);
                }
                is_free
            }
        }
    })
}

fn values(
    problem: &Problem,
    order: &[NodeId],
    inputs: &[(SymbolId, u128)],
    fails: bool,
    place: &impl Fn(NodeId) -> usize,
) -> Option<String> {
    let trace = problem.trace;
    let mut symbols: FxHashMap<SymbolId, u128> = inputs.iter().copied().collect();
    let mut memory = problem.initial.clone();
    let mut known = Values::new();
    let mut failed = None;
    for (id, action) in order.iter().flat_map(|&node| problem.actions(node)) {
        let value = |of: ExprId, known: &mut Values, symbols: &FxHashMap<SymbolId, u128>| {
            let symbol = |id: SymbolId| match problem.reads.contains_key(&id) {
                true => symbols.get(&id).copied(),
                false => symbols
                    .get(&id)
                    .copied()
                    .or_else(|| trace.symbol(id)?.recorded),
            };
            trace.exprs.value(of, known, &symbol)
        };
        match action {
            Action::Read { cell, symbol } => {
                symbols.extend(
                    memory
                        .get(cell.index())
                        .copied()
                        .flatten()
                        .map(|value| (symbol, value)),
                );
            }
            Action::Write { cell, value: of } => {
                let written = value(of, &mut known, &symbols);
                if let Some(content) = memory.get_mut(cell.index()) {
                    *content = written;
                }
            }
            Action::Assume(condition) => {
                let holds = value(condition, &mut known, &symbols);
                match trace.bug {
                    Bug::Condition { step, condition } if step == id => {
                        failed = value(condition, &mut known, &symbols).map(|value| value == 1);
                    }
                    _ if holds == Some(1) => {}
                    _ => return Some("a thread takes another path".into()),
                }
            }
            Action::Sync { .. } | Action::Release { .. } => {}
        }
    }
    if let Bug::AfterFree { step, freed } = trace.bug {
        let [step, freed] = [step, freed].map(|id| problem.node_of(id).map(place));
        failed = Some(freed < step);
    }
    match failed == Some(fails) {
        true => None,
        false => Some("it does not end as wanted".into()),
    }
}
