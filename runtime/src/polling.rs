//! Waiting for several descriptors: `poll`, `select`, `epoll_wait` and their variants.

use crate::{
    blocking::{Pollfds, check},
    descriptors,
    entry::entry,
    input::{Answer, Parts, exchange, part},
    live,
    mutex::ready,
    next::Next,
    real::real,
    scheduler::{self, Waited},
    state::{SHARED, Thread, Wait, controlled, unrecorded},
    threads, timers,
};
use core::{
    cell::Cell,
    ffi::{c_int, c_short},
};
use libc::{POLLIN, POLLOUT, POLLPRI, fd_set, pollfd, sigset_t, timespec, timeval};
use unsnarl_trace::raw::{Call, RecordKind};

/// Bound for the events that one `epoll_wait` gives.
const MOST_EVENTS: usize = 64;

/// The array of a thread that is inside `poll`.
///
/// # Safety
/// It is still there.
pub unsafe fn array<'a>(descriptors: usize, count: usize) -> &'a [pollfd] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { core::slice::from_raw_parts(descriptors as *const pollfd, count) }
}

/// Returns whether `poll` on these would not wait.
pub fn any_ready(descriptors: usize, count: usize) -> bool {
    // SAFETY: the array of a thread that is inside `poll`, so it is still there.
    let mut left = unsafe { array(descriptors, count) }.iter();
    loop {
        let mut asked = Pollfds::new();
        let fits = left.find(|one| one.fd >= 0 && !asked.add(one.fd, one.events));
        if !asked.is_empty() && asked.poll(0) != 0 {
            return true;
        }
        match fits {
            Some(one) if crate::blocking::is_ready(one.fd, one.events) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Time for which a call waits, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    None,
    Until(u64),
    Endless,
}

impl Patience {
    fn nanoseconds(span: u64) -> Patience {
        match span {
            0 => Patience::None,
            span => Patience::Until(SHARED.clock.get().saturating_add(span)),
        }
    }

    fn milliseconds(span: c_int) -> Patience {
        u64::try_from(span).map_or(Patience::Endless, |span| {
            Patience::nanoseconds(span * 1_000_000)
        })
    }

    /// # Safety
    /// `span` is null or valid.
    unsafe fn timespec(span: *const timespec) -> Patience {
        // SAFETY: the caller's.
        unsafe { span.as_ref() }.map_or(Patience::Endless, |span| {
            Patience::nanoseconds(span.tv_sec as u64 * 1_000_000_000 + span.tv_nsec as u64)
        })
    }

    /// # Safety
    /// `span` is null or valid.
    unsafe fn timeval(span: *const timeval) -> Patience {
        // SAFETY: the caller's.
        unsafe { span.as_ref() }.map_or(Patience::Endless, |span| {
            Patience::nanoseconds(span.tv_sec as u64 * 1_000_000_000 + span.tv_usec as u64 * 1_000)
        })
    }
}

/// Waits until there is an answer or the time is over, then asks; others run in between.
fn ask(
    this: &Thread,
    (wish, patience): (Wait, Patience),
    parts: Parts,
    pc: u64,
    foreign: impl FnOnce() -> bool,
    is_there: impl Fn(&[u8]) -> bool,
    question: impl Fn() -> Answer,
) -> c_int {
    let next = Next::of(RecordKind::Yield, pc, 0);
    let next = Next { pc: 0, ..next };
    let mut ended = Waited::Granted;
    if patience == Patience::None {
        scheduler::count_idle(this, next);
    } else {
        let deadline = match patience {
            Patience::Until(deadline) => deadline,
            _ => 0,
        };
        this.forced.set(false);
        ended = scheduler::block_or_signal(this, Next { pc, ..next }, wish, deadline, false);
        this.forced.set(false);
    }
    threads::act_on_cancel(this);
    exchange(this, Call::Poll, parts, pc, foreign, || match ended {
        Waited::Interrupted => Answer::error(libc::EINTR),
        _ => ask_as_seen(this, parts, is_there, || unrecorded(this, question)),
    })
    .result as c_int
}

/// Asks which descriptors are ready, where a run is repeated whose input is said anew: those that were ready then.
fn ask_as_seen(
    this: &Thread,
    parts: Parts,
    is_there: impl Fn(&[u8]) -> bool,
    question: impl FnOnce() -> Answer,
) -> Answer {
    let Some(seen) = live::Seen::current(this, Call::Poll) else {
        return question();
    };
    seen.keep_time();
    let answer = unrecorded(this, || seen.readiness(parts, is_there));
    answer.unwrap_or_else(question)
}

/// The records of this type that recorded bytes hold.
fn records<T: Copy>(bytes: &[u8]) -> impl Iterator<Item = T> {
    let whole = bytes.chunks_exact(size_of::<T>());
    // SAFETY: as many bytes as the type has, of plain data.
    whole.map(|one| unsafe { one.as_ptr().cast::<T>().read_unaligned() })
}

/// `poll` and `ppoll`; `question` asks without waiting.
///
/// # Safety
/// As `poll`.
unsafe fn poll_descriptors(
    this: &Thread,
    descriptors: *mut pollfd,
    count: usize,
    patience: Patience,
    pc: u64,
) -> c_int {
    let library = real!("poll", fn(*mut pollfd, usize, c_int) -> c_int);
    let wish = Wait::Poll {
        descriptors: descriptors as usize,
        count,
    };
    let bytes = count * size_of::<pollfd>();
    let room = part(descriptors.cast(), bytes);
    // SAFETY: the program's own array.
    let all = unsafe { array(descriptors as usize, count) };
    let foreign = || {
        all.iter()
            .any(|one| one.fd >= 0 && may_be_fed_from_outside(one.fd))
    };
    ask(
        this,
        (wish, patience),
        Parts::new(&room, 1),
        pc,
        foreign,
        |bytes| {
            let mut ready = records::<pollfd>(bytes).filter(|one| one.revents != 0);
            ready.all(|one| live::is_ready_again(one.fd, one.revents))
        },
        || {
            // SAFETY: the program's own call, without the wait.
            let answer = Answer::of(i64::from(unsafe { library(descriptors, count, 0) }));
            Answer { bytes, ..answer }
        },
    )
}

pub unsafe extern "C-unwind" fn on_poll(
    descriptors: *mut pollfd,
    count: usize,
    milliseconds: c_int,
    pc: u64,
) -> c_int {
    let library = real!("poll", fn(*mut pollfd, usize, c_int) -> c_int);
    match ready(pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own call.
            unsafe {
                poll_descriptors(
                    this,
                    descriptors,
                    count,
                    Patience::milliseconds(milliseconds),
                    pc,
                )
            }
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(descriptors, count, milliseconds) },
    }
}

unsafe extern "C-unwind" fn on_poll_chk(
    descriptors: *mut pollfd,
    count: usize,
    milliseconds: c_int,
    room: usize,
    pc: u64,
) -> c_int {
    check(count * size_of::<pollfd>(), room);
    // SAFETY: the program's own call.
    unsafe { on_poll(descriptors, count, milliseconds, pc) }
}

unsafe extern "C-unwind" fn on_ppoll(
    descriptors: *mut pollfd,
    count: usize,
    span: *const timespec,
    mask: *const sigset_t,
    pc: u64,
) -> c_int {
    let library = real!(
        "ppoll",
        fn(*mut pollfd, usize, *const timespec, *const sigset_t) -> c_int
    );
    match ready(pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own arguments.
            let patience = unsafe { Patience::timespec(span) };
            // SAFETY: the program's own call.
            with_mask(mask, || unsafe {
                poll_descriptors(this, descriptors, count, patience, pc)
            })
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(descriptors, count, span, mask) },
    }
}

