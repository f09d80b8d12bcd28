//! Power cuts: the recorded program or the recorder is killed, memory is short, two recordings meet in one folder.
//! Nothing that was recorded is lost, and losses are reported.

use anyhow::{Result, ensure};
use std::{
    fs,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace, permit};
use unsnarl_recorder::{
    assemble::{Launch, RawLog, assemble},
    launch::{Output, Request, launch},
    log::{Log, LogConfig},
    target,
};
use unsnarl_trace::{
    Outcome,
    raw::{End, RawStrategy, Record},
    read_run,
};

/// Points at which the program is killed.
const POINTS: u64 = 1000;

/// Records after which a run that was not killed ends by itself.
const MOST_RECORDS: u64 = 100_000;

#[test]
fn what_was_recorded_before_a_kill_is_readable() -> Result<()> {
    let workspace = endless()?;
    let target = target::open("./endless".as_ref(), workspace.path())?;
    let mut config = LogConfig {
        strategy: RawStrategy::Random,
        seed: 5,
        ..LogConfig::default()
    };
    config.limits.events = MOST_RECORDS;
    let words = vec!["./endless".into(), "on".into()];
    let request = Request {
        parent: None,
        permit: permit(target.program.path(), &words, workspace.path()),
        program: target.program.path().to_owned(),
        command: words,
        directory: workspace.path().to_owned(),
        environment: unsnarl_recorder::launch::Given::new(),
        stack: None,
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(60),
    };
    let whole = Log::create(&config)?;
    launch(&request, &whole, &AtomicBool::new(false))?;
    let whole: Vec<RecordKey> = steps(&RawLog::new(whole.bytes())?);
    ensure!(whole.len() as u64 == MOST_RECORDS && whole.iter().all(|step| step.0 != 0));
    let mut killed = 0;
    for point in 0..POINTS {
        // Spread over the first part of the run, in an order that jumps.
        let at = 1 + point * 7919 % 20_000;
        let log = Log::create(&config)?;
        killed_at(&request, &log, at)?;
        let raw = RawLog::new(log.bytes())?;
        let seen = steps(&raw);
        ensure!(seen.len() as u64 >= at, "{} of {at} records", seen.len());
        // What a thread was about to note when it was killed is no record yet, so all of them are whole.
        let differs = seen
            .iter()
            .zip(&whole)
            .position(|(one, other)| one != other);
        ensure!(
            differs.is_none(),
            "killed after {at}: record {differs:?} differs"
        );
        killed += u64::from(raw.end() == End::Running);
        if point % 100 == 0 {
            let run = assemble(&raw, &target.program, &Launch::default());
            ensure!(run.meta.outcome == Outcome::CutShort && !run.events.is_empty());
        }
    }
    ensure!(
        killed > POINTS / 10,
        "only {killed} of {POINTS} were killed in time"
    );
    Ok(())
}

/// The part of a record that is the same in every repetition: kind, thread, size.
type RecordKey = (u8, u16, u32);

fn steps(log: &RawLog<'_>) -> Vec<RecordKey> {
    let step = |record: Record| (record.kind, record.thread, record.size);
    log.records().map(step).collect()
}

/// Runs the program and kills it once it has written `records` records.
fn killed_at(request: &Request, log: &Log, records: u64) -> Result<()> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let (process, written) = log.progress();
                if written >= records && process != 0 {
                    // SAFETY: the program that was started here and has not been waited for.
                    unsafe { libc::kill(process.cast_signed(), libc::SIGKILL) };
                    return;
                }
                std::thread::yield_now();
            }
        });
        let finished = launch(request, log, &AtomicBool::new(false));
        is_over.store(true, Ordering::Relaxed);
        finished
    })?;
    Ok(())
}

const ENDLESS: &str = "#include <pthread.h>
static volatile int stop, turns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *spin(void *unused) {
    do {
        pthread_mutex_lock(&lock);
        turns++;
        pthread_mutex_unlock(&lock);
    } while (!stop);
    return unused;
}
int main(int argc, char **argv) {
    pthread_t threads[2];
    (void)argv;
    stop = argc < 2;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, spin, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

/// A workspace with a program that never ends when it is told to go `on`.
fn endless() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("endless.c", ENDLESS)?;
    workspace
        .unsnarl(&["cc", "-g", "endless.c", "-o", "endless", "-pthread"])?
        .exits(0)?;
    Ok(workspace)
}

