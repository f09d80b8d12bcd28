//! The way out: from what the server knows to what the protocol says. The only place beside
//! [`from_proto`](crate::from_proto) and the handlers where LSP types are named.

use crate::{
    encoding::Encoding,
    marks::{Level, Mark, Spot},
    outgoing::Work,
};
use std::{path::Path, str::FromStr};
use tower_lsp::{
    UriExt,
    lsp_types::{
        Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Hover, HoverContents,
        Location, MarkupContent, MarkupKind, MessageType, NumberOrString, Position,
        PositionEncodingKind, Range, Uri, WorkDoneProgress, WorkDoneProgressBegin,
        WorkDoneProgressEnd, WorkDoneProgressReport,
    },
};
use unsnarl_core::BugKind;

/// Shown as a warning in the client's log.
pub const WARNING: MessageType = MessageType::WARNING;
/// Shown in the client's log.
pub const INFO: MessageType = MessageType::INFO;

/// What columns are counted in, by its name.
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

/// A spot's line and columns.
pub fn range(spot: &Spot, encoding: Encoding) -> Range {
    let at = |byte| Position::new(spot.line as u32, encoding.units(&spot.source, byte));
    Range::new(at(spot.columns.start), at(spot.columns.end))
}

/// A spot with its file.
pub fn location(spot: &Spot, encoding: Encoding) -> Option<Location> {
    Some(Location::new(uri(&spot.path)?, range(spot, encoding)))
}

/// Marks as diagnostics. Clients that show no related places get the steps in the message.
pub fn diagnostics(marks: &[Mark], encoding: Encoding, related: bool) -> Vec<Diagnostic> {
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
            code: Some(NumberOrString::String(kind(mark.kind))),
            source: Some("unsnarl".to_owned()),
            message: if related {
                mark.message.clone()
            } else {
                with_steps(mark)
            },
            related_information: Some(places.collect())
                .filter(|all: &Vec<_>| related && !all.is_empty()),
            data: Some(serde_json::json!({ "explanation": mark.explanation })),
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

fn severity(level: Level) -> DiagnosticSeverity {
    match level {
        Level::Error => DiagnosticSeverity::ERROR,
        Level::Warning => DiagnosticSeverity::WARNING,
        Level::Note => DiagnosticSeverity::INFORMATION,
        Level::Hint => DiagnosticSeverity::HINT,
    }
}

/// The word for a kind of bug, as in the JSON of explanations.
fn kind(kind: BugKind) -> String {
    let word = serde_json::to_value(kind).ok();
    word.as_ref()
        .and_then(serde_json::Value::as_str)
        .unwrap_or("bug")
        .to_owned()
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

/// How far the analysis is.
pub fn progress(work: Work) -> WorkDoneProgress {
    match work {
        Work::Begin => WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: "unsnarl: explaining runs".to_owned(),
            percentage: Some(0),
            ..WorkDoneProgressBegin::default()
        }),
        Work::Files(done, total) => WorkDoneProgress::Report(WorkDoneProgressReport {
            message: Some(format!("{done} of {total} run files")),
            percentage: Some((done * 100 / total.max(1)) as u32),
            ..WorkDoneProgressReport::default()
        }),
        Work::End => WorkDoneProgress::End(WorkDoneProgressEnd::default()),
    }
}
