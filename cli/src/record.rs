//! `unsnarl record`.

use crate::{
    arguments::{Chance, CoverageFormat, Record},
    message,
};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::IsTerminal,
    path::Path,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant, SystemTime},
};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    record::{
        Ended, Goal, Job, MinimizedRun, Observed, Recording, Summary, Tally, USUAL_CAP,
        coverage::Coverage, exhaustive::Progress, record, strategy::Strategy,
    },
    target,
    wrapper::build::Build,
};
use unsnarl_trace::{Chances, Event, EventId, Preemption, Run, ThreadId};

/// Records runs of a program.
pub fn run(arguments: Record) -> Result<ExitCode> {
    let coverage = arguments.coverage;
    let recording = recording(arguments)?;
    let name = recording.job.command.first().cloned().unwrap_or_default();
    let target = target::open_built_for(
        built_for(recording.strategy),
        &name,
        &recording.job.directory,
    )?;
    target
        .warnings
        .iter()
        .for_each(|warning| message::warning(warning));
    let stop = stop_flag()?;
    let begin = Instant::now();
    let bar = bar(&recording);
    let result = record(&recording, &target.program, &stop, |seen| {
        show(&bar, recording.goal, seen)
    });
    bar.finish_and_clear();
    let summary = result?;
    report(&recording, &summary, begin.elapsed());
    if let Some(how) = coverage {
        print_coverage(&summary.coverage, how)?;
    }
    Ok(ExitCode::from(whole_status(&summary)))
}

/// As [`status`], with what an interrupted search had seen before.
fn whole_status(summary: &Summary) -> u8 {
    match &summary.search {
        Some(search) if search.failing > 0 => 1,
        _ => status(&summary.tally),
    }
}

/// What a strategy needs the program to be built for.
fn built_for(strategy: Strategy) -> Build {
    match strategy {
        Strategy::Path => Build::Path,
        _ => Build::Exact,
    }
}

/// 0 every run passed, 1 a run failed, 2 the program cannot be recorded: no record is whole.
fn status(tally: &Tally) -> u8 {
    match tally.failing() {
        0 if tally.runs > 0 && tally.cut_short == tally.runs => crate::UNUSABLE,
        0 => 0,
        _ => 1,
    }
}

fn recording(arguments: Record) -> Result<Recording> {
    let chances = chances(&arguments);
    // A search ends by itself.
    let runs = match arguments.strategy {
        Strategy::Exhaustive(_) => arguments.runs.or(Some(u64::MAX)),
        _ => arguments.runs,
    };
    let goal = Goal::of(runs, arguments.until_failing);
    Ok(Recording {
        job: Job {
            command: arguments.command,
            directory: std::env::current_dir().context("the current folder cannot be found")?,
            stdin: arguments.stdin,
            output: if arguments.show_output {
                Output::Shown
            } else {
                Output::Kept
            },
            timeout: arguments.timeout,
            limits: Limits {
                events: arguments.max_events,
                steps: arguments.max_steps,
                ..Limits::default()
            },
            starter: Starter::default(),
        },
        strategy: arguments.strategy,
        chances,
        seed: arguments.seed.unwrap_or_else(new_seed),
        goal,
        keep_passing: arguments.keep_passing,
        minimize: arguments.minimize,
        filter: !arguments.no_filter,
        out: arguments.out,
    })
}

fn chances(arguments: &Record) -> Chances {
    let has = |chance| arguments.chances.contains(&chance);
    Chances {
        spurious_wakeups: has(Chance::SpuriousWakeups),
        early_timeouts: has(Chance::EarlyTimeouts),
        failing_tries: has(Chance::FailingTries),
        fail_malloc: arguments.fail_malloc,
    }
}

/// A seed that can be read aloud.
fn new_seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::from(now.subsec_micros())
}

/// Becomes true when the user interrupts; a second interruption ends at once.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        let unhandled = "cannot watch for signals";
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .context(unhandled)?;
        signal_hook::flag::register(signal, stop.clone()).context(unhandled)?;
    }
    Ok(stop)
}

fn bar(recording: &Recording) -> ProgressBar {
    let hidden = recording.job.output == Output::Shown || !std::io::stderr().is_terminal();
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(10)
    };
    let bar = ProgressBar::with_draw_target(Some(recording.goal.runs), target);
    // Until something fails, or a search ends, nobody knows how far it is.
    let template = match recording.goal.failing {
        _ if recording.goal.runs == u64::MAX => "{spinner} {pos} runs, {msg}",
        Some(_) => "{spinner} {pos} runs, {msg}",
        None => "{bar:24} {pos} of {len} runs, {msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, goal: Goal, seen: &Observed<'_>) {
    let failing = seen.tally.failing();
    let rate = seen.tally.runs as f64 / bar.elapsed().as_secs_f64().max(0.001);
    bar.set_message(match goal.failing {
        Some(wanted) => format!("{failing} of {wanted} failing ({rate:.0} runs/s)"),
        None => format!("{failing} failing ({rate:.0} runs/s)"),
    });
    bar.inc(1);
}

