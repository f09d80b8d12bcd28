//! A finished raw log, read from borrowed bytes.
//!
//! The bytes were written inside a program with bugs, so every offset and count is checked against
//! their length before it is believed; reading needs neither alignment nor `unsafe`.

use std::mem::{offset_of, size_of};
use unsnarl_trace::Schedule;
use unsnarl_trace::raw::{
    Detail, End, EqualChoices, Header, MAGIC, MAX_MODULES, MAX_THREADS, Module, Record, Thread,
    VERSION, WaitsFor, marks,
    path::{CHUNK_BYTES, CHUNK_HEADER_BYTES, Chunk, ChunkKind, RawPathStep},
};

/// An error for bytes that are not a raw log.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RawLogError {
    /// Shorter than the header.
    #[error("the raw log has {0} bytes, less than its header needs: record the run again")]
    TooShort(usize),
    /// Other content, or a log that was never set up.
    #[error("these bytes are not a raw log: the mark at their start is missing")]
    NotALog,
    /// Written by another version of the runtime.
    #[error(
        "the raw log has version {0}, this unsnarl reads version {VERSION}: build the program again with `unsnarl cc`"
    )]
    Version(u32),
    /// A table does not lie within the log.
    #[error("the raw log is broken: its table of {0} does not lie within it; record the run again")]
    Table(&'static str),
    /// The process was ended while its log was condensed.
    #[error(
        "the program was ended while room was made in its log, which cannot be read: give the run more time (--timeout)"
    )]
    Condensing,
}

/// A finished raw log.
#[derive(Clone, Copy)]
pub struct RawLog<'a> {
    bytes: &'a [u8],
    modules: &'a [u8],
    threads: &'a [u8],
    decisions: &'a [u8],
    details: &'a [u8],
    records: &'a [u8],
}

/// One row of the log's thread table.
#[derive(Clone, Copy, Debug)]
pub struct LogThread {
    /// Number of the creating thread.
    pub parent: u32,
    /// Position among its parent's children.
    pub nth: u32,
    /// Start routine, 0 for `main`.
    pub start_pc: u64,
    /// Program counter of the call that created it; 0 for `main`.
    pub create_pc: u64,
    /// Lowest address of its stack.
    pub stack_low: u64,
    /// One past the highest address of its stack.
    pub stack_high: u64,
    /// The thread pointer.
    pub pointer: u64,
    /// Kind of the object that it waited for at the end.
    pub waits_for: WaitsFor,
    /// `true` if it had ended.
    pub ended: bool,
    /// The object that it waited for.
    pub wait_object: u64,
    /// Program counter of the wait.
    pub wait_pc: u64,
    /// The kernel's number for it.
    pub kernel_id: u32,
}

/// One chunk of path mode.
pub(super) struct LogChunk<'a> {
    /// Kind of the content.
    pub kind: ChunkKind,
    /// Number of the thread.
    pub thread: u32,
    /// Position among the thread's chunks of this kind.
    pub nth: u32,
    /// As [`Chunk::used`].
    pub used: u32,
    /// The bytes behind its header.
    pub body: &'a [u8],
}

impl<'a> LogChunk<'a> {
    fn read(bytes: &'a [u8]) -> Option<LogChunk<'a>> {
        let kind = u32_at(bytes, offset_of!(Chunk, kind));
        let kinds = [ChunkKind::Notes, ChunkKind::Packed, ChunkKind::Steps];
        Some(LogChunk {
            kind: kinds.into_iter().find(|known| *known as u32 == kind)?,
            thread: u32_at(bytes, offset_of!(Chunk, thread)),
            nth: u32_at(bytes, offset_of!(Chunk, nth)),
            used: u32_at(bytes, offset_of!(Chunk, used)),
            body: bytes.get(CHUNK_HEADER_BYTES..)?,
        })
    }

    /// Notes in a chunk that are in none of its units, as words of [`marks`].
    pub fn words(&self) -> Vec<u32> {
        let mut words = Vec::new();
        if self.used.is_multiple_of(2) {
            marks::words(self.body, |word| words.push(word));
        }
        words
    }

    /// The steps of a chunk of steps.
    pub fn steps(&self) -> impl Iterator<Item = RawPathStep> + 'a {
        let rows = self.body.chunks_exact(size_of::<RawPathStep>());
        rows.map(|row| RawPathStep {
            order: u64_at(row, offset_of!(RawPathStep, order)),
            record: record(row.get(offset_of!(RawPathStep, record)..).unwrap_or(&[])),
        })
        .take_while(|step| step.record.kind != 0)
    }
}

