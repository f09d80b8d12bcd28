//! One pass over the records: the thread, operation, place and origin of each step.
//!
//! Places become locations only afterwards ([`super::rows`]), when it is known how the run divides
//! untyped memory.

use super::{
    bit_fields::BitFields,
    branches::RunBlocks,
    calls::{Calls, EntryPoints, StackTable},
    drafts::{Drafts, OriginId},
    image::Image,
    kinds::{mask, object_size, order_flags},
    memory::{Asker, RunMemory, may_be_address},
    origins::{KnownSite, KnownStep, RECENT, RECENT_STEPS, RecordRole},
    places::{RegionByte, RegionContent},
    points::PointTable,
    problems::RecordingProblems,
    raw_log::RawLog,
    shared_frames::{LocalUse, SharedFrames},
    sites::SiteTable,
    spots::{Sought, Use},
    types::TypeId,
};
use rustc_hash::FxHashMap;
use std::{rc::Rc, sync::Arc};
use unsnarl_trace::{
    EventKind, SiteId,
    kinds::{EventRole, ObjectClass},
    model::flags,
    raw::{MAPPED, Record, RecordKind, WaitsFor, flag},
};

/// An event whose locations are not settled yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventDraft {
    pub seq: u64,
    pub thread: u16,
    pub kind: EventKind,
    pub flags: u16,
    pub origin: OriginId,
    /// Region 0 when there is no location.
    pub place: RegionByte,
    /// `true` if the location is an object used as a whole, which does not divide untyped memory.
    pub is_object: bool,
    /// Bytes accessed.
    pub size: u64,
    /// Offset of these bytes in the access.
    pub skipped: u64,
    pub value: Option<u64>,
    /// The place that the value points to, region 0 when it points to nothing known.
    pub pointee: RegionByte,
    pub old: Option<u64>,
}

impl EventDraft {
    /// A draft without a place.
    pub fn new(seq: u64, thread: u16, kind: EventKind, origin: OriginId) -> EventDraft {
        EventDraft {
            seq,
            thread,
            kind,
            flags: 0,
            origin,
            place: RegionByte::default(),
            is_object: true,
            size: 0,
            skipped: 0,
            value: None,
            pointee: RegionByte::default(),
            old: None,
        }
    }
}

/// The meaning of a thread's next `Extra`.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Awaits {
    #[default]
    Nothing,
    /// The return address of the call that was just entered.
    Caller,
    /// The value that the read-modify-write at this draft read; `true` for a wide one.
    Old(usize, bool),
    /// The high half of the value of an access with this number; `true` if that of the read value follows.
    High(u64, bool, Option<PointerWord>),
    /// The high half of the value that a read-modify-write with this number read.
    OldHigh(u64),
}

/// A word that is accessed, and may hold a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PointerWord {
    address: u64,
    is_read: bool,
}

/// The high half of a value of 16 bytes that was read or written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct High {
    pub value: Option<u64>,
    /// The place that the value points to, region 0 when it points to nothing known.
    pub pointee: RegionByte,
    pub old: Option<u64>,
}

/// Size of an access with a second record for the high half of the value.
const WIDE: u64 = 16;

#[derive(Default)]
struct WalkThread {
    awaits: Awaits,
    /// Drafts of announced writes that no callback has followed yet.
    pending: Vec<usize>,
    /// First function of the user's code that the thread entered, or the lambda that it was created with.
    first_function: Option<String>,
    exit: Option<ExitCall>,
}

/// A call by which a thread ends the program: what it does from there on are the handlers of its end.
#[derive(Clone, Copy)]
pub(super) struct ExitCall {
    /// Its place.
    pub site: SiteId,
    /// Number of the event that comes next.
    pub seq: u64,
}