fn report(recording: &Recording, summary: &Summary, time: Duration) {
    for (problem, runs) in summary.problems.iter().take(10) {
        message::warning(&match runs {
            1 => format!("{problem} (in one run)"),
            runs => format!("{problem} (in {runs} runs)"),
        });
    }
    if summary.problems.len() > 10 {
        message::warning(&format!(
            "{} more problems are noted in the run files",
            summary.problems.len() - 10
        ));
    }
    let tally = &summary.tally;
    let rate = tally.runs as f64 / time.as_secs_f64().max(0.001);
    let seed = match summary.search {
        Some(_) => String::new(),
        None => format!(", seed {}", recording.seed),
    };
    anstream::eprintln!("{}, {rate:.0} runs/s{seed}", counts(tally));
    if tally.repeated > 0 {
        message::note(&format!(
            "{} runs were not kept: their conflicting steps came in the same order as in one that was",
            tally.repeated
        ));
    }
    if tally.not_kept > 0 {
        message::note(&format!(
            "{} of the passing runs were not kept (--keep-passing {})",
            tally.not_kept, recording.keep_passing
        ));
    }
    if let Some(line) = covered(&summary.coverage) {
        anstream::eprintln!("{line}");
    }
    summary.minimized.iter().for_each(tell_minimized);
    if summary.killed_before > 0 {
        message::note(
            "an earlier recording in this folder was killed: the runs that it had stored are whole, \
             the one that was running then is lost",
        );
    }
    if let Some(why) = &summary.not_copied {
        message::note(&format!(
            "the program was started anew for each run, which takes longer than a copy: {why}"
        ));
    }
    match summary.ended {
        Ended::Stopped => message::note("stopped; the runs so far are kept"),
        Ended::Cap => message::note(&format!(
            "ended after {} runs with fewer failing ones than wanted (-n sets how many are tried)",
            tally.runs
        )),
        Ended::Enough | Ended::Exhausted => {}
    }
    if let Some(search) = &summary.search {
        report_search(search);
    }
    anstream::eprintln!("runs are in {}", recording.out.display());
    if status(tally) == crate::UNUSABLE {
        message::error("no run was recorded to its end; the warnings say why");
    } else {
        anstream::eprintln!("  next: {}", next(recording, summary));
    }
}

/// `bound 0: all 3 schedules; bound 1: an estimated 22 % to 41 % of the schedules (22 explored)`
fn report_search(search: &Progress) {
    anstream::eprintln!("{search}");
    if let Some(limit) = search.blind_to() {
        message::note(&limit);
    }
    if search.strayed > 0 {
        message::warning(
            "the program does not repeat itself: it depends on something that is not recorded",
        );
    }
}

/// `100 runs: 93 passed, 5 failed, 2 deadlocked; 57 different`
fn counts(tally: &Tally) -> String {
    let kinds = [
        (tally.passed, "passed"),
        (tally.failed, "failed"),
        (tally.deadlocked, "deadlocked"),
        (tally.timed_out, "timed out"),
        (tally.cut_short, "cut short"),
    ];
    let seen: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    let runs = if tally.runs == 1 { "run" } else { "runs" };
    let seen = if seen.is_empty() {
        "none ended".to_owned()
    } else {
        seen.join(", ")
    };
    let different = match tally.different {
        different if different == tally.runs => String::new(),
        different => format!("; {different} different"),
    };
    format!("{} {runs}: {seen}{different}", tally.runs)
}

fn tell_minimized(minimized: &MinimizedRun) {
    let name = |path: &Path| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let from = name(&minimized.from);
    match &minimized.to {
        Some((file, run)) => {
            anstream::eprintln!("{}", needs(run));
            anstream::eprintln!("  {}, made from {from}", name(file));
        }
        None => message::warning(&format!(
            "{from} could not be repeated, so it was not minimized: it depends on something outside of the program"
        )),
    }
}

/// ``needs 1 preemption (of 12): main.2 at bank.c:31``
fn needs(run: &Run) -> String {
    let Some(minimized) = &run.meta.minimized else {
        return String::new();
    };
    let before = minimized.preemptions_before;
    let places: Vec<String> = minimized
        .preemptions
        .iter()
        .map(|preemption| place(run, preemption))
        .collect();
    let limit = match minimized.complete {
        true => "",
        false => " (ended at the limit of tries: fewer may do)",
    };
    match places.len() {
        0 => format!("needs no preemption{limit}: it fails when each thread runs until it waits"),
        1 => format!(
            "needs 1 preemption (of {before}){limit}: {}",
            places.join("")
        ),
        count => format!(
            "needs {count} preemptions (of {before}){limit}: {}",
            places.join(", then ")
        ),
    }
}

