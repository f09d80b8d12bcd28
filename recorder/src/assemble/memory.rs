//! Addresses to places: modules, heap, stacks, and whatever else there is.

use super::{
    calls::{Calls, EntryPoint, EntryPoints, OpenCall},
    clusters::Clusters,
    dwarf::FrameVariable,
    heap::Heap,
    modules::Modules,
    places::{MemoryRegionId, MemoryRegions, RegionByte, RegionContent, RegionName},
    raw_log::LogThread,
    spots::Sought,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::raw::{MAPPED, Record};

/// The range of a thread's stack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StackRange {
    pub low: u64,
    pub high: u64,
    /// The thread pointer.
    pub pointer: u64,
    /// The thread was created: before that its stack belongs to somebody else.
    pub has_begun: bool,
}

impl StackRange {
    fn holds(&self, address: u64) -> bool {
        self.has_begun && self.low <= address && address < self.high
    }
}

/// A place, and the number of bytes from there on that belong to the same region.
#[derive(Clone, Copy)]
pub(super) struct FoundPlace {
    pub place: RegionByte,
    pub rest: u64,
    pub own_stack: bool,
    /// Another thread whose stack it lies on.
    pub owner: Option<u16>,
    /// It is the same until memory is taken or given back, or a thread begins.
    pub is_settled: bool,
}

impl FoundPlace {
    /// Returns whether the place is that of a whole access, and stays there until the memory map changes.
    pub fn keeps(&self, sought: &Sought) -> bool {
        self.is_settled && self.rest >= u64::from(sought.size)
    }
}

/// A variable or function of a module: it does not move.
#[derive(Clone, Copy, Default)]
struct Fixed {
    start: u64,
    end: u64,
    region: MemoryRegionId,
}

/// Number of variables and functions that are found without a look into the table.
const RECENT: usize = 256;

impl Fixed {
    fn of(address: u64, found: &FoundPlace) -> Fixed {
        Fixed {
            start: address.wrapping_sub(found.place.offset.cast_unsigned()),
            end: address.saturating_add(found.rest),
            region: found.place.region,
        }
    }

    fn at(&self, address: u64) -> Option<FoundPlace> {
        let is_within = self.start <= address && address < self.end;
        is_within.then(|| FoundPlace {
            place: RegionByte {
                region: self.region,
                offset: (address - self.start).cast_signed(),
            },
            rest: self.end - address,
            own_stack: false,
            owner: None,
            is_settled: true,
        })
    }
}

/// The requester of a place, and the name of the place if it turns out to be unknown memory.
#[derive(Clone, Copy)]
pub(super) struct Asker {
    pub thread: u16,
    /// Number of a label in [`Regions`].
    pub label: u32,
}

/// Returns whether a value can be the address of something.
#[inline(always)]
pub(super) fn may_be_address(value: u64) -> bool {
    const LOWEST: u64 = 1 << 16;
    (LOWEST..1 << 47).contains(&value)
}

/// Variable number of places that are not in a variable.
const NO_VARIABLE: u32 = u32::MAX;

type FrameKey = (u16, u32, u32, u32);

/// The memory of the run at one moment.
pub(super) struct RunMemory<'a> {
    pub modules: Modules<'a>,
    pub regions: MemoryRegions,
    heap: Heap,
    stacks: Vec<StackRange>,
    /// Memory that means something else to the thread that it is the stack of; sorted.
    own: Vec<(u64, u64)>,
    by_object: FxHashMap<(u32, u64), MemoryRegionId>,
    by_frame: FxHashMap<FrameKey, MemoryRegionId>,
    by_stack: FxHashMap<u16, MemoryRegionId>,
    by_thread_local: FxHashMap<(u16, u32, u64), MemoryRegionId>,
    /// Distance below the thread pointers in which thread-local variables lie.
    thread_locals_reach: u64,
    /// Places in the memory of modules, which does not move: found once, found for the run.
    fixed: FxHashMap<u64, FoundPlace>,
    /// The variables and functions that were found last, by page.
    recent: Box<[Fixed; RECENT]>,
    mapped: Clusters,
    environment: Clusters,
    ordinals: FxHashMap<(&'static str, u32, u16), u32>,
}

