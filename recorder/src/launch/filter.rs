//! The system calls that the kernel asks about while runs are made side by side, as a program for the kernel.
//!
//! They are those that change what others can find: files, names of sockets and of shared memory, locks, other processes.
//! All other calls either act on things that belong to the process alone, or look at things without changing them.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long,
    sock_filter,
};
use std::mem::offset_of;

/// Effect of a call that others could notice.
#[derive(Clone, Copy)]
pub(super) enum Reason {
    /// Opens the file whose path is this argument, and could write to it.
    Opens(usize),
    /// Gives a socket an address.
    TakesAddress,
    /// Connects a socket, or sends to an address.
    Connects,
    /// Sends a message that may have an address.
    SendsMessage,
    /// Sends a signal.
    Signals,
    /// Something that is never harmless.
    Other(&'static str),
}

/// Condition under which the kernel asks about a call.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// One of these bits is set in the argument.
    Bits(usize, i32),
    /// None of these bits is.
    NoBits(usize, i32),
    /// The argument is not zero.
    NotZero(usize),
    /// The argument is one of these.
    OneOf(usize, &'static [i32]),
    /// Never: the call fails as one that the kernel does not know.
    Unknown,
}

const FILES: &str = "the program changes names or properties of files";
const LOCKS: &str = "the program locks files";
const NAMED: &str = "the program shares memory, semaphores or queues by a name";
const PROCESSES: &str = "the program starts other processes";
const UNSEEN: &str = "the program makes system calls in a way that cannot be watched";

/// To write, or to make a file. What has no name (`O_TMPFILE`) is opened for writing, too.
const WRITES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
const LOCKING: [i32; 6] = [
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_SETLEASE,
    libc::F_NOTIFY,
];
/// A thread, or a copy that the server makes for the recorder. Programs get threads by `clone`, since the arguments of
/// `clone3` cannot be seen here: the C library asks for the older call where the newer one is not known.
const OWN: i32 = libc::CLONE_THREAD | libc::CLONE_PARENT;

const RULES: &[(c_long, When, Reason)] = &[
    (libc::SYS_open, When::Bits(1, WRITES), Reason::Opens(0)),
    (libc::SYS_openat, When::Bits(2, WRITES), Reason::Opens(1)),
    (libc::SYS_openat2, When::Always, Reason::Opens(1)),
    (libc::SYS_creat, When::Always, Reason::Opens(0)),
    (
        libc::SYS_open_by_handle_at,
        When::Bits(2, WRITES),
        Reason::Other(FILES),
    ),
    (libc::SYS_truncate, When::Always, Reason::Opens(0)),
    (libc::SYS_mkdir, When::Always, Reason::Other(FILES)),
    (libc::SYS_mkdirat, When::Always, Reason::Other(FILES)),
    (libc::SYS_mknod, When::Always, Reason::Other(FILES)),
    (libc::SYS_mknodat, When::Always, Reason::Other(FILES)),
    (libc::SYS_rmdir, When::Always, Reason::Other(FILES)),
    (libc::SYS_unlink, When::Always, Reason::Other(FILES)),
    (libc::SYS_unlinkat, When::Always, Reason::Other(FILES)),
    (libc::SYS_rename, When::Always, Reason::Other(FILES)),
    (libc::SYS_renameat, When::Always, Reason::Other(FILES)),
    (libc::SYS_renameat2, When::Always, Reason::Other(FILES)),
    (libc::SYS_link, When::Always, Reason::Other(FILES)),
    (libc::SYS_linkat, When::Always, Reason::Other(FILES)),
    (libc::SYS_symlink, When::Always, Reason::Other(FILES)),
    (libc::SYS_symlinkat, When::Always, Reason::Other(FILES)),
    (libc::SYS_chmod, When::Always, Reason::Other(FILES)),
    (libc::SYS_fchmod, When::Always, Reason::Other(FILES)),
    (libc::SYS_fchmodat, When::Always, Reason::Other(FILES)),
    (libc::SYS_fchmodat2, When::Always, Reason::Other(FILES)),
    (libc::SYS_chown, When::Always, Reason::Other(FILES)),
    (libc::SYS_lchown, When::Always, Reason::Other(FILES)),
    (libc::SYS_fchown, When::Always, Reason::Other(FILES)),
    (libc::SYS_fchownat, When::Always, Reason::Other(FILES)),
    (libc::SYS_utime, When::Always, Reason::Other(FILES)),
    (libc::SYS_utimes, When::Always, Reason::Other(FILES)),
    (libc::SYS_futimesat, When::Always, Reason::Other(FILES)),
    (libc::SYS_utimensat, When::Always, Reason::Other(FILES)),
    (libc::SYS_setxattr, When::Always, Reason::Other(FILES)),
    (libc::SYS_lsetxattr, When::Always, Reason::Other(FILES)),
    (libc::SYS_fsetxattr, When::Always, Reason::Other(FILES)),
    (libc::SYS_removexattr, When::Always, Reason::Other(FILES)),
    (libc::SYS_lremovexattr, When::Always, Reason::Other(FILES)),
    (libc::SYS_fremovexattr, When::Always, Reason::Other(FILES)),
    (libc::SYS_mount, When::Always, Reason::Other(FILES)),
    (libc::SYS_umount2, When::Always, Reason::Other(FILES)),
    (libc::SYS_flock, When::Always, Reason::Other(LOCKS)),
    (
        libc::SYS_fcntl,
        When::OneOf(1, &LOCKING),
        Reason::Other(LOCKS),
    ),
    (libc::SYS_shmget, When::NotZero(0), Reason::Other(NAMED)),
    (libc::SYS_semget, When::NotZero(0), Reason::Other(NAMED)),
    (libc::SYS_msgget, When::NotZero(0), Reason::Other(NAMED)),
    (libc::SYS_mq_open, When::Always, Reason::Other(NAMED)),
    (libc::SYS_mq_unlink, When::Always, Reason::Other(NAMED)),
    (libc::SYS_bind, When::Always, Reason::TakesAddress),
    (libc::SYS_connect, When::Always, Reason::Connects),
    (
        libc::SYS_sendto,
        When::NotZero(4),
        Reason::Other("the program sends messages to an address"),
    ),
    // The server hands over the gate itself at descriptor 0.
    (libc::SYS_sendmsg, When::NotZero(0), Reason::SendsMessage),
    (
        libc::SYS_sendmmsg,
        When::Always,
        Reason::Other("the program sends messages to an address"),
    ),
    // Signal 0 only asks.
    (libc::SYS_kill, When::NotZero(1), Reason::Signals),
    (
        libc::SYS_pidfd_send_signal,
        When::Always,
        Reason::Other("the program sends a signal to another process"),
    ),
    (
        libc::SYS_clone,
        When::NoBits(0, OWN),
        Reason::Other(PROCESSES),
    ),
    (libc::SYS_clone3, When::Unknown, Reason::Other(PROCESSES)),
    (libc::SYS_fork, When::Always, Reason::Other(PROCESSES)),
    (libc::SYS_vfork, When::Always, Reason::Other(PROCESSES)),
    (libc::SYS_execve, When::Always, Reason::Other(PROCESSES)),
    (libc::SYS_execveat, When::Always, Reason::Other(PROCESSES)),
    (libc::SYS_ptrace, When::Always, Reason::Other(PROCESSES)),
    (
        libc::SYS_io_uring_setup,
        When::Always,
        Reason::Other(UNSEEN),
    ),
];

/// Returns the effect of the call with this number that others could notice.
pub(super) fn reason_of(number: i32) -> Reason {
    let mut rules = RULES.iter();
    let rule = rules.find(|(call, ..)| *call == c_long::from(number));
    rule.map_or(Reason::Other(UNSEEN), |(.., reason)| *reason)
}

/// Numbers of calls from here on belong to another way of calling the kernel.
const OTHER_CALLS: u32 = 0x4000_0000;
/// As the kernel names the machine (`AUDIT_ARCH_X86_64`).
const X86_64: u32 = 0xc000_003e;

const ASK: sock_filter = end(libc::SECCOMP_RET_USER_NOTIF);
const ALLOW: sock_filter = end(libc::SECCOMP_RET_ALLOW);
const UNKNOWN: sock_filter = end(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);

/// The kernel's program.
pub(super) fn program() -> Vec<sock_filter> {
    let mut program = vec![
        load(offset_of!(libc::seccomp_data, arch)),
        jump(BPF_JEQ, X86_64, 1, 0),
        ASK,
        load(offset_of!(libc::seccomp_data, nr)),
        jump(BPF_JGE, OTHER_CALLS, 0, 1),
        ASK,
    ];
    for (number, when, _) in RULES {
        let answer = answer(*when);
        program.push(jump(BPF_JEQ, *number as u32, 0, answer.len() as u8));
        program.extend(answer);
    }
    program.push(ALLOW);
    program
}

/// The part that ends the program for one call.
fn answer(when: When) -> Vec<sock_filter> {
    match when {
        When::Always => vec![ASK],
        When::Unknown => vec![UNKNOWN],
        When::Bits(at, bits) => vec![low(at), jump(BPF_JSET, bits as u32, 0, 1), ASK, ALLOW],
        When::NoBits(at, bits) => vec![low(at), jump(BPF_JSET, bits as u32, 1, 0), ASK, ALLOW],
        When::NotZero(at) => vec![
            low(at),
            jump(BPF_JEQ, 0, 0, 2),
            high(at),
            jump(BPF_JEQ, 0, 1, 0),
            ASK,
            ALLOW,
        ],
        When::OneOf(at, values) => {
            let mut part = vec![low(at)];
            let left = (1..=values.len() as u8).rev();
            let looks = values.iter().zip(left);
            part.extend(looks.map(|(value, left)| jump(BPF_JEQ, *value as u32, left, 0)));
            part.extend([ALLOW, ASK]);
            part
        }
    }
}

fn low(argument: usize) -> sock_filter {
    load(offset_of!(libc::seccomp_data, args) + argument * size_of::<u64>())
}

fn high(argument: usize) -> sock_filter {
    load(offset_of!(libc::seccomp_data, args) + argument * size_of::<u64>() + size_of::<u32>())
}

fn load(at: usize) -> sock_filter {
    statement((BPF_LD | BPF_W | BPF_ABS) as u16, at as u32)
}

const fn end(with: u32) -> sock_filter {
    statement((BPF_RET | BPF_K) as u16, with)
}

const fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Passes over so many statements where the comparison holds, and so many where it does not.
fn jump(comparison: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter {
        code: (BPF_JMP | comparison | BPF_K) as u16,
        jt,
        jf,
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the kernel's answer to a call: the value that the filter returns.
    fn run(number: c_long, arguments: [u64; 6]) -> u32 {
        let words = |at: u32| match at {
            0 => number as u32,
            4 => X86_64,
            at => {
                let (place, half) = ((at as usize - 16) / 8, at % 8);
                (arguments[place] >> (8 * half)) as u32
            }
        };
        let (program, mut at, mut value) = (program(), 0, 0);
        loop {
            let statement = program[at];
            at += 1;
            let code = u32::from(statement.code);
            if code == BPF_RET | BPF_K {
                return statement.k;
            }
            if code == BPF_LD | BPF_W | BPF_ABS {
                value = words(statement.k);
                continue;
            }
            let holds = match code & 0xf0 {
                BPF_JEQ => value == statement.k,
                BPF_JGE => value >= statement.k,
                BPF_JSET => value & statement.k != 0,
                _ => unreachable!(),
            };
            at += usize::from(if holds { statement.jt } else { statement.jf });
        }
    }

    fn asks(number: c_long, arguments: &[u64]) -> bool {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        run(number, all) == libc::SECCOMP_RET_USER_NOTIF
    }

    #[test]
    fn what_others_could_notice_is_asked_about() {
        let (read, write) = (
            libc::O_RDONLY as u64,
            (libc::O_WRONLY | libc::O_CREAT) as u64,
        );
        assert!(!asks(libc::SYS_openat, &[0, 7, read]) && asks(libc::SYS_openat, &[0, 7, write]));
        assert!(!asks(libc::SYS_open, &[7, read]) && asks(libc::SYS_open, &[7, write]));
        assert!(asks(libc::SYS_unlink, &[7]) && asks(libc::SYS_rename, &[7, 8]));
        assert!(!asks(libc::SYS_read, &[0, 7, 8]) && !asks(libc::SYS_write, &[1, 7, 8]));
        assert!(asks(libc::SYS_io_uring_setup, &[]) && asks(libc::SYS_getpid | 0x4000_0000, &[]));
    }

    #[test]
    fn arguments_decide_in_both_halves() {
        assert!(!asks(libc::SYS_shmget, &[0, 8]) && asks(libc::SYS_shmget, &[1, 8]));
        assert!(!asks(libc::SYS_sendto, &[3, 7, 8, 0, 0]));
        assert!(asks(libc::SYS_sendto, &[3, 7, 8, 0, 1 << 40]));
        assert!(asks(libc::SYS_sendto, &[3, 7, 8, 0, 16]));
        for command in LOCKING {
            assert!(asks(libc::SYS_fcntl, &[3, command as u64]), "{command}");
        }
        assert!(!asks(libc::SYS_fcntl, &[3, libc::F_GETFD as u64]));
    }

    #[test]
    fn threads_are_no_processes() {
        assert!(!asks(libc::SYS_clone, &[libc::CLONE_THREAD as u64]));
        assert!(asks(libc::SYS_clone, &[libc::SIGCHLD as u64]));
        let unknown = run(libc::SYS_clone3, [0; 6]);
        assert_eq!(unknown, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    }

    #[test]
    fn the_program_fits_into_a_message() {
        let bytes = program().len() * size_of::<sock_filter>();
        assert!(bytes <= unsnarl_trace::raw::serve::MOST_FILTER, "{bytes}");
    }
}