/// `main.2 at bank.c:31`; a thread that never went on stood `after` what it did last.
fn place(run: &Run, preemption: &Preemption) -> String {
    let thread = &run.meta.thread(preemption.thread).name;
    let (word, event) = match preemption.event {
        Some(event) => ("at", run.events.get(event)),
        None => ("after", last_of(run, preemption.thread)),
    };
    let site = event.map(|event| run.meta.site(event.site));
    match site.filter(|site| site.line != 0) {
        Some(site) => {
            let file = site.file.rsplit('/').next().unwrap_or_default();
            format!("{thread} {word} {file}:{}", site.line)
        }
        None => format!("{thread}, for {}", run.meta.thread(preemption.to).name),
    }
}

/// What a thread did last.
fn last_of(run: &Run, thread: ThreadId) -> Option<Event> {
    let mut threads = run.events.threads().iter();
    let last = threads.rposition(|&number| number == thread.0)?;
    run.events.get(EventId(u32::try_from(last).ok()?))
}

/// `interleavings: 9 of 14 pairs of places met in both orders`
fn covered(coverage: &Coverage) -> Option<String> {
    let pairs = coverage.pairs();
    (pairs > 0).then(|| {
        format!(
            "interleavings: {} of {pairs} pairs of places that share data met in both orders",
            coverage.covered()
        )
    })
}

/// The pairs, for `--coverage`.
fn print_coverage(coverage: &Coverage, how: CoverageFormat) -> Result<()> {
    let pairs = coverage.list();
    if how == CoverageFormat::Json {
        let list: Vec<_> = pairs.iter().collect();
        anstream::println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    for pair in &pairs {
        let orders = match (pair.first_before_second, pair.second_before_first) {
            (one, 0) => format!("only in this order ({one} times)"),
            (0, other) => format!("only the other way round ({other} times)"),
            (one, other) => format!("in both orders ({one} and {other} times)"),
        };
        anstream::println!(
            "{} -> {} on {}: {orders}",
            pair.first,
            pair.second,
            pair.data
        );
    }
    Ok(())
}

/// The command to type next.
fn next(recording: &Recording, summary: &Summary) -> String {
    if whole_status(summary) == 1 {
        return match recording.out.as_os_str() == crate::load::RUNS {
            true => "unsnarl explain".to_owned(),
            false => format!("unsnarl explain {}", recording.out.display()),
        };
    }
    let words: Vec<_> = recording
        .job
        .command
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let unfinished = summary.ended != Ended::Exhausted;
    let strategy = match recording.strategy {
        Strategy::Portfolio => String::new(),
        Strategy::Exhaustive(bound) if unfinished => {
            return format!(
                "the same command again goes on; or unsnarl record --strategy exhaustive:{} -- {}",
                bound.saturating_sub(1),
                words.join(" ")
            );
        }
        Strategy::Exhaustive(bound)
            if summary.search.as_ref().is_some_and(|it| !it.is_complete) =>
        {
            return format!(
                "unsnarl record --strategy exhaustive:{} -- {}",
                bound.saturating_add(1),
                words.join(" ")
            );
        }
        // The program is built for no other.
        Strategy::Path => "--strategy path ".to_owned(),
        _ => "--strategy portfolio ".to_owned(),
    };
    let more = match recording.goal.runs {
        u64::MAX => USUAL_CAP,
        runs => runs.saturating_mul(10),
    };
    format!(
        "unsnarl record {strategy}--until-failing 1 -n {more} -- {}",
        words.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_are_never_whole_are_no_success() {
        let tally = |passed, cut_short, failed| Tally {
            runs: passed + cut_short + failed,
            passed,
            cut_short,
            failed,
            ..Tally::default()
        };
        assert_eq!(status(&tally(3, 1, 0)), 0);
        assert_eq!(status(&tally(0, 4, 0)), 2);
        assert_eq!(status(&tally(0, 4, 1)), 1);
        assert_eq!(status(&Tally::default()), 0);
    }

    #[test]
    fn counts_name_what_was_seen() {
        let tally = Tally {
            runs: 7,
            passed: 4,
            timed_out: 3,
            different: 7,
            ..Tally::default()
        };
        assert_eq!(counts(&tally), "7 runs: 4 passed, 3 timed out");
        let tally = Tally {
            different: 2,
            ..tally
        };
        assert_eq!(counts(&tally), "7 runs: 4 passed, 3 timed out; 2 different");
        assert_eq!(counts(&Tally::default()), "0 runs: none ended");
    }
}
