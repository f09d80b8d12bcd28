//! The raw log's memory: made here, filled by the runtime in the program, read by `assemble`.
//!
//! It is an anonymous file in memory, and only pages that are touched take memory. The next run gets the
//! same memory ([`Memories`]) when nobody is left that could write into it: a process that outlives its run
//! can write into its own log only.

use crate::assemble::RawLog;
use memmap2::MmapMut;
use rustix::{
    fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create},
    io::Errno,
    process::{Pid, Resource, getrlimit},
};
use std::{
    ffi::OsStr,
    fs::File,
    io,
    mem::{ManuallyDrop, offset_of},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Relaxed},
        },
    },
};
use unsnarl_trace::raw::{
    Detail, Directive, EqualChoices, HEADER_BYTES, Header, MAGIC, MAX_MODULES, MAX_THREADS, Module,
    RawMode, RawStrategy, Record, Thread, VERSION, children, quiet_slot,
};
use unsnarl_trace::{Chances, Schedule, input::RunInput};

/// The processes that may claim a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Claimant {
    /// The program that is started.
    #[default]
    Started,
    /// The first of the processes that it starts whose program is this file.
    Child(PathBuf),
    /// None: the instrumented programs that are started note themselves ([`Log::listed`]).
    Listed,
}

/// The configuration that the runtime gets before the program starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogConfig {
    /// Controlled or free.
    pub mode: RawMode,
    /// The strategy that chooses the next thread.
    pub strategy: RawStrategy,
    /// Seed of the choices.
    pub seed: u64,
    /// PCT's depth.
    pub depth: u32,
    /// PCT's k.
    pub expected_steps: u64,
    /// Random walk: leave the running thread only once in this many decisions; 0 when the run finds out
    /// ([`unsnarl_trace::raw::switch_one_in_after`]).
    pub switch_one_in: u32,
    /// The choices to follow before the strategy goes on.
    pub prefix: Schedule,
    /// Choices prescribed by the position of their thread, sorted; the strategy makes the others.
    pub plan: Vec<Directive>,
    /// Places where threads are not chosen: program counters, counted from where the program is loaded.
    pub quiet: Vec<u32>,
    /// Choices other than threads that the run makes.
    pub chances: Chances,
    /// Notes the details of each choice.
    pub details: bool,
    /// The part that holds a proposed schedule ([`unsnarl_trace::raw::follow`]); empty when there is none.
    pub follow: Vec<u8>,
    /// Records the blocks of code that are entered.
    pub branches: bool,
    /// A debugger watches and is told of events.
    pub is_debugged: bool,
    /// Accesses to freed heap blocks do not end the run.
    pub allow_use_after_free: bool,
    /// Seed of the program's random numbers.
    pub input_seed: u64,
    /// Input of a recorded run, to give back.
    pub input: RunInput,
    /// That input is said anew by whoever is outside, and only comes as it came then.
    pub is_live: bool,
    /// The processes that may claim the log.
    pub claimant: Claimant,
    /// Bounds for the run.
    pub limits: Limits,
}

impl Default for LogConfig {
    fn default() -> Self {
        LogConfig {
            mode: RawMode::Controlled,
            strategy: RawStrategy::Sequential,
            seed: 0,
            depth: 0,
            expected_steps: 0,
            switch_one_in: 1,
            prefix: Schedule::default(),
            plan: Vec::new(),
            quiet: Vec::new(),
            chances: Chances::default(),
            details: false,
            follow: Vec::new(),
            branches: false,
            is_debugged: false,
            allow_use_after_free: false,
            input_seed: 0,
            input: RunInput::default(),
            is_live: false,
            claimant: Claimant::Started,
            limits: Limits::default(),
        }
    }
}

/// Bounds for a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Number of events that the log holds. Where accesses may be left out, a full log is condensed; elsewhere, and where
    /// that makes no room, the recording is cut short.
    pub events: u64,
    /// Number of steps after which the run counts as endless.
    pub steps: u64,
    /// Bytes of input that are kept.
    pub input: u64,
    /// Decision points after which accesses that repeat others are not recorded; with the largest number every access is.
    pub repeats_after: u64,
}