/// Largest distance of addresses that belong to one mapping.
const MAPPING_REACH: u64 = 1 << 16;
/// Largest distance of addresses that belong to one environment: the kernel leaves a random gap between the argument
/// vector and the strings above it.
const ENVIRONMENT_REACH: u64 = 64;
/// Bytes above the stack of `main` that lie at a fixed distance from it: the argument vector.
const ARGUMENTS: u64 = 512;
/// Bytes above the stack of `main` that hold arguments, environment and whatever else the kernel puts there.
const ENVIRONMENT: u64 = 4 << 20;

impl<'a> RunMemory<'a> {
    pub fn new(
        modules: Modules<'a>,
        regions: MemoryRegions,
        threads: &[LogThread],
    ) -> RunMemory<'a> {
        let range = |thread: &LogThread| StackRange {
            low: thread.stack_low,
            high: thread.stack_high,
            pointer: thread.pointer,
            has_begun: false,
        };
        let mut stacks: Vec<StackRange> = threads.iter().map(range).collect();
        if let Some(main) = stacks.first_mut() {
            main.has_begun = true;
        }
        RunMemory {
            own: own_memory(&stacks, modules.thread_locals_reach()),
            thread_locals_reach: modules.thread_locals_reach(),
            by_thread_local: FxHashMap::default(),
            modules,
            regions,
            heap: Heap::default(),
            stacks,
            by_object: FxHashMap::default(),
            by_frame: FxHashMap::default(),
            by_stack: FxHashMap::default(),
            fixed: FxHashMap::default(),
            recent: Box::new([Fixed::default(); RECENT]),
            mapped: Clusters::new(MAPPING_REACH),
            environment: Clusters::new(ENVIRONMENT_REACH),
            ordinals: FxHashMap::default(),
        }
    }

    /// Notes that the thread exists: its stack is its own.
    pub fn begin(&mut self, thread: u16) {
        if let Some(stack) = self.stacks.get_mut(usize::from(thread)) {
            stack.has_begun = true;
        }
    }

    /// Adds a new block of the heap or a mapping; `layout` is the type that the source gives it.
    pub fn allocate(
        &mut self,
        by: Asker,
        record: &Record,
        layout: Option<RegionContent>,
    ) -> RegionByte {
        let name = self.block_name("heap", by);
        let region = self.regions.add(name, layout);
        let is_mapping = record.size == MAPPED;
        self.heap
            .insert(record.addr, record.value, region, is_mapping);
        RegionByte { region, offset: 0 }
    }

    /// The place of a new mapping that is a part of an existing one: programs reserve much and take it piece by
    /// piece.
    pub fn mapped_in(&mut self, record: &Record) -> Option<RegionByte> {
        let last = record.addr.checked_add(record.value.checked_sub(1)?)?;
        let block = self.heap.find(record.addr)?;
        let is_part = block.is_mapped && last < block.end && record.value < block.end - block.start;
        is_part.then(|| RegionByte {
            region: block.region,
            offset: record.addr.wrapping_sub(block.start).cast_signed(),
        })
    }

    /// Removes unmapped memory; returns whether that is a whole mapping.
    pub fn unmap(&mut self, record: &Record) -> bool {
        self.heap.unmap(record.addr, record.value)
    }

    fn block_name(&mut self, word: &'static str, by: Asker) -> RegionName {
        let ordinal = next_ordinal(&mut self.ordinals, word, by);
        RegionName::Block {
            word,
            label: by.label,
            thread: by.thread,
            ordinal,
        }
    }

    /// The place of an address that is accessed.
    pub fn place(
        &mut self,
        address: u64,
        by: Asker,
        threads: &[Calls],
        entries: &EntryPoints,
    ) -> FoundPlace {
        let is_local = self
            .stacks
            .get(usize::from(by.thread))
            .is_some_and(|stack| self.is_below(stack, address));
        if is_local && let Some(found) = self.in_thread_locals(by.thread, address) {
            return found;
        }
        if self.on_stack_of(by.thread, address) {
            let found = self.on_stack(by.thread, address, threads, entries);
            return FoundPlace {
                own_stack: true,
                owner: None,
                ..found
            };
        }
        let found = self
            .known(address, by, threads, entries)
            .unwrap_or_else(|| self.unknown(address, by));
        FoundPlace {
            is_settled: found.is_settled && !self.is_own(address),
            ..found
        }
    }

    /// Returns whether the address may mean something else to another thread.
    fn is_own(&self, address: u64) -> bool {
        let after = self.own.partition_point(|(start, _)| *start <= address);
        let range = after.checked_sub(1).and_then(|at| self.own.get(at));
        range.is_some_and(|(_, end)| address < *end)
    }

    /// The place that a value points to, if it looks like the address of something.
    pub fn pointee(
        &mut self,
        value: u64,
        by: Asker,
        threads: &[Calls],
        entries: &EntryPoints,
    ) -> Option<RegionByte> {
        if !may_be_address(value) {
            return None;
        }
        if let Some(found) = self.known(value, by, threads, entries) {
            return Some(found.place);
        }
        if let Some(block) = self.heap.ending_at(value) {
            let offset = value.wrapping_sub(block.start).cast_signed();
            return Some(RegionByte {
                region: block.region,
                offset,
            });
        }
        // Where position-independent programs, libraries and mappings are put at random.
        let is_random = matches!(value >> 40, 0x55 | 0x56 | 0x7e | 0x7f);
        is_random.then(|| self.unknown(value, by).place)
    }

    fn known(
        &mut self,
        address: u64,
        by: Asker,
        threads: &[Calls],
        entries: &EntryPoints,
    ) -> Option<FoundPlace> {
        let slot = (address >> 12) as usize % RECENT;
        let recent = self.recent.get(slot).and_then(|recent| recent.at(address));
        if let Some(found) = recent.or_else(|| self.fixed.get(&address).copied()) {
            return Some(found);
        }
        if let Some(block) = self.heap.find(address) {
            let offset = address.wrapping_sub(block.start).cast_signed();
            let place = RegionByte {
                region: block.region,
                offset,
            };
            return Some(FoundPlace {
                place,
                rest: block.end - address,
                own_stack: false,
                owner: None,
                is_settled: true,
            });
        }
        if let Some(found) = self.in_module(address) {
            self.fixed.insert(address, found);
            if let Some(recent) = self.recent.get_mut(slot) {
                *recent = Fixed::of(address, &found);
            }
            return Some(found);
        }
        // The newest first: what an ended thread had is used again.
        let owner = self
            .stacks
            .iter()
            .rposition(|stack| self.is_below(stack, address));
        if let Some(found) = owner.and_then(|owner| self.in_thread_locals(owner as u16, address)) {
            return Some(found);
        }
        match self.stacks.iter().rposition(|stack| stack.holds(address)) {
            Some(owner) => Some(self.on_stack(owner as u16, address, threads, entries)),
            None => self.above_main(address, by),
        }
    }

    fn in_module(&mut self, address: u64) -> Option<FoundPlace> {
        if !self.modules.holds(address) {
            return None;
        }
        let at = self.modules.locate(address)?;
        let file_address = at.address;
        let code = at.image.code_symbol(file_address).map(|(symbol, offset)| {
            (
                symbol.start,
                symbol.name().to_owned(),
                None,
                offset,
                symbol.size - offset,
            )
        });
        let data = || {
            let (_, object) = at.image.object(file_address)?;
            let offset = file_address - object.base;
            let name = object.name.clone();
            Some((
                object.base,
                name,
                object.kind,
                offset,
                object.end - file_address,
            ))
        };
        let (base, name, kind, offset, rest) = code.or_else(data)?;
        let offset = i64::try_from(offset).ok()?;
        let regions = &mut self.regions;
        let region = *self.by_object.entry((at.module, base)).or_insert_with(|| {
            let name = RegionName::Text(format!("{}{name}", at.image.prefix));
            let image = at.image.clone();
            regions.add(
                name,
                kind.map(|kind| RegionContent {
                    image,
                    kind,
                    stride: None,
                }),
            )
        });
        Some(FoundPlace {
            place: RegionByte { region, offset },
            rest,
            own_stack: false,
            owner: None,
            is_settled: true,
        })
    }

    fn is_below(&self, thread: &StackRange, address: u64) -> bool {
        let below = thread.pointer.wrapping_sub(address);
        thread.has_begun && below != 0 && below <= self.thread_locals_reach
    }

    /// The place of a thread-local variable, by the thread and its name. No function is called `thread_local`.
    fn in_thread_locals(&mut self, owner: u16, address: u64) -> Option<FoundPlace> {
        let pointer = self.stacks.get(usize::from(owner))?.pointer;
        let at = self.modules.thread_local(pointer.checked_sub(address)?)?;
        let object = at.image.thread_local(at.address)?;
        let regions = &mut self.regions;
        let key = (owner, at.module, object.base);
        let region = *self.by_thread_local.entry(key).or_insert_with(|| {
            let thread = regions.thread_name(owner);
            let name = format!("{thread}:thread_local.{}{}", at.image.prefix, object.name);
            let image = at.image.clone();
            let layout = object.kind.map(|kind| RegionContent {
                image,
                kind,
                stride: None,
            });
            regions.add(RegionName::Text(name), layout)
        });
        Some(FoundPlace {
            place: RegionByte {
                region,
                offset: i64::try_from(at.address - object.base).ok()?,
            },
            rest: object.end - at.address,
            own_stack: false,
            owner: None,
            is_settled: false,
        })
    }

    /// The thread whose stack an address lies on.
    pub fn stack_owner(&self, address: u64) -> Option<u16> {
        if !self.is_own(address) {
            return None;
        }
        let owner = self.stacks.iter().rposition(|stack| stack.holds(address));
        owner.and_then(|owner| u16::try_from(owner).ok())
    }

    fn on_stack_of(&self, thread: u16, address: u64) -> bool {
        self.stacks
            .get(usize::from(thread))
            .is_some_and(|stack| stack.holds(address))
    }

    fn on_stack(
        &mut self,
        owner: u16,
        address: u64,
        threads: &[Calls],
        entries: &EntryPoints,
    ) -> FoundPlace {
        let calls = threads.get(usize::from(owner));
        let high = self
            .stacks
            .get(usize::from(owner))
            .map_or(0, |stack| stack.high);
        let frame = calls.and_then(|calls| calls.frame_at(address));
        let Some(frame) = frame else {
            return self.outside_frames(owner, address, high);
        };
        let entry = entries.get(frame.entry);
        let part = FramePart::at(entry, frame, address);
        let region = self.frame_region(owner, frame, entry, &part);
        let place = RegionByte {
            region,
            offset: part.offset,
        };
        FoundPlace {
            place,
            rest: part.rest.max(1),
            own_stack: false,
            owner: Some(owner),
            is_settled: false,
        }
    }

    fn frame_region(
        &mut self,
        owner: u16,
        frame: &OpenCall,
        entry: Option<&EntryPoint>,
        part: &FramePart<'_>,
    ) -> MemoryRegionId {
        let number = part.variable.map_or(NO_VARIABLE, |(number, _)| number);
        let key = (owner, frame.entry, frame.occurrence, number);
        let regions = &mut self.regions;
        *self.by_frame.entry(key).or_insert_with(|| {
            let function = entry.map_or("?", |entry| entry.name.as_str());
            let nth = match frame.occurrence {
                0 => String::new(),
                nth => format!("#{nth}"),
            };
            let field = part
                .variable
                .map_or(String::new(), |(_, v)| format!(".{}", v.name));
            let name = format!("{}:{function}{nth}{field}", regions.thread_name(owner));
            let layout = part.variable.and_then(|(_, variable)| {
                let image = entry?.image.clone()?;
                Some(RegionContent {
                    image,
                    kind: variable.kind,
                    stride: None,
                })
            });
            regions.add(RegionName::Text(name), layout)
        })
    }

    /// The place of stack memory that is in no known frame, counted from the stack's end.
    fn outside_frames(&mut self, owner: u16, address: u64, high: u64) -> FoundPlace {
        let regions = &mut self.regions;
        let region = *self.by_stack.entry(owner).or_insert_with(|| {
            let name = format!("{}:stack", regions.thread_name(owner));
            regions.add(RegionName::Text(name), None)
        });
        let offset = address.wrapping_sub(high).cast_signed();
        FoundPlace {
            place: RegionByte { region, offset },
            rest: ARGUMENTS,
            own_stack: false,
            owner: None,
            is_settled: false,
        }
    }

    /// The place of memory above the stack of `main`, which the kernel has filled.
    fn above_main(&mut self, address: u64, by: Asker) -> Option<FoundPlace> {
        let high = self.stacks.first()?.high;
        let above = address
            .checked_sub(high)
            .filter(|above| *above < ENVIRONMENT)?;
        if above < ARGUMENTS {
            return Some(self.outside_frames(0, address, high));
        }
        let (regions, ordinals) = (&mut self.regions, &mut self.ordinals);
        let place = self.environment.place(address, || {
            let ordinal = next_ordinal(ordinals, "environment", by);
            let (label, thread) = (by.label, by.thread);
            let name = RegionName::Block {
                word: "environment",
                label,
                thread,
                ordinal,
            };
            regions.add(name, None)
        });
        Some(FoundPlace {
            place,
            rest: ENVIRONMENT_REACH,
            own_stack: false,
            owner: None,
            is_settled: false,
        })
    }

    fn unknown(&mut self, address: u64, by: Asker) -> FoundPlace {
        let (regions, ordinals) = (&mut self.regions, &mut self.ordinals);
        let place = self.mapped.place(address, || {
            let ordinal = next_ordinal(ordinals, "memory", by);
            let (label, thread) = (by.label, by.thread);
            regions.add(
                RegionName::Block {
                    word: "memory",
                    label,
                    thread,
                    ordinal,
                },
                None,
            )
        });
        FoundPlace {
            place,
            rest: MAPPING_REACH,
            own_stack: false,
            owner: None,
            is_settled: false,
        }
    }
}

