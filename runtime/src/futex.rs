//! `syscall`, called by the program itself, above all for `futex`: C++20's waits on atomics do that.
//! The kernel's queue is virtual, for a thread that slept there would keep the turn.

use crate::{
    access, blocking, choices, failure,
    identity::{self},
    input::{Answer, fail},
    mutex::ready,
    next::Next,
    polling, process, random, scheduler,
    state::{SHARED, Thread, Wait, controlled, live_threads, thread, unrecorded},
    sys, time,
};
use core::ffi::{c_int, c_long};
use unsnarl_trace::raw::RecordKind;

/// Any bit.
const ANY: u32 = u32::MAX;

/// The arguments of a `futex`, by the names of its manual.
struct Futex {
    word: usize,
    value: u32,
    /// A time-out, or a second count.
    timeout: usize,
    second: usize,
    third: u32,
}

const WAIT: c_int = 0;
const WAKE: c_int = 1;
const REQUEUE: c_int = 3;
const CMP_REQUEUE: c_int = 4;
const WAKE_OP: c_int = 5;
const WAIT_BITSET: c_int = 9;
const WAKE_BITSET: c_int = 10;

fn futex(this: &Thread, operation: c_int, of: &Futex, pc: u64) -> isize {
    // SAFETY: the kernel would read the word next; one that cannot be read faults at the program's call.
    unsafe { access::sample_for(this, of.word as *const u8, 4, pc) };
    match operation & libc::FUTEX_CMD_MASK {
        WAIT => wait(this, of, ANY, relative(of.timeout), pc),
        WAIT_BITSET => wait(this, of, of.third, absolute(of.timeout), pc),
        WAKE => wake(this, of, ANY, pc),
        WAKE_BITSET => wake(this, of, of.third, pc),
        REQUEUE => requeue(this, of, pc),
        CMP_REQUEUE if value_of(of.word) != of.third => fail(libc::EAGAIN) as isize,
        CMP_REQUEUE => requeue(this, of, pc),
        WAKE_OP => wake_op(this, of, pc),
        _ => failure::unsupported(c"futex with priority inheritance, called by hand"),
    }
}

fn value_of(word: usize) -> u32 {
    // SAFETY: the program's own word.
    unsafe { (word as *const u32).read_volatile() }
}

fn relative(span: usize) -> u64 {
    // SAFETY: the program's own argument.
    match unsafe { (span as *const libc::timespec).as_ref() } {
        Some(span) => {
            let span = span.tv_sec as u64 * 1_000_000_000 + span.tv_nsec as u64;
            SHARED.clock.get().saturating_add(span).max(1)
        }
        None => 0,
    }
}

fn absolute(until: usize) -> u64 {
    match until {
        0 => 0,
        // SAFETY: the program's own argument.
        until => unsafe { time::deadline(until as *const libc::timespec) },
    }
}

fn wait(this: &Thread, of: &Futex, bits: u32, deadline: u64, pc: u64) -> isize {
    let next = Next::unrecorded(RecordKind::AtomicRead, of.word);
    scheduler::decide(this, next);
    if value_of(of.word) != of.value {
        return fail(libc::EAGAIN) as isize;
    }
    this.futex_bits.set(bits);
    let next = Next::of(RecordKind::Yield, pc, of.word);
    match scheduler::block(this, next, Wait::Futex(of.word), deadline) {
        true => 0,
        false => fail(libc::ETIMEDOUT) as isize,
    }
}

/// The threads that sleep on the word and are woken by one of these bits.
fn sleepers(word: usize, bits: u32) -> impl Iterator<Item = u16> + Clone {
    let live = live_threads().iter().copied();
    live.filter(move |&number| {
        let other = thread(number);
        other.wait.get() == Wait::Futex(word) && other.futex_bits.get() & bits != 0
    })
}

/// One of the sleepers, if there is one: who it is, is a choice.
fn pick(word: usize, bits: u32) -> Option<&'static Thread> {
    let count = sleepers(word, bits).count();
    let number_of = |i: usize| sleepers(word, bits).nth(i).unwrap_or(0);
    (count > 0).then(|| thread(number_of(choices::pick_waiter(count, number_of))))
}

/// Wakes at most so many; returns how many.
fn wake_up(word: usize, bits: u32, most: u32) -> u32 {
    let mut woken = 0;
    while woken < most {
        let Some(sleeper) = pick(word, bits) else {
            break;
        };
        sleeper.wait.set(Wait::Nothing);
        sleeper.deadline.set(0);
        woken += 1;
    }
    woken
}

fn wake(this: &Thread, of: &Futex, bits: u32, pc: u64) -> isize {
    scheduler::decide(this, Next::of(RecordKind::Yield, pc, of.word));
    wake_up(of.word, bits, of.value) as isize
}

