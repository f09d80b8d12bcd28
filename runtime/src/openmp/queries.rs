//! Queries of a program about its threads. libgomp answers the rest (`omp_get_wtime`, devices ...).

use super::{
    caller,
    entry::served,
    teams::{Team, team_of, usual_size},
};
use core::ffi::c_int;

fn team() -> &'static Team {
    team_of(caller().1)
}

unsafe extern "C-unwind" fn thread_number() -> c_int {
    let (_, here, _) = caller();
    team_of(here);
    here.number.get() as c_int
}

unsafe extern "C-unwind" fn thread_count() -> c_int {
    team().size.get() as c_int
}

unsafe extern "C-unwind" fn most_threads() -> c_int {
    match caller().1.wanted.get() {
        0 => usual_size() as c_int,
        set => set as c_int,
    }
}

unsafe extern "C-unwind" fn set_thread_count(count: c_int) {
    caller()
        .1
        .wanted
        .set(u32::try_from(count).unwrap_or(1).max(1));
}

unsafe extern "C-unwind" fn is_parallel() -> c_int {
    c_int::from(team().size.get() > 1)
}

unsafe extern "C-unwind" fn level() -> c_int {
    team().level.get() as c_int
}

/// The team at a level of nesting; `None` when there is no such level.
fn team_at(level: c_int) -> Option<&'static Team> {
    let mut team = team();
    let level = u32::try_from(level).ok()?;
    while team.level.get() > level {
        // SAFETY: teams live as long as the process.
        team = unsafe { team.parent.get().as_ref()? };
    }
    (team.level.get() == level).then_some(team)
}

unsafe extern "C-unwind" fn team_size(level: c_int) -> c_int {
    team_at(level).map_or(-1, |team| team.size.get() as c_int)
}

/// The thread's number at a level. Only one level has more than one thread, so the number is the same on all levels
/// within it.
unsafe extern "C-unwind" fn ancestor_number(level: c_int) -> c_int {
    let (_, here, _) = caller();
    match team_at(level) {
        Some(team) if core::ptr::eq(team, team_of(here)) => here.number.get() as c_int,
        Some(_) => 0,
        None => -1,
    }
}

served! {
    omp_get_thread_num, find_thread_num => thread_number;
    omp_get_num_threads, find_num_threads => thread_count;
    omp_get_max_threads, find_max_threads => most_threads;
    omp_set_num_threads, find_set_num_threads => set_thread_count;
    omp_in_parallel, find_in_parallel => is_parallel;
    omp_get_level, find_level => level;
    omp_get_active_level, find_active_level => is_parallel;
    omp_get_team_size, find_team_size => team_size;
    omp_get_ancestor_thread_num, find_ancestor_thread_num => ancestor_number;
}
