//! Path mode: each thread writes the blocks that it enters and its steps of synchronization into
//! memory of its own; nothing is shared but a number per object that orders the steps on it.
//!
//! The callback of a block is a handful of instructions, so that programs run nearly as fast as they
//! do by themselves. What the callback's words become when a thread's memory is full is in
//! [`unsnarl_trace::raw::path`].

use crate::{
    branches, failure,
    state::{Mode, SHARED, Thread, header},
};
use core::{
    arch::{asm, global_asm},
    cell::Cell,
    ptr::null_mut,
    sync::atomic::{
        AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
        compiler_fence,
    },
};
use unsnarl_trace::raw::{
    End, Record, RecordKind,
    pack::{self, Table},
    path::{
        CHUNK_BYTES, CHUNK_HEADER_BYTES, CHUNK_STEPS, CHUNK_WORDS, Chunk, ChunkKind, PathStep, SYNC,
    },
};

/// What a thread keeps for its path; all null before it begins.
pub struct Path {
    words: Cell<*mut Chunk>,
    packed: Cell<*mut Chunk>,
    steps: Cell<*mut Chunk>,
    /// Steps in the newest chunk of them.
    count: Cell<usize>,
    /// Written to and read by nobody: the record of what path mode leaves out.
    ignored: Cell<Record>,
}

/// How far steps on objects have come, by the hash of the object's address. Objects that share a place
/// are ordered among each other too, which is true as well.
static ORDERS: [AtomicU64; 1 << ORDER_BITS] = [const { AtomicU64::new(0) }; 1 << ORDER_BITS];
const ORDER_BITS: u32 = 13;

// Where the thread's next word goes; null while it records no path.
global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type unsnarl_next_word,@object",
    ".size unsnarl_next_word,8",
    "unsnarl_next_word:",
    ".zero 8",
    ".popsection",
);

/// The place of the calling thread's next word.
fn next_word() -> *mut u32 {
    let place;
    // SAFETY: reads the thread-local word above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_next_word@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) place,
            options(nostack, preserves_flags, readonly),
        );
    }
    place
}

fn set_next_word(place: *mut u32) {
    // SAFETY: writes the thread-local word above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_next_word@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) place,
            options(nostack, preserves_flags),
        );
    }
}

/// Divides the region of the records.
pub fn set_up() {
    let base = SHARED.header.get() as usize;
    let first = (base + header().records_at as usize).next_multiple_of(CHUNK_BYTES);
    header().chunks_at.store((first - base) as u64, Release);
}

/// The calling thread begins to record its path.
pub fn begin(this: &Thread) {
    if SHARED.mode.get() != Mode::Path {
        return;
    }
    let chunk = new_chunk(this, ChunkKind::Words, null_mut());
    this.path.words.set(chunk);
    set_next_word(first_word(chunk));
}

/// The calling thread records no more of its path.
pub fn end() {
    set_next_word(null_mut());
}

fn first_word(chunk: *mut Chunk) -> *mut u32 {
    (chunk as usize + CHUNK_HEADER_BYTES) as *mut u32
}

/// A chunk of this kind, the next after `before`.
fn new_chunk(this: &Thread, kind: ChunkKind, before: *mut Chunk) -> *mut Chunk {
    let header = header();
    let index = header.chunks.fetch_add(1, Relaxed) as usize;
    let at = header.chunks_at.load(Acquire) as usize + index * CHUNK_BYTES;
    let end = header.records_at + header.records_cap * size_of::<Record>() as u64;
    if (at + CHUNK_BYTES) as u64 > end {
        failure::end_now(End::LogFull);
    }
    let place = (SHARED.header.get() as usize + at) as *mut Chunk;
    // SAFETY: within the region that the recorder mapped, and nobody else's.
    let (chunk, before) = unsafe { (&*place, before.as_ref()) };
    let nth = before.map_or(0, |before| before.nth.load(Relaxed) + 1);
    chunk.thread.store(this.number.get().into(), Relaxed);
    chunk.nth.store(nth, Relaxed);
    // The kind makes it valid.
    chunk.kind.store(kind as u32, Release);
    place
}

