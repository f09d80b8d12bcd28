//! Streams of the C library. Their locks are virtual: a thread that waits for input inside one gives
//! the turn away, and one that waits for another thread's `flockfile` does not take it along. Input
//! comes through [`fill`], where it is recorded.

use crate::{
    access,
    blocking::until_ready,
    descriptors::{self, Source},
    entry::entry,
    files, heap,
    input::{self, Answer, Parts, exchange, part},
    memory, modules,
    mutex::{self, ready},
    next::Next,
    objects, outside, random,
    real::real,
    scheduler,
    state::{Thread, Wait, controlled, unrecorded},
};
use core::ffi::{c_char, c_int};
use libc::POLLIN;
use unsnarl_trace::raw::{Call, LockType, RecordKind};

/// The beginning of the C library's `FILE`, which its own headers make public.
#[repr(C)]
pub struct Stream {
    flags: c_int,
    read_at: *mut u8,
    read_end: *mut u8,
    read_base: *mut u8,
    write_base: *mut u8,
    write_at: *mut u8,
    write_end: *mut u8,
    buffer: *mut u8,
    buffer_end: *mut u8,
}

/// End of the input, or an error.
pub const END: c_int = -1;
/// Bit of `flags`: the end of the file was met.
const END_SEEN: c_int = 0x10;
/// Number of bytes that a pipe takes without waiting.
const PIECE: usize = 4096;

impl Stream {
    fn buffered(&self) -> usize {
        (self.read_end as usize).saturating_sub(self.read_at as usize)
    }

    /// The next byte that has been read already.
    pub fn next_buffered(&self) -> Option<u8> {
        // SAFETY: what is between the two pointers is buffered.
        (self.buffered() > 0).then(|| unsafe { *self.read_at })
    }

    /// Position of the stream in the bytes read, their address, and their number.
    pub fn place(&self) -> (usize, *mut u8, usize) {
        let base = self.read_base as usize;
        let at = (self.read_at as usize).saturating_sub(base);
        let filled = (self.read_end as usize).saturating_sub(base);
        (at, self.read_base, filled)
    }

    /// Replaces the bytes that came by the recorded ones, and sets the position to `at` behind the first.
    ///
    /// # Safety
    /// The program's own stream: its buffer is as large as it says.
    pub unsafe fn replace(&mut self, recorded: &[u8], at: i64) {
        let room = (self.buffer_end as usize).saturating_sub(self.buffer as usize);
        let bytes = recorded.len().min(room);
        // SAFETY: the caller's.
        unsafe {
            memory::copy_up(self.buffer, recorded.as_ptr(), bytes);
            self.read_base = self.buffer;
            self.read_at = self.buffer.add(bytes.min(at as usize));
            self.read_end = self.buffer.add(bytes);
        }
        match bytes {
            0 => self.flags |= END_SEEN,
            _ => self.flags &= !END_SEEN,
        }
    }

    /// Sets the position to `at` behind the first byte that was read; returns `false` if that lies outside of the
    /// buffer, or if there are bytes to be written first.
    ///
    /// # Safety
    /// As [`Stream::replace`].
    pub unsafe fn go_within_buffer(&mut self, at: i64) -> bool {
        let (_, base, filled) = self.place();
        let can =
            self.write_at == self.write_base && usize::try_from(at).is_ok_and(|at| at <= filled);
        if can {
            // SAFETY: within the buffer.
            self.read_at = unsafe { base.add(at as usize) };
            self.flags &= !END_SEEN;
        }
        can
    }
}

/// The stream's descriptor; -1 where it has none.
pub fn descriptor(stream: *mut Stream) -> c_int {
    // SAFETY: the program's own stream; sets `errno` for those without a descriptor.
    let error = input::errno();
    let fd = unsafe { libc::fileno(stream.cast()) };
    input::fail(error);
    fd
}

