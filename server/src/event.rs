//! Everything that can happen to the server, as one closed list.

use crate::{
    config::Config, encoding::Encoding, facts::FolderFacts, from_proto::Edits, host::Snapshot,
    outgoing::Abilities,
};
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};
use tokio::sync::oneshot;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// The client is ready.
    Start(Session),
    /// A document was opened, changed, saved or closed.
    Document(DocumentEvent),
    /// Folders came to or left the workspace.
    Folders {
        /// New ones.
        added: Vec<PathBuf>,
        /// Gone ones.
        removed: Vec<PathBuf>,
    },
    /// Settings were changed; the texts name those that mean nothing.
    Configured(Config, Vec<String>),
    /// The user looks at this explanation, by its id; none is the best one.
    Choose(Option<String>),
    /// The user calls a finding harmless. The answer is for a person when that cannot be written.
    Suppress {
        /// Id of the explanation.
        id: String,
        /// Why it is harmless, if that was said.
        because: Option<String>,
        /// Hears what came of it.
        answer: oneshot::Sender<Result<(), String>>,
    },
    /// The user wants an explanation confirmed, by its id; none is the selected one. The answer is for a person when
    /// that cannot be done.
    Confirm(Option<String>, oneshot::Sender<Result<(), String>>),
    /// What the user said about running programs of a folder again; none is not now.
    MayRun(PathBuf, Option<bool>),
    /// A text for the user, who asked for it.
    Say(String),
    /// Something on disk changed.
    Disk(DiskEvent),
    /// The worker has something to say.
    Job(JobEvent),
    /// A request wants to know the state.
    Ask(oneshot::Sender<Snapshot>),
    /// The client said `shutdown` or is gone.
    Stop,
}

/// What the client said of itself.
#[derive(Debug, Default)]
pub struct Session {
    /// Workspace folders.
    pub folders: Vec<PathBuf>,
    /// Settings.
    pub config: Config,
    /// Settings that mean nothing, in words.
    pub complaints: Vec<String>,
    /// What columns are counted in.
    pub encoding: Encoding,
    /// What the client can show.
    pub abilities: Abilities,
    /// Commands that the client says it has.
    pub commands: BTreeSet<String>,
    /// What edits the client takes.
    pub edits: EditAbilities,
    /// It shows related places of a diagnostic.
    pub related: bool,
    /// It asks for diagnostics: none are sent unasked.
    pub pulls: bool,
    /// It can ask the user without getting in the way.
    pub asks: bool,
    /// The user trusts what is in the workspace.
    pub trusts: bool,
}

/// What a client can do with edits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EditAbilities {
    /// Edits may name the version of the document that they are for.
    pub versioned: bool,
    /// Actions may be there and say why they can't be chosen.
    pub disabled_actions: bool,
}

/// What happened to an open document.
#[derive(Debug)]
pub enum DocumentEvent {
    /// Opened with this text.
    Opened {
        /// The file.
        path: PathBuf,
        /// The client's number for this state of it.
        version: i32,
        /// The whole text.
        text: String,
    },
    /// Edited, not saved yet.
    Changed {
        /// The file.
        path: PathBuf,
        /// The client's number for the new state.
        version: i32,
        /// What changed.
        edits: Edits,
    },
    /// Written to disk.
    Saved(PathBuf),
    /// Closed: what is on disk counts again.
    Closed(PathBuf),
}

/// What happened on disk.
#[derive(Debug)]
pub enum DiskEvent {
    /// Run files of this workspace folder came, changed or went.
    Runs(PathBuf),
    /// A folder on the way to the run folder came or went: watch again, then look.
    Rewatch(PathBuf),
    /// A source file changed.
    Source(PathBuf),
    /// The file that says what is harmless changed, in some workspace folder.
    Suppressions,
    /// What failed in watching works again.
    Found,
    /// Watching failed, or events were lost: look at everything again.
    Lost(Option<String>),
}

/// What the worker reports.
#[derive(Debug)]
pub enum JobEvent {
    /// Run files read so far.
    Progress {
        /// Done.
        done: usize,
        /// To do in all.
        total: usize,
    },
    /// The program of a folder is run again.
    Confirming,
    /// One folder is done.
    Folder(PathBuf, Arc<FolderFacts>),
    /// The job is over.
    Ended {
        /// Folders that were given up because something newer happened.
        superseded: Vec<PathBuf>,
        /// A defect of the analysis, in words.
        defect: Option<String>,
    },
}
