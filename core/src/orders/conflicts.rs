//! Names of the orders of conflicting operations: runs with equal names differ only in how independent steps interleave.
//!
//! Two operations conflict when one thread does both, or when both use one object and one of them changes it. So such an
//! order is what each thread does, and for each object its changes in order with the looks between them.

use crate::pairs::Fnv;
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventKind, LocationId, Run, kinds::ObjectUse};

/// An operation by names that are the same in every run: thread, and how many operations it made before.
type StableStep<'r> = (&'r str, usize);

/// The uses of one object: changes in order, each with the looks since the one before.
#[derive(Default)]
struct Course<'r> {
    changes: Vec<(BTreeSet<StableStep<'r>>, StableStep<'r>)>,
    looks: BTreeSet<StableStep<'r>>,
}

/// The name of a run's order: a hash. Linear in the run.
pub fn conflict_order(run: &Run) -> u64 {
    let mut threads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut objects: BTreeMap<&str, Course<'_>> = BTreeMap::new();
    let steps = run.events.iter();
    let steps = steps.filter(|(_, event)| event.kind.role().is_order_relevant());
    for (_, event) in steps {
        let thread = run.meta.thread(event.thread).name.as_str();
        let location = run.location(event.location);
        let site = run.meta.site(event.site);
        let path = threads.entry(thread).or_default();
        let step = (thread, path.len());
        let (file, line, column) = (&site.file, site.line, site.column);
        let kind = event.kind.name();
        path.push(format!("{kind} {location} {file}:{line}:{column}"));
        if event.location == LocationId(0) {
            continue;
        }
        let course = objects.entry(location).or_default();
        match looks(event.kind) {
            true => drop(course.looks.insert(step)),
            false => {
                let looks = std::mem::take(&mut course.looks);
                course.changes.push((looks, step));
            }
        }
    }
    named(&threads, &objects)
}

fn named(threads: &BTreeMap<&str, Vec<String>>, objects: &BTreeMap<&str, Course<'_>>) -> u64 {
    let mut hash = Fnv::default();
    for (name, path) in threads {
        hash.bytes(format!("thread {name} {path:?}\n").as_bytes());
    }
    for (name, Course { changes, looks }) in objects {
        hash.bytes(format!("object {name} {changes:?} {looks:?}\n").as_bytes());
    }
    hash.0
}

/// Returns whether the step leaves the object that it uses unchanged.
fn looks(kind: EventKind) -> bool {
    let of_object = kind.role().object_use();
    kind == EventKind::Read || kind == EventKind::AtomicRead || of_object == Some(ObjectUse::Looks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use proptest::prelude::*;

    /// A step: thread, location, whether it writes.
    type Small = (u8, u8, bool);

    fn text(steps: &[Small]) -> String {
        let lines = steps.iter().map(|(thread, location, writes)| {
            let kind = if *writes { "W" } else { "R" };
            format!("main.{} {kind} x{location} @5\n", thread + 1)
        });
        format!(
            "main fork main.1 @1\nmain fork main.2 @1\nmain fork main.3 @1\n{}",
            lines.collect::<String>()
        )
    }

    /// All orders that swapping neighbours which do not conflict leads to.
    fn equivalent(steps: &[Small]) -> BTreeSet<Vec<Small>> {
        let mut all = BTreeSet::from([steps.to_vec()]);
        let mut open = vec![steps.to_vec()];
        while let Some(order) = open.pop() {
            for at in 1..order.len() {
                let (a, b) = (order[at - 1], order[at]);
                if a.0 == b.0 || a.1 == b.1 && (a.2 || b.2) {
                    continue;
                }
                let mut swapped = order.clone();
                swapped.swap(at - 1, at);
                if all.insert(swapped.clone()) {
                    open.push(swapped);
                }
            }
        }
        all
    }

    proptest! {
        #[test]
        fn equal_names_for_equivalent_orders_only(
            steps in prop::collection::vec((0u8..3, 0u8..2, any::<bool>()), 1..7),
            from in prop::collection::vec(any::<prop::sample::Index>(), 7),
        ) {
            let mut other = steps.clone();
            for (at, to) in from.iter().enumerate().take(steps.len()) {
                other.swap(at, to.index(steps.len()));
            }
            let is_same = conflict_order(&run(&text(&steps))) == conflict_order(&run(&text(&other)));
            prop_assert_eq!(is_same, equivalent(&steps).contains(&other));
        }
    }
}
