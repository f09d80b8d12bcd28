//! Cost of path mode, beside the same program without it.
//!
//! Both are built by the same compiler with the same flags and take turns. The figures are processor time of all
//! threads, the least of all rounds: threads run in parallel here, so wall-clock time would say more about other work
//! of the machine.

use crate::table::PrintedTable;
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};
use unsnarl_e2e::{Workspace, permit, project};
use unsnarl_recorder::{
    assemble::{Exit, Launch, ProgramDebugInfo, RawLog, assemble},
    launch::{Output, Request, launch},
    log::{Log, LogConfig},
};
use unsnarl_trace::raw::{RawMode, RawStrategy};

/// Times that each variant runs.
const ROUNDS: usize = 9;
/// Bytes of text for the programs that read files.
const TEXT: usize = 3 << 20;

/// A program that is measured.
struct MeasuredPath {
    name: &'static str,
    what: &'static str,
    /// Folder below the project, and the sources in it: all of a folder, or those named.
    folder: &'static str,
    sources: &'static [&'static str],
    flags: &'static [&'static str],
    arguments: &'static [&'static str],
}

const PROGRAMS: [MeasuredPath; 7] = [
    MeasuredPath {
        name: "packer",
        what: "compresses 3 MB, two workers",
        folder: "tests/real/packer/src",
        sources: &[],
        flags: &["-O2", "-I."],
        arguments: &["text", "packed"],
    },
    MeasuredPath {
        name: "packer -z",
        what: "compresses 3 MB with zlib, two workers",
        folder: "tests/real/packer/src",
        sources: &[],
        flags: &["-O2", "-I.", "-DHAVE_ZLIB"],
        arguments: &["text", "packed"],
    },
    MeasuredPath {
        name: "scanner",
        what: "looks through 3 MB in 96 files, two workers",
        folder: "tests/real/scanner/src",
        sources: &[],
        flags: &["-O2", "-std=c++17"],
        arguments: &["-j", "2", "line 0000000", "tree"],
    },
    MeasuredPath {
        name: "kvd",
        what: "server and clients over loopback",
        folder: "tests/real/kvd/src",
        sources: &[
            "kvtest.c",
            "client.c",
            "protocol.c",
            "server.c",
            "session.c",
            "store.c",
            "work.c",
        ],
        flags: &["-O2"],
        arguments: &["4", "500"],
    },
    MeasuredPath {
        name: "queue",
        what: "producer and consumer, 60,000 items",
        folder: "tests/bench",
        sources: &["queue.c"],
        flags: &["-O1"],
        arguments: &[],
    },
    MeasuredPath {
        name: "counter",
        what: "two threads, 100,000 locked increments each",
        folder: "tests/bench",
        sources: &["counter.c"],
        flags: &["-O1"],
        arguments: &[],
    },
    MeasuredPath {
        name: "matrix",
        what: "two threads, 100 x 100 matrices",
        folder: "tests/bench",
        sources: &["matrix.c"],
        flags: &["-O1"],
        arguments: &[],
    },
];

/// Measures all programs with gcc and clang.
pub fn run() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "compiler",
        "native ms",
        "path ms",
        "path x",
        "blocks",
        "events",
        "file bytes",
        "bytes/block",
    ]);
    for program in &PROGRAMS {
        for compilers in [["gcc", "g++"], ["clang-19", "clang++-19"]] {
            eprintln!("{} with {} ...", program.name, compilers[0]);
            let cells = measure(program, compilers)
                .with_context(|| format!("{} with {}", program.name, compilers[0]))?;
            table.row(cells);
        }
    }
    println!("{table}");
    println!(
        "processor time of the whole process; least of {ROUNDS} rounds, the two taking turns."
    );
    Ok(())
}

fn measure(program: &MeasuredPath, compilers: [&str; 2]) -> Result<Vec<String>> {
    let workspace = prepare()?;
    build(program, &workspace, compilers)?;
    let (mut native, mut path) = (Duration::MAX, Duration::MAX);
    let mut last = None;
    for _ in 0..ROUNDS {
        native = native.min(once(program, &workspace, "native", RawMode::Off)?.0);
        let (time, log) = once(program, &workspace, "path", RawMode::Path)?;
        path = path.min(time);
        last = Some(log);
    }
    let log = last.context("no round")?;
    let run = assembled(&workspace.path().join("path"), &log)?;
    let blocks: u64 = run.meta.paths.iter().map(|path| path.blocks).sum();
    let mut file = Vec::new();
    unsnarl_trace::write_run(&run, &mut file)?;
    Ok(vec![
        format!("{}: {}", program.name, program.what),
        compilers[0].to_owned(),
        format!("{:.1}", native.as_secs_f64() * 1e3),
        format!("{:.1}", path.as_secs_f64() * 1e3),
        format!("{:.2}", path.as_secs_f64() / native.as_secs_f64()),
        blocks.to_string(),
        run.events.len().to_string(),
        file.len().to_string(),
        format!("{:.2}", file.len() as f64 / blocks as f64),
    ])
}

