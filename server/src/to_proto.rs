//! Translation of the server's types into the protocol's. The only place beside [`from_proto`](crate::from_proto) and
//! the handlers where LSP types are named.

mod steps;

pub use steps::{document_symbols, next_calls, previous_calls, step_items, step_of};

use crate::{
    actions::{Doing, OfferedAction},
    applied::{self, ChangedPlace},
    edits::{self, FileEdits},
    encoding::Encoding,
    highlights::ObjectAccess,
    hints::Hint,
    lens::{self, Offer},
    manual,
    marks::{LineSpot, Mark, Severity},
    outgoing::{AnalysisProgress, Terms},
    symbols::ExplanationSymbol,
    text::Text,
};
use serde_json::{Value, json};
use std::{path::Path, str::FromStr};
use tower_lsp::{
    UriExt,
    lsp_types::{
        CodeAction, CodeActionContext, CodeActionDisabled, CodeActionKind, CodeActionOrCommand,
        CodeDescription, CodeLens, Command, Diagnostic, DiagnosticRelatedInformation,
        DiagnosticSeverity, DocumentChanges, DocumentHighlight, DocumentHighlightKind, Hover,
        HoverContents, InlayHint, InlayHintLabel, InlayHintTooltip, Location, MarkupContent,
        MarkupKind, MessageActionItem, MessageType, NumberOrString, OneOf,
        OptionalVersionedTextDocumentIdentifier, Position, PositionEncodingKind, Range, SymbolKind,
        TextDocumentEdit, TextEdit, Uri, WorkDoneProgress, WorkDoneProgressBegin,
        WorkDoneProgressEnd, WorkDoneProgressReport, WorkspaceEdit, WorkspaceSymbol,
    },
};
use unsnarl_core::BugKind;

/// Message type of a warning in the client's log.
pub const WARNING: MessageType = MessageType::WARNING;
/// Message type of other texts in the client's log.
pub const INFO: MessageType = MessageType::INFO;

/// An answer that the user may choose.
pub fn message_action(title: &str) -> MessageActionItem {
    MessageActionItem {
        title: title.to_owned(),
        properties: Default::default(),
    }
}

/// The unit in which columns are counted, by its name.
pub fn encoding(encoding: Encoding) -> PositionEncodingKind {
    match encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
    }
}

/// A file's name in the protocol.
pub fn uri(path: &Path) -> Option<Uri> {
    Uri::from_file_path(path).or_else(|| Uri::from_str(&format!("file://{}", path.display())).ok())
}

/// A spot's line with the columns of the mentioned code.
pub fn range(spot: &LineSpot, encoding: Encoding) -> Range {
    let at = |byte| position(spot, byte, encoding);
    Range::new(at(spot.part.start), at(spot.part.end))
}

/// The position of a byte in a spot's line.
fn position(spot: &LineSpot, byte: usize, encoding: Encoding) -> Position {
    Position::new(spot.line as u32, encoding.units(&spot.source, byte))
}

/// A spot with its file.
pub fn location(spot: &LineSpot, encoding: Encoding) -> Option<Location> {
    Some(Location::new(uri(&spot.path)?, range(spot, encoding)))
}

/// Spots with their files.
pub fn locations(spots: &[LineSpot], encoding: Encoding) -> Vec<Location> {
    let spots = spots.iter();
    spots.filter_map(|spot| location(spot, encoding)).collect()
}

/// Marks as diagnostics. Clients that show no related places get the steps in the message.
pub fn diagnostics(marks: &[Mark], terms: &Terms) -> Vec<Diagnostic> {
    let (encoding, related) = (terms.encoding, terms.related);
    let one = |mark: &Mark| {
        let places = mark.related.iter().filter_map(|(spot, message)| {
            Some(DiagnosticRelatedInformation {
                location: location(spot, encoding)?,
                message: message.clone(),
            })
        });
        Diagnostic {
            range: range(&mark.spot, encoding),
            severity: Some(severity(mark.level)),
            code: mark
                .kind
                .map(|kind| NumberOrString::String(kind.word().to_owned())),
            code_description: mark.kind.and_then(|kind| {
                Some(CodeDescription {
                    href: page(terms, kind)?,
                })
            }),
            source: Some("unsnarl".to_owned()),
            message: if related {
                mark.message.clone()
            } else {
                with_steps(mark)
            },
            related_information: Some(places.collect())
                .filter(|all: &Vec<_>| related && !all.is_empty()),
            data: mark
                .explanation
                .as_ref()
                .map(|id| serde_json::json!({ "explanation": id })),
            ..Diagnostic::default()
        }
    };
    marks.iter().map(one).collect()
}

