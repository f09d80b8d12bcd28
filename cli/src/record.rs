//! `unsnarl record`.

use crate::{
    arguments::{Chance, CoverageFormat, RecordArguments},
    child::{self, Subject},
    message, progress,
    shard::{self, ChosenShard},
    summaries::Summarizer,
};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant, SystemTime},
};
use unsnarl_recorder::{
    launch::{Company, Output, Starter, addresses, parent::ParentProgram},
    log::Limits,
    permit::{ExecutionInputs, Permit},
    record::{
        Alone, CampaignEnd, CampaignTally, Discarded, Goal, Job, MinimizedRun, Observed, Recording,
        Summary, USUAL_CAP, coverage::Coverage, exhaustive::SearchProgress, record,
        strategy::Strategy,
    },
    target::Target,
    wrapper::build::BuildKind,
};
use unsnarl_trace::{
    Chances, Criteria, Event, EventId, Preemption, Run, RunFolder, ThreadId, input::RunInput,
    own_folder::Purpose, read_run, shell,
};

/// Records runs of a program.
pub fn run(arguments: RecordArguments) -> Result<ExitCode> {
    let coverage = arguments.coverage;
    let directory = std::env::current_dir().context("the current folder cannot be found")?;
    let stop = stop_flag()?;
    let shard = arguments.shard.map(shard::choose).transpose()?;
    check_seed(&arguments)?;
    let Subject { mut target, parent } = child::find(&arguments, &directory, &stop)?;
    recall(&mut target, &arguments.out);
    target
        .warnings
        .iter()
        .for_each(|warning| message::warning(warning));
    if let Some(obstacle) = addresses::obstacle() {
        message::warning(&obstacle);
    }
    let permit = permitted(&target, parent.as_ref(), &arguments.command, &directory);
    let child = arguments.record_child.clone();
    let mut summarizer = arguments.summaries.then(Summarizer::start).transpose()?;
    let recording = recording(arguments, directory, permit, parent, shard);
    let begin = Instant::now();
    let bar = bar(&recording);
    let result = record(&recording, &target.program, &stop, |seen| {
        show(&bar, recording.goal, seen);
        if let (Some(summarizer), Some(file)) = (&mut summarizer, seen.file) {
            summarizer.hand_over(file);
        }
    });
    bar.finish_and_clear();
    let summary = result?;
    if let Some(summarizer) = summarizer {
        summarize_rest(summarizer, &summary);
    }
    report(&recording, child.as_deref(), &summary, begin.elapsed());
    if let Some(how) = coverage {
        print_coverage(&summary.coverage, how)?;
    }
    Ok(ExitCode::from(whole_status(&summary)))
}

/// Hands over the runs that were made after the campaign, and waits for all summaries.
fn summarize_rest(mut summarizer: Summarizer, summary: &Summary) {
    let made = summary.minimized.iter().filter_map(|run| run.to.as_ref());
    made.for_each(|(file, _)| summarizer.hand_over(file));
    summarizer.finish();
}

/// Refuses shards of different campaigns: without a seed each machine would draw one.
fn check_seed(arguments: &RecordArguments) -> Result<()> {
    let draws = !matches!(arguments.strategy, Strategy::Exhaustive(_));
    if draws && arguments.shard.is_some() && arguments.seed.is_none() {
        bail!(
            "shards need the seed that they have in common\n  next: say --seed S, with the same number on all machines, \
             such as that of the pipeline"
        );
    }
    Ok(())
}

/// Makes sources that were saved after the build be read as in the last runs of this build: names before and after
/// have to agree.
fn recall(target: &mut Target, out: &Path) {
    let (folder, build) = (RunFolder::new(out), target.program.build_id().to_owned());
    target.program.recall_by(move || {
        let files = folder.files().unwrap_or_default();
        let newest = files.into_iter().max_by_key(|file| file.modified)?;
        // A file that cannot be read is told by whoever explains the runs.
        let run = read_run(&newest.path).ok()?;
        (run.meta.build_id == build).then_some(run.meta)
    });
}

