//! Sources of descriptors: another part of this process, whose steps belong to the run, or the outside world, whose
//! input has to be recorded.

use crate::{state::SHARED, sys};
use core::{
    cell::Cell,
    ffi::{c_int, c_void},
};

/// The source of a descriptor's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// This process, or a constant source.
    Inside,
    /// A file or folder, which never waits.
    File,
    /// Another process, which may make the reader wait.
    Outside,
    /// Random numbers.
    Random,
}

/// Bound for the descriptors that are searched for the other end of a connection.
const SEARCHED: c_int = 1024;
const PIPES: usize = 256;

/// The inodes of pipes and sockets that were made here since the last `fork`: no other process has
/// their other end.
struct OwnInodes {
    inodes: [Cell<u64>; PIPES],
    next: Cell<usize>,
}

// SAFETY: used by the thread that has the turn.
unsafe impl Sync for OwnInodes {}

static OWN: OwnInodes = OwnInodes {
    inodes: [const { Cell::new(0) }; PIPES],
    next: Cell::new(0),
};

/// Status of a descriptor according to the kernel.
pub fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: a valid place; an invalid descriptor is an error.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let place = &raw mut status as usize;
        (sys::call(libc::SYS_fstat, [fd as usize, place, 0, 0, 0, 0]) == 0).then_some(status)
    }
}

/// Notes a pipe or a pair of sockets made by the program.
pub fn note_own(fd: c_int) {
    let (Some(status), Some(place)) = (status(fd), OWN.inodes.get(OWN.next.get())) else {
        return;
    };
    place.set(status.st_ino);
    OWN.next.set((OWN.next.get() + 1) % PIPES);
}

/// Forgets all noted pipes and sockets: a child process has copies of all descriptors.
pub fn forget_own() {
    OWN.inodes.iter().for_each(|inode| inode.set(0));
    CONNECTED.0.iter().for_each(|known| known.inode.set(0));
}

fn is_own(status: &libc::stat) -> bool {
    OWN.inodes.iter().any(|inode| inode.get() == status.st_ino)
}

/// Cached answers about connected sockets, by inode: the search for the other end is slow.
struct Known {
    inode: Cell<u64>,
    inside: Cell<bool>,
}

struct Cache([Known; PIPES]);

// SAFETY: used by the thread that has the turn.
unsafe impl Sync for Cache {}

static CONNECTED: Cache = Cache(
    [const {
        Known {
            inode: Cell::new(0),
            inside: Cell::new(false),
        }
    }; PIPES],
);

/// The source of a descriptor.
pub fn source(fd: c_int) -> Source {
    let Some(status) = status(fd) else {
        return Source::Inside;
    };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => Source::File,
        libc::S_IFCHR => character_device(status.st_rdev),
        libc::S_IFIFO if is_own(&status) => Source::Inside,
        libc::S_IFIFO => Source::Outside,
        libc::S_IFSOCK if is_own(&status) || is_connected_to_self(fd, status.st_ino) => {
            Source::Inside
        }
        libc::S_IFSOCK => Source::Outside,
        // Event counters, timers, sets of descriptors: what the program makes of them.
        _ => Source::Inside,
    }
}

fn character_device(device: libc::dev_t) -> Source {
    const MEMORY: u32 = 1;
    match (libc::major(device), libc::minor(device)) {
        (MEMORY, 3 | 5 | 7) => Source::Inside,
        (MEMORY, 8 | 9) => Source::Random,
        _ => Source::Outside,
    }
}

/// Returns whether a thread that waits for the descriptor may go on although no thread of this process can act.
pub fn may_be_fed_from_outside(fd: c_int) -> bool {
    SHARED.children.get() > 0 && status(fd).is_some_and(|status| status.st_mode & libc::S_IFMT != 0)
        || !matches!(source(fd), Source::Inside)
}

/// A socket's address as the kernel gives it.
#[derive(Clone, Copy)]
struct Address {
    bytes: [u8; 128],
    length: usize,
}

impl Address {
    fn of(fd: c_int, call: libc::c_long) -> Option<Address> {
        let mut bytes = [0; 128];
        let mut length: u32 = 128;
        let (place, room) = (bytes.as_mut_ptr() as usize, &raw mut length as usize);
        // SAFETY: a valid place of this length.
        let status = unsafe { sys::call(call, [fd as usize, place, room, 0, 0, 0]) };
        (status == 0).then_some(Address {
            bytes,
            length: (length as usize).min(128),
        })
    }

    fn family(&self) -> c_int {
        let [low, high, ..] = self.bytes;
        c_int::from(u16::from_ne_bytes([low, high]))
    }

    /// The port of an internet address.
    fn port(&self) -> [u8; 2] {
        let [_, _, high, low, ..] = self.bytes;
        [high, low]
    }

    /// The host of an internet address.
    fn host(&self) -> &[u8] {
        match self.family() {
            libc::AF_INET => self.bytes.get(4..8).unwrap_or(&[]),
            _ => self.bytes.get(8..24).unwrap_or(&[]),
        }
    }

    /// Returns whether a socket bound to this address receives messages sent to `other`.
    fn answers_to(&self, other: &Address) -> bool {
        if self.family() != other.family() {
            return false;
        }
        match self.family() {
            libc::AF_INET | libc::AF_INET6 => {
                let mine = self.host();
                self.port() == other.port()
                    && (same(mine, other.host()) || mine.iter().all(|byte| *byte == 0))
            }
            _ => self.length > 2 && self.length == other.length && same(&self.bytes, &other.bytes),
        }
    }
}

