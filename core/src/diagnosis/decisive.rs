//! Decisive steps: the steps of a failing run at which the probability of failure changes.
//!
//! For a prefix of *k* choices of the run, p(k) is the share of continuations that fail, in whatever way: one cause
//! often shows in several places. Every continuation of a longer prefix is one of each shorter prefix, so that p(k) = 1
//! holds for all k from some point on: bisection finds that point, and the step there is the one after which nothing
//! could save the run. Where p has grown before, an earlier jump is searched as well. All tests are sequential: one
//! continuation that passes proves that a prefix is not doomed.

use crate::explanation::Place;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Number of continuations per point during the search: a prefix of which seven of eight continuations fail
/// is taken for doomed with a probability of 34 %, which the firm test then corrects.
const QUICK: u32 = 8;

/// Number of continuations that confirm the answer, on each side of a jump. A prefix of which one
/// continuation in twelve passes is taken for doomed with a probability below 3 %.
const FIRM: u32 = 40;

/// The largest share of failing continuations before the step from which on all fail: where nearly all failed before, it is
/// chance which step that is.
const DOUBTED: f64 = 0.9;

/// Smallest difference of shares that is reported as a jump: with [`FIRM`] samples on both sides, chance
/// produces one of this size in less than one of a hundred cases.
const JUMP: f64 = 0.3;

/// Share of continuations that fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FailingShare {
    /// Number that fail.
    pub fails: u32,
    /// Number executed.
    pub of: u32,
    /// Number of distinct orders of conflicting events among them.
    pub orders: u32,
}

impl FailingShare {
    /// The share, from 0 to 1; 0 where nothing was executed.
    pub fn value(self) -> f64 {
        match self.of {
            0 => 0.0,
            of => f64::from(self.fails) / f64::from(of),
        }
    }

    /// Returns whether all fail.
    pub fn is_all(self) -> bool {
        self.of > 0 && self.fails == self.of
    }
}

/// A step of a run at which the share of failing continuations changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DecisiveStep {
    /// Row of the run: the first step after the choice.
    pub event: u32,
    /// Thread, by its place in the fork tree: `main.2`.
    pub thread: String,
    /// Place in the source.
    pub place: Place,
    /// Kind of the event: `read`, `lock`, ...
    pub access: String,
    /// Location of the event.
    pub location: String,
    /// Continuations of the prefix before the step.
    pub before: FailingShare,
    /// Continuations of the prefix that includes it.
    pub after: FailingShare,
}

impl DecisiveStep {
    /// Returns whether the share changes enough for a jump. The step from which on every continuation fails
    /// need not be a jump: the share may have grown all the way there.
    pub fn is_jump(&self) -> bool {
        self.after.value() - self.before.value() >= JUMP
    }

    /// Returns whether it is chance that all continuations fail from this step on, and not from another one: nearly all
    /// failed before as well.
    pub fn is_by_chance(&self) -> bool {
        self.after.is_all() && self.before.value() > DOUBTED
    }
}

/// A measured point of p(k).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Number of choices of the run that are kept.
    pub kept: u32,
    /// Continuations of them.
    pub share: FailingShare,
}

/// Result of one continuation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Continuation {
    /// `true` if it fails.
    pub fails: bool,
    /// Hash of the order of its conflicting events.
    pub order: String,
}

/// Executor of continuations of a run.
pub trait Continue {
    /// Error of an execution.
    type Error;

    /// Number of choices of the run.
    fn choices(&self) -> usize;

    /// Executes a continuation of the first `kept` choices; different numbers give different ones. `None`
    /// when the time is over, or the execution gave no result.
    fn after(&mut self, kept: usize, number: u32) -> Result<Option<Continuation>, Self::Error>;
}

/// Decisive choices of a run, with the measured curve.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decided {
    /// The decisive choices, counted from 0, with the shares before and after, in order. The last is the one
    /// from which on every continuation fails. Empty when all continuations of the empty prefix fail, or when
    /// the answer is unknown.
    pub jumps: Vec<(usize, FailingShare, FailingShare)>,
    /// All measured points.
    pub curve: Vec<CurvePoint>,
    /// `true` if the time was over, or executions ended otherwise: the result is correct, but may be
    /// incomplete.
    pub is_cut: bool,
}