/// Takes the stream's virtual lock for one operation, after a decision.
fn enter(this: &Thread, stream: *mut Stream, next: Next) {
    let lock = stream as usize;
    scheduler::decide(this, next);
    if is_mine(this, lock) {
        let depth = &objects::at(lock).depth;
        return depth.set(depth.get() + 1);
    }
    while !objects::at(lock).is_free_for_writing() {
        scheduler::block(this, next, Wait::Lock(lock), 0);
    }
    let object = objects::at(lock);
    object.owner.set(u32::from(this.number.get()) + 1);
    object.depth.set(1);
}

fn is_mine(this: &Thread, lock: usize) -> bool {
    objects::at(lock).owner.get() == u32::from(this.number.get()) + 1
}

fn leave(lock: usize) {
    let object = objects::at(lock);
    let depth = object.depth.get().saturating_sub(1);
    object.depth.set(depth);
    if depth == 0 {
        object.owner.set(0);
    }
}

/// Runs an operation on a stream with its virtual lock held.
pub fn locked<T>(
    this: &Thread,
    stream: *mut Stream,
    next: Next,
    operation: impl FnOnce() -> T,
) -> T {
    enter(this, stream, next);
    let result = operation();
    leave(stream as usize);
    result
}

/// Waits for the stream's virtual lock before an operation that the library does in one go.
pub fn before(this: &Thread, stream: usize, next: Next) {
    scheduler::decide(this, next);
    while !is_mine(this, stream) && !objects::at(stream).is_free_for_writing() {
        scheduler::block(this, next, Wait::Lock(stream), 0);
    }
}

/// The calling thread, ready for an operation on a stream that is done here.
pub fn ready_for(stream: *mut Stream, pc: u64) -> Option<&'static Thread> {
    let this = ready(pc).filter(|_| controlled())?;
    // SAFETY: the library would access the stream next.
    unsafe { access::sample_for(this, stream.cast(), 1, pc) };
    Some(this)
}

/// Fills an empty buffer; false at the end of the input or on an error.
fn fill(this: &Thread, stream: *mut Stream, pc: u64) -> bool {
    let library = real!("__underflow", fn(*mut Stream) -> c_int);
    let fd = descriptor(stream);
    // SAFETY: the program's own stream, whose buffer is empty.
    let call = || unrecorded(this, || unsafe { library(stream) });
    if fd < 0 {
        return call() != END;
    }
    let before = until_ready(this, fd, POLLIN, Next::of(RecordKind::Yield, pc, 0));
    let given = input::next(this);
    let make = || {
        call();
        // SAFETY: the program's own stream.
        let (at, bytes) = unsafe { ((*stream).read_at, (*stream).buffered()) };
        if descriptors::source(fd) == Source::Random {
            random::fill(at, bytes);
        }
        Answer {
            bytes,
            ..input::whole(bytes as i64)
        }
    };
    let answer = before.then(make);
    // SAFETY: as above.
    let room = part(unsafe { (*stream).read_at }, answer.bytes);
    let parts = Parts::new(&room, 1);
    match given {
        Some(entry) if input::differs(this, entry, answer, parts, pc) => {
            // SAFETY: as above.
            unsafe { (*stream).replace(input::bytes_of(entry), 0) };
        }
        None if !outside::is_foreign(fd) => return answer.bytes > 0,
        _ => {}
    }
    // SAFETY: as above.
    let (at, bytes) = unsafe { ((*stream).read_at, (*stream).buffered()) };
    let room = part(at, bytes);
    let now = Answer {
        bytes,
        ..input::whole(bytes as i64)
    };
    input::note(this, Call::Read, now, Parts::new(&room, 1));
    bytes > 0
}

/// The next byte, or [`END`]. The stream's lock is held.
pub fn next_byte(this: &Thread, stream: *mut Stream, pc: u64) -> c_int {
    // SAFETY: the program's own stream; what is between the two pointers is buffered.
    unsafe {
        if (*stream).buffered() == 0 && !fill(this, stream, pc) {
            return END;
        }
        let byte = *(*stream).read_at;
        (*stream).read_at = (*stream).read_at.add(1);
        c_int::from(byte)
    }
}