impl Limits {
    /// Decision points within which a campaign records every access. A run that is kept costs about 0.2 microseconds an
    /// event, so these take 15 milliseconds.
    pub const ALL_RECORDED: u64 = 1 << 16;
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            events: 8 << 20,
            steps: 1 << 30,
            input: 4 << 20,
            repeats_after: u64::MAX,
        }
    }
}

/// Reads in a row after which a thread is taken to be spinning and lets the others run.
const SPIN_LIMIT: u32 = 400;

/// Start of the program's clock in nanoseconds: 2024-01-01. A fixed date, so that the same choices give the same run.
const START_TIME: u64 = 1_704_067_200_000_000_000;

/// A raw log.
pub struct Log {
    memory: ManuallyDrop<LogMemory>,
    follow: std::ops::Range<usize>,
    /// Offset of the first record.
    records: u64,
    /// Number of records that are forgotten.
    forgotten: u64,
    /// The pool that takes the memory back, if nobody else can write into it any more.
    home: Memories,
    is_alone: AtomicBool,
    is_controlled: bool,
}

/// The file in memory and its mapping in this process.
#[derive(Debug)]
struct LogMemory {
    file: File,
    map: MmapMut,
    /// Most records that it has ever held: their pages take memory.
    touched: u64,
}

/// Memory of logs that are not used any more, for the next ones. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Memories(Arc<Mutex<Vec<LogMemory>>>);

/// Extra length of the file: the next log may need a little more.
const ROOM: u64 = 4 << 20;
/// Logs that have held more records together are given back to the system: they would take too much memory from the
/// program.
const MOST_RECORDS: u64 = 1 << 23;
/// Logs that wait to be used again: each holds a descriptor.
const MOST_LOGS: usize = 64;

impl Memories {
    /// A log that is ready for a program.
    pub fn log(&self, config: &LogConfig) -> io::Result<Log> {
        let layout = LogLayout::of(config);
        let is_controlled = config.mode == RawMode::Controlled;
        let memory = match self.take(layout.end).filter(|_| is_controlled) {
            Some(memory) => memory,
            None => LogMemory::new(layout.end)?,
        };
        let start = layout.follow as usize;
        let mut log = Log {
            memory: ManuallyDrop::new(memory),
            follow: start..start + config.follow.len(),
            records: layout.records,
            forgotten: 0,
            home: self.clone(),
            is_alone: AtomicBool::new(false),
            is_controlled,
        };
        log.configure(config, &layout);
        Ok(log)
    }

    /// The one that came last, when it is long enough.
    fn take(&self, bytes: u64) -> Option<LogMemory> {
        let memory = self.0.lock().ok()?.pop()?;
        (memory.map.len() as u64 >= bytes).then_some(memory)
    }

    /// Keeps memory for the next log, if there is not too much already.
    fn give_back(&self, memory: LogMemory) {
        let Ok(mut kept) = self.0.lock() else { return };
        let all = kept.iter().map(|one| one.touched).sum::<u64>();
        if kept.len() < MOST_LOGS && all.saturating_add(memory.touched) <= MOST_RECORDS {
            kept.push(memory);
        }
    }
}