unsafe extern "C-unwind" fn on_ppoll_chk(
    descriptors: *mut pollfd,
    count: usize,
    span: *const timespec,
    mask: *const sigset_t,
    room: usize,
    pc: u64,
) -> c_int {
    check(count * size_of::<pollfd>(), room);
    // SAFETY: the program's own call.
    unsafe { on_ppoll(descriptors, count, span, mask, pc) }
}

/// Makes a call with another set of blocked signals.
fn with_mask(mask: *const sigset_t, call: impl FnOnce() -> c_int) -> c_int {
    if mask.is_null() {
        return call();
    }
    let library = real!(
        "pthread_sigmask",
        fn(c_int, *const sigset_t, *mut sigset_t) -> c_int
    );
    // SAFETY: the program's own mask, and a place for the one before.
    unsafe {
        let mut before: sigset_t = core::mem::zeroed();
        library(libc::SIG_SETMASK, mask, &mut before);
        let result = call();
        let error = crate::input::errno();
        library(libc::SIG_SETMASK, &before, core::ptr::null_mut());
        crate::input::fail(error);
        result
    }
}

/// The sets of `select`, as the program gave them.
#[derive(Clone, Copy)]
struct Sets {
    count: c_int,
    all: [*mut fd_set; 3],
}

impl Sets {
    /// The equivalent descriptors for `poll`: as many as fit, and `true` if all did.
    fn as_pollfds(&self) -> (Pollfds, bool) {
        let mut wanted = Pollfds::new();
        let mut all_fit = true;
        for fd in 0..self.count.clamp(0, libc::FD_SETSIZE as c_int) {
            let bits = [POLLIN, POLLOUT, POLLPRI];
            let asked = self
                .all
                .iter()
                .zip(bits)
                .fold(0, |events: c_short, (set, bit)| {
                    // SAFETY: a set of the program's, or null; `fd` is below its size.
                    let has = !set.is_null() && unsafe { libc::FD_ISSET(fd, *set) };
                    if has { events | bit } else { events }
                });
            all_fit &= asked == 0 || wanted.add(fd, asked);
        }
        (wanted, all_fit)
    }

