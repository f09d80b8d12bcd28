//! Claims of explanations about runs, as queries: each is evaluated over all kept runs that passed, and its
//! sentence is made from the counts. A claim that does not hold has no sentence.

mod between;
mod holds;
#[cfg(test)]
pub(crate) mod naive;
#[cfg(test)]
mod tests;
mod words;

use crate::{
    corpus::{Corpus, RunSummary},
    explanation::Place,
    mining::{Trace, trace::line_hash},
    pairs::{AccessClass, Fnv},
};
use between::{Steps, Thirds};
use serde::{Deserialize, Serialize};
use unsnarl_trace::Location;
pub use words::{in_runs, line};

/// An access as sentences name it: a line of the source with the kind of access.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Place in the source.
    pub place: Place,
    /// Kind of the access.
    pub access: AccessClass,
}

impl Operation {
    /// Number of its line in the kinds of a trace.
    fn line(&self) -> u64 {
        line_hash(&self.place.file, self.place.line)
    }
}

/// One of a thread's visits to a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Visit {
    /// Name of the thread: `main.2`.
    pub thread: String,
    /// Number of the visit, from 1.
    pub number: u32,
}

/// A statement about the order of accesses in one run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Claim {
    /// The access of another thread comes between an access of a thread and its next `second`, all on one
    /// location.
    Between {
        /// First access of the thread.
        first: Operation,
        /// Access of the other thread.
        remote: Operation,
        /// Next access of the thread.
        second: Operation,
    },
    /// Two threads make two accesses each to two locations; the later thread on one location is the earlier
    /// one on the other: neither comes as a whole before the other.
    Overlap {
        /// First access of one thread.
        first: Operation,
        /// Its next access.
        second: Operation,
        /// Access of the other thread after `first`, on the same location.
        after_first: Operation,
        /// Access of the other thread before `second`, on the same location.
        before_second: Operation,
        /// `true` if the other thread executes `after_first` first.
        in_this_order: bool,
    },
    /// The first `early` on a location comes before the first `late`, or before the given visit.
    Before {
        /// The access that comes first.
        early: Operation,
        /// The access that comes after it.
        late: Operation,
        /// The location, as in [`unsnarl_trace::Run::location`].
        location: String,
        /// Visit of `late`: none for the first one of any thread.
        visit: Option<Visit>,
    },
    /// A `late` of another thread comes after an `early` on a location.
    After {
        /// The access that comes first.
        early: Operation,
        /// The access that comes after it.
        late: Operation,
        /// The location, as in [`unsnarl_trace::Run::location`].
        location: String,
    },
    /// A visit of a thread to `early` comes before a visit of another thread to `late`, on one location.
    BeforeBy {
        /// The access that comes first.
        early: Operation,
        /// Visit of `early`.
        by: Visit,
        /// The access that comes after it.
        late: Operation,
        /// The location, as in [`unsnarl_trace::Run::location`].
        location: String,
        /// Visit of `late`.
        visit: Visit,
    },
    /// Either both pairs come in this order, or neither does.
    Together {
        /// `early` and `late` of one pair, as in [`Claim::Before`], with its location.
        one: (Operation, Operation, String),
        /// The other pair.
        other: (Operation, Operation, String),
    },
    /// A line reads values that another thread's line has written more often than a given number.
    ReadsFrom {
        /// The writing access.
        write: Operation,
        /// The reading access.
        read: Operation,
        /// The number to exceed.
        more_than: u32,
    },
    /// An access reads the value that another thread's access has written, or overwrites the one that it has
    /// written or read.
    Follows {
        /// The earlier access.
        head: Operation,
        /// The later one.
        tail: Operation,
    },
}

/// A claim with the numbers that its sentence states.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counted {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// Number of passing runs in which it holds.
    pub holds_in: u32,
    /// Number of passing runs.
    pub of: u32,
}