fn requeue(this: &Thread, of: &Futex, pc: u64) -> isize {
    scheduler::decide(this, Next::of(RecordKind::Yield, pc, of.word));
    let woken = wake_up(of.word, ANY, of.value);
    let mut moved = 0;
    while moved < of.timeout.min(u32::MAX as usize) {
        let Some(sleeper) = pick(of.word, ANY) else {
            break;
        };
        sleeper.wait.set(Wait::Futex(of.second));
        moved += 1;
    }
    woken as isize + moved as isize
}

/// Changes the second word and wakes by what it was.
fn wake_op(this: &Thread, of: &Futex, pc: u64) -> isize {
    scheduler::decide(this, Next::of(RecordKind::Yield, pc, of.second));
    let code = of.third;
    let (comparison, operand, against) = (code >> 24 & 15, code >> 12 & 0xfff, code & 0xfff);
    let operand = if code >> 31 != 0 {
        1 << (operand & 31)
    } else {
        operand
    };
    let before = value_of(of.second);
    let after = match code >> 28 & 7 {
        0 => operand,
        1 => before.wrapping_add(operand),
        2 => before | operand,
        3 => before & !operand,
        _ => before ^ operand,
    };
    // SAFETY: the program's own word, which the kernel would write.
    unsafe { (of.second as *mut u32).write_volatile(after) };
    access::log_written(this, of.second as *const u8, 4, pc);
    let (signed, against) = (before as i32, against as i32);
    let holds = match comparison {
        0 => signed == against,
        1 => signed != against,
        2 => signed < against,
        3 => signed <= against,
        4 => signed > against,
        _ => signed >= against,
    };
    let woken = wake_up(of.word, ANY, of.value);
    let more = if holds {
        wake_up(of.second, ANY, of.timeout as u32)
    } else {
        0
    };
    woken as isize + more as isize
}

/// `syscall`: number and arguments as they were given.
unsafe extern "C-unwind" fn on_syscall(given: *const [usize; 7], pc: u64) -> isize {
    // SAFETY: the entry below has put them there.
    let [number, a, b, c, d, e, f] = unsafe { *given };
    let plain = || {
        // SAFETY: the program's own call.
        sys::with_errno(unsafe { sys::call(number as c_long, [a, b, c, d, e, f]) })
    };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return plain();
    };
    // SAFETY: the program's own arguments, as the library's function of this name has them.
    unsafe {
        match number as c_long {
            libc::SYS_futex => {
                let of = Futex {
                    word: a,
                    value: c as u32,
                    timeout: d,
                    second: e,
                    third: f as u32,
                };
                futex(this, b as c_int, &of, pc)
            }
            libc::SYS_gettid | libc::SYS_getpid | libc::SYS_getppid => {
                scheduler::decide(this, Next::NOTHING);
                identity::exchange(this, || Answer::of(plain() as i64)) as isize
            }
            libc::SYS_getrandom => random::on_getrandom(a as *mut u8, b, c as u32, pc),
            libc::SYS_read => blocking::on_read(a as c_int, b as *mut u8, c, pc),
            libc::SYS_write => blocking::on_write(a as c_int, b as *mut u8, c, pc),
            libc::SYS_poll => polling::on_poll(a as *mut libc::pollfd, b, c as c_int, pc) as isize,
            libc::SYS_sched_yield => time::yield_now(pc) as isize,
            libc::SYS_nanosleep => {
                time::on_nanosleep(a as *const libc::timespec, b as *mut libc::timespec, pc)
                    as isize
            }
            libc::SYS_clock_gettime => {
                time::on_clock_gettime(a as c_int, b as *mut libc::timespec, pc) as isize
            }
            libc::SYS_exit_group => process::exit_now(a as c_int, pc),
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_exit => failure::unsupported(
                c"threads made or ended by system calls of its own (clone, exit)",
            ),
            other => {
                scheduler::decide(this, Next::NOTHING);
                let arguments = identity::with_real(other, [a, b, c, d, e, f]);
                unrecorded(this, || sys::with_errno(sys::call(other, arguments)))
            }
        }
    }
}

core::arch::global_asm!(
    ".pushsection .text.syscall,\"ax\",@progbits",
    ".weak syscall",
    ".type syscall,@function",
    "syscall:",
    ".cfi_startproc",
    "mov rax, qword ptr [rsp]",
    "mov r10, qword ptr [rsp + 8]",
    "push r10",
    "push r9",
    "push r8",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    ".cfi_adjust_cfa_offset 56",
    "mov rdi, rsp",
    "mov rsi, rax",
    "call {target}",
    "add rsp, 56",
    ".cfi_adjust_cfa_offset -56",
    "ret",
    ".cfi_endproc",
    ".size syscall,.-syscall",
    ".popsection",
    target = sym on_syscall,
);
