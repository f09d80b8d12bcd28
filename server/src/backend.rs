//! The handlers: each translates, hands over and, for a request, waits for the answer.

use crate::{
    actions, between,
    chain::{self, ChainDirection},
    config::Config,
    event::{ClientSession, DocumentEvent, HostEvent},
    extensions::{
        ExplanationText, ExplanationsResult, JumpsResult, SelectParams, SelectResult, StatusResult,
        TextsParams,
    },
    from_proto::{self, ClientEdits},
    highlights, hints,
    host::{ServerState, Snapshot},
    hover, jumps, lens, origins, outline, parent, pull,
    schedule::{self, ScheduleParams, ScheduleResult},
    symbols, to_proto,
};
use std::{
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
};
use tokio::sync::oneshot;
use tower_lsp::{
    LanguageServer,
    jsonrpc::{Error, ErrorCode, Result},
    lsp_types::*,
};

/// The protocol's number for a valid request that could not be served.
const REQUEST_FAILED: i64 = -32803;

/// Commands of `workspace/executeCommand`.
const COMMANDS: [&str; 4] = [lens::SELECT, lens::SUPPRESS, lens::BETWEEN, lens::CONFIRM];

/// The backend between the protocol and the main loop.
#[derive(Debug)]
pub struct Backend {
    events: Sender<HostEvent>,
    /// Data of `initialize`, until `initialized` starts the work.
    session: Mutex<Option<ClientSession>>,
    shut_down: std::sync::Arc<AtomicBool>,
    /// Sender that is told of the end of the client's process, until the watcher gets it.
    orphaned: Mutex<Option<oneshot::Sender<()>>>,
}

impl Backend {
    /// A backend that reports to `events` and raises `shut_down` when the client says `shutdown`. `orphaned` is told
    /// when the client's process ends.
    pub fn new(
        events: Sender<HostEvent>,
        shut_down: std::sync::Arc<AtomicBool>,
        orphaned: oneshot::Sender<()>,
    ) -> Backend {
        Backend {
            events,
            session: Mutex::default(),
            shut_down,
            orphaned: Mutex::new(Some(orphaned)),
        }
    }

    /// `unsnarl/explanations`.
    pub async fn explanations(&self) -> Result<ExplanationsResult> {
        let snapshot = self.ask().await?;
        Ok(ExplanationsResult::of(&snapshot))
    }

    /// `unsnarl/texts`.
    pub async fn texts(&self, params: TextsParams) -> Result<Vec<ExplanationText>> {
        let snapshot = self.ask().await?;
        Ok(ExplanationText::all(&snapshot, params))
    }

    /// `unsnarl/status`.
    pub async fn status(&self) -> Result<StatusResult> {
        let snapshot = self.ask().await?;
        Ok(StatusResult::of(&snapshot))
    }

    /// `unsnarl/jumps`.
    pub async fn jumps(&self, params: TextDocumentPositionParams) -> Result<JumpsResult> {
        let line = params.position.line as usize;
        let jumps = self.at(&params.text_document.uri, move |state, path| {
            JumpsResult::of(jumps::jumps(state, &path, line), state.encoding)
        });
        Ok(jumps.await?.unwrap_or_default())
    }

    /// `unsnarl/select`.
    pub async fn select(&self, params: SelectParams) -> Result<SelectResult> {
        self.choose(params.explanation).await
    }

    /// `unsnarl/schedule`.
    pub async fn schedule(&self, params: ScheduleParams) -> Result<Option<ScheduleResult>> {
        let snapshot = self.ask().await?;
        let answer = tokio::task::spawn_blocking(move || {
            schedule::schedule(&snapshot, params.explanation.as_deref())
        });
        answer.await.map_err(|_| Error::internal_error())
    }

    /// The step before or after an item of the hierarchy; none at the ends of the chain.
    async fn step_beside(
        &self,
        item: &CallHierarchyItem,
        direction: ChainDirection,
    ) -> Result<Vec<CallHierarchyItem>> {
        let wanted = || Error::invalid_params("the item is not one of this server's");
        let (explanation, index) = to_proto::step_of(item).ok_or_else(wanted)?;
        let snapshot = self.ask().await?;
        let beside = chain::beside(&snapshot, explanation, index, direction);
        let steps = beside.into_iter().collect();
        Ok(to_proto::step_items(steps, snapshot.encoding))
    }

    async fn choose(&self, id: Option<String>) -> Result<SelectResult> {
        self.send(HostEvent::Choose(id));
        let snapshot = self.ask().await?;
        let selected = snapshot.selected();
        Ok(SelectResult {
            selected: selected.map(|(_, explained)| explained.explanation.id.clone()),
        })
    }

    async fn suppress(&self, id: Option<&str>, because: Option<&str>) -> Result<()> {
        let id = id.ok_or_else(|| Error::invalid_params("the id of an explanation is missing"))?;
        let (answer, done) = oneshot::channel();
        self.send(HostEvent::Suppress {
            id: id.to_owned(),
            because: because.map(str::to_owned),
            answer,
        });
        done.await
            .map_err(|_| Error::request_cancelled())?
            .map_err(failed)
    }

