//! Conversion of a raw log and debug info into a run: names instead of addresses.
//!
//! Nothing in a run depends on where the loader put things: code becomes file, line and function;
//! memory becomes the name of a variable, a heap block by its allocation, a stack variable by thread
//! and function; pointers become what they point to. So the same schedule of the same build gives the
//! same bytes.
//!
//! The log comes from a program with bugs: everything in it is checked, nothing in it can make this
//! panic, and what does not make sense is said in the run's problems.
//!
//! In the order of the work: `raw_log` reads the log; `modules` and `image` find the file behind
//! an address, `dwarf`, `types` and `globals` what lies in it, `sites` the source of its code;
//! `walk` goes through the records once and notes *places* (`places`, `memory`, `heap`,
//! `calls`); `rows` turns places into locations; `moved`
//! gives accesses that the compiler moved the line that they belong to.

mod allocations;
mod alternatives;
mod bit_fields;
mod branches;
mod calls;
mod cfi;
mod check;
mod clusters;
mod code;
mod course;
mod definitions;
mod drafts;
mod dwarf;
mod dwarf_encodings;
mod dwarf_types;
mod failure;
mod globals;
mod heap;
mod image;
mod implicit;
mod imports;
mod input;
mod kinds;
mod landmarks;
mod lift;
mod lines;
mod memory;
mod modules;
mod moved;
pub(crate) mod names;
mod origins;
mod path;
mod places;
mod points;
mod problems;
mod program;
mod raw_log;
mod returns;
mod rows;
mod shared_frames;
mod sites;
mod sources;
mod spots;
mod step_rows;
mod steps;
mod stuck;
mod threads;
mod types;
mod unseen;
mod waiting;
mod walk;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use self::code::ReachableCode;
pub(crate) use self::image::SourceLines;
pub(crate) use self::program::{MOST, hash_of};
pub(crate) use self::threads::names as thread_names;
pub(crate) use self::waiting::is_for_good;
pub use self::{
    image::Instrumented,
    program::{ProgramDebugInfo, ProgramError},
    raw_log::{LogModule, LogThread, RawLog, RawLogError},
    returns::Returns,
};

use self::{
    drafts::Drafts,
    memory::RunMemory,
    modules::Modules,
    places::MemoryRegions,
    rows::{DraftRows, RowSink},
    sources::SourceContent,
    walk::LogWalk,
};
use crate::{
    launch::{calls::InCall, check::FailedCheck},
    log::Log,
};
use unsnarl_trace::{
    Chances, Criteria, EventColumns, FailureKind, LocationId, OrderMode, Outcome, PathRow, Run,
    RunEncoder, RunMeta, SiteRow, SourceRow, ThreadRow,
    input::EnvironmentVariable,
    meta::{CondensedPart, FORMAT, LeftOut},
    raw::{End, Record},
};

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// Exit with this status.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Not observed.
    #[default]
    Unknown,
}

/// Facts about the run that the launcher knows and the log does not hold.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Path of the parent program, if it started the program that is recorded.
    pub parent: Option<String>,
    /// Program, or parent program, and arguments as given.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: String,
    /// Hash over arguments and standard input.
    pub input_hash: String,
    /// The relation between the recorded order of events and the real one.
    pub mode: OrderMode,
    /// Name of the strategy.
    pub strategy: String,
    /// Seed of the strategy.
    pub seed: u64,
    /// PCT's depth, 0 otherwise.
    pub depth: u32,
    /// PCT's k, 0 otherwise.
    pub expected_steps: u64,
    /// Choices other than threads that the run made.
    pub chances: Chances,
    /// Criteria for a failure.
    pub criteria: Criteria,
    /// Environment variables that are kept of every run.
    pub environment: Vec<EnvironmentVariable>,
    /// Time that the run could take, as [`RunMeta::time_limit`] notes it.
    pub time_limit: Option<u64>,
    /// Limit of the stack, as [`unsnarl_trace::input::RunInput`] notes it.
    pub stack: Option<u64>,
    /// The launcher ended the program because its time was over.
    pub timed_out: bool,
    /// System calls in which its threads were at that time.
    pub calls: Vec<InCall>,
    /// All threads waited at that time, and only somebody outside of the process could end one of the waits.
    pub waits_outside: bool,
    /// Other runs with the same input have ended.
    pub others_end: bool,
    /// The launcher ended the program for another reason.
    pub killed: bool,
    /// The launcher has asked the program to end.
    pub asked: bool,
    /// Failure that was reported by the driver, which uses the program from outside, or by the parent program.
    pub driver_failure: Option<String>,
    /// The first check that the program printed as failed.
    pub failed_check: Option<FailedCheck>,
    /// The way in which the process ended.
    pub exit: Exit,
}

/// The end of a run, as far as it is known before its records are examined.
pub(crate) struct EndOfRun {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Kind of the failure, and one line for a person.
    pub failure: Option<(FailureKind, String)>,
    /// Reasons for which the record is not complete, and other remarks for the user.
    pub problems: Vec<String>,
}

