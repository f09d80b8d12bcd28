//! The part of the raw log that holds a proposed schedule: events that are to happen in this order.
//!
//! The recorder writes it when there is one ([`Header::follow_at`](super::Header::follow_at) is not 0
//! then); the runtime matches what threads are about to do with the entries and writes down how far it
//! came. Offsets count from the start of the part.
//!
//! ```text
//! 0            Follow
//! entries_at   entries   Entry     in the order in which they are to happen
//! names_at     names     Name      threads by their place in the fork tree; the first is `main`
//! modules_at   modules   Code      program and libraries whose code is known
//! points_at    points    Point     where calls return to in the user's code, by module and address
//! wanted_at    wanted    u32       site numbers, which entries refer to
//! stands_at    MAX_THREADS Stand   where the threads stood when the schedule was given up
//! ```

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The index that stands for "none".
pub const NONE: u32 = u32::MAX;

/// The header of the part.
#[repr(C)]
pub struct Follow {
    /// Number of entries.
    pub entries: u32,
    /// Number of names.
    pub names: u32,
    /// Number of modules.
    pub modules: u32,
    /// Number of points.
    pub points: u32,
    /// Number of site numbers that entries refer to.
    pub wanted: u32,
    /// Entries that happened, in order.
    pub reached: AtomicU32,
    /// A [`GaveUp`].
    pub gave_up: AtomicU32,
    /// Number of the thread that the reason is about; [`NONE`] when it is about none.
    pub gave_up_thread: AtomicU32,
    /// Nonzero: the strategy chooses among the threads that do not have to wait for an entry before theirs.
    pub only_order: u32,
    /// Keeps the layout free of gaps.
    pub reserved: u32,
    /// Records in the log when it was given up.
    pub gave_up_at: AtomicU64,
    /// Offset of the entries.
    pub entries_at: u64,
    /// Offset of the names.
    pub names_at: u64,
    /// Offset of the modules.
    pub modules_at: u64,
    /// Offset of the points.
    pub points_at: u64,
    /// Offset of the site numbers.
    pub wanted_at: u64,
    /// Offset of the [`Stand`]s.
    pub stands_at: u64,
}

/// The reason for which a schedule was given up; the run goes on by its strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GaveUp {
    /// The schedule was not given up, or not yet.
    No = 0,
    /// A thread did what a later entry says, at a place where it could not be held back.
    OutOfOrder = 1,
    /// The thread of the entry ended before it did this, or the thread that creates it did.
    Ended = 2,
    /// The thread of the entry cannot go on before another one has done what a later entry says.
    HeldBack = 3,
}

impl GaveUp {
    /// The variant with this number.
    pub fn from_u32(n: u32) -> Option<GaveUp> {
        use GaveUp::*;
        [No, OutOfOrder, Ended, HeldBack].get(n as usize).copied()
    }
}

/// An event that is to happen.
#[repr(C)]
pub struct Entry {
    /// Kinds of records that it may be: bit n stands for the [`RecordKind`](super::RecordKind) n.
    pub kinds: [u64; 2],
    /// Index of the thread's name.
    pub name: u32,
    /// First of the sites that it may be at, and how many; any site when there are none.
    pub wanted: u32,
    /// See `wanted`.
    pub wanted_len: u32,
    /// Position among such events of the thread after the thread's previous entry, from 1.
    pub nth: u32,
    /// The thread's next entry, or [`NONE`].
    pub next: u32,
    /// 1 if updates that leave the value as it is are no such events.
    pub changes: u32,
    /// Index of the record that it was, plus one; 0 while it has not happened.
    pub done_at: AtomicU64,
}

/// A thread by its place in the fork tree.
#[repr(C)]
pub struct Name {
    /// Index of its parent's name; its own for `main`.
    pub parent: u32,
    /// Position among its parent's children, from 1; 0 for `main`.
    pub nth: u32,
    /// Its first entry, or [`NONE`].
    pub first: u32,
    /// Number of the thread plus one, once it has been created.
    pub number: AtomicU32,
}

/// A module whose code is known.
#[repr(C)]
pub struct Code {
    /// Path as in [`Module`](super::Module): empty for the program itself.
    pub path: [u8; 232],
    /// First of its points.
    pub first: u32,
    /// Number of its points.
    pub len: u32,
}

/// The return address of a call in the user's code. Sorted by address within a module.
#[repr(C)]
pub struct Point {
    /// The file's own address.
    pub address: u64,
    /// Number of the site.
    pub site: u32,
    /// Keeps the layout free of gaps.
    pub reserved: u32,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Standing {
    /// The thread was not there: not created yet, or ended.
    Absent = 0,
    /// The thread could have gone on.
    Ready = 1,
    /// The thread was kept from doing what a later entry says.
    HeldBack = 2,
    /// The thread waited for something.
    Waiting = 3,
}

impl Standing {
    /// The variant with this number.
    pub fn from_u32(n: u32) -> Option<Standing> {
        use Standing::*;
        [Absent, Ready, HeldBack, Waiting].get(n as usize).copied()
    }
}

/// The state of a thread when the schedule was given up.
#[repr(C)]
pub struct Stand {
    /// A [`Standing`].
    pub standing: AtomicU32,
    /// A [`WaitsFor`](super::WaitsFor).
    pub waits_for: AtomicU32,
    /// Address (or thread number) that it waited for.
    pub object: AtomicU64,
    /// Program counter of the wait.
    pub pc: AtomicU64,
    /// The [`RecordKind`](super::RecordKind) of what it would have done next.
    pub kind: AtomicU32,
    /// Its next entry, or [`NONE`].
    pub entry: AtomicU32,
}

const _: () = {
    assert!(size_of::<Entry>() == 48);
    assert!(size_of::<Name>() == 16);
    assert!(size_of::<Code>() == 240);
    assert!(size_of::<Point>() == 16);
    assert!(size_of::<Stand>() == 32);
};
