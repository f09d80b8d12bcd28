//! Orders of a failing run's events that runs which passed do not have, or that led to the failure.

use super::{Failing, Material, Proposer};
use crate::{
    Budget,
    corpus::Corpus,
    explain::{
        after_free, atomicity,
        candidates::{Candidate, Story, candidates},
        causes, missing, multi_variable, no_memory, order, refused, returned, spurious, torn,
        undone::undone,
        view::View,
    },
    explanation::{Certainty, Explanation},
};

/// The engine's name.
pub const ORDERS: &str = "orders";

/// Orders that are looked at, the cheapest ones.
const LOOKED_AT: usize = 24;

/// The engine.
pub(super) struct OrdersProposer;

impl Proposer for OrdersProposer {
    fn name(&self) -> &'static str {
        ORDERS
    }

    fn compares(&self) -> bool {
        true
    }

    fn stands_alone(&self) -> bool {
        true
    }

    fn propose(&self, failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation> {
        let found = candidates(failing.view, budget).into_iter();
        let found = found.take(LOOKED_AT);
        let view = failing.view;
        let told = found.flat_map(|one| [Some(write(view, &one)), write_alone(view, &one)]);
        let undone = undone(view).into_iter().map(|mut told| {
            name(view, &mut told);
            told
        });
        undone.chain(told.flatten()).collect()
    }

    /// It says nothing of what others propose: what it finds is told first.
    fn support(&self, _: &mut Explanation, _: &Material<'_>, _: &Budget) {}
}

/// Those that cost hardly more than the cheapest one.
pub(super) fn nearly(failing: &Failing<'_>, budget: &Budget) -> Vec<Explanation> {
    let found = candidates(failing.view, budget);
    let best = found.first().map_or(0, |best| best.cost);
    let is_near = |one: &Candidate| one.cost.saturating_sub(best) <= causes::NEARLY;
    let found = found.into_iter().take_while(is_near).take(LOOKED_AT);
    found.map(|one| write(failing.view, &one)).collect()
}

/// An order as an explanation.
pub(in crate::explain) fn write(view: &View, candidate: &Candidate) -> Explanation {
    finished(view, candidate, told(view, &candidate.story))
}

/// An order that is told together with another one, without that one: experiments tell whether the two belong together.
fn write_alone(view: &View, candidate: &Candidate) -> Option<Explanation> {
    let alone = match candidate.story {
        Story::Order { early, late } => {
            torn::half_done(view, early, late).map(|_| order::ordered(view, early, late))
        }
        Story::Missing {
            original,
            reader,
            by,
        } => missing::half_done(view, original, reader, by)
            .map(|_| missing::alone(view, original, reader, by)),
        _ => None,
    };
    alone.map(|alone| finished(view, candidate, alone))
}

fn finished(view: &View, candidate: &Candidate, mut explanation: Explanation) -> Explanation {
    explanation.certainty = certainty(view.corpus, candidate);
    name(view, &mut explanation);
    explanation
}

/// Names the engine with an explanation that is told from the order of a run's steps.
pub(in crate::explain) fn name(view: &View, explanation: &mut Explanation) {
    let run = &view.summary.name;
    explanation.join(
        ORDERS,
        format!("tells it from the order of the steps of {run}"),
    );
}

fn told(view: &View, story: &Story) -> Explanation {
    match story {
        Story::Atomicity(triple) => atomicity::single(view, triple),
        Story::MultiVariable(couple) => {
            order::handed_over(view, couple).unwrap_or_else(|| multi_variable::multi(view, couple))
        }
        Story::Order { early, late } => order::swapped(view, *early, *late),
        Story::Missing {
            original,
            reader,
            by,
        } => missing::missing(view, *original, *reader, *by),
        Story::Refused { held, attempt } => refused::refused(view, *held, *attempt),
        Story::HalfWay { write, attempt } => refused::half_way(view, *write, *attempt),
        Story::Unchecked { check, wake } => spurious::unchecked(view, *check, *wake),
        Story::NoMemory { alloc } => no_memory::no_memory(view, *alloc),
        Story::AfterFree { free, used } => after_free::after_free(view, *free, *used),
        Story::Returned { step, used } => {
            returned::returned(view, *used).unwrap_or_else(|| order::swapped(view, *step, *used))
        }
    }
}

/// Likely needs enough passing runs to compare with, or that the failure read it directly.
fn certainty(corpus: &Corpus, candidate: &Candidate) -> Certainty {
    const ENOUGH: u32 = 5;
    const FEW: u32 = 3;
    let compared = candidate.new && corpus.counts().passing() >= ENOUGH;
    // Which of two orders was meant only passing runs tell.
    let by_order = matches!(candidate.story, Story::Order { .. } | Story::Missing { .. });
    let direct = candidate.relevant
        && candidate.cost < 60
        && (!by_order || corpus.counts().passing() >= FEW);
    if compared && candidate.relevant || direct {
        Certainty::Likely
    } else {
        Certainty::Possible
    }
}