    /// Returns whether the descriptors of recorded sets are ready now, as far as the outside decides that. The bytes are those
    /// of the sets that are there, one after the other.
    fn are_ready_again(&self, bytes: &[u8]) -> bool {
        let each = (self.count.max(0) as usize).div_ceil(64) * 8;
        let kinds = [POLLIN, POLLOUT, POLLPRI].into_iter().zip(self.all);
        let there = kinds.filter(|(_, set)| !set.is_null());
        let mut sets = there.zip(bytes.chunks(each.max(1)));
        sets.all(|((events, _), set)| {
            (0..self.count).all(|fd| {
                let byte = set.get(fd as usize / 8).copied().unwrap_or(0);
                byte >> (fd % 8) & 1 == 0 || live::is_ready_again(fd, events)
            })
        })
    }

    /// The bytes of the sets that the kernel examines, as parts.
    fn parts(&self) -> [libc::iovec; 3] {
        let bytes = (self.count.max(0) as usize).div_ceil(64) * 8;
        self.all
            .map(|set| part(set.cast(), if set.is_null() { 0 } else { bytes }))
    }
}

/// `select` and `pselect`.
fn select_descriptors(this: &Thread, sets: Sets, patience: Patience, pc: u64) -> c_int {
    let library = real!(
        "select",
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int
    );
    let (wanted, all_fit) = sets.as_pollfds();
    if !all_fit {
        crate::failure::unsupported(c"select on more than 64 descriptors: use poll");
    }
    let wish = Wait::Poll {
        descriptors: wanted.get().as_ptr() as usize,
        count: wanted.get().len(),
    };
    let parts = sets.parts();
    let bytes = parts.iter().map(|part| part.iov_len).sum();
    let foreign = || {
        wanted
            .get()
            .iter()
            .any(|one| may_be_fed_from_outside(one.fd))
    };
    let [read, write, except] = sets.all;
    ask(
        this,
        (wish, patience),
        Parts::new(parts.as_ptr(), 3),
        pc,
        foreign,
        |bytes| sets.are_ready_again(bytes),
        || {
            let mut now = timeval {
                tv_sec: 0,
                tv_usec: 0,
            };
            // SAFETY: the program's own call, without the wait.
            let result = unsafe { library(sets.count, read, write, except, &mut now) };
            Answer {
                bytes,
                ..Answer::of(i64::from(result))
            }
        },
    )
}

unsafe extern "C-unwind" fn on_select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
    pc: u64,
) -> c_int {
    let library = real!(
        "select",
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *mut timeval) -> c_int
    );
    let sets = Sets {
        count,
        all: [read, write, except],
    };
    match ready(pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own argument.
            select_descriptors(this, sets, unsafe { Patience::timeval(timeout) }, pc)
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(count, read, write, except, timeout) },
    }
}

