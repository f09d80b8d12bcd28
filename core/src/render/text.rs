//! Explanations as plain text for a terminal.

use super::{MOST_COLUMN, certainty, decided, elsewhere, next_step, runs};
use crate::{
    budget::StopReason,
    callers,
    claims::Claim,
    corpus::Corpus,
    diagnosis::{Counterexample, ExperimentProgress, PassedOver, Shows},
    explain::ochiai_in_words,
    explanation::{Absent, BugKind, Certainty, Contribution, Explanation, Step},
    facts::short,
};
use std::collections::BTreeSet;
use unsnarl_trace::shell;

/// Widths of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextWidth {
    /// Columns of sentences.
    sentences: usize,
    /// Columns of the table of steps.
    table: usize,
}

impl TextWidth {
    /// Widths where nothing is known of the terminal.
    pub const USUAL: TextWidth = TextWidth {
        sentences: 100,
        table: 100,
    };

    /// Widths for a terminal with this number of columns. Longer sentences than the usual ones are hard to read; the
    /// table uses what is there, so that the lines of the source are whole.
    pub fn of(columns: usize) -> TextWidth {
        let columns = columns.clamp(60, 240);
        TextWidth {
            sentences: columns.min(TextWidth::USUAL.sentences),
            table: columns,
        }
    }
}

/// Renders one explanation in the usual width: first line, details, steps in columns, contrast with passing runs, certainty.
pub fn text(explanation: &Explanation) -> String {
    text_within(explanation, TextWidth::USUAL)
}

/// Renders one explanation like [`text`], in these widths.
pub fn text_within(explanation: &Explanation, width: TextWidth) -> String {
    let wrapped = |text: &str, first: &str, next: &str| wrapped(text, first, next, width.sentences);
    let mut lines = Vec::new();
    let word = if explanation.kind == BugKind::Sequential {
        "note"
    } else {
        "error"
    };
    lines.extend(wrapped(
        &format!("{word}: {}", explanation.headline),
        "",
        "  ",
    ));
    for line in explanation.detail.lines() {
        lines.extend(wrapped(line, "  ", "    "));
    }
    if !explanation.steps.is_empty() {
        lines.push(String::new());
        lines.extend(steps(explanation, width.table));
        lines.push(String::new());
    }
    for line in [&explanation.remark, &explanation.contrast]
        .into_iter()
        .filter(|line| !line.is_empty())
    {
        lines.extend(wrapped(line, "  ", "  "));
    }
    if let Some(others) = elsewhere(explanation) {
        lines.extend(wrapped(&others, "  ", "  "));
    }
    if let Some(decided) = decided(explanation) {
        lines.extend(wrapped(&decided, "  ", "  "));
    }
    if let Some(values) = super::hangs_on(explanation) {
        lines.extend(wrapped(&values, "  ", "  "));
    }
    if let Some(tail) = tail(explanation) {
        lines.extend(wrapped(&tail, "  ", "  "));
    }
    if let Some(progress) = super::progress(explanation) {
        lines.extend(wrapped(&progress, "  ", "  "));
    }
    match (super::fix(explanation), no_fix(explanation)) {
        (Some(fix), _) => {
            lines.extend(wrapped(&fix, "  Fix: ", "  "));
            lines.extend(super::name_of_fix(explanation).map(|name| format!("  {name}")));
        }
        (None, Some(why)) => lines.extend(wrapped(&why, "  No fix is offered: ", "  ")),
        (None, None) => {}
    }
    let next = next_step(explanation);
    if !next.is_empty() {
        lines.extend(wrapped(next, "  next: ", "    "));
    }
    for caveat in super::caveats(explanation) {
        lines.extend(wrapped(caveat, "  Note: ", "  "));
    }
    lines.join("\n") + "\n"
}

/// The reason why no fix is offered, for a cause that is likely at least: what the program lacks, or what speaks against the only
/// edit that was considered. One reason of several would be no answer, since nothing tells why it is just that one.
fn no_fix(explanation: &Explanation) -> Option<String> {
    let is_likely = explanation.certainty != Certainty::Possible;
    let (why, others) = explanation.not_fixed.split_first().filter(|_| is_likely)?;
    if let Some(advice) = &explanation.advice {
        return Some(format!("{advice}."));
    }
    Some(match others.len() {
        0 => format!("{why}."),
        others => format!(
            "something speaks against each of the {} edits that were considered (--why).",
            others + 1
        ),
    })
}

