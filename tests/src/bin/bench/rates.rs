//! Controlled runs per second of processor time, the recorder's own included: each run started anew
//! beside each run copied from one process.
//!
//! Both ways take turns, so that whatever else the machine does hits both. Time is what the kernel counts
//! for the recorder and for all processes that it has started.
//!
//! Then the same campaigns with one run at a time beside those with as many as there are cores, by the clock on the wall:
//! on a machine that others use, the ratio is too low.

use crate::table::PrintedTable;
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, permit};
use unsnarl_recorder::{
    launch::{Output, Starter},
    log::Limits,
    record::{Goal, Job, Recording, record, strategy::Strategy},
    target,
};
use unsnarl_trace::{Chances, Criteria};

/// Programs of about 100 lines under `tests/programs`, in C and in C++.
const PROGRAMS: [&str; 4] = [
    "queue_pointer",
    "circular_list",
    "cpp_listeners",
    "cpp_cache",
];
/// Campaigns of each way, in turn.
const ROUNDS: usize = 5;
/// Runs of a campaign.
const RUNS: u64 = 200;

/// Time that the runs of one way took.
#[derive(Default)]
struct Spent {
    runs: u64,
    events: u64,
    recorder: f64,
    program: f64,
    wall: f64,
}

impl Spent {
    fn rate(&self) -> f64 {
        self.runs as f64 / (self.recorder + self.program)
    }

    fn rate_on_wall(&self) -> f64 {
        self.runs as f64 / self.wall
    }
}

/// Measures all programs.
pub fn run() -> Result<()> {
    ways_to_begin()?;
    side_by_side()
}

/// `record -j 1` beside `record -j N`.
fn side_by_side() -> Result<()> {
    let cores = thread::available_parallelism()?.get();
    let many = format!("record -j {cores}, runs/s");
    let mut table = PrintedTable::new(&["program", "record -j 1, runs/s", &many, "x"]);
    for name in PROGRAMS {
        eprintln!("{name}, side by side ...");
        let workspace = Workspace::new()?;
        let command = TestProgram::open(name)?.compile(&workspace, TestedCompiler::Gcc)?;
        let (mut one, mut all) = (Spent::default(), Spent::default());
        for _ in 0..ROUNDS {
            campaign(&workspace, &command, Starter::with_crew(1), &mut one)?;
            campaign(&workspace, &command, Starter::with_crew(cores), &mut all)?;
        }
        table.row(vec![
            name.to_owned(),
            format!("{:.0}", one.rate_on_wall()),
            format!("{:.0}", all.rate_on_wall()),
            format!("{:.2}", all.rate_on_wall() / one.rate_on_wall()),
        ]);
    }
    println!("{table}");
    println!(
        "As above, by the clock on the wall, which shows the ratio only on a machine that is not used otherwise."
    );
    Ok(())
}

/// Runs that are started anew beside copies.
fn ways_to_begin() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "program",
        "lines",
        "events per run",
        "started anew, runs/CPU s",
        "copied, runs/CPU s",
        "x",
        "copied: program us/run",
        "copied: recorder us/run",
    ]);
    for name in PROGRAMS {
        eprintln!("{name} ...");
        table.row(measure(name).with_context(|| name.to_owned())?);
    }
    println!("{table}");
    println!("gcc; random walks; {ROUNDS} campaigns of {RUNS} runs each, both ways taking turns.");
    Ok(())
}

fn measure(name: &str) -> Result<Vec<String>> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    let lines = fs::read_to_string(&program.source)?.lines().count();
    let (mut anew, mut copied) = (Spent::default(), Spent::default());
    for _ in 0..ROUNDS {
        campaign(&workspace, &command, Starter::anew(), &mut anew)?;
        campaign(&workspace, &command, Starter::default(), &mut copied)?;
    }
    let per_run = |time: f64| format!("{:.0}", time * 1e6 / copied.runs as f64);
    Ok(vec![
        name.to_owned(),
        lines.to_string(),
        (copied.events / copied.runs).to_string(),
        format!("{:.0}", anew.rate()),
        format!("{:.0}", copied.rate()),
        format!("{:.2}", copied.rate() / anew.rate()),
        per_run(copied.program),
        per_run(copied.recorder),
    ])
}

/// One campaign with runs that begin in this way, in a folder of its own.
fn campaign(
    workspace: &Workspace,
    command: &str,
    starter: Starter,
    spent: &mut Spent,
) -> Result<()> {
    let target = target::open(command.as_ref(), workspace.path())?;
    let recording = Recording {
        job: Job {
            parent: None,
            permit: permit(
                &workspace.path().join(command),
                &[command.into()],
                workspace.path(),
            ),
            command: vec![command.into()],
            directory: workspace.path().to_owned(),
            stdin: None,
            output: Output::Kept,
            timeout: Duration::from_secs(60),
            limits: Limits::default(),
            criteria: Criteria::default(),
            starter: starter.clone(),
        },
        strategy: Strategy::Random(1),
        chances: Chances::default(),
        seed: 1,
        shard: None,
        goal: Goal::of(Some(RUNS), None),
        keep_passing: u64::MAX,
        filter: true,
        names_data: false,
        minimize: false,
        out: workspace.path().join("runs"),
        max_disk: u64::MAX,
    };
    let begin = Instant::now();
    spent.recorder -= processor_time(libc::RUSAGE_SELF);
    spent.program -= processor_time(libc::RUSAGE_CHILDREN);
    let stop = AtomicBool::new(false);
    let summary = record(&recording, &target.program, &stop, |observed| {
        spent.events += observed.events();
    })?;
    ensure!(starter.obstacle().is_none(), "{:?}", starter.obstacle());
    spent.wall += begin.elapsed().as_secs_f64();
    // The process that is copied has ended when nobody wants more of it: then its time counts too.
    drop((recording, starter));
    spent.recorder += processor_time(libc::RUSAGE_SELF);
    spent.program += processor_time(libc::RUSAGE_CHILDREN);
    spent.runs += summary.tally.runs;
    fs::remove_dir_all(workspace.path().join("runs"))?;
    Ok(())
}

/// Seconds of processor time that were used by this process, or by those that it has waited for.
fn processor_time(whose: libc::c_int) -> f64 {
    // SAFETY: zero is a valid value, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
