//! Names of memory in the hash of a run, which are the same in every run, whatever addresses the memory has there.

use super::{
    blocks::{Blocks, KnownBlock},
    hash::{mix, text},
};
use crate::assemble::{LogModule, LogThread, RawLog, thread_names};
use rustc_hash::FxHashMap;

/// A module's addresses.
struct ModuleRange {
    start: u64,
    end: u64,
    bias: u64,
    name: u64,
}

/// A thread's own memory.
struct ThreadMemory {
    low: u64,
    high: u64,
    pointer: u64,
    name: u64,
    /// `true` once it is created: before, its stack belongs to somebody else.
    has_begun: bool,
}

/// Memory of unknown origin, named after the first step that touched it.
struct UnknownMemory {
    name: u64,
    first: u64,
}

/// The step that asks for a name; unknown memory is named after it.
#[derive(Clone, Copy)]
pub(super) struct NameRequest {
    pub thread: u16,
    /// Hash of the place in the code.
    pub place: u64,
}

/// A name, and the step that freed the memory, 0 if none did.
#[derive(Clone, Copy, Default)]
pub(super) struct MemoryName {
    pub hash: u64,
    pub freed: u64,
}

/// The memory of a run at one moment.
pub(super) struct MemoryNames {
    modules: Vec<ModuleRange>,
    threads: Vec<ThreadMemory>,
    thread_locals_reach: u64,
    pub blocks: Blocks,
    unknown: FxHashMap<u64, UnknownMemory>,
}

/// Size of the parts by which unknown memory is named.
const PART: u32 = 16;

impl MemoryNames {
    /// Names for a log, by its modules and threads.
    pub fn new(log: &RawLog<'_>) -> MemoryNames {
        let all: Vec<LogModule> = log.modules().collect();
        let threads: Vec<LogThread> = log.threads().collect();
        let names = thread_names(&threads);
        let thread = |(number, (thread, name)): (usize, (&LogThread, &String))| ThreadMemory {
            low: thread.stack_low,
            high: thread.stack_high,
            pointer: thread.pointer,
            name: text(name),
            has_begun: number == 0,
        };
        MemoryNames {
            thread_locals_reach: all.iter().map(|module| module.tls_below).max().unwrap_or(0),
            modules: modules(&all),
            threads: threads.iter().zip(&names).enumerate().map(thread).collect(),
            blocks: Blocks::default(),
            unknown: FxHashMap::default(),
        }
    }

    /// The hashes of the threads' names.
    pub fn threads(&self) -> impl Iterator<Item = u64> + '_ {
        self.threads.iter().map(|thread| thread.name)
    }

    /// Notes that the thread exists: its stack is its own. Returns the range of the stack if it was another thread's
    /// before.
    pub fn begin(&mut self, number: u16) -> Option<(u64, u64)> {
        let number = usize::from(number);
        let new = self.threads.get(number).filter(|new| !new.has_begun)?;
        let stack = (new.low, new.high);
        let overlaps =
            |old: &ThreadMemory| old.has_begun && old.low < stack.1 && stack.0 < old.high;
        let is_used_again = self.threads.iter().any(overlaps);
        if let Some(new) = self.threads.get_mut(number) {
            new.has_begun = true;
        }
        is_used_again.then_some(stack)
    }

    /// The name of a word.
    pub fn name(&mut self, address: u64, by: NameRequest) -> MemoryName {
        let known = self.in_module(address);
        if let Some(block) = self.blocks.find(address).filter(|_| known.is_none()) {
            return in_block(&block, address);
        }
        let known = known.or_else(|| self.in_thread(address, by.thread));
        MemoryName {
            hash: known.unwrap_or_else(|| self.in_unknown(address, by)),
            freed: 0,
        }
    }

    fn in_module(&self, address: u64) -> Option<u64> {
        let after = self
            .modules
            .partition_point(|module| module.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        (address < module.end).then(|| mix(module.name, address.wrapping_sub(module.bias)))
    }

    /// The name of memory in thread-local variables and stacks; of threads that used the same memory the newest has
    /// it.
    fn in_thread(&self, address: u64, asker: u16) -> Option<u64> {
        let holds = |thread: &&ThreadMemory| {
            let below = thread.pointer.wrapping_sub(address);
            let is_local = below != 0 && below <= self.thread_locals_reach;
            thread.has_begun && (is_local || thread.low <= address && address < thread.high)
        };
        let own = self.threads.get(usize::from(asker)).filter(holds);
        let thread = own.or_else(|| self.threads.iter().rev().find(holds))?;
        let is_on_stack = thread.low <= address && address < thread.high;
        let base = if is_on_stack {
            thread.high
        } else {
            thread.pointer
        };
        Some(mix(thread.name, base.wrapping_sub(address)))
    }

    fn in_unknown(&mut self, address: u64, by: NameRequest) -> u64 {
        let (threads, blocks) = (&self.threads, &mut self.blocks);
        let part = self.unknown.entry(address >> PART).or_insert_with(|| {
            let thread = threads.get(usize::from(by.thread));
            let thread = thread.map_or(0, |thread| thread.name);
            UnknownMemory {
                name: blocks.next_name(mix(by.place, thread)),
                first: address,
            }
        });
        mix(part.name, address.wrapping_sub(part.first))
    }
}

fn in_block(block: &KnownBlock, address: u64) -> MemoryName {
    MemoryName {
        hash: mix(block.name, address - block.start),
        freed: block.freed,
    }
}

/// The modules by address.
fn modules(all: &[LogModule]) -> Vec<ModuleRange> {
    let module = |module: &LogModule| ModuleRange {
        start: module.start,
        end: module.end,
        bias: module.bias,
        name: text(&module.path),
    };
    let mut modules: Vec<ModuleRange> = all.iter().map(module).collect();
    modules.sort_by_key(|module| module.start);
    modules
}
