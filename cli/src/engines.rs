//! `unsnarl explain --engine`: findings of single engines, as their methods report them.

use crate::{
    arguments::{self, Explain, ExplainFormat, Occurrence},
    dsp as written,
    explain::{CorpusRow, JSON_VERSION, LeftOutFile, broken, corpus_row, name_corpus, stopped},
    invariants, message,
    own_file::own_file,
    record::stop_flag,
};
use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use serde::Serialize;
use std::{process::ExitCode, time::Instant};
use unsnarl_core::{
    Budget, Corpora, Corpus, Explanation, StopReason,
    facts::short,
    findings::{Answer, Engine, Finding, FoundSite, Questions, ask, elsewhere, pairs},
    mining,
    render::MOST_COLUMN,
};
use unsnarl_lab::{Executing, dsp, load::Loaded};

/// Number of findings of an answer that are printed; JSON has all.
const SHOWN: usize = 10;

/// A corpus with the engines' answers.
struct AskedCorpus<'a> {
    corpus: &'a Corpus,
    answers: Vec<Answer>,
    /// Answer of the engine dsp, if it was asked.
    dsp: Option<dsp::ProjectionAnswer>,
    /// Answer of the engine invariants, if it was asked.
    invariants: Option<invariants::InvariantAnswer>,
    unexplained: Vec<String>,
}

impl AskedCorpus<'_> {
    fn finds_something(&self) -> bool {
        let mut answers = self.answers.iter();
        let projects =
            |answer: &dsp::ProjectionAnswer| answer.failures.iter().any(|one| one.told.is_ok());
        let tells = |answer: &invariants::InvariantAnswer| {
            answer.failures.iter().any(|one| one.told.is_ok())
        };
        answers.any(|answer| !answer.findings.is_empty())
            || self.dsp.as_ref().is_some_and(projects)
            || self.invariants.as_ref().is_some_and(tells)
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
        engines: arguments.engine.iter().filter_map(comparing).collect(),
        pairs: pairs::PairOptions {
            procedures: arguments.procedure.clone(),
        },
        mining: mining_options(arguments)?,
    };
    if arguments.format == ExplainFormat::Svg {
        written::check_one_way(corpora)?;
    }
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
    let projecting = dsp::ProjectionRequest {
        with: &with,
        no_run: arguments.no_run,
        solve: arguments.solve,
        solver: arguments.solver.options(),
        program: arguments.program.as_deref(),
        budget,
    };
    let telling = invariants::InvariantQuestion {
        level: arguments.level,
        loaded,
        budget,
        stop: &stop,
        executing: Instant::now()
            .checked_add(arguments.run_budget)
            .filter(|_| !arguments.no_run)
            .map(|until| (&given, until)),
    };
    let mut asked = Vec::new();
    for corpus in corpora.iter() {
        let mut about = about(corpora, corpus, &questions, budget);
        if arguments.engine.contains(&arguments::EngineName::Dsp) {
            about.dsp = Some(dsp::ask(corpus, &projecting));
        }
        if arguments
            .engine
            .contains(&arguments::EngineName::Invariants)
        {
            about.invariants = Some(invariants::ask(corpus, &telling));
        }
        if !about.finds_something() {
            about.unexplained = corpus.failing().map(|run| run.name.clone()).collect();
        }
        asked.push(about);
    }
    let answers: Vec<&dsp::ProjectionAnswer> = asked
        .iter()
        .filter_map(|about| about.dsp.as_ref())
        .collect();
    match arguments.format {
        ExplainFormat::Text => print_text(&asked),
        ExplainFormat::Json => print_json(&asked, loaded)?,
        ExplainFormat::Dot => written::print_dot(&answers)?,
        ExplainFormat::Svg => written::print_svg(&answers)?,
        ExplainFormat::Markdown
        | ExplainFormat::Lines
        | ExplainFormat::Html
        | ExplainFormat::Sarif => {
            bail!("no engine answers in this format by itself")
        }
    }
    Ok(ExitCode::from(status(&asked)))
}

fn comparing(asked: &arguments::EngineName) -> Option<Engine> {
    match asked {
        arguments::EngineName::Comparing(engine) => Some(*engine),
        arguments::EngineName::Dsp | arguments::EngineName::Invariants => None,
    }
}

fn mining_options(arguments: &Explain) -> Result<mining::MiningOptions> {
    let sample = match arguments.sample.as_slice() {
        [] => None,
        &[failing, passing, seed] => Some(mining::Sample {
            seed: u64::from(seed),
            failing: failing as usize,
            passing: passing as usize,
        }),
        _ => bail!("--sample takes three numbers: failing runs, passing runs, seed, as in 20,20,1"),
    };
    Ok(mining::MiningOptions {
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
        ..mining::MiningOptions::default()
    })
}

