//! The command line.

use crate::{folder, permission::Trusting, shard::ShardOption, test::TestArguments};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use unsnarl_core::{findings::Engine, pairs::Procedure};
use unsnarl_lab::{confirm::DEFAULT_TIME, executable::ExecutionSettings, load};
use unsnarl_recorder::record::strategy::Strategy;
use unsnarl_symbolic::{invariants::Level, schedules::SolverOptions};

/// Explains concurrency bugs of C and C++ programs.
///
/// Build the program with `unsnarl cc`, record runs under many schedules, and let it say why the
/// failing ones fail:
///
///   CC="unsnarl cc" make
///   unsnarl record --until-failing 3 -- ./prog
///   unsnarl explain
#[derive(Parser, Debug)]
#[command(name = "unsnarl", version, verbatim_doc_comment)]
pub struct CommandLine {
    /// The command to execute.
    #[command(subcommand)]
    pub command: Command,
}

/// The command to execute.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compile and link C for recording, like the compiler itself
    #[command(disable_help_flag = true)]
    Cc {
        /// The compiler's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile and link C++ for recording, like the compiler itself
    #[command(name = "c++", disable_help_flag = true)]
    Cxx {
        /// The compiler's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a program under many schedules and keep the runs
    ///
    /// Exit status: 0 every run passed, 1 a run failed, 2 usage or the program cannot be recorded.
    Record(RecordArguments),
    /// Record each test case of a program or a build folder under many schedules
    ///
    /// The cases are found by the listing of GoogleTest, Catch2, doctest or Boost.Test, or by CTest or Meson, and recorded side
    /// by side, each by itself.
    ///
    /// Exit status: 0 no case failed, 1 a case failed or hangs, 2 usage, or no case could be recorded.
    Test(TestArguments),
    /// Say why the failing runs fail
    ///
    /// Exit status: 0 nothing failed, 1 failures explained, 2 usage or broken input, 3 failed runs
    /// without an explanation.
    Explain(Explain),
    /// Predict what other orders of a passing run would show, and execute each of them
    ///
    /// Races, atomicity violations, violations of atomic sets, deadlocks, and what patterns of your own
    /// describe. An error is shown for what made the program fail when it was executed.
    ///
    /// Exit status: 0 nothing failed, 1 an order that was predicted and executed makes the program fail,
    /// 2 usage or broken input.
    Predict(PredictArguments),
    /// Run a recorded run again with the same schedule, or try a schedule that somebody proposes
    ///
    /// Exit status: 0 when all runs repeat it (all events of the schedule were reached), 1 with the first
    /// difference, 2 usage or broken input.
    Replay(ReplayArguments),
    /// Say whether a suggested fix holds: no failure and no new deadlock, in all schedules within a bound
    ///
    /// Without --build the program is run as it is, and the schedules that the fix makes impossible are left out.
    /// With it a copy of the current folder is edited, built and explored.
    ///
    /// Exit status: 0 it holds, 1 it does not (the failing schedule is named), 2 usage, no such fix, or a build
    /// that fails, 130 stopped before it was known.
    Verify(Verify),
    /// Make a run of another tool's trace
    ///
    /// Exit status: 0 imported (lines that could not be read are told), 2 usage or no trace.
    Import(ImportArguments),
    /// Print a run as another tool reads it
    ///
    /// Exit status: 0 printed (what the other tool has no words for is told), 2 usage or broken input.
    Export(Export),
    /// Call a finding harmless: explain leaves it out from then on
    ///
    /// It is written into .unsnarl-suppressions.toml, which can be committed, and known again by what its lines say
    /// (docs/formats.md). Exit status: 0 written, 2 usage, or no such finding.
    Suppress(Suppress),
    /// Print the causes of failures over all builds, with the number of runs and an example
    ///
    /// Nothing is executed. A cause is the same in another build while its functions and variables have the same names
    /// (docs/fleet.md). Exit status: 0 nothing failed, 1 runs failed, 2 usage or broken input.
    Report(ReportArguments),
    /// Remove runs that show what others show: passing ones of an order that another run of their program has
    ///
    /// Failing runs, one run of each order and whatever cannot be read stay, and so do summaries and program models.
    /// Exit status: 0 done, 1 something could not be read or removed (it is named), 2 usage.
    Prune(PruneArguments),
    /// Serve an editor (the language server)
    Lsp(Lsp),
    /// Serve an editor that debugs a recorded run (the debug adapter, docs/debugging.md)
    Dap(DapArguments),
    /// Print the header unsnarl.h, by which a program tells the scheduler something
    ///
    /// `unsnarl cc` finds it by itself; a copy in the project serves other compilers, for which it does nothing.
    Header,
    /// Print the completions of this command line for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the man pages
    #[command(hide = true)]
    Man {
        /// Folder for the pages, which exists
        folder: PathBuf,
    },
    /// Say what is missing on this machine, and how to get it
    ///
    /// With --coverage instead: which calls of a program the recorder models, and which it cannot follow.
    ///
    /// Exit status: 0 nothing is missing (every call that waits or synchronizes is modelled), 1 something is, 2 usage.
    Doctor(DoctorArguments),
}

/// `unsnarl dap`
#[derive(Args, Debug)]
pub struct DapArguments {
    /// The user's decision about the program
    #[command(flatten)]
    pub trusting: Trusting,
}

/// `unsnarl prune`
#[derive(Args, Debug)]
pub struct PruneArguments {
    /// The runs: a folder of runs, or a project with .unsnarl/runs
    #[arg(value_parser = folder::local(folder::FETCH))]
    pub place: PathBuf,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Keep the runs whose names stand in this file, or in a file below this folder, such as regression tests
    #[arg(long, value_name = "PATH")]
    pub named_in: Vec<PathBuf>,
}

/// `unsnarl report`
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// The runs: a folder of runs, or a project with .unsnarl/runs [default: .]
    #[arg(value_parser = folder::local("unsnarl-fleet report URL"))]
    pub place: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Time for the analysis: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
    /// Megabytes that the runs may take, the shortest failing and passing ones first
    #[arg(long, value_name = "MB", default_value_t = load::MEMORY, value_parser = clap::value_parser!(u64).range(1..))]
    pub memory: u64,
}