/// Everything that one pass over the log yields.
pub(super) struct LogWalk<'a> {
    pub memory: RunMemory<'a>,
    pub entries: EntryPoints,
    pub calls: Vec<Calls>,
    states: Vec<WalkThread>,
    pub sites: SiteTable,
    pub stacks: StackTable,
    pub drafts: Drafts,
    /// High halves of wide accesses by their number.
    pub high: FxHashMap<u64, High>,
    pub problems: RecordingProblems,
    pub site_ids: FxHashMap<u64, Option<KnownSite>>,
    /// The program counters that were looked up last.
    pub(super) recent_sites: Box<[(u64, Option<KnownSite>); RECENT]>,
    /// The steps that were looked up last.
    pub(super) recent_steps: Box<[KnownStep; RECENT_STEPS]>,
    /// Labels of sites, each one more than its number; 0 for those that have none yet.
    labels: Vec<u32>,
    pub library_calls: FxHashMap<(u64, u64), Option<u64>>,
    allocations: FxHashMap<(SiteId, u64), Option<TypeId>>,
    library_allocations: FxHashMap<(u64, u64), Option<TypeId>>,
    pub bit_fields: BitFields,
    pub blocks: RunBlocks,
    pub points: PointTable,
    /// Sites of the calls that were inlined at program counters.
    pub inlined: FxHashMap<u64, Rc<[SiteId]>>,
    /// Locals that threads use by pointers.
    pub shared_frames: SharedFrames,
    /// Repeated accesses have no records.
    pub(super) leaves_out: bool,
    /// The failure is the exit status: what went wrong afterwards is none.
    pub(super) has_exited: bool,
    /// Origins of writes that may be repeated, by thread, place and address.
    first_writes: FxHashMap<(u16, u64, u64), OriginId>,
    pub(super) seq: u64,
}

/// Length above which a range is taken for a broken record.
const MAX_RANGE: u64 = 1 << 32;
/// Bound for the regions that one range runs through.
const MAX_PARTS: usize = 4096;

