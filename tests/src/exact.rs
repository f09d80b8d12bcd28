//! Comparison of a program's notes about its own accesses with its run file.

use anyhow::{Context, Result, bail, ensure};
use std::collections::HashMap;
use unsnarl_trace::{Event, LocationId, Run, Value, model::flags};

/// Counts of the compared accesses and bytes.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct ExactCounts {
    /// Accesses that the program noted.
    pub noted: u64,
    /// Bytes read or written on which both agree.
    pub agreed: u64,
    /// Bytes behind the first eight of a value, of which the run file has no values.
    pub unknown: u64,
}

impl std::ops::AddAssign for ExactCounts {
    fn add_assign(&mut self, other: ExactCounts) {
        self.noted += other.noted;
        self.agreed += other.agreed;
        self.unknown += other.unknown;
    }
}

/// A byte that was read or written: its offset, and its value if that is known.
type Byte = (u64, Option<u8>);

/// The accesses of one thread, byte by byte.
#[derive(Default)]
struct ExactAccesses {
    reads: Vec<Byte>,
    writes: Vec<Byte>,
}

/// The notes that `tests/runtime/exact.c` writes.
struct Notes {
    /// Offset and size of each part by the name that its location has.
    parts: HashMap<String, (u64, u64)>,
    threads: Vec<ExactAccesses>,
    count: u64,
}

/// Compares all accesses to the program's `shared` variable; the first difference is an error.
pub fn compare(run: &Run, notes: &[u8]) -> Result<ExactCounts> {
    let notes = read(notes).context("the notes are broken")?;
    let recorded = recorded(run, &notes)?;
    let mut tally = ExactCounts {
        noted: notes.count,
        ..ExactCounts::default()
    };
    for (thread, (noted, recorded)) in notes.threads.iter().zip(&recorded).enumerate() {
        let mut check = |what: &str, noted: &[Byte], recorded: &[Byte]| {
            same(noted, recorded, &notes.parts, &mut tally)
                .with_context(|| format!("{what} of thread {} differ", thread + 1))
        };
        check("reads", &noted.reads, &recorded.reads)?;
        check("writes", &noted.writes, &recorded.writes)?;
    }
    Ok(tally)
}

fn same(
    noted: &[Byte],
    recorded: &[Byte],
    parts: &HashMap<String, (u64, u64)>,
    tally: &mut ExactCounts,
) -> Result<()> {
    let named = |at: u64| name(parts, at);
    // Of the value of one access the run file has eight bytes.
    let beyond = |at: u64| {
        parts
            .values()
            .any(|(offset, size)| offset + 8 <= at && at < offset + size)
    };
    for (i, (noted, recorded)) in noted.iter().zip(recorded).enumerate() {
        let text = |byte: &Byte| match byte.1 {
            Some(value) => format!("{value:#04x} at {}", named(byte.0)),
            None => format!("something at {}", named(byte.0)),
        };
        let is_same = match recorded.1 {
            Some(_) => noted.1 == recorded.1,
            None => beyond(noted.0),
        };
        let agrees = noted.0 == recorded.0 && is_same;
        ensure!(
            agrees,
            "byte {i}: the program says {}, the run file {}",
            text(noted),
            text(recorded)
        );
        match recorded.1 {
            Some(_) => tally.agreed += 1,
            None => tally.unknown += 1,
        }
    }
    let (a, b) = (noted.len(), recorded.len());
    let rest = match a.cmp(&b) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => recorded.get(a),
        std::cmp::Ordering::Greater => noted.get(b),
    };
    let next = rest.map_or(String::new(), |byte| named(byte.0));
    bail!("the program says {a} bytes, the run file {b}; the next would be {next}")
}

fn name(parts: &HashMap<String, (u64, u64)>, at: u64) -> String {
    let holds = |(_, (offset, size)): &(&String, &(u64, u64))| *offset <= at && at < offset + size;
    let part = parts.iter().find(holds);
    part.map_or(format!("+{at}"), |(name, (offset, _))| {
        format!("{name}+{}", at - offset)
    })
}

fn recorded(run: &Run, notes: &Notes) -> Result<Vec<ExactAccesses>> {
    let mut threads: Vec<ExactAccesses> = notes
        .threads
        .iter()
        .map(|_| ExactAccesses::default())
        .collect();
    let pointer = Pointers::new(run, notes);
    for (_, event) in run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access())
    {
        let name = run.location(event.location);
        let Some((offset, size)) = notes.parts.get(name) else {
            ensure!(
                !name.starts_with("shared"),
                "the run file has an access to `{name}`, of which the program does not know"
            );
            continue;
        };
        let thread = usize::from(event.thread.0).checked_sub(1);
        let accessed = thread.and_then(|thread| threads.get_mut(thread));
        let accessed = accessed.with_context(|| format!("`{name}` was accessed by main"))?;
        add(
            accessed,
            &event,
            *offset,
            (*size).min(event.size.into()),
            &pointer,
        );
    }
    Ok(threads)
}

