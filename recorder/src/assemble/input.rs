//! Input of a run: what came, and in a replay the first difference from the recorded input.

use super::{Launch, ProgramDebugInfo, RawLog, names, site_of, threads};
use std::mem::{offset_of, size_of};
use unsnarl_trace::{
    input::{Bytes, EnvironmentVariable, RunInput},
    raw::{Call, Difference, Header, Input},
};

/// The input that came from outside.
pub(super) fn of_run(log: &RawLog<'_>, launch: &Launch) -> RunInput {
    let (mut bytes, mut environment) = (Vec::new(), launch.environment.clone());
    let mut rest = log.input();
    while let Some((input, text)) = first(rest) {
        let length = size_of::<Input>() + (input.length as usize).next_multiple_of(8);
        let (entry, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        match Call::from_u16(input.call) {
            Some(Call::Environment) => environment.push(variable(text)),
            _ => bytes.extend_from_slice(entry),
        }
        rest = after;
    }
    environment.sort();
    environment.dedup_by(|a, b| a.name == b.name);
    RunInput {
        seed: (log.drew_random() != 0 || log.input_seed() != launch.seed).then(|| log.input_seed()),
        bytes: Bytes(bytes),
        environment,
        stack: launch.stack,
        lost: log.input_lost(),
    }
}

/// `NAME=value`, or the name alone of a variable that is not set.
fn variable(text: &[u8]) -> EnvironmentVariable {
    let text = String::from_utf8_lossy(text);
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (&*text, None),
    };
    EnvironmentVariable {
        name: name.to_owned(),
        value,
    }
}

/// The first of some inputs, with its bytes.
fn first(inputs: &[u8]) -> Option<(Input, &[u8])> {
    let (head, bytes) = inputs.split_at_checked(size_of::<Input>())?;
    let head = RawInput(head);
    let input = Input {
        result: head.u64(offset_of!(Input, result)).cast_signed(),
        clock: head.u64(offset_of!(Input, clock)),
        nth: head.u32(offset_of!(Input, nth)),
        length: head.u32(offset_of!(Input, length)),
        error: head.u32(offset_of!(Input, error)),
        thread: head.u32(offset_of!(Input, thread)) as u16,
        call: (head.u32(offset_of!(Input, thread)) >> 16) as u16,
    };
    let bytes = bytes.get(..input.length as usize).unwrap_or(bytes);
    Some((input, bytes))
}

/// Remarks about the input for the reader, in words.
pub(super) fn problems(log: &RawLog<'_>, program: &ProgramDebugInfo) -> Vec<String> {
    let mut problems = Vec::new();
    if log.input_lost() > 0 {
        problems.push(format!(
            "the input of {} calls is not kept, after {} bytes there was no room: a replay takes it as it comes then",
            log.input_lost(),
            log.input().len()
        ));
    }
    if log.detached() == 2 {
        problems.push(
            "the program ended while a child process that it had forked went on, of which nothing is recorded: let a program that goes into the background stay in the foreground".to_owned(),
        );
    }
    if log.detached() == 1 {
        problems.push(
            "the program asked to go on in the background (daemon): it was recorded in the foreground".to_owned(),
        );
    }
    if log.input_differs() > 0 {
        problems.push(difference(log, program));
    }
    problems
}

/// Bytes of an input that are shown.
const SHOWN: usize = 32;

fn difference(log: &RawLog<'_>, program: &ProgramDebugInfo) -> String {
    let found = log.difference();
    let count = match log.input_differs() {
        1 => String::new(),
        count => format!(" in {count} calls, first"),
    };
    let place = match site_of(log, program, found.pc).filter(|site| site.line != 0) {
        Some(site) => format!(" at {}:{}", names::file_name(&site.file), site.line),
        None => String::new(),
    };
    let threads: Vec<_> = log.threads().collect();
    let names = threads::names(&threads);
    let thread = names.get(found.thread as usize).map_or("?", String::as_str);
    let recorded = log.given(found.recorded);
    let call = recorded
        .as_ref()
        .map_or("output", |(input, _)| word(input.call));
    let before = match &recorded {
        Some((input, bytes)) => answer(input.call, input.result, input.error, bytes, bytes.len()),
        None => "all of it".to_owned(),
    };
    let length = found.length as usize;
    let now = found.bytes.get(..length).unwrap_or(&found.bytes);
    let number = recorded.as_ref().map_or(0, |(input, _)| input.call);
    let now = answer(number, found.result, found.error, now, length);
    format!(
        "other input than recorded{count}{place} in {thread} ({call}): recorded {before}, now {now}; the program was given the recorded one"
    )
}