fn with_steps(mark: &Mark) -> String {
    let steps = mark.related.iter().map(|(spot, message)| {
        let file = spot.path.file_name().unwrap_or_default().to_string_lossy();
        format!("\n{file}:{}: {message}", spot.line + 1)
    });
    std::iter::once(mark.message.clone()).chain(steps).collect()
}

fn severity(level: Severity) -> DiagnosticSeverity {
    match level {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Note => DiagnosticSeverity::INFORMATION,
        Severity::Hint => DiagnosticSeverity::HINT,
    }
}

/// The page about a class of bugs.
fn page(terms: &Terms, kind: BugKind) -> Option<Uri> {
    uri(&manual::page(terms.manual.as_ref()?, kind)?)
}

/// Markdown under the cursor.
pub fn hover(markdown: String, range: Range) -> Hover {
    let contents = HoverContents::Markup(MarkupContent {
        kind: MarkupKind::Markdown,
        value: markdown,
    });
    Hover {
        contents,
        range: Some(range),
    }
}

/// Hints behind the code of their lines.
pub fn inlay_hints(hints: &[Hint], encoding: Encoding) -> Vec<InlayHint> {
    let one = |hint: &Hint| InlayHint {
        position: position(&hint.spot, hint.spot.columns.end, encoding),
        label: InlayHintLabel::String(hint.label.clone()),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(hint.tooltip.clone())),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    };
    hints.iter().map(one).collect()
}

/// Offers above their lines.
pub fn code_lenses(lenses: Vec<(LineSpot, Offer)>, encoding: Encoding) -> Vec<CodeLens> {
    let one = |(spot, offer): (LineSpot, Offer)| CodeLens {
        range: range(&spot, encoding),
        command: Some(command(offer)),
        data: None,
    };
    lenses.into_iter().map(one).collect()
}

fn command(offer: Offer) -> Command {
    Command {
        title: offer.title,
        command: offer.command.to_owned(),
        arguments: Some(offer.arguments),
    }
}

/// The client's request for actions, with its abilities.
#[derive(Debug)]
pub struct ActionRequest<'a> {
    /// The diagnostics that it asks about and the kinds that it wants.
    pub context: &'a CodeActionContext,
    /// The unit in which columns are counted.
    pub encoding: Encoding,
    /// `true` if edits may name the version of the document that they are for.
    pub versioned: bool,
    /// `true` if it shows what a fix has changed.
    pub shows_applied: bool,
}

/// Actions, each with the diagnostics of its explanation among those that the client asks about.
pub fn code_actions(
    actions: Vec<OfferedAction>,
    asked: &ActionRequest<'_>,
) -> Vec<CodeActionOrCommand> {
    let kinds = asked.context.only.as_ref();
    let is_wanted = kinds.is_none_or(|kinds| {
        kinds.contains(&CodeActionKind::QUICKFIX) || kinds.contains(&CodeActionKind::EMPTY)
    });
    let actions = actions.into_iter().filter(|_| is_wanted);
    let actions = actions.map(|action| CodeActionOrCommand::CodeAction(code_action(action, asked)));
    actions.collect()
}

fn code_action(action: OfferedAction, asked: &ActionRequest<'_>) -> CodeAction {
    let own = |diagnostic: &&Diagnostic| {
        let data = diagnostic.data.as_ref();
        data.and_then(|data| data.get("explanation")?.as_str()) == Some(&action.explanation)
    };
    let diagnostics: Vec<Diagnostic> = asked
        .context
        .diagnostics
        .iter()
        .filter(own)
        .cloned()
        .collect();
    let mut proto = CodeAction {
        title: action.title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: (!diagnostics.is_empty()).then_some(diagnostics),
        is_preferred: action.preferred.then_some(true),
        ..CodeAction::default()
    };
    match action.doing {
        Doing::Command(offer) => proto.command = Some(command(offer)),
        Doing::Edits(files) => {
            proto.command = asked
                .shows_applied
                .then(|| fix_applied(&proto.title, &files));
            proto.edit = Some(workspace_edit(files, asked));
        }
        Doing::More(rest) => {
            let rest = rest.into_iter().map(|action| code_action(action, asked));
            let arguments = vec![json!(action.explanation), json!(rest.collect::<Vec<_>>())];
            proto.command = Some(command(Offer {
                title: proto.title.clone(),
                command: lens::MORE,
                arguments,
            }));
        }
        Doing::Nothing(reason) => {
            let reason = reason.to_owned();
            proto.disabled = Some(CodeActionDisabled { reason });
        }
    }
    proto
}