/// One row of the log's module table.
#[derive(Clone, Debug)]
pub struct LogModule {
    /// Run-time address minus the file's own.
    pub bias: u64,
    /// First mapped address.
    pub start: u64,
    /// One past the last mapped address.
    pub end: u64,
    /// Offset of a thread's thread-local variables below its thread pointer; 0 when it is not known.
    pub tls_below: u64,
    /// Size of the thread-local variables in bytes.
    pub tls_bytes: u64,
    /// Path; empty for the program.
    pub path: String,
}

macro_rules! header_fields {
    ($($(#[$doc:meta])* $name:ident: $read:ident -> $int:ty;)*) => {
        $($(#[$doc])* pub fn $name(&self) -> $int {
            $read(self.bytes, offset_of!(Header, $name))
        })*
    };
}

impl<'a> RawLog<'a> {
    /// Checks the header and the bounds of the tables.
    pub fn new(bytes: &'a [u8]) -> Result<RawLog<'a>, RawLogError> {
        if bytes.len() < size_of::<Header>() {
            return Err(RawLogError::TooShort(bytes.len()));
        }
        if u64_at(bytes, offset_of!(Header, magic)) != MAGIC {
            return Err(RawLogError::NotALog);
        }
        let version = u32_at(bytes, offset_of!(Header, version));
        if version != VERSION {
            return Err(RawLogError::Version(version));
        }
        if u32_at(bytes, offset_of!(Header, condensing)) != 0 {
            return Err(RawLogError::Condensing);
        }
        let field = |offset| u64_at(bytes, offset);
        let table = |name, at, count: u64, row: usize| {
            slice(bytes, field(at), count, row).ok_or(RawLogError::Table(name))
        };
        let modules_at = offset_of!(Header, modules_at);
        let threads_at = offset_of!(Header, threads_at);
        let decisions_at = offset_of!(Header, decisions_at);
        let records_at = offset_of!(Header, records_at);
        let room = field(offset_of!(Header, decisions_cap));
        let decisions = field(offset_of!(Header, decision_rows)).min(room);
        // A decision is counted even when there is no place to note it.
        let details = match u32_at(bytes, offset_of!(Header, note_details)) {
            0 => 0,
            _ => field(offset_of!(Header, decisions)).min(room),
        };
        let records =
            field(offset_of!(Header, records)).min(field(offset_of!(Header, records_cap)));
        Ok(RawLog {
            bytes,
            modules: table(
                "modules",
                modules_at,
                MAX_MODULES as u64,
                size_of::<Module>(),
            )?,
            threads: table(
                "threads",
                threads_at,
                MAX_THREADS as u64,
                size_of::<Thread>(),
            )?,
            decisions: table(
                "decisions",
                decisions_at,
                decisions,
                size_of::<EqualChoices>(),
            )?,
            details: table(
                "details",
                offset_of!(Header, details_at),
                details,
                size_of::<Detail>(),
            )?,
            records: table("records", records_at, records, size_of::<Record>())?,
        })
    }

    header_fields! {
        /// PCT's depth.
        depth: u32_at -> u32;
        /// Seed of the random choices.
        seed: u64_at -> u64;
        /// PCT's k.
        expected_steps: u64_at -> u64;
        /// Number of records for which there is room.
        records_cap: u64_at -> u64;
        /// Number of decisions made, including those for which there was no room.
        decisions: u64_at -> u64;
        /// Decision points passed.
        steps: u64_at -> u64;
        /// Number of decision points from which on repeated accesses had no record.
        repeats_after: u64_at -> u64;
        /// Calls of `unsnarl_check` that have begun.
        checks: u32_at -> u32;
        /// Accesses that have no record, since they repeat others or the log was condensed.
        left_out: u64_at -> u64;
        /// Number of records, from the first on, that a condensed log has in place of more; 0 where it was not.
        condensed: u64_at -> u64;
        /// Changes from one thread to another.
        switches: u64_at -> u64;
        /// Choices of the replayed schedule that could not be followed.
        diverged: u64_at -> u64;
        /// Index of the first divergence plus one, 0 when there is none.
        first_divergence: u64_at -> u64;
        /// Dependences on other threads of which the log has no record.
        unlogged: u32_at -> u32;
        /// Number of the thread that has the turn.
        current: u32_at -> u32;
        /// Child processes that were forked.
        forks: u32_at -> u32;
        /// Exit status.
        exit_code: u32_at -> u32;
        /// Thread that has called `exit`, plus one; 0 if none has.
        exiting: u32_at -> u32;
        /// Signal number.
        signal: u32_at -> u32;
        /// Thread that failed.
        fail_thread: u32_at -> u32;
        /// Program counter of the failure.
        fail_pc: u64_at -> u64;
        /// Address that could not be accessed.
        fail_addr: u64_at -> u64;
        /// Seed of the program's random numbers.
        input_seed: u64_at -> u64;
        /// Nonzero if the program drew random numbers.
        drew_random: u32_at -> u32;
        /// Inputs that there was no room for.
        input_lost: u64_at -> u64;
        /// Inputs that differed from the ones given back in their place.
        input_differs: u32_at -> u32;
        /// The program asked to go on in the background.
        detached: u32_at -> u32;
        /// Line of the assertion.
        fail_line: u32_at -> u32;
    }

    /// The integer at this offset.
    pub(super) fn u64(&self, at: usize) -> u64 {
        u64_at(self.bytes, at)
    }

    /// A part of the log; empty when it does not lie within it.
    pub(super) fn part(&self, at: u64, bytes: u64) -> &'a [u8] {
        slice(self.bytes, at, bytes, 1).unwrap_or(&[])
    }

    /// The end of the run; an unknown number counts as killed from outside.
    pub fn end(&self) -> End {
        End::from_u32(u32_at(self.bytes, offset_of!(Header, end))).unwrap_or(End::Running)
    }

    /// The parts of the message.
    pub fn message_parts(&self) -> Vec<String> {
        let at = offset_of!(Header, message);
        let room = size_of::<Header>().saturating_sub(at).min(1024);
        let len = (u32_at(self.bytes, offset_of!(Header, message_len)) as usize).min(room);
        let message = self.bytes.get(at..at + len).unwrap_or(&[]);
        message
            .split(|byte| *byte == 0)
            .map(|part| String::from_utf8_lossy(part).into())
            .collect()
    }

    /// Number of records, incomplete ones included.
    pub fn len(&self) -> usize {
        self.records.len() / size_of::<Record>()
    }

    /// Returns whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records in the order of the run; those that were never completed have kind 0.
    pub fn records(&self) -> impl Iterator<Item = Record> + 'a {
        self.records.chunks_exact(size_of::<Record>()).map(record)
    }

    /// The records with these positions.
    pub(super) fn records_in(
        &self,
        positions: std::ops::Range<usize>,
    ) -> impl Iterator<Item = Record> + 'a {
        let bytes = size_of::<Record>();
        let end = positions.end.saturating_mul(bytes).min(self.records.len());
        let part = self.records.get(positions.start.saturating_mul(bytes)..end);
        part.unwrap_or_default().chunks_exact(bytes).map(record)
    }

    /// The chunks of path mode, in the order in which they were handed out.
    pub(super) fn chunks(&self) -> impl Iterator<Item = LogChunk<'a>> + 'a {
        let at = u64_at(self.bytes, offset_of!(Header, chunks_at)) as usize;
        let count = u64_at(self.bytes, offset_of!(Header, chunks)) as usize;
        let all = match at {
            0 => &[],
            at => self.bytes.get(at..).unwrap_or(&[]),
        };
        all.chunks_exact(CHUNK_BYTES)
            .take(count)
            .filter_map(LogChunk::read)
    }

    /// The thread choices that were made, as far as there was room for them.
    pub fn schedule(&self) -> Schedule {
        let rows = self.decisions.chunks_exact(size_of::<EqualChoices>());
        let row = |row| {
            let choice = u16_at(row, offset_of!(EqualChoices, choice));
            EqualChoices::new(choice, u32_at(row, offset_of!(EqualChoices, count)))
        };
        rows.map(row).collect()
    }

    /// Details of each choice, if they were asked for.
    pub fn details(&self) -> impl Iterator<Item = Detail> + 'a {
        self.details
            .chunks_exact(size_of::<Detail>())
            .map(|row| Detail {
                record: u64_at(row, offset_of!(Detail, record)),
                candidates: u64_at(row, offset_of!(Detail, candidates)),
                running: u16_at(row, offset_of!(Detail, running)),
                chosen: u16_at(row, offset_of!(Detail, chosen)),
                kind: u8_at(row, offset_of!(Detail, kind)),
                yields: u8_at(row, offset_of!(Detail, yields)),
                more: u8_at(row, offset_of!(Detail, more)),
                unused: 0,
                step: u64_at(row, offset_of!(Detail, step)),
            })
    }

    /// The threads in the order of creation.
    pub fn threads(&self) -> impl Iterator<Item = LogThread> + 'a {
        let count = u32_at(self.bytes, offset_of!(Header, threads)) as usize;
        self.threads
            .chunks_exact(size_of::<Thread>())
            .take(count)
            .map(|row| LogThread {
                parent: u32_at(row, offset_of!(Thread, parent)),
                nth: u32_at(row, offset_of!(Thread, nth)),
                start_pc: u64_at(row, offset_of!(Thread, start_pc)),
                create_pc: u64_at(row, offset_of!(Thread, create_pc)),
                stack_low: u64_at(row, offset_of!(Thread, stack_low)),
                stack_high: u64_at(row, offset_of!(Thread, stack_high)),
                pointer: u64_at(row, offset_of!(Thread, pointer)),
                waits_for: WaitsFor::from_u32(u32_at(row, offset_of!(Thread, waits_for)))
                    .unwrap_or(WaitsFor::Nothing),
                ended: u32_at(row, offset_of!(Thread, ended)) != 0,
                wait_object: u64_at(row, offset_of!(Thread, wait_object)),
                wait_pc: u64_at(row, offset_of!(Thread, wait_pc)),
                kernel_id: u32_at(row, offset_of!(Thread, kernel_id)),
            })
    }

    /// The loaded modules.
    pub fn modules(&self) -> impl Iterator<Item = LogModule> + 'a {
        let count = u32_at(self.bytes, offset_of!(Header, modules)) as usize;
        self.modules
            .chunks_exact(size_of::<Module>())
            .take(count)
            .map(|row| {
                let path = row.get(offset_of!(Module, path)..).unwrap_or(&[]);
                let path = path.split(|byte| *byte == 0).next().unwrap_or(&[]);
                LogModule {
                    bias: u64_at(row, offset_of!(Module, bias)),
                    start: u64_at(row, offset_of!(Module, start)),
                    end: u64_at(row, offset_of!(Module, end)),
                    tls_below: u64_at(row, offset_of!(Module, tls_below)),
                    tls_bytes: u64_at(row, offset_of!(Module, tls_bytes)),
                    path: String::from_utf8_lossy(path).into(),
                }
            })
    }
}

fn record(row: &[u8]) -> Record {
    Record {
        kind: u8_at(row, offset_of!(Record, kind)),
        flags: u8_at(row, offset_of!(Record, flags)),
        thread: u16_at(row, offset_of!(Record, thread)),
        size: u32_at(row, offset_of!(Record, size)),
        pc: u64_at(row, offset_of!(Record, pc)),
        addr: u64_at(row, offset_of!(Record, addr)),
        value: u64_at(row, offset_of!(Record, value)),
    }
}

fn slice(bytes: &[u8], at: u64, count: u64, row: usize) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    let len = usize::try_from(count).ok()?.checked_mul(row)?;
    bytes.get(at..at.checked_add(len)?)
}

fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

macro_rules! integer_at {
    ($($name:ident -> $int:ty;)*) => {$(
        /// The integer at this offset; 0 past the end, which `new` has ruled out for the tables.
        #[inline(always)]
        fn $name(bytes: &[u8], at: usize) -> $int {
            bytes
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .map_or(0, |bytes| <$int>::from_ne_bytes(*bytes))
        }
    )*};
}

integer_at! {
    u16_at -> u16;
    u32_at -> u32;
    u64_at -> u64;
}