/// Lists the findings of each engine and the reasons for the rank of the explanation.
pub fn why(explanation: &Explanation, width: TextWidth) -> String {
    let wrapped = |text: &str, first: &str, next: &str| wrapped(text, first, next, width.sentences);
    let mut lines = Vec::new();
    if !explanation.rank.is_empty() {
        lines.extend(wrapped(&explanation.rank, "  ", "    "));
    }
    for Contribution { engine, says } in &explanation.contributions {
        lines.extend(wrapped(&format!("{engine} {says}."), "  - ", "    "));
    }
    match explanation
        .executed
        .as_ref()
        .map(|executed| &executed.other)
    {
        Some(other) if !other.is_empty() => {
            lines.extend(wrapped(
                &format!("The other order: {other}."),
                "  - ",
                "    ",
            ));
        }
        _ => {}
    }
    let others = explanation.passed_over.iter();
    let (needed, others): (Vec<_>, Vec<_>) = others.partition(|one| one.needed.is_some());
    let needed = needed.into_iter().skip(1).filter_map(super::also_takes);
    let others = others.into_iter().filter(|one| !one.follows);
    let mut said = BTreeSet::new();
    for line in needed.chain(others.map(passed_over)) {
        if said.insert(line.clone()) {
            lines.extend(wrapped(&line, "  - ", "    "));
        }
    }
    for line in explanation.progress.iter().flat_map(attempts) {
        lines.extend(wrapped(&line, "  - ", "    "));
    }
    for why in super::not_fixed(explanation) {
        lines.extend(wrapped(&format!("No fix: {why}."), "  - ", "    "));
    }
    lines.join("\n") + "\n"
}

fn passed_over(other: &PassedOver) -> String {
    let kept = other.counterexample.as_ref();
    let shares = match (other.evidence, other.ochiai, kept.map(|kept| kept.shows)) {
        (Some(evidence), ..) => super::shares(evidence),
        (_, Some(ochiai), _) => format!("Ochiai's coefficient: {}.", ochiai_in_words(ochiai)),
        (.., Some(Shows::PassesWith)) => "Too few schedules could be made without it.".to_owned(),
        (.., Some(Shows::FailsWithout)) => "Too few schedules could be made with it.".to_owned(),
        (.., None) => "Too few schedules could be made with it, or without it.".to_owned(),
    };
    let by = match other.engines.as_slice() {
        [] => String::new(),
        names => format!(" ({})", names.join(", ")),
    };
    let against = kept.map(against).unwrap_or_default();
    format!("Not told{by}: {}. {shares}{against}", other.headline)
}

/// Evidence of a counterexample, with the command that replays it.
fn against(kept: &Counterexample) -> String {
    let shows = match kept.shows {
        Shows::FailsWithout => "A run that fails without it",
        Shows::PassesWith => "A run that passes with it",
    };
    format!(" {shows}: unsnarl replay {}", super::file(kept))
}

/// A line for each proposal: what was drawn for it, as far as the time went.
fn attempts(progress: &ExperimentProgress) -> Vec<String> {
    let tried = progress.tried.iter().map(|one| {
        let end = match one.is_unfinished {
            true => ", not to the end",
            false => "",
        };
        let drawn = super::schedules(one.schedules);
        format!("Tried on {drawn}{end}: {}.", one.headline)
    });
    let not_tried = progress.not_tried.iter();
    let not_tried = not_tried.map(|headline| format!("Not tried: {headline}."));
    tried.chain(not_tried).collect()
}

/// Certainty, and the runs concerned.
fn tail(explanation: &Explanation) -> Option<String> {
    let sure = certainty(explanation)?;
    Some(
        format!("{sure} {}", runs(explanation))
            .trim_end()
            .to_owned(),
    )
}

