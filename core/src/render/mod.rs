//! Explanations for people and for other tools: as text for a terminal, as Markdown for a bug report, as a page for
//! a browser, as a graph for Graphviz.

mod dot;
mod fix;
mod hangs_on;
mod html;
pub(crate) mod lanes;
mod lines;
mod markdown;
pub mod spans;
#[cfg(test)]
mod tests;
mod text;

/// Bound on the padding of text columns, in characters. Names in run files can be of any length, and the
/// standard library pads to 65,535 characters only.
pub const MOST_COLUMN: usize = 1000;

pub use dot::dot;
pub(crate) use dot::quoted;
pub use fix::{cost, fix, name_of_fix, not_fixed};
pub use hangs_on::hangs_on;
pub use html::{ReportSection, causes, html};
pub use lanes::lanes;
pub use lines::lines;
pub use markdown::markdown;
pub use text::{
    TextWidth, next_for_unexplained, nothing_failed, summary, text, text_within, unexplained, why,
};

use crate::{
    diagnosis::{
        Counterexample, DecisiveStep, Evidence, ExperimentProgress, FailingShare, PassedOver,
    },
    explain::ochiai_in_words,
    explanation::{BugKind, Certainty, Execution, Explanation, FailurePlace, Place, Verdict},
    facts::short,
};
use unsnarl_trace::{EventKind, shell};

