//! Start of the runtime: finds the log that the recorder made and sets everything up.

use crate::{
    affinity, branches, checks, children, choices, chosen, descriptors, failure, log, lookup,
    memory, modules, objects, path, process, quiet,
    real::real,
    repeats, scheduler,
    state::{Mode, SHARED, Thread, recording, set_this_thread, thread},
    strings, surroundings, sys, threads,
};
use core::{
    ffi::{c_char, c_int, c_void},
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed},
};
use unsnarl_trace::raw::{self, End, RawMode, RawStrategy};

/// Called by the constructor of every instrumented object; the first call starts the runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_init() {
    if SHARED.header.get().is_null() {
        start(|_| true);
    }
}

/// Starts the runtime if the recorder asks for path mode: programs that are built for it have no other
/// constructor of ours.
pub fn begin_path() {
    if SHARED.header.get().is_null() {
        start(|header| header.mode == RawMode::Path as u32);
    }
}

fn start(is_served: fn(&raw::Header) -> bool) {
    let Some(header) = map_log(is_served) else {
        return;
    };
    SHARED.header.set(header);
    // SAFETY: the log was checked; the recorder reads it only after the process has ended.
    let header = unsafe { &*header };
    end_with_recorder(header);
    set_up_log(header);
    set_up_strategy(header);
    objects::set_up();
    let is_path = header.mode == RawMode::Path as u32;
    if is_path {
        memory::leave_to_library();
        strings::leave_to_library();
        path::set_up();
        SHARED.mode.set(Mode::Path);
    }
    threads::set_up();
    let controlled = header.mode == RawMode::Controlled as u32;
    header.end.store(End::Running as u32, Relaxed);
    // It runs last because it is registered first.
    failure::watch_exit();
    process::watch_quick_exit();
    children::watch_forks();
    failure::catch_signals();
    modules::note();
    if controlled {
        affinity::pin_to_one_core();
    }
    if is_path {
        return;
    }
    SHARED.mode.set(if controlled {
        Mode::Controlled
    } else {
        Mode::Free
    });
}

unsafe extern "C" {
    static __libc_stack_end: *const c_void;
}

/// Maps the log whose descriptor the environment names, if it is one and nobody has claimed it.
fn map_log(is_served: fn(&raw::Header) -> bool) -> Option<*mut raw::Header> {
    let descriptor = log_descriptor()?;
    // SAFETY: maps a file that the recorder made for this; checked before anything is written.
    unsafe {
        let bytes = descriptors::status(descriptor)?.st_size as usize;
        if bytes < raw::HEADER_BYTES {
            return None;
        }
        let Some(map) = sys::shared(descriptor, bytes) else {
            return without_memory(descriptor);
        };
        let header = map.cast::<raw::Header>();
        let is_ours = is_log(&*header, bytes) && chosen::may_claim(header);
        if !is_ours || !is_served(&*header) || !claim(&*header) {
            libc::munmap(map, bytes);
            return None;
        }
        libc::close(descriptor);
        surroundings::hide();
        Some(header)
    }
}

/// The log does not fit into the memory that the program may have: says so in its first page.
fn without_memory(descriptor: c_int) -> Option<*mut raw::Header> {
    let bytes = raw::HEADER_BYTES;
    let map = sys::shared(descriptor, bytes)?;
    // SAFETY: the beginning of the file that `map_log` has looked at.
    unsafe {
        let header = map.cast::<raw::Header>();
        let is_log = (*header).magic == raw::MAGIC && (*header).version == raw::VERSION;
        let is_listed = (*header).claimant == raw::children::LISTED;
        if is_log && !is_listed && chosen::may_claim(header) && (*header).pid.load(Relaxed) == 0 {
            SHARED.header.set(header);
            (*header).end.store(End::Running as u32, Relaxed);
            failure::end_now(End::NoMemory);
        }
        libc::munmap(map, bytes);
    }
    None
}

/// Nobody would end an endless run whose recorder is gone.
fn end_with_recorder(header: &raw::Header) {
    // The parent of a script's child may end before it: a subshell that has put it into the background.
    let parent_is_recorder = header.claimant == raw::children::STARTED;
    // SAFETY: plain calls; signal 0 only asks whether the process is there.
    unsafe {
        if parent_is_recorder {
            libc::syscall(
                libc::SYS_prctl,
                libc::PR_SET_PDEATHSIG,
                libc::SIGKILL,
                0,
                0,
                0,
            );
        }
        let is_gone = header.recorder != 0
            && libc::syscall(libc::SYS_kill, header.recorder as libc::pid_t, 0) != 0
            && *libc::__errno_location() == libc::ESRCH;
        if is_gone {
            libc::syscall(libc::SYS_exit_group, 0);
        }
    }
}