/// Copies what is buffered, at most `most` bytes and to the end of a line that ends with `last`.
fn take(stream: *mut Stream, to: *mut u8, most: usize, last: c_int) -> (usize, bool) {
    let mut taken = 0;
    let mut ended = false;
    // SAFETY: the program's own stream and buffer.
    unsafe {
        let stream = &mut *stream;
        while taken < most && stream.buffered() > 0 && !ended {
            let byte = *stream.read_at;
            to.add(taken).write_volatile(byte);
            stream.read_at = stream.read_at.add(1);
            taken += 1;
            ended = c_int::from(byte) == last;
        }
    }
    (taken, ended)
}

/// Reads up to `most` bytes, at most to the end of the line.
fn read_bytes(
    this: &Thread,
    stream: *mut Stream,
    to: *mut u8,
    most: usize,
    last: c_int,
    pc: u64,
) -> usize {
    let mut done = 0;
    while done < most {
        // SAFETY: the program's own stream.
        if unsafe { (*stream).buffered() } == 0 && !fill(this, stream, pc) {
            break;
        }
        // SAFETY: within the program's buffer.
        let (taken, ended) = take(stream, unsafe { to.add(done) }, most - done, last);
        done += taken;
        if ended {
            break;
        }
    }
    done
}

unsafe extern "C-unwind" fn on_getc(stream: *mut Stream, pc: u64) -> c_int {
    let library = real!("getc", fn(*mut Stream) -> c_int);
    match ready_for(stream, pc) {
        Some(this) => locked(this, stream, Next::NOTHING, || next_byte(this, stream, pc)),
        // SAFETY: the program's own call.
        None => unsafe { library(stream) },
    }
}

unsafe extern "C" {
    #[link_name = "stdin"]
    static STDIN: *mut Stream;
    #[link_name = "stdout"]
    static STDOUT: *mut Stream;
}

/// The library's `stdin`.
pub fn standard_input() -> *mut Stream {
    // SAFETY: the library's own stream.
    unsafe { STDIN }
}

/// The library's `stdout`.
pub fn standard_output() -> *mut Stream {
    // SAFETY: the library's own stream.
    unsafe { STDOUT }
}

unsafe extern "C-unwind" fn on_getchar(pc: u64) -> c_int {
    // SAFETY: the library's own stream.
    unsafe { on_getc(STDIN, pc) }
}

/// The function that an inlined `getc` calls when the buffer is empty.
unsafe extern "C-unwind" fn on_uflow(stream: *mut Stream, pc: u64) -> c_int {
    let library = real!("__uflow", fn(*mut Stream) -> c_int);
    match ready_for(stream, pc).filter(|_| !modules::is_system(pc)) {
        Some(this) => locked(this, stream, Next::NOTHING, || next_byte(this, stream, pc)),
        // SAFETY: the program's own call.
        None => unsafe { library(stream) },
    }
}

unsafe extern "C-unwind" fn on_fgets(
    to: *mut u8,
    room: c_int,
    stream: *mut Stream,
    pc: u64,
) -> *mut u8 {
    let library = real!("fgets", fn(*mut u8, c_int, *mut Stream) -> *mut u8);
    let Some(this) = ready_for(stream, pc).filter(|_| room > 1) else {
        // SAFETY: the program's own call.
        return unsafe { library(to, room, stream) };
    };
    let most = room as usize - 1;
    let next = Next::range(true, pc, to, most);
    let done = locked(this, stream, next, || {
        read_bytes(this, stream, to, most, c_int::from(b'\n'), pc)
    });
    if done == 0 {
        return core::ptr::null_mut();
    }
    // SAFETY: room was left for it.
    unsafe { *to.add(done) = 0 };
    access::log_written(this, to, done + 1, pc);
    to
}

unsafe extern "C-unwind" fn on_fgets_chk(
    to: *mut u8,
    size: usize,
    room: c_int,
    stream: *mut Stream,
    pc: u64,
) -> *mut u8 {
    crate::blocking::check(room.max(0) as usize, size);
    // SAFETY: the program's own call.
    unsafe { on_fgets(to, room, stream, pc) }
}

