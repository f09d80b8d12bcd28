//! A proposed schedule as the part of the raw log that the runtime follows.

use super::sites::{ModuleCode, ModuleSites};
use rustc_hash::FxHashMap;
use unsnarl_trace::{
    EventKind, Proposal, Wanted,
    raw::{
        MAX_THREADS, RecordKind,
        follow::{self, Entry, Follow, NONE, Name, Point, Stand},
    },
};

/// The bytes of the part. Threads have names that were checked, see [`ThreadNames::of`].
pub(super) fn bytes(proposal: &Proposal, names: &ThreadNames, sites: &ModuleSites) -> Vec<u8> {
    let mut wanted: Vec<u32> = Vec::new();
    let mut entries: Vec<EntryRow> = Vec::new();
    let mut known = sites.known();
    for event in &proposal.events {
        let ids = known.of(event);
        entries.push(EntryRow {
            kinds: kinds(event.kind, !ids.is_empty()),
            name: names.index(&event.thread),
            wanted: wanted.len() as u32,
            wanted_len: ids.len() as u32,
            nth: event.nth.max(1),
            changes: u32::from(event.changes),
            next: NONE,
        });
        wanted.extend_from_slice(ids);
    }
    let first = link(&mut entries, names.list.len());
    let mut part = LogPart::new(&entries, names, sites, wanted.len());
    part.head(proposal.only_order);
    part.entries(&entries);
    part.names(names, &first);
    part.code(&sites.code);
    wanted.iter().for_each(|site| part.u32(*site));
    // Where threads stand is written by the runtime.
    let mut bytes = vec![0; part.layout.end as usize];
    if let Some(written) = bytes.get_mut(..part.bytes.len()) {
        written.copy_from_slice(&part.bytes);
    }
    bytes
}

/// An [`Entry`] in the making.
struct EntryRow {
    kinds: [u64; 2],
    name: u32,
    wanted: u32,
    wanted_len: u32,
    nth: u32,
    changes: u32,
    next: u32,
}

/// Links the entries of each thread; returns the first of each.
fn link(entries: &mut [EntryRow], names: usize) -> Vec<u32> {
    let mut first = vec![NONE; names];
    for (index, entry) in entries.iter_mut().enumerate().rev() {
        if let Some(next) = first.get_mut(entry.name as usize) {
            entry.next = std::mem::replace(next, index as u32);
        }
    }
    first
}

/// The records that may be an event of this kind, as bits. An attempt that failed, at a place of its own, may succeed in
/// another order.
fn kinds(kind: EventKind, has_place: bool) -> [u64; 2] {
    let outcomes: &[EventKind] = match kind {
        EventKind::TryLockFailed if has_place => &EventKind::ATTEMPTS,
        _ => &[kind],
    };
    let records = outcomes.iter().flat_map(|kind| kind.records());
    let bits = records.fold(0u128, |bits, record| bits | 1 << record as u8);
    [bits as u64, (bits >> 64) as u64]
}

/// The threads that a proposal names and their ancestors, parents first.
pub(super) struct ThreadNames {
    /// Parent, and ordinal among its children.
    list: Vec<(u32, u32)>,
    by_name: FxHashMap<String, u32>,
}

impl ThreadNames {
    /// The names of a proposal, or the first that is no thread's name.
    pub fn of(proposal: &Proposal) -> Result<ThreadNames, Wanted> {
        let mut names = ThreadNames {
            list: vec![(0, 0)],
            by_name: FxHashMap::from_iter([("main".to_owned(), 0)]),
        };
        for event in &proposal.events {
            names.add(&event.thread).ok_or_else(|| event.clone())?;
        }
        Ok(names)
    }

    fn add(&mut self, name: &str) -> Option<u32> {
        if let Some(index) = self.by_name.get(name) {
            return Some(*index);
        }
        let (parent, nth) = name.rsplit_once('.')?;
        let nth: u32 = nth.parse().ok().filter(|nth| *nth > 0)?;
        let parent = self.add(parent)?;
        let index = self.list.len() as u32;
        self.list.push((parent, nth));
        self.by_name.insert(name.to_owned(), index);
        Some(index)
    }

    fn index(&self, name: &str) -> u32 {
        self.by_name.get(name).copied().unwrap_or(NONE)
    }
}

/// Offsets of the tables.
struct TableOffsets {
    entries: u64,
    names: u64,
    modules: u64,
    points: u64,
    wanted: u64,
    stands: u64,
    end: u64,
}

struct LogPart {
    bytes: Vec<u8>,
    layout: TableOffsets,
    counts: [u32; 5],
}

