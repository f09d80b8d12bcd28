//! libgomp's entry points, as gcc calls them.

use super::{
    caller,
    entry::served,
    shares::{self, Loop, Schedule},
    tasks::{self, TaskArguments},
    teams,
};
use crate::failure;
use core::ffi::c_int;

unsafe extern "C-unwind" fn parallel(function: usize, data: usize, threads: u32) {
    teams::parallel(function, data, threads, |_| {});
}

unsafe extern "C-unwind" fn parallel_sections(
    function: usize,
    data: usize,
    threads: u32,
    count: u32,
) {
    teams::parallel(function, data, threads, |team| {
        shares::prepare_sections(team, count)
    });
}

unsafe extern "C-unwind" fn barrier() {
    let (this, here, pc) = caller();
    teams::barrier(this, here, pc);
}

unsafe extern "C-unwind" fn single_start() -> bool {
    shares::single()
}

/// Null for the thread that does it; the others wait for what it hands on.
unsafe extern "C-unwind" fn single_copy_start() -> usize {
    if shares::single() {
        return 0;
    }
    let (this, here, pc) = caller();
    teams::barrier(this, here, pc);
    teams::team_of(here).copied.get()
}

unsafe extern "C-unwind" fn single_copy_end(data: usize) {
    let (this, here, pc) = caller();
    teams::team_of(here).copied.set(data);
    teams::barrier(this, here, pc);
}

unsafe extern "C-unwind" fn sections_start(count: u32) -> u32 {
    shares::start_sections(count)
}

unsafe extern "C-unwind" fn sections_next() -> u32 {
    shares::next_section()
}

unsafe extern "C-unwind" fn share_end_nowait() {
    let (this, here, _) = caller();
    shares::leave(this, here);
}

unsafe extern "C-unwind" fn share_end() {
    let (this, here, pc) = caller();
    shares::leave(this, here);
    teams::barrier(this, here, pc);
}

unsafe extern "C-unwind" fn ordered_start() {
    shares::ordered_start();
}

unsafe extern "C-unwind" fn ordered_end() {
    shares::ordered_end();
}

/// Tells the program its chunk; false when there is none.
fn answer(chunk: Option<(i128, i128)>, from: *mut i64, to: *mut i64) -> bool {
    let Some((first, end)) = chunk else {
        return false;
    };
    // SAFETY: the compiler's own variables. Unsigned bounds have the same bits.
    unsafe {
        from.write(first as i64);
        to.write(end as i64);
    }
    true
}

unsafe extern "C-unwind" fn loop_next(from: *mut i64, to: *mut i64) -> bool {
    answer(shares::next(), from, to)
}

unsafe extern "C-unwind" fn loop_ordered_next(from: *mut i64, to: *mut i64) -> bool {
    answer(shares::next_ordered(), from, to)
}

fn signed(from: i64, to: i64, step: i64, chunk: i64, schedule: Schedule) -> Loop {
    Loop {
        from: from.into(),
        to: to.into(),
        step: step.into(),
        chunk: chunk.into(),
        schedule,
    }
}

/// Unsigned bounds; a step downwards is a large number.
fn unsigned(up: bool, from: u64, to: u64, step: u64, chunk: u64, schedule: Schedule) -> Loop {
    Loop {
        from: from.into(),
        to: to.into(),
        step: if up {
            step.into()
        } else {
            (step as i64).into()
        },
        chunk: chunk.into(),
        schedule,
    }
}

/// The functions of one schedule: with a chunk size, for signed and unsigned loops and whole regions.
macro_rules! schedules {
    ($($schedule:ident: $start:ident, $start_unsigned:ident, $parallel:ident;)*) => {$(
        unsafe extern "C-unwind" fn $start(
            from: i64, to: i64, step: i64, chunk: i64, first: *mut i64, end: *mut i64,
        ) -> bool {
            let what = signed(from, to, step, chunk, Schedule::$schedule);
            answer(shares::start(&what), first, end)
        }

        unsafe extern "C-unwind" fn $start_unsigned(
            up: bool, from: u64, to: u64, step: u64, chunk: u64, first: *mut i64, end: *mut i64,
        ) -> bool {
            let what = unsigned(up, from, to, step, chunk, Schedule::$schedule);
            answer(shares::start(&what), first, end)
        }

        unsafe extern "C-unwind" fn $parallel(
            function: usize, data: usize, threads: u32, from: i64, to: i64, step: i64, chunk: i64,
        ) {
            let what = signed(from, to, step, chunk, Schedule::$schedule);
            teams::parallel(function, data, threads, |team| shares::prepare(team, &what));
        }
    )*};
}

