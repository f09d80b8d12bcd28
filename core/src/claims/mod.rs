//! Statements about runs that explanations make, as queries: each is evaluated over all kept runs that passed, and its
//! sentence is made from the counts. What does not hold has no sentence.

mod between;
mod holds;
#[cfg(test)]
pub(crate) mod naive;
#[cfg(test)]
mod tests;
mod words;

use crate::{
    corpus::Corpus,
    explanation::Place,
    mining::{Trace, trace::line_hash},
    pairs::AccessClass,
};
use serde::{Deserialize, Serialize};
pub use words::{in_runs, line};

/// An access as sentences name it: a line of the source with what is done there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// Where.
    pub place: Place,
    /// What.
    pub access: AccessClass,
}

impl Operation {
    /// The number of its line in the kinds of a trace.
    fn line(&self) -> u64 {
        line_hash(&self.place.file, self.place.line)
    }
}

/// One of the visits that a thread makes to a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Visit {
    /// Name of the thread: `main.2`.
    pub thread: String,
    /// From 1.
    pub number: u32,
}

/// A statement about the order of accesses in one run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Claim {
    /// Between an access of a thread and its next `second` comes the access of another thread, all on one location.
    Between {
        /// What the thread does first.
        first: Operation,
        /// What the other thread does.
        remote: Operation,
        /// What the thread does next.
        second: Operation,
    },
    /// Two threads do two things each on two locations; what the one does first the other one does later on the same
    /// location, and the other way round: neither comes as a whole before the other.
    Overlap {
        /// What one thread does first.
        first: Operation,
        /// What it does next.
        second: Operation,
        /// What the other thread does after `first`, on the same location.
        after_first: Operation,
        /// What the other thread does before `second`, on the same location.
        before_second: Operation,
        /// The other thread does `after_first` first.
        in_this_order: bool,
    },
    /// The first `early` on a location comes before the first `late`, or before the visit that is named.
    Before {
        /// What comes first.
        early: Operation,
        /// What comes after it.
        late: Operation,
        /// On what, as in [`unsnarl_trace::Run::location`].
        location: String,
        /// Which visit of `late`: none for the first one of any thread.
        visit: Option<Visit>,
    },
    /// Behind an `early` on a location comes a `late` of another thread.
    After {
        /// What comes first.
        early: Operation,
        /// What comes after it.
        late: Operation,
        /// On what, as in [`unsnarl_trace::Run::location`].
        location: String,
    },
    /// A thread's first `early` on a location comes before a visit of another thread to `late`.
    BeforeBy {
        /// What comes first.
        early: Operation,
        /// Name of the thread that does it: `main.1`.
        by: String,
        /// What comes after it.
        late: Operation,
        /// On what, as in [`unsnarl_trace::Run::location`].
        location: String,
        /// Which visit of `late`.
        visit: Visit,
    },
    /// Either both pairs come in this order, or neither does.
    Together {
        /// `early` and `late` of the one, as in [`Claim::Before`], with its location.
        one: (Operation, Operation, String),
        /// The same of the other.
        other: (Operation, Operation, String),
    },
    /// A line reads values that another thread's line has written more often than a number.
    ReadsFrom {
        /// What writes.
        write: Operation,
        /// What reads.
        read: Operation,
        /// More often than this.
        more_than: u32,
    },
    /// An access finds the value that another thread's access has written, or overwrites the one that it has written
    /// or read.
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
    /// What is claimed.
    #[serde(flatten)]
    pub claim: Claim,
    /// Runs that passed in which it holds.
    pub holds_in: u32,
    /// Runs that passed.
    pub of: u32,
}

impl Claim {
    /// Is it so in this run? Linear in the run, but for [`Claim::Overlap`], which looks at each two steps of two
    /// threads that overlap.
    pub fn holds(&self, run: &Trace) -> bool {
        match self {
            Claim::Between {
                first,
                remote,
                second,
            } => between::between(run, [first, remote, second]),
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

    /// How often a line reads what another thread's line has written, as [`Claim::ReadsFrom`] counts.
    pub fn times_read_from(run: &Trace, write: &Operation, read: &Operation) -> u32 {
        holds::reads_from(run, write, read)
    }

    /// The claim with the number of runs that passed in which it holds.
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
