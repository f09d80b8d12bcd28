//! Which folders wait for analysis, and when a running job has to give way.
//!
//! A newer event cancels the job that looks at the same folder, because its result would be old. Under
//! a steady stream of events that alone would never let a job end: a job that was started because
//! another one was given up runs to its end.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};
use unsnarl_core::Budget;

/// A job that takes longer shows what it has.
const LONGEST_JOB: Duration = Duration::from_secs(120);

/// Folders in need of analysis, and the job under way.
#[derive(Debug, Default)]
pub struct OpQueue {
    waiting: BTreeSet<PathBuf>,
    running: Option<Running>,
    gave_way: bool,
}

#[derive(Debug)]
struct Running {
    folders: BTreeSet<PathBuf>,
    budget: Budget,
    protected: bool,
}

impl OpQueue {
    /// A folder changed.
    pub fn request(&mut self, folder: PathBuf) {
        if let Some(running) = self
            .running
            .as_ref()
            .filter(|job| !job.protected && job.folders.contains(&folder))
        {
            running.budget.cancel();
        }
        self.waiting.insert(folder);
    }

    /// A folder is of no interest any more.
    pub fn drop_folder(&mut self, folder: &PathBuf) {
        self.waiting.remove(folder);
    }

    /// What to work on now, if something waits and nothing runs.
    pub fn start(&mut self) -> Option<(Vec<PathBuf>, Budget)> {
        if self.running.is_some() || self.waiting.is_empty() {
            return None;
        }
        let folders = std::mem::take(&mut self.waiting);
        let budget = Budget::lasting(LONGEST_JOB);
        let job = (folders.iter().cloned().collect(), budget.clone());
        self.running = Some(Running {
            folders,
            budget,
            protected: self.gave_way,
        });
        Some(job)
    }

    /// The running job ended; these folders of it were given up.
    pub fn ended(&mut self, superseded: Vec<PathBuf>) {
        self.running = None;
        self.gave_way = !superseded.is_empty();
        self.waiting.extend(superseded);
    }

    /// Nothing runs and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// Stops whatever runs.
    pub fn cancel(&self) {
        if let Some(running) = &self.running {
            running.budget.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_events_supersede_but_never_starve() {
        let mut queue = OpQueue::default();
        let a = || PathBuf::from("a");
        assert!(queue.start().is_none());
        queue.request(a());
        queue.request(a());
        let (folders, first) = queue.start().unwrap();
        assert_eq!(folders, [a()]);
        assert!(queue.start().is_none(), "one job at a time");

        queue.request(PathBuf::from("b"));
        assert_eq!(first.stop(), None, "another folder is no reason to stop");
        queue.request(a());
        assert!(first.stop().is_some());
        queue.ended(vec![a()]);

        let (_, second) = queue.start().unwrap();
        queue.request(a());
        assert_eq!(
            second.stop(),
            None,
            "the job after a superseded one runs to its end"
        );
        queue.ended(vec![]);
        let (_, third) = queue.start().unwrap();
        queue.request(a());
        assert!(third.stop().is_some());
        queue.ended(vec![]);
        assert!(!queue.is_idle());
        queue.drop_folder(&a());
        assert!(queue.is_idle());
    }
}