schedules! {
    Static: static_start, static_start_unsigned, parallel_static;
    Dynamic: dynamic_start, dynamic_start_unsigned, parallel_dynamic;
    Guided: guided_start, guided_start_unsigned, parallel_guided;
}

unsafe extern "C-unwind" fn runtime_start(
    from: i64,
    to: i64,
    step: i64,
    first: *mut i64,
    end: *mut i64,
) -> bool {
    let what = signed(from, to, step, 1, Schedule::Dynamic);
    answer(shares::start(&what), first, end)
}

unsafe extern "C-unwind" fn runtime_start_unsigned(
    up: bool,
    from: u64,
    to: u64,
    step: u64,
    first: *mut i64,
    end: *mut i64,
) -> bool {
    let what = unsigned(up, from, to, step, 1, Schedule::Dynamic);
    answer(shares::start(&what), first, end)
}

unsafe extern "C-unwind" fn parallel_runtime(
    function: usize,
    data: usize,
    threads: u32,
    from: i64,
    to: i64,
    step: i64,
) {
    let what = signed(from, to, step, 1, Schedule::Dynamic);
    teams::parallel(function, data, threads, |team| shares::prepare(team, &what));
}

unsafe extern "C-unwind" fn task(
    function: usize,
    data: usize,
    copy: usize,
    bytes: usize,
    alignment: usize,
    deferred: bool,
    flags: u32,
    depends: usize,
) {
    tasks::create(&TaskArguments {
        function,
        data,
        copy,
        bytes,
        alignment,
        deferred,
        flags,
        depends,
    });
}

/// Bit of the flags of `GOMP_taskloop`: its tasks may wait for a thread.
const DEFERRED: u32 = 1 << 10;

unsafe extern "C-unwind" fn taskloop(
    function: usize,
    data: usize,
    copy: usize,
    bytes: usize,
    alignment: usize,
    flags: u32,
    number: u64,
    _priority: c_int,
    from: i64,
    to: i64,
    step: i64,
) {
    let wish = TaskArguments {
        function,
        data,
        copy,
        bytes,
        alignment,
        deferred: flags & DEFERRED != 0,
        flags,
        depends: 0,
    };
    tasks::create_for_loop(&wish, number, from, to, step);
}

unsafe extern "C-unwind" fn taskwait() {
    tasks::wait_for_children();
}

unsafe extern "C-unwind" fn taskyield() {
    tasks::yield_now();
}

unsafe extern "C-unwind" fn taskgroup_start() {
    tasks::begin_group();
}

unsafe extern "C-unwind" fn taskgroup_end() {
    tasks::end_group();
}

/// Answers that nothing was cancelled.
unsafe extern "C-unwind" fn cancellation_point() -> bool {
    false
}

unsafe extern "C-unwind" fn unsupported() {
    failure::unsupported(
        c"a construct of OpenMP that is not recorded: teams, target, cancel, doacross, or a reduction over tasks",
    );
}