fn log_descriptor() -> Option<c_int> {
    // SAFETY: the environment is set up before constructors run.
    let text: *const c_char = unsafe { libc::getenv(raw::FD_VARIABLE.as_ptr()) };
    if text.is_null() {
        return None;
    }
    // SAFETY: an environment variable is a C string.
    Some(unsafe { libc::atoi(text) })
}

fn is_log(header: &raw::Header, bytes: usize) -> bool {
    header.magic == raw::MAGIC && header.version == raw::VERSION && header.log_bytes <= bytes as u64
}

fn claim(header: &raw::Header) -> bool {
    let pid = sys::process_id() as u32;
    header.pid.compare_exchange(0, pid, AcqRel, Acquire).is_ok()
}

fn set_up_replay(rows: *const raw::EqualChoices, count: u64) {
    SHARED.replay.set(rows);
    // SAFETY: the recorder has written so many rows.
    let choices = (0..count as usize).map(|at| u64::from(unsafe { (*rows.add(at)).count }));
    SHARED.replay_len.set(choices.sum());
}

fn set_up_log(header: &raw::Header) {
    let base = SHARED.header.get() as usize;
    SHARED
        .records
        .set((base + header.records_at as usize) as *mut raw::Record);
    SHARED.records_cap.set(header.records_cap);
    SHARED
        .decisions
        .set((base + header.decisions_at as usize) as *mut raw::EqualChoices);
    set_up_replay(
        (base + header.replay_at as usize) as *const raw::EqualChoices,
        header.replay_len,
    );
    if header.note_details != 0 {
        SHARED
            .details
            .set((base + header.details_at as usize) as *mut raw::Detail);
    }
    SHARED.chances.set(header.chances);
    checks::set_up(header.chances);
    SHARED
        .plan
        .set((base + header.plan_at as usize) as *const raw::Directive);
    SHARED.plan_len.set(header.plan_len);
    quiet::set_up(header);
    SHARED.clock.set(header.start_time);
    SHARED.spin_limit.set(header.spin_limit);
    SHARED.max_steps.set(header.max_steps);
    SHARED.alert.set(header.max_steps);
    SHARED.switch_one_in.set(header.switch_one_in);
    SHARED.record_calls.set(header.record_calls != 0);
    branches::set_up(header.record_branches != 0);
    repeats::set_up(match header.mode == RawMode::Controlled as u32 {
        true => header.repeats_after,
        false => u64::MAX,
    });
    SHARED.is_watched.set(header.is_debugged != 0);
}

fn set_up_strategy(header: &raw::Header) {
    SHARED.entropy.set(header.input_seed);
    let strategy = [RawStrategy::Random, RawStrategy::Pct]
        .into_iter()
        .find(|strategy| *strategy as u32 == header.strategy)
        .unwrap_or(RawStrategy::Sequential);
    SHARED.strategy.set(strategy);
    SHARED
        .random
        .set(header.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..8 {
        choices::random();
    }
    if strategy == RawStrategy::Pct {
        scheduler::draw_change_points();
    }
}

/// Makes the calling thread number 0.
pub fn adopt_main(main: &'static Thread, row: &mut raw::Thread) {
    // SAFETY: set by the loader before the program starts.
    let high = unsafe { __libc_stack_end } as u64;
    row.stack_high = high;
    row.stack_low = high.saturating_sub(stack_limit());
    // SAFETY: no arguments.
    main.handle.set(unsafe { libc::pthread_self() });
    main.live.set(true);
    main.priority.set(scheduler::initial_priority());
    set_this_thread(thread(0));
}

fn stack_limit() -> u64 {
    const MOST: u64 = 64 << 20;
    // SAFETY: a valid place for the limit.
    unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        match libc::getrlimit(libc::RLIMIT_STACK, &mut limit) {
            0 => limit.rlim_cur.min(MOST),
            _ => MOST,
        }
    }
}

/// Announced writes may go to the module's memory.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dlclose(handle: *mut c_void) -> c_int {
    let close = real!("dlclose", fn(*mut c_void) -> c_int);
    if let Some(this) = recording() {
        log::resolve(this);
    }
    // SAFETY: the program's own call.
    unsafe { close(handle) }
}

/// Modules that came later (`dlopen`) are in the table once the run ends.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    let open = real!("dlopen", fn(*const c_char, c_int) -> *mut c_void);
    // SAFETY: the program's own call.
    let library = unsafe { open(file, flags) };
    lookup::keep_error(library);
    if SHARED.mode.get() != Mode::Off {
        modules::note();
    }
    library
}