/// Steps in columns: thread, place, source text, effect, note.
fn steps(explanation: &Explanation, columns: usize) -> Vec<String> {
    let steps = explanation.steps.as_slice();
    let cells: Vec<[String; 4]> = steps.iter().map(cells).collect();
    let width = |column: usize| {
        cells
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
            .min(MOST_COLUMN)
    };
    let places = explanation.absent.iter();
    let places = places.map(|absent| short(&absent.place).chars().count());
    let (thread, place) = (
        width(0),
        width(1).max(places.max().unwrap_or(0)).min(MOST_COLUMN),
    );
    let tails = tails(
        steps,
        &cells,
        columns.saturating_sub(thread + place + width(2) + 9),
    );
    let room = columns.saturating_sub(thread + place + 9);
    // A long one that would leave the source text too little stands below it.
    let beside = tails.iter().map(|tail| tail.chars().count());
    let beside = beside.filter(|tail| *tail <= LONG_NOTE || tail + LEAST_TEXT <= room);
    let text = width(2).min(room.saturating_sub(beside.max().unwrap_or(0)).max(16));
    let mut rows = Vec::new();
    let missing_before = |step: usize, rows: &mut Vec<String>| {
        let absent = explanation.absent.iter();
        for absent in absent.filter(|absent| absent.before as usize == step) {
            let (at, line) = (short(&absent.place), shortened(&absent.place.text, text));
            let gap = "";
            let row = format!("   {gap:thread$}  {at:place$}  {line:text$}");
            let missing = missing(explanation, absent);
            if row.chars().count() + 2 + missing.len() <= columns {
                rows.push(format!("{row}  {missing}"));
            } else {
                let gap = " ".repeat(thread + 7);
                rows.push(row.trim_end().to_owned());
                rows.extend(wrapped(&missing, &gap, &gap, columns));
            }
        }
    };
    for (i, ([who, at, line, _], tail)) in cells.iter().zip(&tails).enumerate() {
        missing_before(i, &mut rows);
        let line = shortened(line, text);
        let row = format!("   {who:thread$}  {at:place$}  {line:text$}");
        let length = tail.chars().count();
        if length <= LONG_NOTE || row.chars().count() + 2 + length <= columns {
            rows.push(format!("{row}  {tail}").trim_end().to_owned());
        } else {
            let gap = " ".repeat(thread + 7);
            rows.push(row.trim_end().to_owned());
            rows.extend(wrapped(tail, &gap, &gap, columns));
        }
        if let Some(via) = newly_called(steps, i) {
            rows.extend(wrapped(
                &via,
                &" ".repeat(thread + 7),
                &" ".repeat(thread + 9),
                columns,
            ));
        }
    }
    missing_before(steps.len(), &mut rows);
    rows
}

/// Note on a line that the failing run has not reached.
fn missing(explanation: &Explanation, absent: &Absent) -> String {
    let runs = runs_with(explanation, absent);
    match absent.thread.as_str() {
        "" => format!("(in {runs} it runs here)"),
        who => format!("(in {runs} {who} runs it here)"),
    }
}

/// The passing runs that come to a line which the failing run lacks, as far as they were counted.
fn runs_with(explanation: &Explanation, absent: &Absent) -> &'static str {
    let mut claims = explanation.claims.iter();
    let counted = claims.find(|one| match &one.claim {
        Claim::Before { early, .. } | Claim::BeforeBy { early, .. } => early.place == absent.place,
        _ => false,
    });
    match counted {
        Some(one) if one.holds_in > 0 && one.holds_in * 2 < one.of => "some passing runs",
        Some(one) if one.holds_in > 0 && one.holds_in < one.of => "most passing runs",
        _ => "passing runs",
    }
}

/// The callers of a step, unless the thread's preceding step has the same ones.
fn newly_called(steps: &[Step], at: usize) -> Option<String> {
    let step = steps.get(at).filter(|step| !step.via.is_empty())?;
    let mut earlier = steps.iter().take(at).rev();
    let before = earlier.find(|before| before.thread == step.thread);
    let is_said = before.is_some_and(|before| {
        before.via == step.via && before.place.function == step.place.function
    });
    (!is_said).then(|| callers::in_words(&step.via))
}

