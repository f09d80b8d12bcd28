//! Messages that the server sends to the client unasked, and the task that sends them.

use crate::{encoding::Encoding, event::HostEvent, marks::FileMarks, to_proto};
use std::{path::PathBuf, sync::mpsc::Sender};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower_lsp::{
    Client,
    lsp_types::{
        ProgressParams, ProgressParamsValue, ProgressToken, WorkDoneProgressCreateParams,
        notification::{Notification, Progress},
        request::WorkDoneProgressCreate,
    },
};

/// A message to the client.
#[derive(Debug)]
pub enum Outgoing {
    /// Abilities of the client: the first message.
    Abilities(Abilities),
    /// All marks of a file; an empty list clears it.
    Publish(PathBuf, FileMarks, Terms),
    /// A request to a client that asks for diagnostics to do so again.
    DiagnosticsChanged,
    /// A text for the log that the user should find.
    Warn(String),
    /// A text for the log that may be looked up.
    Info(String),
    /// A text that the user has asked for.
    Say(String),
    /// The question whether programs of this folder may be run again, with its text.
    AskToRun(PathBuf, String),
    /// Earlier answers to the client's requests are out of date: hints and lenses.
    Refresh,
    /// The answers of `unsnarl/status` and `unsnarl/explanations` have changed.
    StatusChanged,
    /// Progress of the analysis.
    Working(AnalysisProgress),
}

/// The terms in which marks are sent to the client.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// The unit in which columns are counted.
    pub encoding: Encoding,
    /// `true` if it shows related places of a diagnostic.
    pub related: bool,
    /// Folder of the pages about classes of bugs.
    pub manual: Option<PathBuf>,
}

/// Notification that asks interested clients to request the status again.
enum StatusChanged {}

impl Notification for StatusChanged {
    type Params = ();
    const METHOD: &'static str = "unsnarl/statusChanged";
}

/// The progress of the analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnalysisProgress {
    /// Began.
    Begin,
    /// Run files read.
    Files(usize, usize),
    /// The program runs again.
    Confirming,
    /// Over.
    End,
}

/// The client's abilities to act on messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// `true` if it shows progress.
    pub progress: bool,
    /// `true` if it asks for inlay hints again on request.
    pub hint_refresh: bool,
    /// `true` if it asks for code lenses again on request.
    pub lens_refresh: bool,
    /// `true` if it wants to be told when the status changes.
    pub status: bool,
}

/// Sends messages in order until all senders are gone. Progress has its own task: the client has to
/// answer before it begins, and nothing else may wait for that.
pub async fn send_all(
    client: Client,
    mut messages: UnboundedReceiver<Outgoing>,
    events: Sender<HostEvent>,
) {
    let (mut able, mut progress) = (Abilities::default(), None);
    while let Some(message) = messages.recv().await {
        match message {
            Outgoing::Abilities(abilities) => {
                able = abilities;
                progress = abilities.progress.then(|| start_progress(&client));
            }
            Outgoing::Publish(path, file, terms) => {
                let Some(uri) = to_proto::uri(&path) else {
                    continue;
                };
                let diagnostics = to_proto::diagnostics(&file.marks, &terms);
                client
                    .publish_diagnostics(uri, diagnostics, file.version)
                    .await;
            }
            Outgoing::DiagnosticsChanged => ask_again(&client),
            Outgoing::Warn(text) => client.log_message(to_proto::WARNING, text).await,
            Outgoing::Say(text) => client.show_message(to_proto::INFO, text).await,
            Outgoing::Info(text) => client.log_message(to_proto::INFO, text).await,
            Outgoing::AskToRun(folder, text) => ask_to_run(&client, folder, text, events.clone()),
            Outgoing::Refresh => refresh(&client, able),
            Outgoing::StatusChanged if able.status => {
                client.send_notification::<StatusChanged>(()).await;
            }
            Outgoing::StatusChanged => {}
            Outgoing::Working(work) => {
                if progress
                    .as_ref()
                    .is_some_and(|sender: &UnboundedSender<AnalysisProgress>| {
                        sender.send(work).is_err()
                    })
                {
                    progress = None;
                }
            }
        }
    }
}

/// The user's possible answers.
const ANSWERS: [(&str, Option<bool>); 3] = [
    ("Run It", Some(true)),
    ("Not Now", None),
    ("Never Here", Some(false)),
];

/// Asks the user, who answers when there is time for it, or never.
fn ask_to_run(client: &Client, folder: PathBuf, text: String, events: Sender<HostEvent>) {
    let client = client.clone();
    tokio::spawn(async move {
        let actions = ANSWERS.map(|(title, _)| to_proto::message_action(title));
        let chosen = client
            .show_message_request(to_proto::INFO, text, Some(actions.to_vec()))
            .await;
        // No answer, or a client that cannot ask, is not now.
        let chosen = chosen.ok().flatten();
        let answer = ANSWERS
            .iter()
            .find(|(title, _)| chosen.as_ref().is_some_and(|chosen| chosen.title == *title));
        // The loop is gone only after `shutdown`.
        let _ = events.send(HostEvent::MayRun(folder, answer.and_then(|(_, may)| *may)));
    });
}

/// Like [`refresh`], for diagnostics.
fn ask_again(client: &Client) {
    let client = client.clone();
    tokio::spawn(async move {
        // A client that cannot refresh shows what it has until it asks by itself.
        let _ = client.workspace_diagnostic_refresh().await;
    });
}

/// Asks the client to refresh; nothing waits for its answer.
fn refresh(client: &Client, able: Abilities) {
    let client = client.clone();
    tokio::spawn(async move {
        // A client that cannot refresh shows what it has until it asks by itself.
        if able.hint_refresh {
            let _ = client.inlay_hint_refresh().await;
        }
        if able.lens_refresh {
            let _ = client.code_lens_refresh().await;
        }
    });
}

fn start_progress(client: &Client) -> UnboundedSender<AnalysisProgress> {
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(report_progress(client.clone(), receiver));
    sender
}

/// Each stretch of work has its own token, which the client has to accept first.
async fn report_progress(client: Client, mut work: UnboundedReceiver<AnalysisProgress>) {
    let (mut number, mut open) = (0u32, false);
    while let Some(work) = work.recv().await {
        if work == AnalysisProgress::Begin {
            number += 1;
            let create = WorkDoneProgressCreateParams {
                token: token(number),
            };
            open = client
                .send_request::<WorkDoneProgressCreate>(create)
                .await
                .is_ok();
        }
        if open {
            let value = ProgressParamsValue::WorkDone(to_proto::progress(work));
            client
                .send_notification::<Progress>(ProgressParams {
                    token: token(number),
                    value,
                })
                .await;
        }
        open &= work != AnalysisProgress::End;
    }
}

fn token(number: u32) -> ProgressToken {
    ProgressToken::String(format!("unsnarl/analysis/{number}"))
}