/// `unsnarl doctor`
#[derive(Args, Debug)]
pub struct DoctorArguments {
    /// List the calls of this program and its libraries, by what a recording makes of them
    #[arg(long, value_name = "PROGRAM")]
    pub coverage: Option<PathBuf>,
    /// Output format of the list
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, requires = "coverage")]
    pub format: OutputFormat,
}

/// `unsnarl record`
#[derive(Args, Debug)]
pub struct RecordArguments {
    /// Runs to make [default: 100; 10000 with --until-failing; 1 with --strategy sequential]
    #[arg(short = 'n', long = "runs", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: Option<u64>,
    /// Go on until K runs have failed (and some have passed, to compare with)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    pub until_failing: Option<u64>,
    /// Runs to make at a time [default: as many as there are cores]
    ///
    /// The runs that are kept, and what is said of them, are the same for the same seed. A program that does what its
    /// runs could notice of each other (writing files, taking ports, starting other processes) is run once at a time.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,
    /// Strategy that chooses the schedules: portfolio, random, random:ONE_IN, pct, pct:DEPTH, exhaustive,
    /// exhaustive:BOUND, sequential, free or path
    ///
    /// portfolio takes random and pct in turn. random leaves the running thread at every step, or once
    /// in ONE_IN. exhaustive tries every schedule with at most BOUND preemptions [2] that makes a
    /// difference, ends when it has, and goes on where it was interrupted when the same command is given
    /// again; -n limits it only when given. path records programs built with `unsnarl cc --path`: only
    /// branches and synchronization, at nearly full speed (docs/path-mode.md).
    #[arg(long, value_name = "NAME", default_value = "portfolio")]
    pub strategy: Strategy,
    /// Seed of the first run; the same seed gives the same runs [default: a new one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// The part of the campaign to record, where several machines share it: I/N, with I from 1 to N; or auto
    ///
    /// All parts are given the same options, --seed included; -n is the number of runs of all together. auto takes I and N
    /// from the variables of Bazel, GoogleTest, GitLab, CircleCI, Buildkite, Azure Pipelines or a Slurm array, and tells
    /// from which; auto/N from those that lack the number N, as indexed jobs of Kubernetes do (docs/recording.md).
    #[arg(long, value_name = "I/N")]
    pub shard: Option<ShardOption>,
    /// Kinds of events that may happen although nothing in the program says so; `none`, or some of the others
    ///
    /// spurious-wakeups: a wait on a condition variable ends by itself. failing-tries: a weak
    /// compare-and-exchange or mtx_trylock fails for no reason. The standards allow both at any time.
    /// early-timeouts: the time of a timed wait is over before anything else happens, as on a machine
    /// that is very busy; programs that trust in generous times fail by it.
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = "spurious-wakeups,failing-tries"
    )]
    pub chances: Vec<Chance>,
    /// Let allocations fail, one in N where the strategy draws by lot [20]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub fail_malloc: Option<u32>,
    /// Time that one run may take: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// A command that uses the program, as a client does: started beside each run when the program waits for somebody
    ///
    /// It is a command for the shell. When it has ended, the program is sent SIGTERM. A run fails when the driver ends with
    /// another exit status than 0; the last line that it has printed is the failure's message.
    #[arg(long, value_name = "COMMAND")]
    pub driver: Option<OsString>,
    /// The program to record among those that the command starts: the name of its file, or its path
    ///
    /// The command may be a script, or any program that is not instrumented, such as env, make or a test driver; it is run
    /// once beforehand to see what it starts. Without this option it has to be one instrumented program. The command's
    /// exit status says whether a run failed, its last line of output is the failure's message (docs/recording.md).
    #[arg(long, value_name = "NAME", conflicts_with = "driver")]
    pub record_child: Option<OsString>,
    /// Send the program SIGTERM after this time: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long = "for", value_name = "T", value_parser = duration)]
    pub time: Option<Duration>,
    /// Send the program SIGTERM as soon as it has printed this text
    #[arg(long, value_name = "TEXT", conflicts_with = "show_output", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub stop_when: Option<String>,
    /// Folder for the runs
    #[arg(long, value_name = "DIR", default_value = load::RUNS, value_parser = folder::local("unsnarl-fleet record URL -- ./prog"))]
    pub out: PathBuf,
    /// File for the program's standard input [default: nothing]
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Exit statuses of a run that passes; all others are failures [default: 0]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub expect_exit: Vec<u8>,
    /// Let the program go on when it uses a heap block that it has freed
    #[arg(long)]
    pub allow_use_after_free: bool,
    /// Passing runs to keep at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub keep_passing: u64,
    /// Disk space that the folder's runs may take, in bytes, or with a unit as in 500M, 2G: the oldest passing runs
    /// make room for new ones, failing runs are removed last
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = bytes)]
    pub max_disk: u64,
    /// Events that the log of a run holds; of more, the older ones are kept as far as threads have to do with each other
    #[arg(long, value_name = "N", default_value_t = unsnarl_recorder::log::Limits::default().events,
          value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub max_events: u64,
    /// Record every access of long runs, also those that repeat others
    #[arg(long)]
    pub every_access: bool,
    /// Steps after which a run counts as endless
    #[arg(long, value_name = "N", default_value_t = unsnarl_recorder::log::Limits::default().steps,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
    /// For each way to fail, also make the run with the fewest preemptions that fails so
    #[arg(long)]
    pub minimize: bool,
    /// Let every run choose at every step, also where no run has seen threads meet
    #[arg(long)]
    pub no_filter: bool,
    /// Print which places that share data met in which order, over all runs
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub coverage: Option<CoverageFormat>,
    /// Write a summary beside each run that is kept, for queries over many runs (docs/fleet.md); takes the program
    /// unsnarl-fleet
    #[arg(long)]
    pub summaries: bool,
    /// Show what the program prints
    #[arg(long)]
    pub show_output: bool,
    /// The program and its arguments, or a command that starts the program
    #[arg(last = true, required = true, value_name = "PROG ARGS")]
    pub command: Vec<OsString>,
}

