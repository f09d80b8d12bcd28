//! Proposals of the engines for small runs.

use super::*;
use crate::{
    dsp::{self as projections, fixture::fixture},
    invariants as slices,
};
use std::{cell::RefCell, collections::BTreeSet, sync::Arc};
use unsnarl_core::{
    Budget, Corpus, CorpusKey, Explanation, RunSummary,
    explain::{Failing, Material, Proposers, explain},
};
use unsnarl_trace::Run;

#[test]
fn every_engine_is_in_the_list_once() {
    let material = Material {
        corpus: &Corpus::new(CorpusKey::default()),
        runs: &[],
    };
    let proposers = Proposers::new(material, engines(Program::default()).0);
    let names: Vec<&str> = proposers.all().map(|engine| engine.name()).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(different.len(), names.len());
    assert!(different.is_superset(&["dsp", "invariants"].into()));
}

/// A lost deposit, followed through a program.
const BANK: &str = r"
    init balance = 0
    main fork main.1 @90
    main fork main.2 @91
    main.1 R balance -> b1 @67
    main.2 R balance -> c1 @100
    main.2 W balance = c1 + 200 @107
    main.1 W balance = b1 + 100 @74
    main join main.1 @95
    main join main.2 @96
    main R balance -> end @120
    main bug end < 300 @120
";

#[test]
fn what_a_projection_turns_round_is_proposed() {
    let fixture = fixture(BANK);
    let (trace, run) = (fixture.trace, fixture.run);
    let budget = Budget::unlimited();
    let options = projections::AlternateLimits {
        check: projections::check_of(&trace, &run),
        ..projections::AlternateLimits::default()
    };
    let others = projections::alternates(&trace, &trace.order, &options, None, &budget).unwrap();
    let nearest = others.found.first().unwrap();
    let projection = projections::project(&trace, &run, &trace.order, nearest, None).unwrap();
    let found = told_of(run, |failing| dsp::told(&projection, failing));
    assert!(found.contains(&vec![67, 107, 74]), "{found:?}");
}

#[test]
fn what_a_slice_has_is_proposed() {
    let fixture = fixture(BANK);
    let (trace, run) = (fixture.trace, fixture.run);
    let options = slices::InvariantOptions::default();
    let sliced = slices::explain(&trace, &run, &trace.order, &options, &Budget::unlimited());
    let told = slices::told(&sliced.unwrap(), &run);
    let found = told_of(run, |failing| invariants::told(&told, failing));
    assert!(found.contains(&vec![67, 107, 74]), "{found:?}");
}

/// An engine that asks a function about a failing run.
struct Stub<F>(F);

impl<F: Fn(&Failing<'_>) -> Vec<Explanation>> Proposer for Stub<F> {
    fn name(&self) -> &'static str {
        "stub"
    }

    fn propose(&self, failing: &Failing<'_>, _: &Budget) -> Vec<Explanation> {
        self.0(failing)
    }

    fn support(&self, _: &mut Explanation, _: &Material<'_>, _: &Budget) {}
}

/// The lines that an explanation blames, in the order of their steps.
fn lines(explanation: &Explanation) -> Vec<u32> {
    let blamed = explanation.blamed();
    let steps = blamed.filter_map(|mark| explanation.steps.get(mark.step? as usize - 1));
    let steps: BTreeSet<(u32, u32)> = steps.map(|step| (step.event, step.place.line)).collect();
    steps.into_iter().map(|(_, line)| line).collect()
}

/// The lines that proposals for a failing run blame.
fn told_of(run: Run, told: impl Fn(&Failing<'_>) -> Vec<Explanation>) -> Vec<Vec<u32>> {
    let mut corpus = Corpus::new(CorpusKey::default());
    corpus.insert(RunSummary::new("failed-0", Arc::new(run)));
    let budget = Budget::unlimited();
    let explanation = explain(&corpus, &budget).findings.remove(0);
    let proposers = Proposers::comparing(&corpus);
    let found = RefCell::new(Vec::new());
    // Noted here, before the proposals that are told already are left out.
    let asked = Stub(|failing: &Failing<'_>| {
        found.replace(told(failing).iter().map(lines).collect());
        Vec::new()
    });
    proposers.instead_of(&explanation, &[]).by(&asked, &budget);
    found.into_inner()
}
