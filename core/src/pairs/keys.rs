//! Identities that are stable over all runs of a build: a site with the kind of access there.
//!
//! A key is a 64-bit hash of its text, so that runs need not share a table of names.

use crate::explanation::Place;
use serde::{Deserialize, Serialize};
use unsnarl_trace::{EventKind, SiteRow};

/// Kind of an access, as far as pairs distinguish them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessClass {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one atomic step.
    Update,
}

impl AccessClass {
    /// The class of an access; none for other events.
    pub fn of(kind: EventKind) -> Option<AccessClass> {
        match (kind.reads(), kind.writes()) {
            (true, true) => Some(Self::Update),
            (true, false) => Some(Self::Read),
            (false, true) => Some(Self::Write),
            (false, false) => None,
        }
    }

    /// Name of the class.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Update => "update",
        }
    }

    /// Letter of the class.
    pub fn letter(self) -> char {
        match self {
            Self::Read => 'R',
            Self::Write => 'W',
            Self::Update => 'U',
        }
    }
}

/// Identity of an access at pc level: file, line, column, function and class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct AccessKey(pub u64);

impl AccessKey {
    /// The key of accesses of this class at this site.
    pub fn new(site: &SiteRow, class: AccessClass) -> AccessKey {
        let mut hash = Fnv::default();
        hash.text(&site.file);
        hash.text(&site.function);
        hash.bytes(&site.line.to_le_bytes());
        hash.bytes(&site.column.to_le_bytes());
        hash.bytes(&[class as u8]);
        AccessKey(hash.0)
    }
}

/// Site and class of an [`AccessKey`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AccessSite {
    /// Place in the source.
    pub place: Place,
    /// Class of the access.
    pub class: AccessClass,
}

/// Identity of an access pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PairKey {
    /// The earlier access.
    pub head: AccessKey,
    /// The later access.
    pub tail: AccessKey,
}

impl PairKey {
    /// The pair in the opposite order.
    pub fn reversed(self) -> PairKey {
        PairKey {
            head: self.tail,
            tail: self.head,
        }
    }
}

/// Identity of two accesses of one thread with one of another in between.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TripleKey {
    /// First access of the interrupted thread.
    pub first: AccessKey,
    /// The access in between.
    pub remote: AccessKey,
    /// Second access of the interrupted thread.
    pub second: AccessKey,
    /// Hash of the two calls, or accesses, of their common function that led to the first and the second one:
    /// a function that is called twice differs from two functions that call it.
    pub within: u64,
}

/// FNV-1a: the same on every machine and in every version, unlike the hashes of collections.
pub(crate) struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0xff]);
    }

    /// The hash of a text.
    pub(crate) fn of(text: &str) -> u64 {
        let mut hash = Fnv::default();
        hash.text(text);
        hash.0
    }
}
