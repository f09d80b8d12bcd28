//! Tasks: the thread that creates one goes on, threads that wait execute it.

use super::{
    Member, address, caller, look, park, reserve,
    teams::{self, Team, team_of},
};
use crate::{
    heap, livelock, log, memory,
    next::Next,
    scheduler,
    state::{Thread, unrecorded},
};
use core::{cell::Cell, ffi::c_void};
use unsnarl_trace::raw::RecordKind;

pub type Function = unsafe extern "C-unwind" fn(*mut c_void);
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// Bits of the flags of `GOMP_task`.
const DEPEND: u32 = 8;
/// Bit of the flags of `GOMP_taskloop`: the number is one of iterations, not of tasks.
const GRAIN_SIZE: u32 = 1 << 9;
const NO_GROUP: u32 = 1 << 11;

/// A task, also the implicit one of a thread in a region.
pub struct Task {
    next: Cell<*const Task>,
    function: Cell<usize>,
    data: Cell<usize>,
    block: Cell<usize>,
    pc: Cell<u64>,
    parent: Cell<*const Task>,
    group: Cell<*const Group>,
    /// Number of children that have not ended, or have ended since the last wait for them.
    children: Cell<u32>,
    ended_children: Cell<u32>,
    /// Its dependences: a copy of the compiler's list.
    depends: Cell<*const usize>,
    /// Children with dependences, the youngest first.
    dependent: Cell<*const Task>,
    older: Cell<*const Task>,
    is_over: Cell<bool>,
}

/// The tasks of a `taskgroup`.
pub struct Group {
    outer: Cell<*const Group>,
    unfinished: Cell<u32>,
    ended: Cell<u32>,
}

/// The implicit task of a thread.
pub fn implicit() -> *const Task {
    reserve(size_of::<Task>()).cast()
}

fn current(here: &Member) -> &'static Task {
    team_of(here);
    // SAFETY: every member of a team has a task; tasks live as long as the process.
    unsafe { &*here.task.get() }
}

/// Arguments of `GOMP_task`.
pub struct TaskArguments {
    pub function: usize,
    pub data: usize,
    pub copy: usize,
    pub bytes: usize,
    pub alignment: usize,
    pub deferred: bool,
    pub flags: u32,
    pub depends: usize,
}

/// Creates a task, or executes it at once.
pub fn create(wish: &TaskArguments) {
    let (this, here, pc) = caller();
    let task = new_task(this, here, wish, pc);
    // SAFETY: the data of the program's own task.
    if wish.flags & DEPEND != 0 {
        note_dependences(task, current(here), wish.depends as *const usize);
    }
    submit(this, here, task, wish.deferred);
}

fn submit(this: &Thread, here: &Member, task: &'static Task, deferred: bool) {
    let team = team_of(here);
    let parent = current(here);
    parent.children.set(parent.children.get() + 1);
    team.unfinished.set(team.unfinished.get() + 1);
    // SAFETY: groups live as long as the process.
    if let Some(group) = unsafe { task.group.get().as_ref() } {
        group.unfinished.set(group.unfinished.get() + 1);
    }
    if deferred && team.size.get() > 1 {
        let pc = task.pc.get();
        scheduler::decide(this, Next::of(RecordKind::SemPost, pc, task.data.get()));
        log::sync(this, RecordKind::SemPost, pc, task.data.get(), 0);
        append(team, task);
        teams::stir(team);
        return;
    }
    while !is_ready(task) {
        if !run_one(this, here, team) && !is_ready(task) {
            park(this, task.pc.get(), address(&team.unfinished));
        }
    }
    run(this, here, team, task);
}

/// Copies the arguments to a block of the program's heap, as libgomp does.
fn new_task(this: &Thread, here: &Member, wish: &TaskArguments, pc: u64) -> &'static Task {
    // SAFETY: fresh zeroed memory is a valid task.
    let task = unsafe { &*reserve(size_of::<Task>()).cast::<Task>() };
    let block = heap::allocate(wish.bytes + wish.alignment, pc);
    let data = (block as usize).next_multiple_of(wish.alignment.max(1));
    if wish.copy != 0 {
        // SAFETY: the compiler's own copy function and data of the size that it was made for.
        unsafe {
            let copy = core::mem::transmute::<usize, Copy>(wish.copy);
            copy(data as *mut c_void, wish.data as *mut c_void);
        }
        log::resolve(this);
    } else {
        // SAFETY: as above; both hold this many bytes.
        unrecorded(this, || unsafe {
            memory::copy_up(data as *mut u8, wish.data as *const u8, wish.bytes);
        });
    }
    task.function.set(wish.function);
    task.data.set(data);
    task.block.set(block as usize);
    task.pc.set(pc);
    task.parent.set(current(here));
    task.group.set(here.group.get());
    task
}

