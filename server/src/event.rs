//! Everything that can happen to the server, as one closed list.

use crate::{
    config::Config,
    encoding::Encoding,
    facts::FolderFacts,
    from_proto::ClientEdits,
    host::Snapshot,
    outgoing::Abilities,
    places::{Places, SearchScope},
};
use std::{collections::BTreeSet, path::PathBuf, sync::Arc};
use tokio::sync::oneshot;

/// Something that happened.
#[derive(Debug)]
pub enum HostEvent {
    /// The client is ready.
    Start(ClientSession),
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
    /// The user selects this explanation, by its id; `None` is the best one.
    Choose(Option<String>),
    /// The user calls a finding harmless. The answer is for a person when that cannot be written.
    Suppress {
        /// Id of the explanation.
        id: String,
        /// The reason, if one was given.
        because: Option<String>,
        /// Receives the result.
        answer: oneshot::Sender<Result<(), String>>,
    },
    /// The user wants an explanation confirmed, by its id; `None` is the selected one. The answer is for a person
    /// when that is not possible.
    Confirm(Option<String>, oneshot::Sender<Result<(), String>>),
    /// The user's answer about running programs of a folder again; `None` is "not now".
    MayRun(PathBuf, Option<bool>),
    /// A text that the user has asked for.
    Say(String),
    /// Something on disk changed.
    Disk(DiskEvent),
    /// The worker reports something.
    Job(JobEvent),
    /// A request needs the state.
    Ask(oneshot::Sender<Snapshot>),
    /// The client said `shutdown` or is gone.
    Stop,
}

/// Data of the client at its start.
#[derive(Debug, Default)]
pub struct ClientSession {
    /// Workspace folders.
    pub folders: Vec<PathBuf>,
    /// Settings.
    pub config: Config,
    /// Settings without meaning, in words.
    pub complaints: Vec<String>,
    /// The unit in which columns are counted.
    pub encoding: Encoding,
    /// Abilities of the client to show things.
    pub abilities: Abilities,
    /// Commands that the client says it has.
    pub commands: BTreeSet<String>,
    /// Abilities of the client with regard to edits.
    pub edits: EditAbilities,
    /// `true` if it shows related places of a diagnostic.
    pub related: bool,
    /// `true` if it asks for diagnostics: none are sent unasked.
    pub pulls: bool,
    /// `true` if it shows symbols inside of symbols.
    pub nests: bool,
    /// `true` if it can ask the user without getting in the way.
    pub asks: bool,
    /// `true` if the user trusts the content of the workspace.
    pub trusts: bool,
}

/// The abilities of a client with regard to edits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EditAbilities {
    /// `true` if edits may name the version of the document that they are for.
    pub versioned: bool,
    /// `true` if actions may be disabled and give a reason.
    pub disabled_actions: bool,
}

/// An event about an open document.
#[derive(Debug)]
pub enum DocumentEvent {
    /// The document was opened with this text.
    Opened {
        /// The file.
        path: PathBuf,
        /// The client's number for this state of it.
        version: i32,
        /// The whole text.
        text: String,
    },
    /// The document was edited, and not saved yet.
    Changed {
        /// The file.
        path: PathBuf,
        /// The client's number for the new state.
        version: i32,
        /// The edits.
        edits: ClientEdits,
    },
    /// The document was written to disk.
    Saved(PathBuf),
    /// The document was closed: the text on disk counts again.
    Closed(PathBuf),
}

/// An event on disk.
#[derive(Debug)]
pub enum DiskEvent {
    /// Run files of this workspace folder came, changed or went.
    Runs(PathBuf),
    /// A folder on the way to the run folder came or went: the folders must be watched and read again.
    Rewatch(PathBuf),
    /// A folder came or went in which a run folder may be: the search has to be repeated.
    Tree,
    /// The result of a search for run folders.
    Places(SearchScope, Places),
    /// A source file changed.
    Source(PathBuf),
    /// The file of suppressions changed, in some workspace folder.
    Suppressions,
    /// Watching works again after a failure.
    Found,
    /// Watching failed, or events were lost: everything must be read again.
    Lost(Option<String>),
}

/// A report of the worker.
#[derive(Debug)]
pub enum JobEvent {
    /// Run files read so far.
    Progress {
        /// Number of files done.
        done: usize,
        /// Number of files in all.
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
