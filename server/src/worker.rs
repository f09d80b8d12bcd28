//! The thread that analyses. It gets folders to look at and reports; nothing is shared. The longest work comes last:
//! running programs again, when nothing else is left to do.

use crate::{
    compiling::Compiling,
    confirmer::{Confirmation, Confirmer, NoAnswer},
    event::{HostEvent, JobEvent},
    facts::FolderFacts,
    paths::{Root, SourceMap},
    runs::{RunStore, Superseded},
    trust::Trust,
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
    time::{Duration, Instant},
};
use unsnarl_core::Budget;

/// Time without any event after which programs are run again.
const QUIET: Duration = Duration::from_millis(500);

/// Tools that the thread gets once.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    /// Runs programs again.
    pub confirmer: Option<Confirmer>,
    /// Filter of edits that compile.
    pub compiling: Compiling,
}

/// Work to do.
#[derive(Debug)]
pub struct WorkerJob {
    /// Workspace folders.
    pub folders: Vec<WatchedFolder>,
    /// Memory that the runs of each folder may take, in bytes.
    pub room: u64,
    /// Ends the job when something newer happens.
    pub budget: Budget,
    /// Ends work that can be done at any other time.
    pub leisure: Budget,
}

/// A workspace folder to look at.
#[derive(Debug)]
pub struct WatchedFolder {
    /// The folder.
    pub root: PathBuf,
    /// Its run folder.
    pub runs: PathBuf,
    /// Places of sources elsewhere.
    pub map: Arc<SourceMap>,
    /// `true` if its programs may be run again.
    pub may_run: bool,
    /// The programs that may be executed then.
    pub trust: Trust,
}

/// A workspace folder.
struct FolderPlace<'a> {
    root: Root,
    /// Its run folder.
    runs: &'a Path,
    /// Memory that its runs may take, in bytes.
    room: u64,
}