    async fn confirm(&self, id: Option<&str>) -> Result<()> {
        let (answer, done) = oneshot::channel();
        self.send(HostEvent::Confirm(id.map(str::to_owned), answer));
        done.await
            .map_err(|_| Error::request_cancelled())?
            .map_err(failed)
    }

    async fn between(&self, arguments: &[LSPAny]) -> Result<()> {
        let wanted = || Error::invalid_params("a file's URI and two lines, from 0, are expected");
        let [uri, first, last] = arguments else {
            return Err(wanted());
        };
        let uri = uri.as_str().and_then(|uri| uri.parse::<Uri>().ok());
        let line = |line: &LSPAny| usize::try_from(line.as_u64()?).ok();
        let (Some(uri), Some(first), Some(last)) = (uri, line(first), line(last)) else {
            return Err(wanted());
        };
        let lines = first..last.saturating_add(1);
        let told = self.at(&uri, move |state, path| {
            between::answer(state, &path, &lines)
        });
        if let Some(text) = told.await? {
            self.send(HostEvent::Say(format!("unsnarl: {text}")));
        }
        Ok(())
    }

    /// Evaluates a quick question about a file; `None` for a URI that is not a file's.
    async fn at<T: Send + 'static>(
        &self,
        uri: &Uri,
        tell: impl FnOnce(&ServerState, PathBuf) -> T + Send + 'static,
    ) -> Result<Option<T>> {
        let Some(path) = from_proto::path(uri) else {
            return Ok(None);
        };
        let snapshot = self.ask().await?;
        let answer = tokio::task::spawn_blocking(move || tell(&snapshot, path));
        answer.await.map(Some).map_err(|_| Error::internal_error())
    }

    fn send(&self, event: HostEvent) {
        // The loop is gone only after `shutdown`.
        let _ = self.events.send(event);
    }

    async fn ask(&self) -> Result<Snapshot> {
        let (answer, snapshot) = oneshot::channel();
        self.send(HostEvent::Ask(answer));
        snapshot.await.map_err(|_| Error::request_cancelled())
    }

    fn document(&self, uri: &Uri, event: impl FnOnce(std::path::PathBuf) -> DocumentEvent) {
        if let Some(path) = from_proto::path(uri) {
            self.send(HostEvent::Document(event(path)));
        }
    }
}

/// The error for a valid request that could not be served, with the reason for a person.
fn failed(problem: String) -> Error {
    Error {
        code: ErrorCode::ServerError(REQUEST_FAILED),
        message: problem.into(),
        data: None,
    }
}

fn capabilities(session: &ClientSession) -> ServerCapabilities {
    // Clients with commands of ours have jumps, and a server for the language beside this one: they would show its
    // definitions mixed with lines of runs, and its hierarchy of calls not at all.
    let leads = session.commands.is_empty();
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
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        diagnostic_provider: session.pulls.then(diagnostic_options),
        document_highlight_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        definition_provider: leads.then_some(OneOf::Left(true)),
        references_provider: leads.then_some(OneOf::Left(true)),
        call_hierarchy_provider: leads.then_some(true.into()),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: COMMANDS.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(folders),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}

