//! The thread that analyses. It is told what to look at and reports; nothing is shared.

use crate::{
    event::{Event, JobEvent},
    facts::FolderFacts,
    paths::Root,
    runs::{RunStore, Superseded},
};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};
use unsnarl_core::Budget;

/// Work to do.
#[derive(Debug)]
pub struct Job {
    /// Workspace folders and their run folders.
    pub folders: Vec<(PathBuf, PathBuf)>,
    /// How much memory the runs of each folder may take, in bytes.
    pub room: u64,
    /// Ends the job when something newer happens.
    pub budget: Budget,
}

/// A workspace folder.
struct Place<'a> {
    root: Root,
    /// Its run folder.
    runs: &'a Path,
    /// How much memory its runs may take, in bytes.
    room: u64,
}

/// The worker's thread; ends when the handle is dropped and its last job has ended.
#[derive(Debug)]
pub struct Worker {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread. It reports to `events`.
    pub fn start(events: Sender<Event>) -> std::io::Result<Worker> {
        let (jobs, inbox) = channel();
        let thread = std::thread::Builder::new().name("unsnarl-analysis".to_owned());
        let thread = thread.spawn(move || work(&inbox, &events))?;
        Ok(Worker {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Hands over a job.
    pub fn run(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this sender.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Brings one folder up to date and tells of it whenever there is something to show. Answers with what the user should
/// know of besides.
fn look(
    store: &mut RunStore,
    at: &Place<'_>,
    budget: &Budget,
    progress: impl FnMut(usize, usize),
    mut told: impl FnMut(FolderFacts),
) -> Result<Option<String>, Superseded> {
    if let Some(facts) = store.reopen(&at.root, at.runs, at.room) {
        told(facts);
    }
    let facts = store.refresh(at.runs, at.room, budget, progress)?;
    told(facts.clone());
    let facts = store.deepen(&at.root, at.runs, facts, budget, told)?;
    Ok(store.keep(&at.root, at.runs, &facts).err())
}

fn work(jobs: &Receiver<Job>, events: &Sender<Event>) {
    let mut stores = BTreeMap::<PathBuf, RunStore>::new();
    // Nobody listens any more while the server ends.
    let report = |event: JobEvent| drop(events.send(Event::Job(event)));
    for job in jobs {
        let (mut superseded, mut defect) = (Vec::new(), None);
        for (root, runs) in job.folders {
            let progress = |done, total| report(JobEvent::Progress { done, total });
            let store = stores.entry(root.clone()).or_default();
            let told = |facts| report(JobEvent::Folder(root.clone(), Arc::new(facts)));
            let at = Place {
                root: Root::new(root.clone()),
                runs: &runs,
                room: job.room,
            };
            let result = catch_unwind(AssertUnwindSafe(|| {
                look(store, &at, &job.budget, progress, told)
            }));
            match result {
                Ok(Ok(problem)) => defect = problem.or(defect),
                Ok(Err(Superseded)) => superseded.push(root),
                Err(_) => {
                    defect = Some(format!(
                        "the analysis of {} failed; this is a defect of unsnarl, please report it with the run files",
                        runs.display()
                    ));
                    stores.remove(&root);
                }
            }
        }
        report(JobEvent::Ended { superseded, defect });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use unsnarl_trace::{script::parse, write::write_run};

    /// How long a superseded job may go on.
    const SOON: Duration = Duration::from_millis(50);

    /// A run in which two threads add to a counter some hundred times; in one that fails an update is lost.
    fn run(number: usize) -> Vec<u8> {
        let mut text = String::from("file a.c\nmain fork main.1 @1\nmain fork main.2 @2\n");
        let mut value = 0;
        for step in 0..300 {
            let thread = 1 + (step * 7 + number) * (step + number) / 5 % 2;
            text.push_str(&format!("main.{thread} R n ={value} @10\n"));
            value += 1;
            text.push_str(&format!("main.{thread} W n ={value} @11\n"));
        }
        text.push_str(&format!("main R n ={value} @20\n"));
        if number.is_multiple_of(4) {
            text.push_str("main fails @20 assertion failed\n");
        }
        let mut bytes = Vec::new();
        write_run(&parse(&text).unwrap(), &mut bytes).unwrap();
        bytes
    }

    /// Until the job's next event that is as wanted.
    fn wait(inbox: &Receiver<Event>, wanted: impl Fn(&JobEvent) -> bool) {
        while let Event::Job(event) = inbox.recv_timeout(Duration::from_secs(60)).unwrap() {
            if wanted(&event) {
                return;
            }
        }
    }

    #[test]
    fn a_superseded_job_stops_soon() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join(".unsnarl/runs");
        std::fs::create_dir_all(&runs).unwrap();
        for number in 0..80 {
            std::fs::write(runs.join(format!("run-{number}.arrow")), run(number)).unwrap();
        }
        // Each in a new worker, at a moment of its own: while runs are read, compared, looked into further.
        let stop_after = |moment: usize| {
            let (events, inbox) = channel();
            let worker = Worker::start(events).unwrap();
            let budget = Budget::unlimited();
            worker.run(Job {
                folders: vec![(folder.path().to_owned(), runs.clone())],
                room: u64::MAX,
                budget: budget.clone(),
            });
            wait(&inbox, |event| match event {
                JobEvent::Progress { done, .. } => *done == moment * 16,
                JobEvent::Folder(..) | JobEvent::Ended { .. } => true,
            });
            let since = Instant::now();
            budget.cancel();
            wait(&inbox, |event| matches!(event, JobEvent::Ended { .. }));
            since.elapsed()
        };
        let mut times: Vec<Duration> = (0..7).map(stop_after).collect();
        times.sort();
        // One of them may have met a busy machine.
        assert!(times[5] < SOON, "{times:?}");
    }
}