impl LogPart {
    fn new(
        entries: &[EntryRow],
        names: &ThreadNames,
        sites: &ModuleSites,
        wanted: usize,
    ) -> LogPart {
        let counts = [
            entries.len(),
            names.list.len(),
            sites.code.len(),
            sites.code.iter().map(|code| code.points.len()).sum(),
            wanted,
        ];
        let [entries_len, names_len, modules_len, points_len, wanted_len] = counts;
        let table =
            |at: u64, count: usize, row: usize| at + (count * row).next_multiple_of(8) as u64;
        let entries = size_of::<Follow>() as u64;
        let names = table(entries, entries_len, size_of::<Entry>());
        let modules = table(names, names_len, size_of::<Name>());
        let points = table(modules, modules_len, size_of::<follow::Code>());
        let wanted = table(points, points_len, size_of::<Point>());
        let stands = table(wanted, wanted_len, size_of::<u32>());
        let end = table(stands, MAX_THREADS, size_of::<Stand>());
        LogPart {
            bytes: Vec::with_capacity(stands as usize),
            layout: TableOffsets {
                entries,
                names,
                modules,
                points,
                wanted,
                stands,
                end,
            },
            counts: counts.map(|count| count as u32),
        }
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_ne_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_ne_bytes());
    }

    /// Writes a [`Follow`].
    fn head(&mut self, only_order: bool) {
        self.counts
            .iter()
            .for_each(|count| self.bytes.extend(count.to_ne_bytes()));
        let reserved = 0;
        [
            0,
            follow::GaveUp::No as u32,
            NONE,
            u32::from(only_order),
            reserved,
        ]
        .iter()
        .for_each(|word| self.u32(*word));
        let gave_up_at = 0;
        let at = &self.layout;
        let longs = [
            gave_up_at, at.entries, at.names, at.modules, at.points, at.wanted, at.stands,
        ];
        longs.iter().for_each(|long| self.u64(*long));
    }

    /// Writes [`Entry`] rows.
    fn entries(&mut self, entries: &[EntryRow]) {
        for row in entries {
            row.kinds.iter().for_each(|word| self.u64(*word));
            [
                row.name,
                row.wanted,
                row.wanted_len,
                row.nth,
                row.next,
                row.changes,
            ]
            .iter()
            .for_each(|word| self.u32(*word));
            let done_at = 0;
            self.u64(done_at);
        }
    }

    /// Writes [`Name`] rows.
    fn names(&mut self, names: &ThreadNames, first: &[u32]) {
        for ((parent, nth), first) in names.list.iter().zip(first) {
            let number = 0;
            [*parent, *nth, *first, number]
                .iter()
                .for_each(|word| self.u32(*word));
        }
    }

    /// Writes [`follow::Code`] rows, then [`Point`] rows.
    fn code(&mut self, modules: &[ModuleCode]) {
        let mut first = 0;
        for code in modules {
            // The runtime cuts paths the same way.
            let mut path = [0; 232];
            let bytes = code.path.as_bytes();
            let length = bytes.len().min(path.len() - 1);
            path.iter_mut()
                .zip(bytes)
                .take(length)
                .for_each(|(place, byte)| *place = *byte);
            self.bytes.extend(path);
            self.u32(first);
            self.u32(code.points.len() as u32);
            first += code.points.len() as u32;
        }
        for (address, site) in modules.iter().flat_map(|code| &code.points) {
            self.u64(*address);
            self.u32(*site);
            let reserved = 0;
            self.u32(reserved);
        }
    }
}

/// The part after the run, as the runtime has filled it in.
pub(super) struct WrittenPart<'a>(pub &'a [u8]);

/// The state of a thread as the runtime noted it.
pub(super) struct Stood {
    pub standing: follow::Standing,
    pub waits_for: u32,
    pub object: u64,
    pub pc: u64,
    pub kind: Option<RecordKind>,
    pub entry: Option<usize>,
}

impl WrittenPart<'_> {
    fn u32(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    fn u64(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    /// Entries that happened in order.
    pub fn reached(&self) -> usize {
        self.u32(std::mem::offset_of!(Follow, reached)) as usize
    }

    /// The reason for giving up, and the number of the thread that it is about.
    pub fn gave_up(&self) -> (follow::GaveUp, Option<usize>) {
        let why = self.u32(std::mem::offset_of!(Follow, gave_up));
        let about = self.u32(std::mem::offset_of!(Follow, gave_up_thread));
        (
            follow::GaveUp::from_u32(why).unwrap_or(follow::GaveUp::No),
            (about != NONE).then_some(about as usize),
        )
    }

    /// Records in the log when it was given up.
    pub fn gave_up_at(&self) -> usize {
        let at = self.u64(std::mem::offset_of!(Follow, gave_up_at));
        usize::try_from(at).unwrap_or(usize::MAX)
    }

    /// Index of the record that an entry was.
    pub fn done_at(&self, entry: usize) -> Option<usize> {
        let entries = self.u64(std::mem::offset_of!(Follow, entries_at)) as usize;
        let row = entry.checked_mul(size_of::<Entry>())?;
        let at = entries.checked_add(row)?;
        let done_at = self.u64(at.checked_add(std::mem::offset_of!(Entry, done_at))?);
        usize::try_from(done_at.checked_sub(1)?).ok()
    }

    /// The state of a thread when the schedule was given up; `None` if it did not exist.
    pub fn stood(&self, thread: usize) -> Option<Stood> {
        use std::mem::offset_of;
        let stands = self.u64(offset_of!(Follow, stands_at)) as usize;
        let at = stands.checked_add(thread.checked_mul(size_of::<Stand>())?)?;
        let standing = follow::Standing::from_u32(self.u32(at + offset_of!(Stand, standing)))?;
        let kind = u8::try_from(self.u32(at + offset_of!(Stand, kind))).unwrap_or(0);
        let entry = self.u32(at + offset_of!(Stand, entry));
        (standing != follow::Standing::Absent).then(|| Stood {
            standing,
            waits_for: self.u32(at + offset_of!(Stand, waits_for)),
            object: self.u64(at + offset_of!(Stand, object)),
            pc: self.u64(at + offset_of!(Stand, pc)),
            kind: RecordKind::from_u8(kind),
            entry: (entry != NONE).then_some(entry as usize),
        })
    }
}
