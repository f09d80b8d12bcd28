//! `unsnarl test`.

mod arguments;
mod choose;
mod junit;
mod tap;
mod text;

pub use arguments::TestArguments;

use crate::{message, progress, record, shard};
use anyhow::{Context, Result, bail};
use arguments::TestFormat;
use indicatif::ProgressBar;
use std::{
    fs::File,
    path::Path,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use unsnarl_recorder::{
    log::Limits,
    record::USUAL_RUNS,
    suite::{
        CaseReport, CaseVerdict, Effort, ExecutedFunctions, Suite, SuiteSettings, TestCase,
        record_all,
    },
};
use unsnarl_trace::{Chances, Criteria};

/// Records the test cases of a program or a build folder.
pub fn run(arguments: TestArguments) -> Result<ExitCode> {
    let directory = std::env::current_dir().context("the current folder cannot be found")?;
    let shard = arguments.shard.map(shard::choose).transpose()?;
    let mut suite = choose::suite(&arguments, &directory)?;
    if let Some(chosen) = shard {
        suite.keep_shard(chosen.shard, &chosen.hidden);
        if suite.cases.is_empty() {
            message::note("there are fewer cases than shards: this one has none");
        }
    }
    let mut known = ExecutedFunctions::read(&arguments.out);
    if arguments.changed {
        let count = known.put_changed_first(&mut suite);
        message::note(&format!(
            "{count} of {} cases are new or have changed functions: they come first",
            suite.cases.len()
        ));
    }
    suite
        .warnings
        .iter()
        .for_each(|text| message::warning(text));
    // Before the work: a file that cannot be written would waste it.
    let junit = arguments.junit.as_deref().map(create).transpose()?;
    let settings = settings(&arguments);
    let (stop, begin) = (record::stop_flag()?, Instant::now());
    let teller = Teller::new(&suite, arguments.format);
    let reports = record_all(&suite.cases, &settings, &stop, &|index, report| {
        teller.tell(&suite, index, report);
    });
    teller.bar.finish_and_clear();
    let results = Results {
        suite: &suite,
        reports: &reports,
        seed: settings.seed,
        time: begin.elapsed(),
    };
    known.note(&suite, &reports);
    if let Err(error) = known.write(&arguments.out) {
        message::warning(&format!(
            "the functions of the cases are not kept, so that --changed will take them for new: {error}"
        ));
    }
    if let Some((file, path)) = junit {
        let written = junit::write(&results, file);
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    text::summarize(&results, &settings);
    Ok(ExitCode::from(results.status()))
}

fn create(path: &Path) -> Result<(File, &Path)> {
    let file = File::create(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    Ok((file, path))
}

fn settings(arguments: &TestArguments) -> SuiteSettings {
    SuiteSettings {
        jobs: record::crew(arguments.jobs),
        effort: arguments.budget.map_or(Effort::Runs, Effort::Budget),
        runs: match arguments.budget {
            Some(_) => USUAL_RUNS,
            None => arguments.runs,
        },
        case_time: arguments.case_time,
        seed: arguments.seed.unwrap_or_else(record::new_seed),
        strategy: arguments.strategy,
        chances: Chances {
            spurious_wakeups: true,
            failing_tries: true,
            ..Chances::default()
        },
        timeout: arguments.timeout,
        limits: Limits::default(),
        criteria: Criteria {
            expected_exits: arguments.expect_exit.clone(),
            allow_use_after_free: arguments.allow_use_after_free,
        },
        keep_passing: arguments.keep_passing,
        out: arguments.out.clone(),
        max_disk: arguments.max_disk,
    }
}

/// A recorded suite.
struct Results<'a> {
    suite: &'a Suite,
    reports: &'a [CaseReport],
    seed: u64,
    time: Duration,
}

impl<'a> Results<'a> {
    /// The cases with their reports.
    fn cases(&self) -> impl Iterator<Item = (&'a TestCase, &'a CaseReport)> {
        self.suite.cases.iter().zip(self.reports)
    }

    /// Number of cases with such a verdict.
    fn count(&self, is: impl Fn(&CaseVerdict) -> bool) -> usize {
        let verdicts = self.reports.iter().map(|report| &report.verdict);
        verdicts.filter(|verdict| is(verdict)).count()
    }

    /// The exit status.
    fn status(&self) -> u8 {
        let failed = self.count(|verdict| matches!(verdict, CaseVerdict::Failed(_)));
        let passed = self.count(|verdict| *verdict == CaseVerdict::Passed);
        let disabled = self.count(|verdict| *verdict == CaseVerdict::Disabled);
        match (failed, passed) {
            (1.., _) => 1,
            (0, 0) if disabled < self.reports.len() => crate::UNUSABLE,
            _ => 0,
        }
    }
}

/// Prints a case when it is done.
struct Teller {
    format: TestFormat,
    bar: ProgressBar,
    /// Cases that were printed.
    told: Mutex<usize>,
}

impl Teller {
    fn new(suite: &Suite, format: TestFormat) -> Teller {
        let cases = suite.cases.len() as u64;
        let bar = progress::bar(cases, "{bar:24} {pos} of {len} cases, {elapsed}");
        if format == TestFormat::Tap {
            tap::begin(suite.cases.len());
        }
        Teller {
            format,
            bar,
            told: Mutex::default(),
        }
    }

    fn tell(&self, suite: &Suite, index: usize, report: &CaseReport) {
        let Some(case) = suite.cases.get(index) else {
            return;
        };
        let name = shown(suite, case);
        // One after the other, for the lines of a case belong together.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        *told += 1;
        self.bar.suspend(|| match self.format {
            TestFormat::Text => text::tell(&name, report),
            TestFormat::Tap => tap::tell(*told, &name, report),
        });
        self.bar.inc(1);
    }
}

/// The name of a case, with its program where there are several, unless the program has the same name.
fn shown(suite: &Suite, case: &TestCase) -> String {
    match suite.has_several_programs() && case.suite != case.name {
        true => format!("{}: {}", case.suite, case.name),
        false => case.name.clone(),
    }
}

/// Fails when there is nothing to record.
fn check_cases(suite: &Suite, patterns: &[String]) -> Result<()> {
    match (suite.cases.is_empty(), patterns) {
        (false, _) => Ok(()),
        (true, []) => bail!("there are no test cases"),
        (true, patterns) => bail!(
            "no test case has {} in its name\n  next: leave out the names to see all cases",
            patterns.join(" or ")
        ),
    }
}
