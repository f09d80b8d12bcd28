extern crate std;

use super::{CondenseMemory, Condensed, Sizes, Word, condense};
use proptest::{collection::vec, prelude::*};
use std::{collections::HashMap, vec, vec::Vec};
use unsnarl_trace::raw::{Record, RecordKind as K, flag};

const THREADS: usize = 16;

fn condensed(log: &[Record]) -> Option<(Vec<Record>, Condensed)> {
    let sizes = Sizes::of(log.len())?;
    let mut records = log.to_vec();
    let found = condense(
        &mut records,
        sizes,
        CondenseMemory {
            words: &mut vec![Word::default(); sizes.words],
            seen: &mut vec![0; sizes.words],
            links: &mut vec![0; sizes.older],
            marks: &mut vec![0; sizes.older],
            threads: &mut [0; THREADS],
        },
    )?;
    records.truncate(found.records);
    Some((records, found))
}

fn access(kind: K, thread: u16, pc: u64, addr: u64, size: u32, value: u64) -> Record {
    Record {
        kind: kind as u8,
        flags: flag::VALUE,
        thread,
        size,
        pc,
        addr,
        value,
    }
}

/// Work of one thread alone that fills a log up to so many records.
fn fill(log: &mut Vec<Record>, thread: u16, upto: usize) {
    for at in log.len()..upto {
        let kind = if at % 2 == 0 { K::Read } else { K::Write };
        log.push(access(kind, thread, 900, 0x9000, 8, at as u64));
    }
}

/// The records that are left of the older part, but for the work that fills it.
fn story(records: &[Record], found: Condensed) -> Vec<(u8, u16, u64, u64)> {
    let older = &records[..found.older];
    let told = older.iter().filter(|record| record.addr != 0x9000);
    told.map(|record| (record.kind, record.thread, record.pc, record.value))
        .collect()
}

const R: u8 = K::Read as u8;
const W: u8 = K::Write as u8;

#[test]
fn what_threads_get_from_each_other_stays() {
    let mut log = vec![
        access(K::Write, 0, 1, 0x100, 8, 5),
        access(K::Write, 0, 2, 0x100, 8, 6),
        access(K::Read, 0, 3, 0x100, 8, 6),
        access(K::Read, 1, 4, 0x100, 8, 6),
        access(K::Read, 1, 4, 0x100, 8, 6),
        access(K::Write, 1, 5, 0x100, 8, 7),
        access(K::Write, 1, 5, 0x100, 8, 8),
        access(K::Write, 1, 5, 0x100, 8, 9),
        access(K::Read, 0, 6, 0x100, 8, 9),
    ];
    fill(&mut log, 0, 2000);
    let (records, found) = condensed(&log).unwrap();
    let expected = vec![
        (W, 0, 2, 6),
        (R, 0, 3, 6),
        (R, 1, 4, 6),
        (W, 1, 5, 7),
        (W, 1, 5, 9),
        (R, 0, 6, 9),
    ];
    assert_eq!(story(&records, found), expected);
    let stands_for = records.iter().find(|record| record.value == 9).unwrap();
    assert_eq!(stands_for.flags, flag::VALUE | flag::LAST_WRITE);
}

#[test]
fn the_last_look_before_somebody_elses_write_stays() {
    let mut log = vec![
        access(K::Read, 0, 1, 0x100, 4, 0),
        access(K::Read, 0, 2, 0x100, 4, 0),
        access(K::Write, 1, 3, 0x100, 4, 1),
    ];
    fill(&mut log, 0, 2000);
    let (records, found) = condensed(&log).unwrap();
    assert_eq!(story(&records, found), [(R, 0, 2, 0), (W, 1, 3, 1)]);
}

