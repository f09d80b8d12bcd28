//! The runs of many machines as one corpus.
//!
//! * [`summary`] makes a small table of a run, which engines for queries read in its place.
//! * [`storage`] is where they lie: objects below a URL.
//! * [`sync`] copies them from a folder to a storage and back.
//!
//! Nothing of this is linked into the `unsnarl` that people install: what a fleet needs stays with the fleet.

mod place;
pub mod storage;
pub mod summary;
pub mod sync;