/// Like [`status`], but takes the earlier part of an interrupted search into account.
fn whole_status(summary: &Summary) -> u8 {
    match &summary.search {
        Some(search) if search.failing > 0 => 1,
        _ if summary.ended == CampaignEnd::Stopped && summary.tally.runs == 0 => crate::UNUSABLE,
        _ => status(&summary.tally),
    }
}

/// The kind of build that a strategy needs.
pub fn built_for(strategy: Strategy) -> BuildKind {
    match strategy {
        Strategy::Path => BuildKind::Path,
        _ => BuildKind::Exact,
    }
}

/// The exit status: 0 every run passed, 1 a run failed, 2 nothing is known: no record is whole.
fn status(tally: &CampaignTally) -> u8 {
    match tally.failing() {
        0 if tally.runs > 0 && tally.cut_short + tally.assumed_away == tally.runs => {
            crate::UNUSABLE
        }
        0 => 0,
        _ => 1,
    }
}

/// The permission to run a program that the user has named for recording. Warns if its runs cannot be distinguished
/// from those of others later.
pub fn permitted(
    target: &Target,
    parent: Option<&ParentProgram>,
    command: &[OsString],
    directory: &Path,
) -> Permit {
    let (permit, problem) = Permit::recording(ExecutionInputs {
        program: target.program.path().to_owned(),
        build_id: target.program.build_id().to_owned(),
        parent: parent.cloned(),
        command: command.to_vec(),
        directory: directory.to_owned(),
        input: RunInput::default(),
    });
    match problem {
        Some(problem) => message::warning(&problem.to_string()),
        None => tell_temporary(),
    }
    permit
}

/// Warns that, without a home folder, the record of the user's own runs lasts only as long as temporary files do.
fn tell_temporary() {
    let Ok(folder) = Purpose::State.folder() else {
        return;
    };
    if Purpose::State.is_temporary(&folder) {
        message::note(&format!(
            "there is no home folder: that you recorded this is remembered in {}, and unsnarl explain runs the program again as long as that is there\n  \
             next: name a folder of your own in XDG_STATE_HOME, or say --trust later",
            folder.display()
        ));
    }
}

fn recording(
    arguments: RecordArguments,
    directory: PathBuf,
    permit: Permit,
    parent: Option<ParentProgram>,
    shard: Option<ChosenShard>,
) -> Recording {
    let chances = chances(&arguments);
    // A search ends by itself, and a schedule without choices is always the same.
    let usual = match arguments.strategy {
        Strategy::Exhaustive(_) => Some(u64::MAX),
        Strategy::Sequential if arguments.until_failing.is_none() => Some(1),
        _ => None,
    };
    let runs = arguments.runs.or(usual);
    let goal = Goal::of(runs, arguments.until_failing);
    let (shard, hidden) = shard.map(|chosen| (chosen.shard, chosen.hidden)).unzip();
    Recording {
        job: Job {
            permit,
            parent,
            command: arguments.command,
            directory,
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
                repeats_after: match arguments.every_access {
                    true => u64::MAX,
                    false => Limits::ALL_RECORDED,
                },
                ..Limits::default()
            },
            criteria: Criteria {
                expected_exits: arguments.expect_exit,
                allow_use_after_free: arguments.allow_use_after_free,
            },
            starter: Starter::with_crew(crew(arguments.jobs))
                .with_company(Company {
                    driver: arguments.driver,
                    time: arguments.time,
                    text: arguments.stop_when.map(String::into_bytes),
                })
                .with_environment(hidden.unwrap_or_default()),
        },
        strategy: arguments.strategy,
        chances,
        seed: arguments.seed.unwrap_or_else(new_seed),
        shard,
        goal: shard.map_or(goal, |shard| goal.of_shard(shard)),
        keep_passing: arguments.keep_passing,
        minimize: arguments.minimize,
        filter: !arguments.no_filter,
        names_data: arguments.coverage.is_some(),
        out: arguments.out,
        max_disk: arguments.max_disk,
    }
}

/// Runs to make at a time.
pub fn crew(jobs: Option<u64>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = jobs.map(|jobs| usize::try_from(jobs).unwrap_or(usize::MAX));
    wanted.unwrap_or_else(cores)
}