#[test]
fn calls_in_which_nothing_stays_go_and_others_keep_their_callers() {
    let enter = |pc, sp| access(K::Enter, 0, pc, sp, 0, 0);
    let from = |pc| access(K::Extra, 0, 0, 0, 0, pc);
    let leave = access(K::Leave, 0, 0, 0, 0, 0);
    let mut log = vec![
        enter(1, 100),
        from(10),
        enter(2, 90),
        from(20),
        leave,
        enter(3, 90),
        from(30),
        access(K::Lock, 0, 31, 0x500, 0, 0),
        leave,
    ];
    fill(&mut log, 0, 2000);
    let (records, found) = condensed(&log).unwrap();
    let kinds: Vec<u8> = records.iter().take(6).map(|record| record.kind).collect();
    let expected = [K::Enter, K::Extra, K::Enter, K::Extra, K::Lock, K::Leave];
    assert_eq!(kinds, expected.map(|kind| kind as u8));
    assert!(found.older <= 7);
}

#[test]
fn a_log_without_anything_to_spare_stays_as_it_is() {
    let log: Vec<Record> = (0..2000)
        .map(|at| access(K::Lock, 0, at, 0x500, 0, 0))
        .collect();
    assert_eq!(condensed(&log), None);
}

/// A step of a random program: the thread that gets the turn, if one does, what it does, where, and how many bytes.
type Step = (u16, u8, u64, u8);

/// The log of random steps, in which every read finds what was written last.
fn log_of(steps: &[Step]) -> Vec<Record> {
    let mut memory: HashMap<u64, u8> = HashMap::new();
    let mut depths = [0u64; 4];
    let (mut log, mut thread) = (Vec::new(), 0);
    for (at, &(turn, what, place, size)) in steps.iter().enumerate() {
        if turn < 3 {
            thread = turn;
        }
        let size = 1u32 << (size % 4);
        let addr = 0x1000 + place / u64::from(size) * u64::from(size);
        // Half of the words belong to one thread each.
        let addr = if place % 2 == 0 {
            addr
        } else {
            addr + 0x1000 * (1 + u64::from(thread))
        };
        let pc = u64::from(what / 6);
        let bytes = addr..addr + u64::from(size);
        let value = |memory: &HashMap<u64, u8>| {
            let byte = |(n, at): (usize, u64)| u64::from(*memory.get(&at).unwrap_or(&0)) << (8 * n);
            bytes.clone().enumerate().map(byte).sum::<u64>()
        };
        let new = (at as u64).wrapping_mul(0x0123_4567_89AB_CDEF) & (u64::MAX >> (64 - 8 * size));
        let depth = &mut depths[usize::from(thread)];
        let kind = match what {
            0..=7 => K::Read,
            8..=13 => K::Write,
            14 => K::AtomicWrite,
            15 => K::Lock,
            16 if *depth < 20 => K::Enter,
            _ => K::Leave,
        };
        match kind {
            K::Read => log.push(access(kind, thread, pc, addr, size, value(&memory))),
            K::Write | K::AtomicWrite => {
                let written = bytes.clone().enumerate();
                memory.extend(written.map(|(n, at)| (at, (new >> (8 * n)) as u8)));
                log.push(access(kind, thread, pc, addr, size, new));
            }
            K::Enter => {
                *depth += 1;
                let sp = 10_000 - *depth * 16;
                log.push(access(K::Enter, thread, pc, sp, 0, 0));
                log.push(access(K::Extra, thread, 0, 0, 0, pc));
            }
            K::Leave if *depth == 0 => {}
            K::Leave => {
                *depth -= 1;
                log.push(access(K::Leave, thread, 0, 0, 0, 0));
            }
            _ => log.push(access(kind, thread, pc, 0x500, 0, 0)),
        }
    }
    log
}

fn is_access(record: &Record) -> bool {
    [K::Read, K::Write, K::AtomicWrite]
        .map(|kind| kind as u8)
        .contains(&record.kind)
}

/// The threads that had a word, one after the other, and the accesses since it last changed hands: by whom, and whether
/// they write.
#[derive(Default)]
struct Owners {
    all: Vec<u16>,
    since: Vec<(u16, bool)>,
}

