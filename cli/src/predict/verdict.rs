//! Results of predicted anomalies, and their tally.

use serde::Serialize;
use std::collections::BTreeMap;
use unsnarl_core::{FailurePlace, predict::AnomalyCandidate};

/// The result of one predicted anomaly.
#[derive(Clone, PartialEq, Debug)]
pub enum ExecutionVerdict {
    /// The program failed in the order for the anomaly.
    Failed(ExecutedFailure),
    /// The anomaly happened, and the program passed.
    Harmless,
    /// The anomaly did not happen.
    Not {
        /// The kind of reason.
        why: UnshownReason,
        /// The reason in words.
        reason: String,
    },
}

/// A failure that an executed schedule brought about.
#[derive(Clone, PartialEq, Debug)]
pub struct ExecutedFailure {
    /// The failure with its place.
    pub failure: FailurePlace,
    /// Name of the kept run.
    pub run: String,
    /// `true` if all events of the anomaly had happened; otherwise the program failed on the way to them.
    pub reached: bool,
}

/// Kinds of reasons for which an anomaly was not shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnshownReason {
    /// A thread that saw another value took another path.
    OtherPath,
    /// A thread had to wait for another one, which the order holds back.
    Waited,
    /// The step was on other data.
    OtherData,
    /// The run's time was over.
    TimedOut,
    /// The order has steps that cannot be held back.
    NotHeldBack,
    /// No order of the events is feasible.
    NoOrder,
    /// The schedule has a step at which the program cannot be held.
    NotPlaced,
    /// The order was not executed.
    NotExecuted,
}

impl UnshownReason {
    /// The reason in words, for the tally.
    pub fn words(self) -> &'static str {
        match self {
            UnshownReason::OtherPath => "a thread took another path",
            UnshownReason::Waited => "threads had to wait for each other",
            UnshownReason::OtherData => "it was other data",
            UnshownReason::TimedOut => "the time of the run was over",
            UnshownReason::NotHeldBack => "a step could not be held back",
            UnshownReason::NoOrder => "there is no feasible order",
            UnshownReason::NotPlaced => "the program cannot be held at one of the steps",
            UnshownReason::NotExecuted => "not executed",
        }
    }
}

/// A predicted anomaly with its result.
#[derive(Clone, PartialEq, Debug)]
pub struct AnomalyVerdict {
    /// The anomaly.
    pub candidate: AnomalyCandidate,
    /// The result.
    pub verdict: ExecutionVerdict,
    /// Number of schedules that were executed for it.
    pub executed: u64,
    /// `true` if an order of the recorded steps shows it in which every read returns the recorded value: it is
    /// possible, executed or not.
    pub certain: bool,
}

impl AnomalyVerdict {
    /// Returns whether it happened, or made the program fail.
    pub fn happened(&self) -> bool {
        !matches!(self.verdict, ExecutionVerdict::Not { .. })
    }

    /// Returns whether another anomaly of the same pattern on the same lines may fail. If another path was taken it
    /// hardly will.
    pub fn may_differ(&self) -> bool {
        use UnshownReason::{NoOrder, NotHeldBack, NotPlaced, OtherData, Waited};
        match &self.verdict {
            ExecutionVerdict::Not { why, .. } => {
                matches!(why, NoOrder | NotPlaced | NotHeldBack | OtherData | Waited)
            }
            ExecutionVerdict::Harmless => true,
            ExecutionVerdict::Failed(_) => false,
        }
    }

    /// Takes the result of another anomaly of the same pattern on the same lines, if that shows more.
    pub fn improve(&mut self, other: AnomalyVerdict) {
        let executed = self.executed + other.executed;
        let certain = self.certain || other.certain;
        if other.weight() > self.weight() {
            *self = other;
        }
        self.executed = executed;
        self.certain = certain;
    }

    /// Returns whether a schedule was made and the program ran by it.
    pub fn was_executed(&self) -> bool {
        self.executed > 0
    }

    /// Rank of the result: a failure, an anomaly, an order that was executed, nothing.
    fn weight(&self) -> u8 {
        match &self.verdict {
            ExecutionVerdict::Failed(_) => 3,
            ExecutionVerdict::Harmless => 2,
            ExecutionVerdict::Not { .. } => u8::from(self.executed > 0),
        }
    }
}

