//! Phi_sync ([symbiosis], section 3.3): forks and joins, locks, condition variables, semaphores, barriers,
//! once-only initializations.
//!
//! The rules are those of the checker ([`crate::dsp::check()`]), and open points are resolved in the same
//! way.

use super::problem::{Group, LockedNodes, OrderingProblem, SectionsOfLock, StepsId};
use crate::Action;
use std::collections::BTreeMap;
use unsnarl_trace::{LocationId, ThreadId, kinds::EventRole};

/// Adds the constraints of synchronization. Linear in the trace except for the pairs of steps on one object
/// that the solver chooses from.
pub(super) fn constrain(problem: &mut OrderingProblem) {
    let mut steps: BTreeMap<LocationId, Vec<(StepsId, EventRole)>> = BTreeMap::new();
    for id in 0..problem.nodes.len() as u32 {
        let Some((kind, object, value)) = problem.sync(id) else {
            continue;
        };
        match kind.role() {
            EventRole::Fork => fork(problem, id, value),
            EventRole::Join => join(problem, id, value),
            role => steps.entry(object).or_default().push((id, role)),
        }
    }
    locks(problem);
    waits(problem, &steps);
    let mut units = 0;
    for steps in steps.values() {
        gate(problem, steps);
        meeting(problem, steps);
        semaphore(problem, steps, &mut units);
    }
}

fn thread(value: u64) -> ThreadId {
    ThreadId(u16::try_from(value).unwrap_or(u16::MAX))
}

/// The chains of a thread.
fn chains(problem: &OrderingProblem, thread: ThreadId) -> Vec<Vec<StepsId>> {
    let of_thread =
        |chain: &&Vec<StepsId>| chain.first().and_then(|&id| problem.thread(id)) == Some(thread);
    problem.chains.iter().filter(of_thread).cloned().collect()
}

fn fork(problem: &mut OrderingProblem, id: StepsId, value: u64) {
    for chain in chains(problem, thread(value)) {
        problem
            .edges
            .extend(chain.first().map(|&first| (id, first)));
    }
}

/// Adds a join. Locks that the joined thread still held are released for it; nothing waits for that.
fn join(problem: &mut OrderingProblem, id: StepsId, value: u64) {
    for chain in chains(problem, thread(value)) {
        let own = |&&node: &&StepsId| {
            let mut actions = problem.actions(node);
            !actions.any(|(_, action)| matches!(action, Action::Release { .. }))
        };
        let last = chain.iter().rev().find(own).copied();
        problem.edges.extend(last.map(|last| (last, id)));
    }
}

/// Orders what opens a gate before all that pass it.
fn gate(problem: &mut OrderingProblem, steps: &[(StepsId, EventRole)]) {
    let of_role = |wanted: EventRole| steps.iter().filter(move |(_, role)| *role == wanted);
    for &(open, _) in of_role(EventRole::Open) {
        let passes = of_role(EventRole::Pass);
        problem.edges.extend(passes.map(|&(pass, _)| (open, pass)));
    }
}

/// Acquisitions of a lock that a thread holds at its current step.
#[derive(Default)]
struct Depth {
    exclusive: (u32, StepsId),
    shared: (u32, StepsId),
}

fn locks(problem: &mut OrderingProblem) {
    let mut sections: BTreeMap<LocationId, Vec<LockedNodes>> = BTreeMap::new();
    let mut odd: BTreeMap<LocationId, ()> = BTreeMap::new();
    let mut uses: BTreeMap<LocationId, Vec<StepsId>> = BTreeMap::new();
    let mut attempts = Vec::new();
    let mut held: BTreeMap<(ThreadId, LocationId), Depth> = BTreeMap::new();
    for id in 0..problem.nodes.len() as u32 {
        let Some((object, change)) = change(problem, id) else {
            continue;
        };
        let thread = problem.thread(id).unwrap_or_default();
        if let SyncChange::Attempt = change {
            attempts.push((id, object));
            continue;
        }
        uses.entry(object).or_default().push(id);
        let depth = held.entry((thread, object)).or_default();
        match step(depth, id, change) {
            Ok(Some((from, is_shared))) => sections.entry(object).or_default().push(LockedNodes {
                thread,
                from,
                to: Some(id),
                is_shared,
            }),
            Ok(None) => {}
            Err(()) => {
                odd.insert(object, ());
            }
        }
    }
    for ((thread, object), depth) in held {
        for (open, is_shared) in [(depth.exclusive, false), (depth.shared, true)] {
            if open.0 > 0 {
                sections.entry(object).or_default().push(LockedNodes {
                    thread,
                    from: open.1,
                    to: None,
                    is_shared,
                });
            }
        }
    }
    for object in odd.keys() {
        as_recorded(problem, uses.remove(object).unwrap_or_default());
        sections.remove(object);
    }
    for (id, object) in attempts {
        attempt(problem, id, sections.get(&object).map_or(&[], |all| all));
    }
    sections
        .values()
        .for_each(|all| until_the_end(problem, all));
    problem.locks = sections.into_values().map(by_thread).collect();
}

