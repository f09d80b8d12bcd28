//! The program's own functions, macros and classes that lock, as the recorded runs show them: a call that was entered
//! without a lock and left with it takes that lock, whatever it is called and in whichever file it is written.

use super::text::{
    locks::{self, LockCalls, callee, calls, last_name_of_type},
    source::{Source, descendants, lines},
};
use crate::{callers::call_sites, orders::Locks};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tree_sitter::Node;
use unsnarl_trace::{EventId, Run, SiteId};

/// A call that locks or unlocks, in the function that it matters to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Call {
    file: String,
    line: u32,
    /// Name of the function that is called, without its class; empty for the primitive itself or a macro.
    callee: String,
}

/// Calls that took a lock and those that gave it back again, with how often they did.
#[derive(Default, Debug)]
pub(super) struct Seen {
    pairs: BTreeMap<(Call, Call), u64>,
}

impl Seen {
    /// Looks at the critical sections of all runs. Linear in the runs.
    pub fn of(runs: &[(String, Arc<Run>)]) -> Seen {
        let mut seen = Seen::default();
        for (_, run) in runs {
            seen.add(run);
        }
        seen
    }

    fn add(&mut self, run: &Run) {
        let mut known = BTreeSet::new();
        let key = |row: EventId| {
            let event = run.events.get(row)?;
            Some((event.site.0, event.stack.0))
        };
        for section in Locks::new(run, &mut Vec::new()).sections() {
            let Some(released) = section.released else {
                continue;
            };
            if !known.insert((key(section.acquired), key(released))) {
                continue;
            }
            let (from, to) = parted(run, section.acquired, released);
            // Every call on the way to the lock that its unlock is not in has returned with the lock held.
            let Some(last) = to.last() else {
                continue;
            };
            let others = to.iter().chain(std::iter::repeat(last));
            for (lock, unlock) in from.iter().zip(others) {
                let pair = (lock.clone(), unlock.clone());
                *self.pairs.entry(pair).or_default() += 1;
            }
        }
    }

    /// What the functions and classes are called in the text of a file.
    pub fn in_file(&self, file: &str, source: &Source) -> LockCalls {
        let mut found = LockCalls::default();
        let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
        for ((lock, unlock), times) in &self.pairs {
            if lock.file != file {
                continue;
            }
            match in_text(source, lock) {
                Some(Named::Class(class)) => drop(found.guards.insert(class)),
                Some(Named::Function(one)) if unlock.file == file => {
                    if let Some(Named::Function(other)) = in_text(source, unlock)
                        && one != other
                    {
                        *pairs.entry((one, other)).or_default() += times;
                    }
                }
                _ => {}
            }
        }
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for ((lock, unlock), _) in pairs {
            // A name that locks here and unlocks there is not understood.
            let clashes = |(one, other): &(String, String)| *one == unlock || *other == lock;
            if !found
                .pairs
                .iter()
                .any(|known| known.0 == lock || clashes(known))
            {
                found.pairs.push((lock, unlock));
            }
        }
        found
    }
}

/// The calls on the ways to two rows, from the innermost function that leads to both inwards.
fn parted(run: &Run, first: EventId, second: EventId) -> (Vec<Call>, Vec<Call>) {
    let (a, b) = (call_sites(run, first), call_sites(run, second));
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let level = same.min(a.len().min(b.len()).saturating_sub(1));
    (inwards(run, &a, level), inwards(run, &b, level))
}

fn inwards(run: &Run, sites: &[SiteId], level: usize) -> Vec<Call> {
    let own = (level..).zip(sites.iter().skip(level));
    own.map(|(at, site)| {
        let site = run.meta.site(*site);
        let called = sites.get(at + 1).map(|next| run.meta.site(*next));
        Call {
            file: site.file.clone(),
            line: site.line,
            callee: called.map_or(String::new(), |next| plain(&next.function).to_owned()),
        }
    })
    .collect()
}

/// `Holder` of `base::Holder<std::mutex>::Holder(std::mutex&)`.
fn plain(function: &str) -> &str {
    let head = function.split('(').next().unwrap_or(function);
    last_name_of_type(head.rsplit("::").next().unwrap_or(head))
}

enum Named {
    Function(String),
    Class(String),
}

/// What a call is written as.
fn in_text(source: &Source, call: &Call) -> Option<Named> {
    let function = source.function(call.line)?;
    let on_line = |node: &Node<'_>| lines(*node).contains(&call.line);
    let all = descendants(function);
    let declared = all.iter().filter(|node| node.kind() == "declaration");
    let class = declared.filter(|node| on_line(node)).find_map(|node| {
        let class = source.str(node.child_by_field_name("type")?);
        (last_name_of_type(class) == call.callee).then(|| call.callee.clone())
    });
    if let Some(class) = class {
        return Some(Named::Class(class));
    }
    let own: Vec<Node<'_>> = calls(function).filter(on_line).collect();
    let named = own
        .iter()
        .find(|node| callee(source, **node) == call.callee);
    // A macro: the only call of a statement of its own.
    let node = match (named, own.as_slice()) {
        (Some(node), _) => node,
        (None, [one]) => one,
        _ => return None,
    };
    let is_primitive = locks::operation(source, *node).is_some();
    let is_method = matches!(callee(source, *node), "lock" | "unlock");
    (!is_primitive && !is_method).then(|| Named::Function(callee(source, *node).to_owned()))
}

/// The lines on which calls leave with a lock held, by lock: names by file and line.
pub(super) fn taken(
    run: &Run,
    name: &dyn Fn(EventId) -> String,
    taken: &mut BTreeMap<(String, u32), BTreeSet<String>>,
) {
    for section in Locks::new(run, &mut Vec::new()).sections() {
        let sites = call_sites(run, section.acquired);
        let level = match section.released {
            Some(released) => {
                let other = call_sites(run, released);
                let same = sites.iter().zip(&other).take_while(|(a, b)| a == b).count();
                same.min(sites.len().min(other.len()).saturating_sub(1))
            }
            None => sites.len().saturating_sub(1),
        };
        for site in sites.iter().skip(level) {
            let site = run.meta.site(*site);
            let names = taken.entry((site.file.clone(), site.line)).or_default();
            names.insert(name(section.acquired));
        }
    }
}
