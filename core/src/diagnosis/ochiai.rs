//! A statistic for where nothing can be executed: Ochiai's coefficient over *different* orders.
//!
//! A campaign records some orders hundreds of times and others once. Copies of one order are one observation.

use crate::orders::conflict_order;
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::BTreeMap};
use unsnarl_trace::Run;

/// Numbers of different orders with the blamed order among all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "SuspiciousOrder", from = "SuspiciousOrder")]
pub struct Ochiai {
    /// Failing orders that have it.
    pub failing_with: u32,
    /// All failing orders.
    pub failing: u32,
    /// Passing orders that have it.
    pub passing_with: u32,
    /// All passing orders.
    pub passing: u32,
}

/// The same for other programs: with the value.
#[derive(Serialize, Deserialize)]
struct SuspiciousOrder {
    #[serde(default)]
    value: f64,
    failing_with: u32,
    failing: u32,
    passing_with: u32,
    passing: u32,
}

impl From<Ochiai> for SuspiciousOrder {
    fn from(of: Ochiai) -> SuspiciousOrder {
        SuspiciousOrder {
            value: of.value(),
            failing_with: of.failing_with,
            failing: of.failing,
            passing_with: of.passing_with,
            passing: of.passing,
        }
    }
}

impl From<SuspiciousOrder> for Ochiai {
    fn from(of: SuspiciousOrder) -> Ochiai {
        Ochiai {
            failing_with: of.failing_with,
            failing: of.failing,
            passing_with: of.passing_with,
            passing: of.passing,
        }
    }
}

impl Ochiai {
    /// From 0 to 1: failing orders with it, by the root of all failing ones times all with it. 0 where no failing order has
    /// it.
    pub fn value(self) -> f64 {
        if self.failing_with == 0 {
            return 0.0;
        }
        let with = u64::from(self.failing_with) + u64::from(self.passing_with);
        let all = u64::from(self.failing) * with;
        f64::from(self.failing_with) / (all as f64).sqrt()
    }

    /// Compares the values of two.
    pub fn compare(self, other: Ochiai) -> Ordering {
        self.value().total_cmp(&other.value())
    }
}

/// Runs of which no two have the same order of conflicting operations and the same end.
pub struct DifferentOrders<'r> {
    failing: Vec<&'r Run>,
    passing: Vec<&'r Run>,
}

impl<'r> DifferentOrders<'r> {
    /// One run for each of the orders. Linear in the runs.
    pub fn of(
        failing: impl Iterator<Item = &'r Run>,
        passing: impl Iterator<Item = &'r Run>,
    ) -> DifferentOrders<'r> {
        DifferentOrders {
            failing: different(failing),
            passing: different(passing),
        }
    }

    /// Counts those that have something; none when a run does not say whether it has.
    pub fn count(&self, has: impl Fn(&Run) -> Option<bool>) -> Option<Ochiai> {
        let with = |runs: &[&Run]| {
            let said: Option<Vec<bool>> = runs.iter().map(|run| has(run)).collect();
            let with = said?.into_iter().filter(|has| *has).count();
            u32::try_from(with).ok()
        };
        Some(Ochiai {
            failing_with: with(&self.failing)?,
            failing: u32::try_from(self.failing.len()).ok()?,
            passing_with: with(&self.passing)?,
            passing: u32::try_from(self.passing.len()).ok()?,
        })
    }
}

