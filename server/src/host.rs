//! The host, which alone owns the server's state. Others hold snapshots that never change.

use crate::{
    config::Config,
    document::OpenDocument,
    encoding::Encoding,
    event::{DocumentEvent, EditAbilities},
    facts::{ExplainedFact, Folder, FolderFacts},
    follow::Recorded,
    marks::{self, FileMarks},
    moved,
    outgoing::Terms,
    paths::{Root, candidates},
    sources::Sources,
    unexplained::UnexplainedFailure,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The state of the server.
#[derive(Clone, Debug, Default)]
pub struct ServerState {
    /// Folders of the workspace, in the client's order, then folders that were found because runs were recorded in them.
    pub folders: Vec<Folder>,
    /// Source files.
    pub sources: Sources,
    /// Settings.
    pub config: Config,
    /// The explanation that the user has selected, by its id; `None` is the best one.
    pub chosen: Option<String>,
    /// The unit in which the client counts columns.
    pub encoding: Encoding,
    /// Commands that the client says it has.
    pub commands: BTreeSet<String>,
    /// The client's abilities with regard to edits.
    pub edits: EditAbilities,
    /// `true` if the client shows related places of a diagnostic.
    pub related: bool,
    /// `true` if the client asks for diagnostics.
    pub pulls: bool,
    /// `true` if the client shows symbols inside of symbols.
    pub nests: bool,
    /// `true` if programs can be run again, where that is allowed.
    pub can_confirm: bool,
    /// Folders in which programs may be run again.
    pub may_run: BTreeSet<PathBuf>,
    /// Folder of the pages about classes of bugs, if they could be written.
    pub manual: Option<PathBuf>,
    /// `true` if nothing is being analysed or waits for it.
    pub quiescent: bool,
    /// The reason for which the folders cannot be watched, if they cannot.
    pub watch_problem: Option<String>,
    /// Folders of the workspace that sources may be in.
    pub tree: Arc<BTreeSet<PathBuf>>,
}

/// The state at one moment.
pub type Snapshot = Arc<ServerState>;

/// Data of the client at its start.
#[derive(Debug)]
pub struct ClientTerms {
    /// The unit in which it counts columns.
    pub encoding: Encoding,
    /// Commands that it says it has.
    pub commands: BTreeSet<String>,
    /// Its abilities with regard to edits.
    pub edits: EditAbilities,
    /// `true` if it shows related places of a diagnostic.
    pub related: bool,
    /// `true` if it asks for diagnostics: none are sent unasked.
    pub pulls: bool,
    /// `true` if it shows symbols inside of symbols.
    pub nests: bool,
    /// `true` if programs can be run again, where that is allowed.
    pub can_confirm: bool,
}

/// A change of the state.
#[derive(Debug)]
pub enum StateChange {
    /// Data of the client at its start.
    Start(ClientTerms),
    /// A folder of the workspace that came.
    AddFolder(PathBuf),
    /// A folder in which runs were recorded.
    FindFolder(PathBuf),
    /// Folders that went.
    RemoveFolder(PathBuf),
    /// New settings.
    Config(Config),
    /// Folders of the workspace that sources may be in.
    Tree(BTreeSet<PathBuf>),
    /// The explanation that the user selects; `None` is the best one.
    Choose(Option<String>),
    /// An open document.
    Document(DocumentEvent),
    /// A source file changed on disk.
    SourceOnDisk(PathBuf),
    /// A folder was analysed.
    Facts(PathBuf, Arc<FolderFacts>),
    /// The file of suppressions changed, in one of the folders.
    Suppressions,
    /// The folders in which programs may be run again.
    MayRun(BTreeSet<PathBuf>),
    /// Folder of the pages about classes of bugs.
    Manual(PathBuf),
    /// Work began or ended.
    Quiescent(bool),
    /// Watching works or does not.
    Watching(Option<String>),
}

/// The owner of the state.
#[derive(Debug, Default)]
pub struct Host {
    state: Arc<ServerState>,
}

impl Host {
    /// The current state. The snapshot does not change while the host goes on.
    pub fn snapshot(&self) -> Snapshot {
        self.state.clone()
    }

    /// Changes the state.
    pub fn apply(&mut self, change: StateChange) {
        let state = Arc::make_mut(&mut self.state);
        match change {
            StateChange::Start(client) => {
                state.encoding = client.encoding;
                state.commands = client.commands;
                state.edits = client.edits;
                state.related = client.related;
                state.pulls = client.pulls;
                state.nests = client.nests;
                state.can_confirm = client.can_confirm;
            }
            StateChange::AddFolder(path) => state.add_folder(path, true),
            StateChange::FindFolder(path) => state.add_folder(path, false),
            StateChange::RemoveFolder(path) => state.remove_folder(&path),
            StateChange::Config(config) => {
                state.config = config;
                state.map_sources();
            }
            StateChange::Tree(tree) => {
                state.tree = Arc::new(tree);
                state.map_sources();
            }
            StateChange::Choose(id) => state.chosen = id,
            StateChange::Document(event) => state.change_document(event),
            StateChange::SourceOnDisk(path) => state.source_changed(&path),
            StateChange::Facts(path, facts) => state.learn(&path, facts),
            StateChange::Suppressions => state.read_suppressions(),
            StateChange::MayRun(folders) => state.may_run = folders,
            StateChange::Manual(folder) => state.manual = Some(folder),
            StateChange::Quiescent(quiescent) => state.quiescent = quiescent,
            StateChange::Watching(problem) => state.watch_problem = problem,
        }
    }
}

impl ServerState {
    /// All explanations that are not suppressed with the folder that they belong to, best first within each folder.
    pub fn explained(&self) -> impl Iterator<Item = (&Root, &Arc<ExplainedFact>)> {
        let folders = self.folders.iter();
        folders.flat_map(|folder| folder.shown.iter().map(|one| (&folder.root, one)))
    }

    /// Failures without an explanation, with the folder that they belong to.
    pub fn unexplained(&self) -> impl Iterator<Item = (&Root, &Arc<UnexplainedFailure>)> {
        self.folders.iter().flat_map(|folder| {
            let all = folder.facts.iter().flat_map(|facts| &facts.unexplained);
            all.map(|one| (&folder.root, one))
        })
    }

    /// The recorded files that marks may be in.
    fn recorded(&self) -> impl Iterator<Item = (&Root, &Recorded)> {
        let explained = self
            .explained()
            .flat_map(|(root, one)| one.files().map(move |(_, file)| (root, file)));
        let unexplained = self
            .unexplained()
            .flat_map(|(root, one)| one.files().map(move |(_, file)| (root, file)));
        explained.chain(unexplained)
    }

    /// The facts about a folder.
    pub fn facts_of(&self, path: &Path) -> Option<Arc<FolderFacts>> {
        let mut folders = self.folders.iter();
        folders
            .find(|folder| folder.root.path == path)?
            .facts
            .clone()
    }

    /// Folders with an explanation about this file that has no fix: perhaps the file was not in the recorded state.
    pub fn wait_for_source(&self, path: &Path) -> Vec<PathBuf> {
        let waits = |root: &Root, explained: &ExplainedFact| {
            let explanation = &explained.explanation;
            let files = || {
                explained
                    .files()
                    .flat_map(|(_, file)| candidates(root, &file.origin))
            };
            explanation.fixes.is_empty()
                && !explanation.not_fixed.is_empty()
                && files().any(|file| file == path)
        };
        let mut folders: Vec<PathBuf> = self
            .explained()
            .filter(|(root, explained)| waits(root, explained))
            .map(|(root, _)| root.path.clone())
            .collect();
        folders.dedup();
        folders
    }

    /// The explanation that the user has selected, else the best one.
    pub fn selected(&self) -> Option<(&Root, &Arc<ExplainedFact>)> {
        let is_chosen =
            |explained: &ExplainedFact| Some(&explained.explanation.id) == self.chosen.as_ref();
        let mut chosen = self
            .explained()
            .filter(|(_, explained)| is_chosen(explained));
        chosen.next().or_else(|| self.explained().next())
    }

    /// All explanations, the selected one first.
    pub fn selected_first(&self) -> impl Iterator<Item = (&Root, &Arc<ExplainedFact>)> {
        let selected = self.selected();
        let is_other = move |(_, explained): &(&Root, &Arc<ExplainedFact>)| {
            selected.is_none_or(|(_, selected)| !Arc::ptr_eq(selected, explained))
        };
        selected
            .into_iter()
            .chain(self.explained().filter(is_other))
    }

    /// Returns whether running the program of an explanation again would show something new, if the user allowed it.
    pub fn could_confirm(&self, explained: &ExplainedFact) -> bool {
        let is_of = |folder: &&Folder| {
            folder
                .shown
                .iter()
                .any(|one| std::ptr::eq(&**one, explained))
        };
        let folder = self.folders.iter().find(is_of);
        let is_allowed = folder.is_some_and(|folder| self.may_run.contains(&folder.root.path));
        let explanation = &explained.explanation;
        self.can_confirm
            && !is_allowed
            && explanation.executed.is_none()
            && !explanation.run.is_empty()
    }

    /// The terms in which marks are sent to the client.
    pub fn terms(&self) -> Terms {
        Terms {
            encoding: self.encoding,
            related: self.related,
            manual: self.manual.clone(),
        }
    }

    /// Marks of all files, and the number of those that could not be followed to the current source.
    pub fn marks(&self) -> (BTreeMap<PathBuf, FileMarks>, usize) {
        marks::of_all(self)
    }

    fn add_folder(&mut self, path: PathBuf, is_of_workspace: bool) {
        let mut known = self.folders.iter_mut();
        match known.find(|folder| folder.root.path == path) {
            Some(folder) => folder.is_of_workspace |= is_of_workspace,
            None => self.folders.push(Folder::new(path, is_of_workspace)),
        }
        self.map_sources();
    }

    /// Tells each folder where sources may be, and looks for them anew if that is elsewhere than before.
    fn map_sources(&mut self) {
        let workspace: Vec<PathBuf> = self
            .folders
            .iter()
            .filter(|folder| folder.is_of_workspace)
            .map(|folder| folder.root.path.clone())
            .collect();
        let mut is_new = false;
        for folder in &mut self.folders {
            let map = moved::source_map(&folder.root.path, &workspace, &self.config, &self.tree);
            if *folder.root.map != map {
                folder.root.map = Arc::new(map);
                is_new = true;
            }
        }
        if is_new {
            self.sources.forget_moved();
            self.load_sources();
        }
    }

    fn remove_folder(&mut self, path: &Path) {
        self.folders.retain(|folder| folder.root.path != path);
        self.forget_unneeded_sources();
    }

    fn change_document(&mut self, event: DocumentEvent) {
        match event {
            DocumentEvent::Opened {
                path,
                version,
                text,
            } => {
                self.sources
                    .open
                    .insert(path, OpenDocument::new(version, &text));
            }
            DocumentEvent::Changed {
                path,
                version,
                edits,
            } => {
                if let Some(document) = self.sources.open.get_mut(&path) {
                    document.change(version, &edits, self.encoding);
                }
            }
            DocumentEvent::Saved(path) => {
                if let Some(document) = self.sources.open.get_mut(&path) {
                    document.saved();
                }
                self.source_changed(&path);
            }
            DocumentEvent::Closed(path) => {
                self.sources.open.remove(&path);
                self.source_changed(&path);
            }
        }
    }

    fn source_changed(&mut self, path: &Path) {
        self.sources.forget(path);
        self.load_sources();
    }

    fn load_sources(&mut self) {
        let mut sources = std::mem::take(&mut self.sources);
        for (root, explained) in self.explained() {
            moved::note_program(&mut sources, root, explained);
        }
        for (root, recorded) in self.recorded() {
            sources.load(root, recorded);
        }
        // Once more for those that were read before it was known where their folder is now.
        for (root, recorded) in self.recorded() {
            sources.load(root, recorded);
        }
        self.sources = sources;
    }

    /// Recorded files that are nowhere to be found, by their recorded paths.
    pub fn not_found(&self) -> BTreeSet<PathBuf> {
        let lost = self.recorded().filter(|(root, recorded)| {
            !recorded.lines.is_empty() && self.sources.find(root, recorded).is_none()
        });
        lost.map(|(_, recorded)| recorded.origin.clone()).collect()
    }

    /// Reads the suppressions of each folder.
    fn read_suppressions(&mut self) {
        for folder in &mut self.folders {
            folder.read_suppressions();
        }
        self.load_sources();
        self.forget_unneeded_sources();
    }

    fn learn(&mut self, path: &Path, facts: Arc<FolderFacts>) {
        let Some(folder) = self
            .folders
            .iter_mut()
            .find(|folder| folder.root.path == path)
        else {
            return;
        };
        folder.learn(facts);
        self.load_sources();
        self.forget_unneeded_sources();
    }

    fn forget_unneeded_sources(&mut self) {
        let mut sources = std::mem::take(&mut self.sources);
        sources.keep_only(self.recorded());
        self.sources = sources;
    }
}