unsafe extern "C-unwind" fn on_fread(
    to: *mut u8,
    size: usize,
    count: usize,
    stream: *mut Stream,
    pc: u64,
) -> usize {
    let library = real!("fread", fn(*mut u8, usize, usize, *mut Stream) -> usize);
    let wanted = size.saturating_mul(count);
    let Some(this) = ready_for(stream, pc).filter(|_| wanted > 0) else {
        // SAFETY: the program's own call.
        return unsafe { library(to, size, count, stream) };
    };
    let next = Next::range(true, pc, to, wanted);
    let done = locked(this, stream, next, || {
        read_bytes(this, stream, to, wanted, END, pc)
    });
    if done > 0 {
        access::log_written(this, to, done, pc);
    }
    done / size
}

unsafe extern "C-unwind" fn on_fread_chk(
    to: *mut u8,
    room: usize,
    size: usize,
    count: usize,
    stream: *mut Stream,
    pc: u64,
) -> usize {
    crate::blocking::check(size.saturating_mul(count), room);
    // SAFETY: the program's own call.
    unsafe { on_fread(to, size, count, stream, pc) }
}

unsafe extern "C-unwind" fn on_getdelim(
    line: *mut *mut u8,
    room: *mut usize,
    last: c_int,
    stream: *mut Stream,
    pc: u64,
) -> isize {
    let library = real!(
        "getdelim",
        fn(*mut *mut u8, *mut usize, c_int, *mut Stream) -> isize
    );
    let Some(this) = ready_for(stream, pc).filter(|_| !line.is_null() && !room.is_null()) else {
        // SAFETY: the program's own call.
        return unsafe { library(line, room, last, stream) };
    };
    let done = locked(this, stream, Next::NOTHING, || {
        // SAFETY: the program's own places.
        read_line(this, unsafe { (&mut *line, &mut *room) }, last, stream, pc)
    });
    if done > 0 {
        // SAFETY: the line has just been filled.
        access::log_written(this, unsafe { *line }, done as usize + 1, pc);
    }
    done
}

/// Reads a line into a block that grows.
fn read_line(
    this: &Thread,
    (line, room): (&mut *mut u8, &mut usize),
    last: c_int,
    stream: *mut Stream,
    pc: u64,
) -> isize {
    let mut done = 0;
    loop {
        if line.is_null() || *room < done + 2 {
            let wanted = (done + 2).max(120).max(done * 2);
            let grown = heap::reallocate(line.cast(), wanted, pc).cast::<u8>();
            if grown.is_null() {
                return -1;
            }
            (*line, *room) = (grown, wanted);
        }
        // SAFETY: there is room for one more byte and the NUL.
        let place = unsafe { line.add(done) };
        let read = read_bytes(this, stream, place, *room - done - 1, last, pc);
        done += read;
        // SAFETY: within the block.
        let ended = read == 0 || unsafe { c_int::from(*line.add(done - 1)) } == last;
        if ended {
            break;
        }
    }
    if done == 0 {
        return -1;
    }
    // SAFETY: room was left for it.
    unsafe { *line.add(done) = 0 };
    done as isize
}

unsafe extern "C-unwind" fn on_getline(
    line: *mut *mut u8,
    room: *mut usize,
    stream: *mut Stream,
    pc: u64,
) -> isize {
    // SAFETY: the program's own call.
    unsafe { on_getdelim(line, room, c_int::from(b'\n'), stream, pc) }
}

/// Logs what an output reads, and waits for the stream.
fn print(stream: *mut Stream, from: *const u8, bytes: usize, pc: u64) -> Option<&'static Thread> {
    let this = ready(pc)?;
    if controlled() {
        before(this, stream as usize, Next::range(false, pc, from, bytes));
    }
    if bytes > 0 {
        // SAFETY: the program hands these bytes to the library, which reads them next.
        unsafe { access::log_read(this, from, bytes, pc) };
    }
    Some(this)
}