/// The owners of each word.
fn owners(log: &[Record]) -> HashMap<u64, Vec<u16>> {
    let mut all: HashMap<u64, Owners> = HashMap::new();
    for record in log.iter().filter(|record| is_access(record)) {
        let of = all.entry(record.addr & !7).or_default();
        let (thread, writes) = (record.thread, record.kind != R);
        let conflicts = |(other, wrote): &(u16, bool)| *other != thread && (*wrote || writes);
        if of.since.is_empty() || of.since.iter().any(conflicts) {
            of.all.push(thread);
            of.since.clear();
        }
        of.since.push((thread, writes));
    }
    let owners = all.into_iter().map(|(word, owners)| (word, owners.all));
    owners.collect()
}

/// Checks that every read finds what was written last, where that is told.
fn check_values(log: &[Record]) {
    let mut memory: HashMap<u64, u8> = HashMap::new();
    for record in log.iter().filter(|record| is_access(record)) {
        for n in 0..u64::from(record.size) {
            let byte = (record.value >> (8 * n)) as u8;
            if record.kind == R {
                let known = memory.get(&(record.addr + n));
                assert!(known.is_none_or(|known| *known == byte), "{record:?}");
            } else {
                memory.insert(record.addr + n, byte);
            }
        }
    }
}

/// The records that are no calls, each with the functions that its thread is in.
fn with_stacks(log: &[Record]) -> Vec<(Record, Vec<u64>)> {
    let mut stacks = vec![Vec::new(); 4];
    let mut all = Vec::new();
    for record in log {
        let stack = &mut stacks[usize::from(record.thread)];
        match K::from_u8(record.kind).unwrap() {
            K::Enter => stack.push(record.pc),
            K::Leave => drop(stack.pop()),
            K::Extra => assert_eq!(stack.last(), Some(&record.value)),
            _ => {
                let flags = record.flags & !flag::LAST_WRITE;
                all.push((Record { flags, ..*record }, stack.clone()));
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn a_condensed_log_is_right_about_what_it_tells(
        steps in vec((0..40u16, 0..19u8, 0..24u64, 0..4u8), 1500..3000)
    ) {
        let log = log_of(&steps);
        let Some((records, found)) = condensed(&log) else {
            return Ok(());
        };
        check_values(&records);
        let all = with_stacks(&log);
        let mut rest = all.iter();
        let left = with_stacks(&records);
        prop_assert!(left.iter().all(|step| rest.any(|other| other == step)));
        prop_assert_eq!(&records[found.older..], &log[found.older + found.shift..]);
        let gone = |log: &[Record]| log.iter().filter(|record| record.kind == R || record.kind == W).count();
        prop_assert_eq!(found.accesses, (gone(&log) - gone(&records)) as u64);
        let (before, after) = (owners(&log), owners(&records));
        for (word, owners) in before.iter().filter(|(_, owners)| owners.len() > 1) {
            prop_assert_eq!(Some(owners), after.get(word), "{:x}", word);
        }
    }
}

/// Threads go over an array of their own and over one that both read, again and again.
#[test]
fn what_is_left_does_not_grow_with_the_work() {
    const WORDS: u64 = 1024;
    const ROOM: usize = 20_000;
    let (mut log, mut left) = (Vec::new(), Vec::new());
    let mut push = |record: Record| {
        if log.len() == ROOM {
            let (records, found) = condensed(&log).unwrap();
            left.push(found.older);
            log = records;
        }
        log.push(record);
    };
    for at in 0..WORDS {
        push(access(K::Write, 0, 3, 0x10000 + 8 * at, 8, at));
    }
    for (thread, round) in [1, 2]
        .iter()
        .flat_map(|thread| (0..40).map(move |round| (*thread, round)))
    {
        let own = 0x0010_0000 * u64::from(thread);
        push(access(K::Enter, thread, 80, 100, 0, 0));
        for at in 0..WORDS {
            push(access(K::Read, thread, 9, 0x10000 + 8 * at, 8, at));
            push(access(K::Write, thread, 14, own + 8 * at, 8, round + at));
        }
        push(access(K::Leave, thread, 0, 0, 0, 0));
    }
    assert!(left.len() > 8);
    // The shared array's last writes, the first reads of both threads and the last of the first one, and the last writes to
    // their own arrays.
    let most = 6 * WORDS as usize + 16;
    assert!(left.iter().all(|left| *left <= most), "{left:?}");
}
