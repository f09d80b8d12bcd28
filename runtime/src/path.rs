//! Path mode: each thread notes the way that it takes and its steps of synchronization in memory of its
//! own; nothing is shared but a number per object that orders the steps on it.
//!
//! The notes are written by instructions that the compiler wrapper puts into the program, without a call.
//! They need a place to write to at any time: threads that record nothing write over and over into
//! [`SINK`]. What the notes become when a thread's memory is full is in [`unsnarl_trace::raw::path`].

use crate::{
    failure,
    state::{Mode, SHARED, Thread, header, unrecorded},
    threads,
};
use core::{
    arch::{asm, global_asm},
    cell::{Cell, UnsafeCell},
    ptr::null_mut,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
        compiler_fence,
    },
};
use unsnarl_trace::raw::{
    End, Record, RecordKind, marks,
    pack::{self, LastOccurrences},
    path::{
        CHUNK_BYTES, CHUNK_HEADER_BYTES, CHUNK_ROOM, CHUNK_STEPS, Chunk, ChunkKind, FULL,
        RawPathStep, mark,
    },
};

/// A thread's state for its path; all null before it begins.
pub struct Path {
    notes: Cell<*mut Chunk>,
    packed: Cell<*mut Chunk>,
    steps: Cell<*mut Chunk>,
    /// Steps in the newest chunk of them.
    count: Cell<usize>,
    /// Working memory of packing: too large for the stacks of some threads.
    scratch: Cell<*mut Scratch>,
    /// Record that is written and never read: that of steps which path mode leaves out.
    ignored: Cell<Record>,
}

/// Order numbers of steps on objects, by the hash of the object's address. Objects that share a slot are ordered
/// among each other too, which is true as well.
static ORDERS: [AtomicU64; 1 << ORDER_BITS] = [const { AtomicU64::new(0) }; 1 << ORDER_BITS];
const ORDER_BITS: u32 = 13;

/// Memory for the notes of threads that record no path. From any address in its first half there is a multiple of a
/// chunk's size with a chunk's room behind it.
struct Sink(UnsafeCell<[u8; 2 * CHUNK_BYTES]>);

// SAFETY: written to by anybody, read by nobody.
unsafe impl Sync for Sink {}

static SINK: Sink = Sink(UnsafeCell::new([0; 2 * CHUNK_BYTES]));

// Where the thread's next note goes.
global_asm!(
    ".pushsection .tdata,\"awT\",@progbits",
    ".balign 8",
    ".globl unsnarl_next",
    ".type unsnarl_next,@object",
    ".size unsnarl_next,8",
    "unsnarl_next:",
    ".quad {sink}",
    ".popsection",
    sink = sym SINK,
);

/// The place of the calling thread's next note.
fn next() -> *mut u8 {
    let place;
    // SAFETY: reads the thread-local word above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_next@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) place,
            options(nostack, preserves_flags, readonly),
        );
    }
    place
}

fn set_next(place: *mut u8) {
    // SAFETY: writes the thread-local word above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_next@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) place,
            options(nostack, preserves_flags),
        );
    }
}

fn is_full(place: *mut u8) -> bool {
    (place as usize >> 8) as u8 >= FULL
}

/// Divides the region of the records.
pub fn set_up() {
    let base = SHARED.header.get() as usize;
    let first = (base + header().records_at as usize).next_multiple_of(CHUNK_BYTES);
    header().chunks_at.store((first - base) as u64, Release);
    find_vectors();
}

/// Begins to record the calling thread's path.
pub fn begin(this: &Thread) {
    if SHARED.mode.get() != Mode::Path {
        return;
    }
    let chunk = new_chunk(this, ChunkKind::Notes, null_mut());
    let scratch = threads::reserve(size_of::<Scratch>()).cast();
    this.path.scratch.set(scratch);
    this.path.notes.set(chunk);
    clear(chunk);
    set_next(first(chunk));
}

/// Ends the recording of the calling thread's path.
pub fn end() {
    set_next(sink());
}

