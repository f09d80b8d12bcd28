//! The heap. In controlled mode it is made the same in every repetition: new blocks are zero, freed
//! ones are filled with a pattern and kept for a while (`quarantine`), so that a use after free and a second
//! free end the run rather than meet a neighbour's data.

use crate::{
    access, choices,
    entry::{entry, passing},
    failure, freed, log, memory, modules,
    next::Next,
    quarantine::{Held, KEPT_UP_TO},
    scheduler,
    state::{Thread, controlled, recording_memory, unrecorded},
};
use core::{
    ffi::{c_int, c_void},
    ptr::null_mut,
};
use unsnarl_trace::raw::{End, FREED, RecordKind};

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

/// Number of bytes of a freed block that are filled at most.
const FILLED: usize = 64 << 10;
/// Alignment of the library's blocks.
const ALIGNMENT: usize = 16;
/// The calling thread and the place of the allocation: for `new` and `delete` the place noted there.
fn ready(pc: u64) -> Option<(&'static Thread, u64)> {
    let this = recording_memory()?;
    if modules::is_system(pc) {
        return None;
    }
    log::resolve(this);
    let noted = this.alloc_pc.replace(0);
    Some((this, if noted != 0 { noted } else { pc }))
}

fn note_block(this: &Thread, block: *mut c_void, bytes: usize, pc: u64) {
    if !block.is_null() {
        log::sync(this, RecordKind::Alloc, pc, block as usize, bytes as u64);
    }
}

/// Returns whether an allocation is refused to try the program without memory; noted as a block at address 0.
#[inline(always)]
fn is_refused(this: &Thread, bytes: usize, pc: u64) -> bool {
    let refused = controlled() && choices::memory_is_gone();
    if refused {
        log::sync(this, RecordKind::Alloc, pc, 0, bytes as u64);
        // SAFETY: the calling thread's own errno.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
    }
    refused
}

/// A block that the library has allocated for the program.
pub fn adopt(block: *mut c_void, bytes: usize, pc: u64) {
    if let Some((this, pc)) = ready(pc) {
        note_block(this, block, bytes, pc);
    }
}

/// `malloc`, for other functions that return a new block.
pub fn allocate(bytes: usize, pc: u64) -> *mut c_void {
    let Some((this, pc)) = ready(pc) else {
        // SAFETY: plain allocation.
        return unsafe { __libc_malloc(bytes) };
    };
    if is_refused(this, bytes, pc) {
        return null_mut();
    }
    // SAFETY: plain allocation.
    let block = unrecorded(this, || unsafe {
        if controlled() {
            __libc_calloc(1, bytes)
        } else {
            __libc_malloc(bytes)
        }
    });
    note_block(this, block, bytes, pc);
    block
}

unsafe extern "C" fn on_malloc(bytes: usize, pc: u64) -> *mut c_void {
    allocate(bytes, pc)
}

unsafe extern "C" fn on_calloc(count: usize, bytes: usize, pc: u64) -> *mut c_void {
    let (by, all) = (ready(pc), count.saturating_mul(bytes));
    if by.is_some_and(|(this, pc)| is_refused(this, all, pc)) {
        return null_mut();
    }
    // SAFETY: plain allocation.
    let block = unsafe { __libc_calloc(count, bytes) };
    if let Some((this, pc)) = by {
        note_block(this, block, all, pc);
    }
    block
}

unsafe extern "C" fn on_memalign(alignment: usize, bytes: usize, pc: u64) -> *mut c_void {
    let by = ready(pc);
    if by.is_some_and(|(this, pc)| is_refused(this, bytes, pc)) {
        return null_mut();
    }
    // SAFETY: plain allocation.
    let block = unsafe { __libc_memalign(alignment, bytes) };
    if let Some((this, pc)) = by {
        if controlled() && !block.is_null() {
            // SAFETY: a fresh block of this size.
            unsafe { memory::fill(block.cast(), 0, bytes) };
        }
        note_block(this, block, bytes, pc);
    }
    block
}

unsafe extern "C" fn on_posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
    pc: u64,
) -> c_int {
    if !alignment.is_power_of_two() || alignment < size_of::<usize>() {
        return libc::EINVAL;
    }
    // SAFETY: plain allocation.
    let block = unsafe { on_memalign(alignment, bytes, pc) };
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program's own argument.
    unsafe { *place = block };
    0
}

/// Ends the run unless `block` is a block of the heap that has not been freed.
fn check_freed(this: &Thread, block: usize, pc: u64) {
    let end = match freed::held(block) {
        Held::Block => End::DoubleFree,
        Held::Nothing if is_block(this, block, pc) => return,
        Held::Nothing | Held::Inside => End::InvalidFree,
    };
    failure::misuse(this, end, pc, block);
}

/// Returns whether the C library could have returned this address: by its position and by the header in front of it,
/// of which the library itself checks less. Memory that is not mapped faults here.
fn is_block(this: &Thread, block: usize, pc: u64) -> bool {
    /// Bits of the word in front of a block: the previous block is in use; a mapping of its own.
    const BEFORE_IN_USE: u64 = 1;
    const MAPPED: u64 = 2;
    const FLAGS: u64 = 7;
    const LEAST: u64 = 32;
    if !block.is_multiple_of(ALIGNMENT) || is_on_stack(this, block) || modules::is_loaded_at(block)
    {
        return false;
    }
    // SAFETY: the library accesses the block's header, just below it.
    let word = |at: usize| unsafe { access::sample_for(this, (at - 8) as *const u8, 8, pc) };
    let header = word(block);
    let bytes = header & !FLAGS;
    if bytes < LEAST || !bytes.is_multiple_of(ALIGNMENT as u64) {
        return false;
    }
    // Behind a block lies the next one's header; a larger distance may be a wrong one and lead astray.
    let has_next = header & MAPPED == 0 && bytes <= KEPT_UP_TO as u64;
    !has_next || word(block + bytes as usize) & BEFORE_IN_USE != 0
}

