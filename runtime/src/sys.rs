//! System calls as they are: the C library's wrappers would change the program's `errno`.

use core::{
    arch::asm,
    ffi::{c_int, c_long, c_void},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
};

/// Makes a system call; the result is what the kernel returns, errors as negative numbers.
///
/// # Safety
/// The arguments are what this system call wants.
#[inline(always)]
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the caller's; the kernel changes rax, rcx and r11 only.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Converts a result to the form of the C library's functions: -1 and `errno` for errors.
pub fn with_errno(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        crate::input::fail(-result as c_int);
        return -1;
    }
    result
}

/// Fresh memory of the runtime's own, all zero; `None` when there is none. Pages are used as they are touched.
pub fn memory(bytes: usize) -> Option<*mut c_void> {
    const PAGE: usize = 4096;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let place = NEXT.fetch_add(bytes.next_multiple_of(PAGE), Relaxed);
    map(place, bytes, flags, usize::MAX)
}

/// Maps a shared file from its beginning; `None` when that fails.
pub fn shared(descriptor: c_int, bytes: usize) -> Option<*mut c_void> {
    map(LOG, bytes, libc::MAP_SHARED, descriptor as usize)
}

/// Address of the log: far from the addresses that the loader and the kernel choose, so that its size, which differs
/// between a run and its repetition, moves nothing of the program's.
const LOG: usize = 0x1000_0000_0000;

/// Address of the next memory of the runtime's own, as far away.
static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);

/// Maps memory at this place, or where the kernel likes it when the place is taken.
fn map(place: usize, bytes: usize, flags: c_int, descriptor: usize) -> Option<*mut c_void> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let map = |place, flags: c_int| {
        let arguments = [place, bytes, protection, flags as usize, descriptor, 0];
        // SAFETY: a mapping that replaces none.
        let start = unsafe { call(libc::SYS_mmap, arguments) };
        (!(-4095..0).contains(&start)).then_some(start as *mut c_void)
    };
    map(place, flags | libc::MAP_FIXED_NOREPLACE).or_else(|| map(0, flags))
}

/// Sleeps while the word is 0, or until a signal.
pub fn futex_wait(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let place = core::ptr::from_ref(word) as usize;
    // SAFETY: the word is there for the time of the call.
    unsafe { call(libc::SYS_futex, [place, operation, 0, 0, 0, 0]) };
}

/// Wakes one thread that sleeps on the word.
pub fn futex_wake(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let place = core::ptr::from_ref(word) as usize;
    // SAFETY: the word is there for the time of the call.
    unsafe { call(libc::SYS_futex, [place, operation, 1, 0, 0, 0]) };
}

/// `poll` without changing `errno`; the descriptors' answers are filled in.
pub fn poll(descriptors: &mut [libc::pollfd], milliseconds: c_int) -> c_int {
    let (place, count) = (descriptors.as_mut_ptr() as usize, descriptors.len());
    // SAFETY: a valid array of this length.
    unsafe {
        call(
            libc::SYS_poll,
            [place, count, milliseconds as usize, 0, 0, 0],
        ) as c_int
    }
}

/// Sleeps in real time.
pub fn sleep(nanoseconds: u32) {
    let span = libc::timespec {
        tv_sec: 0,
        tv_nsec: i64::from(nanoseconds),
    };
    // SAFETY: a valid span.
    unsafe {
        call(
            libc::SYS_nanosleep,
            [&raw const span as usize, 0, 0, 0, 0, 0],
        )
    };
}

/// The kernel's number of this process.
pub fn process_id() -> i32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, [0; 6]) as i32 }
}

/// Ends the process at once.
pub fn exit(status: c_int) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Sends the calling thread a signal that it got: a signal that was sent does not come again by itself.
pub fn raise(signal: c_int) {
    // SAFETY: plain numbers.
    unsafe {
        let (process, thread) = (
            process_id() as usize,
            call(libc::SYS_gettid, [0; 6]) as usize,
        );
        call(
            libc::SYS_tgkill,
            [process, thread, signal as usize, 0, 0, 0],
        );
    }
}
