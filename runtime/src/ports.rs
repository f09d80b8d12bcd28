//! Names of sockets. The kernel draws the ports of sockets that ask for any, so a replay gives the program those of
//! the recorded run, and translates them back where the program names a socket by them.

use crate::{
    access,
    entry::entry,
    input::{self, Answer, Parts, exchange_alike, part},
    mutex::ready,
    next::Next,
    real::real,
    scheduler,
    state::{Thread, controlled, unrecorded},
};
use core::{cell::Cell, ffi::c_int, mem::size_of, slice};
use libc::{AF_INET, AF_INET6, sockaddr};
use unsnarl_trace::raw::{Call, Input};

/// Bytes of the length that comes before the name.
const LENGTH: usize = size_of::<u32>();
/// Offset of the port in the name of an internet socket.
const PORT: usize = 2;
const PAIRS: usize = 256;
/// Size that holds the name of any internet socket. It is small enough to be moved without a call of `memcpy`, which
/// would be recorded.
const NAME: usize = 32;

/// A port as the program knows it, and as the kernel does; in network byte order.
struct PortPair {
    told: Cell<[u8; 2]>,
    real: Cell<[u8; 2]>,
}

struct PortPairs {
    all: [PortPair; PAIRS],
    next: Cell<usize>,
}

// SAFETY: used by the thread that has the turn.
unsafe impl Sync for PortPairs {}

static KNOWN: PortPairs = PortPairs {
    all: [const {
        PortPair {
            told: Cell::new([0; 2]),
            real: Cell::new([0; 2]),
        }
    }; PAIRS],
    next: Cell::new(0),
};

/// Notes that the program knows this port by another number from now on.
fn remember(told: [u8; 2], real: [u8; 2]) {
    let again = KNOWN.all.iter().find(|pair| pair.told.get() == told);
    let nth = KNOWN.next.get();
    if let Some(place) = again.or_else(|| KNOWN.all.get(nth % PAIRS)) {
        place.told.set(told);
        place.real.set(real);
        KNOWN.next.set(nth + usize::from(again.is_none()));
    }
}

fn real_port(told: [u8; 2]) -> Option<[u8; 2]> {
    let known = KNOWN.all.iter().find(|pair| pair.told.get() == told);
    known
        .map(|pair| pair.real.get())
        .filter(|real| *real != [0; 2])
}

/// The port in an internet socket's name.
fn port_of(name: &[u8]) -> Option<[u8; 2]> {
    let [low, high, first, second, ..] = name else {
        return None;
    };
    let family = c_int::from(u16::from_ne_bytes([*low, *high]));
    matches!(family, AF_INET | AF_INET6).then_some([*first, *second])
}

/// A name as the kernel knows the socket.
pub struct Real {
    copy: [u8; NAME],
    given: *const sockaddr,
    is_other: bool,
}

impl Real {
    /// The name, or a copy of it with the port that the socket has this time.
    ///
    /// # Safety
    /// Null, or `length` bytes are readable.
    pub unsafe fn of(given: *const sockaddr, length: u32) -> Real {
        let mut copy = [0; NAME];
        let same = Real {
            copy,
            given,
            is_other: false,
        };
        let length = length as usize;
        if given.is_null() || !input::replays() || length > copy.len() {
            return same;
        }
        for (i, place) in copy.iter_mut().take(length).enumerate() {
            // SAFETY: the caller's.
            *place = unsafe { given.cast::<u8>().add(i).read_volatile() };
        }
        let Some(real) = port_of(&copy).and_then(real_port) else {
            return same;
        };
        for (place, byte) in copy.iter_mut().skip(PORT).zip(real) {
            *place = byte;
        }
        Real {
            copy,
            given,
            is_other: true,
        }
    }

    /// The name for the kernel.
    pub fn name(&self) -> *const sockaddr {
        match self.is_other {
            true => self.copy.as_ptr().cast(),
            false => self.given,
        }
    }
}

/// Memory that a call fills with a socket's name.
#[derive(Clone, Copy)]
pub struct NameBuffer {
    to: *mut u8,
    length: *mut u32,
    room: usize,
}

