//! The runs of many machines as one corpus.
//!
//! * [`summary`] makes a small table of a run, which engines for queries read in its place.
//!
//! Nothing of this is linked into the `unsnarl` that people install: what a fleet needs stays with the fleet.

pub mod summary;