/// Counts of findings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FindingTally {
    /// Number of anomalies predicted, by class.
    pub predicted: BTreeMap<&'static str, u64>,
    /// Number of schedules executed: an anomaly has several continuations.
    pub schedules: u64,
    /// Number of anomalies that were executed.
    pub executed: u64,
    /// Number of anomalies that are certainly possible.
    pub certain: u64,
    /// Number of executed ones that happened.
    pub reproduced: u64,
    /// Number of anomalies whose schedules made the program fail.
    pub failed: u64,
    /// Number of these for which it failed before the anomaly was complete.
    pub failed_before: u64,
    /// Number of anomalies that did not happen, by the kind of reason.
    pub not_reproduced: BTreeMap<UnshownReason, u64>,
}

impl FindingTally {
    /// Counts findings.
    pub fn of(findings: &[AnomalyVerdict]) -> FindingTally {
        let mut tally = FindingTally::default();
        for finding in findings {
            let class = finding.candidate.class.name();
            *tally.predicted.entry(class).or_default() += 1;
            tally.schedules += finding.executed;
            tally.executed += u64::from(finding.executed > 0);
            tally.certain += u64::from(finding.certain);
            match &finding.verdict {
                ExecutionVerdict::Failed(failed) => {
                    tally.failed += 1;
                    tally.reproduced += u64::from(failed.reached);
                    tally.failed_before += u64::from(!failed.reached);
                }
                ExecutionVerdict::Harmless => tally.reproduced += 1,
                ExecutionVerdict::Not { why, .. } => {
                    *tally.not_reproduced.entry(*why).or_default() += 1
                }
            }
        }
        tally
    }

    /// Number of anomalies predicted.
    pub fn predicted(&self) -> u64 {
        self.predicted.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_core::predict::Class;

    fn finding(class: Class, executed: u64, verdict: ExecutionVerdict) -> AnomalyVerdict {
        AnomalyVerdict {
            candidate: AnomalyCandidate {
                class,
                pattern: String::new(),
                events: Vec::new(),
            },
            verdict,
            executed,
            certain: false,
        }
    }

    #[test]
    fn of_anomalies_on_the_same_lines_the_worst_is_told() {
        let not = |why| ExecutionVerdict::Not {
            why,
            reason: String::new(),
        };
        let mut told = finding(Class::Race, 0, not(UnshownReason::NoOrder));
        assert!(told.may_differ());
        told.improve(finding(Class::Race, 3, ExecutionVerdict::Harmless));
        told.improve(finding(Class::Race, 1, not(UnshownReason::OtherPath)));
        assert_eq!(
            (&told.verdict, told.executed),
            (&ExecutionVerdict::Harmless, 4)
        );
        assert!(!finding(Class::Race, 1, not(UnshownReason::OtherPath)).may_differ());
    }

    #[test]
    fn what_cannot_be_placed_gives_way_to_another_one_on_the_same_lines() {
        let not = ExecutionVerdict::Not {
            why: UnshownReason::NotPlaced,
            reason: String::new(),
        };
        let mut told = finding(Class::Race, 0, not);
        assert!(told.may_differ());
        assert!(!told.was_executed());
        told.improve(finding(Class::Race, 1, ExecutionVerdict::Harmless));
        assert!(told.happened());
    }

    #[test]
    fn what_failed_on_the_way_was_not_reproduced() {
        let failed = |reached| {
            ExecutionVerdict::Failed(ExecutedFailure {
                failure: FailurePlace {
                    site: None,
                    message: String::new(),
                    is_by_status: false,
                },
                run: String::new(),
                reached,
            })
        };
        let not = ExecutionVerdict::Not {
            why: UnshownReason::NoOrder,
            reason: String::new(),
        };
        let tally = FindingTally::of(&[
            finding(Class::Race, 1, failed(true)),
            finding(Class::Race, 1, failed(false)),
            finding(Class::Atomicity, 4, ExecutionVerdict::Harmless),
            finding(Class::Deadlock, 0, not),
        ]);
        assert_eq!(tally.predicted(), 4);
        assert_eq!(tally.predicted["race"], 2);
        assert_eq!((tally.schedules, tally.executed), (6, 3));
        assert_eq!(
            (tally.reproduced, tally.failed, tally.failed_before),
            (2, 2, 1)
        );
        assert_eq!(tally.not_reproduced[&UnshownReason::NoOrder], 1);
    }
}