/// The end of a run.
pub(crate) fn ended(log: &RawLog<'_>, program: &ProgramDebugInfo, launch: &Launch) -> EndOfRun {
    let threads: Vec<LogThread> = log.threads().collect();
    let names = threads::names(&threads);
    let ending = failure::ending(log, launch);
    let mut problems: Vec<String> = ending.problem.into_iter().collect();
    problems.extend(waiting::problem(log, program, launch, &names));
    problems.extend(stuck::problem(log, program, launch, &names));
    EndOfRun {
        outcome: ending.outcome,
        failure: ending.failure,
        problems,
    }
}

/// Assembles a run from its log and the program's debug info.
pub fn assemble(log: &RawLog<'_>, program: &ProgramDebugInfo, launch: &Launch) -> Run {
    let mut walk = WalkedRun::begin(log, program);
    walk.has_exited = failure::exit_before(log, launch).is_some();
    walk.run(log.records());
    let mut walked = WalkedRun::of(walk, log);
    let mut rows = walked.rows(EventColumns::with_capacity(walked.drafts.len()));
    let mut ended = ended(log, program, launch);
    let failure = ended
        .failure
        .take()
        .map(|failure| failure::place(failure, launch, log, program, &mut walked.walk, &mut rows));
    let failure = failure.map(|mut failure| {
        if log.end() == End::Livelock {
            let sites = &walked.walk.sites.rows;
            failure.message += &failure::circles(&rows, sites, &walked.threads);
        }
        failure
    });
    let known = known_before(log, program, launch, left_out(log));
    let (meta, locations) = walked.tables(log, program, known, ended);
    Run {
        meta: RunMeta { failure, ..meta },
        locations: locations.into(),
        events: rows.finish(),
        damage: Vec::new(),
    }
}

/// A run that was assembled without its columns.
pub(crate) struct EncodedEvents {
    /// Its metadata.
    pub meta: RunMeta,
    /// Names of its locations.
    pub locations: Vec<String>,
    /// Its events as they lie in its file.
    pub events: RunEncoder,
}

/// Assembles a run that has not failed, event by event into its file. The records are forgotten as they are read, so that
/// the run takes little more memory than its log has taken.
pub(crate) fn encode(
    log: &mut Log,
    program: &ProgramDebugInfo,
    launch: &Launch,
) -> Result<EncodedEvents, RawLogError> {
    /// Number of records after which their memory is given back.
    const READ: usize = 1 << 17;
    let raw = RawLog::new(log.bytes())?;
    let left_out = left_out(&raw);
    let (mut walk, records) = (WalkedRun::begin(&raw, program), raw.len());
    for start in (0..records).step_by(READ) {
        walk.run(RawLog::new(log.bytes())?.records_in(start..start + READ));
        // A short log is used again as it is.
        if start + READ < records {
            log.forget_records(start + READ);
        }
    }
    let raw = RawLog::new(log.bytes())?;
    let mut walked = WalkedRun::of(walk, &raw);
    let events = walked.rows(RunEncoder::default());
    let known = known_before(&raw, program, launch, left_out);
    let ended = ended(&raw, program, launch);
    let (meta, locations) = walked.tables(&raw, program, known, ended);
    Ok(EncodedEvents {
        meta,
        locations,
        events,
    })
}

/// A run whose records were read.
struct WalkedRun<'a> {
    walk: LogWalk<'a>,
    drafts: Drafts,
    threads: Vec<ThreadRow>,
    paths: Vec<PathRow>,
    locks: Vec<LocationId>,
}

impl<'a> WalkedRun<'a> {
    /// A walk that has read nothing yet.
    fn begin(log: &RawLog<'_>, program: &'a ProgramDebugInfo) -> LogWalk<'a> {
        let threads: Vec<LogThread> = log.threads().collect();
        let regions = MemoryRegions::new(threads::names(&threads));
        let memory = RunMemory::new(Modules::new(log, program), regions, &threads);
        LogWalk::new(memory, threads.len(), log)
    }

    /// The end of a walk that has read all records.
    fn of(mut walk: LogWalk<'a>, log: &RawLog<'_>) -> WalkedRun<'a> {
        walk.end();
        let paths = walk.run_paths(log);
        let threads: Vec<LogThread> = log.threads().collect();
        let threads = threads::rows(&threads, &threads::names(&threads), &mut walk);
        let drafts = std::mem::take(&mut walk.drafts);
        drafts.spots.touch(&mut walk.memory.regions);
        walk.memory.regions.divide();
        WalkedRun {
            walk,
            drafts,
            threads,
            paths,
            locks: Vec::new(),
        }
    }

    /// Makes the rows.
    fn rows<S: RowSink>(&mut self, sink: S) -> S {
        let rows = DraftRows::new(&mut self.walk, &self.drafts, sink).build();
        self.locks = rows.locks;
        rows.sink
    }

    /// The run's tables, once its rows are made.
    fn tables(
        self,
        log: &RawLog<'_>,
        program: &ProgramDebugInfo,
        known: RunMeta,
        ended: EndOfRun,
    ) -> (RunMeta, Vec<String>) {
        let mut walk = self.walk;
        let mut problems = ended.problems;
        problems.extend(lost(log, program, &walk));
        problems.extend(input::problems(log, program));
        let meta = RunMeta {
            outcome: ended.outcome,
            threads: self.threads.into(),
            locks: self.locks,
            encodings: walk.memory.regions.encodings(),
            left_locals: walk.shared_frames.left_locals(&walk.entries),
            sources: sources(program, &walk.sites.rows, &mut problems),
            sites: walk.sites.rows.into(),
            blocks: walk.blocks.rows,
            units: walk.points.units,
            points: walk.points.rows,
            paths: self.paths,
            frames: walk.stacks.rows.into(),
            problems,
            ..known
        };
        (meta, walk.memory.regions.locations)
    }
}