served! {
    GOMP_parallel, find_parallel => parallel;
    GOMP_parallel_sections, find_parallel_sections => parallel_sections;
    GOMP_parallel_loop_static, find_parallel_static => parallel_static;
    GOMP_parallel_loop_dynamic, find_parallel_dynamic => parallel_dynamic;
    GOMP_parallel_loop_nonmonotonic_dynamic, find_parallel_dynamic_2 => parallel_dynamic;
    GOMP_parallel_loop_guided, find_parallel_guided => parallel_guided;
    GOMP_parallel_loop_nonmonotonic_guided, find_parallel_guided_2 => parallel_guided;
    GOMP_parallel_loop_runtime, find_parallel_runtime => parallel_runtime;
    GOMP_parallel_loop_nonmonotonic_runtime, find_parallel_runtime_2 => parallel_runtime;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime, find_parallel_runtime_3 => parallel_runtime;
    GOMP_barrier, find_barrier => barrier;
    GOMP_single_start, find_single_start => single_start;
    GOMP_single_copy_start, find_single_copy_start => single_copy_start;
    GOMP_single_copy_end, find_single_copy_end => single_copy_end;
    GOMP_sections_start, find_sections_start => sections_start;
    GOMP_sections_next, find_sections_next => sections_next;
    GOMP_sections_end, find_sections_end => share_end;
    GOMP_sections_end_nowait, find_sections_end_nowait => share_end_nowait;
    GOMP_loop_end, find_loop_end => share_end;
    GOMP_loop_end_nowait, find_loop_end_nowait => share_end_nowait;
    GOMP_ordered_start, find_ordered_start => ordered_start;
    GOMP_ordered_end, find_ordered_end => ordered_end;
    GOMP_loop_static_start, find_static_start => static_start;
    GOMP_loop_dynamic_start, find_dynamic_start => dynamic_start;
    GOMP_loop_nonmonotonic_dynamic_start, find_dynamic_start_2 => dynamic_start;
    GOMP_loop_guided_start, find_guided_start => guided_start;
    GOMP_loop_nonmonotonic_guided_start, find_guided_start_2 => guided_start;
    GOMP_loop_runtime_start, find_runtime_start => runtime_start;
    GOMP_loop_nonmonotonic_runtime_start, find_runtime_start_2 => runtime_start;
    GOMP_loop_maybe_nonmonotonic_runtime_start, find_runtime_start_3 => runtime_start;
    GOMP_loop_ordered_static_start, find_ordered_static_start => static_start;
    GOMP_loop_ordered_dynamic_start, find_ordered_dynamic_start => dynamic_start;
    GOMP_loop_ordered_guided_start, find_ordered_guided_start => guided_start;
    GOMP_loop_ordered_runtime_start, find_ordered_runtime_start => runtime_start;
    GOMP_loop_static_next, find_static_next => loop_next;
    GOMP_loop_dynamic_next, find_dynamic_next => loop_next;
    GOMP_loop_nonmonotonic_dynamic_next, find_dynamic_next_2 => loop_next;
    GOMP_loop_guided_next, find_guided_next => loop_next;
    GOMP_loop_nonmonotonic_guided_next, find_guided_next_2 => loop_next;
    GOMP_loop_runtime_next, find_runtime_next => loop_next;
    GOMP_loop_nonmonotonic_runtime_next, find_runtime_next_2 => loop_next;
    GOMP_loop_maybe_nonmonotonic_runtime_next, find_runtime_next_3 => loop_next;
    GOMP_loop_ordered_static_next, find_ordered_static_next => loop_ordered_next;
    GOMP_loop_ordered_dynamic_next, find_ordered_dynamic_next => loop_ordered_next;
    GOMP_loop_ordered_guided_next, find_ordered_guided_next => loop_ordered_next;
    GOMP_loop_ordered_runtime_next, find_ordered_runtime_next => loop_ordered_next;
    GOMP_loop_ull_static_start, find_ull_static_start => static_start_unsigned;
    GOMP_loop_ull_dynamic_start, find_ull_dynamic_start => dynamic_start_unsigned;
    GOMP_loop_ull_nonmonotonic_dynamic_start, find_ull_dynamic_start_2 => dynamic_start_unsigned;
    GOMP_loop_ull_guided_start, find_ull_guided_start => guided_start_unsigned;
    GOMP_loop_ull_nonmonotonic_guided_start, find_ull_guided_start_2 => guided_start_unsigned;
    GOMP_loop_ull_runtime_start, find_ull_runtime_start => runtime_start_unsigned;
    GOMP_loop_ull_nonmonotonic_runtime_start, find_ull_runtime_start_2 => runtime_start_unsigned;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start, find_ull_runtime_start_3 => runtime_start_unsigned;
    GOMP_loop_ull_ordered_static_start, find_ull_ordered_static_start => static_start_unsigned;
    GOMP_loop_ull_ordered_dynamic_start, find_ull_ordered_dynamic_start => dynamic_start_unsigned;
    GOMP_loop_ull_ordered_guided_start, find_ull_ordered_guided_start => guided_start_unsigned;
    GOMP_loop_ull_static_next, find_ull_static_next => loop_next;
    GOMP_loop_ull_dynamic_next, find_ull_dynamic_next => loop_next;
    GOMP_loop_ull_nonmonotonic_dynamic_next, find_ull_dynamic_next_2 => loop_next;
    GOMP_loop_ull_guided_next, find_ull_guided_next => loop_next;
    GOMP_loop_ull_nonmonotonic_guided_next, find_ull_guided_next_2 => loop_next;
    GOMP_loop_ull_runtime_next, find_ull_runtime_next => loop_next;
    GOMP_loop_ull_nonmonotonic_runtime_next, find_ull_runtime_next_2 => loop_next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next, find_ull_runtime_next_3 => loop_next;
    GOMP_loop_ull_ordered_static_next, find_ull_ordered_static_next => loop_ordered_next;
    GOMP_loop_ull_ordered_dynamic_next, find_ull_ordered_dynamic_next => loop_ordered_next;
    GOMP_loop_ull_ordered_guided_next, find_ull_ordered_guided_next => loop_ordered_next;
    GOMP_task, find_task => task;
    GOMP_taskloop, find_taskloop => taskloop;
    GOMP_taskwait, find_taskwait => taskwait;
    GOMP_taskyield, find_taskyield => taskyield;
    GOMP_taskgroup_start, find_taskgroup_start => taskgroup_start;
    GOMP_taskgroup_end, find_taskgroup_end => taskgroup_end;
    GOMP_cancellation_point, find_cancellation_point => cancellation_point;
    GOMP_cancel, find_cancel => unsupported;
    GOMP_barrier_cancel, find_barrier_cancel => unsupported;
    GOMP_loop_end_cancel, find_loop_end_cancel => unsupported;
    GOMP_sections_end_cancel, find_sections_end_cancel => unsupported;
    GOMP_taskloop_ull, find_taskloop_ull => unsupported;
    GOMP_taskwait_depend, find_taskwait_depend => unsupported;
    GOMP_taskgroup_reduction_register, find_reduction_register => unsupported;
    GOMP_taskgroup_reduction_unregister, find_reduction_unregister => unsupported;
    GOMP_task_reduction_remap, find_reduction_remap => unsupported;
    GOMP_workshare_task_reduction_unregister, find_share_reduction => unsupported;
    GOMP_parallel_reductions, find_parallel_reductions => unsupported;
    GOMP_loop_start, find_loop_start => unsupported;
    GOMP_loop_ordered_start, find_loop_ordered_start => unsupported;
    GOMP_loop_ull_start, find_loop_ull_start => unsupported;
    GOMP_loop_ull_ordered_start, find_loop_ull_ordered_start => unsupported;
    GOMP_sections2_start, find_sections2_start => unsupported;
    GOMP_scope_start, find_scope_start => unsupported;
    GOMP_doacross_post, find_doacross_post => unsupported;
    GOMP_doacross_wait, find_doacross_wait => unsupported;
    GOMP_loop_doacross_static_start, find_doacross_static => unsupported;
    GOMP_loop_doacross_dynamic_start, find_doacross_dynamic => unsupported;
    GOMP_loop_doacross_guided_start, find_doacross_guided => unsupported;
    GOMP_loop_doacross_runtime_start, find_doacross_runtime => unsupported;
    GOMP_teams4, find_teams4 => unsupported;
    GOMP_teams_reg, find_teams_reg => unsupported;
    GOMP_target_ext, find_target_ext => unsupported;
    GOMP_target_data_ext, find_target_data_ext => unsupported;
}
