//! Status of files as the program asks for it: given back in a replay, since times and inode numbers differ each time
//! that a file is made, and the rest has changed when somebody has touched it.

use crate::{
    access,
    entry::entry,
    input::{self, Answer, Parts, exchange_alike, part},
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{Thread, controlled, unrecorded},
};
use core::{
    ffi::{c_char, c_int},
    mem::{offset_of, size_of},
};
use unsnarl_trace::raw::{Call, Input};

/// A field of the kernel's structure: offset and length.
type Field = (usize, usize);

macro_rules! fields {
    ($of:ty: $($field:ident as $type:ty),*) => {
        [$((offset_of!($of, $field), size_of::<$type>())),*]
    };
}

/// Fields whose difference means that a file has changed. Times, inode numbers and counts of blocks differ for each
/// file that a run makes for itself.
const TOLD: [Field; 4] =
    fields!(libc::stat: st_mode as u32, st_uid as u32, st_gid as u32, st_size as i64);
const TOLD_EXTENDED: [Field; 4] =
    fields!(libc::statx: stx_mode as u16, stx_uid as u32, stx_gid as u32, stx_size as u64);

/// A question about a file.
struct Question {
    /// Null where a descriptor names the file.
    path: *const c_char,
    /// Memory for the answer; null where the result is the whole answer.
    to: *mut u8,
    bytes: usize,
    told: &'static [Field],
    pc: u64,
}

impl Question {
    fn status(path: *const c_char, to: *mut libc::stat, pc: u64) -> Question {
        Question {
            path,
            to: to.cast(),
            bytes: size_of::<libc::stat>(),
            told: &TOLD,
            pc,
        }
    }

    fn existence(path: *const c_char, pc: u64) -> Question {
        Question {
            path,
            to: core::ptr::null_mut(),
            bytes: 0,
            told: &[],
            pc,
        }
    }

    fn ask(&self, call: impl FnOnce() -> c_int) -> c_int {
        let Some(this) = ready(self.pc) else {
            return call();
        };
        if !self.path.is_null() {
            // SAFETY: the library would read the path next.
            unsafe { access::sample_for(this, self.path.cast(), 1, self.pc) };
        }
        if controlled() {
            scheduler::count_idle(this, Next::NOTHING);
        }
        let status = self.exchange(this, call);
        if status == 0 && self.bytes > 0 {
            access::log_written(this, self.to, self.bytes, self.pc);
        }
        status
    }

    fn exchange(&self, this: &Thread, call: impl FnOnce() -> c_int) -> c_int {
        let room = part(self.to, self.bytes);
        let make = || {
            let answer = Answer::of(i64::from(unrecorded(this, call)));
            let bytes = if answer.result == 0 { self.bytes } else { 0 };
            Answer { bytes, ..answer }
        };
        let alike = |entry: &'static Input, answer: Answer| self.is_alike(entry, answer);
        exchange_alike(
            this,
            Call::Status,
            Parts::new(&room, 1),
            self.pc,
            alike,
            make,
        )
        .result as c_int
    }

    fn is_alike(&self, entry: &'static Input, answer: Answer) -> bool {
        let recorded = input::bytes_of(entry);
        let is_same = |(at, length): &Field| {
            (*at..at + length).all(|i| {
                // SAFETY: the call has just filled these bytes.
                let now = unsafe { self.to.add(i).read_volatile() };
                recorded.get(i).is_none_or(|before| *before == now)
            })
        };
        entry.result == answer.result && (answer.bytes == 0 || self.told.iter().all(is_same))
    }
}

macro_rules! by_path {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C-unwind" fn $function(
            path: *const c_char,
            to: *mut libc::stat,
            pc: u64,
        ) -> c_int {
            let library = real!($name, fn(*const c_char, *mut libc::stat) -> c_int);
            // SAFETY: the program's own call.
            Question::status(path, to, pc).ask(|| unsafe { library(path, to) })
        }
    )*};
}

by_path! {
    on_stat, "stat";
    on_lstat, "lstat";
}

unsafe extern "C-unwind" fn on_fstat(fd: c_int, to: *mut libc::stat, pc: u64) -> c_int {
    let library = real!("fstat", fn(c_int, *mut libc::stat) -> c_int);
    // SAFETY: the program's own call.
    Question::status(core::ptr::null(), to, pc).ask(|| unsafe { library(fd, to) })
}

unsafe extern "C-unwind" fn on_fstatat(
    folder: c_int,
    path: *const c_char,
    to: *mut libc::stat,
    flags: c_int,
    pc: u64,
) -> c_int {
    let library = real!(
        "fstatat",
        fn(c_int, *const c_char, *mut libc::stat, c_int) -> c_int
    );
    // SAFETY: the program's own call.
    Question::status(path, to, pc).ask(|| unsafe { library(folder, path, to, flags) })
}

unsafe extern "C-unwind" fn on_statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: u32,
    to: *mut libc::statx,
    pc: u64,
) -> c_int {
    let library = real!(
        "statx",
        fn(c_int, *const c_char, c_int, u32, *mut libc::statx) -> c_int
    );
    let question = Question {
        path,
        to: to.cast(),
        bytes: size_of::<libc::statx>(),
        told: &TOLD_EXTENDED,
        pc,
    };
    // SAFETY: the program's own call.
    question.ask(|| unsafe { library(folder, path, flags, mask, to) })
}

macro_rules! existence {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C-unwind" fn $function(path: *const c_char, wish: c_int, pc: u64) -> c_int {
            let library = real!($name, fn(*const c_char, c_int) -> c_int);
            // SAFETY: the program's own call.
            Question::existence(path, pc).ask(|| unsafe { library(path, wish) })
        }
    )*};
}

existence! {
    on_access, "access";
    on_euidaccess, "euidaccess";
}

unsafe extern "C-unwind" fn on_faccessat(
    folder: c_int,
    path: *const c_char,
    wish: c_int,
    flags: c_int,
    pc: u64,
) -> c_int {
    let library = real!("faccessat", fn(c_int, *const c_char, c_int, c_int) -> c_int);
    // SAFETY: the program's own call.
    Question::existence(path, pc).ask(|| unsafe { library(folder, path, wish, flags) })
}

entry! {
    stat, "rdx" => on_stat;
    stat64, "rdx" => on_stat;
    lstat, "rdx" => on_lstat;
    lstat64, "rdx" => on_lstat;
    fstat, "rdx" => on_fstat;
    fstat64, "rdx" => on_fstat;
    fstatat, "r8" => on_fstatat;
    fstatat64, "r8" => on_fstatat;
    statx, "r9" => on_statx;
    access, "rdx" => on_access;
    euidaccess, "rdx" => on_euidaccess;
    eaccess, "rdx" => on_euidaccess;
    faccessat, "r8" => on_faccessat;
}