/// Suspends the calling thread's path for a step that is not part of it: the handler of a signal, which may have come
/// between two instructions of a note. [`resume`] takes the returned address.
pub fn suspend() -> *mut u8 {
    let place = next();
    set_next(sink());
    place
}

/// Goes on with the path that [`suspend`] has left.
pub fn resume(place: *mut u8) {
    set_next(place);
}

fn sink() -> *mut u8 {
    let start = SINK.0.get() as usize;
    start.next_multiple_of(CHUNK_BYTES) as *mut u8
}

fn first(chunk: *mut Chunk) -> *mut u8 {
    (chunk as usize + CHUNK_HEADER_BYTES) as *mut u8
}

/// Clears the chunk. (By an instruction: filling would be a call of the library.)
fn clear(chunk: *mut Chunk) {
    // SAFETY: the thread's own chunk.
    unsafe {
        asm!(
            "rep stosb",
            inout("rdi") first(chunk) => _,
            inout("rcx") CHUNK_ROOM => _,
            in("al") mark::NOTHING,
            options(nostack, preserves_flags),
        );
    }
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

/// Appends a step of synchronization; steps that path mode leaves out go nowhere.
pub fn push(this: &Thread, record: Record) -> *mut Record {
    let is_step = matches!(record.kind, 10..=49) || matches!(record.kind, 63..=81);
    if !is_step || this.path.notes.get().is_null() {
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
        place.write(RawPathStep {
            order,
            record: Record { kind: 0, ..record },
        });
        compiler_fence(Release);
        (&raw mut (*place).record.kind).write_volatile(record.kind);
    }
    note_step(this);
    // SAFETY: as above.
    unsafe { &raw mut (*place).record }
}

fn next_step(this: &Thread) -> *mut RawPathStep {
    let path = &this.path;
    if path.steps.get().is_null() || path.count.get() == CHUNK_STEPS {
        path.steps
            .set(new_chunk(this, ChunkKind::Steps, path.steps.get()));
        path.count.set(0);
    }
    let count = path.count.replace(path.count.get() + 1);
    let first = path.steps.get() as usize + CHUNK_HEADER_BYTES;
    (first + count * size_of::<RawPathStep>()) as *mut RawPathStep
}

/// Notes a step of synchronization at this position of the path.
fn note_step(this: &Thread) {
    let place = next();
    let chunk = this.path.notes.get() as usize;
    if !(chunk..chunk + CHUNK_BYTES).contains(&(place as usize)) {
        return;
    }
    // SAFETY: within the thread's chunk: what is left when it counts as full is room enough.
    unsafe { place.write_volatile(mark::SYNC) };
    set_next(place.wrapping_add(1));
    if is_full(place) {
        full();
    }
}

/// Packs the notes of the thread's chunk, which is nearly full, and clears it.
extern "C" fn full() {
    let place = next();
    // The handler of a signal that comes meanwhile writes elsewhere.
    set_next(sink());
    let Some(this) = crate::state::this_thread() else {
        return;
    };
    let chunk = this.path.notes.get();
    if chunk.is_null() || place as usize & !(CHUNK_BYTES - 1) != chunk as usize {
        return;
    }
    unrecorded(this, || pack_notes(this, chunk, place));
    set_next(first(chunk));
}

/// Number of words of a unit.
const UNIT: usize = 4096;

/// Working memory of packing.
struct Scratch {
    table: LastOccurrences,
    unit: [u32; UNIT],
    count: usize,
    /// A unit that is packed: at most a number of two bytes for every word more than its words.
    packed: [u8; 6 * UNIT + 16],
}

fn pack_notes(this: &Thread, chunk: *mut Chunk, end: *mut u8) {
    let first = first(chunk);
    let bytes = end as usize - first as usize;
    // SAFETY: the thread's own chunk and memory, which nobody else writes to.
    let (notes, scratch) = unsafe {
        let notes = core::slice::from_raw_parts(first, bytes);
        (notes, &mut *this.path.scratch.get())
    };
    let mut units = 0;
    marks::words(notes, |word| {
        if let Some(place) = scratch.unit.get_mut(scratch.count) {
            *place = word;
        }
        scratch.count += 1;
        if scratch.count == UNIT {
            units += pack_unit(this, scratch);
        }
    });
    units += pack_unit(this, scratch);
    // Odd: the units hold what stands in the chunk. A process may end at any time, and all of it counts once.
    // SAFETY: as above.
    let used = unsafe { &(*chunk).used };
    used.fetch_add(2 * units + 1, Release);
    clear(chunk);
    used.fetch_sub(1, Release);
}

/// Packs the words that are there; returns the number of units.
fn pack_unit(this: &Thread, scratch: &mut Scratch) -> u32 {
    let count = core::mem::replace(&mut scratch.count, 0);
    if count == 0 {
        return 0;
    }
    let words = scratch.unit.get(..count).unwrap_or(&[]);
    let used = pack::pack_plain(words, &mut scratch.table, &mut scratch.packed);
    let mut rest = scratch.packed.get(..used).unwrap_or(&[]);
    while !rest.is_empty() {
        rest = append(this, rest);
    }
    1
}

/// Appends as much as there is room for; returns the rest.
fn append<'b>(this: &Thread, bytes: &'b [u8]) -> &'b [u8] {
    let path = &this.path;
    // SAFETY: null or the thread's own chunk.
    let newest = unsafe { path.packed.get().as_ref() };
    if newest.is_none_or(|chunk| chunk.used.load(Relaxed) as usize == CHUNK_ROOM) {
        path.packed
            .set(new_chunk(this, ChunkKind::Packed, path.packed.get()));
    }
    let chunk = path.packed.get();
    // SAFETY: as above; `used` is at most the room.
    let used = unsafe { &(*chunk).used };
    let at = used.load(Relaxed) as usize;
    let (now, later) = bytes.split_at(bytes.len().min(CHUNK_ROOM - at));
    // SAFETY: as above.
    unsafe {
        first(chunk)
            .add(at)
            .copy_from_nonoverlapping(now.as_ptr(), now.len())
    };
    used.store((at + now.len()) as u32, Release);
    later
}

