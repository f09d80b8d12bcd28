//! Places, files and function names by the debug info.

use super::{
    metadata::{Metadata, NodeId},
    tables::row,
};
use crate::assemble::names;
use rustc_hash::FxHashMap;
use unsnarl_trace::program::{DebugPlace, PlaceId, Unit};

/// Bound for the depth of calls that were inlined into each other.
const DEEPEST: u32 = 256;

/// Rows for places, with the indices that find them again.
#[derive(Default)]
pub(super) struct PlaceRows {
    by_node: FxHashMap<NodeId, PlaceId>,
    places: FxHashMap<DebugPlace, PlaceId>,
    files: FxHashMap<String, u32>,
    file_nodes: FxHashMap<NodeId, u32>,
    subprograms: FxHashMap<String, u32>,
    /// The function that a scope is in.
    scopes: FxHashMap<NodeId, u32>,
}

impl PlaceRows {
    /// Puts the rows for "not known" into the unit.
    pub fn begin(unit: &mut Unit) -> PlaceRows {
        unit.places.push(DebugPlace::NOWHERE);
        unit.files.push(String::new());
        unit.subprograms.push(String::new());
        let mut places = PlaceRows::default();
        places.places.insert(DebugPlace::NOWHERE, PlaceId(0));
        places.files.insert(String::new(), 0);
        places.subprograms.insert(String::new(), 0);
        places
    }

    /// The row of a `DILocation`.
    pub fn location(&mut self, unit: &mut Unit, metadata: &Metadata, id: NodeId) -> PlaceId {
        self.inlined(unit, metadata, id, 0)
    }

    fn inlined(&mut self, unit: &mut Unit, metadata: &Metadata, id: NodeId, depth: u32) -> PlaceId {
        if let Some(&place) = self.by_node.get(&id) {
            return place;
        }
        // Whoever asks for it meanwhile is within it: a loop.
        self.by_node.insert(id, PlaceId(0));
        let node = metadata.node(id).filter(|node| node.kind == "DILocation");
        let Some(node) = node.filter(|_| depth < DEEPEST) else {
            return PlaceId(0);
        };
        let number = |key| node.number(key).and_then(|number| number.try_into().ok());
        let scope = node.reference("scope");
        let outer = node.reference("inlinedAt");
        let place = DebugPlace {
            file: scope.map_or(0, |scope| self.file_of(unit, metadata, scope)),
            line: number("line").unwrap_or(0),
            column: number("column").unwrap_or(0),
            function: scope.map_or(0, |scope| self.function_of(unit, metadata, scope)),
            inlined_at: outer.map_or(PlaceId(0), |outer| {
                self.inlined(unit, metadata, outer, depth + 1)
            }),
        };
        let place = self.intern(unit, place);
        self.by_node.insert(id, place);
        place
    }

    /// The row of this place.
    pub fn intern(&mut self, unit: &mut Unit, place: DebugPlace) -> PlaceId {
        if let Some(&id) = self.places.get(&place) {
            return id;
        }
        let id = PlaceId(row(unit.places.len()));
        self.places.insert(place.clone(), id);
        unit.places.push(place);
        id
    }

    /// Place of a declaration: its `file` and `line`.
    pub fn declaration(&mut self, unit: &mut Unit, metadata: &Metadata, id: NodeId) -> PlaceId {
        let line = metadata.node(id).and_then(|node| node.number("line"));
        let is_function = metadata
            .node(id)
            .is_some_and(|node| node.kind == "DISubprogram");
        let place = DebugPlace {
            file: self.file_of(unit, metadata, id),
            line: line.and_then(|line| line.try_into().ok()).unwrap_or(0),
            column: 0,
            function: match is_function {
                true => self.function_of(unit, metadata, id),
                false => 0,
            },
            inlined_at: PlaceId(0),
        };
        self.intern(unit, place)
    }

