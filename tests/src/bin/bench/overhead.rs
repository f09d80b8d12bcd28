//! What recording costs, beside the thread sanitizers that come with gcc and clang.
//!
//! All variants of a program are built from the same source by the same compiler at -O1 and take turns
//! in one loop, so that whatever else the machine does hits all of them. The figures are the times of
//! the process from its start to its end, the shortest of all rounds: putting runs together and storing
//! them is not in them.

use crate::{paths::children, table::Table};
use anyhow::{Context, Result, ensure};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use unsnarl_e2e::{Compiler, Finished, Workspace, permit};
use unsnarl_recorder::{
    assemble::{Exit, RawLog},
    launch::{Output, Request, launch},
    log::{Config, Log},
};
use unsnarl_trace::raw::{RawMode, RawStrategy, Record};

/// Programs under `tests/bench`.
const PROGRAMS: [(&str, &str); 3] = [
    ("counter", "two threads, 100,000 locked increments each"),
    ("matrix", "two threads, 100 x 100 matrices"),
    ("queue", "producer and consumer, 60,000 items"),
];
/// Times that each variant runs.
const ROUNDS: usize = 9;

/// Times of the variants of one program.
#[derive(Default)]
struct Times {
    native: Vec<Duration>,
    tsan: Vec<Duration>,
    sequential: Vec<Duration>,
    free: Vec<Duration>,
    records: u64,
    events: u64,
    file: u64,
}

/// Measures the three programs.
pub fn run() -> Result<()> {
    let mut table = Table::new(&[
        "program",
        "compiler",
        "native ms",
        "libtsan ms",
        "unsnarl, sequential ms",
        "unsnarl, free ms",
        "libtsan x",
        "sequential x",
        "free x",
        "events",
        "ns/event, sequential",
        "bytes/event, log",
        "bytes/event, run file",
    ]);
    for (name, what) in PROGRAMS {
        for compiler in [Compiler::Gcc, Compiler::Clang] {
            let Some(command) = compiler.command(false) else {
                eprintln!("{name}: {compiler:?} is missing, so it is left out");
                continue;
            };
            eprintln!("{name}, {command} ...");
            let times = measure(name, command).with_context(|| name.to_owned())?;
            table.row(row([&format!("{name}: {what}"), command], &times));
        }
    }
    println!("{table}");
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        if let Some(command) = compiler.command(false) {
            println!("{}", hand_over(command)?);
        }
    }
    println!("-O1; shortest of {ROUNDS} rounds, the variants taking turns; x: times native.");
    Ok(())
}

fn row(names: [&str; 2], times: &Times) -> Vec<String> {
    let best = |all: &[Duration]| {
        all.iter()
            .min()
            .map_or(f64::NAN, |best| best.as_secs_f64() * 1e3)
    };
    let native = best(&times.native);
    let all = [
        native,
        best(&times.tsan),
        best(&times.sequential),
        best(&times.free),
    ];
    let mut cells = names.map(str::to_owned).to_vec();
    cells.extend(all.map(|time| format!("{time:.1}")));
    cells.extend(
        all.iter()
            .skip(1)
            .map(|time| format!("{:.1}", time / native)),
    );
    cells.push(times.events.to_string());
    let recorded = (best(&times.sequential) - native) * 1e6;
    let events = times.events as f64;
    cells.push(format!("{:.0}", recorded / events));
    let log = times.records * size_of::<Record>() as u64;
    cells.extend([log, times.file].map(|bytes| format!("{:.1}", bytes as f64 / events)));
    cells
}

/// What handing over the turn costs: the counter with a choice at each step, beside one in which threads go
/// on as long as they can.
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
        let least =
            |old: Option<Duration>, new: Duration| Some(old.map_or(new, |old| old.min(new)));
        self.used = least(self.used, used);
        self.wall = least(self.wall, wall);
        self.switches = RawLog::new(log.bytes())?.switches();
        Ok(())
    }
}

fn measure(name: &str, compiler: &str) -> Result<Times> {
    let workspace = Workspace::new()?;
    let source = unsnarl_e2e::project()
        .join("tests/bench")
        .join(name)
        .with_extension("c");
    let source = source.to_string_lossy();
    let common = ["-g", "-O1", &source, "-pthread", "-o"];
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

    let mut times = Times::default();
    let recorded = workspace.path().join("recorded");
    for _ in 0..ROUNDS {
        times.native.push(plain(&workspace.path().join("native"))?);
        if has_sanitizer {
            times.tsan.push(plain(&workspace.path().join("tsan"))?);
        }
        let (time, records) = under(&recorded, RawMode::Controlled)?;
        times.sequential.push(time);
        times.records = records;
        times.free.push(under(&recorded, RawMode::Free)?.0);
    }
    (times.events, times.file) = stored(&workspace)?;
    Ok(times)
}

/// Events and bytes of the run file of one recorded run.
fn stored(workspace: &Workspace) -> Result<(u64, u64)> {
    let words = ["record", "-n", "1", "--strategy", "sequential"];
    workspace
        .unsnarl(&[&words[..], &["--", "./recorded"]].concat())?
        .exits(0)?;
    let runs = workspace.runs()?;
    let name = runs.first().context("no run was kept")?;
    let path = workspace.path().join(workspace.run_path(name));
    let events = unsnarl_trace::read_run(&path)?.events.len() as u64;
    Ok((events, std::fs::metadata(&path)?.len()))
}

fn plain(program: &Path) -> Result<Duration> {
    let begin = Instant::now();
    let status = Command::new(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let time = begin.elapsed();
    ensure!(status.success(), "{}: {status}", program.display());
    Ok(time)
}

/// One recorded run: its time and the records in its log.
fn under(program: &Path, mode: RawMode) -> Result<(Duration, u64)> {
    let (time, log) = with(program, mode, RawStrategy::Sequential)?;
    Ok((time, RawLog::new(log.bytes())?.len() as u64))
}

fn with(program: &Path, mode: RawMode, strategy: RawStrategy) -> Result<(Duration, Log)> {
    let config = Config {
        mode,
        strategy,
        ..Config::default()
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