/// Finds the decisive choices of a run of n choices, with about `QUICK log n + 4 FIRM` executions.
pub fn decisive<S: Continue>(source: &mut S) -> Result<Decided, S::Error> {
    let mut curve = Curve::new(source);
    let mut jumps = Vec::new();
    let doom = curve.doom()?;
    if let Some(doom) = doom.filter(|doom| *doom > 0 && !curve.is_cut) {
        let last = curve.jump(doom)?;
        let start = curve.share(0, FIRM)?;
        if last.1.value() - start.value() >= JUMP
            && let Some(rise) = curve.rise(doom - 1)?
        {
            let earlier = curve.jump(rise)?;
            if earlier.2.value() - earlier.1.value() >= JUMP {
                jumps.push(earlier);
            }
        }
        if !curve.is_cut {
            jumps.push(last);
        }
    }
    Ok(Decided {
        jumps,
        is_cut: curve.is_cut,
        curve: curve.points(),
    })
}

/// Measurements of p(k) so far.
struct Curve<'a, S> {
    source: &'a mut S,
    known: BTreeMap<usize, SamplePoint>,
    is_cut: bool,
}

#[derive(Default)]
struct SamplePoint {
    fails: u32,
    of: u32,
    orders: BTreeSet<String>,
}

impl SamplePoint {
    fn share(&self) -> FailingShare {
        FailingShare {
            fails: self.fails,
            of: self.of,
            orders: u32::try_from(self.orders.len()).unwrap_or(u32::MAX),
        }
    }
}

