//! What recording costs, beside the thread sanitizer that comes with gcc.
//!
//! All variants of a program are built from the same source by the same compiler at -O1 and take turns
//! in one loop, so that whatever else the machine does hits all of them. The figures are the times of
//! the process from its start to its end, the shortest of all rounds: putting runs together and storing
//! them is not in them.

use crate::table::Table;
use anyhow::{Context, Result, ensure};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use unsnarl_e2e::Workspace;
use unsnarl_recorder::{
    assemble::{Exit, RawLog},
    launch::{Output, Request, launch},
    log::{Config, Log},
};
use unsnarl_trace::raw::{RawMode, RawStrategy};

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
    events: u64,
}

/// Measures the three programs.
pub fn run() -> Result<()> {
    let mut table = Table::new(&[
        "program",
        "native ms",
        "libtsan ms",
        "unsnarl, sequential ms",
        "unsnarl, free ms",
        "libtsan x",
        "sequential x",
        "free x",
        "events",
        "ns/event, sequential",
    ]);
    for (name, what) in PROGRAMS {
        eprintln!("{name} ...");
        let times = measure(name).with_context(|| name.to_owned())?;
        table.row(row(&format!("{name}: {what}"), &times));
    }
    println!("{table}");
    println!("gcc -O1; shortest of {ROUNDS} rounds, the variants taking turns; x: times native.");
    Ok(())
}

fn row(name: &str, times: &Times) -> Vec<String> {
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
    let mut cells = vec![name.to_owned()];
    cells.extend(all.map(|time| format!("{time:.1}")));
    cells.extend(
        all.iter()
            .skip(1)
            .map(|time| format!("{:.1}", time / native)),
    );
    cells.push(times.events.to_string());
    let recorded = (best(&times.sequential) - native) * 1e6;
    cells.push(format!("{:.0}", recorded / times.events as f64));
    cells
}

fn measure(name: &str) -> Result<Times> {
    let workspace = Workspace::new()?;
    let source = unsnarl_e2e::project()
        .join("tests/bench")
        .join(name)
        .with_extension("c");
    let source = source.to_string_lossy();
    let common = ["-g", "-O1", &source, "-pthread", "-o"];
    workspace
        .run("gcc", &[&common[..], &["native"]].concat())?
        .exits(0)?;
    workspace
        .run(
            "gcc",
            &[&["-fsanitize=thread"], &common[..], &["tsan"]].concat(),
        )?
        .exits(0)?;
    workspace
        .unsnarl(&[&["cc"], &common[..], &["recorded"]].concat())?
        .exits(0)?;

    let mut times = Times::default();
    let recorded = workspace.path().join("recorded");
    for _ in 0..ROUNDS {
        times.native.push(plain(&workspace.path().join("native"))?);
        times.tsan.push(plain(&workspace.path().join("tsan"))?);
        let (time, events) = under(&recorded, RawMode::Controlled)?;
        times.sequential.push(time);
        times.events = events;
        times.free.push(under(&recorded, RawMode::Free)?.0);
    }
    Ok(times)
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

/// One recorded run: its time and its events.
fn under(program: &Path, mode: RawMode) -> Result<(Duration, u64)> {
    let config = Config {
        mode,
        strategy: RawStrategy::Sequential,
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
    Ok((time, RawLog::new(log.bytes())?.len() as u64))
}

fn request(program: &Path) -> Request {
    Request {
        program: PathBuf::from(program),
        command: vec![OsString::from(program)],
        directory: std::env::temp_dir(),
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(60),
    }
}