/// The first run of each order.
fn different<'r>(runs: impl Iterator<Item = &'r Run>) -> Vec<&'r Run> {
    let mut first: BTreeMap<u64, &Run> = BTreeMap::new();
    for run in runs {
        first.entry(conflict_order(run)).or_insert(run);
    }
    first.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use proptest::prelude::*;
    use unsnarl_trace::EventKind;

    fn ochiai(failing_with: u32, failing: u32, passing_with: u32, passing: u32) -> Ochiai {
        Ochiai {
            failing_with,
            failing,
            passing_with,
            passing,
        }
    }

    #[test]
    fn worked_numbers() {
        assert!((ochiai(4, 4, 0, 10).value() - 1.0).abs() < 1e-12);
        // 4 / sqrt(4 * (4 + 5)) = 4 / 6
        assert!((ochiai(4, 4, 5, 10).value() - 2.0 / 3.0).abs() < 1e-12);
        // 2 / sqrt(8 * (2 + 0)) = 1 / 2
        assert!((ochiai(2, 8, 0, 10).value() - 0.5).abs() < 1e-12);
        assert!(ochiai(0, 8, 3, 10).value().abs() < 1e-12);
        assert!(ochiai(0, 0, 0, 0).value().abs() < 1e-12);
        assert_eq!(
            ochiai(4, 4, 5, 9).compare(ochiai(2, 8, 0, 9)),
            Ordering::Greater
        );
    }

    /// Two threads that write a shared variable or one of their own: who, and which.
    fn order(choices: &[(bool, bool)]) -> String {
        let mut text = "main fork main.1 @1\nmain fork main.2 @1\n".to_owned();
        for (is_first, is_shared) in choices {
            let who = if *is_first { 1 } else { 2 };
            let own = format!("own{who}");
            let what = if *is_shared { "shared" } else { &own };
            text.push_str(&format!("main.{who} W {what} @5\n"));
        }
        text
    }

    /// True if main.1 is the first to write the shared variable.
    fn has(run: &Run) -> bool {
        let mut events = run.events.iter();
        let first = events.find(|(_, event)| run.location(event.location) == "shared");
        first.is_some_and(|(_, event)| run.meta.thread(event.thread).name == "main.1")
    }

    /// The steps of each thread, and the order of the changes of the shared variable.
    fn brute(run: &Run) -> String {
        let of = |wanted: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
            let events = run
                .events
                .iter()
                .filter(|(_, event)| event.kind == EventKind::Write);
            let named = events.map(|(_, event)| {
                let thread = run.meta.thread(event.thread).name.clone();
                (
                    thread,
                    run.location(event.location).to_owned(),
                    run.meta.site(event.site).line,
                )
            });
            let kept = named.filter(|(thread, location, _)| wanted(thread, location));
            kept.map(|one| format!("{one:?}")).collect()
        };
        format!(
            "{:?} {:?} {:?}",
            of(&|thread, _| thread == "main.1"),
            of(&|thread, _| thread == "main.2"),
            of(&|_, location| location == "shared"),
        )
    }

    proptest! {
        #[test]
        fn copies_count_once(
            failing in prop::collection::vec(prop::collection::vec(any::<(bool, bool)>(), 3), 0..8),
            passing in prop::collection::vec(prop::collection::vec(any::<(bool, bool)>(), 3), 0..8),
        ) {
            let runs = |all: &[Vec<(bool, bool)>]| -> Vec<Run> { all.iter().map(|one| run(&order(one))).collect() };
            let (failing, passing) = (runs(&failing), runs(&passing));
            let counted = DifferentOrders::of(failing.iter(), passing.iter()).count(|run| Some(has(run)));
            let different = |runs: &[Run]| -> BTreeMap<String, bool> {
                runs.iter().map(|run| (brute(run), has(run))).collect()
            };
            let with = |of: &BTreeMap<String, bool>| of.values().filter(|has| **has).count() as u32;
            let (fails, passes) = (different(&failing), different(&passing));
            let expected = ochiai(with(&fails), fails.len() as u32, with(&passes), passes.len() as u32);
            prop_assert_eq!(counted, Some(expected));
            let root = (f64::from(expected.failing) * f64::from(expected.failing_with + expected.passing_with)).sqrt();
            let value = if root > 0.0 { f64::from(expected.failing_with) / root } else { 0.0 };
            prop_assert!((expected.value() - value).abs() < 1e-12);
        }
    }
}