fn append(team: &Team, task: &'static Task) {
    let mut link = &team.first_task;
    // SAFETY: tasks live as long as the process.
    while let Some(other) = unsafe { link.get().as_ref() } {
        link = &other.next;
    }
    link.set(task);
}

/// Executes one task that may begin; returns `false` when there is none.
pub fn run_one(this: &Thread, here: &Member, team: &Team) -> bool {
    look(this, address(&team.unfinished));
    let mut link = &team.first_task;
    // SAFETY: tasks live as long as the process.
    while let Some(task) = unsafe { link.get().as_ref() } {
        if is_ready(task) {
            link.set(task.next.get());
            log::sync(this, RecordKind::SemWait, task.pc.get(), task.data.get(), 0);
            run(this, here, team, task);
            return true;
        }
        link = &task.next;
    }
    false
}

fn run(this: &Thread, here: &Member, team: &Team, task: &'static Task) {
    let (outer, group) = (
        here.task.replace(task),
        here.group.replace(task.group.get()),
    );
    for_each_dependence(task, |object, _| {
        log::sync(this, RecordKind::SemWait, task.pc.get(), object, 0);
    });
    // SAFETY: the function that the compiler made of the task, with its data.
    unsafe {
        let function = core::mem::transmute::<usize, Function>(task.function.get());
        function(task.data.get() as *mut c_void);
    }
    log::resolve(this);
    here.task.set(outer);
    here.group.set(group);
    end(this, team, task);
}

fn end(this: &Thread, team: &Team, task: &'static Task) {
    let pc = task.pc.get();
    for_each_dependence(task, |object, _| {
        log::sync(this, RecordKind::SemPost, pc, object, 0)
    });
    // SAFETY: tasks and groups live as long as the process.
    let (parent, group) = unsafe { (&*task.parent.get(), task.group.get().as_ref()) };
    scheduler::decide(
        this,
        Next::of(RecordKind::SemPost, pc, address(&parent.children)),
    );
    log::sync(this, RecordKind::SemPost, pc, address(&parent.children), 0);
    parent.children.set(parent.children.get() - 1);
    parent.ended_children.set(parent.ended_children.get() + 1);
    if let Some(group) = group {
        log::sync(this, RecordKind::SemPost, pc, address(&group.unfinished), 0);
        group.unfinished.set(group.unfinished.get() - 1);
        group.ended.set(group.ended.get() + 1);
    }
    task.is_over.set(true);
    team.unfinished.set(team.unfinished.get() - 1);
    // SAFETY: allocated by `new_task`, used no more.
    unsafe { heap::release(task.block.get() as *mut c_void, pc) };
    teams::stir(team);
}

/// Executes tasks until `is_over`; the ends of tasks are posted to `object`.
fn wait_until(object: usize, is_over: impl Fn() -> bool) {
    let (this, here, pc) = caller();
    let team = team_of(here);
    scheduler::decide(this, Next::of(RecordKind::SemWait, pc, object));
    while !is_over() {
        if !run_one(this, here, team) && !is_over() {
            park(this, pc, address(&team.unfinished));
        }
    }
}

/// Logs one wait for every end that was posted.
fn note_ends(object: usize, ended: &Cell<u32>) {
    let (this, _, pc) = caller();
    for _ in 0..ended.replace(0) {
        log::sync(this, RecordKind::SemWait, pc, object, 0);
    }
}

/// Waits for the children of the calling task.
pub fn wait_for_children() {
    let (_, here, pc) = caller();
    let task = current(here);
    let object = address(&task.children);
    wait_until(object, || task.children.get() == 0);
    super::CALL_PC.store(pc, core::sync::atomic::Ordering::Relaxed);
    note_ends(object, &task.ended_children);
}