/// Makes a call on a stream; it is not recorded.
fn make<T>(this: Option<&Thread>, call: impl FnOnce() -> T) -> T {
    match this {
        Some(this) => unrecorded(this, call),
        None => call(),
    }
}

unsafe extern "C-unwind" fn on_fwrite(
    from: *const u8,
    size: usize,
    count: usize,
    stream: *mut Stream,
    pc: u64,
) -> usize {
    let library = real!("fwrite", fn(*const u8, usize, usize, *mut Stream) -> usize);
    let bytes = size.saturating_mul(count);
    let this = print(stream, from, bytes, pc);
    if bytes <= PIECE || this.is_none() || !controlled() {
        // SAFETY: the program's own call.
        return make(this, || unsafe { library(from, size, count, stream) });
    }
    let mut done = 0;
    while done < bytes {
        let piece = (bytes - done).min(PIECE);
        // SAFETY: a piece of what the program writes.
        let written = make(this, || unsafe {
            library(from.add(done), 1, piece, stream)
        });
        done += written;
        if written < piece {
            break;
        }
    }
    done / size
}

unsafe extern "C-unwind" fn on_fputs(text: *const c_char, stream: *mut Stream, pc: u64) -> c_int {
    let library = real!("fputs", fn(*const c_char, *mut Stream) -> c_int);
    let this = print(stream, text.cast(), text_bytes(text, pc), pc);
    // SAFETY: the program's own call.
    make(this, || unsafe { library(text, stream) })
}

/// Bytes of a text with its NUL, when that is of interest.
fn text_bytes(text: *const c_char, pc: u64) -> usize {
    match ready(pc) {
        Some(this) => {
            // SAFETY: the library would read it next.
            unsafe {
                access::sample_for(this, text.cast(), 1, pc);
                memory::length(text.cast()) + 1
            }
        }
        None => 0,
    }
}

unsafe extern "C-unwind" fn on_puts(text: *const c_char, pc: u64) -> c_int {
    let library = real!("puts", fn(*const c_char) -> c_int);
    // SAFETY: the library's own stream.
    let this = print(unsafe { STDOUT }, text.cast(), text_bytes(text, pc), pc);
    // SAFETY: the program's own call.
    make(this, || unsafe { library(text) })
}

unsafe extern "C-unwind" fn on_putc(byte: c_int, stream: *mut Stream, pc: u64) -> c_int {
    let library = real!("putc", fn(c_int, *mut Stream) -> c_int);
    let this = print(stream, core::ptr::null(), 0, pc);
    // SAFETY: the program's own call.
    make(this, || unsafe { library(byte, stream) })
}

unsafe extern "C-unwind" fn on_putchar(byte: c_int, pc: u64) -> c_int {
    // SAFETY: the library's own stream.
    unsafe { on_putc(byte, STDOUT, pc) }
}

unsafe extern "C-unwind" fn on_fflush(stream: *mut Stream, pc: u64) -> c_int {
    let library = real!("fflush", fn(*mut Stream) -> c_int);
    let this = print(stream, core::ptr::null(), 0, pc);
    // SAFETY: the program's own call.
    make(this, || unsafe { library(stream) })
}

unsafe extern "C-unwind" fn on_flockfile(stream: *mut Stream, pc: u64) {
    let library = real!("flockfile", fn(*mut Stream) -> ());
    let Some(this) = ready_for(stream, pc) else {
        // SAFETY: the program's own call.
        return unsafe { library(stream) };
    };
    let lock = stream as usize;
    if is_mine(this, lock) {
        let depth = &objects::at(lock).depth;
        return depth.set(depth.get() + 1);
    }
    mutex::acquire(this, lock, 0, pc, LockType::Mutex);
}

