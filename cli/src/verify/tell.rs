//! Report about a fix that was tried.

use super::{build::Built, choose::ChosenFix, diff};
use crate::message;
use unsnarl_core::{fixes::trial::preemptions, render};
use unsnarl_lab::trial::{FixCase, Searched};

/// Prints the fix.
pub fn title(chosen: &ChosenFix) {
    outln!("fix: {}", chosen.fix.title);
}

/// Prints the cost of the fix and its assumptions.
pub fn cost(chosen: &ChosenFix) {
    outln!("cost: {}", chosen.fix.cost);
    if let Some(share) = chosen.fix.share {
        outln!("  {}", render::cost(share));
    }
    for assumed in &chosen.fix.assumes {
        outln!("assumes: {assumed}");
    }
}

/// Reports the fix as a constraint; returns whether it holds.
pub fn constrained(chosen: &ChosenFix, case: &FixCase<'_>, searched: &Searched) -> bool {
    if let Some(why) = &case.first {
        outln!("does not hold: a schedule that it allows fails all the same: {why}");
        return false;
    }
    if case.allowed == 0 {
        outln!("does not hold: it allows none of {}", bound(searched));
        return false;
    }
    if let Some(why) = case.trial(searched).unsettled() {
        outln!("not settled: no failure in {}, but {why}", bound(searched));
        outln!(
            "next: more schedules with --schedules and --random, or build it: {}",
            chosen.built()
        );
        return false;
    }
    let failing = match (case.failing, case.stays.is_empty()) {
        (0, _) => "none fails".to_owned(),
        (1, true) => "the one that fails is impossible with it".to_owned(),
        (failing, true) => format!("the {failing} that fail are impossible with it"),
        (_, false) => "those that fail so are impossible with it".to_owned(),
    };
    outln!(
        "holds on the program as it is: of {}, {failing}, and {}",
        bound(searched),
        match (case.stays.is_empty(), case.allowed) {
            (true, allowed) => format!("the {allowed} that stay possible pass"),
            (false, allowed) => format!("of the {allowed} that stay possible none fails so"),
        }
    );
    others(case);
    outln!(
        "next: {} (the command that builds the program)",
        chosen.built()
    );
    true
}

/// The same search of the program without the fix.
#[derive(Default)]
pub struct UnfixedSearch {
    /// Number of schedules until one failed, or of all.
    pub schedules: u64,
    /// `true` if one failed like the explained failure.
    pub fails: bool,
    /// The reason for which it could not be searched.
    pub error: Option<String>,
}

/// Reports the fix as an edit; returns whether it holds.
pub fn edited(
    case: &FixCase<'_>,
    searched: &Searched,
    built: &Built,
    without: &UnfixedSearch,
) -> bool {
    let Some(why) = &case.first else {
        let passed = match case.stays.is_empty() {
            true => format!("no failure and no deadlock in {}", bound(searched)),
            false => format!("it does not fail so in {}", bound(searched)),
        };
        let number = without.schedules;
        let (holds, compared) = match (&without.error, without.fails) {
            (_, true) => (true, format!("; without it schedule {number} fails")),
            // More schedules would show nothing new.
            _ if searched.is_complete() => (true, String::new()),
            (None, false) => (
                false,
                format!(", but without the fix {number} do not fail either"),
            ),
            (Some(why), false) => (
                false,
                format!(", but the program without the fix was not searched: {why}"),
            ),
        };
        match holds {
            true => outln!("holds: {passed}{compared}"),
            false => {
                outln!("not settled: {passed}{compared}");
                outln!("next: more schedules, with --schedules, --budget, --bound or --random");
            }
        }
        others(case);
        return holds;
    };
    outln!("does not hold: {why}");
    let folder = diff::relative(&built.root.display().to_string());
    match case.file.as_ref().and_then(|file| file.file_stem()) {
        Some(run) => outln!(
            "  the schedule: unsnarl replay {} (in {folder}, where the edited copy is)",
            run.to_string_lossy()
        ),
        None => outln!("  the edited copy is in {folder}"),
    }
    false
}

/// Reports failures of other bugs, which are not the fix's concern.
fn others(case: &FixCase<'_>) {
    for failure in &case.stays {
        message::note(&format!("another failure stays: {failure}"));
    }
}

/// `412 schedules with up to 2 preemptions (all there are)`
fn bound(searched: &Searched) -> String {
    let whole = match (searched.is_complete(), searched.is_whole()) {
        (true, _) => "more preemptions would show no other order",
        (false, true) => "all there are",
        (false, false) => "the search stopped at its limit",
    };
    let random = match searched.random {
        0 => String::new(),
        random => format!(" and {random} random ones"),
    };
    let schedules = match searched.schedules {
        1 => "1 schedule".to_owned(),
        several => format!("{several} schedules"),
    };
    let preemptions = preemptions(searched.bound);
    format!("{schedules} with {preemptions} ({whole}){random}")
}