pub fn begin_group() {
    let (_, here, _) = caller();
    // SAFETY: fresh zeroed memory is a valid group.
    let group = unsafe { &*reserve(size_of::<Group>()).cast::<Group>() };
    group.outer.set(here.group.get());
    here.group.set(group);
}

pub fn end_group() {
    let (_, here, pc) = caller();
    // SAFETY: groups live as long as the process.
    let Some(group) = (unsafe { here.group.get().as_ref() }) else {
        return;
    };
    let object = address(&group.unfinished);
    wait_until(object, || group.unfinished.get() == 0);
    super::CALL_PC.store(pc, core::sync::atomic::Ordering::Relaxed);
    note_ends(object, &group.ended);
    here.group.set(group.outer.get());
}

/// Lets another task, or another thread, go on.
pub fn yield_now() {
    let (this, here, _) = caller();
    if !run_one(this, here, team_of(here)) {
        livelock::stir();
        scheduler::give_way(this, Next::NOTHING);
    }
}

/// A loop whose pieces become tasks; the first two words of the arguments are a piece's bounds.
pub fn create_for_loop(wish: &TaskArguments, number: u64, from: i64, to: i64, step: i64) {
    let (_, _, pc) = caller();
    let span = (i128::from(to) - i128::from(from)) * i128::from(step.signum());
    let width = i128::from(step).abs().max(1);
    let count = if span > 0 {
        (span + width - 1) / width
    } else {
        0
    };
    let number = i128::from(number).max(1);
    let pieces = if wish.flags & GRAIN_SIZE != 0 {
        count / number
    } else {
        number.min(count)
    };
    let pieces = pieces.clamp(i128::from(count > 0), count);
    if wish.flags & NO_GROUP == 0 {
        begin_group();
    }
    for piece in 0..pieces {
        let bound = |at: i128| (i128::from(from) + count * at / pieces * i128::from(step)) as i64;
        super::CALL_PC.store(pc, core::sync::atomic::Ordering::Relaxed);
        let (this, here, pc) = caller();
        let task = new_task(this, here, wish, pc);
        // SAFETY: the arguments begin with two words for the bounds.
        unsafe {
            let bounds = task.data.get() as *mut i64;
            bounds.write(bound(piece));
            bounds.add(1).write(bound(piece + 1));
        }
        submit(this, here, task, wish.deferred);
    }
    super::CALL_PC.store(pc, core::sync::atomic::Ordering::Relaxed);
    if wish.flags & NO_GROUP == 0 {
        end_group();
    }
}

/// Keeps the task's dependences, and adds it to the dependent children of its parent.
fn note_dependences(task: &'static Task, parent: &Task, list: *const usize) {
    // SAFETY: the compiler's list: its length is in its first word, or in the second of a longer form.
    unsafe {
        let words = if *list == 0 {
            *list.add(1) + 5
        } else {
            *list + 2
        };
        let copy = reserve(words * size_of::<usize>()).cast::<usize>();
        for word in 0..words {
            copy.add(word).write(*list.add(word));
        }
        task.depends.set(copy);
    }
    task.older.set(parent.dependent.get());
    parent.dependent.set(task);
}

/// Calls `each` for each address that the task depends on, with `true` if it writes there.
fn for_each_dependence(task: &Task, mut each: impl FnMut(usize, bool)) {
    let list = task.depends.get();
    if list.is_null() {
        return;
    }
    // SAFETY: copied from the compiler's list.
    unsafe {
        let is_long = *list == 0;
        let (count, writes, first) = if is_long {
            (*list.add(1), *list.add(2) + *list.add(3), 5)
        } else {
            (*list, *list.add(1), 2)
        };
        for at in 0..count {
            each(*list.add(first + at), at < writes);
        }
    }
}

/// Returns whether no older sibling that has not ended stands in its way.
fn is_ready(task: &Task) -> bool {
    let mut older = task.older.get();
    // SAFETY: tasks live as long as the process.
    while let Some(other) = unsafe { older.as_ref() } {
        if !other.is_over.get() && conflicts(task, other) {
            return false;
        }
        older = other.older.get();
    }
    true
}

fn conflicts(task: &Task, other: &Task) -> bool {
    let mut found = false;
    for_each_dependence(task, |object, writes| {
        for_each_dependence(other, |same, also_writes| {
            found |= object == same && (writes || also_writes);
        });
    });
    found
}
