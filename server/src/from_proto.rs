//! Translation of the protocol's types into the server's.

use crate::{
    config::Config,
    encoding::Encoding,
    event::{ClientSession, EditAbilities},
    outgoing::Abilities,
    text::Text,
};
use std::{collections::BTreeSet, path::PathBuf};
use tower_lsp::{
    UriExt,
    lsp_types::{
        ClientCapabilities, InitializeParams, Position, PositionEncodingKind,
        TextDocumentContentChangeEvent, Uri,
    },
};

/// The file that a URI stands for; `None` for a URI that is not a file's (`untitled:`, `git:`).
pub fn path(uri: &Uri) -> Option<PathBuf> {
    let is_file = uri
        .scheme()
        .is_some_and(|scheme| scheme.as_str().eq_ignore_ascii_case("file"));
    is_file
        .then(|| uri.to_file_path().map(std::borrow::Cow::into_owned))
        .flatten()
}

/// Data of the client at its start.
pub fn session(params: &InitializeParams) -> ClientSession {
    let (config, complaints) = params
        .initialization_options
        .as_ref()
        .map(Config::from_json)
        .unwrap_or_default();
    let client = &params.capabilities;
    ClientSession {
        folders: folders(params),
        config,
        complaints,
        encoding: encoding(client),
        abilities: abilities(client),
        commands: commands(client),
        edits: edit_abilities(client),
        related: related(client),
        pulls: pulls(client),
        nests: nests(client),
        asks: switch(client, "asks").unwrap_or(false),
        trusts: switch(client, "trusted").unwrap_or(true),
    }
}

/// Workspace folders, or what older clients send instead.
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let folders = params.workspace_folders.as_deref().unwrap_or_default();
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| path(&folder.uri))
        .collect();
    #[allow(
        deprecated,
        reason = "clients that know no workspace folders send this"
    )]
    if paths.is_empty() {
        paths.extend(params.root_uri.as_ref().and_then(path));
    }
    paths
}

/// Bytes if the client offers them: no conversion is needed then.
fn encoding(client: &ClientCapabilities) -> Encoding {
    let offered = client
        .general
        .as_ref()
        .and_then(|general| general.position_encodings.as_ref());
    let bytes = offered.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8));
    if bytes {
        Encoding::Utf8
    } else {
        Encoding::Utf16
    }
}

/// The part about unsnarl among the client's experimental capabilities.
fn own(client: &ClientCapabilities) -> Option<&serde_json::Value> {
    client.experimental.as_ref()?.get("unsnarl")
}

/// A boolean among these capabilities.
fn switch(client: &ClientCapabilities, name: &str) -> Option<bool> {
    own(client)?.get(name)?.as_bool()
}

/// The commands of clients with more than the protocol: `{ "unsnarl": { "commands": [...] } }` among the experimental
/// capabilities.
fn commands(client: &ClientCapabilities) -> BTreeSet<String> {
    let named = own(client).and_then(|own| own.get("commands")?.as_array());
    let names = named.into_iter().flatten().filter_map(|name| name.as_str());
    names.map(str::to_owned).collect()
}

/// Returns whether the client asks for diagnostics. It has to say so twice, `{ "unsnarl": { "diagnostics": "pull" }
/// }` among the experimental capabilities: other clients would ask about open documents only, and marks stand in
/// closed ones, too.
fn pulls(client: &ClientCapabilities) -> bool {
    let wants = own(client).and_then(|own| own.get("diagnostics")?.as_str());
    let can = client
        .text_document
        .as_ref()
        .is_some_and(|text| text.diagnostic.is_some());
    can && wants == Some("pull")
}

/// Returns whether the client shows related places of a diagnostic.
fn related(client: &ClientCapabilities) -> bool {
    let published = client
        .text_document
        .as_ref()
        .and_then(|text| text.publish_diagnostics.as_ref());
    published
        .and_then(|published| published.related_information)
        .unwrap_or(false)
}

/// Returns whether the client shows symbols inside of symbols.
fn nests(client: &ClientCapabilities) -> bool {
    let text = client.text_document.as_ref();
    let symbols = text.and_then(|text| text.document_symbol.as_ref());
    symbols
        .and_then(|symbols| symbols.hierarchical_document_symbol_support)
        .unwrap_or(false)
}