fn chances(arguments: &RecordArguments) -> Chances {
    let has = |chance| arguments.chances.contains(&chance);
    Chances {
        spurious_wakeups: has(Chance::SpuriousWakeups),
        early_timeouts: has(Chance::EarlyTimeouts),
        failing_tries: has(Chance::FailingTries),
        fail_malloc: arguments.fail_malloc,
        within_checks: false,
    }
}

/// A seed that can be read aloud.
pub fn new_seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::from(now.subsec_micros())
}

/// A flag that becomes true when the user interrupts; a second interruption ends the process at once.
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
    if recording.job.output == Output::Shown {
        return ProgressBar::hidden();
    }
    // Until something fails, or a search ends, nobody knows how far it is.
    let template = match recording.goal.failing {
        _ if recording.goal.runs == u64::MAX => "{spinner} {pos} runs, {msg}",
        Some(_) => "{spinner} {pos} runs, {msg}",
        None => "{bar:24} {pos} of {len} runs, {msg}",
    };
    progress::bar(recording.goal.runs, template)
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

fn report(recording: &Recording, child: Option<&OsStr>, summary: &Summary, time: Duration) {
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
    let shard = recording.shard;
    let shard = shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
    errln!("{}, {rate:.0} runs/s{seed}{shard}", counts(tally));
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
    if tally.add_nothing > 0 {
        message::note(&format!(
            "{} of the passing runs were not kept: runs of this size are kept when threads meet in an order that no \
             kept one shows, or when they come nearer to a failing run",
            tally.add_nothing
        ));
    }
    if tally.assumed_away > 0 {
        message::note(
            "runs in which an assumption of the program (unsnarl_assume) does not hold are left out: they neither pass \
             nor fail",
        );
    }
    if summary.left_out > 0 {
        message::note(&format!(
            "{} of the kept runs take more than {} steps: beyond these, accesses that a thread repeats while nobody else runs are left out (--every-access records them)",
            summary.left_out,
            Limits::ALL_RECORDED
        ));
    }
    if summary.condensed > 0 {
        message::note(&format!(
            "the logs of {} of the kept runs were full: of their older parts there is what threads get from each other (--max-events gives a log more room, docs/recording.md)",
            summary.condensed
        ));
    }
    tell_exits(summary);
    tell_discarded(&summary.discarded, recording.max_disk);
    if let Some(line) = covered(&summary.coverage) {
        errln!("{line}");
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
    if let Some(alone) = &summary.alone {
        tell_alone(alone);
    }
    match summary.ended {
        CampaignEnd::Stopped if tally.runs == 0 => {
            return message::error("stopped before a run had ended: nothing was recorded");
        }
        CampaignEnd::Stopped => message::note("stopped; the runs so far are kept"),
        CampaignEnd::CutShort => message::note(
            "ended early: what cut the first runs short would cut every other one short, too",
        ),
        CampaignEnd::Cap => message::note(&format!(
            "ended after {} runs with {} different failing ones, fewer than wanted (-n sets how many are tried)",
            tally.runs, tally.different_failing
        )),
        CampaignEnd::Enough | CampaignEnd::Exhausted if tally.runs == 0 => {
            message::note("there are fewer runs than shards: this one has none");
        }
        CampaignEnd::Enough | CampaignEnd::Exhausted => {}
    }
    if let Some(search) = &summary.search {
        report_search(search);
    }
    if status(tally) == crate::UNUSABLE {
        message::error("no run was recorded to its end; the messages above say why");
    } else if tally.runs > 0 {
        errln!("runs are in {}", recording.out.display());
        if let Some(next) = next(recording, child, summary) {
            errln!("  next: {next}");
        }
    }
}

/// Prints the reason why runs were not made side by side.
fn tell_alone(alone: &Alone) {
    let what = match (alone.are_all, alone.runs) {
        (true, _) => "only one run was made at a time".to_owned(),
        (false, 1) => "one run was made by itself".to_owned(),
        (false, runs) => format!("{runs} runs were made by themselves"),
    };
    message::note(&format!("{what}: {}", alone.why));
}

/// Reports exit statuses: their meaning is for the user to say.
fn tell_exits(summary: &Summary) {
    let failing = &summary.failing_exits;
    let Some((status, runs)) = failing.iter().next() else {
        return;
    };
    let zero = (summary.tally.passed > 0).then_some(0);
    let all: Vec<String> = zero
        .iter()
        .chain(failing.keys())
        .map(i32::to_string)
        .collect();
    let ended = match (failing.len(), runs) {
        (1, 1) => format!("one run ended with exit status {status}"),
        (1, runs) => format!("{runs} runs ended with exit status {status}"),
        _ => format!(
            "{} runs ended with other exit statuses than 0",
            failing.values().sum::<u64>()
        ),
    };
    message::note(&format!(
        "{ended}, which counts as a failure; if the program means no error by it, record with --expect-exit {}",
        all.join(",")
    ));
}

/// Reports runs that were removed or not kept, for lack of room or because they were of no use.
fn tell_discarded(discarded: &Discarded, most: u64) {
    let runs = |count: u64| if count == 1 { "run" } else { "runs" };
    match discarded.cut_short {
        0 => {}
        1 => message::note("one run was cut short; nothing of it is kept"),
        count => message::note(&format!(
            "{count} runs were cut short; nothing of them is kept"
        )),
    }
    let size = indicatif::BinaryBytes(most);
    let counts = [
        (discarded.removed, "old passing", "removed"),
        (discarded.removed_failing, "old failing", "removed"),
        (discarded.refused, "new", "not kept"),
    ];
    for (count, which, fate) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        let (runs, was) = (runs(count), if count == 1 { "was" } else { "were" });
        message::note(&format!(
            "{count} {which} {runs} {was} {fate}: the folder's runs may take {size} (--max-disk)"
        ));
    }
}