impl LogMemory {
    fn new(bytes: u64) -> io::Result<LogMemory> {
        let file = File::from(memfd_create("unsnarl-log", MemfdFlags::CLOEXEC)?);
        let bytes = bytes.next_multiple_of(ROOM);
        // Beyond the limit the kernel would end this process by a signal.
        if getrlimit(Resource::Fsize)
            .current
            .is_some_and(|most| bytes > most)
        {
            return Err(Errno::FBIG.into());
        }
        ftruncate(&file, bytes)?;
        // SAFETY: nobody else has the file yet; later only the program writes, and this process reads
        // when the program has ended.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(LogMemory {
            file,
            map,
            touched: 0,
        })
    }

    fn header(&self) -> &Header {
        // SAFETY: it lies at the start, aligned as a page is, and all bytes are valid for it; what another
        // process may write at the same time is read as atomics are.
        unsafe { &*self.map.as_ptr().cast::<Header>() }
    }

    /// Empties the tables whose rows are taken to be empty. All others are read only as far as the
    /// header says, which is written anew.
    fn clear(&mut self) {
        let header = self.header();
        let (modules, threads) = (header.modules.load(Relaxed), header.threads.load(Relaxed));
        let modules = (modules as usize).min(MAX_MODULES) * size_of::<Module>();
        let threads = (threads as usize).min(MAX_THREADS) * size_of::<Thread>();
        let layout = LogLayout::of(&LogConfig::default());
        for (start, bytes) in [
            (0, HEADER_BYTES),
            (layout.modules as usize, modules),
            (layout.threads as usize, threads),
        ] {
            if let Some(part) = self.map.get_mut(start..start + bytes) {
                part.fill(0);
            }
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // SAFETY: nobody uses it afterwards.
        let mut memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        let touched = memory.touched.max(memory.header().records.load(Relaxed));
        memory.touched = touched.saturating_sub(self.forgotten);
        let is_whole = RawLog::new(&memory.map).is_ok();
        if self.is_alone.load(Relaxed) && self.is_controlled && is_whole {
            memory.clear();
            self.home.give_back(memory);
        }
    }
}

/// Byte offsets of the log's parts.
struct LogLayout {
    modules: u64,
    threads: u64,
    replay: u64,
    follow: u64,
    plan: u64,
    quiet: u64,
    decisions: u64,
    details: u64,
    records: u64,
    given: u64,
    input: u64,
    end: u64,
}

impl LogLayout {
    fn of(config: &LogConfig) -> LogLayout {
        let page = |bytes: u64| bytes.next_multiple_of(4096);
        let modules = HEADER_BYTES as u64;
        let threads = modules + page((MAX_MODULES * size_of::<Module>()) as u64);
        let replay = threads + page((MAX_THREADS * size_of::<Thread>()) as u64);
        let follow = replay + page(size_of_val(config.prefix.rows()) as u64);
        let plan = follow + page(config.follow.len() as u64);
        let quiet = plan + page((config.plan.len() * size_of::<Directive>()) as u64);
        let decisions = quiet + page(4 * quiet_len(config));
        let details = decisions + page(decisions_cap(config) * size_of::<EqualChoices>() as u64);
        let records = details + page(details_cap(config) * size_of::<Detail>() as u64);
        let given = records
            + page(
                config
                    .limits
                    .events
                    .saturating_mul(size_of::<Record>() as u64),
            );
        let input = given + page(config.input.bytes.0.len() as u64);
        let end = input + page(config.limits.input);
        LogLayout {
            modules,
            threads,
            replay,
            follow,
            plan,
            quiet,
            decisions,
            details,
            records,
            given,
            input,
            end,
        }
    }
}

/// Room for choices: nearly every choice belongs to an event, so the events run out first.
fn decisions_cap(config: &LogConfig) -> u64 {
    config
        .limits
        .steps
        .min(config.limits.events.saturating_mul(2))
}

/// Room for the details of each choice, when they are asked for.
fn details_cap(config: &LogConfig) -> u64 {
    if config.details {
        decisions_cap(config)
    } else {
        0
    }
}

/// Length of the table of places that are passed over: half of it stays empty.
fn quiet_len(config: &LogConfig) -> u64 {
    2 * config.quiet.len() as u64
}

