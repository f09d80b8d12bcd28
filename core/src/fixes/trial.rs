//! Results of a fix's trial on the unchanged program or on an edited copy, as data and in words.

use serde::{Deserialize, Serialize};

/// Verdict of a trial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// No schedule that the fix allows failed.
    Holds,
    /// A schedule failed, or none that it allows was executed.
    DoesNotHold,
    /// The fix was not tried.
    NotTried,
}

/// Number of different orders that have to reach the changed code, where not all schedules within the bound
/// were explored; or of schedules in a row that reach it in no order that is new.
const ENOUGH: u64 = 30;

/// Trial of a fix: built in a copy, or as a constraint. A constraint excludes those of the program's
/// schedules that the fix makes impossible.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Verdict on the fix.
    pub verdict: TrialVerdict,
    /// Number of schedules executed.
    pub schedules: u64,
    /// Number of random schedules among them.
    pub random: u64,
    /// Number of schedules, of all, that the fix allows.
    pub allowed: u64,
    /// Number of allowed schedules that failed in the explained way.
    pub failed: u64,
    /// Number of different orders among the allowed ones in which threads reached the changed code.
    #[serde(default)]
    pub reached: u64,
    /// Number of the last ones among the allowed schedules that came there in an order that others had as well.
    #[serde(default)]
    pub repeated: u64,
    /// Number of schedules, of all, that failed in the explained way: without the fix, that is.
    #[serde(default)]
    pub without: u64,
    /// Message of the first failure among the allowed ones: `assertion ... failed at x.c:77`; empty without
    /// one.
    pub failure: String,
    /// Preemption bound of the search.
    pub bound: u32,
    /// `true` if these are all schedules within the bound.
    pub is_whole: bool,
    /// `true` if more preemptions would show no other order.
    pub is_complete: bool,
    /// Failures of other bugs that remain, in the form of `failure`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<String>,
    /// A line on which a thread waits for others while it holds the fix's lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<u32>,
    /// `true` if the fix was made in a copy, which was built: these are schedules of the edited program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub built: bool,
    /// Reason why it was not tried, in words; empty when it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Trial {
    /// A trial without executions, for this reason.
    pub fn not_run(reason: impl Into<String>) -> Trial {
        Trial {
            verdict: TrialVerdict::NotTried,
            schedules: 0,
            random: 0,
            allowed: 0,
            failed: 0,
            reached: 0,
            repeated: 0,
            without: 0,
            failure: String::new(),
            bound: 0,
            is_whole: false,
            is_complete: false,
            stays: Vec::new(),
            waits: None,
            built: false,
            reason: reason.into(),
        }
    }

    /// Reason why these schedules do not decide, if they do not: they reach the changed code too seldom, do
    /// not fail without the fix, or wait while its lock is held.
    pub fn unsettled(&self) -> Option<String> {
        if self.without == 0 {
            return Some(format!(
                "none of {} fails without it either",
                ran(self.schedules)
            ));
        }
        if self.built {
            return None;
        }
        if let Some(line) = self.waits {
            return Some(format!(
                "line {line} waits for others with the lock held, and whether they need it only building tells"
            ));
        }
        let are_all = self.is_whole || self.repeated >= ENOUGH;
        let is_few = self.reached == 0 || !are_all && self.reached < ENOUGH;
        is_few.then(|| match self.reached {
            0 => format!("none of {} comes to its lines", ran(self.allowed)),
            reached => format!(
                "only {reached} different {} to its lines",
                if reached == 1 {
                    "schedule comes"
                } else {
                    "schedules come"
                }
            ),
        })
    }

    /// Result in words: `no failure in the 79 schedules with up to 2 preemptions that it allows`.
    pub fn in_words(&self) -> String {
        let said = match self.verdict {
            TrialVerdict::NotTried => return format!("not tried: {}", self.reason),
            TrialVerdict::DoesNotHold if self.built => format!(
                "built and run: failed in {} of {}: {}",
                self.failed,
                ran(self.allowed),
                self.failure
            ),
            TrialVerdict::Holds if self.built => {
                format!("built and run: no failure in {}", self.explored())
            }
            TrialVerdict::DoesNotHold if self.allowed == 0 => {
                format!("tried: it allows none of {}", ran(self.schedules))
            }
            TrialVerdict::DoesNotHold => format!(
                "tried: failed in {} of {} that it allows: {}",
                self.failed,
                ran(self.allowed),
                self.failure
            ),
            TrialVerdict::Holds => format!("no failure in {}", self.passed()),
        };
        format!("{said}{}", self.others())
    }

    /// The explored schedules in words: `all 79 schedules with up to 2 preemptions`.
    fn explored(&self) -> String {
        let searched = self.schedules.saturating_sub(self.random);
        let bound = preemptions(self.bound);
        let all = if self.is_whole { "all " } else { "" };
        match (self.is_complete, self.random) {
            (true, _) if self.schedules == 1 => "the only schedule".to_owned(),
            (true, _) => format!("all {}", ran(self.schedules)),
            (false, 0) => format!("{all}{} with {bound}", ran(searched)),
            (false, random) => {
                format!("{all}{} with {bound} and {random} at random", ran(searched))
            }
        }
    }

    /// The allowed schedules in words: `the 79 schedules with up to 2 preemptions that it allows`.
    fn passed(&self) -> String {
        let all = ran(self.allowed);
        if self.is_complete {
            return match self.allowed {
                1 => "the only schedule that it allows".to_owned(),
                _ => format!("all {all} that it allows"),
            };
        }
        let bound = preemptions(self.bound);
        let searched = self.schedules.saturating_sub(self.random);
        match (self.is_whole, self.random) {
            (true, 0) => format!("the {all} with {bound} that it allows"),
            (false, 0) => format!("{all} that it allows, of the first {searched} with {bound}"),
            (true, random) => format!(
                "{all} that it allows, of all {searched} with {bound} and {random} at random"
            ),
            (false, random) => {
                format!("{all} that it allows, of {searched} with {bound} and {random} at random")
            }
        }
    }

    fn others(&self) -> String {
        match self.stays.as_slice() {
            [] => String::new(),
            [one] => format!("; the other failure stays: {one}"),
            many => format!("; the other failures stay: {}", many.join(", ")),
        }
    }
}