/// `unsnarl explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// The runs: a folder of runs, a project with .unsnarl/runs, or a run file, which is compared with the passing runs beside
    /// it [default: .]
    #[arg(value_parser = folder::local("unsnarl-fleet explain URL"))]
    pub place: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    pub format: ExplainFormat,
    /// Time for the analysis: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = "20s", value_parser = duration)]
    pub budget: Duration,
    /// Megabytes that the runs may take, the shortest failing and passing ones first
    #[arg(long, value_name = "MB", default_value_t = load::MEMORY, value_parser = clap::value_parser!(u64).range(1..))]
    pub memory: u64,
    /// Print the lock that guards each location, and the accesses without it, instead of explanations
    #[arg(long, conflicts_with = "engine")]
    pub guarded_by: bool,
    /// Print the findings of these engines, each as its method reports them, instead of explanations: pairs, mining,
    /// dsp, invariants (docs/engines)
    ///
    /// dsp executes the failing order and the one that passes, unless --no-run is given.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = EngineName::from_name)]
    pub engine: Vec<EngineName>,
    /// Test procedures of the engine pairs: I, II, III-pc, III-tid, III-loop [default: all, in this order, until
    /// one reports something]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = procedure, requires = "engine")]
    pub procedure: Vec<Procedure>,
    /// Engine mining: least share of the failing runs that have an abstract pattern, in percent [default: 100
    /// and less, until something is found]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=100), requires = "engine")]
    pub min_support: Option<u32>,
    /// Engine mining: macros in a pattern
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=8), requires = "engine")]
    pub max_pattern: u8,
    /// Engine mining: what counts as an occurrence of a pattern
    #[arg(long, value_enum, default_value_t = Occurrence::Dependencies, requires = "engine")]
    pub occurrence: Occurrence,
    /// Engine mining: only runs with at most so many context switches
    #[arg(long, value_name = "N", requires = "engine")]
    pub max_switches: Option<u32>,
    /// Engine mining: so many failing and so many passing runs, chosen by chance from SEED
    #[arg(long, value_name = "FAILING,PASSING,SEED", value_delimiter = ',', num_args = 1, requires = "engine", value_parser = clap::value_parser!(u32))]
    pub sample: Vec<u32>,
    /// Engine invariants: which dependencies the explanation keeps beside the flow of data, ds: ds+cs the reasons
    /// for branches, ds+hs what other threads write over (or war, waw), ds+cs+hs all [default: the lightest with a
    /// step between threads]
    #[arg(long, value_name = "LEVEL", value_parser = level, requires = "engine")]
    pub level: Option<Level>,
    /// Engine dsp: also solve for the failing order and for what it needs to fail, which takes longer
    #[arg(long, requires = "engine")]
    pub solve: bool,
    /// Engine dsp: what the solver may do
    #[command(flatten)]
    pub solver: SolverLimits,
    /// Explain the runs of older builds, too, of which a newer one was recorded
    #[arg(long)]
    pub all_builds: bool,
    /// Execute nothing; then nothing is confirmed
    #[arg(long)]
    pub no_run: bool,
    /// Executions of the failing order and of the one that passes
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub times: u64,
    /// Time for all executions together: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = DEFAULT_TIME, value_parser = duration, conflicts_with = "engine")]
    pub run_budget: Duration,
    /// Say what each engine has found, and why an explanation stands where it does
    #[arg(long, conflicts_with = "engine")]
    pub why: bool,
    /// Engine dsp, for runs of path mode: the same program built without --path, to execute the order that fails
    #[arg(long, value_name = "PROGRAM", requires = "engine")]
    pub program: Option<PathBuf>,
    /// File for the program's standard input, if the runs had one
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The command that used the program when it was recorded (record --driver): started beside each execution, in place of
    /// the input that was recorded
    #[arg(long, value_name = "COMMAND")]
    pub driver: Option<OsString>,
    /// Time that one execution may take: seconds, or with a unit as in 500ms, 10s, 2m
    /// [default: the time that the recorded run could take]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// The user's decision about the program
    #[command(flatten)]
    pub trusting: Trusting,
}