#[test]
fn a_killed_recorder_leaves_whole_runs_and_no_program() -> Result<()> {
    let workspace = endless()?;
    workspace.record(&["-n", "3"], "./endless")?.exits(0)?;
    let before = workspace.runs()?;

    let words = [
        "record",
        "--max-steps",
        "1000000000",
        "--max-events",
        "100000000",
    ];
    let words = [&words[..], &["--timeout", "600", "--", "./endless", "on"]].concat();
    let mut recorder = workspace
        .unsnarl_command(&words)?
        .stderr(Stdio::null())
        .spawn()?;
    while processes(workspace.path())?.is_empty() {
        ensure!(recorder.try_wait()?.is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    recorder.kill()?;
    recorder.wait()?;
    while !processes(workspace.path())?.is_empty() {
        std::thread::yield_now();
    }

    ensure!(workspace.runs()? == before, "{:?}", workspace.runs()?);
    for run in before {
        let run = read_run(&workspace.path().join(workspace.run_path(&run)))?;
        ensure!(run.damage.is_empty() && run.meta.outcome == Outcome::Passed);
    }
    workspace
        .record(&["-n", "1"], "./endless")?
        .exits(0)?
        .says(&["an earlier recording in this folder was killed"])?;
    workspace.unsnarl(&["explain"])?.exits(0)?;
    Ok(())
}

/// Running processes of the program `endless` in this folder.
fn processes(folder: &Path) -> Result<Vec<String>> {
    let program = folder.canonicalize()?.join("endless");
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")? {
        let process = process?;
        // Those that end meanwhile, and other people's, have none that can be read.
        if fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == program) {
            found.push(process.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

#[test]
fn two_recordings_in_one_folder_lose_nothing() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bounded_queue")?.compile(&workspace, TestedCompiler::Gcc)?;
    let words = |seed: &'static str, out: &'static str| {
        let command = command.clone();
        ["record", "-n", "40", "--seed", seed, "--out", out, "--"]
            .map(str::to_owned)
            .into_iter()
            .chain([command])
            .collect::<Vec<String>>()
    };
    let at_once = |seed| -> Result<_> {
        let mut command = workspace.unsnarl_command(&words(seed, "both"))?;
        Ok(command.stderr(Stdio::piped()).spawn()?)
    };
    let mut running = [at_once("1")?, at_once("1000")?, at_once("1000")?];
    for one in &mut running {
        ensure!(one.wait()?.code() == Some(1), "a recording went wrong");
    }
    for seed in ["1", "1000"] {
        Finished::of(workspace.unsnarl_command(&words(seed, "apart"))?)?.exits(1)?;
    }
    let (both, apart) = (workspace.runs_in("both")?, workspace.runs_in("apart")?);
    ensure!(both == apart, "{both:?}\n{apart:?}");
    // Beside the runs there is the folder with the model of the build.
    let left = fs::read_dir(workspace.path().join("both"))?.count();
    ensure!(
        left == both.len() + 1 && workspace.path().join("both/models").is_dir(),
        "something else was left in the folder"
    );
    Ok(())
}

#[test]
fn too_little_memory_is_said() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bounded_queue")?.compile(&workspace, TestedCompiler::Gcc)?;
    let unsnarl = unsnarl_e2e::binary::unsnarl()?;
    let limited = |limit: &str, options: &str| {
        let line = format!(
            "ulimit -v {limit}; exec {} record -n 1 {options} -- {command}",
            unsnarl.display()
        );
        workspace.run("sh", &["-c", &line])
    };
    limited("300000", "")?.exits(2)?.says(&["--max-events"])?;
    let small = limited("300000", "--max-events 100000")?;
    ensure!(small.status != Some(2), "{small}");
    Ok(())
}
