//! Mappings and the program break: blocks of memory as those of the heap are. Announced writes are looked
//! at before their memory goes or changes.

use crate::{
    access,
    entry::{entry, entry_on_stack},
    log, modules,
    next::Next,
    real::real,
    scheduler,
    state::{Thread, controlled, recording_memory},
    sys,
};
use core::ffi::{c_int, c_void};
use unsnarl_trace::raw::{self, RecordKind};

/// The calling thread when the program itself calls; what it has announced is looked at in any case.
fn ready(pc: u64) -> Option<&'static Thread> {
    let this = recording_memory()?;
    log::resolve(this);
    (!modules::is_system(pc)).then_some(this)
}

/// Like [`ready`], for a change that other threads may see.
fn ready_to_change(kind: RecordKind, addr: usize, pc: u64) -> Option<&'static Thread> {
    let this = ready(pc)?;
    if controlled() {
        scheduler::before_access(this, Next::of(kind, pc, addr), true);
    }
    Some(this)
}

fn note_new(this: &Thread, start: usize, bytes: usize, pc: u64) {
    let kind = RecordKind::Alloc;
    log::push(this, kind, 0, raw::MAPPED, pc, start as u64, bytes as u64);
}

fn note_gone(this: &Thread, start: usize, bytes: usize, pc: u64) {
    let kind = RecordKind::Free;
    log::push(this, kind, 0, raw::MAPPED, pc, start as u64, bytes as u64);
}

unsafe extern "C" fn on_mmap(
    addr: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    descriptor: c_int,
    offset: i64,
    pc: u64,
) -> isize {
    let this = ready(pc);
    let words = [protection, flags, descriptor].map(|word| word as usize);
    let [protection, flags, descriptor] = words;
    let arguments = [addr, bytes, protection, flags, descriptor, offset as usize];
    // SAFETY: the program's own call.
    let start = sys::with_errno(unsafe { sys::call(libc::SYS_mmap, arguments) });
    if let Some(this) = this.filter(|_| start != -1) {
        note_new(this, start as usize, bytes, pc);
    }
    start
}

unsafe extern "C" fn on_munmap(addr: usize, bytes: usize, pc: u64) -> c_int {
    let this = ready_to_change(RecordKind::Free, addr, pc);
    // SAFETY: the program's own call.
    let result = unsafe { sys::call(libc::SYS_munmap, [addr, bytes, 0, 0, 0, 0]) };
    if let Some(this) = this.filter(|_| result == 0) {
        note_gone(this, addr, bytes, pc);
    }
    sys::with_errno(result) as c_int
}

unsafe extern "C" fn on_mremap(
    addr: usize,
    bytes: usize,
    wanted: usize,
    flags: c_int,
    new: usize,
    pc: u64,
) -> isize {
    let this = ready_to_change(RecordKind::Free, addr, pc);
    let arguments = [addr, bytes, wanted, flags as usize, new, 0];
    // SAFETY: the program's own call.
    let start = sys::with_errno(unsafe { sys::call(libc::SYS_mremap, arguments) });
    if let Some(this) = this.filter(|_| start != -1) {
        note_gone(this, addr, bytes, pc);
        note_new(this, start as usize, wanted, pc);
    }
    start
}

unsafe extern "C" fn on_madvise(addr: usize, bytes: usize, advice: c_int, pc: u64) -> c_int {
    let changes = matches!(advice, libc::MADV_DONTNEED | libc::MADV_REMOVE);
    let this = match changes {
        true => ready_to_change(RecordKind::Write, addr, pc),
        false => ready(pc),
    };
    let arguments = [addr, bytes, advice as usize, 0, 0, 0];
    // SAFETY: the program's own call.
    let result = unsafe { sys::call(libc::SYS_madvise, arguments) };
    if let Some(this) = this.filter(|_| changes && result == 0 && bytes > 0) {
        access::log_written(this, addr as *const u8, bytes, pc);
    }
    sys::with_errno(result) as c_int
}

unsafe extern "C" fn on_mprotect(addr: usize, bytes: usize, protection: c_int, pc: u64) -> c_int {
    ready(pc);
    let arguments = [addr, bytes, protection as usize, 0, 0, 0];
    // SAFETY: the program's own call.
    sys::with_errno(unsafe { sys::call(libc::SYS_mprotect, arguments) }) as c_int
}

unsafe extern "C" fn on_sbrk(change: isize, pc: u64) -> *mut c_void {
    let this = ready(pc);
    let library = real!("sbrk", fn(isize) -> *mut c_void);
    // SAFETY: the program's own call.
    let before = unsafe { library(change) };
    let Some(this) = this.filter(|_| before as isize != -1) else {
        return before;
    };
    let bytes = change.unsigned_abs();
    if change > 0 {
        note_new(this, before as usize, bytes, pc);
    } else if change < 0 {
        note_gone(this, (before as usize).wrapping_sub(bytes), bytes, pc);
    }
    before
}

unsafe extern "C" fn on_brk(end: *mut c_void, pc: u64) -> c_int {
    ready(pc);
    let library = real!("brk", fn(*mut c_void) -> c_int);
    // SAFETY: the program's own call.
    unsafe { library(end) }
}

unsafe extern "C" fn on_shmdt(addr: *const c_void, pc: u64) -> c_int {
    ready(pc);
    let library = real!("shmdt", fn(*const c_void) -> c_int);
    // SAFETY: the program's own call.
    unsafe { library(addr) }
}

entry! {
    munmap, "rdx" => on_munmap;
    mremap, "r9" => on_mremap;
    madvise, "rcx" => on_madvise;
    mprotect, "rcx" => on_mprotect;
    sbrk, "rsi" => on_sbrk;
    brk, "rsi" => on_brk;
    shmdt, "rsi" => on_shmdt;
}

entry_on_stack! {
    mmap => on_mmap;
    mmap64 => on_mmap;
}
