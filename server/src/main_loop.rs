//! The loop that owns the state: one event at a time, nothing waits in it.

mod folders;

use crate::{
    consent::Consent,
    event::{ClientSession, DiskEvent, HostEvent, JobEvent},
    extensions::count,
    facts::FolderFacts,
    host::{ClientTerms, Host, ServerState, StateChange},
    manual,
    marks::FileMarks,
    op_queue::OpQueue,
    outgoing::{AnalysisProgress, Outgoing},
    paths::SourceMap,
    permission::Permissions,
    places::{Finder, RunSearch},
    suppressed,
    trust::OwnRuns,
    watch::FolderWatcher,
    worker::{Tools, WatchedFolder, Worker, WorkerJob},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::Instant,
};
use tokio::sync::mpsc::UnboundedSender;

/// Handles events until [`Event::Stop`]; then everything that was started is ended. The confirmer of `tools` runs
/// programs again if `permissions` says that the user allowed it.
pub fn run(
    events: &Sender<HostEvent>,
    inbox: &Receiver<HostEvent>,
    outgoing: UnboundedSender<Outgoing>,
    tools: Tools,
    (permissions, own): (Permissions, OwnRuns),
) {
    let can_confirm = tools.confirmer.is_some();
    let threads = Worker::start(events.clone(), tools)
        .and_then(|worker| Ok((worker, Finder::start(events.clone())?)));
    let (worker, finder) = match threads {
        Ok(threads) => threads,
        Err(error) => {
            let text = format!(
                "cannot start a thread for the analysis: {error}; free some memory and restart the server"
            );
            drop(outgoing.send(Outgoing::Warn(text)));
            return;
        }
    };
    let mut main = MainLoop {
        host: Host::default(),
        queue: OpQueue::default(),
        watcher: FolderWatcher::new(events.clone()),
        worker,
        search: RunSearch::new(finder),
        outgoing,
        published: BTreeMap::new(),
        opened: BTreeSet::new(),
        named: BTreeMap::new(),
        stale: 0,
        working: false,
        consent: Consent::new(can_confirm, permissions, own),
    };
    loop {
        let event = match main.queue.rest(Instant::now()) {
            Some(rest) => inbox.recv_timeout(rest),
            None => inbox.recv().map_err(RecvTimeoutError::from),
        };
        match event {
            Ok(HostEvent::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(event) => {
                if !main.handle_all(event, inbox) {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        main.start_job();
    }
    main.queue.cancel();
}

/// Number of events that are handled before their consequences are worked out.
const MOST_AT_ONCE: usize = 1000;

struct MainLoop {
    host: Host,
    queue: OpQueue,
    watcher: FolderWatcher,
    worker: Worker,
    search: RunSearch,
    outgoing: UnboundedSender<Outgoing>,
    /// Marks that the client shows now.
    published: BTreeMap<PathBuf, FileMarks>,
    /// Files that were opened so far.
    opened: BTreeSet<PathBuf>,
    /// Broken run files and unreadable folders that were reported to the user, by workspace folder.
    named: BTreeMap<PathBuf, BTreeMap<PathBuf, String>>,
    /// Number of marks that could not be followed at the last report.
    stale: usize,
    /// `true` once progress was begun.
    working: bool,
    /// Consent to run programs again.
    consent: Consent,
}

impl MainLoop {
    /// Handles an event and, if it is an edit, the edits that wait behind it: their marks are worked out once.
    /// Returns whether to go on.
    fn handle_all(&mut self, first: HostEvent, inbox: &Receiver<HostEvent>) -> bool {
        let is_edit = matches!(first, HostEvent::Document(_));
        let mut next = Some(first);
        for _ in 0..MOST_AT_ONCE {
            match next {
                Some(HostEvent::Document(event)) => {
                    self.guard(|main| main.change_document(event));
                    next = inbox.try_recv().ok();
                }
                other => {
                    next = other;
                    break;
                }
            }
        }
        if is_edit {
            self.guard(|main| {
                main.publish();
            });
        }
        match next {
            Some(HostEvent::Stop) => return false,
            Some(event) => self.guard(|main| main.handle(event)),
            None => {}
        }
        true
    }

    /// Runs a handler; a panic costs the event only. A request that waits for its answer is told that there is none.
    fn guard(&mut self, handle: impl FnOnce(&mut MainLoop)) {
        if catch_unwind(AssertUnwindSafe(|| handle(self))).is_err() {
            self.tell(Outgoing::Warn(
                "something could not be worked out; this is a defect of unsnarl, please report it"
                    .to_owned(),
            ));
        }
    }

    fn handle(&mut self, event: HostEvent) {
        match event {
            HostEvent::Start(session) => self.start(session),
            HostEvent::Document(event) => {
                self.change_document(event);
                self.publish();
            }
            HostEvent::Folders { added, removed } => self.change_folders(added, removed),
            HostEvent::Configured(config, complaints) => self.configure(config, complaints),
            HostEvent::Choose(id) => {
                self.host.apply(StateChange::Choose(id));
                self.tell(Outgoing::Refresh);
                self.tell(Outgoing::StatusChanged);
            }
            HostEvent::Suppress {
                id,
                because,
                answer,
            } => {
                // The request was cancelled if nobody waits for the answer.
                let _ = answer.send(self.suppress(&id, because.as_deref()));
            }
            HostEvent::Confirm(id, answer) => {
                // The request was cancelled if nobody waits for the answer.
                let _ = answer.send(self.confirm(id));
            }
            HostEvent::MayRun(folder, Some(may)) => self.allow(folder, may),
            // Not now: the lens above an explanation still offers it.
            HostEvent::MayRun(_, None) => {}
            HostEvent::Say(text) => self.tell(Outgoing::Say(text)),
            HostEvent::Disk(event) => self.disk(event),
            HostEvent::Job(event) => self.job(event),
            // The request was cancelled if nobody waits for the answer.
            HostEvent::Ask(answer) => drop(answer.send(self.host.snapshot())),
            HostEvent::Stop => {}
        }
    }

    fn start(&mut self, session: ClientSession) {
        self.tell(Outgoing::Abilities(session.abilities));
        self.consent.is_possible &= session.trusts;
        self.consent.asks = session.asks;
        self.consent.setting = session.config.confirm;
        let start = StateChange::Start(ClientTerms {
            encoding: session.encoding,
            commands: session.commands,
            edits: session.edits,
            related: session.related,
            pulls: session.pulls,
            nests: session.nests,
            can_confirm: self.consent.is_possible,
        });
        self.host.apply(start);
        self.host.apply(StateChange::Config(session.config));
        self.complain(session.complaints);
        match manual::unpack() {
            Ok(folder) => self.host.apply(StateChange::Manual(folder)),
            Err(error) => self.tell(Outgoing::Info(format!(
                "marks have no links to pages about their class of bug: {error}; make the cache folder writable"
            ))),
        }
        self.change_folders(session.folders, Vec::new());
    }

    fn change_folders(&mut self, added: Vec<PathBuf>, removed: Vec<PathBuf>) {
        removed
            .into_iter()
            .for_each(|folder| self.drop_folder(folder));
        for folder in added {
            self.host.apply(StateChange::AddFolder(folder.clone()));
            self.tend_folder(folder);
        }
        self.tell_who_may_run();
        self.publish();
        self.search_again();
    }

    /// Handles the user's wish to have an explanation confirmed.
    fn confirm(&mut self, id: Option<String>) -> Result<(), String> {
        let state = self.host.snapshot();
        let found = match &id {
            None => state.selected(),
            Some(id) => state
                .explained()
                .find(|(_, explained)| explained.explanation.id == *id),
        };
        let (root, explained) = found.ok_or_else(|| match id {
            Some(id) => format!("nothing that is explained now is called {id}"),
            None => "nothing is explained now".to_owned(),
        })?;
        if explained.explanation.executed.is_some() {
            return Err("it was run again already; new runs are looked at anew".to_owned());
        }
        let build = explained
            .evidence
            .as_ref()
            .map(|run| run.meta.build_id.as_str());
        self.consent
            .allow_now(&root.path, build.unwrap_or_default())?;
        let facts = state.facts_of(&root.path);
        if facts.is_some_and(|facts| facts.unconfirmed == 0) {
            return Err(
                "it could not be run again: the log says why; restart the server to try once more"
                    .to_owned(),
            );
        }
        self.run_again(root.path.clone());
        Ok(())
    }

    /// Handles the user's answer about running programs.
    fn allow(&mut self, folder: PathBuf, may: bool) {
        if let Err(error) = self.consent.answer(&folder, may) {
            self.tell(Outgoing::Warn(format!(
                "cannot remember whether programs of {} may be run: {error}; it will be asked again",
                folder.display()
            )));
        }
        if may {
            self.run_again(folder);
        }
    }

    fn run_again(&mut self, folder: PathBuf) {
        self.tell_who_may_run();
        self.tell(Outgoing::Refresh);
        self.queue.request(folder);
    }

    fn tell_who_may_run(&mut self) {
        let mut folders = self.folders();
        folders.retain(|folder| self.consent.may_run(folder));
        self.host
            .apply(StateChange::MayRun(folders.into_iter().collect()));
    }

    fn configure(&mut self, config: crate::config::Config, complaints: Vec<String>) {
        self.complain(complaints);
        if self.host.snapshot().config != config {
            self.consent.setting = config.confirm;
            self.host.apply(StateChange::Config(config));
            self.tell_who_may_run();
            self.tell(Outgoing::Refresh);
            for folder in self.folders() {
                self.watcher.forget(&folder);
                self.watcher.watch_runs(&folder, &self.runs_of(&folder));
                self.queue.request(folder);
            }
            self.search_again();
        }
    }

    fn disk(&mut self, event: DiskEvent) {
        match event {
            DiskEvent::Runs(folder) => self.queue.request(folder),
            DiskEvent::Rewatch(folder) => {
                self.watcher.rewatch(&folder);
                self.queue.request(folder);
            }
            DiskEvent::Source(path) => {
                for folder in self.host.snapshot().wait_for_source(&path) {
                    self.queue.request(folder);
                }
                self.host.apply(StateChange::SourceOnDisk(path));
                self.publish();
            }
            DiskEvent::Tree => self.search_again(),
            DiskEvent::Places(scope, places) => self.take_places(&scope, places),
            DiskEvent::Suppressions => self.look_at_suppressions(),
            DiskEvent::Found => {
                let problem = self.watcher.problem().map(str::to_owned);
                self.host.apply(StateChange::Watching(problem));
                self.tell(Outgoing::StatusChanged);
                self.folders()
                    .into_iter()
                    .for_each(|folder| self.queue.request(folder));
            }
            DiskEvent::Lost(problem) => {
                if let Some(problem) = &problem {
                    self.tell(Outgoing::Warn(problem.clone()));
                    self.host
                        .apply(StateChange::Watching(Some(problem.clone())));
                }
                self.look_at_suppressions();
                self.search_again();
                self.folders()
                    .into_iter()
                    .for_each(|folder| self.queue.request(folder));
            }
        }
    }

    fn suppress(&mut self, id: &str, because: Option<&str>) -> Result<(), String> {
        let state = self.host.snapshot();
        let found = state
            .explained()
            .find(|(_, explained)| explained.explanation.id == id);
        let (root, explained) =
            found.ok_or_else(|| format!("nothing that is explained now is called {id}"))?;
        suppressed::add(&root.path, &explained.explanation, because)?;
        self.look_at_suppressions();
        Ok(())
    }

    fn look_at_suppressions(&mut self) {
        let problems = |state: &ServerState| -> Vec<String> {
            let folders = state.folders.iter();
            folders
                .filter_map(|folder| folder.suppressions.clone().err())
                .collect()
        };
        let before = problems(&self.host.snapshot());
        self.host.apply(StateChange::Suppressions);
        let mut new = problems(&self.host.snapshot());
        new.retain(|problem| !before.contains(problem));
        self.complain(new);
        self.publish();
        self.tell(Outgoing::Refresh);
        self.tell(Outgoing::StatusChanged);
    }

    fn job(&mut self, event: JobEvent) {
        match event {
            JobEvent::Progress { done, total } => {
                if !self.working {
                    self.working = true;
                    self.tell(Outgoing::Working(AnalysisProgress::Begin));
                }
                self.tell(Outgoing::Working(AnalysisProgress::Files(done, total)));
            }
            JobEvent::Confirming => self.tell(Outgoing::Working(AnalysisProgress::Confirming)),
            JobEvent::Folder(folder, facts) => self.learn(&folder, facts),
            JobEvent::Ended { superseded, defect } => {
                let known = self.folders();
                let still = superseded
                    .into_iter()
                    .filter(|folder| known.contains(folder));
                self.queue.ended(still.collect(), Instant::now());
                self.watcher.retry();
                self.complain(defect.into_iter().collect());
                if std::mem::take(&mut self.working) {
                    self.tell(Outgoing::Working(AnalysisProgress::End));
                }
            }
        }
    }

    fn learn(&mut self, folder: &Path, facts: Arc<FolderFacts>) {
        if !self.folders().iter().any(|known| known == folder) {
            return;
        }
        self.name_broken(folder, &facts);
        let before = self.host.snapshot().facts_of(folder);
        let is_shown = before.is_none_or(|before| !before.shows_the_same(&facts));
        let question = self.consent.question(folder, &facts);
        self.host
            .apply(StateChange::Facts(folder.to_owned(), facts));
        if let Some(text) = question {
            self.tell(Outgoing::AskToRun(folder.to_owned(), text));
        }
        let stale = self.publish();
        if is_shown {
            self.tell(Outgoing::Refresh);
            self.name_stale(stale);
        }
        self.tell(Outgoing::StatusChanged);
    }

    /// Reports the number of marks that could not be followed, if it has changed.
    fn name_stale(&mut self, stale: usize) {
        if stale > 0 && stale != self.stale {
            self.tell(Outgoing::Info(format!(
                "{} not shown, because the lines changed since the run was recorded; record again to \
                 see what is true now",
                count(stale, "mark")
            )));
        }
        self.stale = stale;
    }

    /// Reports each broken file once, and again only when it breaks anew.
    fn name_broken(&mut self, folder: &Path, facts: &FolderFacts) {
        let mut broken = facts.broken.clone();
        broken.extend(
            facts
                .unreadable
                .iter()
                .map(|text| (folder.to_owned(), text.clone())),
        );
        let named = self
            .named
            .insert(folder.to_owned(), broken.clone())
            .unwrap_or_default();
        for (path, reason) in &broken {
            if named.get(path) != Some(reason) {
                self.tell(Outgoing::Warn(reason.clone()));
            }
        }
    }

    /// Sends marks that differ from those that the client shows, or a message that some do. Returns the number of
    /// marks that could not be followed.
    fn publish(&mut self) -> usize {
        let state = self.host.snapshot();
        let (marks, stale) = state.marks();
        let before = |path: &PathBuf| self.published.get(path);
        let changed = marks
            .iter()
            .filter(|(path, file)| before(path).is_none_or(|before| before.marks != file.marks))
            .map(|(path, file)| (path.clone(), file.clone()));
        let gone = self.published.keys();
        let gone = gone
            .filter(|path| !marks.contains_key(*path))
            .map(|path| (path.clone(), FileMarks::default()));
        let changed: Vec<(PathBuf, FileMarks)> = gone.chain(changed).collect();
        match state.pulls {
            true if changed.is_empty() => {}
            true => self.tell(Outgoing::DiagnosticsChanged),
            false => changed.into_iter().for_each(|(path, file)| {
                self.tell(Outgoing::Publish(path, file, state.terms()));
            }),
        }
        self.published = marks;
        self.watcher.watch_sources(sources_to_watch(&state));
        stale
    }

    fn start_job(&mut self) {
        if let Some((folders, budget, leisure)) = self.queue.start(Instant::now()) {
            let folders = folders
                .into_iter()
                .map(|root| WatchedFolder {
                    map: self.map_of(&root),
                    runs: self.runs_of(&root),
                    may_run: self.consent.may_run(&root),
                    trust: self.consent.trust(&root),
                    root,
                })
                .collect();
            let state = self.host.snapshot();
            let room = state.config.memory_bytes() / state.folders.len().max(1) as u64;
            self.worker.run(WorkerJob {
                folders,
                room,
                budget,
                leisure,
            });
        }
        let quiescent = self.queue.is_idle() && !self.search.is_under_way();
        if self.host.snapshot().quiescent != quiescent {
            self.host.apply(StateChange::Quiescent(quiescent));
            self.tell(Outgoing::StatusChanged);
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.host
            .snapshot()
            .folders
            .iter()
            .map(|folder| folder.root.path.clone())
            .collect()
    }

    /// Places of sources for the runs of a folder.
    fn map_of(&self, folder: &Path) -> Arc<SourceMap> {
        let state = self.host.snapshot();
        let mut folders = state.folders.iter();
        let found = folders.find(|one| one.root.path == folder);
        found.map_or_else(Arc::default, |one| one.root.map.clone())
    }

    fn runs_of(&self, folder: &Path) -> PathBuf {
        folder.join(&self.host.snapshot().config.runs_folder)
    }

    fn complain(&self, texts: Vec<String>) {
        texts
            .into_iter()
            .for_each(|text| self.tell(Outgoing::Warn(text)));
    }

    fn tell(&self, message: Outgoing) {
        // The client is gone when nobody takes messages any more; the loop is told to stop by itself.
        let _ = self.outgoing.send(message);
    }
}

/// Files with marks that no editor has open.
fn sources_to_watch(state: &ServerState) -> BTreeSet<PathBuf> {
    let closed = |path: &&PathBuf| !state.sources.open.contains_key(*path);
    state.sources.on_disk().filter(closed).cloned().collect()
}