fn ran(schedules: u64) -> String {
    match schedules {
        1 => "1 schedule".to_owned(),
        several => format!("{several} schedules"),
    }
}

/// A preemption bound in words: `up to 2 preemptions`.
pub fn preemptions(bound: u32) -> String {
    match bound {
        0 => "no preemption".to_owned(),
        1 => "up to 1 preemption".to_owned(),
        bound => format!("up to {bound} preemptions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(trial: Trial, expected: &Expect) {
        expected.assert_eq(&trial.in_words());
    }

    fn held() -> Trial {
        Trial {
            verdict: TrialVerdict::Holds,
            schedules: 100,
            allowed: 79,
            bound: 2,
            ..Trial::not_run("")
        }
    }

    #[test]
    fn the_bound_is_said() {
        check(
            held(),
            &expect![
                "no failure in 79 schedules that it allows, of the first 100 with up to 2 preemptions"
            ],
        );
        check(
            Trial {
                is_whole: true,
                ..held()
            },
            &expect!["no failure in the 79 schedules with up to 2 preemptions that it allows"],
        );
        check(
            Trial {
                is_whole: true,
                is_complete: true,
                ..held()
            },
            &expect!["no failure in all 79 schedules that it allows"],
        );
    }

    #[test]
    fn what_was_built_is_said_to_be() {
        let built = Trial {
            built: true,
            without: 4,
            random: 21,
            ..held()
        };
        assert_eq!(built.unsettled(), None);
        check(
            built.clone(),
            &expect![
                "built and run: no failure in 79 schedules with up to 2 preemptions and 21 at random"
            ],
        );
        let same = Trial {
            without: 0,
            ..built
        };
        assert!(same.unsettled().is_some());
    }

    #[test]
    fn few_schedules_settle_nothing() {
        let few = Trial {
            reached: 12,
            without: 3,
            ..held()
        };
        let why = |trial: &Trial| trial.unsettled();
        assert_eq!(
            why(&few).as_deref(),
            Some("only 12 different schedules come to its lines")
        );
        let whole = Trial {
            is_whole: true,
            ..few.clone()
        };
        assert_eq!(why(&whole), None);
        let nothing_new = Trial {
            repeated: 30,
            ..few.clone()
        };
        assert_eq!(why(&nothing_new), None);
        let passes = Trial {
            without: 0,
            ..whole
        };
        assert_eq!(
            why(&passes).as_deref(),
            Some("none of 100 schedules fails without it either")
        );
        let enough = Trial { reached: 30, ..few };
        assert_eq!(why(&enough), None);
        let waits = Trial {
            waits: Some(7),
            ..enough
        };
        assert!(why(&waits).is_some_and(|why| why.starts_with("line 7 waits")));
    }

    #[test]
    fn what_stays_and_what_fails_is_said() {
        let stays = vec!["assertion `saved == 1` failed at hub.c:83".to_owned()];
        check(
            Trial { stays, ..held() },
            &expect![
                "no failure in 79 schedules that it allows, of the first 100 with up to 2 preemptions; the other failure stays: assertion `saved == 1` failed at hub.c:83"
            ],
        );
        check(
            Trial {
                verdict: TrialVerdict::DoesNotHold,
                failed: 3,
                failure: "assertion `x` failed at prog.c:88".to_owned(),
                ..held()
            },
            &expect![
                "tried: failed in 3 of 79 schedules that it allows: assertion `x` failed at prog.c:88"
            ],
        );
        check(
            Trial {
                verdict: TrialVerdict::DoesNotHold,
                allowed: 0,
                ..held()
            },
            &expect!["tried: it allows none of 100 schedules"],
        );
        check(Trial::not_run("--no-run"), &expect!["not tried: --no-run"]);
    }
}