/// The ranges of all stacks and thread-local variables, those that overlap together.
fn own_memory(stacks: &[StackRange], reach: u64) -> Vec<(u64, u64)> {
    let stack = stacks.iter().map(|stack| (stack.low, stack.high));
    let below = |stack: &StackRange| (stack.pointer.saturating_sub(reach), stack.pointer);
    let mut ranges: Vec<(u64, u64)> = stack.chain(stacks.iter().map(below)).collect();
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match merged.last_mut().filter(|last| start <= last.1) {
            Some(last) => last.1 = last.1.max(end),
            None => merged.push((start, end)),
        }
    }
    merged
}

/// A variable in a frame, or the gap between two variables.
struct FramePart<'a> {
    variable: Option<(u32, &'a FrameVariable)>,
    /// Offset from the start of the variable; without one, from the canonical frame address.
    offset: i64,
    /// Bytes to the end of the part.
    rest: u64,
}

impl<'a> FramePart<'a> {
    fn at(entry: Option<&'a EntryPoint>, frame: &OpenCall, address: u64) -> FramePart<'a> {
        /// Size of the pieces into which longer gaps are divided.
        const MOST: u64 = 1 << 12;
        let into = address.wrapping_sub(frame.base).cast_signed();
        let variable = entry.and_then(|entry| entry.variable(into));
        if let Some((_, found)) = variable {
            let offset = into.wrapping_sub(found.offset);
            let rest = found.size.saturating_sub(offset.unsigned_abs());
            return FramePart {
                variable,
                offset,
                rest,
            };
        }
        let next = entry.and_then(|entry| entry.next_variable(into));
        let rest = next.map_or(MOST, |next| next.abs_diff(into).min(MOST));
        FramePart {
            variable,
            offset: address.wrapping_sub(frame.cfa).cast_signed(),
            rest,
        }
    }
}

fn next_ordinal(
    ordinals: &mut FxHashMap<(&'static str, u32, u16), u32>,
    word: &'static str,
    by: Asker,
) -> u32 {
    let next = ordinals.entry((word, by.label, by.thread)).or_default();
    std::mem::replace(next, *next + 1)
}
