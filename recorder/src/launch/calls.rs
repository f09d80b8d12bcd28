//! System calls that the threads of a process are in, as the kernel reports them: they tell why a program does not go
//! on when its time is over.

use rustix::process::Pid;
use std::fs;

/// A thread that is in a system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InCall {
    /// The kernel's number for the thread.
    pub thread: u32,
    /// Number of the call.
    pub number: u64,
    /// Return address of the call.
    pub pc: u64,
}

/// The system calls of a child of this process. Those that cannot be read are left out: the process may end
/// meanwhile.
pub fn of(pid: Pid) -> Vec<InCall> {
    let tasks = format!("/proc/{}/task", pid.as_raw_nonzero());
    let Ok(tasks) = fs::read_dir(tasks) else {
        return Vec::new();
    };
    let in_call = |task: fs::DirEntry| {
        let thread = task.file_name().to_str()?.parse().ok()?;
        let line = fs::read_to_string(task.path().join("syscall")).ok()?;
        parse(thread, &line)
    };
    let mut calls: Vec<InCall> = tasks.flatten().filter_map(in_call).collect();
    calls.sort_by_key(|call| call.thread);
    calls
}

/// Parses `202 0x7f.. 0x80 .. SP PC`, or `running`, or `-1 SP PC` outside of a call.
fn parse(thread: u32, line: &str) -> Option<InCall> {
    let mut words = line.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let pc = words.last()?.strip_prefix("0x")?;
    let pc = u64::from_str_radix(pc, 16).ok()?;
    Some(InCall { thread, number, pc })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line() {
        let line = "202 0x55d0 0x80 0x1 0x0 0x0 0x0 0x7ffc10 0x7f1234\n";
        let call = InCall {
            thread: 7,
            number: 202,
            pc: 0x7f_1234,
        };
        assert_eq!(parse(7, line), Some(call));
        for line in ["running\n", "-1 0x7ffc10 0x7f1234\n", "", "202"] {
            assert_eq!(parse(7, line), None, "{line}");
        }
    }
}
