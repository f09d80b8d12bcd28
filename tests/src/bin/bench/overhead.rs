//! Cost of recording, beside the thread sanitizers that come with gcc and clang.
//!
//! All variants of a program are built from the same source by the same compiler at -O1 and take turns in one loop,
//! so that other work of the machine affects all of them. The figures are processor time of all processes, the least
//! of all rounds. *Program part* is the program under the recorder alone, *whole* the command `unsnarl record -n 1`
//! including assembling and storing the run, *not kept* one more run of a campaign that keeps none; all these record every
//! access. *Lean* is the whole command where accesses that repeat others are left out. Memory is the peak of
//! that command, which maps the log that the program fills.

use crate::{docs, measure::peak_of_command, paths::children, table::PrintedTable};
use anyhow::{Context, Result, ensure};
use std::{
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, permit};
use unsnarl_recorder::{
    assemble::{Exit, RawLog},
    launch::{Output, Request, launch},
    log::{Log, LogConfig},
};
use unsnarl_trace::raw::{RawMode, RawStrategy};

/// Programs under `tests/bench`.
const PROGRAMS: [(&str, &str); 9] = [
    ("matrix", "two threads, 100 x 100 matrices"),
    ("counter", "two threads, 100,000 locked increments each"),
    ("queue", "producer and consumer, 60,000 items"),
    ("hashmap", "two threads, 20,000 updates each, 64 locks"),
    ("sort", "merge sort of 20,000 numbers by four threads"),
    ("radix", "radix sort of 30,000 numbers by two threads"),
    ("lu", "LU of 96 x 96 by two threads"),
    ("fft", "FFT of 8,192 numbers by two threads"),
    ("deflate", "two threads compress 20,000 bytes each"),
];
/// Times that each variant runs.
const ROUNDS: usize = 5;
/// Number of runs of a campaign beyond the first one, for the cost of one run.
const MORE: u32 = 6;

/// Processor time of the variants of one program, each the least of all rounds.
#[derive(Default)]
struct VariantTimes {
    native: Option<Duration>,
    tsan: Option<Duration>,
    part: Option<Duration>,
    free: Option<Duration>,
    whole: Option<Duration>,
    lean: Option<Duration>,
    not_kept: Option<Duration>,
    events: u64,
    file: u64,
    /// Most bytes that `record` and the program have had at a time, beyond those of a command that does nothing.
    memory: u64,
}

/// Measures the programs; the table goes into `docs/recording.md`.
pub fn run() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "compiler",
        "native ms",
        "TSan",
        "program part",
        "free mode",
        "not kept",
        "whole",
        "lean",
        "not kept / part",
        "whole / TSan",
        "lean / TSan",
        "events",
        "ns/event part",
        "ns/event whole",
        "file bytes/event",
        "memory bytes/event",
    ]);
    for (name, what) in PROGRAMS {
        for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
            let Some(command) = compiler.command(false) else {
                eprintln!("{name}: {compiler:?} is missing, so it is left out");
                continue;
            };
            eprintln!("{name}, {command} ...");
            let times = measure(name, command).with_context(|| name.to_owned())?;
            table.row(row([&format!("{name}: {what}"), command], &times));
        }
    }
    let text = format!(
        "{table}\n-O1; processor time of all processes, the least of {ROUNDS} rounds in which the variants take \
         turns; times native."
    );
    println!("{text}");
    docs::replace("recording.md", "overhead", &text)?;
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        if let Some(command) = compiler.command(false) {
            println!("{}", hand_over(command)?);
        }
    }
    Ok(())
}