fn about<'a>(
    corpora: &Corpora,
    corpus: &'a Corpus,
    questions: &Questions,
    budget: &Budget,
) -> AskedCorpus<'a> {
    let mut answers = ask(corpus, questions, budget);
    if let Some(note) = elsewhere(corpora, corpus) {
        let lacking = |answer: &&mut Answer| matches!(answer.stopped, StopReason::Lacks(_));
        let lacking = answers.iter_mut().filter(lacking);
        lacking.for_each(|answer| answer.notes.push(note.clone()));
    }
    AskedCorpus {
        corpus,
        answers,
        dsp: None,
        invariants: None,
        unexplained: Vec::new(),
    }
}

/// The exit status: 0 nothing failed, 1 something was found, 3 runs failed and nothing was found.
fn status(asked: &[AskedCorpus<'_>]) -> u8 {
    if asked.iter().any(AskedCorpus::finds_something) {
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

fn print_text(asked: &[AskedCorpus<'_>]) {
    for (number, about) in asked.iter().enumerate() {
        if number > 0 {
            outln!();
        }
        if asked.len() > 1 {
            name_corpus(about.corpus);
        }
        for answer in &about.answers {
            print_answer(answer);
        }
        if let Some(answer) = &about.dsp {
            written::print(answer);
        }
        if let Some(answer) = &about.invariants {
            invariants::print(answer);
        }
    }
}

fn print_answer(answer: &Answer) {
    let count = match answer.findings.len() {
        0 => "nothing".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    outln!("{BOLD}{}:{BOLD:#} {count}", answer.engine.name());
    for (number, finding) in (1..).zip(answer.findings.iter().take(SHOWN)) {
        print_finding(number, finding);
    }
    let more = answer.findings.len().saturating_sub(SHOWN);
    if more > 0 {
        outln!("\n  {more} more with --format json");
    }
    if let Some(reason) = stopped(answer.stopped) {
        message::warning(&format!("{} ended early: {reason}", answer.engine.name()));
    }
    for note in &answer.notes {
        message::note(note);
    }
}

fn print_finding(number: usize, finding: &Finding) {
    outln!("\n  {number}. {}", finding.headline);
    let width = |part: fn(&FoundSite) -> usize| {
        let widest = finding.sites.iter().map(part).max();
        widest.unwrap_or(0).min(MOST_COLUMN)
    };
    let thread = width(|site| site.thread.chars().count());
    let place = width(|site| short(&site.place).chars().count());
    for site in &finding.sites {
        let at = short(&site.place);
        let (who, what) = (&site.thread, &site.access);
        let (location, text) = (site.variable(), &site.place.text);
        let row = format!("{who:thread$}  {at:place$}  {what:6} {MARK}{location}{MARK:#}  {text}");
        outln!("     {}", row.trim_start());
    }
    let runs = match finding.runs.as_slice() {
        [] => String::new(),
        [one] => format!(" in {one}"),
        [first, rest @ ..] => format!(" in {first} and {} more", rest.len()),
    };
    let (method, passing) = (&finding.method, finding.passing);
    outln!("     {DIM}{method}{runs}, compared with {passing} passing runs{DIM:#}");
}

/// The JSON document; `docs/explain-json.md` describes it.
#[derive(Serialize)]
struct FindingsDocument<'a> {
    version: u32,
    explanations: [Explanation; 0],
    answers: Vec<AnswerRow<'a>>,
    corpora: Vec<CorpusRow<'a>>,
    broken: Vec<LeftOutFile<'a>>,
}

/// Answer of an engine about a corpus.
#[derive(Serialize)]
struct AnswerRow<'a> {
    corpus: usize,
    engine: &'a str,
    stopped: Option<String>,
    notes: &'a [String],
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    dsp: Option<Vec<written::DifferenceRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invariants: Option<Vec<invariants::FailureRow<'a>>>,
}

fn print_json(asked: &[AskedCorpus<'_>], loaded: &Loaded) -> Result<()> {
    let answers = asked.iter().enumerate().flat_map(|(corpus, about)| {
        let compared = about.answers.iter().map(move |answer| AnswerRow {
            corpus,
            engine: answer.engine.name(),
            stopped: stopped(answer.stopped),
            notes: &answer.notes,
            findings: &answer.findings,
            dsp: None,
            invariants: None,
        });
        let projected = about.dsp.iter().map(move |answer| AnswerRow {
            corpus,
            engine: "dsp",
            stopped: stopped(answer.stopped),
            notes: &answer.notes,
            findings: &[],
            dsp: Some(
                answer
                    .failures
                    .iter()
                    .map(written::DifferenceRow::new)
                    .collect(),
            ),
            invariants: None,
        });
        let told = about.invariants.iter().map(move |answer| AnswerRow {
            corpus,
            engine: "invariants",
            stopped: stopped(answer.stopped),
            notes: &answer.notes,
            findings: &[],
            dsp: None,
            invariants: Some(
                answer
                    .failures
                    .iter()
                    .map(invariants::FailureRow::new)
                    .collect(),
            ),
        });
        compared.chain(projected).chain(told)
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
    let document = FindingsDocument {
        version: JSON_VERSION,
        explanations: [],
        answers: answers.collect(),
        corpora: corpora.collect(),
        broken: broken(loaded),
    };
    anstream::println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}