/// Prints the progress of a search: `bound 0: all 3 schedules; bound 1: an estimated 22 % to 41 % of the schedules
/// (22 explored)`
fn report_search(search: &SearchProgress) {
    errln!("{search}");
    if let Some(limit) = search.blind_to() {
        message::note(&limit);
    }
    if search.strayed > 0 {
        message::warning(
            "the program does not repeat itself: it depends on something that is not recorded",
        );
    }
}

/// The counts of a campaign: `100 runs: 93 passed, 5 failed, 2 deadlocked; 57 different`
fn counts(tally: &CampaignTally) -> String {
    let kinds = [
        (tally.passed, "passed"),
        (tally.failed, "failed"),
        (tally.deadlocked, "deadlocked"),
        (tally.timed_out, "timed out"),
        (tally.cut_short, "cut short"),
        (tally.assumed_away, "left out"),
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
            errln!("{}", needs(run));
            errln!("  {}, made from {from}", name(file));
        }
        None => message::warning(&format!(
            "{from} could not be repeated, so it was not minimized: it depends on something outside of the program"
        )),
    }
}

/// The preemptions of a minimized run: ``needs 1 preemption (of 12): main.2 at bank.c:31``
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

/// The place of a preemption: `main.2 at bank.c:31`; a thread that never went on stood `after` its last step.
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

/// The last step of a thread.
fn last_of(run: &Run, thread: ThreadId) -> Option<Event> {
    let mut threads = run.events.threads().iter();
    let last = threads.rposition(|&number| number == thread.0)?;
    run.events.get(EventId(u32::try_from(last).ok()?))
}

/// The coverage in a line: `interleavings: 9 of 14 pairs of places met in both orders`
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
        outln!(
            "{} -> {} on {}: {orders}",
            pair.first,
            pair.second,
            pair.data
        );
    }
    Ok(())
}

/// The command that explains the failing runs of a folder.
pub fn explaining(runs: &Path) -> String {
    match runs.as_os_str() == unsnarl_lab::load::RUNS {
        true => "unsnarl explain".to_owned(),
        false => format!("unsnarl explain {}", shell::word(runs)),
    }
}