fn word(call: u16) -> &'static str {
    match Call::from_u16(call) {
        Some(Call::Read) => "read",
        Some(Call::Write) => "write",
        Some(Call::Accept) => "accept",
        Some(Call::Connect) => "connect",
        Some(Call::Open) => "open",
        Some(Call::Poll) => "poll",
        Some(Call::Process) => "process number",
        Some(Call::Wait) => "wait for a child",
        Some(Call::Environment) => "environment",
        Some(Call::Status) => "status of a file",
        Some(Call::Other) | None => "call",
    }
}

/// The result of a call in words for a person.
fn answer(call: u16, result: i64, error: u32, bytes: &[u8], length: usize) -> String {
    if result == -1 && error != 0 {
        return std::io::Error::from_raw_os_error(error.cast_signed()).to_string();
    }
    if Call::from_u16(call) == Some(Call::Status) {
        return status(bytes, length);
    }
    if length == 0 {
        return match result {
            0 => "nothing".to_owned(),
            result => result.to_string(),
        };
    }
    let shown = bytes.get(..SHOWN).unwrap_or(bytes);
    let more = if length > shown.len() { "..." } else { "" };
    format!("{length} bytes \"{}{more}\"", shown.escape_ascii())
}

/// The compared parts of a file's status.
fn status(bytes: &[u8], length: usize) -> String {
    let bytes = RawInput(bytes);
    let (mode, owner, size) = match length == size_of::<libc::statx>() {
        true => (
            bytes.u32(offset_of!(libc::statx, stx_mode)) & 0xffff,
            bytes.u32(offset_of!(libc::statx, stx_uid)),
            bytes.u64(offset_of!(libc::statx, stx_size)),
        ),
        false => (
            bytes.u32(offset_of!(libc::stat, st_mode)),
            bytes.u32(offset_of!(libc::stat, st_uid)),
            bytes.u64(offset_of!(libc::stat, st_size)),
        ),
    };
    match length {
        0 => "a file".to_owned(),
        _ => format!("{size} bytes, mode {mode:o}, owner {owner}"),
    }
}

impl<'a> RawLog<'a> {
    /// The [`Input`]s with their bytes, as they are in the log.
    pub fn input(&self) -> &'a [u8] {
        let used = self.u64(offset_of!(Header, input_used));
        let room = self.u64(offset_of!(Header, input_cap));
        self.part(self.u64(offset_of!(Header, input_at)), used.min(room))
    }

    /// The recorded input at this offset among those that were given back, with its bytes.
    pub fn given(&self, at: u64) -> Option<(Input, &'a [u8])> {
        let given = self.part(
            self.u64(offset_of!(Header, given_at)),
            self.u64(offset_of!(Header, given_len)),
        );
        let rest = given.get(usize::try_from(at).ok()?..)?;
        first(rest)
    }

    /// The first input that differed from the one given back.
    fn difference(&self) -> Difference {
        let at = offset_of!(Header, difference);
        let found = RawInput(self.part(at as u64, size_of::<Difference>() as u64));
        let mut bytes = [0; 64];
        let from = offset_of!(Difference, bytes);
        if let Some(first) = found.0.get(from..from + bytes.len()) {
            bytes.copy_from_slice(first);
        }
        Difference {
            pc: found.u64(offset_of!(Difference, pc)),
            recorded: found.u64(offset_of!(Difference, recorded)),
            result: found.u64(offset_of!(Difference, result)).cast_signed(),
            error: found.u32(offset_of!(Difference, error)),
            thread: found.u32(offset_of!(Difference, thread)),
            length: found.u64(offset_of!(Difference, length)),
            bytes,
        }
    }
}

/// Bytes that hold one of the log's structures.
struct RawInput<'a>(&'a [u8]);

impl RawInput<'_> {
    fn u64(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    fn u32(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }
}
