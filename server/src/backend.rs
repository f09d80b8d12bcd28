//! The handlers: each translates, hands over and, for a request, waits for the answer.

use crate::{
    config::Config,
    event::{DocumentEvent, Event, Session},
    extensions::{ExplanationsResult, StatusResult},
    from_proto::{self, Edits},
    host::Snapshot,
    hover, to_proto,
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
    mpsc::Sender,
};
use tokio::sync::oneshot;
use tower_lsp::{
    LanguageServer,
    jsonrpc::{Error, Result},
    lsp_types::*,
};

/// Stands between the protocol and the main loop.
#[derive(Debug)]
pub struct Backend {
    events: Sender<Event>,
    /// What `initialize` said, until `initialized` starts the work.
    session: Mutex<Option<Session>>,
    shut_down: std::sync::Arc<AtomicBool>,
}

impl Backend {
    /// A backend that reports to `events` and raises `shut_down` when the client says `shutdown`.
    pub fn new(events: Sender<Event>, shut_down: std::sync::Arc<AtomicBool>) -> Backend {
        Backend {
            events,
            session: Mutex::default(),
            shut_down,
        }
    }

    /// `unsnarl/explanations`.
    pub async fn explanations(&self) -> Result<ExplanationsResult> {
        let snapshot = self.ask().await?;
        Ok(ExplanationsResult::of(&snapshot))
    }

    /// `unsnarl/status`.
    pub async fn status(&self) -> Result<StatusResult> {
        let snapshot = self.ask().await?;
        Ok(StatusResult::of(&snapshot))
    }

    fn send(&self, event: Event) {
        // The loop is gone only after `shutdown`.
        let _ = self.events.send(event);
    }

    async fn ask(&self) -> Result<Snapshot> {
        let (answer, snapshot) = oneshot::channel();
        self.send(Event::Ask(answer));
        snapshot.await.map_err(|_| Error::request_cancelled())
    }

    fn document(&self, uri: &Uri, event: impl FnOnce(std::path::PathBuf) -> DocumentEvent) {
        if let Some(path) = from_proto::path(uri) {
            self.send(Event::Document(event(path)));
        }
    }
}

fn capabilities(session: &Session) -> ServerCapabilities {
    let folders = WorkspaceFoldersServerCapabilities {
        supported: Some(true),
        change_notifications: Some(OneOf::Left(true)),
    };
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::Supported(true)),
        ..TextDocumentSyncOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(to_proto::encoding(session.encoding)),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(folders),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let session = from_proto::session(&params);
        let capabilities = capabilities(&session);
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        let server_info = Some(ServerInfo {
            name: "unsnarl".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        });
        Ok(InitializeResult {
            capabilities,
            server_info,
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        let session = self
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(session) = session {
            self.send(Event::Start(session));
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.shut_down.store(true, Ordering::Relaxed);
        self.send(Event::Stop);
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem {
            uri, version, text, ..
        } = params.text_document;
        self.document(&uri, |path| DocumentEvent::Opened {
            path,
            version,
            text,
        });
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let (version, edits) = (params.text_document.version, Edits(params.content_changes));
        self.document(&params.text_document.uri, |path| DocumentEvent::Changed {
            path,
            version,
            edits,
        });
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.document(&params.text_document.uri, DocumentEvent::Saved);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.document(&params.text_document.uri, DocumentEvent::Closed);
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let paths = |folders: Vec<WorkspaceFolder>| {
            folders
                .iter()
                .filter_map(|folder| from_proto::path(&folder.uri))
                .collect()
        };
        self.send(Event::Folders {
            added: paths(params.event.added),
            removed: paths(params.event.removed),
        });
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        // Clients that let settings be asked for send null: nothing was said about ours.
        if let Some(own) = params.settings.get("unsnarl") {
            let (config, complaints) = Config::from_json(own);
            self.send(Event::Configured(config, complaints));
        }
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let at = params.text_document_position_params;
        let Some(path) = from_proto::path(&at.text_document.uri) else {
            return Ok(None);
        };
        let snapshot = self.ask().await?;
        let answer = tokio::task::spawn_blocking(move || {
            let (markdown, spot) = hover::hover(&snapshot, &path, at.position.line as usize)?;
            Some(to_proto::hover(
                markdown,
                to_proto::range(&spot, snapshot.encoding),
            ))
        });
        answer.await.map_err(|_| Error::internal_error())
    }
}