/// The command by which a client shows what a fix has changed, after it has made the edits.
fn fix_applied(title: &str, files: &[FileEdits]) -> Command {
    let place = |place: ChangedPlace| {
        let at = Position::new(place.line as u32, 0);
        let location = Location::new(uri(&place.path)?, Range::new(at, at));
        Some(json!({ "location": location, "text": place.text }))
    };
    let places: Vec<Value> = applied::places(files)
        .into_iter()
        .filter_map(place)
        .collect();
    command(Offer {
        title: title.to_owned(),
        command: lens::FIX_APPLIED,
        arguments: vec![json!(title), json!(places)],
    })
}

/// Edits of several files: with versions for clients that check them.
fn workspace_edit(files: Vec<FileEdits>, asked: &ActionRequest<'_>) -> WorkspaceEdit {
    let files = files.into_iter().filter_map(|file| {
        let edits = file
            .edits
            .iter()
            .map(|edit| text_edit(edit, &file.text, asked.encoding));
        Some((uri(&file.path)?, file.version, edits.collect::<Vec<_>>()))
    });
    if !asked.versioned {
        let files = files.map(|(uri, _, edits)| (uri, edits));
        return WorkspaceEdit::new(files.collect());
    }
    let documents = files.map(|(uri, version, edits)| TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    });
    WorkspaceEdit {
        document_changes: Some(DocumentChanges::Edits(documents.collect())),
        ..WorkspaceEdit::default()
    }
}

fn text_edit(edit: &edits::TextEdit, text: &Text, encoding: Encoding) -> TextEdit {
    let at = |(line, byte): (usize, usize)| {
        let units = encoding.units(text.line(line).unwrap_or(""), byte);
        Position::new(line as u32, units)
    };
    TextEdit::new(Range::new(at(edit.from), at(edit.to)), edit.new.clone())
}

/// Lines that access the same object, each with the kind of access.
pub fn highlights(
    spots: &[(LineSpot, ObjectAccess)],
    encoding: Encoding,
) -> Vec<DocumentHighlight> {
    let kind = |access| match access {
        ObjectAccess::Read => DocumentHighlightKind::READ,
        ObjectAccess::Write => DocumentHighlightKind::WRITE,
        ObjectAccess::Other => DocumentHighlightKind::TEXT,
    };
    let one = |(spot, access): &(LineSpot, ObjectAccess)| DocumentHighlight {
        range: range(spot, encoding),
        kind: Some(kind(*access)),
    };
    spots.iter().map(one).collect()
}

/// Explanations as symbols.
pub fn symbols(symbols: Vec<ExplanationSymbol>, encoding: Encoding) -> Vec<WorkspaceSymbol> {
    let one = |symbol: ExplanationSymbol| {
        Some(WorkspaceSymbol {
            location: OneOf::Left(location(&symbol.spot, encoding)?),
            name: symbol.name,
            kind: SymbolKind::EVENT,
            tags: None,
            container_name: Some(symbol.function).filter(|name| !name.is_empty()),
            data: None,
        })
    };
    symbols.into_iter().filter_map(one).collect()
}

/// The progress of the analysis.
pub fn progress(work: AnalysisProgress) -> WorkDoneProgress {
    match work {
        AnalysisProgress::Begin => WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: "unsnarl: explaining runs".to_owned(),
            percentage: Some(0),
            ..WorkDoneProgressBegin::default()
        }),
        AnalysisProgress::Files(done, total) => WorkDoneProgress::Report(WorkDoneProgressReport {
            message: Some(format!("{done} of {total} run files")),
            percentage: Some((done * 100 / total.max(1)) as u32),
            ..WorkDoneProgressReport::default()
        }),
        AnalysisProgress::Confirming => WorkDoneProgress::Report(WorkDoneProgressReport {
            message: Some("running the program again".to_owned()),
            ..WorkDoneProgressReport::default()
        }),
        AnalysisProgress::End => WorkDoneProgress::End(WorkDoneProgressEnd::default()),
    }
}
