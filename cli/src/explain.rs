//! `unsnarl explain`.

mod current;
mod json;

pub use json::{CorpusRow, JSON_VERSION, LeftOutFile, broken, corpus_row};

use crate::{
    arguments::{EngineName, Explain, ExplainFormat},
    engines, guarded_by, message,
    own_file::own_file,
    progress::Working,
    record::stop_flag,
    sarif, suppress,
    suppressions::SuppressionFile,
    terminal,
};
use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    process::ExitCode,
    sync::atomic::Ordering,
};
use unsnarl_core::{
    Budget, Corpus, CorpusKey, Explanation, StopReason,
    beside::{Passing, passing as passing_order},
    render::{self, TextWidth},
    suppressions::{FILE, Suppressed},
};
use unsnarl_lab::{
    Executing,
    cancel::cancellable,
    load::{self, Loaded},
    pipeline::{self, BuildFinding, Rerun},
    sources::is_other,
};
use unsnarl_trace::{OrderMode, shell};

/// Number of broken files that are named one by one.
const NAMED_BROKEN: usize = 10;

/// Share of the time for reading and summarizing runs, in hundredths: the rest is for the analysis.
const SUMMARIZING: u32 = 60;

/// Explains the failing runs.
pub fn run(arguments: &Explain) -> Result<ExitCode> {
    check_format(arguments)?;
    let budget = Budget::lasting(arguments.budget);
    let mut loaded = load::load_within(arguments.place.as_deref(), arguments.memory)?;
    name_broken(&loaded);
    if loaded.runs.is_empty() {
        bail!(
            "none of the {} run files can be read\n  next: record again: unsnarl record -- ./prog",
            loaded.broken.len()
        );
    }
    name_lacks(&loaded);
    if !arguments.all_builds {
        name_outdated(loaded.leave_outdated());
    }
    let sources = BuildSources::of(&loaded);
    let corpora = loaded.summarize(&budget.percent(SUMMARIZING));
    name_left_out(&loaded);
    if arguments.guarded_by {
        return guarded_by::run(arguments, &loaded);
    }
    if !arguments.engine.is_empty() {
        return engines::run(arguments, &corpora, &loaded, &budget);
    }
    let suppressions = SuppressionFile::read(&suppress::project(arguments.place.as_deref()))?;
    let mut findings = pipeline::compare(&corpora, &loaded, &budget);
    for finding in &mut findings {
        finding.suppressed = suppressions.take(&mut finding.explanations);
    }
    settle(&mut findings, arguments, &loaded, &budget)?;
    // Experiments may have told what somebody has called harmless.
    for finding in &mut findings {
        let told = suppressions.take(&mut finding.explanations);
        finding.suppressed.extend(told);
    }
    // Without a failure nothing tells whether a suppression is of use.
    if corpora
        .iter()
        .any(|corpus| corpus.failing().next().is_some())
    {
        let suppressed: Vec<Suppressed> =
            self::suppressed(&findings).into_iter().cloned().collect();
        suppressions
            .unused(&suppressed)
            .iter()
            .for_each(|unused| message::note(unused));
    }
    keep(&findings, &loaded);
    match arguments.format {
        ExplainFormat::Json => json::print(&findings, &loaded)?,
        ExplainFormat::Markdown => print_markdown(&findings),
        ExplainFormat::Lines => print_lines(&findings, &loaded),
        ExplainFormat::Html => anstream::print!("{}", page(&findings, &loaded)),
        ExplainFormat::Sarif => print_sarif(&findings, &loaded)?,
        ExplainFormat::Dot => print_dot(&findings),
        ExplainFormat::Text | ExplainFormat::Svg => print_text(&findings, &sources, arguments.why),
    }
    Ok(ExitCode::from(status(&findings)))
}

