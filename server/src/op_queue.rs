//! Queue of the folders that wait for analysis, which decides when a running job has to give way.
//!
//! A newer event cancels the job that looks at the same folder, because its result would be old. Under a steady
//! stream of events that alone would never let a job end: a job that was started because another one was given up
//! runs to its end. After a job the queue rests for as long as the job took, so that a recording which lands hundreds
//! of runs keeps half of the processor.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};
use unsnarl_core::Budget;

/// Time after which running programs again is given up.
const LONGEST_LEISURE: Duration = Duration::from_secs(300);

/// Time after which a job shows its results so far.
const LONGEST_JOB: Duration = Duration::from_secs(120);

/// Longest rest: nobody waits longer than this for a run that landed.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Folders in need of analysis, and the job under way.
#[derive(Debug, Default)]
pub struct OpQueue {
    waiting: BTreeSet<PathBuf>,
    running: Option<Running>,
    gave_way: bool,
    rests_until: Option<Instant>,
}

#[derive(Debug)]
struct Running {
    folders: BTreeSet<PathBuf>,
    budget: Budget,
    leisure: Budget,
    protected: bool,
    since: Instant,
}

impl OpQueue {
    /// Adds a folder that changed.
    pub fn request(&mut self, folder: PathBuf) {
        // Nobody waits for what can be done at any other time.
        if let Some(running) = &self.running {
            running.leisure.cancel();
        }
        if let Some(running) = self
            .running
            .as_ref()
            .filter(|job| !job.protected && job.folders.contains(&folder))
        {
            running.budget.cancel();
        }
        self.waiting.insert(folder);
    }

    /// Removes a folder that is no longer of interest.
    pub fn drop_folder(&mut self, folder: &PathBuf) {
        self.waiting.remove(folder);
    }

    /// Time to wait before the next [`OpQueue::start`]; `None` when an event has to come first.
    pub fn rest(&self, now: Instant) -> Option<Duration> {
        let waits = self.running.is_none() && !self.waiting.is_empty();
        waits.then(|| {
            self.rests_until
                .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
        })
    }

    /// Starts the next job, if a folder waits and nothing runs; the second budget is for work that can wait.
    pub fn start(&mut self, now: Instant) -> Option<(Vec<PathBuf>, Budget, Budget)> {
        let rests = self.rest(now).is_some_and(|rest| !rest.is_zero());
        if self.running.is_some() || self.waiting.is_empty() || rests {
            return None;
        }
        let folders = std::mem::take(&mut self.waiting);
        let budget = Budget::lasting(LONGEST_JOB);
        let leisure = Budget::lasting(LONGEST_LEISURE);
        let job = (
            folders.iter().cloned().collect(),
            budget.clone(),
            leisure.clone(),
        );
        self.running = Some(Running {
            folders,
            budget,
            leisure,
            protected: self.gave_way,
            since: now,
        });
        Some(job)
    }

    /// Notes the end of the running job; these folders of it were given up.
    pub fn ended(&mut self, superseded: Vec<PathBuf>, now: Instant) {
        let worked = self
            .running
            .take()
            .map(|job| now.saturating_duration_since(job.since));
        self.rests_until = worked.and_then(|worked| now.checked_add(worked.min(LONGEST_REST)));
        self.gave_way = !superseded.is_empty();
        self.waiting.extend(superseded);
    }

