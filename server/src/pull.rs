//! Diagnostics for clients that ask for them: in full, or a note that they have not changed.

use crate::{host::ServerState, marks::FileMarks, to_proto};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};
use tower_lsp::lsp_types::{
    Diagnostic, DocumentDiagnosticReport, DocumentDiagnosticReportResult,
    FullDocumentDiagnosticReport, PreviousResultId, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport,
    WorkspaceDiagnosticReport, WorkspaceDiagnosticReportResult, WorkspaceDocumentDiagnosticReport,
    WorkspaceFullDocumentDiagnosticReport, WorkspaceUnchangedDocumentDiagnosticReport,
};

use unsnarl_trace::files::sha256;

/// The diagnostics of a file, and their name.
struct PulledDiagnostics {
    version: Option<i32>,
    diagnostics: Vec<Diagnostic>,
    id: String,
}

impl PulledDiagnostics {
    fn of(state: &ServerState, file: &FileMarks) -> PulledDiagnostics {
        let diagnostics = to_proto::diagnostics(&file.marks, &state.terms());
        // Equal diagnostics have equal names, whatever happened in between.
        PulledDiagnostics {
            version: file.version,
            id: sha256(format!("{diagnostics:?}").as_bytes()),
            diagnostics,
        }
    }

    fn full(self) -> FullDocumentDiagnosticReport {
        FullDocumentDiagnosticReport {
            result_id: Some(self.id),
            items: self.diagnostics,
        }
    }
}

/// The diagnostics of one file. `before` names those that the client has.
pub fn document(
    state: &ServerState,
    path: &Path,
    before: Option<&str>,
) -> DocumentDiagnosticReportResult {
    let file = state.marks().0.remove(path).unwrap_or_default();
    let shown = PulledDiagnostics::of(state, &file);
    let report = match before == Some(shown.id.as_str()) {
        true => DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport {
                result_id: shown.id,
            },
        }),
        false => DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: shown.full(),
        }),
    };
    report.into()
}

/// The diagnostics of all files that have some, or that the client thinks have some. `before` names those that it
/// has.
pub fn workspace(
    state: &ServerState,
    before: &[(PathBuf, PreviousResultId)],
) -> WorkspaceDiagnosticReportResult {
    let mut marks = state.marks().0;
    let had: BTreeMap<&Path, &str> = before
        .iter()
        .map(|(path, id)| (path.as_path(), id.value.as_str()))
        .collect();
    let files: BTreeSet<PathBuf> = marks
        .keys()
        .cloned()
        .chain(before.iter().map(|(path, _)| path.clone()))
        .collect();
    let one = |path: PathBuf| {
        let shown = PulledDiagnostics::of(state, &marks.remove(&path).unwrap_or_default());
        report(&path, shown, had.get(path.as_path()).copied())
    };
    let items = files.into_iter().filter_map(one).collect();
    WorkspaceDiagnosticReport { items }.into()
}

fn report(
    path: &Path,
    shown: PulledDiagnostics,
    before: Option<&str>,
) -> Option<WorkspaceDocumentDiagnosticReport> {
    let (uri, version) = (to_proto::uri(path)?, shown.version.map(i64::from));
    Some(match before == Some(shown.id.as_str()) {
        true => WorkspaceUnchangedDocumentDiagnosticReport {
            uri,
            version,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport {
                result_id: shown.id,
            },
        }
        .into(),
        false => WorkspaceFullDocumentDiagnosticReport {
            uri,
            version,
            full_document_diagnostic_report: shown.full(),
        }
        .into(),
    })
}