impl Explain {
    /// The circumstances in which the programs of the runs are executed.
    pub fn given(&self) -> ExecutionSettings {
        ExecutionSettings {
            stdin: self.stdin.clone(),
            driver: self.driver.clone(),
            timeout: self.timeout,
            word: self.trusting.word(),
        }
    }
}

/// Bounds for the solver's work on one question.
#[derive(Args, Clone, Copy, Debug)]
pub struct SolverLimits {
    /// Engine dsp: how much the solver may work on one question, in millions of its own units (some 10 take a second)
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=4000), requires = "engine")]
    pub solver_effort: u64,
    /// Engine dsp: megabytes that the solver may take
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..), requires = "engine")]
    pub solver_memory: u32,
}

impl SolverLimits {
    /// Returns the limits as options of the solver.
    pub fn options(self) -> SolverOptions {
        SolverOptions {
            effort: self.solver_effort.saturating_mul(1_000_000),
            memory: self.solver_memory,
            ..SolverOptions::default()
        }
    }
}

/// An engine that can be asked by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineName {
    /// One that compares runs.
    Comparing(Engine),
    /// The failing order and the nearest one that passes.
    Dsp,
    /// The conditions that had to hold along the failing run.
    Invariants,
}

impl EngineName {
    fn from_name(name: &str) -> Result<EngineName, String> {
        match name {
            "dsp" => return Ok(EngineName::Dsp),
            "invariants" => return Ok(EngineName::Invariants),
            _ => {}
        }
        let names = Engine::ALL.map(Engine::name).join(", ");
        let engine = Engine::from_name(name).map(EngineName::Comparing);
        engine.ok_or_else(|| format!("no such engine: expected {names}, dsp, invariants"))
    }
}