/// Returns whether the address lies on the calling thread's own stack.
fn is_on_stack(this: &Thread, address: usize) -> bool {
    // SAFETY: every thread that runs has a row in the log, which is never unmapped.
    let row = unsafe { this.row.get().as_ref() };
    row.is_some_and(|row| (row.stack_low..row.stack_high).contains(&(address as u64)))
}

/// Gives a block back, by way of the quarantine.
///
/// # Safety
/// As `free`.
unsafe fn give_back(this: &Thread, block: *mut c_void, pc: u64) {
    check_freed(this, block as usize, pc);
    log::sync(this, RecordKind::Free, pc, block as usize, 0);
    // SAFETY: a block of the library that is not free.
    unsafe {
        let bytes = malloc_usable_size(block);
        let free = |gone: usize| unrecorded(this, || __libc_free(gone as *mut c_void));
        if bytes > KEPT_UP_TO {
            return free(block as usize);
        }
        memory::fill(block.cast(), c_int::from(FREED), bytes.min(FILLED));
        freed::keep(block as usize, bytes, free);
    }
}

/// `free`, for blocks that [`allocate`] returned.
///
/// # Safety
/// As `free`.
pub unsafe fn release(block: *mut c_void, pc: u64) {
    // SAFETY: the caller's.
    unsafe { on_free(block, pc) };
}

unsafe extern "C" fn on_free(block: *mut c_void, pc: u64) {
    if block.is_null() {
        return;
    }
    match ready(pc) {
        Some((this, pc)) if controlled() => {
            if !modules::is_cpp_library(pc) {
                scheduler::before_access(
                    this,
                    Next::of(RecordKind::Free, pc, block as usize),
                    true,
                );
            }
            // SAFETY: the program's own call.
            unsafe { give_back(this, block, pc) };
        }
        this => {
            if let Some((this, pc)) = this {
                log::sync(this, RecordKind::Free, pc, block as usize, 0);
            }
            // SAFETY: the program's own call.
            unsafe { __libc_free(block) };
        }
    }
}

/// `realloc`, for other functions that grow a block of the program's.
pub fn reallocate(block: *mut c_void, bytes: usize, pc: u64) -> *mut c_void {
    // SAFETY: the program handed the block over.
    unsafe { on_realloc(block, bytes, pc) }
}

unsafe extern "C" fn on_realloc(block: *mut c_void, bytes: usize, pc: u64) -> *mut c_void {
    let Some((this, pc)) = ready(pc) else {
        // SAFETY: the program's own call.
        return unsafe { __libc_realloc(block, bytes) };
    };
    if block.is_null() {
        return allocate(bytes, pc);
    }
    // SAFETY: the program's own call.
    unsafe {
        if controlled() {
            return move_block(this, block, bytes, pc);
        }
        log::sync(this, RecordKind::Free, pc, block as usize, 0);
        let new = unrecorded(this, || __libc_realloc(block, bytes));
        note_block(this, new, bytes, pc);
        new
    }
}

/// A `realloc` that always moves: whether the library could have grown the block in place differs from run to run.
///
/// # Safety
/// As `realloc` with a block that is not null.
unsafe fn move_block(this: &Thread, block: *mut c_void, bytes: usize, pc: u64) -> *mut c_void {
    scheduler::before_access(this, Next::of(RecordKind::Free, pc, block as usize), true);
    check_freed(this, block as usize, pc);
    if bytes == 0 {
        // SAFETY: the caller's.
        unsafe { give_back(this, block, pc) };
        return null_mut();
    }
    let new = allocate(bytes, pc);
    if !new.is_null() {
        // SAFETY: two blocks of at least these sizes.
        unsafe {
            let kept = malloc_usable_size(block).min(bytes);
            memory::copy_up(new.cast(), block.cast(), kept);
            give_back(this, block, pc);
        }
    }
    new
}

/// Notes the place at which the program calls `new` or `delete`, for the `malloc` or `free` inside the library's.
unsafe extern "C" fn note_site(pc: u64) {
    if let Some(this) = recording_memory() {
        this.alloc_pc.set(pc);
    }
}

passing! { note_site;
    _Znwm, find_new;
    _Znam, find_new_array;
    _ZnwmRKSt9nothrow_t, find_new_nothrow;
    _ZnamRKSt9nothrow_t, find_new_array_nothrow;
    _ZnwmSt11align_val_t, find_new_aligned;
    _ZnamSt11align_val_t, find_new_array_aligned;
    _ZdlPv, find_delete;
    _ZdaPv, find_delete_array;
    _ZdlPvm, find_delete_sized;
    _ZdaPvm, find_delete_array_sized;
    _ZdlPvSt11align_val_t, find_delete_aligned;
    _ZdlPvmSt11align_val_t, find_delete_sized_aligned;
}

entry! {
    malloc, "rsi" => on_malloc;
    calloc, "rdx" => on_calloc;
    realloc, "rdx" => on_realloc;
    free, "rsi" => on_free;
    memalign, "rdx" => on_memalign;
    aligned_alloc, "rdx" => on_memalign;
    posix_memalign, "rcx" => on_posix_memalign;
}