/// A folder with the files that the programs read.
fn prepare() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("config.h", "#define _GNU_SOURCE 1\n")?;
    let text: String = (0..TEXT / 24)
        .map(|i| format!("line {:07} of the text\n", i * 7919 % 9_999_991))
        .collect();
    workspace.write("text", &text)?;
    for file in 0..96 {
        let part = text
            .get(file * TEXT / 128..(file + 1) * TEXT / 128)
            .unwrap_or(&text);
        workspace.write(&format!("tree/{file}.txt"), part)?;
    }
    Ok(workspace)
}

fn build(program: &MeasuredPath, workspace: &Workspace, [c, cxx]: [&str; 2]) -> Result<()> {
    let folder = project().join(program.folder);
    let sources = sources(&folder, program.sources)?;
    let is_cxx = sources.iter().any(|source| source.ends_with(".cpp"));
    let include = format!("-I{}", folder.join("../include").display());
    let compiler = if is_cxx { cxx } else { c };
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let words = |to: &'static str| {
        [
            &["-g", &include, "-pthread", "-o", to],
            program.flags,
            &sources,
            &["-lz"],
        ]
        .concat()
    };
    workspace.run(compiler, &words("native"))?.exits(0)?;
    let (word, variable) = if is_cxx {
        ("c++", "UNSNARL_CXX")
    } else {
        ("cc", "UNSNARL_CC")
    };
    let mut unsnarl =
        workspace.unsnarl_command(&[&[word, "--path"], &words("path")[..]].concat())?;
    unsnarl.env(variable, compiler);
    unsnarl_e2e::Finished::of(unsnarl)?.exits(0)?;
    Ok(())
}

/// The files of these names, all sources when there are none.
fn sources(folder: &Path, names: &[&str]) -> Result<Vec<String>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_source = name.ends_with(".c") || name.ends_with(".cpp");
        if is_source && (names.is_empty() || names.contains(&name.as_str())) {
            sources.push(folder.join(name).to_string_lossy().into_owned());
        }
    }
    sources.sort();
    Ok(sources)
}

/// Processor time of one run, with its log.
fn once(
    program: &MeasuredPath,
    workspace: &Workspace,
    built: &str,
    mode: RawMode,
) -> Result<(Duration, Log)> {
    let config = LogConfig {
        mode,
        strategy: RawStrategy::Sequential,
        ..LogConfig::default()
    };
    let log = Log::create(&config)?;
    let file = workspace.path().join(built);
    let words: Vec<_> = std::iter::once(file.clone().into_os_string())
        .chain(program.arguments.iter().map(Into::into))
        .collect();
    let request = Request {
        permit: permit(&file, &words, workspace.path()),
        parent: None,
        program: file,
        command: words,
        directory: PathBuf::from(workspace.path()),
        environment: unsnarl_recorder::launch::Given::new(),
        stack: None,
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(120),
    };
    let before = children()?;
    let finished = launch(&request, &log, &AtomicBool::new(false))?;
    let time = children()? - before;
    ensure!(
        finished.exit == Exit::Code(0),
        "it ended with {:?}: {}",
        finished.exit,
        finished.stderr.text()
    );
    Ok((time, log))
}

/// Processor time of the children that have ended.
pub fn children() -> Result<Duration> {
    // SAFETY: a valid place for the answer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        ensure!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) == 0);
        usage
    };
    let time = |at: libc::timeval| {
        Duration::from_secs(at.tv_sec as u64) + Duration::from_micros(at.tv_usec as u64)
    };
    Ok(time(usage.ru_utime) + time(usage.ru_stime))
}

fn assembled(program: &Path, log: &Log) -> Result<unsnarl_trace::Run> {
    let program = ProgramDebugInfo::open(program)?;
    let launch = Launch {
        mode: unsnarl_trace::OrderMode::Path,
        strategy: "path".to_owned(),
        exit: Exit::Code(0),
        ..Launch::default()
    };
    Ok(assemble(&RawLog::new(log.bytes())?, &program, &launch))
}