/// The command to type next; none when every order has been tried.
fn next(recording: &Recording, child: Option<&OsStr>, summary: &Summary) -> Option<String> {
    if whole_status(summary) == 1 {
        return Some(explaining(&recording.out));
    }
    let command = given(&recording.job, child);
    let out = out_option(&recording.out);
    let unfinished = summary.ended != CampaignEnd::Exhausted;
    let strategy = match recording.strategy {
        Strategy::Portfolio => String::new(),
        Strategy::Exhaustive(bound) if unfinished => {
            return Some(format!(
                "the same command again goes on; or unsnarl record --strategy exhaustive:{} {out}{command}",
                bound.saturating_sub(1)
            ));
        }
        Strategy::Exhaustive(bound) => {
            let larger = bound.saturating_add(1);
            let is_complete = summary.search.as_ref().is_some_and(|it| it.is_complete);
            let larger = format!("unsnarl record --strategy exhaustive:{larger} {out}{command}");
            return (!is_complete).then_some(larger);
        }
        // The program is built for no other.
        Strategy::Path => "--strategy path ".to_owned(),
        _ => "--strategy portfolio ".to_owned(),
    };
    let more = match recording.goal.runs {
        u64::MAX => USUAL_CAP,
        runs => runs.saturating_mul(10),
    };
    Some(format!(
        "unsnarl record {strategy}{}{out}--until-failing 1 -n {more} {command}",
        criteria(&recording.job.criteria)
    ))
}

/// The option for a folder of runs that is not the usual one.
fn out_option(runs: &Path) -> String {
    match runs.as_os_str() == unsnarl_lab::load::RUNS {
        true => String::new(),
        false => format!("--out {} ", shell::word(runs)),
    }
}

/// Returns the options that the program is run with: `--stdin FILE --driver COMMAND -- PROG ARGUMENTS`.
fn given(job: &Job, child: Option<&OsStr>) -> String {
    let Company { driver, time, text } = job.starter.company();
    let time = time.map(|time| OsString::from(format!("{}ms", time.as_millis())));
    let text = text
        .as_deref()
        .map(|text| OsStr::from_bytes(text).to_owned());
    let stdin = job.stdin.clone().map(OsString::from);
    let options = [
        ("--stdin", stdin),
        ("--driver", driver.clone()),
        ("--record-child", child.map(OsStr::to_owned)),
        ("--for", time),
        ("--stop-when", text),
    ];
    let options = options.into_iter().filter_map(|(name, value)| {
        let value = value?;
        Some(format!("{name} {} ", shell::word(Path::new(&value))))
    });
    let options: String = options.collect();
    format!("{options}-- {}", shell::command(&job.command))
}

/// The options for the criteria of a failure.
fn criteria(criteria: &Criteria) -> String {
    let mut options = String::new();
    if !criteria.expected_exits.is_empty() {
        let exits: Vec<String> = criteria.expected_exits.iter().map(u8::to_string).collect();
        options += &format!("--expect-exit {} ", exits.join(","));
    }
    if criteria.allow_use_after_free {
        options += "--allow-use-after-free ";
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_names_the_folder() {
        assert_eq!(out_option(Path::new(".unsnarl/runs")), "");
        assert_eq!(out_option(Path::new("my runs")), "--out 'my runs' ");
    }

    #[test]
    fn records_that_are_never_whole_are_no_success() {
        let tally = |passed, cut_short, failed| CampaignTally {
            runs: passed + cut_short + failed,
            passed,
            cut_short,
            failed,
            ..CampaignTally::default()
        };
        assert_eq!(status(&tally(3, 1, 0)), 0);
        assert_eq!(status(&tally(0, 4, 0)), 2);
        assert_eq!(status(&tally(0, 4, 1)), 1);
        assert_eq!(status(&CampaignTally::default()), 0);
    }

    #[test]
    fn counts_name_what_was_seen() {
        let tally = CampaignTally {
            runs: 7,
            passed: 4,
            timed_out: 3,
            different: 7,
            ..CampaignTally::default()
        };
        assert_eq!(counts(&tally), "7 runs: 4 passed, 3 timed out");
        let tally = CampaignTally {
            different: 2,
            ..tally
        };
        assert_eq!(counts(&tally), "7 runs: 4 passed, 3 timed out; 2 different");
        assert_eq!(counts(&CampaignTally::default()), "0 runs: none ended");
    }
}