fn by_thread(mut sections: Vec<LockedNodes>) -> SectionsOfLock {
    sections.sort_by_key(|section| section.from);
    let of_threads = |sections: &[LockedNodes]| {
        let threads = sections.chunk_by(|a, b| a.thread == b.thread);
        threads.map(<[LockedNodes]>::to_vec).collect()
    };
    let all = of_threads(&sections);
    sections.retain(|section| !section.is_shared);
    SectionsOfLock {
        all,
        exclusive: of_threads(&sections),
    }
}

enum SyncChange {
    Take { is_shared: bool },
    Give { is_shared: bool },
    Attempt,
}

fn change(problem: &OrderingProblem, id: StepsId) -> Option<(LocationId, SyncChange)> {
    problem.actions(id).find_map(|(_, action)| match action {
        Action::Release { object, is_shared } => Some((object, SyncChange::Give { is_shared })),
        Action::Sync { kind, object, .. } => {
            let change = match kind.role() {
                EventRole::Acquire { shared } => SyncChange::Take { is_shared: shared },
                EventRole::Release { shared } => SyncChange::Give { is_shared: shared },
                EventRole::Attempt => SyncChange::Attempt,
                _ => return None,
            };
            Some((object, change))
        }
        _ => None,
    })
}

/// Applies a change to the depth; returns the start of a section that ends here, and whether it is shared. An
/// error for a lock that the thread does not hold.
fn step(depth: &mut Depth, id: StepsId, change: SyncChange) -> Result<Option<(StepsId, bool)>, ()> {
    let is_shared = match change {
        SyncChange::Take { is_shared } => is_shared,
        SyncChange::Give { is_shared } => {
            depth.shared.0 > 0 && (is_shared || depth.exclusive.0 == 0)
        }
        SyncChange::Attempt => return Ok(None),
    };
    let held = match is_shared {
        true => &mut depth.shared,
        false => &mut depth.exclusive,
    };
    match change {
        SyncChange::Take { .. } => {
            if held.0 == 0 {
                held.1 = id;
            }
            held.0 += 1;
            Ok(None)
        }
        _ => {
            held.0 = held.0.checked_sub(1).ok_or(())?;
            Ok((held.0 == 0).then_some((held.1, is_shared)))
        }
    }
}