/// The client's abilities with regard to edits.
fn edit_abilities(client: &ClientCapabilities) -> EditAbilities {
    let edits = client
        .workspace
        .as_ref()
        .and_then(|workspace| workspace.workspace_edit.as_ref());
    let actions = client
        .text_document
        .as_ref()
        .and_then(|text| text.code_action.as_ref());
    EditAbilities {
        versioned: edits
            .and_then(|edits| edits.document_changes)
            .unwrap_or(false),
        disabled_actions: actions
            .and_then(|actions| actions.disabled_support)
            .unwrap_or(false),
    }
}

/// The client's abilities to show things.
fn abilities(client: &ClientCapabilities) -> Abilities {
    let workspace = client.workspace.as_ref();
    Abilities {
        progress: client
            .window
            .as_ref()
            .and_then(|window| window.work_done_progress)
            .unwrap_or(false),
        hint_refresh: workspace
            .and_then(|workspace| workspace.inlay_hint.as_ref()?.refresh_support)
            .unwrap_or(false),
        lens_refresh: workspace
            .and_then(|workspace| workspace.code_lens.as_ref()?.refresh_support)
            .unwrap_or(false),
        status: switch(client, "status").unwrap_or(false),
    }
}

/// The byte of a text at a position; a position past the end of a line is its end.
pub fn offset(text: &Text, position: Position, encoding: Encoding) -> usize {
    let line = position.line as usize;
    let inside = text
        .line(line)
        .map_or(0, |line| encoding.byte(line, position.character));
    text.line_start(line)
        .map_or(text.content().len(), |start| start + inside)
}

/// Edits of a document in the client's terms; they have a meaning only together with its text.
#[derive(Debug)]
pub struct ClientEdits(pub Vec<TextDocumentContentChangeEvent>);

impl ClientEdits {
    /// The replacement that each edit makes in the text before it: the bytes that it replaces, and the new text.
    pub fn bytes(
        &self,
        encoding: Encoding,
    ) -> impl Iterator<Item = (impl Fn(&Text) -> std::ops::Range<usize>, &str)> {
        self.0.iter().map(move |change| {
            let replaced = move |text: &Text| {
                let Some(range) = change.range else {
                    return 0..text.content().len();
                };
                let start = offset(text, range.start, encoding);
                start..offset(text, range.end, encoding).max(start)
            };
            (replaced, change.text.as_str())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::OpenDocument;
    use tower_lsp::lsp_types::Range;

    #[test]
    fn edits_in_either_encoding() {
        let change =
            |from: (u32, u32), to: (u32, u32), text: &str| TextDocumentContentChangeEvent {
                range: Some(Range::new(
                    Position::new(from.0, from.1),
                    Position::new(to.0, to.1),
                )),
                range_length: None,
                text: text.to_owned(),
            };
        let after = |encoding, changes| {
            let mut document = OpenDocument::new(0, "é = 1;\nb\n");
            document.change(1, &ClientEdits(changes), encoding);
            document.text.content().to_owned()
        };
        assert_eq!(
            after(Encoding::Utf16, vec![change((0, 4), (0, 5), "2")]),
            "é = 2;\nb\n"
        );
        assert_eq!(
            after(Encoding::Utf8, vec![change((0, 5), (0, 6), "2")]),
            "é = 2;\nb\n"
        );
        assert_eq!(
            after(
                Encoding::Utf8,
                vec![change((0, 0), (2, 0), ""), change((9, 9), (9, 9), "x")]
            ),
            "x"
        );
        let whole = TextDocumentContentChangeEvent {
            range: None,
            range_length: None,
            text: "new".into(),
        };
        assert_eq!(after(Encoding::Utf8, vec![whole]), "new");
    }

    #[test]
    fn only_files_have_paths() {
        let of = |uri: &str| path(&uri.parse().unwrap());
        assert_eq!(of("file:///a%20b/c.c"), Some(PathBuf::from("/a b/c.c")));
        assert_eq!(of("untitled:Untitled-1"), None);
        assert_eq!(of("git:/a/b.c"), None);
    }
}
