//! A schedule: the thread choices that make a run repeat exactly.
//!
//! A choice is made wherever two or more threads could go on (and where a signal could wake one of
//! several waiters). Its text form lists equal choices in a row, `0*12 1 0*3`: threads by number, in
//! the order of creation.

use crate::raw::EqualChoices;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, iter::repeat_n, str::FromStr};

/// The choices of one run, in order. Takes memory for each change from one choice to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Neighbours are different, unless the first of them can count no further.
    rows: Vec<EqualChoices>,
}

impl Schedule {
    /// The choices, equal ones in a row together.
    pub fn rows(&self) -> &[EqualChoices] {
        &self.rows
    }

    /// The choices, numbers of threads for the most part, one by one.
    pub fn choices(&self) -> impl Iterator<Item = u16> {
        let rows = self.rows.iter();
        rows.flat_map(|row| repeat_n(row.choice, row.count as usize))
    }

    /// Number of choices. Linear in the rows.
    pub fn len(&self) -> usize {
        self.rows.iter().map(|row| row.count as usize).sum()
    }

    /// Returns whether there is no choice.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds equal choices.
    pub fn push(&mut self, choice: u16, count: u64) {
        let mut left = count;
        if let Some(last) = self.rows.last_mut().filter(|last| last.choice == choice) {
            let room = left.min(u64::from(u32::MAX - last.count));
            last.count += room as u32;
            left -= room;
        }
        while left > 0 {
            let count = left.min(u64::from(u32::MAX)) as u32;
            self.rows.push(EqualChoices::new(choice, count));
            left -= u64::from(count);
        }
    }

    /// The first `count` choices; all, if there are no more. Linear in the rows.
    pub fn first(&self, count: usize) -> Schedule {
        let (mut first, mut left) = (Schedule::default(), count as u64);
        for row in &self.rows {
            let taken = left.min(row.count.into());
            first.push(row.choice, taken);
            left -= taken;
        }
        first
    }
}

impl FromIterator<u16> for Schedule {
    fn from_iter<I: IntoIterator<Item = u16>>(choices: I) -> Schedule {
        let mut schedule = Schedule::default();
        for choice in choices {
            schedule.push(choice, 1);
        }
        schedule
    }
}

impl FromIterator<EqualChoices> for Schedule {
    fn from_iter<I: IntoIterator<Item = EqualChoices>>(rows: I) -> Schedule {
        let mut schedule = Schedule::default();
        for row in rows {
            schedule.push(row.choice, row.count.into());
        }
        schedule
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        for row in &self.rows {
            match row.count {
                1 => write!(f, "{gap}{}", row.choice)?,
                count => write!(f, "{gap}{}*{count}", row.choice)?,
            }
            gap = " ";
        }
        Ok(())
    }
}

/// A schedule's text that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a choice: expected THREAD or THREAD*COUNT, as in `1*12`")]
pub struct ScheduleError(pub String);

/// Choices that one text may stand for: a guard against `0*99999999999999`.
const MAX_CHOICES: u64 = 1 << 40;

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let (mut schedule, mut room) = (Schedule::default(), MAX_CHOICES);
        for word in text.split_whitespace() {
            let wrong = || ScheduleError(word.to_owned());
            let (thread, count) = word.split_once('*').unwrap_or((word, "1"));
            let thread: u16 = thread.parse().map_err(|_| wrong())?;
            let count: u64 = count.parse().map_err(|_| wrong())?;
            if count == 0 || count > room {
                return Err(wrong());
            }
            room -= count;
            schedule.push(thread, count);
        }
        Ok(schedule)
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
        fn choices_stay_what_they_are(choices in proptest::collection::vec(0u16..4, 0..60), first in 0usize..70) {
            let schedule: Schedule = choices.iter().copied().collect();
            prop_assert_eq!(schedule.to_string().parse::<Schedule>().unwrap(), schedule.clone());
            prop_assert_eq!(schedule.len(), choices.len());
            prop_assert_eq!(schedule.choices().collect::<Vec<u16>>(), choices.clone());
            let part = choices.iter().copied().take(first).collect::<Schedule>();
            prop_assert_eq!(schedule.first(first), part);
        }
    }

    #[test]
    fn refuses_what_is_not_a_choice() {
        for bad in ["x", "1*", "*2", "1*0", "1*99999999999999", "70000", "-1"] {
            assert_eq!(bad.parse::<Schedule>(), Err(ScheduleError(bad.to_owned())));
        }
        let text = "0*3 1 0";
        let schedule = text.parse::<Schedule>().unwrap();
        assert_eq!(schedule.choices().collect::<Vec<_>>(), [0, 0, 0, 1, 0]);
        assert_eq!(schedule.to_string(), text);
    }

    #[test]
    fn more_equal_choices_than_a_row_can_count_take_several() {
        let schedule: Schedule = "0*5000000000 1".parse().unwrap();
        let counts: Vec<u32> = schedule.rows().iter().map(|row| row.count).collect();
        assert_eq!(counts, [u32::MAX, 705_032_705, 1]);
        assert_eq!(schedule.len(), 5_000_000_001);
    }
}