fn diagnostic_options() -> DiagnosticServerCapabilities {
    DiagnosticServerCapabilities::Options(DiagnosticOptions {
        identifier: Some("unsnarl".to_owned()),
        inter_file_dependencies: true,
        workspace_diagnostics: true,
        ..DiagnosticOptions::default()
    })
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let orphaned = self
            .orphaned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let (Some(parent), Some(orphaned)) = (params.process_id, orphaned) {
            // Nobody listens any more when the session has ended by itself.
            parent::watch(parent, move || {
                let _ = orphaned.send(());
            });
        }
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
            self.send(HostEvent::Start(session));
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.shut_down.store(true, Ordering::Relaxed);
        self.send(HostEvent::Stop);
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
        let (version, edits) = (
            params.text_document.version,
            ClientEdits(params.content_changes),
        );
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
        self.send(HostEvent::Folders {
            added: paths(params.event.added),
            removed: paths(params.event.removed),
        });
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        // Clients that let settings be asked for send null: nothing was said about ours.
        if let Some(own) = params.settings.get("unsnarl") {
            let (config, complaints) = Config::from_json(own);
            self.send(HostEvent::Configured(config, complaints));
        }
    }

    async fn diagnostic(
        &self,
        params: DocumentDiagnosticParams,
    ) -> Result<DocumentDiagnosticReportResult> {
        let before = params.previous_result_id;
        let report = self.at(&params.text_document.uri, move |state, path| {
            pull::document(state, &path, before.as_deref())
        });
        // What is no file has no marks.
        let none = || DocumentDiagnosticReport::Full(Default::default()).into();
        Ok(report.await?.unwrap_or_else(none))
    }

    async fn workspace_diagnostic(
        &self,
        params: WorkspaceDiagnosticParams,
    ) -> Result<WorkspaceDiagnosticReportResult> {
        let known = params.previous_result_ids.into_iter();
        let known: Vec<_> = known
            .filter_map(|before| Some((from_proto::path(&before.uri)?, before)))
            .collect();
        let snapshot = self.ask().await?;
        Ok(pull::workspace(&snapshot, &known))
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let at = params.text_document_position_params;
        let (line, column) = (at.position.line as usize, at.position.character);
        let told = self.at(&at.text_document.uri, move |state, path| {
            let text = state.sources.current(&path)?.line(line)?.to_owned();
            let byte = state.encoding.byte(&text, column);
            let (markdown, spot) = hover::hover(state, &path, (line, byte))?;
            Some(to_proto::hover(
                markdown,
                to_proto::range(&spot, state.encoding),
            ))
        });
        Ok(told.await?.flatten())
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        let lines = params.range.start.line as usize..params.range.end.line as usize + 1;
        let hints = self.at(&params.text_document.uri, move |state, path| {
            to_proto::inlay_hints(&hints::hints(state, &path, &lines), state.encoding)
        });
        hints.await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        let lenses = self.at(&params.text_document.uri, |state, path| {
            to_proto::code_lenses(lens::lenses(state, &path), state.encoding)
        });
        lenses.await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let lines = params.range.start.line as usize..params.range.end.line as usize + 1;
        let actions = self.at(&params.text_document.uri, move |state, path| {
            let asked = to_proto::ActionRequest {
                context: &params.context,
                encoding: state.encoding,
                versioned: state.edits.versioned,
                shows_applied: state.commands.contains(lens::FIX_APPLIED),
            };
            let mut actions = actions::actions(state, &path, &lines);
            actions.extend(actions::question(state, &path, &lines));
            to_proto::code_actions(actions, &asked)
        });
        actions.await
    }

    async fn document_highlight(
        &self,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>> {
        let at = params.text_document_position_params;
        let line = at.position.line as usize;
        let spots = self.at(&at.text_document.uri, move |state, path| {
            to_proto::highlights(&highlights::highlights(state, &path, line), state.encoding)
        });
        spots.await
    }

    async fn document_symbol(
        &self,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>> {
        let symbols = self.at(&params.text_document.uri, |state, path| {
            to_proto::document_symbols(outline::outline(state, &path), state)
        });
        symbols.await
    }

    async fn goto_definition(
        &self,
        params: GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>> {
        let at = params.text_document_position_params;
        let line = at.position.line as usize;
        let spots = self.at(&at.text_document.uri, move |state, path| {
            let spots = origins::origins(state, &path, line);
            to_proto::locations(&spots, state.encoding)
        });
        Ok(spots.await?.map(GotoDefinitionResponse::Array))
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        let at = params.text_document_position;
        let line = at.position.line as usize;
        let spots = self.at(&at.text_document.uri, move |state, path| {
            let accesses = highlights::accesses(state, &path, line).into_iter();
            let spots: Vec<_> = accesses.map(|(spot, _)| spot).collect();
            to_proto::locations(&spots, state.encoding)
        });
        spots.await
    }

    async fn prepare_call_hierarchy(
        &self,
        params: CallHierarchyPrepareParams,
    ) -> Result<Option<Vec<CallHierarchyItem>>> {
        let at = params.text_document_position_params;
        let line = at.position.line as usize;
        let steps = self.at(&at.text_document.uri, move |state, path| {
            to_proto::step_items(chain::at(state, &path, line), state.encoding)
        });
        Ok(steps.await?.filter(|steps| !steps.is_empty()))
    }

    async fn incoming_calls(
        &self,
        params: CallHierarchyIncomingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyIncomingCall>>> {
        let steps = self.step_beside(&params.item, ChainDirection::Back).await?;
        Ok(Some(to_proto::previous_calls(steps)))
    }

    async fn outgoing_calls(
        &self,
        params: CallHierarchyOutgoingCallsParams,
    ) -> Result<Option<Vec<CallHierarchyOutgoingCall>>> {
        let steps = self.step_beside(&params.item, ChainDirection::On).await?;
        Ok(Some(to_proto::next_calls(&params.item, steps)))
    }

    async fn symbol(
        &self,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<OneOf<Vec<SymbolInformation>, Vec<WorkspaceSymbol>>>> {
        let snapshot = self.ask().await?;
        let found = symbols::symbols(&snapshot, &params.query);
        let symbols = to_proto::symbols(found, snapshot.encoding);
        Ok(Some(OneOf::Right(symbols)))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        let mut words = params.arguments.iter().map(LSPAny::as_str);
        let (id, more) = (words.next().flatten(), words.next().flatten());
        match params.command.as_str() {
            lens::SELECT => drop(self.choose(id.map(str::to_owned)).await?),
            lens::SUPPRESS => self.suppress(id, more).await?,
            lens::BETWEEN => self.between(&params.arguments).await?,
            lens::CONFIRM => self.confirm(id).await?,
            other => {
                let all = COMMANDS.join(", ");
                let text = format!("there is no command {other}, but {all}");
                return Err(Error::invalid_params(text));
            }
        }
        Ok(None)
    }
}
