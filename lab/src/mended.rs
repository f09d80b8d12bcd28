//! Explanations that a fix which was built has shown to be about something else.

use std::collections::BTreeSet;
use unsnarl_core::{
    BugKind, Certainty, Corpus, Execution, Explanation, Verdict,
    diagnosis::PassedOver,
    explain::missing_signal,
    fixes::{FixKind, TrialVerdict},
};

/// Blames the change that lacks a signal, where something else was blamed for a hang and the program that was built with
/// that signal does not hang. What was blamed is among what was passed over. Explanations that lack the same signal become
/// one.
pub(crate) fn retell(corpus: &Corpus, explanations: &mut Vec<Explanation>) {
    let mut retold: Vec<Explanation> = Vec::new();
    for explanation in std::mem::take(explanations) {
        let told = signalled(&explanation)
            .and_then(|lines| missing_signal(corpus, &explanation.run, &lines));
        let told = told.map_or(explanation.clone(), |told| instead(told, explanation));
        let is_known = |known: &&mut Explanation| {
            known.kind == BugKind::LostWakeup && places(known).eq(places(&told))
        };
        match retold.iter_mut().find(is_known) {
            Some(known) => known.runs.extend(told.runs),
            None => retold.push(told),
        }
    }
    for told in &mut retold {
        told.runs.sort();
        told.runs.dedup();
    }
    *explanations = retold;
}

/// The places of what an explanation tells.
fn places(explanation: &Explanation) -> impl Iterator<Item = (&str, u32)> {
    let sites = explanation.sites.iter();
    sites.map(|mark| (mark.place.file.as_str(), mark.place.line))
}

/// The lines after which one more signal has mended a program whose explanation blames something else.
fn signalled(explanation: &Explanation) -> Option<BTreeSet<(&str, u32)>> {
    let is_told = explanation.kind == BugKind::LostWakeup;
    let best = explanation.fixes.first();
    let fix = best.filter(|fix| fix.kind == FixKind::Signal && !is_told)?;
    let trial = fix.tried.as_ref()?;
    let lines = fix.edits.iter();
    let lines = lines.map(|edit| (edit.file.as_str(), edit.from.line));
    (trial.built && trial.verdict == TrialVerdict::Holds).then(|| lines.collect())
}

/// The explanation with what is known of the run and of its fixes from the one that it replaces. It keeps the id, by
/// which the fixes are verified.
fn instead(told: Explanation, old: Explanation) -> Explanation {
    let passed_over = PassedOver {
        id: old.id.clone(),
        headline: old.headline,
        engines: old.engines,
        evidence: old.evidence,
        needed: None,
        both: None,
        follows: false,
        ochiai: None,
        counterexample: None,
    };
    Explanation {
        id: old.id,
        certainty: Certainty::Likely,
        runs: old.runs,
        also_fails: old.also_fails,
        confirmed: old.confirmed,
        executed: old.executed.map(unsettled),
        decisive: old.decisive,
        curve: old.curve,
        passed_over: vec![passed_over],
        fixes: old.fixes,
        not_fixed: old.not_fixed,
        advice: old.advice,
        ..told
    }
}

/// The failing run still fails when it is run again; the other order was that of other accesses.
fn unsettled(old: Execution) -> Execution {
    match old.verdict {
        Verdict::Confirmed | Verdict::Unsettled => Execution {
            verdict: Verdict::Unsettled,
            reason: "no order of the program has the signal that it lacks, only the fix has it"
                .to_owned(),
            other: String::new(),
            is_recorded: false,
            next: String::new(),
            says: Vec::new(),
            counterexample: None,
        },
        Verdict::NotReproduced | Verdict::Refuted | Verdict::NotRun => old,
    }
}