fn level(name: &str) -> Result<Level, String> {
    let expected = "expected ds, or ds with cs, hs, war, waw as in ds+cs+hs";
    Level::parse(name).ok_or_else(|| format!("no such level: {expected}"))
}

/// The occurrence of a pattern in a run, by one of three definitions (docs/engines/mining.md).
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Occurrence {
    /// Macros in this order, with the same dependencies
    Dependencies,
    /// Macros in this order
    Macros,
    /// The events of the macros in this order
    Events,
}

/// Something that may happen although nothing in the program says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Chance {
    /// Nothing
    None,
    /// A wait on a condition variable ends by itself
    SpuriousWakeups,
    /// The time of a timed wait is over at once
    EarlyTimeouts,
    /// A weak compare-and-exchange or mtx_trylock fails for no reason
    FailingTries,
}

/// The output format of the coverage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CoverageFormat {
    /// A line for each pair of places
    Text,
    /// A list of objects
    Json,
}

/// The output format of findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OutputFormat {
    /// For reading
    Text,
    /// For programs (docs/explain-json.md)
    Json,
}

/// The output format of causes over all builds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReportFormat {
    /// For reading
    Text,
    /// For programs (docs/fleet.md)
    Json,
    /// A page for a browser, complete in itself
    Html,
}

/// The output format of explanations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ExplainFormat {
    /// For reading
    Text,
    /// For programs (docs/explain-json.md)
    Json,
    /// For a bug report
    Markdown,
    /// As a compiler writes its messages, for editors that jump to them
    Lines,
    /// A page for a browser, complete in itself
    Html,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// A graph for Graphviz
    Dot,
    /// A picture; engine dsp only
    Svg,
}

/// `unsnarl predict`
#[derive(Args, Debug)]
pub struct PredictArguments {
    /// A run file, the name of a run in .unsnarl/runs, a folder of runs, or a project: then the newest
    /// passing runs of each program [default: .]
    #[arg(conflicts_with = "command", value_parser = folder::local(folder::FETCH))]
    pub place: Option<PathBuf>,
    /// File with patterns of your own, in addition to the built-in ones (docs/engines/predict.md)
    #[arg(long, value_name = "FILE")]
    pub patterns: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Time for all of it, at least half of it for executing: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = "2m", value_parser = duration)]
    pub budget: Duration,
    /// Predicted anomalies that are executed at most, the likeliest to fail first
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max: u64,
    /// Passing runs of each program to predict from, the newest first
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub runs: usize,
    /// Show every anomaly that did no harm or did not happen
    #[arg(long)]
    pub all: bool,
    /// Folder for the runs that fail
    #[arg(long, value_name = "DIR", default_value = load::RUNS, value_parser = folder::local(folder::UPLOAD))]
    pub out: PathBuf,
    /// File for the program's standard input, if the run had one
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Time that one run may take: seconds, or with a unit as in 500ms, 10s, 2m
    /// [default: the time that the recorded run could take]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// The user's decision about the program
    #[command(flatten)]
    pub trusting: Trusting,
    /// A program and its arguments: record a passing run of it first
    #[arg(last = true, value_name = "PROG ARGS")]
    pub command: Vec<OsString>,
}