/// Width from which on an effect with its note stands below its line rather than leave the source text less than
/// [`LEAST_TEXT`].
const LONG_NOTE: usize = 48;

/// Width of source text that can be read.
const LEAST_TEXT: usize = 30;

/// Effects and notes, in separate columns if these fit into `room`.
fn tails(steps: &[Step], cells: &[[String; 4]], room: usize) -> Vec<String> {
    let effects = cells.iter().map(|[.., effect]| effect.chars().count());
    let widest = effects.max().unwrap_or(0).min(MOST_COLUMN);
    let join = |width: usize| {
        let joined = steps.iter().zip(cells).map(move |(step, [.., effect])| {
            format!("{effect:width$}  {}", note(step))
                .trim_end()
                .to_owned()
        });
        joined.collect::<Vec<_>>()
    };
    let columns = join(widest);
    match columns.iter().all(|line| line.chars().count() <= room) {
        true => columns,
        false => join(0),
    }
}

fn cells(step: &Step) -> [String; 4] {
    [
        step.thread.clone(),
        short(&step.place),
        step.place.text.clone(),
        step.effect.clone(),
    ]
}

fn note(step: &Step) -> String {
    match step.note.as_str() {
        "" => String::new(),
        note @ ("in between" | "too early") => format!("<- {note}"),
        note => note.to_owned(),
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

/// Words filled into lines of this width.
fn wrapped(text: &str, first: &str, next: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, next.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// One line over several explanations; empty for one or none.
pub fn summary(explanations: &[Explanation]) -> String {
    match explanations {
        [] | [_] => String::new(),
        many => {
            let runs: usize = many.iter().map(|explanation| explanation.runs.len()).sum();
            format!(
                "{} explanations for {runs} failing runs, the best first.\n",
                many.len()
            )
        }
    }
}

/// Message for a corpus without failing runs.
pub fn nothing_failed(corpus: &Corpus) -> String {
    let passed = corpus.passing().count();
    let other = corpus.len() - passed;
    let runs = if passed == 1 { "run" } else { "runs" };
    let mut text = match passed {
        0 => "There are no complete runs yet. Record some: unsnarl record --until-failing 3 -- PROGRAM\n".to_owned(),
        _ => format!(
            "Nothing failed: {passed} {runs} passed. To look for failures: unsnarl record --until-failing 1 -- {}\n",
            shell::command(&corpus.key().command)
        ),
    };
    if other > 0 {
        text.push_str(&format!("{other} more were cut short and say nothing.\n"));
    }
    text
}

/// Advice for failing runs without an explanation after an analysis that ended for this reason, in a sentence.
pub fn next_for_unexplained(corpus: &Corpus, stopped: StopReason) -> &'static str {
    match corpus.counts().passing() {
        _ if matches!(stopped, StopReason::OutOfTime | StopReason::Cancelled) => {
            "The analysis did not come to an end: with more time it may find a cause."
        }
        0 => {
            "There was no passing run to compare with: record more runs, or take in those that were left out."
        }
        1..10 => {
            "There were few passing runs to compare with: record more runs, or take in those that were left out."
        }
        _ => {
            "No order of accesses was found that only the failing runs have: the cause may be a number of accesses rather than their order, lie in code that was not compiled by unsnarl, or be the order of calls that the operating system executes, such as `close`. More failing runs may show it: record with another --seed."
        }
    }
}

/// Message about failing runs without an explanation.
pub fn unexplained(corpus: &Corpus, names: &[String], stopped: StopReason) -> String {
    let Some(run) = names.first().and_then(|name| corpus.get(name)) else {
        return String::new();
    };
    let message = run
        .failure
        .as_ref()
        .map_or(run.outcome.name(), |failure| failure.message.as_str());
    let at = run
        .failure
        .as_ref()
        .and_then(|failure| failure.site.as_ref());
    let at = at.map_or(String::new(), |site| format!(" at {}", short(site)));
    let more = match names.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let next = next_for_unexplained(corpus, stopped);
    format!(
        "{}{more} failed without an explanation: {message}{at}.\n{next}\n",
        run.name
    )
}