unsafe extern "C-unwind" fn on_ftrylockfile(stream: *mut Stream, pc: u64) -> c_int {
    let library = real!("ftrylockfile", fn(*mut Stream) -> c_int);
    let Some(this) = ready_for(stream, pc) else {
        // SAFETY: the program's own call.
        return unsafe { library(stream) };
    };
    let lock = stream as usize;
    scheduler::count_idle(this, Next::of(RecordKind::Lock, pc, lock));
    if is_mine(this, lock) {
        let depth = &objects::at(lock).depth;
        depth.set(depth.get() + 1);
        return 0;
    }
    if objects::at(lock).is_free_for_writing() {
        mutex::take(this, lock, pc, LockType::Mutex, mutex::TRIED);
        return 0;
    }
    -1
}

unsafe extern "C-unwind" fn on_funlockfile(stream: *mut Stream, pc: u64) {
    let library = real!("funlockfile", fn(*mut Stream) -> ());
    let Some(this) = ready_for(stream, pc) else {
        // SAFETY: the program's own call.
        return unsafe { library(stream) };
    };
    let (lock, depth) = (stream as usize, &objects::at(stream as usize).depth);
    if !is_mine(this, lock) {
        return;
    }
    if depth.get() > 1 {
        return depth.set(depth.get() - 1);
    }
    scheduler::decide(this, Next::of(RecordKind::Unlock, pc, lock));
    mutex::release(this, lock, pc);
}

unsafe extern "C-unwind" fn on_fopen(
    path: *const c_char,
    mode: *const c_char,
    pc: u64,
) -> *mut Stream {
    let library = real!("fopen", fn(*const c_char, *const c_char) -> *mut Stream);
    // SAFETY: the program's own call.
    let call = || unsafe { library(path, mode) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    scheduler::decide(this, Next::NOTHING);
    let opened = core::cell::Cell::new(core::ptr::null_mut::<Stream>());
    let make = || {
        opened.set(unrecorded(this, call));
        Answer::of(if opened.get().is_null() { -1 } else { 0 })
    };
    let result = exchange(this, Call::Open, Parts::NONE, pc, || true, make).result;
    match (result, opened.get().is_null()) {
        (0, true) => {
            let open = real!("fdopen", fn(c_int, *const c_char) -> *mut Stream);
            // SAFETY: an empty file of its own.
            unrecorded(this, || unsafe { open(files::empty_file(), mode) })
        }
        (0, false) => opened.get(),
        _ => core::ptr::null_mut(),
    }
}

entry! {
    getc, "rsi" => on_getc;
    fgetc, "rsi" => on_getc;
    _IO_getc, "rsi" => on_getc;
    getc_unlocked, "rsi" => on_getc;
    fgetc_unlocked, "rsi" => on_getc;
    getchar, "rdi" => on_getchar;
    getchar_unlocked, "rdi" => on_getchar;
    __uflow, "rsi" => on_uflow;
    fgets, "rcx" => on_fgets;
    fgets_unlocked, "rcx" => on_fgets;
    __fgets_chk, "r8" => on_fgets_chk;
    __fgets_unlocked_chk, "r8" => on_fgets_chk;
    fread, "r8" => on_fread;
    fread_unlocked, "r8" => on_fread;
    __fread_chk, "r9" => on_fread_chk;
    __fread_unlocked_chk, "r9" => on_fread_chk;
    getdelim, "r8" => on_getdelim;
    __getdelim, "r8" => on_getdelim;
    getline, "rcx" => on_getline;
    fwrite, "r8" => on_fwrite;
    fwrite_unlocked, "r8" => on_fwrite;
    fputs, "rdx" => on_fputs;
    fputs_unlocked, "rdx" => on_fputs;
    puts, "rsi" => on_puts;
    putc, "rdx" => on_putc;
    fputc, "rdx" => on_putc;
    putc_unlocked, "rdx" => on_putc;
    fputc_unlocked, "rdx" => on_putc;
    putchar, "rsi" => on_putchar;
    putchar_unlocked, "rsi" => on_putchar;
    fflush, "rsi" => on_fflush;
    flockfile, "rsi" => on_flockfile;
    ftrylockfile, "rsi" => on_ftrylockfile;
    funlockfile, "rsi" => on_funlockfile;
    fopen, "rdx" => on_fopen;
    fopen64, "rdx" => on_fopen;
}