/// Keeps the base order of the uses of an object used against the rules.
fn as_recorded(problem: &mut OrderingProblem, mut uses: Vec<StepsId>) {
    uses.sort_by_key(|&id| problem.place_of(id));
    let pairs = uses
        .windows(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
    problem.edges.extend(pairs);
}

/// Constrains a failed attempt: another thread holds the lock, unless the attempt failed on a free one.
fn attempt(problem: &mut OrderingProblem, id: StepsId, sections: &[LockedNodes]) {
    let thread = problem.thread(id);
    let others = sections
        .iter()
        .filter(|section| Some(section.thread) != thread);
    let mut group = Group::default();
    for section in others {
        let mut edges = vec![(section.from, id)];
        edges.extend(section.to.map(|to| (id, to)));
        let holds = edges
            .iter()
            .all(|&(a, b)| problem.place_of(a) < problem.place_of(b));
        if holds && group.preferred.is_none() {
            group.preferred = Some(group.options.len());
        }
        group.options.push((edges, None));
    }
    if group.preferred.is_some() || (problem.trace.order.is_empty() && !group.options.is_empty()) {
        problem.groups.push(group);
    }
}

/// Orders sections that are held until the end after all others.
fn until_the_end(problem: &mut OrderingProblem, sections: &[LockedNodes]) {
    for open in sections.iter().filter(|section| section.to.is_none()) {
        for other in sections {
            let excludes = other.thread != open.thread && !(other.is_shared && open.is_shared);
            if excludes {
                problem
                    .edges
                    .push((other.to.unwrap_or(other.from), open.from));
            }
        }
    }
}

/// Constrains the waits: each resumption comes after a signal, if it needs one.
fn waits(problem: &mut OrderingProblem, steps: &BTreeMap<LocationId, Vec<(StepsId, EventRole)>>) {
    for (&condition, steps) in steps {
        let of_role = |wanted: EventRole| {
            let found = steps.iter().filter(move |(_, role)| *role == wanted);
            found.map(|&(id, _)| id).collect::<Vec<_>>()
        };
        let [signals, broadcasts] = [false, true].map(|all| of_role(EventRole::Notify { all }));
        let mut returns = Vec::new();
        for wait in of_role(EventRole::Sleep) {
            returns.extend(goes_on(problem, condition, wait).map(|on| (wait, on)));
        }
        returns.sort_by_key(|&(_, on)| problem.place_of(on));
        let mut taken: Vec<StepsId> = Vec::new();
        for (wait, on) in returns {
            let mut group = Group::default();
            let single = signals.iter().map(|&id| (id, Some(id)));
            for (signal, uses) in single.chain(broadcasts.iter().map(|&id| (id, None))) {
                if problem.thread(signal) == problem.thread(wait) {
                    continue;
                }
                let places = [wait, signal, on].map(|id| problem.place_of(id));
                let fits = places.is_sorted() && !taken.contains(&signal);
                if fits && group.preferred.is_none() {
                    group.preferred = Some(group.options.len());
                    taken.extend(uses);
                }
                group
                    .options
                    .push((vec![(wait, signal), (signal, on)], uses));
            }
            problem.groups.push(group);
        }
    }
}

/// The step that resumes a wait ended by a signal.
fn goes_on(problem: &OrderingProblem, condition: LocationId, wait: StepsId) -> Option<StepsId> {
    let thread = problem.thread(wait)?;
    let after = (wait + 1..problem.nodes.len() as u32)
        .take_while(|&id| problem.thread(id) == Some(thread))
        .filter_map(|id| Some((id, problem.sync(id)?)));
    let mut after = after.peekable();
    after.next_if(|(_, (kind, ..))| kind.role() == EventRole::Release { shared: false });
    let &(on, _) = after.peek()?;
    let wake = after
        .find(|(_, (kind, object, _))| kind.role() == EventRole::Resume && *object == condition);
    // Without a wakeup event the thread was signalled and then waited for the mutex until the end.
    wake.is_none_or(|(_, (.., value))| value == 0).then_some(on)
}

/// Orders all arrivals of a round before all departures. The rounds are those of the base order.
fn meeting(problem: &mut OrderingProblem, steps: &[(StepsId, EventRole)]) {
    let mut steps: Vec<(StepsId, EventRole)> = steps
        .iter()
        .filter(|(_, role)| matches!(role, EventRole::Arrive | EventRole::Leave))
        .copied()
        .collect();
    steps.sort_by_key(|&(id, _)| problem.place_of(id));
    let mut rounds: BTreeMap<u32, (Vec<StepsId>, Vec<StepsId>)> = BTreeMap::new();
    let mut round_of: BTreeMap<ThreadId, u32> = BTreeMap::new();
    let is_recorded = !problem.trace.order.is_empty();
    let meet = steps
        .iter()
        .take_while(|(_, role)| *role == EventRole::Arrive);
    let meet = u32::try_from(meet.count()).unwrap_or(u32::MAX).max(1);
    let mut arrived = 0;
    for (id, role) in steps {
        let thread = problem.thread(id).unwrap_or_default();
        if role == EventRole::Leave {
            let round = round_of.get(&thread).copied().unwrap_or_default();
            rounds.entry(round).or_default().1.push(id);
            continue;
        }
        let round = match is_recorded {
            true => arrived / meet,
            false => round_of.get(&thread).map_or(0, |round| round + 1),
        };
        arrived += 1;
        round_of.insert(thread, round);
        rounds.entry(round).or_default().0.push(id);
    }
    let threads = round_of.len() as u32;
    if is_recorded && meet < threads {
        problem.lacks = Some("who meets at a barrier was taken from the recorded order".into());
    }
    let mut before: Vec<StepsId> = Vec::new();
    for (arrive, leave) in rounds.into_values() {
        for &first in &arrive {
            problem
                .edges
                .extend(leave.iter().map(|&last| (first, last)));
            problem
                .edges
                .extend(before.iter().map(|&earlier| (earlier, first)));
        }
        before = arrive;
    }
    problem.edges.retain(|(a, b)| a != b);
}

/// Constrains a semaphore: each unit taken was there initially or was given before.
fn semaphore(problem: &mut OrderingProblem, steps: &[(StepsId, EventRole)], units: &mut u32) {
    let mut steps: Vec<(StepsId, EventRole)> = steps
        .iter()
        .filter(|(_, role)| matches!(role, EventRole::TakeUnit | EventRole::PostUnit))
        .copied()
        .collect();
    steps.sort_by_key(|&(id, _)| problem.place_of(id));
    let first = first_units(problem, &steps);
    let of_role = |wanted: EventRole| {
        let found = steps.iter().filter(move |(_, role)| *role == wanted);
        found.map(|&(id, _)| id).collect::<Vec<_>>()
    };
    let (waits, posts) = (of_role(EventRole::TakeUnit), of_role(EventRole::PostUnit));
    if first >= waits.len() {
        return;
    }
    for (at, &wait) in waits.iter().enumerate() {
        let mut group = Group {
            preferred: Some(at).filter(|&at| at < first + posts.len()),
            ..Group::default()
        };
        for unit in 0..first {
            // Beyond the numbers of nodes, which are what posts use up.
            let number = u32::MAX - *units - unit as u32;
            group.options.push((Vec::new(), Some(number)));
        }
        let posted = posts.iter().map(|&post| (vec![(post, wait)], Some(post)));
        group.options.extend(posted);
        problem.groups.push(group);
    }
    *units += first as u32;
}

/// The initial units: as many as the recorded order needs; without one, as all steps together need.
fn first_units(problem: &OrderingProblem, steps: &[(StepsId, EventRole)]) -> usize {
    let (mut now, mut least) = (0i64, 0i64);
    for (_, role) in steps {
        now += if *role == EventRole::PostUnit { 1 } else { -1 };
        least = least.min(now);
    }
    let lacking = if problem.trace.order.is_empty() {
        now
    } else {
        least
    };
    usize::try_from(-lacking).unwrap_or(0)
}