unsafe extern "C-unwind" fn on_pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
    pc: u64,
) -> c_int {
    let library = real!(
        "pselect",
        fn(c_int, *mut fd_set, *mut fd_set, *mut fd_set, *const timespec, *const sigset_t) -> c_int
    );
    let sets = Sets {
        count,
        all: [read, write, except],
    };
    match ready(pc) {
        Some(this) if controlled() => {
            // SAFETY: the program's own argument.
            let patience = unsafe { Patience::timespec(timeout) };
            with_mask(mask, || select_descriptors(this, sets, patience, pc))
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(count, read, write, except, timeout, mask) },
    }
}

/// A descriptor in a set of the program's.
struct PolledDescriptor {
    epoll: Cell<c_int>,
    fd: Cell<c_int>,
    data: Cell<u64>,
}

const MEMBERS: usize = 2048;

struct PolledSet([PolledDescriptor; MEMBERS], Cell<usize>);

// SAFETY: used by the thread that has the turn.
unsafe impl Sync for PolledSet {}

static REGISTERED: PolledSet = PolledSet(
    [const {
        PolledDescriptor {
            epoll: Cell::new(-1),
            fd: Cell::new(-1),
            data: Cell::new(0),
        }
    }; MEMBERS],
    Cell::new(0),
);

fn members(epoll: c_int) -> impl Iterator<Item = &'static PolledDescriptor> {
    let used = REGISTERED.0.iter().take(REGISTERED.1.get());
    used.filter(move |member| member.epoll.get() == epoll)
}

/// Returns whether the descriptor may become ready from outside; a set's members decide for it.
pub fn may_be_fed_from_outside(fd: c_int) -> bool {
    descriptors::may_be_fed_from_outside(fd)
        || members(fd).any(|member| {
            member.fd.get() != fd && descriptors::may_be_fed_from_outside(member.fd.get())
        })
}

fn register(epoll: c_int, fd: c_int, data: u64) {
    let known = members(epoll).find(|member| member.fd.get() == fd);
    let free = || REGISTERED.0.iter().find(|member| member.epoll.get() < 0);
    let Some(place) = known.or_else(free) else {
        crate::failure::unsupported(c"more than 2048 descriptors in epoll sets");
    };
    place.epoll.set(epoll);
    place.fd.set(fd);
    place.data.set(data);
    let index = (core::ptr::from_ref(place) as usize - REGISTERED.0.as_ptr() as usize)
        / size_of::<PolledDescriptor>();
    REGISTERED.1.set(REGISTERED.1.get().max(index + 1));
}