/// Parts of the processor's state that are saved: the vector registers that the system has.
static VECTORS: AtomicU32 = AtomicU32::new(0);

fn find_vectors() {
    const STATES: u32 = 0xe7;
    const OSXSAVE: u32 = 1 << 27;
    let known = core::arch::x86_64::__cpuid(1).ecx;
    if known & OSXSAVE == 0 {
        return;
    }
    let states: u32;
    // SAFETY: the system has switched it on.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") states, out("edx") _, options(nomem, nostack))
    };
    VECTORS.store(states & STATES, Relaxed);
}

/// Entry that the program calls when its memory for notes is full: in the middle of a function, so all registers are
/// preserved.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unsnarl_path_full() {
    core::arch::naked_asm!(
        "pushfq",
        "cld",
        "push rax",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 3072",
        "and rsp, -64",
        "mov eax, dword ptr [rip + {vectors}]",
        "xor edx, edx",
        "test eax, eax",
        "jz 2f",
        "xor ecx, ecx",
        "mov qword ptr [rsp + 512], rcx",
        "mov qword ptr [rsp + 520], rcx",
        "mov qword ptr [rsp + 528], rcx",
        "mov qword ptr [rsp + 536], rcx",
        "mov qword ptr [rsp + 544], rcx",
        "mov qword ptr [rsp + 552], rcx",
        "mov qword ptr [rsp + 560], rcx",
        "mov qword ptr [rsp + 568], rcx",
        "xsave64 [rsp]",
        "call {full}",
        "mov eax, dword ptr [rip + {vectors}]",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "jmp 3f",
        "2:",
        "fxsave64 [rsp]",
        "call {full}",
        "fxrstor64 [rsp]",
        "3:",
        "mov rsp, rbp",
        "pop rbp",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "popfq",
        "ret",
        vectors = sym VECTORS,
        full = sym full,
    )
}

/// Initializer that begins the recording of a program built for path mode, which calls back from no constructor.
#[used]
#[unsafe(link_section = ".init_array.00099")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        crate::start::begin_path();
    }
    begin
};

const _: () = assert!(RecordKind::Lock as u8 == 10 && RecordKind::Yield as u8 == 63);
