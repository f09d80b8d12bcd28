//! Path mode: what each thread went through, without an order between threads other than that of
//! their synchronization.
//!
//! The region of the records is then divided into chunks, handed out one by one. Each thread has one
//! chunk of *words*, which it fills from the front, one word for each block of code that it enters
//! (the low half of the callback's return address) and [`SYNC`] for each step of synchronization. When
//! the chunk is full its words are packed ([`super::pack`]) and it is cleared. The steps themselves
//! stand in chunks of [`PathStep`]s.
//!
//! A word or a step is complete once it is not zero, so all that was written is readable however the
//! program ends.

use super::Record;
use core::sync::atomic::AtomicU32;

/// Bytes of a chunk, and what its address is a multiple of.
pub const CHUNK_BYTES: usize = 1 << 16;
/// Bytes of its [`Chunk`] header.
pub const CHUNK_HEADER_BYTES: usize = 64;
/// Words of a chunk of words.
pub const CHUNK_WORDS: usize = (CHUNK_BYTES - CHUNK_HEADER_BYTES) / 4;
/// Steps of a chunk of steps.
pub const CHUNK_STEPS: usize = (CHUNK_BYTES - CHUNK_HEADER_BYTES) / size_of::<PathStep>();
/// The word that stands for the thread's next step of synchronization.
pub const SYNC: u32 = 1;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ChunkKind {
    /// Words, as they come.
    Words = 1,
    /// Words, packed.
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
    /// It is the thread's n-th chunk of this kind, from 0.
    pub nth: AtomicU32,
    /// Bytes used by what is packed; in a chunk of words: how often it was packed and cleared.
    pub used: AtomicU32,
}

/// One step of synchronization in path mode.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStep {
    /// Steps on one object follow one another in the order of these numbers.
    pub order: u64,
    /// The step.
    pub record: Record,
}

const _: () = {
    assert!(size_of::<Chunk>() <= CHUNK_HEADER_BYTES);
    assert!(size_of::<PathStep>() == 40);
};
