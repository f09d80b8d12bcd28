//! The thread that analyses. It is told what to look at and reports; nothing is shared.

use crate::{
    event::{Event, JobEvent},
    paths::Root,
    runs::{RunStore, Superseded},
};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
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
    /// Ends the job when something newer happens.
    pub budget: Budget,
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
            let result = catch_unwind(AssertUnwindSafe(|| {
                let facts = store.refresh(&runs, &job.budget, progress)?;
                told(facts.clone());
                store.deepen(&Root::new(root.clone()), &runs, facts, &job.budget, told)
            }));
            match result {
                Ok(Ok(())) => {}
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
