//! `unsnarl explain --engine`: what single engines find, as their methods report it.

use crate::{
    arguments::{Explain, Format, Occurrence},
    explain::{Broken, CorpusRow, JSON_VERSION, broken, corpus_row, name_corpus, stopped},
    load::Loaded,
    message,
};
use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use serde::Serialize;
use std::process::ExitCode;
use unsnarl_core::{
    Budget, Corpora, Corpus, Explanation, StopReason,
    facts::short,
    findings::{Answer, Finding, FoundSite, Questions, ask, elsewhere, pairs},
    mining,
};

/// Findings of an answer that are printed; JSON has all.
const SHOWN: usize = 10;

/// A corpus and what the engines say about it.
struct Asked<'a> {
    corpus: &'a Corpus,
    answers: Vec<Answer>,
    unexplained: Vec<String>,
}

impl Asked<'_> {
    fn finds_something(&self) -> bool {
        self.answers
            .iter()
            .any(|answer| !answer.findings.is_empty())
    }
}

/// Asks the engines that were named about all corpora.
pub fn run(
    arguments: &Explain,
    corpora: &Corpora,
    loaded: &Loaded,
    budget: &Budget,
) -> Result<ExitCode> {
    let questions = Questions {
        engines: arguments.engine.clone(),
        pairs: pairs::Options {
            procedures: arguments.procedure.clone(),
        },
        mining: mining_options(arguments)?,
    };
    let asked: Vec<Asked<'_>> = corpora
        .iter()
        .map(|corpus| about(corpora, corpus, &questions, budget))
        .collect();
    match arguments.format {
        Format::Text => print_text(&asked),
        Format::Json => print_json(&asked, loaded)?,
    }
    Ok(ExitCode::from(status(&asked)))
}

fn mining_options(arguments: &Explain) -> Result<mining::Options> {
    let sample = match arguments.sample.as_slice() {
        [] => None,
        &[failing, passing, seed] => Some(mining::Sample {
            seed: u64::from(seed),
            failing: failing as usize,
            passing: passing as usize,
        }),
        _ => bail!("--sample takes three numbers: failing runs, passing runs, seed, as in 20,20,1"),
    };
    Ok(mining::Options {
        min_support: arguments.min_support,
        longest: usize::from(arguments.max_pattern),
        mapping: match arguments.occurrence {
            Occurrence::Dependencies => mining::Mapping::Dependencies,
            Occurrence::Macros => mining::Mapping::MacroTraces,
            Occurrence::Events => mining::Mapping::OriginalTraces,
        },
        subset: mining::Subset {
            switches: arguments.max_switches,
            sample,
        },
        ..mining::Options::default()
    })
}

fn about<'a>(
    corpora: &Corpora,
    corpus: &'a Corpus,
    questions: &Questions,
    budget: &Budget,
) -> Asked<'a> {
    let mut answers = ask(corpus, questions, budget);
    if let Some(note) = elsewhere(corpora, corpus) {
        let lacking = |answer: &&mut Answer| matches!(answer.stopped, StopReason::Lacks(_));
        let lacking = answers.iter_mut().filter(lacking);
        lacking.for_each(|answer| answer.notes.push(note.clone()));
    }
    let mut asked = Asked {
        corpus,
        answers,
        unexplained: Vec::new(),
    };
    if !asked.finds_something() {
        asked.unexplained = corpus.failing().map(|run| run.name.clone()).collect();
    }
    asked
}

/// 0 nothing failed, 1 something was found, 3 runs failed and nothing was found.
fn status(asked: &[Asked<'_>]) -> u8 {
    if asked.iter().any(Asked::finds_something) {
        1
    } else if asked.iter().any(|asked| !asked.unexplained.is_empty()) {
        3
    } else {
        0
    }
}

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const MARK: Style = AnsiColor::Yellow.on_default();

fn print_text(asked: &[Asked<'_>]) {
    for (number, about) in asked.iter().enumerate() {
        if number > 0 {
            anstream::println!();
        }
        if asked.len() > 1 {
            name_corpus(about.corpus);
        }
        for answer in &about.answers {
            print_answer(answer);
        }
    }
}

fn print_answer(answer: &Answer) {
    let count = match answer.findings.len() {
        0 => "nothing".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    anstream::println!("{BOLD}{}:{BOLD:#} {count}", answer.engine.name());
    for (number, finding) in (1..).zip(answer.findings.iter().take(SHOWN)) {
        print_finding(number, finding);
    }
    let more = answer.findings.len().saturating_sub(SHOWN);
    if more > 0 {
        anstream::println!("\n  {more} more with --format json");
    }
    if let Some(reason) = stopped(answer.stopped) {
        message::warning(&format!("{} ended early: {reason}", answer.engine.name()));
    }
    for note in &answer.notes {
        message::note(note);
    }
}

fn print_finding(number: usize, finding: &Finding) {
    anstream::println!("\n  {number}. {}", finding.headline);
    let width = |part: fn(&FoundSite) -> usize| finding.sites.iter().map(part).max().unwrap_or(0);
    let thread = width(|site| site.thread.chars().count());
    let place = width(|site| short(&site.place).chars().count());
    for site in &finding.sites {
        let at = short(&site.place);
        let (who, what) = (&site.thread, &site.access);
        let (location, text) = (site.variable(), &site.place.text);
        let row = format!("{who:thread$}  {at:place$}  {what:6} {MARK}{location}{MARK:#}  {text}");
        anstream::println!("     {}", row.trim_start());
    }
    let runs = match finding.runs.as_slice() {
        [] => String::new(),
        [one] => format!(" in {one}"),
        [first, rest @ ..] => format!(" in {first} and {} more", rest.len()),
    };
    let (method, passing) = (&finding.method, finding.passing);
    anstream::println!("     {DIM}{method}{runs}, compared with {passing} passing runs{DIM:#}");
}

/// The document; `docs/explain-json.md` describes it.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    explanations: [Explanation; 0],
    answers: Vec<AnswerRow<'a>>,
    corpora: Vec<CorpusRow<'a>>,
    broken: Vec<Broken<'a>>,
}

/// What an engine says about a corpus.
#[derive(Serialize)]
struct AnswerRow<'a> {
    corpus: usize,
    engine: &'a str,
    stopped: Option<String>,
    notes: &'a [String],
    findings: &'a [Finding],
}

fn print_json(asked: &[Asked<'_>], loaded: &Loaded) -> Result<()> {
    let answers = asked.iter().enumerate().flat_map(|(corpus, about)| {
        about.answers.iter().map(move |answer| AnswerRow {
            corpus,
            engine: answer.engine.name(),
            stopped: stopped(answer.stopped),
            notes: &answer.notes,
            findings: &answer.findings,
        })
    });
    let corpora = asked.iter().map(|about| {
        let mut early = about.answers.iter().map(|answer| answer.stopped);
        let early = early.rfind(|stopped| *stopped != StopReason::Complete);
        corpus_row(
            about.corpus,
            &about.unexplained,
            early.unwrap_or(StopReason::Complete),
        )
    });
    let document = Document {
        version: JSON_VERSION,
        explanations: [],
        answers: answers.collect(),
        corpora: corpora.collect(),
        broken: broken(loaded),
    };
    anstream::println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}