fn row(names: [&str; 2], times: &VariantTimes) -> Vec<String> {
    let ms = |time: Option<Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
    let (native, part, whole) = (ms(times.native), ms(times.part), ms(times.whole));
    let (not_kept, tsan, lean) = (ms(times.not_kept), ms(times.tsan), ms(times.lean));
    let mut cells = names.map(str::to_owned).to_vec();
    cells.push(format!("{native:.1}"));
    let variants = [tsan, part, ms(times.free), not_kept, whole, lean];
    cells.extend(variants.map(|time| ratio(time / native)));
    cells.push(format!("{:.2}", not_kept / part));
    cells.extend([whole, lean].map(|time| ratio(time / tsan)));
    let events = times.events as f64;
    cells.push(times.events.to_string());
    cells.extend([part, whole].map(|time| format!("{:.0}", (time - native) * 1e6 / events)));
    cells.push(format!("{:.1}", times.file as f64 / events));
    cells.push(format!("{:.0}", times.memory as f64 / events));
    cells
}

/// Formats a ratio; empty if one side could not be built.
fn ratio(ratio: f64) -> String {
    match ratio.is_nan() {
        true => "-".to_owned(),
        false => format!("{ratio:.1}"),
    }
}

/// Cost of handing over the turn: the counter with a choice at each step, beside one in which threads go on as long
/// as they can.
fn hand_over(compiler: &str) -> Result<String> {
    let workspace = Workspace::new()?;
    let source = unsnarl_e2e::project().join("tests/bench/counter.c");
    let source = source.to_string_lossy();
    let words = ["cc", "-g", "-O1", &source, "-pthread", "-o", "recorded"];
    let mut wrapper = workspace.unsnarl_command(&words)?;
    wrapper.env("UNSNARL_CC", compiler);
    Finished::of(wrapper)?.exits(0)?;
    let recorded = workspace.path().join("recorded");
    let mut sequential = Least::default();
    let mut random = Least::default();
    for _ in 0..ROUNDS {
        sequential.take(&recorded, RawStrategy::Sequential)?;
        random.take(&recorded, RawStrategy::Random)?;
    }
    let count = random.switches.saturating_sub(sequential.switches) as f64;
    let each = |more: Option<Duration>, less: Option<Duration>| {
        let seconds = |time: Option<Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64());
        (seconds(more) - seconds(less)) * 1e6 / count
    };
    let used = each(random.used, sequential.used);
    let wall = each(random.wall, sequential.wall);
    Ok(format!(
        "{compiler}: handing over the turn takes {used:.2} µs of processor time, {wall:.2} µs on the wall \
         ({count} times in a run)."
    ))
}

/// The least that a run took.
#[derive(Default)]
struct Least {
    used: Option<Duration>,
    wall: Option<Duration>,
    switches: u64,
}

impl Least {
    fn take(&mut self, program: &Path, strategy: RawStrategy) -> Result<()> {
        let before = children()?;
        let (wall, log) = with(program, RawMode::Controlled, strategy)?;
        let used = children()? - before;
        least(&mut self.used, used);
        least(&mut self.wall, wall);
        self.switches = RawLog::new(log.bytes())?.switches();
        Ok(())
    }
}