/// `unsnarl verify`
#[derive(Args, Debug)]
pub struct Verify {
    /// The fix: the id of an explanation, with :N for its N-th fix
    pub fix: String,
    /// The runs: a folder of runs, or a project with .unsnarl/runs [default: .]
    #[arg(value_parser = folder::local(folder::FETCH))]
    pub place: Option<PathBuf>,
    /// Print the edit as a unified diff, for `patch -p0` or `git apply -p0`, and do nothing else
    #[arg(long, conflicts_with_all = ["build", "apply"])]
    pub diff: bool,
    /// Edit a copy of the current folder, build it by this command (with CC and CXX set to unsnarl's unless they
    /// are set), and explore what it made
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Write the edit into the sources when it holds
    #[arg(long, requires = "build")]
    pub apply: bool,
    /// Most preemptions of the schedules that are explored
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub bound: u32,
    /// Schedules that are explored at most
    #[arg(short = 'n', long = "schedules", value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub schedules: u64,
    /// Random schedules to try when those within the bound are not all
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub random: u64,
    /// Time for exploring: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = "60s", value_parser = duration)]
    pub budget: Duration,
    /// Megabytes that the runs may take, the shortest failing and passing ones first
    #[arg(long, value_name = "MB", default_value_t = load::MEMORY, value_parser = clap::value_parser!(u64).range(1..))]
    pub memory: u64,
    /// Time that one run may take
    /// [default: the time that the recorded run could take]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// File for the program's standard input, if the runs had one
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The command that used the program when it was recorded (record --driver): started beside each execution, in place of
    /// the input that was recorded
    #[arg(long, value_name = "COMMAND")]
    pub driver: Option<OsString>,
    /// The user's decision about the program
    #[command(flatten)]
    pub trusting: Trusting,
}

/// `unsnarl replay`
#[derive(Args, Debug)]
pub struct ReplayArguments {
    /// A run file, the name of one in .unsnarl/runs, or a schedule (docs/schedule.md)
    pub run: PathBuf,
    /// Number of repetitions
    #[arg(short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub times: u64,
    /// Start gdb on the program that follows the run (docs/debugging.md); what stands after -- goes to gdb
    #[arg(long, conflicts_with_all = ["times", "keep", "show_output"])]
    pub gdb: bool,
    /// Judge a schedule of `unsnarl export --to test`: exits 1 when the program fails by it, 0 when it does not, 77
    /// when it cannot be followed any more (docs/formats.md)
    #[arg(long, conflicts_with_all = ["times", "gdb", "keep", "branches"])]
    pub test: bool,
    /// The program to test instead of the one that the schedule names
    #[arg(long, value_name = "PROG", requires = "test")]
    pub program: Option<PathBuf>,
    /// A schedule's run is kept although it passed
    #[arg(long)]
    pub keep: bool,
    /// Folder for the run that a schedule, or --branches, gives
    #[arg(long, value_name = "DIR", default_value = load::RUNS, value_parser = folder::local(folder::UPLOAD))]
    pub out: PathBuf,
    /// File for the program's standard input, if the run had one
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The command that used the program when it was recorded (record --driver): started beside each execution, in place of
    /// the input that was recorded
    #[arg(long, value_name = "COMMAND")]
    pub driver: Option<OsString>,
    /// Time that one run may take: seconds, or with a unit as in 500ms, 10s, 2m
    /// [default: the time that the recorded run could take]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Record the branches that are taken, too, and store the richer run in DIR/branches
    #[arg(long)]
    pub branches: bool,
    /// Show what the program prints
    #[arg(long)]
    pub show_output: bool,
    /// The user's decision about the program
    #[command(flatten)]
    pub trusting: Trusting,
    /// Arguments for gdb
    #[arg(last = true, value_name = "GDB ARGS", requires = "gdb")]
    pub gdb_arguments: Vec<OsString>,
}