/// The worker's thread; ends when the handle is dropped and its last job has ended.
#[derive(Debug)]
pub struct Worker {
    jobs: Option<Sender<WorkerJob>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread. It reports to `events`.
    pub fn start(events: Sender<HostEvent>, tools: Tools) -> std::io::Result<Worker> {
        let (jobs, inbox) = channel();
        let thread = std::thread::Builder::new().name("unsnarl-analysis".to_owned());
        let thread = thread.spawn(move || work(&inbox, &events, &tools))?;
        Ok(Worker {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Hands over a job.
    pub fn run(&self, job: WorkerJob) {
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

/// The result of looking at a folder, with a remark for the user.
type Looked = Result<(FolderFacts, Option<String>), Superseded>;

/// Brings one folder up to date and reports it whenever there is something to show.
fn look(
    store: &mut RunStore,
    at: &FolderPlace<'_>,
    budget: &Budget,
    progress: impl FnMut(usize, usize),
    mut told: impl FnMut(FolderFacts),
) -> Looked {
    if let Some(facts) = store.reopen(&at.root, at.runs, at.room) {
        told(store.shown(&facts));
    }
    let facts = store.refresh(at.runs, at.room, budget, progress)?;
    told(store.shown(&facts));
    let facts = store.deepen(&at.root, at.runs, facts, budget, &mut told)?;
    if store.recall(at.runs, &facts) {
        told(store.shown(&facts));
    }
    let problem = store.keep(&at.root, at.runs, &facts).err();
    Ok((facts, problem))
}

/// Runs the program of a folder again, if that is new, and reports the result.
fn confirm(
    store: &mut RunStore,
    at: &FolderPlace<'_>,
    facts: FolderFacts,
    (confirmer, trust, budget): (&Confirmer, &Trust, &Budget),
    begins: impl FnOnce(),
    told: impl FnOnce(FolderFacts),
) -> Looked {
    if store.unconfirmed_of(&facts, trust).next().is_none() {
        return Ok((facts, None));
    }
    rest(budget)?;
    begins();
    let (answer, problem) = match confirmer.confirm((&at.root.path, at.runs), trust, budget) {
        Ok(answer) => (answer, None),
        Err(NoAnswer::Superseded) => return Err(Superseded),
        Err(NoAnswer::Failed(reason)) => (Confirmation::default(), Some(reason)),
    };
    store.learn(&facts, &answer, trust);
    told(store.shown(&facts));
    let problem = problem.or_else(|| store.keep(&at.root, at.runs, &facts).err());
    Ok((facts, problem))
}

/// Waits for a pause: a user who is recording now should not have to share the processor.
fn rest(budget: &Budget) -> Result<(), Superseded> {
    let until = Instant::now() + QUIET;
    while Instant::now() < until {
        if budget.stop().is_some() {
            return Err(Superseded);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// State of the thread.
struct WorkerState<'a> {
    stores: BTreeMap<PathBuf, RunStore>,
    tools: &'a Tools,
    events: &'a Sender<HostEvent>,
}

/// The result of a job.
#[derive(Default)]
struct JobOutcome {
    superseded: Vec<PathBuf>,
    defect: Option<String>,
}

impl WorkerState<'_> {
    fn report(&self, event: JobEvent) {
        // Nobody listens any more while the server ends.
        let _ = self.events.send(HostEvent::Job(event));
    }

    fn job(&mut self, job: &WorkerJob) {
        let mut outcome = JobOutcome::default();
        let mut seen = Vec::new();
        for folder in &job.folders {
            let facts = self.tend(folder, job, &mut outcome, None);
            seen.extend(facts.map(|facts| (folder, facts)));
        }
        for (folder, facts) in seen {
            if folder.may_run && self.tools.confirmer.is_some() {
                self.tend(folder, job, &mut outcome, Some(facts));
            }
        }
        let JobOutcome { superseded, defect } = outcome;
        self.report(JobEvent::Ended { superseded, defect });
    }

    /// Looks at a folder, or has its explanations confirmed. A panic costs only that folder.
    fn tend(
        &mut self,
        folder: &WatchedFolder,
        job: &WorkerJob,
        outcome: &mut JobOutcome,
        found: Option<FolderFacts>,
    ) -> Option<FolderFacts> {
        let store = self.stores.remove(&folder.root);
        let new = || RunStore::new(self.tools.compiling.clone());
        let mut store = store.unwrap_or_else(new);
        let at = FolderPlace {
            root: Root {
                map: folder.map.clone(),
                ..Root::new(folder.root.clone())
            },
            runs: &folder.runs,
            room: job.room,
        };
        let told = |facts| self.report(JobEvent::Folder(folder.root.clone(), Arc::new(facts)));
        let result = catch_unwind(AssertUnwindSafe(|| match (found, &self.tools.confirmer) {
            (Some(facts), Some(confirmer)) => {
                let begins = || self.report(JobEvent::Confirming);
                confirm(
                    &mut store,
                    &at,
                    facts,
                    (confirmer, &folder.trust, &job.leisure),
                    begins,
                    told,
                )
            }
            _ => {
                let progress = |done, total| self.report(JobEvent::Progress { done, total });
                look(&mut store, &at, &job.budget, progress, told)
            }
        }));
        let Ok(result) = result else {
            outcome.defect = Some(format!(
                "the analysis of {} failed; this is a defect of unsnarl, please report it with the run files",
                folder.runs.display()
            ));
            return None;
        };
        self.stores.insert(folder.root.clone(), store);
        match result {
            Ok((facts, problem)) => {
                outcome.defect = problem.or(outcome.defect.take());
                Some(facts)
            }
            Err(Superseded) => {
                outcome.superseded.push(folder.root.clone());
                None
            }
        }
    }
}

fn work(jobs: &Receiver<WorkerJob>, events: &Sender<HostEvent>, tools: &Tools) {
    let mut work = WorkerState {
        stores: BTreeMap::new(),
        tools,
        events,
    };
    for job in jobs {
        work.job(&job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::OwnRuns;
    use std::collections::BTreeSet;
    use unsnarl_trace::{script::parse, write::write_run};

    /// Time for which a superseded job may go on.
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

    /// Waits for the job's next event that satisfies `wanted`.
    fn wait(inbox: &Receiver<HostEvent>, wanted: impl Fn(&JobEvent) -> bool) {
        while let HostEvent::Job(event) = inbox.recv_timeout(Duration::from_secs(60)).unwrap() {
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
            let worker = Worker::start(events, Tools::default()).unwrap();
            let budget = Budget::unlimited();
            worker.run(WorkerJob {
                folders: vec![WatchedFolder {
                    trust: Trust {
                        everything: true,
                        builds: BTreeSet::new(),
                        own: OwnRuns::default(),
                    },
                    root: folder.path().to_owned(),
                    runs: runs.clone(),
                    map: Arc::default(),
                    may_run: false,
                }],
                room: u64::MAX,
                budget: budget.clone(),
                leisure: budget.clone(),
            });
            wait(&inbox, |event| match event {
                JobEvent::Progress { done, .. } => *done == moment * 16,
                JobEvent::Folder(..) | JobEvent::Ended { .. } | JobEvent::Confirming => true,
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