/// Result of the experiments: the decisive step, and how often schedules fail with and without the blamed
/// behaviour; none without experiments.
pub fn decided(explanation: &Explanation) -> Option<String> {
    let evidence = explanation.evidence.map(shares);
    let said = [decisive_in_words(explanation), evidence];
    let others = || explanation.passed_over.iter();
    let mut needed = others().filter_map(also_takes);
    let first = needed.next();
    let more = match needed.count() {
        0 => None,
        1 => Some("It takes one more (--why).".to_owned()),
        more => Some(format!("It takes {more} more (--why).")),
    };
    let follows = others().filter(|other| other.follows).map(came_of_it);
    let said = said
        .into_iter()
        .flatten()
        .chain(first)
        .chain(more)
        .chain(follows);
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// Another necessary condition in a sentence: ``It also takes this: `done` was changed before main had read
/// it; of 30 schedules with the one but without the other none fail, of 30 with both all.``
fn also_takes(other: &PassedOver) -> Option<String> {
    let share = other.needed?;
    let both = other.both.map_or_else(String::new, |both| {
        format!(", of {} with both {}", both.of, share_in_words(both))
    });
    Some(format!(
        "It also takes this: {}; of {} schedules with the one but without the other {} fail{both}.",
        other.headline,
        share.of,
        share_in_words(share)
    ))
}

/// ``It leads to this: another thread's update of `head` was lost. The schedules, with and without it, went on to that where
/// they could.``
fn came_of_it(other: &PassedOver) -> String {
    format!(
        "It leads to this: {}. The schedules, with and without it, went on to that where they could.",
        other.headline
    )
}

/// The caveats of an explanation. Where it was confirmed, not only a comparison of runs speaks for it.
fn caveats(explanation: &Explanation) -> impl Iterator<Item = &str> {
    const BY_COMPARISON: &str = "Found by comparing runs: it goes with the failure, which need not mean that it is the cause.";
    let is_open = explanation.by_comparison && explanation.certainty != Certainty::Confirmed;
    let own = explanation.caveats.iter().map(String::as_str);
    own.chain(is_open.then_some(BY_COMPARISON))
}

/// The evidence in a sentence: `Of 30 schedules drawn with this order all fail, of 30 without it none.`
fn shares(evidence: Evidence) -> String {
    format!(
        "Of {} schedules drawn with this order {} fail, of {} without it {}.",
        evidence.with.of,
        share_in_words(evidence.with),
        evidence.without.of,
        share_in_words(evidence.without)
    )
}

/// A share in words: `none`, `12`, `all`.
fn share_in_words(share: FailingShare) -> String {
    match share.fails {
        0 => "none".to_owned(),
        _ if share.is_all() => "all".to_owned(),
        fails => fails.to_string(),
    }
}

fn decisive_in_words(explanation: &Explanation) -> Option<String> {
    let (last, earlier) = explanation.decisive.split_last()?;
    if earlier.is_empty() && (last.is_by_chance() || !is_of_steps(last, explanation)) {
        return None;
    }
    let line = |step: &DecisiveStep| match is_begin(step) {
        true => format!("the start of {}", step.thread),
        false => format!("{} of {}", short(&step.place), step.thread),
    };
    let rises = earlier.iter().map(|step| {
        format!(
            "Before that, {} raises those that fail from {} to {}.",
            line(step),
            of(step.before),
            of(step.after)
        )
    });
    let sentences: Vec<String> = [doom(last, &line(last))].into_iter().chain(rises).collect();
    Some(sentences.join(" "))
}

/// Returns whether it is in a function in which the same thread takes one of the steps: others are no part of what is told.
fn is_of_steps(decisive: &DecisiveStep, explanation: &Explanation) -> bool {
    let (place, thread) = (&decisive.place, &decisive.thread);
    explanation.steps.iter().any(|step| {
        let is_here =
            |other: &Place| (&other.file, &other.function) == (&place.file, &place.function);
        let is_part = is_begin(decisive) || is_here(&step.place) || step.via.iter().any(is_here);
        step.thread == *thread && is_part
    })
}

fn is_begin(step: &DecisiveStep) -> bool {
    step.access == EventKind::Begin.name() && step.place.line == 0
}

/// Sentence about a line at which the run was decided; none for other lines.
pub fn decided_at(explanation: &Explanation, file: &str, line: u32) -> Option<String> {
    let steps = explanation.decisive.iter();
    let mut here = steps.filter(|step| step.place.line == line && step.place.file == file);
    let step = here.next_back()?;
    let of_thread = format!("this line of {}", step.thread);
    Some(match step.after.is_all() {
        true => doom(step, &of_thread),
        false => format!(
            "After {of_thread} {} continuations of the failing run fail, before it {}.",
            of(step.after),
            of(step.before)
        ),
    })
}

/// A share as text: `12 of 40`.
fn of(share: FailingShare) -> String {
    format!("{} of {}", share_in_words(share), share.of)
}

/// Sentence about the step after which all continuations fail, with its name in the sentence.
fn doom(step: &DecisiveStep, called: &str) -> String {
    let orders = match step.after.orders {
        1 => "all in one order".to_owned(),
        orders => format!("{orders} different orders"),
    };
    format!(
        "After {called} all {} continuations fail ({orders}); before it {} do.",
        step.after.of,
        of(step.before)
    )
}

/// The state of experiments whose time was over, in a sentence; none where there was time for all of them.
pub fn progress(explanation: &Explanation) -> Option<String> {
    let ExperimentProgress {
        tried,
        not_tried,
        not_asked,
    } = explanation.progress.as_ref()?;
    let drawn = tried.iter().map(|one| one.schedules).sum();
    let drawn = schedules(drawn);
    let cut = tried.iter().filter(|one| one.is_unfinished).count();
    let all = match tried.len() + not_tried.len() {
        1 => "the one cause that was proposed".to_owned(),
        all => format!("{all} causes that were proposed"),
    };
    let done = match (tried.len(), cut) {
        (0, _) => "none was tried".to_owned(),
        (1, 0) => format!("1 was tried, on {drawn}"),
        (1, _) => format!("1 was tried, on {drawn} and not to the end"),
        (tried, 0) => format!("{tried} were tried, on {drawn}"),
        (tried, cut) => format!("{tried} were tried, on {drawn}, {cut} of them not to the end"),
    };
    let asked = match not_asked.as_slice() {
        [] => String::new(),
        names => format!("; not asked for more: {}", names.join(", ")),
    };
    Some(format!(
        "The time for experiments was over (--run-budget): of {all} {done}{asked}."
    ))
}

/// `1 schedule`, `7 schedules`.
fn schedules(number: u32) -> String {
    match number {
        1 => "1 schedule".to_owned(),
        number => format!("{number} schedules"),
    }
}

/// Certainty of an explanation and its grounds, in a sentence or two; none where the question does not arise.
pub fn certainty(explanation: &Explanation) -> Option<String> {
    if explanation.kind == BugKind::Sequential {
        let executed = explanation.executed.as_ref();
        let says = executed.map(|executed| executed.says.join(" "));
        return says.filter(|says| !says.is_empty());
    }
    let Some(executed) = &explanation.executed else {
        let not_executed = match explanation.certainty {
            Certainty::Likely => ", not re-executed",
            Certainty::Confirmed | Certainty::Possible => "",
        };
        return Some(format!(
            "{}{not_executed}.",
            recorded(explanation.certainty)
        ));
    };
    let tally = explanation.confirmed.unwrap_or_default();
    let reason = &executed.reason;
    let last = match executed.verdict {
        Verdict::Confirmed if tally.of_passes == 0 => format!(
            "Confirmed: this order fails {}/{}.",
            tally.fails, tally.of_fails
        ),
        Verdict::Confirmed => format!(
            "Confirmed: this order fails {}/{}, {} passes {}/{}.",
            tally.fails,
            tally.of_fails,
            other(executed),
            tally.passes,
            tally.of_passes
        ),
        Verdict::Unsettled if tally.of_fails == 0 => format!(
            "{}. This order was not run again: {reason}.",
            recorded(explanation.certainty)
        ),
        Verdict::Unsettled if tally.passes > 0 && !executed.other.is_empty() => format!(
            "{}. Run again this order fails {}/{}, and {} passes {}/{}; that does not confirm it: {reason}.",
            recorded(explanation.certainty),
            tally.fails,
            tally.of_fails,
            other(executed),
            tally.passes,
            tally.of_passes
        ),
        Verdict::Unsettled => format!(
            "{}. Run again this order fails {}/{}, but no other order confirms it: {reason}.",
            recorded(explanation.certainty),
            tally.fails,
            tally.of_fails
        ),
        Verdict::NotReproduced => {
            format!(
                "{}. Not reproduced: {reason}.",
                recorded(explanation.certainty)
            )
        }
        Verdict::Refuted => format!("Refuted: {reason}."),
        Verdict::NotRun => format!(
            "{}, not run again: {reason}.{}",
            recorded(explanation.certainty),
            statistic(explanation)
        ),
    };
    let sentences = executed.says.iter().cloned().chain([last]);
    Some(sentences.collect::<Vec<String>>().join(" "))
}

/// Ochiai's coefficient in a sentence, where nothing was executed; empty where no order is blamed.
fn statistic(explanation: &Explanation) -> String {
    let said = explanation.ochiai.map(|ochiai| {
        let value = ochiai_in_words(ochiai);
        format!(" Not executed: ranked by Ochiai's coefficient, {value}.")
    });
    said.unwrap_or_default()
}

fn recorded(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Confirmed => "Confirmed by running it again",
        Certainty::Likely => "Likely: found in the recorded runs",
        Certainty::Possible => "Possible: the recorded runs do not settle it",
    }
}

