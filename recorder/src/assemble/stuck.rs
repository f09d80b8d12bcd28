//! Runs that ended by their time limit while the thread with the turn was in a system call that the program makes by
//! itself, past the C library, where the recorder does not see it.

use super::{Launch, names, program::ProgramDebugInfo, raw_log::RawLog, site_of};
use unsnarl_trace::OrderMode;

/// The kernel's number of `futex` on x86-64.
const FUTEX: u64 = 202;

/// Names the call and the next step, if that was the reason.
pub(super) fn problem(
    log: &RawLog<'_>,
    program: &ProgramDebugInfo,
    launch: &Launch,
    threads: &[String],
) -> Option<String> {
    if launch.mode != OrderMode::Controlled {
        return None;
    }
    let number = log.current() as usize;
    let kernel_id = log.threads().nth(number)?.kernel_id;
    let call = launch.calls.iter().find(|call| call.thread == kernel_id)?;
    let site = site_of(log, program, call.pc).filter(|site| !site.file.is_empty())?;
    let file = names::file_name(&site.file);
    let what = match call.number {
        FUTEX => "`futex`".to_owned(),
        number => format!("system call {number}"),
    };
    let thread = threads.get(number).map_or("a thread", String::as_str);
    Some(format!(
        "{thread} waits in {what}, which {}:{} calls by an instruction of its own: the recorder sees the calls of the C \
         library's functions only, so no other thread could go on; call it by `syscall` to record the program",
        file, site.line
    ))
}