impl<'a, S: Continue> Curve<'a, S> {
    fn new(source: &'a mut S) -> Curve<'a, S> {
        Curve {
            source,
            known: BTreeMap::new(),
            is_cut: false,
        }
    }

    /// The least number of choices after which all of [`FIRM`] continuations fail; none when time was short.
    fn doom(&mut self) -> Result<Option<usize>, S::Error> {
        let (mut low, mut high) = (0, self.source.choices());
        if self.is_doomed(0, FIRM)? {
            return Ok((!self.is_cut).then_some(0));
        }
        while !self.is_cut {
            while high - low > 1 && !self.is_cut {
                let middle = low.midpoint(high);
                match self.is_doomed(middle, QUICK)? {
                    true => high = middle,
                    false => low = middle,
                }
            }
            if high == self.source.choices() || self.is_doomed(high, FIRM)? {
                break;
            }
            (low, high) = (high, self.source.choices());
        }
        Ok((!self.is_cut && high > low).then_some(high))
    }

    /// Returns whether all of `tries` continuations fail; the first that passes proves that the prefix is not
    /// doomed.
    fn is_doomed(&mut self, kept: usize, tries: u32) -> Result<bool, S::Error> {
        loop {
            let share = self
                .known
                .get(&kept)
                .map(SamplePoint::share)
                .unwrap_or_default();
            if share.fails < share.of || share.of >= tries {
                return Ok(share.is_all());
            }
            if !self.one_more(kept)? {
                return Ok(false);
            }
        }
    }

    /// The shares on both sides of a choice, which is counted from 1.
    fn jump(&mut self, choice: usize) -> Result<(usize, FailingShare, FailingShare), S::Error> {
        let before = self.share(choice - 1, FIRM)?;
        let after = self.share(choice, FIRM)?;
        Ok((choice - 1, before, after))
    }

    /// The choice, counted from 1, at which p crosses the middle between its value at the start and at `end`:
    /// a crossing that bisection meets, since p need not be monotone.
    fn rise(&mut self, end: usize) -> Result<Option<usize>, S::Error> {
        let middle = f64::midpoint(self.share(0, FIRM)?.value(), self.share(end, FIRM)?.value());
        let (mut low, mut high) = (0, end);
        while high - low > 1 && !self.is_cut {
            let at = low.midpoint(high);
            match self.share(at, 2 * QUICK)?.value() >= middle {
                true => high = at,
                false => low = at,
            }
        }
        Ok((high > low && !self.is_cut).then_some(high))
    }

    fn share(&mut self, kept: usize, tries: u32) -> Result<FailingShare, S::Error> {
        while self.known.get(&kept).map_or(0, |point| point.of) < tries && self.one_more(kept)? {}
        Ok(self
            .known
            .get(&kept)
            .map(SamplePoint::share)
            .unwrap_or_default())
    }

    /// Executes one more continuation; `false` when there is none.
    fn one_more(&mut self, kept: usize) -> Result<bool, S::Error> {
        if self.is_cut {
            return Ok(false);
        }
        let number = self.known.get(&kept).map_or(0, |point| point.of);
        let Some(continued) = self.source.after(kept, number)? else {
            self.is_cut = true;
            return Ok(false);
        };
        let point = self.known.entry(kept).or_default();
        point.of += 1;
        point.fails += u32::from(continued.fails);
        point.orders.insert(continued.order);
        Ok(true)
    }

    fn points(&self) -> Vec<CurvePoint> {
        let points = self.known.iter().map(|(kept, point)| CurvePoint {
            kept: u32::try_from(*kept).unwrap_or(u32::MAX),
            share: point.share(),
        });
        points.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// A run whose continuations fail with these probabilities, in hundredths; the numbers serve as a
    /// pseudo-random source.
    struct ProbableRun {
        chances: Vec<u32>,
        left: u32,
    }

    impl Continue for ProbableRun {
        type Error = Infallible;

        fn choices(&self) -> usize {
            self.chances.len() - 1
        }

        fn after(&mut self, kept: usize, number: u32) -> Result<Option<Continuation>, Infallible> {
            if self.left == 0 {
                return Ok(None);
            }
            self.left -= 1;
            let seed = (kept as u32 * 1_000 + number).wrapping_mul(2_654_435_761);
            let lot = (seed ^ seed >> 15).wrapping_mul(2_246_822_519) >> 16;
            Ok(Some(Continuation {
                fails: lot % 100 < self.chances[kept],
                order: number.to_string(),
            }))
        }
    }

    fn of(chances: &[u32]) -> Decided {
        let mut made = ProbableRun {
            chances: chances.to_vec(),
            left: u32::MAX,
        };
        let Ok(decided) = decisive(&mut made);
        decided
    }

    #[test]
    fn the_step_after_which_all_fail_is_found() {
        let decided = of(&[30, 30, 30, 40, 30, 100, 100, 100, 100]);
        let [(at, before, after)] = decided.jumps[..] else {
            panic!("{decided:?}");
        };
        assert_eq!(at, 4);
        assert!(after.is_all() && after.of == FIRM && after.orders == FIRM);
        assert!(before.fails > 0 && before.value() < 0.6, "{before:?}");
    }

    #[test]
    fn an_earlier_jump_is_told_too() {
        let decided = of(&[0, 0, 0, 50, 50, 50, 50, 50, 50, 50, 100, 100]);
        let at: Vec<usize> = decided.jumps.iter().map(|jump| jump.0).collect();
        assert_eq!(at, [2, 9]);
    }

    #[test]
    fn what_fails_in_any_case_has_no_decisive_step() {
        let decided = of(&[100, 100, 100]);
        assert!(decided.jumps.is_empty() && !decided.is_cut);
        assert!(decided.curve[0].share.is_all());
    }

    #[test]
    fn time_that_is_over_claims_nothing() {
        let mut made = ProbableRun {
            chances: vec![0, 0, 0, 0, 100, 100],
            left: 30,
        };
        let Ok(decided) = decisive(&mut made);
        assert!(decided.is_cut && decided.jumps.is_empty());
    }

    proptest! {
        #[test]
        fn steep_steps_are_where_they_are(doom in 1usize..200, rest in 0usize..100, chance in 0u32..60) {
            let mut chances = vec![chance; doom];
            chances.extend(vec![100; rest + 1]);
            let decided = of(&chances);
            prop_assert_eq!(decided.jumps.last().map(|jump| jump.0), Some(doom - 1));
        }
    }
}