fn add(to: &mut ExactAccesses, event: &Event, offset: u64, size: u64, pointers: &Pointers<'_>) {
    let value = match event.value {
        Some(Value::Bits(bits)) => Some(bits),
        Some(Value::Address(location)) => pointers.bits(location),
        None => None,
    };
    let is_unfinished = event.flags & flags::UNFINISHED != 0;
    let byte = |value: Option<u64>, i: u64| {
        let value = value.filter(|_| i < 8 && !is_unfinished);
        (offset + i, value.map(|value| (value >> (8 * i)) as u8))
    };
    if event.kind.reads() {
        let read = if event.kind.writes() {
            event.old
        } else {
            value
        };
        to.reads.extend((0..size).map(|i| byte(read, i)));
    }
    if event.kind.writes() {
        to.writes.extend((0..size).map(|i| byte(value, i)));
    }
}

/// Bits of a pointer into `shared`: the program notes its distance from `shared`.
struct Pointers<'a> {
    run: &'a Run,
    parts: &'a HashMap<String, (u64, u64)>,
}

impl<'a> Pointers<'a> {
    fn new(run: &'a Run, notes: &'a Notes) -> Pointers<'a> {
        Pointers {
            run,
            parts: &notes.parts,
        }
    }

    fn bits(&self, location: LocationId) -> Option<u64> {
        let name = self.run.location(location);
        let starts = |part: &str| {
            let rest = part.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
        };
        let inside = self.parts.iter().filter(|(part, _)| starts(part));
        inside.map(|(_, (offset, _))| *offset).min()
    }
}

fn read(bytes: &[u8]) -> Result<Notes> {
    let end = bytes.windows(2).position(|two| two == b"\n\n");
    let end = end.context("there is no empty line behind the table")?;
    let (table, rest) = bytes.split_at(end);
    let mut parts = HashMap::new();
    for line in std::str::from_utf8(table)?.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().context("a short line");
        let name = word()?.to_owned();
        parts.insert(name, (word()?.parse()?, word()?.parse()?));
    }
    let is_part: Vec<bool> = covered(&parts);
    let rest = rest.get(2..).context("nothing behind the table")?;
    let line = rest
        .iter()
        .position(|byte| *byte == b'\n')
        .context("no number of threads")?;
    let (count, rest) = rest.split_at(line);
    let count: usize = std::str::from_utf8(count)?.parse()?;
    let mut reader = NoteReader(rest.get(1..).unwrap_or_default());
    let mut notes = Notes {
        parts,
        threads: Vec::new(),
        count: 0,
    };
    for _ in 0..count {
        let count = reader.number(8)?;
        let mut accessed = ExactAccesses::default();
        (0..count).try_for_each(|_| reader.note(&is_part, &mut accessed))?;
        notes.threads.push(accessed);
        notes.count += count;
    }
    Ok(notes)
}

/// `true` for each byte of `shared` that belongs to a part: the others are padding.
fn covered(parts: &HashMap<String, (u64, u64)>) -> Vec<bool> {
    let end = parts.values().map(|(offset, size)| offset + size).max();
    let mut covered = vec![false; end.unwrap_or(0) as usize];
    for (offset, size) in parts.values() {
        let part = *offset as usize..(offset + size) as usize;
        covered.get_mut(part).unwrap_or_default().fill(true);
    }
    covered
}

struct NoteReader<'a>(&'a [u8]);

impl<'a> NoteReader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes).context("the file is cut")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64> {
        let taken = self.take(bytes)?;
        Ok(taken
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    fn note(&mut self, is_part: &[bool], to: &mut ExactAccesses) -> Result<()> {
        const READ: u64 = 1;
        let (kind, offset) = (self.number(4)?, self.number(4)?);
        let size = self.number(4)?;
        self.number(4)?;
        let values = self.take(48)?;
        let bytes = (offset..offset + size).zip(values.iter().copied().map(Some));
        let bytes = bytes.filter(|(at, _)| is_part.get(*at as usize) == Some(&true));
        let list = if kind == READ {
            &mut to.reads
        } else {
            &mut to.writes
        };
        list.extend(bytes);
        Ok(())
    }
}