/// The place in the source of the call that returns to `pc`, if there is one.
pub fn site_of(log: &RawLog<'_>, program: &ProgramDebugInfo, pc: u64) -> Option<SiteRow> {
    ReachableCode::of(log, program)
        .site(pc)
        .map(|(site, _)| site)
}

/// The accesses that the log has no records of. Linear in the part that was condensed.
fn left_out(log: &RawLog<'_>) -> Option<LeftOut> {
    let older = log.records_in(0..log.condensed() as usize);
    let condensed = (log.condensed() > 0).then(|| CondensedPart {
        events: older.filter(Record::is_event).count() as u64,
        room: log.records_cap(),
    });
    (log.left_out() > 0 || condensed.is_some()).then(|| LeftOut {
        accesses: log.left_out(),
        after: log.repeats_after(),
        condensed,
    })
}

/// The part of the metadata that does not depend on the records.
fn known_before(
    log: &RawLog<'_>,
    program: &ProgramDebugInfo,
    launch: &Launch,
    left_out: Option<LeftOut>,
) -> RunMeta {
    RunMeta {
        format: FORMAT,
        program: program.path().to_string_lossy().into_owned(),
        build_id: program.build_id().to_owned(),
        parent: launch.parent.clone(),
        command: launch.command.clone(),
        directory: launch.directory.clone(),
        input_hash: launch.input_hash.clone(),
        mode: launch.mode,
        exact: launch.mode == OrderMode::Controlled,
        strategy: launch.strategy.clone(),
        seed: launch.seed,
        depth: launch.depth,
        expected_steps: launch.expected_steps,
        time_limit: launch.time_limit,
        steps: log.steps(),
        left_out,
        chances: launch.chances,
        criteria: launch.criteria.clone(),
        input: input::of_run(log, launch),
        unseen_locks: program.unseen_locks().to_vec(),
        schedule: log.schedule(),
        ..RunMeta::default()
    }
}

/// Gaps of the run, in words.
fn lost(log: &RawLog<'_>, program: &ProgramDebugInfo, walk: &LogWalk<'_>) -> Vec<String> {
    let mut lost = walk.problems.texts(log, |site| walk.sites.label(site));
    if !program.has_debug_info() {
        lost.push(format!(
            "{} has no debug info, or only compressed one (-gz): build it with `unsnarl cc -g` to see lines and \
             variables",
            program.path().display()
        ));
    }
    lost.extend(unseen::problem(program.unseen()));
    if walk.stacks.is_cut {
        lost.push("the table of call stacks is full: later calls are left out".to_owned());
    }
    lost
}

/// The user's source files that sites are in, in the order of first use.
fn sources(
    program: &ProgramDebugInfo,
    sites: &[SiteRow],
    problems: &mut Vec<String>,
) -> Vec<SourceRow> {
    let mut sources: Vec<SourceRow> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    for site in sites
        .iter()
        .filter(|site| site.line != 0 && !site.file.is_empty())
    {
        if !seen.insert(site.file.as_str()) {
            continue;
        }
        let file = site.file.clone();
        match &*program.sources.file(&file) {
            SourceContent::Read { sha256, .. } => {
                sources.push(SourceRow { file, sha256: sha256.clone() });
            }
            SourceContent::Recalled { sha256, .. } => {
                problems.push(format!(
                    "the source {file} was changed after the program was built: only lines that were recorded before have their text"
                ));
                sources.push(SourceRow { file, sha256: sha256.clone() });
            }
            SourceContent::Missing => problems.push(format!(
                "the source {file} cannot be read: lines have numbers but no text"
            )),
            SourceContent::Changed => problems.push(format!(
                "the source {file} was changed after the program was built: build it again to see its text"
            )),
        }
    }
    sources
}
