//! Measurement of costs: processor time, memory, and a plain scan for comparison.

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    hint::black_box,
    process::{Command, Stdio},
    time::Duration,
};
use unsnarl_trace::Run;

/// Processor time that this process has used.
pub fn on_cpu() -> Result<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes one `timespec`, which lives here.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    ensure!(failed == 0, "no clock for the time of this process");
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The result of `work`, with the processor time for it: others may use the processor, too.
pub fn timed<T>(work: impl FnOnce() -> T) -> Result<(T, Duration)> {
    let begin = on_cpu()?;
    let result = black_box(work());
    Ok((result, on_cpu()?.saturating_sub(begin)))
}

/// The shortest of some executions.
pub fn best<T>(repeats: usize, mut work: impl FnMut() -> T) -> Result<Duration> {
    let mut shortest = Duration::MAX;
    for _ in 0..repeats {
        shortest = shortest.min(timed(&mut work)?.1);
    }
    Ok(shortest)
}

/// Kilobytes that the process has now; its peak starts again from there.
pub fn forget_peak() -> Result<u64> {
    fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of memory")?;
    status(std::process::id(), "VmRSS:")
}

/// Most kilobytes that the process has had.
pub fn peak() -> Result<u64> {
    peak_of(std::process::id())
}

/// Most kilobytes that a process has had, which has not ended.
pub fn peak_of(process: u32) -> Result<u64> {
    status(process, "VmHWM:")
}

/// Most bytes of memory that a command has had. Its own account is asked for while it runs: what
/// `wait4` tells begins with the memory of this process, from which the command was started. It has to exit with this status.
pub fn peak_of_command(mut command: Command, exits: i32) -> Result<u64> {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut most = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        most = peak_of(child.id()).unwrap_or(0).max(most);
        std::thread::sleep(Duration::from_millis(1));
    };
    ensure!(status.code() == Some(exits), "the command failed: {status}");
    Ok(most * 1024)
}

fn status(process: u32, line: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status"))?;
    let found = text.lines().find_map(|text| text.strip_prefix(line));
    let number = found.and_then(|rest| rest.split_whitespace().next());
    Ok(number.context("no memory in /proc/self/status")?.parse()?)
}

/// The plain scan: reads the columns of a run once that most passes read.
pub fn scan(run: &Run) -> u64 {
    let events = &run.events;
    let narrow = events.threads().iter().zip(events.kinds());
    let wide = events.sites().iter().zip(events.locations());
    let sum = |((&thread, &kind), (&site, &location)): ((&u16, &u8), (&u32, &u32))| {
        u64::from(thread) + u64::from(kind) + u64::from(site) + u64::from(location)
    };
    narrow.zip(wide).map(sum).fold(0, u64::wrapping_add)
}

/// Processor time of the children that have ended, with theirs.
pub fn of_children() -> Result<Duration> {
    // SAFETY: `rusage` is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes one `rusage`, which lives here.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    ensure!(failed == 0, "no processor time of children");
    let parts = [usage.ru_utime, usage.ru_stime];
    let time = |part: libc::timeval| Duration::new(part.tv_sec as u64, 1000 * part.tv_usec as u32);
    Ok(parts.into_iter().map(time).sum())
}