/// Keeps what is told, so that other commands find it by its name.
fn keep(findings: &[BuildFinding<'_>], loaded: &Loaded) {
    let explanations = findings.iter().flat_map(|finding| &finding.explanations);
    if let Err(error) = load::keep_told(&loaded.folder, explanations.cloned().collect()) {
        message::warning(&format!(
            "explanations that experiments have found are not known by their ids to other commands: {error:#}"
        ));
    }
}

/// Checks that the engines that answer support the format.
fn check_format(arguments: &Explain) -> Result<()> {
    use ExplainFormat::{Html, Lines, Markdown, Sarif, Svg};
    let by_dsp = arguments.engine.contains(&EngineName::Dsp);
    match arguments.format {
        Svg if !by_dsp => bail!(
            "only the engine dsp draws SVG\n  next: unsnarl explain --engine dsp --format svg, or --format html"
        ),
        Markdown | Lines | Html | Sarif if !arguments.engine.is_empty() => bail!(
            "Markdown, lines, HTML and SARIF are for explanations, not for the answer of one engine\n  next: leave --engine out"
        ),
        ExplainFormat::Dot if !arguments.engine.is_empty() && !by_dsp => bail!(
            "the engines that compare runs draw no graph\n  next: --engine dsp, or leave --engine out"
        ),
        _ => Ok(()),
    }
}

/// Executes what is claimed and tries what is suggested, unless the user has forbidden it.
fn settle(
    findings: &mut [BuildFinding<'_>],
    arguments: &Explain,
    loaded: &Loaded,
    budget: &Budget,
) -> Result<()> {
    let stop = stop_flag()?;
    let given = arguments.given();
    let unsnarl = own_file()?;
    let with = Executing {
        given: &given,
        times: arguments.times,
        loaded,
        unsnarl: &unsnarl,
        stop: &stop,
    };
    let rerun = match arguments.no_run {
        true => Rerun::Not("--no-run"),
        false => Rerun::Within(&with, arguments.run_budget),
    };
    let _working = Working::on(match arguments.no_run {
        true => "explaining",
        false => "running the program again to check what is told",
    });
    cancellable(&stop, budget, || {
        pipeline::settle(findings, &rerun, loaded, budget);
    });
    if stop.load(Ordering::Relaxed) {
        message::note("stopped: what was not tried by then is told as if the time had been over");
    }
    Ok(())
}

/// The exit status: 0 nothing failed, 1 failures explained, 3 failed runs without an explanation.
fn status(findings: &[BuildFinding<'_>]) -> u8 {
    let unexplained = findings
        .iter()
        .any(|finding| !finding.unexplained.is_empty());
    let explained = findings
        .iter()
        .any(|finding| !finding.explanations.is_empty());
    match (explained, unexplained) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    }
}

/// Names broken files, which affect nothing but their own runs.
fn name_broken(loaded: &Loaded) {
    for (file, problem) in loaded.broken.iter().take(NAMED_BROKEN) {
        message::warning(&match problem.contains(file.as_str()) {
            true => format!("left out: {problem}"),
            false => format!("left out: {file}: {problem}"),
        });
    }
    if loaded.broken.len() > NAMED_BROKEN {
        message::warning(&format!(
            "{} more files were left out",
            loaded.broken.len() - NAMED_BROKEN
        ));
    }
}

/// Reports runs that were left out for lack of memory or time, with the next step.
pub fn name_left_out(loaded: &Loaded) {
    let left_out = &loaded.left_out;
    let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
    if left_out.memory > 0 {
        message::warning(&format!(
            "{} of {} runs are left out, the longest: they would take more than --memory allows\n  next: --memory {} takes all of them in",
            left_out.memory,
            left_out.all,
            megabytes(left_out.needed)
        ));
    }
    if left_out.time > 0 {
        message::warning(&format!(
            "{} of {} runs are left out: there was no time for them\n  next: --budget T gives it more time",
            left_out.time, left_out.all
        ));
    }
}

/// Names failing runs that say nothing about the newest build.
fn name_outdated(failing: usize) {
    let runs = match failing {
        0 => return,
        1 => "1 failing run of an older build is".to_owned(),
        many => format!("{many} failing runs of older builds are"),
    };
    message::note(&format!(
        "{runs} left out, since a newer build was recorded\n  next: --all-builds explains them, too"
    ));
}

/// Names data that traces of other tools lack.
fn name_lacks(loaded: &Loaded) {
    name_condensed(loaded);
    let imported = loaded
        .runs
        .iter()
        .filter(|(_, run)| run.meta.mode == OrderMode::Imported);
    for (name, run) in imported {
        for problem in &run.meta.problems {
            message::note(&format!("{name}: {problem}"));
        }
    }
}

/// Names the failing runs whose beginnings are not all there.
fn name_condensed(loaded: &Loaded) {
    let failing = loaded
        .runs
        .iter()
        .filter(|(_, run)| run.meta.outcome.is_failure());
    for (name, run) in failing {
        let part = run.meta.left_out.and_then(|left_out| left_out.condensed);
        if let Some(part) = part {
            message::note(&format!(
                "{name}: its log was full; of what came before event {} there is what threads get from each other, so a first access of a thread may be missing",
                part.events
            ));
        }
    }
}

/// The recorded sources of each build's runs.
struct BuildSources(BTreeMap<CorpusKey, BTreeSet<(String, String)>>);

impl BuildSources {
    fn of(loaded: &Loaded) -> BuildSources {
        let mut sources: BTreeMap<CorpusKey, BTreeSet<(String, String)>> = BTreeMap::new();
        for (_, run) in &loaded.runs {
            let rows = run
                .meta
                .sources
                .iter()
                .map(|row| (row.file.clone(), row.sha256.clone()));
            sources.entry(CorpusKey::of(run)).or_default().extend(rows);
        }
        BuildSources(sources)
    }

    /// Files whose lines have moved since the explanations were made.
    fn changed(&self, finding: &BuildFinding<'_>) -> Vec<String> {
        let named: BTreeSet<&str> = finding
            .explanations
            .iter()
            .flat_map(|explanation| &explanation.sites)
            .map(|site| site.place.file.as_str())
            .collect();
        let recorded = self.0.get(finding.corpus.key()).into_iter().flatten();
        recorded
            .filter(|(file, hash)| named.contains(file.as_str()) && is_other(file, hash))
            .map(|(file, _)| file.clone())
            .collect()
    }
}

fn print_text(findings: &[BuildFinding<'_>], sources: &BuildSources, why: bool) {
    for (number, finding) in findings.iter().enumerate() {
        if number > 0 {
            outln!();
        }
        if findings.len() > 1 {
            name_corpus(finding.corpus);
        }
        print_finding(finding, why);
        for file in sources.changed(finding) {
            message::note(&format!(
                "{file} has changed since these runs; lines are those of the recorded text"
            ));
        }
    }
}

/// Prints the heading of a corpus.
pub fn name_corpus(corpus: &Corpus) {
    outln!("{DIM}{}{DIM:#}\n", title(corpus));
}

fn title(corpus: &Corpus) -> String {
    let key = corpus.key();
    let build = key.build_id.get(..8).unwrap_or(&key.build_id);
    let command = shell::command(&key.command);
    format!("{command} (build {build}, {} runs)", corpus.len())
}

fn print_markdown(findings: &[BuildFinding<'_>]) {
    for finding in findings {
        outln!("## `{}`\n", title(finding.corpus));
        for explanation in &finding.explanations {
            outln!("{}", render::markdown(explanation));
        }
        for remark in remarks(finding) {
            outln!("{remark}\n");
        }
    }
}

fn print_lines(findings: &[BuildFinding<'_>], loaded: &Loaded) {
    let explanations = findings.iter().flat_map(|finding| &finding.explanations);
    for explanation in explanations {
        let now = current::current(explanation, loaded);
        anstream::print!("{}", render::lines(&now));
    }
}

fn page(findings: &[BuildFinding<'_>], loaded: &Loaded) -> String {
    let sections = findings.iter().map(|finding| render::ReportSection {
        title: title(finding.corpus),
        explanations: &finding.explanations,
        passing: passing(finding, loaded),
        remarks: remarks(finding),
    });
    render::html(&sections.collect::<Vec<_>>())
}

/// The first passing run for each explanation that took its steps in another order.
fn passing(finding: &BuildFinding<'_>, loaded: &Loaded) -> BTreeMap<String, Passing> {
    let mut found = BTreeMap::new();
    for explanation in &finding.explanations {
        let mut runs = loaded.runs.iter();
        let told = runs.find(|(name, _)| explanation.run == *name);
        let Some((_, told)) = told else { continue };
        let mut others = finding.corpus.passing().filter_map(|summary| {
            let mut runs = loaded.runs.iter();
            let (name, run) = runs.find(|(name, _)| *name == summary.name)?;
            passing_order(explanation, told, name, run)
        });
        if let Some(passing) = others.next() {
            found.insert(explanation.id.clone(), passing);
        }
    }
    found
}

/// A line about findings that are suppressed; `None` if there are none.
fn left_out(finding: &BuildFinding<'_>) -> Option<String> {
    let reasons: BTreeSet<&str> = finding
        .suppressed
        .iter()
        .map(|it| it.because.as_str())
        .collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    let count = match finding.suppressed.len() {
        0 => return None,
        1 => "1 finding is".to_owned(),
        more => format!("{more} findings are"),
    };
    Some(format!(
        "{count} suppressed by {FILE}: {}.",
        reasons.join("; ")
    ))
}

fn unexplained(finding: &BuildFinding<'_>) -> String {
    render::unexplained(
        finding.corpus,
        &finding.unexplained,
        finding.search_stopped(),
    )
}

/// Remarks besides the explanations.
fn remarks(finding: &BuildFinding<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = finding.refuted.iter().map(render::refuted).collect();
    remarks.extend(left_out(finding));
    remarks.extend(ended(finding.stopped));
    if !finding.unexplained.is_empty() {
        remarks.push(unexplained(finding));
    } else if finding.explanations.is_empty() && finding.suppressed.is_empty() && !finding.imported
    {
        remarks.push(render::nothing_failed(finding.corpus));
    }
    remarks
}

fn print_sarif(findings: &[BuildFinding<'_>], loaded: &Loaded) -> Result<()> {
    anstream::println!(
        "{}",
        sarif::sarif(&all(findings), &suppressed(findings), &loaded.broken)?
    );
    Ok(())
}

fn suppressed<'a>(findings: &'a [BuildFinding<'_>]) -> Vec<&'a Suppressed> {
    findings
        .iter()
        .flat_map(|finding| &finding.suppressed)
        .collect()
}

fn print_dot(findings: &[BuildFinding<'_>]) {
    anstream::print!("{}", render::dot(&all(findings)));
}

fn all<'a>(findings: &'a [BuildFinding<'_>]) -> Vec<&'a Explanation> {
    let rows = findings.iter();
    rows.flat_map(|finding| &finding.explanations).collect()
}

fn print_finding(finding: &BuildFinding<'_>, why: bool) {
    let width = terminal::columns().map_or(TextWidth::USUAL, TextWidth::of);
    let text = render::summary(&finding.explanations);
    if !text.is_empty() {
        outln!("{text}");
    }
    for (number, explanation) in finding.explanations.iter().enumerate() {
        if number > 0 {
            outln!();
        }
        print_coloured(&render::text_within(explanation, width));
        if why {
            out!("{DIM}{}{DIM:#}", render::why(explanation, width));
        }
    }
    for refuted in &finding.refuted {
        message::note(&render::refuted(refuted));
    }
    if let Some(line) = left_out(finding) {
        outln!("{line}");
    }
    match ended(finding.stopped) {
        Some(remark) => message::warning(&remark),
        None if !finding.explanations.is_empty()
            || !finding.suppressed.is_empty()
            || !finding.unexplained.is_empty() => {}
        None if finding.imported => outln!(
            "Nothing failed, as far as imported traces tell. What another order would show: unsnarl predict"
        ),
        None => {
            out!("{}", render::nothing_failed(finding.corpus));
        }
    }
    if !finding.unexplained.is_empty() {
        out!("{}", unexplained(finding));
    }
}

/// A sentence about the part of the runs that was not compared; `None` if all were.
fn ended(reason: StopReason) -> Option<String> {
    match reason {
        StopReason::TooMuch(what) => Some(format!(
            "Of {what} there are too many: those whose accesses are far from each other were not compared."
        )),
        reason => stopped(reason).map(|why| format!("The analysis ended early: {why}.")),
    }
}

/// The reason for which an analysis ended early; `None` if it examined everything.
pub fn stopped(reason: StopReason) -> Option<String> {
    match reason {
        StopReason::Complete => None,
        StopReason::OutOfTime => Some("its time was over (--budget)".to_owned()),
        StopReason::Cancelled => Some("it was cancelled".to_owned()),
        StopReason::TooMuch(what) => Some(format!("there are too many {what}")),
        StopReason::Lacks(what) => Some(format!("the runs lack {what}")),
    }
}

const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const MILD: Style = AnsiColor::Cyan.on_default().bold();
const MARK: Style = AnsiColor::Yellow.on_default();

/// Prints a text with colours for the word before the headline and the marks behind the steps.
fn print_coloured(text: &str) {
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("error:") {
            outln!("{BAD}error:{BAD:#}{rest}");
        } else if let Some(rest) = line.strip_prefix("note:") {
            outln!("{MILD}note:{MILD:#}{rest}");
        } else if let Some((step, mark)) = line.split_once("<-") {
            outln!("{step}{MARK}<-{mark}{MARK:#}");
        } else {
            outln!("{line}");
        }
    }
}
