//! Parallel regions: teams, the pool of threads that work in them, barriers.

use super::{
    MEMBERS, Member, address, caller, look, member, park, reserve,
    shares::{self, SHARES, Share},
    tasks::{self, Task},
    wake,
};
use crate::{
    failure, log,
    next::Next,
    objects, scheduler,
    state::{Thread, Wait, this_thread},
    threads,
};
use core::{
    cell::Cell,
    ffi::c_void,
    ptr::{null, null_mut},
};
use unsnarl_trace::raw::{self, RecordKind};

pub type Outlined = unsafe extern "C-unwind" fn(*mut c_void);

/// The threads of one region.
pub struct Team {
    pub size: Cell<u32>,
    pub level: Cell<u32>,
    pub parent: Cell<*const Team>,
    function: Cell<usize>,
    data: Cell<usize>,
    pc: Cell<u64>,
    /// `true` if the region is a loop or sections as a whole (`parallel for`): its construct is described already.
    pub is_combined: Cell<bool>,
    arrived: Cell<u32>,
    generation: Cell<u64>,
    pub shares: [Share; SHARES],
    /// Tasks that wait for a thread, in the order of their creation.
    pub first_task: Cell<*const Task>,
    /// Tasks that have not ended.
    pub unfinished: Cell<u32>,
    /// Data that `copyprivate` hands on.
    pub copied: Cell<usize>,
    next_free: Cell<*const Team>,
}

/// Number of threads of a region without an explicit number. It is fixed: the number of a machine's processors must
/// not change what is recorded.
const USUAL_SIZE: u32 = 4;

struct Pool {
    idle: [Cell<bool>; raw::MAX_THREADS],
    free: Cell<*const Team>,
}

// SAFETY: used in controlled mode only, by the thread that has the turn.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool {
    idle: [const { Cell::new(false) }; raw::MAX_THREADS],
    free: Cell::new(null()),
};

/// The team that a thread works in; outside of all regions one of its own.
pub fn team_of(of: &Member) -> &'static Team {
    if of.team.get().is_null() {
        of.team.set(new_team(1, 0, null()));
        of.task.set(tasks::implicit());
    }
    // SAFETY: teams live as long as the process.
    unsafe { &*of.team.get() }
}

fn new_team(size: u32, level: u32, parent: *const Team) -> &'static Team {
    let free = POOL.free.get();
    let place = if free.is_null() {
        reserve(size_of::<Team>()).cast::<Team>().cast_const()
    } else {
        // SAFETY: a team that was given back.
        POOL.free.set(unsafe { (*free).next_free.get() });
        free
    };
    // SAFETY: zeroed memory is a valid team, and so is one that was used before.
    let team = unsafe { &*place };
    team.size.set(size);
    team.level.set(level);
    team.parent.set(parent);
    team.is_combined.set(false);
    for share in &team.shares {
        share.forget();
    }
    team
}

fn recycle(team: &'static Team) {
    team.next_free.set(POOL.free.get());
    POOL.free.set(team);
}

/// The number in `OMP_NUM_THREADS`, else the usual number.
pub fn usual_size() -> u32 {
    // SAFETY: a NUL-terminated name; the value is only read.
    let mut text = unsafe { libc::getenv(c"OMP_NUM_THREADS".as_ptr()) };
    let mut number = 0u32;
    while !text.is_null() {
        // SAFETY: ends at the NUL.
        let byte = unsafe { *text } as u8;
        if !byte.is_ascii_digit() {
            break;
        }
        number = number
            .saturating_mul(10)
            .saturating_add(u32::from(byte - b'0'));
        // SAFETY: as above.
        text = unsafe { text.add(1) };
    }
    if number == 0 { USUAL_SIZE } else { number }
}

/// Runs `function(data)` in every thread of a new team; returns when all are through.
pub fn parallel(function: usize, data: usize, wanted: u32, prepare: impl FnOnce(&Team)) {
    let (this, here, pc) = caller();
    let outer = team_of(here);
    let size = match (outer.size.get() > 1, wanted, here.wanted.get()) {
        (true, ..) => 1,
        (false, 0, 0) => usual_size(),
        (false, 0, set) => set,
        (false, wanted, _) => wanted,
    };
    let team = new_team(size, outer.level.get() + 1, outer);
    team.function.set(function);
    team.data.set(data);
    team.pc.set(pc);
    prepare(team);
    let saved = save(here);
    let mut workers = [0u16; raw::MAX_THREADS];
    for number in 1..size {
        let worker = hire(this, function, pc);
        if let Some(place) = workers.get_mut(number as usize) {
            *place = worker;
        }
        hand_over_job(this, worker, team, number);
    }
    work(this, here, team, 0);
    for worker in workers.iter().filter(|&&worker| worker != 0) {
        if let Some(idle) = POOL.idle.get(usize::from(*worker)) {
            idle.set(true);
        }
    }
    restore(here, saved);
    recycle(team);
}