fn measure(name: &str, compiler: &str) -> Result<VariantTimes> {
    let workspace = Workspace::new()?;
    let source = unsnarl_e2e::project()
        .join("tests/bench")
        .join(name)
        .with_extension("c");
    let source = source.to_string_lossy();
    let common = ["-g", "-O1", &source, "-pthread", "-lm", "-o"];
    workspace
        .run(compiler, &[&common[..], &["native"]].concat())?
        .exits(0)?;
    let sanitized = [&["-fsanitize=thread"], &common[..], &["tsan"]].concat();
    let built = workspace.run(compiler, &sanitized)?;
    let has_sanitizer = built.status == Some(0);
    if !has_sanitizer {
        eprintln!("{compiler} cannot link with its thread sanitizer, which is left out:\n{built}");
    }
    let mut wrapper = workspace.unsnarl_command(&[&["cc"], &common[..], &["recorded"]].concat())?;
    wrapper.env("UNSNARL_CC", compiler);
    Finished::of(wrapper)?.exits(0)?;

    let mut times = VariantTimes::default();
    let [native, tsan, recorded] =
        ["native", "tsan", "recorded"].map(|it| workspace.path().join(it));
    for _ in 0..ROUNDS {
        least(&mut times.native, used(|| plain(&native))?);
        if has_sanitizer {
            least(&mut times.tsan, used(|| plain(&tsan))?);
        }
        for (mode, time) in [
            (RawMode::Controlled, &mut times.part),
            (RawMode::Free, &mut times.free),
        ] {
            least(
                time,
                used(|| with(&recorded, mode, RawStrategy::Sequential).map(drop))?,
            );
        }
        let all = ["--every-access"];
        let kept = [&all[..], &["--keep-passing", "100"]].concat();
        least(&mut times.whole, used(|| campaign(&workspace, 1, &kept))?);
        least(&mut times.lean, used(|| campaign(&workspace, 1, &[]))?);
        let none = [&all[..], &["--keep-passing", "0"]].concat();
        let one = used(|| campaign(&workspace, 1, &none))?;
        let more = used(|| campaign(&workspace, 1 + MORE, &none))?;
        least(&mut times.not_kept, more.saturating_sub(one) / MORE);
    }
    (times.events, times.file, times.memory) = stored(&workspace)?;
    Ok(times)
}

fn least(known: &mut Option<Duration>, new: Duration) {
    *known = Some(known.map_or(new, |known| known.min(new)));
}

/// Processor time of the processes that `work` starts and waits for.
fn used(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let before = children()?;
    work()?;
    Ok(children()? - before)
}

/// Records the program `runs` times.
fn campaign(workspace: &Workspace, runs: u32, options: &[&str]) -> Result<()> {
    let runs = runs.to_string();
    let words = [
        "record",
        "--strategy",
        "sequential",
        "--seed",
        "1",
        "-n",
        &runs,
    ];
    let end = ["--out", "measured", "--", "./recorded"];
    workspace
        .unsnarl(&[&words[..], options, &end].concat())?
        .exits(0)?;
    let measured = workspace.path().join("measured");
    match fs::remove_dir_all(measured) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Events and bytes of the run file of one recorded run, and the memory that recording it took.
fn stored(workspace: &Workspace) -> Result<(u64, u64, u64)> {
    let words = [
        "record",
        "-n",
        "1",
        "--strategy",
        "sequential",
        "--every-access",
    ];
    let idle = peak_of_command(workspace.unsnarl_command(&["--version"])?, 0)?;
    let recording = [&words[..], &["--", "./recorded"]].concat();
    let memory = peak_of_command(workspace.unsnarl_command(&recording)?, 0)?.saturating_sub(idle);
    let runs = workspace.runs()?;
    let name = runs.first().context("no run was kept")?;
    let path = workspace.path().join(workspace.run_path(name));
    let events = unsnarl_trace::read_run(&path)?.events.len() as u64;
    Ok((events, std::fs::metadata(&path)?.len(), memory))
}

fn plain(program: &Path) -> Result<()> {
    let status = Command::new(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "{}: {status}", program.display());
    Ok(())
}

fn with(program: &Path, mode: RawMode, strategy: RawStrategy) -> Result<(Duration, Log)> {
    let config = LogConfig {
        mode,
        strategy,
        ..LogConfig::default()
    };
    let log = Log::create(&config)?;
    let request = request(program);
    let begin = Instant::now();
    let finished = launch(&request, &log, &AtomicBool::new(false))?;
    let time = begin.elapsed();
    ensure!(
        finished.exit == Exit::Code(0),
        "it ended with {:?}",
        finished.exit
    );
    Ok((time, log))
}

fn request(program: &Path) -> Request {
    let (words, directory) = (vec![OsString::from(program)], std::env::temp_dir());
    Request {
        parent: None,
        permit: permit(program, &words, &directory),
        program: PathBuf::from(program),
        command: words,
        directory,
        environment: unsnarl_recorder::launch::Given::new(),
        stack: None,
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(60),
    }
}