/// Compares two slices in a loop of its own: comparing them as slices would call `memcmp`, which is recorded.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| core::hint::black_box(*a) == *b)
}

fn is_connected_to_self(fd: c_int, inode: u64) -> bool {
    let place = CONNECTED.0.get(inode as usize % PIPES);
    if let Some(known) = place.filter(|known| known.inode.get() == inode) {
        return known.inside.get();
    }
    let Some(inside) = search_other_end(fd) else {
        return false;
    };
    if let Some(known) = place {
        known.inode.set(inode);
        known.inside.set(inside);
    }
    inside
}

/// Returns whether the other end is in this process; `None` while there is none.
fn search_other_end(fd: c_int) -> Option<bool> {
    if option::<c_int>(fd, libc::SO_DOMAIN) == Some(libc::AF_UNIX) {
        let peer = option::<libc::ucred>(fd, libc::SO_PEERCRED).filter(|peer| peer.pid != 0);
        if let Some(peer) = peer {
            return Some(SHARED.children.get() == 0 && peer.pid == sys::process_id());
        }
    }
    Address::of(fd, libc::SYS_getpeername).map(|peer| is_ours(&peer))
}

/// Returns whether a socket of this process is bound to the address.
fn is_ours(address: &Address) -> bool {
    (0..SEARCHED).any(|fd| {
        Address::of(fd, libc::SYS_getsockname).is_some_and(|name| name.answers_to(address))
    })
}

/// Returns whether the sender of a datagram, as `recvfrom` names it, is a socket of this process.
///
/// # Safety
/// `length` bytes at `address` are readable.
pub unsafe fn is_own_sender(address: *const c_void, length: usize) -> bool {
    let mut copy = Address {
        bytes: [0; 128],
        length: length.min(128),
    };
    for (i, place) in copy.bytes.iter_mut().take(length).enumerate() {
        // SAFETY: the caller's.
        *place = unsafe { address.cast::<u8>().add(i).read_volatile() };
    }
    length > 2 && is_ours(&copy)
}

fn option<T: Copy>(fd: c_int, name: c_int) -> Option<T> {
    // SAFETY: an option is plain data; the kernel is told its size.
    unsafe {
        let mut value: T = core::mem::zeroed();
        let mut length = size_of::<T>() as u32;
        let (place, room) = (&raw mut value as usize, &raw mut length as usize);
        let (level, name) = (libc::SOL_SOCKET as usize, name as usize);
        let arguments = [fd as usize, level, name, place, room, 0];
        let status = sys::call(libc::SYS_getsockopt, arguments);
        (status == 0).then_some(value)
    }
}

/// Longest wait of a socket in this direction; 0 for ever, `None` for other descriptors.
pub fn patience_of_socket(fd: c_int, receives: bool) -> Option<u64> {
    let name = if receives {
        libc::SO_RCVTIMEO
    } else {
        libc::SO_SNDTIMEO
    };
    let limit = option::<libc::timeval>(fd, name)?;
    let (seconds, rest) = (limit.tv_sec as u64, limit.tv_usec as u64);
    Some(seconds.saturating_mul(1_000_000_000) + rest * 1_000)
}

/// Returns whether it is a stream socket.
pub fn is_stream(fd: c_int) -> bool {
    option::<c_int>(fd, libc::SO_TYPE) == Some(libc::SOCK_STREAM)
}

/// Returns whether it is a socket that others connect to.
pub fn listens(fd: c_int) -> bool {
    option::<c_int>(fd, libc::SO_ACCEPTCONN) == Some(1)
}

/// Returns whether it is a pipe or FIFO.
pub fn is_pipe(fd: c_int) -> bool {
    status(fd).is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

/// Returns whether it is a socket.
pub fn is_socket(fd: c_int) -> bool {
    status(fd).is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFSOCK)
}

/// Returns whether it delivers signals (`signalfd`).
pub fn is_of_signals(fd: c_int) -> bool {
    is_of_kernel(fd, b"anon_inode:[signalfd]")
}

/// Returns whether what a thread of this process, or a child that shares it, has written to it may not be there yet: only
/// what nothing lies between is there at once.
pub fn may_be_on_its_way(fd: c_int) -> bool {
    let is_local = || option::<c_int>(fd, libc::SO_DOMAIN) == Some(libc::AF_UNIX);
    SHARED.children.get() > 0
        || !is_pipe(fd) && !is_local() && !is_of_kernel(fd, b"anon_inode:[eventfd]")
}

/// Returns whether it is of a kind that only the kernel makes, by the name of what it links to.
fn is_of_kernel<const LENGTH: usize>(fd: c_int, target: &[u8; LENGTH]) -> bool {
    // Such a descriptor has no type.
    if status(fd).is_none_or(|status| status.st_mode & libc::S_IFMT != 0) {
        return false;
    }
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
    let mut left = fd.unsigned_abs();
    let digits = left.checked_ilog10().unwrap_or(0) as usize + 1;
    for place in link.iter_mut().skip(14).take(digits).rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let mut found = [0; LENGTH];
    let (name, to) = (link.as_ptr() as usize, found.as_mut_ptr() as usize);
    // SAFETY: a C string, and room for this many bytes.
    let length = unsafe { sys::call(libc::SYS_readlink, [name, to, LENGTH, 0, 0, 0]) };
    length == LENGTH as isize && same(&found, target)
}

/// The pending error of a connection that was being made, which is cleared by this.
pub fn pending_error(fd: c_int) -> c_int {
    option::<c_int>(fd, libc::SO_ERROR).unwrap_or(0)
}