/// State that a thread restores after an inner region.
type Saved = (*const Team, u32, u64, *const Share, u64, *const Task);

fn save(here: &Member) -> Saved {
    (
        here.team.get(),
        here.number.get(),
        here.entered.get(),
        here.share.get(),
        here.trips.get(),
        here.task.get(),
    )
}

fn restore(here: &Member, saved: Saved) {
    here.team.set(saved.0);
    here.number.set(saved.1);
    here.entered.set(saved.2);
    here.share.set(saved.3);
    here.trips.set(saved.4);
    here.task.set(saved.5);
}

/// A thread of the pool: the idle one with the lowest number, or a new one.
fn hire(this: &Thread, function: usize, pc: u64) -> u16 {
    if let Some(number) = POOL.idle.iter().position(Cell::get) {
        if let Some(idle) = POOL.idle.get(number) {
            idle.set(false);
        }
        return number as u16;
    }
    let mut handle: libc::pthread_t = 0;
    let before = crate::state::SHARED
        .thread_count
        .load(core::sync::atomic::Ordering::Relaxed);
    // SAFETY: a valid handle, a routine that takes no argument.
    let error = unsafe {
        threads::create_as(
            &mut handle,
            null(),
            pool_thread as *const () as usize,
            0,
            function,
            pc,
        )
    };
    if error != 0 {
        failure::unsupported(c"no more threads for OpenMP");
    }
    log::resolve(this);
    before as u16
}

fn dock_of(number: u16) -> usize {
    MEMBERS
        .0
        .get(usize::from(number))
        .map_or(0, |member| address(&member.dock))
}

fn hand_over_job(this: &Thread, worker: u16, team: &Team, number: u32) {
    if let Some(member) = MEMBERS.0.get(usize::from(worker)) {
        member.job.set(team);
        member.job_number.set(number);
    }
    let dock = objects::at(dock_of(worker));
    dock.known.set(true);
    dock.value.set(dock.value.get() + 1);
    log::sync(this, RecordKind::SemPost, team.pc.get(), dock_of(worker), 0);
}

/// First function of a thread of the pool: works in one region after the other. The end of the process
/// ends it.
unsafe extern "C-unwind" fn pool_thread(_: *mut c_void) -> *mut c_void {
    let Some(this) = this_thread() else {
        return null_mut();
    };
    let here = member(this);
    let mut pc = 0;
    loop {
        let dock = dock_of(this.number.get());
        let next = Next::of(RecordKind::SemWait, pc, dock);
        while objects::at(dock).value.get() <= 0 {
            scheduler::block(this, next, Wait::Semaphore(dock), 0);
        }
        objects::at(dock)
            .value
            .set(objects::at(dock).value.get() - 1);
        // SAFETY: the job was set before the dock was posted.
        let team = unsafe { &*here.job.get() };
        pc = team.pc.get();
        log::sync(this, RecordKind::SemWait, pc, dock, 0);
        work(this, here, team, here.job_number.get());
        here.team.set(null());
    }
}

/// Executes one thread's part of a region, to the barrier at its end.
fn work(this: &Thread, here: &Member, team: &Team, number: u32) {
    here.team.set(team);
    here.number.set(number);
    here.entered.set(0);
    here.share.set(null());
    here.task.set(tasks::implicit());
    if team.is_combined.get() {
        shares::enter_prepared(here, team);
    }
    // SAFETY: the function that the compiler made of the region, with its data.
    unsafe {
        let function = core::mem::transmute::<usize, Outlined>(team.function.get());
        function(team.data.get() as *mut c_void);
    }
    log::resolve(this);
    barrier(this, here, team.pc.get());
}

/// Waits for all threads of the team; executes tasks meanwhile.
pub fn barrier(this: &Thread, here: &Member, pc: u64) {
    let team = team_of(here);
    if team.size.get() == 1 {
        return;
    }
    let object = address(&team.arrived);
    scheduler::decide(this, Next::of(RecordKind::BarrierArrive, pc, object));
    log::sync(this, RecordKind::BarrierArrive, pc, object, 0);
    team.arrived.set(team.arrived.get() + 1);
    let generation = team.generation.get();
    while team.generation.get() == generation {
        if tasks::run_one(this, here, team) || team.generation.get() != generation {
            continue;
        }
        if team.arrived.get() == team.size.get() && team.unfinished.get() == 0 {
            team.arrived.set(0);
            team.generation.set(generation + 1);
            wake(object);
        } else {
            park(this, pc, object);
        }
    }
    log::sync(this, RecordKind::BarrierLeave, pc, object, 0);
    look(this, object);
}

/// Wakes the waiting threads, which may have something to do.
pub fn stir(team: &Team) {
    wake(address(&team.arrived));
    wake(address(&team.unfinished));
}
