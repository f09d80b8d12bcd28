//! A schedule: the thread choices that make a run repeat exactly.
//!
//! A choice is made wherever two or more threads could go on (and where a signal could wake one of
//! several waiters). Its text form lists runs of equal choices, `0*12 1 0*3`: threads by number, in
//! the order of creation.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

/// The choices of one run, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Thread numbers.
    pub choices: Vec<u16>,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.choices.chunk_by(|a, b| a == b).enumerate() {
            let (gap, thread) = (
                if i == 0 { "" } else { " " },
                run.first().copied().unwrap_or(0),
            );
            match run.len() {
                1 => write!(f, "{gap}{thread}")?,
                n => write!(f, "{gap}{thread}*{n}")?,
            }
        }
        Ok(())
    }
}

/// A schedule's text that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a choice: expected THREAD or THREAD*COUNT, as in `1*12`")]
pub struct ScheduleError(pub String);

/// Choices that one text may stand for: a guard against `0*99999999999`.
const MAX_CHOICES: usize = 1 << 26;

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut choices = Vec::new();
        for word in text.split_whitespace() {
            let wrong = || ScheduleError(word.to_owned());
            let (thread, count) = word.split_once('*').unwrap_or((word, "1"));
            let thread: u16 = thread.parse().map_err(|_| wrong())?;
            let count: usize = count.parse().map_err(|_| wrong())?;
            if count == 0 || count > MAX_CHOICES.saturating_sub(choices.len()) {
                return Err(wrong());
            }
            choices.extend(std::iter::repeat_n(thread, count));
        }
        Ok(Schedule { choices })
    }
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_round_trip(choices in proptest::collection::vec(0u16..4, 0..60)) {
            let schedule = Schedule { choices };
            prop_assert_eq!(schedule.to_string().parse::<Schedule>().unwrap(), schedule);
        }
    }

    #[test]
    fn refuses_what_is_not_a_choice() {
        for bad in ["x", "1*", "*2", "1*0", "1*99999999999", "70000", "-1"] {
            assert_eq!(bad.parse::<Schedule>(), Err(ScheduleError(bad.to_owned())));
        }
        let text = "0*3 1 0";
        assert_eq!(text.parse::<Schedule>().unwrap().choices, [0, 0, 0, 1, 0]);
        assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
    }
}