    /// Returns whether nothing runs and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// Cancels the running job.
    pub fn cancel(&self) {
        if let Some(running) = &self.running {
            running.budget.cancel();
            running.leisure.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_events_supersede_but_never_starve() {
        let mut queue = OpQueue::default();
        let (a, now) = (|| PathBuf::from("a"), Instant::now());
        assert!(queue.start(now).is_none());
        queue.request(a());
        queue.request(a());
        let (folders, first, leisure) = queue.start(now).unwrap();
        assert_eq!(folders, [a()]);
        assert!(queue.start(now).is_none(), "one job at a time");

        queue.request(PathBuf::from("b"));
        assert_eq!(first.stop(), None, "another folder is no reason to stop");
        assert!(leisure.stop().is_some(), "but what can wait gives way");
        queue.request(a());
        assert!(first.stop().is_some());
        queue.ended(vec![a()], now);

        let (_, second, _) = queue.start(now).unwrap();
        queue.request(a());
        assert_eq!(
            second.stop(),
            None,
            "the job after a superseded one runs to its end"
        );
        queue.ended(vec![], now);
        let (_, third, _) = queue.start(now).unwrap();
        queue.request(a());
        assert!(third.stop().is_some());
        queue.ended(vec![], now);
        assert!(!queue.is_idle());
        queue.drop_folder(&a());
        assert!(queue.is_idle());
    }

    #[test]
    fn rests_as_long_as_it_worked() {
        let mut queue = OpQueue::default();
        let (start, after) = (Instant::now(), |ms| Duration::from_millis(ms));
        queue.request(PathBuf::from("a"));
        assert!(
            queue.start(start).is_some(),
            "the first run is looked at at once"
        );
        queue.request(PathBuf::from("b"));
        queue.ended(vec![], start + after(30));
        assert_eq!(queue.rest(start + after(40)), Some(after(20)));
        assert!(queue.start(start + after(40)).is_none());
        assert_eq!(
            queue.rest(start + after(70)),
            Some(after(0)),
            "due, not forgotten"
        );
        assert!(queue.start(start + after(60)).is_some());
        assert_eq!(queue.rest(start + after(60)), None, "nothing waits");
    }

    /// Folder changes that were seen by the last job that came to its end, by folder.
    type Analysed = [usize; 2];

    fn folder(number: usize) -> PathBuf {
        PathBuf::from(["a", "b"][number])
    }

    /// An event of the loop that owns the queue.
    enum LoopEvent {
        Changed(usize),
        Ended(Vec<PathBuf>),
    }

    /// Runs the loop, its worker and two folders that change under a schedule that shuttle draws. The folders are
    /// looked at once more after their last change, whatever gave way before.
    fn no_change_is_forgotten() {
        use shuttle::{
            sync::{Arc, Mutex, mpsc},
            thread,
        };
        const CHANGES: usize = 2;
        let changes = Arc::new(Mutex::new([0; 2]));
        let analysed: Arc<Mutex<Analysed>> = Arc::default();
        let (events, inbox) = mpsc::channel();
        let (jobs, work) = mpsc::channel::<(Vec<PathBuf>, Budget, Budget)>();

        let (seen, done, ended) = (changes.clone(), analysed.clone(), events.clone());
        let worker = thread::spawn(move || {
            while let Ok((folders, budget, _)) = work.recv() {
                let found = *seen.lock().unwrap();
                thread::yield_now();
                let gave_way = budget.stop().is_some();
                let superseded = if gave_way { folders.clone() } else { vec![] };
                for number in
                    (0..2).filter(|&number| !gave_way && folders.contains(&folder(number)))
                {
                    done.lock().unwrap()[number] = found[number];
                }
                ended.send(LoopEvent::Ended(superseded)).unwrap();
            }
        });
        let changers = [0, 1].map(|number| {
            let (changes, events) = (changes.clone(), events.clone());
            thread::spawn(move || {
                for _ in 0..CHANGES {
                    changes.lock().unwrap()[number] += 1;
                    events.send(LoopEvent::Changed(number)).unwrap();
                }
            })
        });

        let (mut queue, mut now, mut heard) = (OpQueue::default(), Instant::now(), 0);
        while heard < 2 * CHANGES || !queue.is_idle() {
            match inbox.recv().unwrap() {
                LoopEvent::Changed(number) => {
                    heard += 1;
                    queue.request(folder(number));
                }
                LoopEvent::Ended(superseded) => queue.ended(superseded, now),
            }
            now += LONGEST_REST;
            if let Some(job) = queue.start(now) {
                jobs.send(job).unwrap();
            }
        }
        drop(jobs);
        worker.join().unwrap();
        changers
            .into_iter()
            .for_each(|changer| changer.join().unwrap());
        assert_eq!(*analysed.lock().unwrap(), [CHANGES; 2]);
    }

    #[test]
    fn every_change_is_looked_at_under_any_schedule() {
        shuttle::check_random(no_change_is_forgotten, 200);
        shuttle::check_pct(no_change_is_forgotten, 200, 3);
    }
}