fn other(executed: &Execution) -> &str {
    match executed.is_recorded {
        true => &executed.other,
        false => "the other",
    }
}

/// Sentence about an explanation that an execution has refuted.
pub fn refuted(explanation: &Explanation) -> String {
    let reason = explanation
        .executed
        .as_ref()
        .map_or("", |executed| &executed.reason);
    let executed = explanation.executed.as_ref();
    let kept = executed.and_then(|executed| executed.counterexample.as_ref());
    let kept = kept.map_or_else(String::new, |kept| {
        format!("\n  next: look at that run: unsnarl replay {}", file(kept))
    });
    match explanation.kind {
        BugKind::Sequential => {
            format!("it depends on the schedule, although all recorded runs fail: {reason}{kept}")
        }
        _ => format!(
            "not the cause, although the recorded runs look like it: {}; {reason}{kept}",
            explanation.headline
        ),
    }
}

/// The file of a counterexample, as the shell takes it.
fn file(counterexample: &Counterexample) -> String {
    shell::word(&counterexample.run)
}

/// Advice on how to reach more certainty; empty when there is none.
pub fn next_step(explanation: &Explanation) -> &str {
    explanation
        .executed
        .as_ref()
        .map_or("", |executed| &executed.next)
}

/// Sentence about the runs with this failure; empty for none.
fn runs(explanation: &Explanation) -> String {
    let without = explanation.runs_without.len();
    let mirrored = explanation.runs_mirrored.len();
    let with = explanation.runs.len().saturating_sub(without + mirrored);
    // The steps are from this run.
    let own = Some(&explanation.run).filter(|own| explanation.runs.contains(own));
    let said = match (own.or(explanation.runs.first()), with) {
        (None, _) => return String::new(),
        (Some(first), 0 | 1) => format!("Fails so in {first}."),
        (Some(first), with) => format!("Fails so in {first} and {} more.", with - 1),
    };
    let said = match mirrored {
        0 => said,
        _ => format!(
            "{said} In {mirrored} more it is the other way round: what comes in between here is interrupted there."
        ),
    };
    let there = if explanation.also_fails.is_empty() {
        " there"
    } else {
        ""
    };
    match without {
        0 => said,
        1 => format!("{said} One more run fails{there} without these steps, {SAME_OR_NOT}"),
        without => {
            format!("{said} {without} more runs fail{there} without these steps, {SAME_OR_NOT}")
        }
    }
}

/// Ending of a sentence about runs that do not have what is blamed.
const SAME_OR_NOT: &str = "by the same cause in another order or by another one.";

/// Sentence about other failures for the same cause, most of them in other places.
fn elsewhere(explanation: &Explanation) -> Option<String> {
    let at = |place: &FailurePlace| {
        let site = place.site.as_ref();
        site.map(|site| (site.file.clone(), site.line))
    };
    let own = at(&explanation.failure);
    let mut places = explanation.also_fails.iter().map(at);
    let how = match places.all(|other| other.is_some() && other == own) {
        true => "in another way",
        false => "elsewhere",
    };
    let others: Vec<String> = explanation.also_fails.iter().map(failure).collect();
    (!others.is_empty()).then(|| {
        format!(
            "For the same reason other runs fail {how}: {}.",
            others.join("; ")
        )
    })
}

/// Message and place of a failure: `assertion ... failed at bank.c:12`.
pub fn failure(failure: &FailurePlace) -> String {
    match &failure.site {
        Some(site) => format!("{} at {}", failure.message, short(site)),
        None => failure.message.clone(),
    }
}
