//! Notes on the runs of a campaign that have to be made by themselves, and on the reasons.

use super::Recording;
use crate::launch::Output;

/// Runs that could not be made beside others although there was a crew for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alone {
    /// Number of these runs.
    pub runs: u64,
    /// All that came after them were made so, too.
    pub are_all: bool,
    /// Reason for the first of them.
    pub why: String,
}

/// One run in this many that has to be made by itself makes all be: the others are begun in vain too often.
const MANY: u64 = 4;

/// Obstacles to making the runs of a campaign side by side.
#[derive(Default)]
pub(super) struct Solitude {
    alone: Option<Alone>,
}

impl Solitude {
    /// Returns the obstacles that are known before the first run.
    pub fn of(recording: &Recording) -> Solitude {
        let job = &recording.job;
        let is_file = |path| std::fs::metadata(path).is_ok_and(|there| there.is_file());
        let why = match &job.stdin {
            _ if job.starter.company().driver.is_some() => "each run has a driver",
            _ if job.parent.is_some() => "the program is started by another one",
            _ if job.output == Output::Shown => "the output that is shown would be mixed",
            Some(path) if !is_file(path) => "the file for standard input is no regular file",
            _ => return Solitude::default(),
        };
        Solitude {
            alone: Some(Alone {
                runs: 0,
                are_all: true,
                why: why.to_owned(),
            }),
        }
    }

    /// Returns whether all further runs are made by themselves.
    pub fn is_for_good(&self) -> bool {
        self.alone.as_ref().is_some_and(|alone| alone.are_all)
    }

    /// Of so many runs, the last one was about to do what others could notice.
    pub fn note(&mut self, why: String, runs: u64) {
        let alone = self.alone.get_or_insert(Alone {
            runs: 0,
            are_all: false,
            why,
        });
        alone.runs += 1;
        alone.are_all = alone.runs * MANY > runs;
    }

    /// Returns the note for the summary, if any run had to be made by itself.
    pub fn told(self) -> Option<Alone> {
        self.alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seldom_is_not_always() {
        let mut solitude = Solitude::default();
        solitude.note("the program locks files".to_owned(), 100);
        assert!(!solitude.is_for_good());
        solitude.note("the program starts other processes".to_owned(), 7);
        let told = solitude.told().unwrap();
        assert_eq!((told.runs, told.are_all), (2, true));
        assert_eq!(told.why, "the program locks files");
    }
}
