//! The programs of the paper's Table 1 as they were rebuilt here.

use anyhow::{Context, Result};
use std::{fs, path::PathBuf};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{Run, read_run};

/// Number of failing runs of a program that are examined: as the first of them differ, so do the slices.
const RUNS: &str = "1";

/// A program with the paper's figures.
pub struct InvariantSubject {
    /// A kernel, or a program of `tests/programs`.
    pub program: &'static str,
    /// Its name in the paper.
    pub theirs: &'static str,
    /// Mean number of instructions of the paper's traces, from its Table 1.
    pub instructions: &'static str,
    /// `true` if the failure depends on an event that did not happen in the run.
    pub is_absence: bool,
}

const fn subject(
    program: &'static str,
    theirs: &'static str,
    instructions: &'static str,
) -> InvariantSubject {
    InvariantSubject {
        program,
        theirs,
        instructions,
        is_absence: false,
    }
}

const fn absence(
    program: &'static str,
    theirs: &'static str,
    instructions: &'static str,
) -> InvariantSubject {
    InvariantSubject {
        is_absence: true,
        ..subject(program, theirs, instructions)
    }
}

/// The programs in the order of the paper's table.
pub const SUBJECTS: &[InvariantSubject] = &[
    subject("checked_account", "account", "51.7"),
    subject("cache_refcount", "apache-21287", "43"),
    absence("shared_log", "apache-25520", "34"),
    subject("counting_barrier", "barrier_vf", "27"),
    subject("time_string", "cherokee_01", "28"),
    subject("lost_counter", "counter_seq", "29"),
    subject("fibonacci", "fibbench", "34"),
    subject("audit_record", "freebsd_auditarg", "37"),
    subject("swap_add", "gcc-libstdc++-3584", "37"),
    subject("string_sharing", "gcc-libstdc++-21334", "27"),
    subject("empty_string", "gcc-libstdc++-40518", "23"),
    subject("hash_table", "hash_table", "69"),
    subject("select_sets", "jetty-1187", "26"),
    subject("early_total", "lazy01", "23"),
    subject("line_equation", "lineEq_2t", "52"),
    subject("busy_device", "linux-iio", "55"),
    subject("driver_stats", "linux-tg3", "167"),
    subject("sorted_list", "list_seq", "53"),
    subject("attribute_list", "llvm-8441", "32.5"),
    subject("thread_state", "mozilla-61369", "-"),
    subject("lock_free_queue", "ms_queue02", "66"),
    subject("field_ids", "mysql-644", "16"),
    subject("proc_info", "mysql-3596", "6"),
    subject("query_cache", "mysql-12848", "14"),
    subject("write_lock", "read_write", "58"),
    subject("signed_pair", "reorder2", "10.5"),
    absence("use_before_init", "transmission-1.42", "5"),
    subject("prime_vector", "VectPrime02", "115"),
    subject("idle_workers", "apache2", "235.5"),
    subject("transactions", "bankaccount-lock-for-loop", "247"),
    subject("bank_account", "bankaccount-simple-lock", "45"),
    subject("driver_stop", "bluetooth", "35.8"),
    subject("object_pool", "pool-simple-2", "885.5"),
];

/// Larger runs: a program of `tests/programs` with its argument.
pub const LARGER: &[(&str, &str)] = &[
    ("bank_total", "13"),
    ("two_stage", "40"),
    ("crasher", "14"),
    ("crasher", "58"),
    ("crasher", "250"),
    ("object_cache", "56"),
    ("object_cache", "240"),
];

/// A failing run of a program.
pub struct FailingRun {
    /// The workspace that holds it.
    pub workspace: Workspace,
    /// The run file.
    pub file: PathBuf,
    /// The run.
    pub run: Run,
    /// The program.
    pub program: TestProgram,
    /// Lines of code, comments and blanks aside.
    pub lines: usize,
}

/// Records a program with clang until it fails, and takes the shortest failing run.
pub fn record(name: &str, argument: Option<&str>) -> Result<FailingRun> {
    let program = TestProgram::kernel(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Clang)?;
    let words = [
        "record",
        "--seed",
        "1",
        "-n",
        "2000",
        "--until-failing",
        RUNS,
    ];
    let limits = ["--max-events", "10000000", "--timeout", "60"];
    let rest = [&["--", command.as_str()][..], argument.as_slice()].concat();
    let words = [&words[..], &limits, &program.recording(), &rest].concat();
    workspace.unsnarl(&words)?.exits(1)?;
    let mut shortest: Option<(PathBuf, Run)> = None;
    for name in workspace.runs_that("failed")? {
        let file = workspace.path().join(workspace.run_path(&name));
        let run = read_run(&file)?;
        let is_shorter = shortest
            .as_ref()
            .is_none_or(|(_, least)| run.events.len() < least.events.len());
        if is_shorter {
            shortest = Some((file, run));
        }
    }
    let (file, run) = shortest.context("no failing run")?;
    let text = fs::read_to_string(&program.source)?;
    Ok(FailingRun {
        workspace,
        file,
        run,
        program,
        lines: lines(&text),
    })
}

fn lines(text: &str) -> usize {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().filter(code).count()
}
