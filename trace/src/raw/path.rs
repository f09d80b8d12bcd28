//! Path mode: the path of each thread, without an order between threads other than that of their synchronization.
//!
//! The region of the records is then divided into chunks, handed out one by one. Each thread has one
//! chunk of *notes*, which it fills from the front: a byte for each conditional jump, and what else is
//! needed to follow it through the program ([`mark`]). When the chunk is nearly full its notes are packed
//! ([`super::marks`], [`super::pack`]) and it is cleared. The steps of synchronization themselves stand in
//! chunks of [`PathStep`]s.
//!
//! The chunk is cleared with [`mark::NOTHING`]: a note is complete once its first byte is something else,
//! so all that was written is readable however the program ends.

use super::Record;
use core::sync::atomic::AtomicU32;

/// Size and alignment of a chunk in bytes.
pub const CHUNK_BYTES: usize = 1 << 16;
/// Bytes of its [`Chunk`] header.
pub const CHUNK_HEADER_BYTES: usize = 64;
/// Bytes of a chunk behind its header.
pub const CHUNK_ROOM: usize = CHUNK_BYTES - CHUNK_HEADER_BYTES;
/// Steps of a chunk of steps.
pub const CHUNK_STEPS: usize = CHUNK_ROOM / size_of::<RawPathStep>();
/// A chunk of notes counts as full once the second byte of the address of the next note is this: what is
/// left is more than a thread writes before it looks again.
pub const FULL: u8 = 0xc0;

/// The section of a program that lists its [`Place`]s. By its name the linker takes it for debug info,
/// which may refer to code that was left out.
pub const SECTION: &str = ".debug_unsnarl";
/// Bytes of a row of that section: two addresses and a [`Place`].
pub const ROW_BYTES: usize = 17;

/// First bytes of notes. Not taken is 0, taken is 1.
pub mod mark {
    /// A function is entered; its address follows, the lower four bytes as with all.
    pub const ENTERED: u8 = 2;
    /// A function elsewhere has returned.
    pub const RETURNED: u8 = 3;
    /// Control jumps to the address that follows.
    pub const JUMPED: u8 = 4;
    /// Control has come to the address that follows; behind that stands the stack pointer.
    pub const HERE: u8 = 5;
    /// The thread's next step of synchronization.
    pub const SYNC: u8 = 6;
    /// Unused: nothing was written yet.
    pub const NOTHING: u8 = 0xff;

    /// Bytes that follow a first byte; `None` for [`NOTHING`] and what is no note.
    #[inline(always)]
    pub fn more(first: u8) -> Option<usize> {
        match first {
            0 | 1 | RETURNED | SYNC => Some(0),
            ENTERED | JUMPED => Some(4),
            HERE => Some(8),
            _ => None,
        }
    }
}

/// The role of an address of the program in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressRole {
    /// A function that notes when it is entered; the second address is its end.
    Announced = 1,
    /// A function that is entered from places only that say so.
    Function = 2,
    /// A conditional jump that is noted.
    Branch = 3,
    /// Behind a call that goes elsewhere: its return is noted.
    Return = 4,
    /// Control comes here from elsewhere, which is noted.
    Here = 5,
    /// A jump whose target is noted.
    Jump = 6,
    /// Jumps lead here.
    Leader = 7,
    /// Code that is passed over, up to the second address.
    Piece = 8,
    /// Behind a call: an exception out of it is handled at the second address.
    Handler = 9,
}

impl AddressRole {
    /// The place for a number.
    pub fn from_u8(number: u8) -> Option<AddressRole> {
        use AddressRole::*;
        const ALL: [AddressRole; 9] = [
            Announced, Function, Branch, Return, Here, Jump, Leader, Piece, Handler,
        ];
        ALL.into_iter().find(|place| *place as u8 == number)
    }
}

/// The content of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ChunkKind {
    /// Notes, as they come.
    Notes = 1,
    /// Notes, packed.
    Packed = 2,
    /// [`PathStep`]s.
    Steps = 3,
}

/// The beginning of a chunk.
#[repr(C)]
pub struct Chunk {
    /// A [`ChunkKind`]; 0 while the chunk is not in use.
    pub kind: AtomicU32,
    /// Number of the thread.
    pub thread: AtomicU32,
    /// Position among the thread's chunks of this kind, from 0.
    pub nth: AtomicU32,
    /// Bytes used by what is packed; in a chunk of notes twice the units that are packed and whole, one
    /// more while the notes in the chunk are among them.
    pub used: AtomicU32,
}

/// One step of synchronization in path mode.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawPathStep {
    /// Steps on one object follow one another in the order of these numbers.
    pub order: u64,
    /// The step.
    pub record: Record,
}

const _: () = {
    assert!(size_of::<Chunk>() <= CHUNK_HEADER_BYTES);
    assert!(size_of::<RawPathStep>() == 40);
};