impl NameBuffer {
    /// The arguments of `accept` before the call: the length gives the room.
    ///
    /// # Safety
    /// Null, or valid.
    pub unsafe fn new(to: *mut sockaddr, length: *mut u32) -> NameBuffer {
        // SAFETY: the caller's.
        let room = unsafe { length.as_ref() }.map_or(0, |length| *length as usize);
        NameBuffer {
            to: to.cast(),
            length,
            room,
        }
    }

    fn is_wanted(&self) -> bool {
        !self.to.is_null() && !self.length.is_null()
    }

    /// Bytes of the name that were filled in.
    fn filled(&self) -> usize {
        // SAFETY: where it is wanted, the length is valid.
        self.room.min(unsafe { *self.length } as usize)
    }

    /// Makes a call that fills in the name, and gives back the recorded one.
    fn exchange(&self, this: &Thread, pc: u64, make: impl FnOnce() -> c_int) -> c_int {
        let parts = [part(self.length.cast(), LENGTH), part(self.to, self.room)];
        let parts = Parts::new(parts.as_ptr(), parts.len());
        let made = Cell::new(None);
        let make = || {
            let status = Answer::of(i64::from(make()));
            if status.result < 0 {
                return status;
            }
            made.set(self.port());
            Answer {
                bytes: LENGTH + self.filled(),
                ..status
            }
        };
        let status = exchange_alike(this, Call::Other, parts, pc, is_alike, make).result as c_int;
        if let (0, Some(real), Some(told)) = (status, made.get(), self.port()) {
            remember(told, real);
        }
        status
    }

    fn port(&self) -> Option<[u8; 2]> {
        // SAFETY: the call has filled in so many bytes.
        port_of(unsafe { slice::from_raw_parts(self.to, self.filled()) })
    }

    /// Gives back the name after a call that has filled it in on the side.
    pub fn give_back(&self, this: &Thread, pc: u64) {
        if self.is_wanted() && controlled() {
            self.exchange(this, pc, || 0);
            self.log(this, pc);
        }
    }

    fn log(&self, this: &Thread, pc: u64) {
        access::log_written(this, self.to, self.filled(), pc);
        access::log_written(this, self.length.cast(), LENGTH, pc);
    }
}

/// Returns whether the call had the same outcome: ports differ each time.
fn is_alike(entry: &'static Input, answer: Answer) -> bool {
    entry.result == answer.result && entry.length as usize == answer.bytes
}

macro_rules! names {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C-unwind" fn $function(
            fd: c_int,
            to: *mut sockaddr,
            length: *mut u32,
            pc: u64,
        ) -> c_int {
            let library = real!($name, fn(c_int, *mut sockaddr, *mut u32) -> c_int);
            // SAFETY: the program's own call.
            let (call, place) = unsafe { (|| library(fd, to, length), NameBuffer::new(to, length)) };
            match ready(pc).filter(|_| controlled() && place.is_wanted()) {
                Some(this) => {
                    scheduler::decide(this, Next::NOTHING);
                    let status = place.exchange(this, pc, || unrecorded(this, call));
                    if status == 0 {
                        place.log(this, pc);
                    }
                    status
                }
                None => call(),
            }
        }
    )*};
}

names! {
    on_getsockname, "getsockname";
    on_getpeername, "getpeername";
}

unsafe extern "C-unwind" fn on_bind(
    fd: c_int,
    name: *const sockaddr,
    length: u32,
    pc: u64,
) -> c_int {
    let library = real!("bind", fn(c_int, *const sockaddr, u32) -> c_int);
    let Some(this) = ready(pc).filter(|_| controlled()) else {
        // SAFETY: the program's own call.
        return unsafe { library(fd, name, length) };
    };
    scheduler::decide(this, Next::NOTHING);
    // SAFETY: the program's own call.
    unrecorded(this, || unsafe {
        library(fd, Real::of(name, length).name(), length)
    })
}

entry! {
    getsockname, "rcx" => on_getsockname;
    getpeername, "rcx" => on_getpeername;
    bind, "rcx" => on_bind;
}