    /// The file that a scope or declaration names.
    fn file_of(&mut self, unit: &mut Unit, metadata: &Metadata, id: NodeId) -> u32 {
        let node = metadata.node(id);
        let file = node.and_then(|node| node.reference("file"));
        // A file is a scope, too.
        self.file(unit, metadata, file.unwrap_or(id))
    }

    fn file(&mut self, unit: &mut Unit, metadata: &Metadata, id: NodeId) -> u32 {
        if let Some(&file) = self.file_nodes.get(&id) {
            return file;
        }
        let node = metadata.node(id).filter(|node| node.kind == "DIFile");
        let path = node.map_or(String::new(), |node| {
            let (name, folder) = (node.text("filename"), node.text("directory"));
            match name.starts_with('/') || folder.is_empty() {
                true => names::path(&name),
                false => names::path(&format!("{folder}/{name}")),
            }
        });
        let file = interned(&mut self.files, &mut unit.files, path);
        self.file_nodes.insert(id, file);
        file
    }

    /// The function whose text a scope is in. Every scope is walked through once.
    fn function_of(&mut self, unit: &mut Unit, metadata: &Metadata, scope: NodeId) -> u32 {
        let mut passed = Vec::new();
        let mut at = Some(scope);
        let mut found = 0;
        while let Some(id) = at {
            if let Some(&known) = self.scopes.get(&id) {
                found = known;
                break;
            }
            passed.push(id);
            self.scopes.insert(id, 0);
            let Some(node) = metadata.node(id) else { break };
            if node.kind == "DISubprogram" {
                let name = subprogram(&node.text("linkageName"), &node.text("name"));
                found = interned(&mut self.subprograms, &mut unit.subprograms, name);
                break;
            }
            at = node.reference("scope");
        }
        for id in passed {
            self.scopes.insert(id, found);
        }
        found
    }

    /// The display name of a function's node; `None` if it has none.
    pub fn name_of(&mut self, unit: &mut Unit, metadata: &Metadata, id: NodeId) -> Option<String> {
        let row = self.function_of(unit, metadata, id) as usize;
        unit.subprograms
            .get(row)
            .filter(|name| !name.is_empty())
            .cloned()
    }
}

/// A function's name for people, by its linker's name if it has another one: the name that sites have.
pub(super) fn subprogram(linkage: &str, name: &str) -> String {
    let raw = if linkage.is_empty() { name } else { linkage };
    let name = names::function(raw);
    match names::is_lambda(&name) {
        true => names::lambda(&name),
        false => name,
    }
}

/// The name with its scopes, as variables of runs have it: `function::name` and `Class::name`; empty for entities
/// without a name of their own.
pub(super) fn qualified(metadata: &Metadata, id: NodeId) -> String {
    /// Bound for the nesting of scopes, which is written by hand: deeper nesting is a loop.
    const MOST: usize = 1024;
    let mut parts = Vec::new();
    let mut at = Some(id);
    for _ in 0..MOST {
        let Some(node) = at.and_then(|id| metadata.node(id)) else {
            break;
        };
        // A definition outside of its class is named as its declaration.
        let declared = node
            .reference("declaration")
            .and_then(|id| metadata.node(id));
        let node = declared.unwrap_or(node);
        if !matches!(
            node.kind,
            "DIFile" | "DICompileUnit" | "DILexicalBlock" | "DILexicalBlockFile"
        ) {
            parts.push(node.text("name"));
        }
        at = node.reference("scope");
    }
    if parts.first().is_none_or(String::is_empty) {
        return String::new();
    }
    parts.retain(|part| !part.is_empty());
    parts.reverse();
    parts.join("::")
}

fn interned(known: &mut FxHashMap<String, u32>, rows: &mut Vec<String>, text: String) -> u32 {
    if let Some(&at) = known.get(&text) {
        return at;
    }
    let at = row(rows.len());
    known.insert(text.clone(), at);
    rows.push(text);
    at
}
