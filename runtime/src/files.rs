//! Files: opening them, and locks on them.

use crate::{
    access,
    entry::entry,
    input::{self, Answer, Parts, exchange},
    mutex::ready,
    next::Next,
    outside, polling,
    real::real,
    scheduler,
    state::{Thread, Wait, controlled, unrecorded},
    sys, threads,
};
use core::{
    cell::Cell,
    ffi::{c_char, c_int},
};
use unsnarl_trace::raw::{Call, RecordKind};

/// Returns whether it is a FIFO, which to open may mean a wait for the other end.
fn is_fifo(folder: c_int, path: *const c_char) -> bool {
    // SAFETY: the program's own path; an unreadable one is an error of the kernel's.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let place = &raw mut status as usize;
        let arguments = [folder as usize, path as usize, place, 0, 0, 0];
        let asked = sys::call(libc::SYS_newfstatat, arguments);
        asked == 0 && status.st_mode & libc::S_IFMT == libc::S_IFIFO
    }
}

/// Opens a file. A replay whose file is gone goes on with an empty one: the bytes read from it are given back too.
fn open_file(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    pc: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(this) = ready(pc) else { return call() };
    // SAFETY: the library would read the path next.
    unsafe { access::sample_for(this, path.cast(), 1, pc) };
    if !controlled() {
        return unrecorded(this, call);
    }
    let waits = flags & libc::O_NONBLOCK == 0 && is_fifo(folder, path);
    let opened = Cell::new(-1);
    let make = || {
        let fd = if waits {
            outside::without_turn(this, Next::of(RecordKind::Yield, pc, 0), call)
        } else {
            scheduler::decide(this, Next::NOTHING);
            unrecorded(this, call)
        };
        opened.set(fd);
        // Which number it has is not from outside.
        Answer::of(i64::from(fd.clamp(-1, 0)))
    };
    let result = exchange(this, Call::Open, Parts::NONE, pc, || true, make);
    threads::act_on_cancel(this);
    match (result.result, opened.get()) {
        (0, fd @ 0..) => fd,
        (0, _) => empty_file(),
        (_, fd @ 0..) => {
            close(fd);
            input::fail(result.error)
        }
        _ => -1,
    }
}

/// An empty file in place of one that is gone.
pub fn empty_file() -> c_int {
    // SAFETY: makes a file in memory.
    let made = unsafe {
        let name = c"unsnarl-gone".as_ptr() as usize;
        sys::call(libc::SYS_memfd_create, [name, 0, 0, 0, 0, 0])
    };
    sys::with_errno(made) as c_int
}

fn close(fd: c_int) {
    // SAFETY: a descriptor that the program does not know.
    unsafe { sys::call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

unsafe extern "C-unwind" fn on_open(
    path: *const c_char,
    flags: c_int,
    mode: u32,
    pc: u64,
) -> c_int {
    let library = real!("open", fn(*const c_char, c_int, u32) -> c_int);
    // SAFETY: the program's own call.
    open_file(libc::AT_FDCWD, path, flags, pc, || unsafe {
        library(path, flags, mode)
    })
}

unsafe extern "C-unwind" fn on_openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: u32,
    pc: u64,
) -> c_int {
    let library = real!("openat", fn(c_int, *const c_char, c_int, u32) -> c_int);
    // SAFETY: the program's own call.
    open_file(folder, path, flags, pc, || unsafe {
        library(folder, path, flags, mode)
    })
}

unsafe extern "C-unwind" fn on_open_2(path: *const c_char, flags: c_int, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_open(path, flags, 0, pc) }
}

unsafe extern "C-unwind" fn on_openat_2(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { on_openat(folder, path, flags, 0, pc) }
}

unsafe extern "C-unwind" fn on_creat(path: *const c_char, mode: u32, pc: u64) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        on_open(
            path,
            libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC,
            mode,
            pc,
        )
    }
}

/// The call that asks for a file lock without waiting.
#[derive(Clone, Copy)]
enum LockQuestion {
    /// `flock`.
    Whole(c_int),
    /// `fcntl`, with the command that does not wait and its argument.
    Region(c_int, usize),
}

/// A file lock that a thread waits for. It is taken as soon as it is available, as the kernel would do.
pub struct Attempt {
    fd: c_int,
    question: LockQuestion,
    /// The kernel's last answer.
    answer: Cell<isize>,
}

/// Asks for the lock again, unless it was obtained before.
pub fn try_again(attempt: usize) -> bool {
    // SAFETY: on the stack of a thread that waits for it.
    let attempt = unsafe { &*(attempt as *const Attempt) };
    attempt.is_settled() || attempt.ask()
}