/// The table of places that are passed over, as it lies in memory.
fn quiet_table(config: &LogConfig) -> Vec<u8> {
    let len = quiet_len(config);
    let mut table = vec![0u32; len as usize];
    for &place in config.quiet.iter().filter(|place| **place != 0) {
        let mut slots = (0..len).map(|next| (quiet_slot(place, len) + next) % len);
        let free = slots.find(|slot| table.get(*slot as usize) == Some(&0));
        if let Some(slot) = free.and_then(|slot| table.get_mut(slot as usize)) {
            *slot = place;
        }
    }
    table.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// A directive as it lies in memory.
fn bytes_of(directive: &Directive) -> [u8; size_of::<Directive>()] {
    let mut bytes = [0; size_of::<Directive>()];
    let fields = [
        (
            offset_of!(Directive, thread),
            &directive.thread.to_ne_bytes()[..],
        ),
        (offset_of!(Directive, kind), &directive.kind.to_ne_bytes()),
        (
            offset_of!(Directive, choice),
            &directive.choice.to_ne_bytes(),
        ),
        (offset_of!(Directive, step), &directive.step.to_ne_bytes()),
    ];
    for (at, field) in fields {
        if let Some(place) = bytes.get_mut(at..at + field.len()) {
            place.copy_from_slice(field);
        }
    }
    bytes
}

/// A row of choices as it lies in memory.
fn bytes_of_choices(row: &EqualChoices) -> [u8; size_of::<EqualChoices>()] {
    let mut bytes = [0; size_of::<EqualChoices>()];
    let fields: [(usize, &[u8]); 2] = [
        (offset_of!(EqualChoices, choice), &row.choice.to_ne_bytes()),
        (offset_of!(EqualChoices, count), &row.count.to_ne_bytes()),
    ];
    for (at, field) in fields {
        if let Some(place) = bytes.get_mut(at..at + field.len()) {
            place.copy_from_slice(field);
        }
    }
    bytes
}

impl Log {
    /// Makes a log that is ready for a program.
    pub fn create(config: &LogConfig) -> io::Result<Log> {
        Memories::default().log(config)
    }

    fn configure(&mut self, config: &LogConfig, layout: &LogLayout) {
        let words = [
            (offset_of!(Header, version), VERSION),
            (offset_of!(Header, mode), config.mode as u32),
            (offset_of!(Header, strategy), config.strategy as u32),
            (offset_of!(Header, depth), config.depth),
            (offset_of!(Header, switch_one_in), config.switch_one_in),
            (offset_of!(Header, spin_limit), SPIN_LIMIT),
            (offset_of!(Header, recorder), std::process::id()),
            (offset_of!(Header, record_calls), 1),
            (offset_of!(Header, record_branches), config.branches.into()),
            (offset_of!(Header, chances), config.chances.bits()),
            (offset_of!(Header, note_details), config.details.into()),
            (offset_of!(Header, is_debugged), config.is_debugged.into()),
            (offset_of!(Header, is_live), config.is_live.into()),
            (
                offset_of!(Header, allow_use_after_free),
                config.allow_use_after_free.into(),
            ),
            (
                offset_of!(Header, fail_one_in),
                config.chances.fail_malloc.unwrap_or(0),
            ),
        ];
        self.put_claimant(&config.claimant);
        let follow_at = if config.follow.is_empty() {
            0
        } else {
            layout.follow
        };
        let longs = [
            (offset_of!(Header, seed), config.seed),
            (offset_of!(Header, expected_steps), config.expected_steps),
            (offset_of!(Header, max_steps), config.limits.steps),
            (
                offset_of!(Header, repeats_after),
                config.limits.repeats_after,
            ),
            (offset_of!(Header, start_time), START_TIME),
            (offset_of!(Header, log_bytes), layout.end),
            (offset_of!(Header, modules_at), layout.modules),
            (offset_of!(Header, threads_at), layout.threads),
            (offset_of!(Header, replay_at), layout.replay),
            (
                offset_of!(Header, replay_len),
                config.prefix.rows().len() as u64,
            ),
            (offset_of!(Header, plan_at), layout.plan),
            (offset_of!(Header, plan_len), config.plan.len() as u64),
            (offset_of!(Header, quiet_at), layout.quiet),
            (offset_of!(Header, quiet_len), quiet_len(config)),
            (offset_of!(Header, decisions_at), layout.decisions),
            (offset_of!(Header, decisions_cap), decisions_cap(config)),
            (offset_of!(Header, details_at), layout.details),
            (offset_of!(Header, records_at), layout.records),
            (offset_of!(Header, records_cap), config.limits.events),
            (offset_of!(Header, follow_at), follow_at),
            (offset_of!(Header, input_at), layout.input),
            (offset_of!(Header, input_cap), config.limits.input),
            (offset_of!(Header, given_at), layout.given),
            (
                offset_of!(Header, given_len),
                config.input.bytes.0.len() as u64,
            ),
            (
                offset_of!(Header, given_all),
                u64::from(config.input.lost == 0),
            ),
            (offset_of!(Header, input_seed), config.input_seed),
            (offset_of!(Header, magic), MAGIC),
        ];
        let rows = config.prefix.rows().iter();
        let schedule: Vec<u8> = rows.flat_map(bytes_of_choices).collect();
        self.put(layout.replay as usize, &schedule);
        self.put(layout.follow as usize, &config.follow);
        let plan: Vec<u8> = config.plan.iter().flat_map(bytes_of).collect();
        self.put(layout.plan as usize, &plan);
        let quiet = quiet_table(config);
        self.put(layout.quiet as usize, &quiet);
        self.put(layout.given as usize, &config.input.bytes.0);
        words
            .iter()
            .for_each(|(at, word)| self.put(*at, &word.to_ne_bytes()));
        longs
            .iter()
            .for_each(|(at, long)| self.put(*at, &long.to_ne_bytes()));
    }

    fn put_claimant(&mut self, claimant: &Claimant) {
        let (kind, path) = match claimant {
            Claimant::Started => (children::STARTED, &[][..]),
            Claimant::Child(path) => (children::CHOSEN, path.as_os_str().as_bytes()),
            Claimant::Listed => (children::LISTED, &[][..]),
        };
        // The kernel knows no longer path.
        let path = path.get(..children::MOST_OF_PATH).unwrap_or(path);
        let length = path.len() as u32;
        self.put(offset_of!(Header, claimant), &kind.to_ne_bytes());
        self.put(offset_of!(Header, chosen_len), &length.to_ne_bytes());
        self.put(offset_of!(Header, chosen), path);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.memory.map.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// The descriptor that the program is to have. Programs that are started do not inherit it by themselves.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.memory.file.as_fd()
    }

    /// The part that holds a proposed schedule, with its result once the program has ended.
    pub fn follow_part(&self) -> &[u8] {
        self.bytes().get(self.follow.clone()).unwrap_or(&[])
    }

    /// The process that fills the log, 0 while there is none, and how many records it has written. May be
    /// asked while the program runs.
    pub fn progress(&self) -> (u32, u64) {
        let header = self.memory.header();
        (header.pid.load(Acquire), header.records.load(Acquire))
    }

    /// Returns whether every thread waits, and only somebody outside of the process could end one of the waits. May
    /// be called while the program runs.
    pub(crate) fn waits_outside(&self) -> bool {
        self.memory.header().waits_outside.load(Acquire) != 0
    }

    /// The process that has claimed the log.
    pub(crate) fn process(&self) -> Option<Pid> {
        let number = self.memory.header().pid.load(Acquire);
        Pid::from_raw(number.cast_signed())
    }

    /// The instrumented programs that were started with a log for [`Claimant::Listed`], by their process, in the order
    /// of their starts; and whether there was room for all of them.
    pub(crate) fn listed(&self) -> (Vec<(u32, PathBuf)>, bool) {
        let header = self.memory.header();
        let used = header.input_used.load(Acquire);
        let notes = self.bytes().get(header.input_at as usize..).unwrap_or(&[]);
        let end = used.min(header.input_cap) as usize;
        let notes = children::listed(notes.get(..end).unwrap_or(notes));
        let programs = notes.map(|(process, path)| (process, OsStr::from_bytes(path).into()));
        (programs.collect(), used <= header.input_cap)
    }

    /// Notes that the processes that were known to have the log have ended. Processes that the program has created
    /// are not known.
    pub(crate) fn has_ended(&self) {
        let header = self.memory.header();
        let has_made = header.forks.load(Relaxed) != 0 || header.detached.load(Relaxed) != 0;
        self.is_alone.store(!has_made, Relaxed);
    }

    /// Gives the memory of the first records back to the system, as far as it is that of theirs alone. To be called when
    /// the program has ended. Where the kernel refuses it, they stay.
    pub(crate) fn forget_records(&mut self, until: usize) {
        const PAGE: u64 = 4096;
        let offset = |record: u64| {
            let bytes = record.saturating_mul(size_of::<Record>() as u64);
            self.records.saturating_add(bytes) / PAGE * PAGE
        };
        let (start, end) = (offset(self.forgotten), offset(until as u64));
        let end = end.min(self.memory.map.len() as u64 / PAGE * PAGE);
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if start < end && fallocate(&self.memory.file, flags, start, end - start).is_ok() {
            self.forgotten = until as u64;
        }
    }

    /// The log's bytes. To be read when the program has ended.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_log_is_empty_and_whole() {
        let config = LogConfig {
            seed: 7,
            depth: 3,
            expected_steps: 99,
            prefix: Schedule::from_iter([1, 0, 0]),
            ..LogConfig::default()
        };
        let log = Log::create(&config).unwrap();
        let read = RawLog::new(log.bytes()).unwrap();
        assert!(read.is_empty());
        assert_eq!(
            (read.seed(), read.depth(), read.expected_steps()),
            (7, 3, 99)
        );
        assert_eq!(read.records_cap(), Limits::default().events);
        assert_eq!(
            read.schedule().len() + read.threads().count() + read.modules().count(),
            0
        );
        let replay = LogLayout::of(&config).replay as usize;
        assert_eq!(
            &log.bytes()[replay..replay + 16],
            [1u32, 1, 0, 2].map(u32::to_ne_bytes).as_flattened()
        );
    }

    #[test]
    fn the_memory_of_records_is_given_back() {
        let config = LogConfig {
            limits: Limits {
                events: 1000,
                ..Limits::default()
            },
            ..LogConfig::default()
        };
        let mut log = Log::create(&config).unwrap();
        let layout = LogLayout::of(&config);
        let (start, end) = (layout.records as usize, layout.given as usize);
        log.memory.map[start - 1..=end].fill(7);
        log.forget_records(300);
        log.forget_records(200);
        // 300 records of 32 bytes are more than two pages.
        assert!(
            log.bytes()[start..start + 8192]
                .iter()
                .all(|byte| *byte == 0)
        );
        assert!(
            log.bytes()[start + 8192..=end]
                .iter()
                .all(|byte| *byte == 7)
        );
        assert_eq!(log.bytes()[start - 1], 7);
        log.forget_records(1000);
        assert!(
            log.bytes()[start..start + 28_672]
                .iter()
                .all(|byte| *byte == 0)
        );
        assert!(
            log.bytes()[start + 28_672..=end]
                .iter()
                .all(|byte| *byte == 7)
        );
    }

    #[test]
    fn memory_is_used_again_only_when_nobody_else_can_write_to_it() {
        let memories = Memories::default();
        let longer = LogConfig {
            prefix: (0..5000).map(|at| at % 2).collect(),
            ..LogConfig::default()
        };
        let first = memories.log(&longer).unwrap();
        let place = first.bytes().as_ptr();
        let header = first.memory.header();
        header.records.store(3, Relaxed);
        header.threads.store(2, Relaxed);
        header.pid.store(7, Relaxed);
        first.has_ended();
        drop(first);

        let second = memories.log(&LogConfig::default()).unwrap();
        assert_eq!(second.bytes().as_ptr(), place);
        let read = RawLog::new(second.bytes()).unwrap();
        assert!(read.is_empty() && read.schedule().is_empty() && read.threads().count() == 0);
        assert_eq!(second.progress(), (0, 0));
        second.memory.header().forks.store(1, Relaxed);
        second.has_ended();
        drop(second);
        assert!(memories.take(0).is_none(), "a child may write into it");

        drop(memories.log(&LogConfig::default()).unwrap());
        assert!(
            memories.take(0).is_none(),
            "nobody has said that its run has ended"
        );
    }
}