impl Claim {
    /// Returns whether it is what an explanation blames, rather than an order that runs are meant to have.
    #[must_use]
    pub fn is_blamed(&self) -> bool {
        matches!(self, Claim::Between { .. } | Claim::Overlap { .. })
    }

    /// Returns whether the claim holds in this run. Linear in the run, except for [`Claim::Overlap`], which
    /// compares each two overlapping steps of two threads.
    pub fn holds(&self, run: &Trace) -> bool {
        self.is_found(run, Thirds::Next, Steps::Ended)
    }

    /// Returns whether a run has what is claimed, as [`Claim::holds`] does; but a thread may have been at `second` of
    /// [`Claim::Between`] before, as where it looks again after an exchange that failed.
    pub fn is_had(&self, run: &Trace) -> bool {
        self.is_found(run, Thirds::All, Steps::Ended)
    }

    /// Returns whether a run that failed has what is claimed, as [`Claim::is_had`] does; but a step of [`Claim::Overlap`] may only
    /// have begun when the run ended.
    pub fn had_begun(&self, run: &Trace) -> bool {
        self.is_found(run, Thirds::All, Steps::Begun)
    }

    fn is_found(&self, run: &Trace, thirds: Thirds, steps: Steps) -> bool {
        match self {
            Claim::Between {
                first,
                remote,
                second,
            } => between::between(run, [first, remote, second], thirds),
            Claim::Overlap {
                first,
                second,
                after_first,
                before_second,
                in_this_order,
            } => between::overlap(
                run,
                [first, second],
                [after_first, before_second],
                *in_this_order,
                steps,
            ),
            Claim::Before {
                early,
                late,
                location,
                visit,
            } => holds::before(run, (early, None), late, location, visit.as_ref()),
            Claim::After {
                early,
                late,
                location,
            } => holds::after(run, early, late, location),
            Claim::BeforeBy {
                early,
                by,
                late,
                location,
                visit,
            } => holds::before(run, (early, Some(by)), late, location, Some(visit)),
            Claim::Together { one, other } => {
                let before = |(early, late, location): &(Operation, Operation, String)| {
                    holds::before(run, (early, None), late, location, None)
                };
                before(one) == before(other)
            }
            Claim::ReadsFrom {
                write,
                read,
                more_than,
            } => holds::reads_from(run, write, read) > *more_than,
            Claim::Follows { head, tail } => holds::follows(run, head, tail),
        }
    }

    /// Number of times a line reads a value that another thread's line has written, as [`Claim::ReadsFrom`]
    /// counts.
    pub fn times_read_from(run: &Trace, write: &Operation, read: &Operation) -> u32 {
        holds::reads_from(run, write, read)
    }

    /// Returns whether its sentence means the same in every passing run. One that names lines leaves out the location: a heap
    /// block has another name where another thread allocates it, and of one line with itself it does not say which
    /// location the visits have to share.
    pub fn is_comparable(&self, corpus: &Corpus) -> bool {
        let (early, late, location) = match self {
            Claim::Before {
                early,
                late,
                location,
                ..
            }
            | Claim::After {
                early,
                late,
                location,
            }
            | Claim::BeforeBy {
                early,
                late,
                location,
                ..
            } => (early, late, location),
            _ => return true,
        };
        let known = |run: &RunSummary| {
            let name = Fnv::of(location);
            let mut kinds = run.accesses.kinds.iter();
            kinds.any(|kind| kind.location == name)
        };
        let is_block = Location::of(location).is_on_heap();
        early.line() != late.line() && (!is_block || corpus.passing().all(known))
    }

    /// Counts the passing runs in which the claim holds.
    pub fn count(self, corpus: &Corpus) -> Counted {
        let runs = corpus.passing();
        let with = runs.filter(|run| self.holds(&run.accesses)).count();
        Counted {
            holds_in: u32::try_from(with).unwrap_or(u32::MAX),
            of: corpus.counts().passing(),
            claim: self,
        }
    }
}