/// Appends a step of synchronization; what path mode leaves out goes nowhere.
pub fn push(this: &Thread, record: Record) -> *mut Record {
    let is_step = matches!(record.kind, 10..=49) || matches!(record.kind, 63..=81);
    if !is_step || this.path.words.get().is_null() {
        this.path.ignored.set(record);
        return this.path.ignored.as_ptr();
    }
    let place = next_step(this);
    let hash = (record.addr >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - ORDER_BITS);
    let order = ORDERS
        .get(hash as usize)
        .map_or(0, |order| order.fetch_add(1, AcqRel));
    // SAFETY: a place of this thread's own. The kind makes the step valid: it is written last.
    unsafe {
        place.write(PathStep {
            order,
            record: Record { kind: 0, ..record },
        });
        compiler_fence(Release);
        (&raw mut (*place).record.kind).write_volatile(record.kind);
    }
    word(SYNC);
    // SAFETY: as above.
    unsafe { &raw mut (*place).record }
}

fn next_step(this: &Thread) -> *mut PathStep {
    let path = &this.path;
    if path.steps.get().is_null() || path.count.get() == CHUNK_STEPS {
        path.steps
            .set(new_chunk(this, ChunkKind::Steps, path.steps.get()));
        path.count.set(0);
    }
    let count = path.count.replace(path.count.get() + 1);
    let first = path.steps.get() as usize + CHUNK_HEADER_BYTES;
    (first + count * size_of::<PathStep>()) as *mut PathStep
}

/// Appends a word, as the callback does.
fn word(word: u32) {
    let place = next_word();
    if place.is_null() {
        return;
    }
    // SAFETY: within the thread's chunk: at its end it begins anew.
    unsafe { place.write_volatile(word) };
    let next = place as usize + 4;
    set_next_word(next as *mut u32);
    if next.is_multiple_of(CHUNK_BYTES) {
        full();
    }
}

/// The thread's chunk of words is full: packs its words and clears it.
extern "C" fn full() {
    // A signal handler that runs meanwhile has no place for its words, but the thread is whole.
    set_next_word(null_mut());
    let Some(this) = crate::state::this_thread() else {
        return;
    };
    let chunk = this.path.words.get();
    let first = first_word(chunk);
    // SAFETY: the thread's own chunk, which nobody else writes to.
    let words = unsafe { core::slice::from_raw_parts_mut(first, CHUNK_WORDS) };
    let mut table: Table = [0; size_of::<Table>() / 2];
    pack::pack(words, &mut table, |byte| packed_byte(this, byte));
    // The number of units says that this one is whole and that the words are to be read no more.
    // SAFETY: as above.
    unsafe { (*chunk).used.fetch_add(1, Release) };
    words.fill(0);
    set_next_word(first);
}

fn packed_byte(this: &Thread, byte: u8) {
    const ROOM: u32 = (CHUNK_BYTES - CHUNK_HEADER_BYTES) as u32;
    let path = &this.path;
    // SAFETY: null or the thread's own chunk.
    let newest = unsafe { path.packed.get().as_ref() };
    if newest.is_none_or(|chunk| chunk.used.load(Relaxed) == ROOM) {
        path.packed
            .set(new_chunk(this, ChunkKind::Packed, path.packed.get()));
    }
    let chunk = path.packed.get();
    // SAFETY: as above; `used` is below the room.
    unsafe {
        let used = (*chunk).used.load(Relaxed);
        let place = chunk as usize + CHUNK_HEADER_BYTES + used as usize;
        (place as *mut u8).write(byte);
        (*chunk).used.store(used + 1, Release);
    }
}

/// The compiler's callback at the beginning of a block.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    core::arch::naked_asm!(
        "mov rax, qword ptr [rip + unsnarl_next_word@GOTTPOFF]",
        "mov rcx, qword ptr fs:[rax]",
        "test rcx, rcx",
        "jz 2f",
        "mov edx, dword ptr [rsp]",
        "mov dword ptr [rcx], edx",
        "add rcx, 4",
        "mov qword ptr fs:[rax], rcx",
        "test cx, cx",
        "jz 3f",
        "ret",
        "2:",
        "cmp byte ptr [rip + {is_on}], 0",
        "jne 4f",
        "ret",
        "3:",
        "jmp {full}",
        "4:",
        "mov rdi, qword ptr [rsp]",
        "jmp {entered}",
        full = sym full,
        is_on = sym branches::IS_ON,
        entered = sym branches::entered,
    )
}

/// A program built for path mode calls back from no constructor: this begins its recording.
#[used]
#[unsafe(link_section = ".init_array.00099")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        crate::start::begin_path();
    }
    begin
};

const _: () = assert!(RecordKind::Lock as u8 == 10 && RecordKind::Yield as u8 == 63);