impl<'a> LogWalk<'a> {
    /// A walk through a log with this many threads.
    pub fn new(memory: RunMemory<'a>, threads: usize, log: &RawLog<'_>) -> LogWalk<'a> {
        let mut drafts = Drafts::default();
        drafts.reserve(log.len().min(1 << 24));
        LogWalk {
            memory,
            entries: EntryPoints::default(),
            calls: (0..threads).map(|_| Calls::default()).collect(),
            states: (0..threads).map(|_| WalkThread::default()).collect(),
            sites: SiteTable::default(),
            stacks: StackTable::default(),
            drafts,
            high: FxHashMap::default(),
            problems: RecordingProblems::default(),
            site_ids: FxHashMap::default(),
            recent_sites: Box::new([(0, None); RECENT]),
            recent_steps: Box::new([KnownStep::NONE; RECENT_STEPS]),
            labels: Vec::new(),
            library_calls: FxHashMap::default(),
            allocations: FxHashMap::default(),
            library_allocations: FxHashMap::default(),
            bit_fields: BitFields::default(),
            blocks: RunBlocks::default(),
            points: PointTable::default(),
            inlined: FxHashMap::default(),
            shared_frames: SharedFrames::default(),
            leaves_out: log.left_out() > 0 || log.condensed() > 0,
            has_exited: false,
            first_writes: FxHashMap::default(),
            seq: 0,
        }
    }

    /// Goes through the next records.
    pub fn run(&mut self, records: impl Iterator<Item = Record>) {
        for record in records {
            self.record(&record);
        }
    }

    /// Notes that there are no more records: what was announced and has not followed was not completed.
    pub fn end(&mut self) {
        for draft in self.states.iter().flat_map(|state| &state.pending) {
            self.drafts.set_unfinished(*draft);
        }
    }

    /// Name of the first function in user code that a thread entered.
    pub fn first_function(&self, thread: usize) -> Option<&str> {
        self.states.get(thread)?.first_function.as_deref()
    }

    pub fn record(&mut self, record: &Record) {
        let thread = usize::from(record.thread);
        let Some(kind) = RecordKind::from_u8(record.kind).filter(|_| thread < self.calls.len())
        else {
            self.problems.holes += 1;
            self.seq += 1;
            return;
        };
        self.settle_pending(thread, kind);
        match kind {
            RecordKind::Enter => self.enter(record),
            RecordKind::Leave => self.leave(thread),
            RecordKind::Extra => self.extra(record),
            RecordKind::Detach => {}
            RecordKind::Exit => self.exit(record),
            RecordKind::Failure if self.has_exited => self.seq += 1,
            RecordKind::Branch => self.block(record.thread, record.pc),
            _ => self.event(record, kind),
        }
    }

    /// Completes the writes that a thread announced: since it goes on, it has executed them.
    fn settle_pending(&mut self, thread: usize, kind: RecordKind) {
        let says_nothing = matches!(
            kind,
            RecordKind::Failure
                | RecordKind::Blocked
                | RecordKind::Extra
                | RecordKind::Write
                | RecordKind::WriteRange
        );
        if let Some(state) = self.states.get_mut(thread).filter(|_| !says_nothing) {
            state.pending.clear();
        }
    }

    fn exit(&mut self, record: &Record) {
        let thread = usize::from(record.thread);
        let origin = self.origin_id(thread, record.pc, RecordRole::Continued);
        let site = self.drafts.origin(origin).site;
        let seq = self.seq;
        if let Some(state) = self.states.get_mut(thread) {
            state.exit = Some(ExitCall { site, seq });
        }
    }

    /// The last call by which the thread ends the program, if it came to one.
    pub fn exit_of(&self, thread: usize) -> Option<ExitCall> {
        self.states.get(thread)?.exit
    }

    fn enter(&mut self, record: &Record) {
        let thread = usize::from(record.thread);
        let entry = self.entries.id(&mut self.memory.modules, record.pc);
        let Some(calls) = self.calls.get_mut(thread) else {
            return;
        };
        calls.enter(&self.entries.list, entry, record.addr, record.value);
        let Some(state) = self.states.get_mut(thread) else {
            return;
        };
        state.awaits = Awaits::Caller;
        if state.first_function.is_none() {
            let point = self.entries.get(entry);
            let is_outermost = calls.frames.len() == 1;
            state.first_function = point.and_then(|point| match point.is_user {
                true => Some(point.name.clone()),
                false if is_outermost => point.lambda(),
                false => None,
            });
        }
    }

    fn leave(&mut self, thread: usize) {
        let Some(frame) = self.calls.get_mut(thread).and_then(Calls::leave) else {
            return;
        };
        if let Ok(owner) = u16::try_from(thread) {
            self.shared_frames.left(owner, &frame, self.seq);
        }
        self.seen_at(thread, frame.ret);
    }

    fn extra(&mut self, record: &Record) {
        let thread = usize::from(record.thread);
        let Some(state) = self.states.get_mut(thread) else {
            return;
        };
        match std::mem::take(&mut state.awaits) {
            Awaits::Caller => self.called_from(thread, record.value),
            Awaits::Old(draft, is_wide) => {
                if let Some(state) = self.states.get_mut(thread).filter(|_| is_wide) {
                    state.awaits = Awaits::High(self.seq.saturating_sub(1), true, None);
                }
                let size = self.drafts.get(draft).map_or(0, |draft| draft.size);
                let old = self.old_number(record, size);
                self.drafts.set_old(draft, old);
            }
            Awaits::High(seq, is_rmw, word) => {
                if let Some(state) = self.states.get_mut(thread).filter(|_| is_rmw) {
                    state.awaits = Awaits::OldHigh(seq);
                }
                self.high(record, seq, word);
            }
            Awaits::OldHigh(seq) => {
                self.high.entry(seq).or_default().old = self.old_number(record, 8);
            }
            Awaits::Nothing => {}
        }
    }

    /// The value that a read-modify-write read, unless it is an address, which means nothing in another run.
    fn old_number(&mut self, record: &Record, size: u64) -> Option<u64> {
        let by = self.asker(record.thread, SiteId(0));
        let is_address = size >= 8 && self.pointee(record.value, by).is_some();
        (!is_address).then_some(record.value & mask(size))
    }

    fn high(&mut self, record: &Record, seq: u64, word: Option<PointerWord>) {
        if record.flags & (flag::VALUE | flag::PENDING) != flag::VALUE {
            return;
        }
        let by = self.asker(record.thread, SiteId(0));
        if let Some(word) = word {
            self.note_pointer(record.thread, word, Some(record.value));
        }
        let pointee = self.pointee(record.value, by).unwrap_or_default();
        let high = self.high.entry(seq).or_default();
        (high.value, high.pointee) = (Some(record.value), pointee);
    }

    /// Notes that the innermost call was made from just before `ret`.
    fn called_from(&mut self, thread: usize, ret: u64) {
        let site = self.user_site(ret);
        let frames = self.calls.get_mut(thread).map(|calls| &mut calls.frames);
        let Some((top, rest)) = frames.and_then(|frames| frames.split_last_mut()) else {
            return;
        };
        top.ret = ret;
        let Some(caller) = rest.last().map(|caller| caller.stack) else {
            return;
        };
        // Calls within system code are not shown: the callee stands where its caller stands.
        let stack = match site {
            Some(site) => {
                let around = self.with_inlined(caller, ret);
                self.stacks.id(around, site)
            }
            None => caller,
        };
        let frames = self.calls.get_mut(thread).map(|calls| &mut calls.frames);
        if let Some(top) = frames.and_then(|frames| frames.last_mut()) {
            top.stack = stack;
        }
    }

    fn asker(&mut self, thread: u16, site: SiteId) -> Asker {
        let known = self.labels.get(site.index()).copied().unwrap_or(0);
        let label = known.checked_sub(1);
        Asker {
            thread,
            label: label.unwrap_or_else(|| self.new_label(site)),
        }
    }

    fn new_label(&mut self, site: SiteId) -> u32 {
        let label = self.memory.regions.label(self.sites.label(site));
        if self.labels.len() <= site.index() {
            self.labels.resize(site.index() + 1, 0);
        }
        if let Some(place) = self.labels.get_mut(site.index()) {
            *place = label + 1;
        }
        label
    }

    fn pointee(&mut self, value: u64, by: Asker) -> Option<RegionByte> {
        self.memory.pointee(value, by, &self.calls, &self.entries)
    }

    fn event(&mut self, record: &Record, kind: RecordKind) {
        let Some(of) = kind.event() else {
            return;
        };
        let thread = usize::from(record.thread);
        if kind == RecordKind::Begin {
            self.begin(record.thread);
        }
        // The first step has the start routine itself, all others what follows a call.
        let pc = record
            .pc
            .wrapping_add(u64::from(kind == RecordKind::Begin && record.pc != 0));
        let origin = match kind {
            RecordKind::Begin => self.origin_of_start(thread, pc),
            RecordKind::Write => self.origin_of_write(record),
            kind => self.origin_id(thread, pc, RecordRole::of(kind)),
        };
        let draft = EventDraft::new(self.seq, record.thread, of, origin);
        self.seq += 1;
        use RecordKind as K;
        match kind {
            K::Read | K::Write | K::AtomicRead | K::AtomicWrite | K::Rmw => {
                self.access(record, kind, draft);
            }
            _ => self.operation(record, kind, draft),
        }
    }

    /// Origin of a write. For the last of equal writes, whose function may have been left when it was recorded, it is
    /// that of the first one.
    fn origin_of_write(&mut self, record: &Record) -> OriginId {
        let write = (record.thread, record.pc, record.addr);
        if record.flags & flag::LAST_WRITE != 0
            && let Some(first) = self.first_writes.get(&write)
        {
            return *first;
        }
        let thread = usize::from(record.thread);
        let origin = self.origin_id(thread, record.pc, RecordRole::of(RecordKind::Write));
        if self.leaves_out {
            self.first_writes.insert(write, origin);
        }
        origin
    }

    /// Handles a record that is no access to a single value.
    fn operation(&mut self, record: &Record, kind: RecordKind, draft: EventDraft) {
        let site = self.drafts.origin(draft.origin).site;
        let by = self.asker(record.thread, site);
        use RecordKind as K;
        match kind {
            K::ReadRange | K::WriteRange => {
                let size = record.value.min(MAX_RANGE);
                if kind == K::WriteRange {
                    self.shared_frames.overwritten(record.addr, size);
                }
                let flags = flags::RANGE | order_flags(record, false);
                self.parts(
                    record.addr,
                    EventDraft {
                        size,
                        flags,
                        ..draft
                    },
                    None,
                );
            }
            K::Fence => {
                let order = (record.value & 7) as u16;
                self.drafts.push(&EventDraft {
                    flags: (order + 1) << flags::ORDER_SHIFT,
                    ..draft
                });
            }
            K::Fork | K::Join => {
                if let (K::Fork, Ok(child)) = (kind, u16::try_from(record.value)) {
                    self.begin(child);
                    self.begin_with(child, record.addr);
                }
                self.drafts.push(&EventDraft {
                    value: Some(record.value),
                    ..draft
                });
            }
            K::Begin | K::End | K::Yield => {
                self.drafts.push(&draft);
            }
            // There was no memory.
            K::Alloc if record.addr == 0 => {
                self.drafts.push(&EventDraft {
                    value: Some(record.value),
                    ..draft
                });
            }
            K::Alloc => {
                self.shared_frames.overwritten(record.addr, record.value);
                let layout = self.allocated(record, site);
                let is_mapping = record.size == MAPPED;
                self.drafts.spots.forget();
                let place = match is_mapping.then(|| self.memory.mapped_in(record)).flatten() {
                    Some(place) => place,
                    None => self.memory.allocate(by, record, layout),
                };
                self.drafts.push(&EventDraft {
                    place,
                    value: Some(record.value),
                    ..draft
                });
            }
            // What is left of a mapping keeps its name.
            K::Free if record.size == MAPPED && !self.unmap(record) => {
                self.drafts.push(&draft);
            }
            K::Blocked => self.blocked(record, draft, by),
            _ => self.object(record, kind, draft, by),
        }
    }

    /// The layout of a block allocated at `site`, according to the source.
    fn allocated(&mut self, record: &Record, site: SiteId) -> Option<RegionContent> {
        let size = record.value;
        let at = self.memory.modules.locate(record.pc.wrapping_sub(1))?;
        let by_library = self.library_allocations.entry((record.pc, size));
        let by_library =
            *by_library.or_insert_with(|| at.image.allocated_by_library(at.address, size));
        let (image, kind) = match by_library {
            Some(kind) => (at.image, kind),
            None => self.allocated_in_text(record, site)?,
        };
        let one = image.types.size(kind);
        Some(RegionContent {
            image,
            kind,
            stride: (one < size).then_some(one),
        })
    }

    /// The type of a block by the text of the line that allocates it, itself or by a library.
    fn allocated_in_text(&mut self, record: &Record, site: SiteId) -> Option<(Arc<Image>, TypeId)> {
        let calls = self.calls.get(usize::from(record.thread));
        let top = calls.and_then(|calls| calls.frames.last());
        let by_library = top.filter(|top| top.library_pc == record.pc);
        let pc = by_library.and_then(|top| top.library_call);
        let image = self
            .memory
            .modules
            .locate(pc.unwrap_or(record.pc).wrapping_sub(1))?
            .image;
        let row = self.sites.rows.get(site.index())?;
        let known = self.allocations.entry((site, record.value));
        let find = || image.allocated(&row.function, &row.text, record.value);
        let kind = (*known.or_insert_with(find))?;
        Some((image, kind))
    }

    /// Removes unmapped memory; returns whether that is a whole mapping.
    fn unmap(&mut self, record: &Record) -> bool {
        self.drafts.spots.forget();
        self.memory.unmap(record)
    }

    /// Notes that the thread exists.
    fn begin(&mut self, thread: u16) {
        self.memory.begin(thread);
        self.drafts.spots.forget();
    }

    /// Notes that a thread begins with an argument, which may point to a local of another one.
    fn begin_with(&mut self, child: u16, argument: u64) {
        if let Some(owner) = self.other_stack(child, argument) {
            let pointer = (owner, argument);
            self.shared_frames.read(child, None, pointer, &self.calls);
        }
    }

    /// The thread whose stack an address lies on, if it is another one.
    fn other_stack(&self, thread: u16, address: u64) -> Option<u16> {
        let owner = self.memory.stack_owner(address)?;
        (owner != thread).then_some(owner)
    }

    /// Notes that a pointer to a local goes from thread to thread.
    fn note_pointer(&mut self, thread: u16, word: PointerWord, value: Option<u64>) {
        let pointer = value.filter(|value| may_be_address(*value));
        let owner = pointer.and_then(|pointer| self.memory.stack_owner(pointer));
        let Some(pointer) = owner.zip(pointer) else {
            return;
        };
        let is_own = self.memory.stack_owner(word.address) == Some(thread);
        match word.is_read {
            // What a thread has itself says nothing new of its own locals, nor do copies in its own stack of others'.
            true if pointer.0 == thread => {}
            true => {
                let from = (word.address, is_own);
                self.shared_frames
                    .read(thread, Some(from), pointer, &self.calls);
            }
            false if pointer.0 == thread && is_own => {}
            false => {
                let at = word.address;
                self.shared_frames.stored(thread, at, pointer, &self.calls);
            }
        }
    }

    fn access(&mut self, record: &Record, kind: RecordKind, draft: EventDraft) {
        let is_atomic = !matches!(kind, RecordKind::Read | RecordKind::Write);
        let has_value = record.flags & (flag::VALUE | flag::PENDING) == flag::VALUE;
        let size = record.size.min(1 << 16);
        let value = has_value.then_some(record.value & mask(size.into()));
        let flags = order_flags(record, is_atomic);
        let word = PointerWord {
            address: record.addr,
            is_read: matches!(kind, RecordKind::Read | RecordKind::AtomicRead),
        };
        self.note_pointer(record.thread, word, value.filter(|_| size >= 8));
        let whole = EventDraft {
            size: size.into(),
            flags,
            value,
            pointee: self.value_place(value.filter(|_| size >= 8), &draft),
            is_object: false,
            ..draft
        };
        let first = self.drafts.len();
        let is_range = flags & flags::RANGE != 0;
        let sought = Sought {
            address: record.addr,
            size,
            used: if is_range { Use::Range } else { Use::Access },
        };
        let spots = &mut self.drafts.spots;
        match spots.recent(&sought).or_else(|| spots.on_page(&sought)) {
            Some(spot) => self.drafts.push_at(&whole, spot),
            None => self.parts(record.addr, whole, Some(&sought)),
        }
        let first = first + self.note_bit_field(record, kind, first);
        self.note_awaited(record, kind, draft.seq, first);
    }

    /// The place that a value of eight bytes points to.
    fn value_place(&mut self, value: Option<u64>, draft: &EventDraft) -> RegionByte {
        let Some(value) = value.filter(|value| may_be_address(*value)) else {
            return RegionByte::default();
        };
        let by = self.asker(draft.thread, self.drafts.origin(draft.origin).site);
        self.pointee(value, by).unwrap_or_default()
    }

    /// Notes what later records of the thread will say of an access whose drafts begin at `first`.
    fn note_awaited(&mut self, record: &Record, kind: RecordKind, seq: u64, first: usize) {
        let Some(state) = self.states.get_mut(usize::from(record.thread)) else {
            return;
        };
        if record.flags & flag::PENDING != 0 {
            state.pending.extend(first..self.drafts.len());
        } else if kind == RecordKind::Write {
            state.pending.clear();
        }
        let is_wide = u64::from(record.size) == WIDE;
        if kind == RecordKind::Rmw {
            state.awaits = Awaits::Old(first, is_wide);
        } else if is_wide {
            let word = PointerWord {
                address: record.addr.wrapping_add(8),
                is_read: matches!(kind, RecordKind::Read | RecordKind::AtomicRead),
            };
            state.awaits = Awaits::High(seq, false, Some(word));
        }
    }

    /// Adds a draft for every region that an access runs through; `sought` is the access where its spot may be noted.
    fn parts(&mut self, address: u64, whole: EventDraft, sought: Option<&Sought>) {
        let site = self.drafts.origin(whole.origin).site;
        let by = self.asker(whole.thread, site);
        let mut done = 0;
        for _ in 0..MAX_PARTS {
            let at = address.wrapping_add(done);
            let found = self.memory.place(at, by, &self.calls, &self.entries);
            let size = (whole.size - done).min(found.rest.max(1));
            let own = if found.own_stack { flags::OWN_STACK } else { 0 };
            if let Some(owner) = found.owner {
                let used = LocalUse {
                    thread: whole.thread,
                    owner,
                    address: at,
                    origin: whole.origin,
                    seq: whole.seq,
                };
                self.shared_frames.used(used, &self.calls, &self.entries);
            }
            let draft = EventDraft {
                place: found.place,
                is_object: false,
                size,
                skipped: done,
                flags: whole.flags | own,
                ..whole
            };
            match sought.filter(|sought| done == 0 && found.keeps(sought)) {
                Some(sought) => {
                    let spot = self.drafts.spots.noted(sought, found.place);
                    self.drafts.push_at(&draft, spot);
                }
                None => {
                    self.drafts.push(&draft);
                }
            }
            done += size;
            if done >= whole.size {
                return;
            }
        }
        self.problems.shortened(site);
    }

    /// An operation on an object as a whole: lock, condition, semaphore, block.
    fn object(&mut self, record: &Record, kind: RecordKind, draft: EventDraft, by: Asker) {
        let tells = matches!(
            draft.kind.role(),
            EventRole::Resume | EventRole::Notify { .. }
        );
        let value = tells.then_some(record.value);
        if record.addr == 0 {
            self.drafts.push(&EventDraft { value, ..draft });
            return;
        }
        let found = self
            .memory
            .place(record.addr, by, &self.calls, &self.entries);
        if !matches!(kind, RecordKind::Free | RecordKind::Failure) {
            self.memory
                .regions
                .touch_object(found.place, object_size(record, kind));
        }
        let flags = match record.flags & flag::TRIED {
            0 => draft.flags,
            _ => draft.flags | flags::TRIED,
        };
        self.drafts.push(&EventDraft {
            place: found.place,
            value,
            flags,
            ..draft
        });
    }

    fn blocked(&mut self, record: &Record, draft: EventDraft, by: Asker) {
        let draft = EventDraft {
            size: u64::from(record.size),
            ..draft
        };
        match WaitsFor::from_u32(record.size) {
            Some(WaitsFor::Join) => {
                self.drafts.push(&EventDraft {
                    value: Some(record.addr),
                    ..draft
                });
            }
            Some(waits_for) if waits_for.class() != ObjectClass::Nothing => {
                self.object(record, RecordKind::Blocked, draft, by);
            }
            _ => {
                self.drafts.push(&draft);
            }
        }
    }
}