unsafe extern "C-unwind" fn on_epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
    pc: u64,
) -> c_int {
    let library = real!(
        "epoll_ctl",
        fn(c_int, c_int, c_int, *mut libc::epoll_event) -> c_int
    );
    // SAFETY: the program's own call.
    let call = || unsafe { library(epoll, operation, fd, event) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    scheduler::decide(this, Next::NOTHING);
    let status = unrecorded(this, call);
    if status == 0 && operation == libc::EPOLL_CTL_DEL {
        let gone = members(epoll).find(|member| member.fd.get() == fd);
        gone.into_iter().for_each(|member| member.epoll.set(-1));
    } else if status == 0 && !event.is_null() {
        // SAFETY: the program's own argument; the structure is packed.
        register(epoll, fd, unsafe { (*event).u64 });
    }
    status
}

/// A ready descriptor, without the program's data for it: that may be an address.
#[derive(Clone, Copy)]
#[repr(C)]
struct ReadyOne {
    fd: c_int,
    events: u32,
}

fn epoll_descriptors(
    this: &Thread,
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    patience: Patience,
    pc: u64,
) -> c_int {
    let library = real!(
        "epoll_wait",
        fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int
    );
    let mut list = [ReadyOne { fd: -1, events: 0 }; MOST_EVENTS];
    let place = list.as_mut_ptr();
    let room = part(place.cast(), size_of_val(&list));
    let most = most.min(MOST_EVENTS as c_int);
    let foreign = || may_be_fed_from_outside(epoll);
    let parts = Parts::new(&room, 1);
    let ready = ask(
        this,
        (Wait::Input(epoll), patience),
        parts,
        pc,
        foreign,
        |bytes| {
            let mut ready = records::<ReadyOne>(bytes);
            ready.all(|one| live::is_ready_again(one.fd, one.events as c_short))
        },
        || {
            // SAFETY: the program's own call, without the wait.
            let result = unsafe { library(epoll, events, most, 0) };
            let count = result.max(0) as usize;
            for i in 0..count {
                // SAFETY: the kernel has filled this many; the list is as long as the most.
                unsafe { *place.add(i) = named(epoll, &*events.add(i)) };
            }
            Answer {
                bytes: count * size_of::<ReadyOne>(),
                ..Answer::of(i64::from(result))
            }
        },
    );
    for i in 0..ready.max(0) as usize {
        // SAFETY: no more than the program has room for; both arrays are this long.
        unsafe {
            let one = *place.add(i);
            let data = members(epoll).find(|member| member.fd.get() == one.fd);
            let event = &mut *events.add(i);
            event.events = one.events;
            if let Some(member) = data {
                event.u64 = member.data.get();
            }
        }
    }
    ready
}

/// The descriptor that an event is about.
fn named(epoll: c_int, event: &libc::epoll_event) -> ReadyOne {
    let data = event.u64;
    let member = members(epoll).find(|member| member.data.get() == data);
    ReadyOne {
        fd: member.map_or(-1, |member| member.fd.get()),
        events: event.events,
    }
}

unsafe extern "C-unwind" fn on_epoll_wait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    milliseconds: c_int,
    pc: u64,
) -> c_int {
    let library = real!(
        "epoll_wait",
        fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int
    );
    match ready(pc) {
        Some(this) if controlled() && most > 0 => {
            let patience = Patience::milliseconds(milliseconds);
            epoll_descriptors(this, epoll, events, most, patience, pc)
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(epoll, events, most, milliseconds) },
    }
}

unsafe extern "C-unwind" fn on_epoll_pwait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    milliseconds: c_int,
    mask: *const sigset_t,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    with_mask(mask, || unsafe {
        on_epoll_wait(epoll, events, most, milliseconds, pc)
    })
}

unsafe extern "C-unwind" fn on_epoll_pwait2(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    span: *const timespec,
    mask: *const sigset_t,
    pc: u64,
) -> c_int {
    let library = real!(
        "epoll_pwait2",
        fn(c_int, *mut libc::epoll_event, c_int, *const timespec, *const sigset_t) -> c_int
    );
    match ready(pc) {
        Some(this) if controlled() && most > 0 => {
            // SAFETY: the program's own argument.
            let patience = unsafe { Patience::timespec(span) };
            with_mask(mask, || {
                epoll_descriptors(this, epoll, events, most, patience, pc)
            })
        }
        // SAFETY: the program's own call.
        _ => unsafe { library(epoll, events, most, span, mask) },
    }
}

/// Forgets a closed descriptor: it leaves the sets that it was in, and is no set any more.
pub fn forget(fd: c_int) {
    timers::forget(fd);
    let used = REGISTERED.0.iter().take(REGISTERED.1.get());
    used.filter(|member| member.epoll.get() == fd || member.fd.get() == fd)
        .for_each(|member| member.epoll.set(-1));
}

unsafe extern "C-unwind" fn on_close(fd: c_int, pc: u64) -> c_int {
    let library = real!("close", fn(c_int) -> c_int);
    // SAFETY: the program's own call.
    let call = || unsafe { library(fd) };
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        return call();
    };
    // Others may be in the middle of using it: closing is a step like any other.
    scheduler::decide(this, Next::NOTHING);
    threads::act_on_cancel(this);
    forget(fd);
    unrecorded(this, call)
}

entry! {
    poll, "rcx" => on_poll;
    __poll_chk, "r8" => on_poll_chk;
    ppoll, "r8" => on_ppoll;
    __ppoll_chk, "r9" => on_ppoll_chk;
    select, "r9" => on_select;
    epoll_wait, "r8" => on_epoll_wait;
    epoll_pwait, "r9" => on_epoll_pwait;
    epoll_pwait2, "r9" => on_epoll_pwait2;
    epoll_ctl, "r8" => on_epoll_ctl;
    close, "rsi" => on_close;
}

crate::entry::entry_on_stack! {
    pselect => on_pselect;
}