/// `unsnarl import`
#[derive(Args, Debug)]
pub struct ImportArguments {
    /// The trace
    pub file: PathBuf,
    /// Format of the trace (docs/traces.md)
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub from: TraceFormat,
    /// The run of the trace failed, at the trace's last event
    #[arg(long)]
    pub failed: bool,
    /// Name of what ran; traces of one name are compared. Without it the file's name is taken
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    /// Folder for the run
    #[arg(long, value_name = "DIR", default_value = load::RUNS, value_parser = folder::local(folder::UPLOAD))]
    pub out: PathBuf,
}

/// The formats of other tools' traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum TraceFormat {
    /// RAPID's standard format: thread|operation(operand)|location
    Std,
    /// RAPID's CSV: a column for each thread
    Csv,
}

/// `unsnarl suppress`
#[derive(Args, Debug)]
pub struct Suppress {
    /// A failing run that it explains, or the explanation's id of the JSON
    pub finding: String,
    /// Reason for which it is harmless
    #[arg(long, value_name = "REASON")]
    pub because: String,
    /// Place of the runs, as for explain [default: .]
    #[arg(value_parser = folder::local(folder::FETCH))]
    pub place: Option<PathBuf>,
}

/// `unsnarl export`
#[derive(Args, Debug)]
pub struct Export {
    /// A run file, or the name of one in .unsnarl/runs
    pub run: PathBuf,
    /// Output format (docs/formats.md)
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// File for the program's standard input, if the run had one; for --to test, which executes it
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Time that one run may take, for --to test: seconds, or with a unit as in 500ms, 10s, 2m
    /// [default: the time that the recorded run could take]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// The user's decision about the program
    #[command(flatten)]
    pub trusting: Trusting,
}

/// The formats that a run can be printed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ExportFormat {
    /// RAPID's standard format: thread|operation(operand)|location
    Std,
    /// A timeline for Perfetto or Chrome's tracing page
    Perfetto,
    /// The dependences between threads, as a graph for Graphviz
    Dot,
    /// A log with vector clocks for ShiViz
    Shiviz,
    /// Explanation of the failure, as SARIF 2.1.0
    Sarif,
    /// A shell script that fails as long as the run's order makes the program fail: a regression test
    Test,
}

/// `unsnarl lsp`
#[derive(Args, Debug)]
pub struct Lsp {
    /// Speak over standard input and output (there is no other way)
    #[arg(long)]
    pub stdio: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{text}` is no number from 1"))
}

fn procedure(name: &str) -> Result<Procedure, String> {
    let names = Procedure::ORDER.map(Procedure::name).join(", ");
    Procedure::from_name(name).ok_or_else(|| format!("no such procedure: expected {names}"))
}

/// Parses `10`, `1.5`, `500ms`, `10s`, `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(
        text.trim_end_matches(|c: char| c.is_ascii_alphabetic())
            .len(),
    );
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => {
            return Err(format!(
                "`{unit}` is no unit of time: expected ms, s, m or h"
            ));
        }
    };
    let seconds: f64 = number
        .parse()
        .map_err(|_| format!("`{number}` is no number"))?;
    Duration::try_from_secs_f64(seconds * scale)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("`{text}` is no time that something may take"))
}

/// Parses `1000`, `64K`, `500M`, `2G`: powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(number.len()..).unwrap_or_default();
    let power = match unit.trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => {
            return Err(format!(
                "`{unit}` is no unit of size: expected K, M, G or T"
            ));
        }
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("`{number}` is no whole number"))?;
    let bytes = number.checked_mul(1 << (10 * power));
    bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("`{text}` is no size that runs may have"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn times() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in ["", "s", "0", "-1", "1y", "nan", "1e300", "1 0"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("1000"), Ok(1000));
        assert_eq!(bytes("64K"), Ok(64 << 10));
        assert_eq!(bytes("500M"), Ok(500 << 20));
        assert_eq!(bytes("2GB"), Ok(2 << 30));
        for bad in ["", "G", "0", "-1", "1.5G", "3X", "99999999999T"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_programs_own_options_stay_its_own() {
        let line = ["unsnarl", "record", "-n", "2", "--", "./p", "-n", "--help"];
        let Command::Record(record) = CommandLine::parse_from(line).command else {
            panic!("not record")
        };
        assert_eq!(record.runs, Some(2));
        assert_eq!(record.command, ["./p", "-n", "--help"]);
    }
}