impl Attempt {
    fn is_settled(&self) -> bool {
        let error = -self.answer.get() as c_int;
        error != libc::EAGAIN && error != libc::EACCES
    }

    fn ask(&self) -> bool {
        let fd = self.fd as usize;
        let (number, arguments) = match self.question {
            LockQuestion::Whole(operation) => {
                (libc::SYS_flock, [fd, operation as usize, 0, 0, 0, 0])
            }
            LockQuestion::Region(command, lock) => {
                (libc::SYS_fcntl, [fd, command as usize, lock, 0, 0, 0])
            }
        };
        // SAFETY: the program's own call, without the wait.
        self.answer.set(unsafe { sys::call(number, arguments) });
        self.is_settled()
    }
}

fn lock(this: &Thread, fd: c_int, question: LockQuestion, pc: u64) -> c_int {
    let attempt = Attempt {
        fd,
        question,
        answer: Cell::new(-(libc::EAGAIN as isize)),
    };
    let next = Next::of(RecordKind::Yield, pc, 0);
    let wish = Wait::FileLock(core::ptr::from_ref(&attempt) as usize);
    scheduler::block(this, next, wish, 0);
    threads::act_on_cancel(this);
    sys::with_errno(attempt.answer.get()) as c_int
}

unsafe extern "C-unwind" fn on_flock(fd: c_int, operation: c_int, pc: u64) -> c_int {
    let library = real!("flock", fn(c_int, c_int) -> c_int);
    match ready(pc).filter(|_| controlled()) {
        Some(this) if operation & (libc::LOCK_NB | libc::LOCK_UN) == 0 => {
            lock(this, fd, LockQuestion::Whole(operation | libc::LOCK_NB), pc)
        }
        this => {
            if let Some(this) = this {
                scheduler::count_idle(this, Next::NOTHING);
            }
            // SAFETY: the program's own call.
            unsafe { library(fd, operation) }
        }
    }
}

unsafe extern "C-unwind" fn on_fcntl(fd: c_int, command: c_int, argument: usize, pc: u64) -> c_int {
    const OFD_SETLK: c_int = 37;
    const OFD_SETLKW: c_int = 38;
    let library = real!("fcntl", fn(c_int, c_int, usize) -> c_int);
    match (ready(pc).filter(|_| controlled()), command) {
        (Some(this), libc::F_SETLKW) => {
            lock(this, fd, LockQuestion::Region(libc::F_SETLK, argument), pc)
        }
        (Some(this), OFD_SETLKW) => lock(this, fd, LockQuestion::Region(OFD_SETLK, argument), pc),
        // SAFETY: the program's own call.
        _ => unsafe { library(fd, command, argument) },
    }
}

unsafe extern "C-unwind" fn on_lockf(fd: c_int, command: c_int, bytes: i64, pc: u64) -> c_int {
    let library = real!("lockf", fn(c_int, c_int, i64) -> c_int);
    match ready(pc).filter(|_| controlled()) {
        Some(this) if command == libc::F_LOCK => {
            // SAFETY: zero is a valid `flock`.
            let mut region: libc::flock = unsafe { core::mem::zeroed() };
            region.l_type = libc::F_WRLCK as i16;
            region.l_whence = libc::SEEK_CUR as i16;
            region.l_len = bytes;
            let place = &raw const region as usize;
            lock(this, fd, LockQuestion::Region(libc::F_SETLK, place), pc)
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(fd, command, bytes) },
    }
}

unsafe extern "C-unwind" fn on_close_range(first: u32, last: u32, flags: c_int, pc: u64) -> c_int {
    let library = real!("close_range", fn(u32, u32, c_int) -> c_int);
    if let Some(this) = ready(pc).filter(|_| controlled()) {
        scheduler::decide(this, Next::NOTHING);
        (first..=last.min(first.saturating_add(1 << 16)))
            .for_each(|fd| polling::forget(fd as c_int));
    }
    // SAFETY: the program's own call.
    unsafe { library(first, last, flags) }
}

entry! {
    open, "rcx" => on_open;
    open64, "rcx" => on_open;
    __open_2, "rdx" => on_open_2;
    __open64_2, "rdx" => on_open_2;
    openat, "r8" => on_openat;
    openat64, "r8" => on_openat;
    __openat_2, "rcx" => on_openat_2;
    __openat64_2, "rcx" => on_openat_2;
    creat, "rdx" => on_creat;
    creat64, "rdx" => on_creat;
    flock, "rdx" => on_flock;
    fcntl, "rcx" => on_fcntl;
    fcntl64, "rcx" => on_fcntl;
    lockf, "rcx" => on_lockf;
    lockf64, "rcx" => on_lockf;
    close_range, "rcx" => on_close_range;
}
