//! Experiments on schedules: how often does the program fail when what is blamed happens, and how often when it does not?
//! Everything else is drawn.

use crate::dsp::Executor;
use anyhow::Result;
use std::collections::BTreeSet;
use unsnarl_core::{
    Budget, Explanation,
    corpus::failure_place,
    diagnosis::{Evidence, Share},
    explain::{Intervention, bears_out, intervention, outermost},
};
use unsnarl_recorder::{
    proposal::{Ended, ProposalError},
    record::{Sampler, order::order_hash},
};
use unsnarl_trace::{EventId, Policy, Proposal, Run};

/// Schedules that an experiment rests on, on each side.
pub const SAMPLES: u32 = 30;

/// Schedules after which a hypothesis that is no better than its opposite is given up.
const FEW: u32 = 8;

/// Schedules that may miss an order before it counts as one that cannot be had.
const MISSES: u32 = 8;

/// What came of the orders of an explanation.
pub struct Experiment {
    /// How often the program failed.
    pub evidence: Evidence,
    /// The orders.
    pub orders: Intervention,
    /// Where the first thread that takes part takes the lock under which it does that, or does it.
    pub begins: EventId,
}

/// The outcome for one explanation; none when it names no orders, they cannot be had, or the time is over.
pub fn experiment(
    executor: &Executor<'_>,
    sampler: &Sampler<'_>,
    explanation: &Explanation,
    budget: &Budget,
) -> Result<Option<Experiment>> {
    let Some(orders) = intervention(explanation, executor.run) else {
        return Ok(None);
    };
    let begins = orders.with.iter();
    let begins = begins.filter_map(|row| outermost(executor.run, *row));
    let Some(begins) = begins.min() else {
        return Ok(None);
    };
    let Some(choices) = sampler.choices_before(begins) else {
        return Ok(None);
    };
    let mut with = Samples::of(
        executor,
        std::slice::from_ref(&orders.with),
        (explanation, true),
        choices,
    );
    let mut without = Samples::of(executor, &orders.without, (explanation, false), choices);
    for least in [FEW, SAMPLES] {
        if !with.take(least, budget)? || !without.take(least, budget)? {
            return Ok(None);
        }
        // What fails as often without it is not it.
        if without.share().value() >= with.share().value() {
            break;
        }
    }
    let evidence = Evidence {
        with: with.share(),
        without: without.share(),
    };
    Ok(Some(Experiment {
        evidence,
        orders,
        begins,
    }))
}

/// Schedules with one of several orders.
struct Samples<'a> {
    executor: &'a Executor<'a>,
    ways: Vec<Way>,
    explanation: &'a Explanation,
    /// What is blamed happens in them.
    is_with: bool,
    /// The choices of the run up to where the orders begin.
    choices: &'a [u16],
    fails: u32,
    of: u32,
    orders: BTreeSet<String>,
}

/// One of the orders.
struct Way {
    proposal: Proposal,
    /// Schedules that were tried.
    tried: u32,
    /// Those of them that had the order.
    of: u32,
}

impl Way {
    fn misses(&self) -> u32 {
        self.tried - self.of
    }

    /// It cannot be had, or too seldom.
    fn is_hopeless(&self) -> bool {
        self.misses() >= MISSES.max(self.of * 2)
    }
}

impl<'a> Samples<'a> {
    fn of(
        executor: &'a Executor<'a>,
        orders: &[Vec<EventId>],
        (explanation, is_with): (&'a Explanation, bool),
        choices: &'a [u16],
    ) -> Samples<'a> {
        let ways = orders.iter().map(|order| Way {
            proposal: Proposal {
                only_order: true,
                ..Proposal::of_events(executor.run, order)
            },
            tried: 0,
            of: 0,
        });
        Samples {
            executor,
            ways: ways.collect(),
            explanation,
            is_with,
            choices,
            fails: 0,
            of: 0,
            orders: BTreeSet::new(),
        }
    }

    /// Goes on until there are so many; false when they cannot be had.
    fn take(&mut self, least: u32, budget: &Budget) -> Result<bool> {
        while self.of < least {
            let tried = self.ways.iter().enumerate();
            let hopeful = tried.filter(|(_, way)| !way.is_hopeless());
            let next = hopeful.min_by_key(|(_, way)| way.tried).map(|(at, _)| at);
            let Some(at) = next.filter(|_| budget.stop().is_none()) else {
                return Ok(false);
            };
            if !self.one_more(at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tries one of the orders; false when it cannot go on.
    fn one_more(&mut self, at: usize) -> Result<bool> {
        let Some(way) = self.ways.get_mut(at) else {
            return Ok(false);
        };
        let number = way.tried;
        way.tried += 1;
        // Most begin where what is blamed begins; others may come there in another way.
        let kept = match number % 4 {
            3 => self.choices.len() / 2,
            _ => self.choices.len(),
        };
        let proposal = Proposal {
            choices: self.choices.iter().take(kept).copied().collect(),
            then: policy(number, self.executor.run),
            ..way.proposal.clone()
        };
        let verdict = match self.executor.once(&proposal) {
            Ok(Some(verdict)) => verdict,
            Ok(None) | Err(ProposalError::NoSite(..)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if verdict.ended != Ended::Reached {
            return Ok(true);
        }
        let run = &verdict.run;
        let fails = failure_place(run).as_ref() == Some(&self.explanation.failure);
        // Without what is blamed a run may have it all the same, at other occurrences: then it is no run without it.
        if !fails || self.is_with || bears_out(self.explanation, run) != Some(true) {
            way.of += 1;
            self.of += 1;
            self.fails += u32::from(fails);
            self.orders.insert(order_hash(run));
        }
        Ok(true)
    }

    fn share(&self) -> Share {
        Share {
            fails: self.fails,
            of: self.of,
            orders: u32::try_from(self.orders.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Random walks and PCT in turn.
fn policy(number: u32, run: &Run) -> Policy {
    const DEPTH: u32 = 3;
    let seed = u64::from(number);
    match number % 3 {
        2 => Policy::Pct {
            seed,
            depth: DEPTH,
            steps: run.meta.steps.max(1),
        },
        _ => Policy::Random { seed },
    }
}
