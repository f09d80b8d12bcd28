//! Metadata: nodes by number, and their fields.

use super::cursor::plain;
use rustc_hash::FxHashMap;

/// The number of a node.
pub(super) type NodeId = u32;

/// The nodes of a module, unread.
#[derive(Default)]
pub(super) struct Metadata<'t> {
    nodes: FxHashMap<NodeId, &'t str>,
    /// Node lists with a name, such as `llvm.dbg.cu`.
    lists: FxHashMap<&'t str, &'t str>,
}

/// A node: `!DIKind(key: value, ...)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MetadataNode<'t> {
    /// `DILocation` and the like; empty for a list.
    pub kind: &'t str,
    /// The text between the brackets.
    body: &'t str,
}

impl<'t> Metadata<'t> {
    /// Adds the node `!name = text`.
    pub fn add(&mut self, name: &'t str, text: &'t str) {
        match name.parse() {
            Ok(number) => {
                self.nodes.insert(number, text);
            }
            Err(_) => {
                self.lists.insert(name, text);
            }
        }
    }

    /// The node with this number.
    pub fn node(&self, id: NodeId) -> Option<MetadataNode<'t>> {
        self.nodes
            .get(&id)
            .and_then(|text| MetadataNode::read(text))
    }

    /// The nodes in a list with a name.
    pub fn list(&self, name: &str) -> Vec<NodeId> {
        let node = self
            .lists
            .get(name)
            .and_then(|text| MetadataNode::read(text));
        node.map_or(Vec::new(), |node| {
            node.elements().filter_map(reference).collect()
        })
    }
}

impl<'t> MetadataNode<'t> {
    /// Parses a node.
    pub fn read(text: &'t str) -> Option<MetadataNode<'t>> {
        let text = text.trim();
        let text = text.strip_prefix("distinct ").unwrap_or(text);
        let text = text.strip_prefix('!')?;
        let open = text.find(['(', '{'])?;
        let (kind, rest) = text.split_at_checked(open)?;
        let body = rest.get(1..)?;
        let body = body.strip_suffix([')', '}']).unwrap_or(body);
        Some(MetadataNode { kind, body })
    }

    /// The elements of the list.
    pub fn elements(self) -> Elements<'t> {
        Elements { rest: self.body }
    }

    /// The text of a field. Linear in the node's length.
    pub fn field(self, key: &str) -> Option<&'t str> {
        self.elements()
            .find_map(|element| element.strip_prefix(key)?.strip_prefix(": "))
    }

    /// A field that is another node.
    pub fn reference(self, key: &str) -> Option<NodeId> {
        self.field(key).and_then(reference)
    }

    /// A field that is a number.
    pub fn number(self, key: &str) -> Option<u64> {
        self.field(key)?.parse().ok()
    }

    /// A field that is a text; empty if there is none.
    pub fn text(self, key: &str) -> String {
        let quoted = self.field(key).and_then(|text| text.strip_prefix('"'));
        quoted
            .and_then(|text| text.strip_suffix('"'))
            .map_or(String::new(), plain)
    }

    /// Returns whether a field of flags has this one.
    pub fn has_flag(self, key: &str, flag: &str) -> bool {
        let mut flags = self.field(key).unwrap_or("").split(" | ");
        flags.any(|one| one == flag)
    }
}

/// Parses `!12`.
pub(super) fn reference(text: &str) -> Option<NodeId> {
    text.strip_prefix('!')?.parse().ok()
}

/// Parts between commas that stand in no bracket or text of their own.
#[derive(Clone, Debug)]
pub(super) struct Elements<'t> {
    rest: &'t str,
}

/// The parts of a list without its brackets.
pub(super) fn elements(text: &str) -> Elements<'_> {
    Elements { rest: text }
}

impl<'t> Iterator for Elements<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.trim_start().is_empty() {
            return None;
        }
        let (mut depth, mut is_text) = (0u32, false);
        let mut end = self.rest.len();
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'"' => is_text = !is_text,
                _ if is_text => {}
                b'(' | b'{' | b'[' | b'<' => depth += 1,
                b')' | b'}' | b']' | b'>' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        let element = self.rest.get(..end)?;
        self.rest = self.rest.get(end + 1..).unwrap_or("");
        Some(element.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_node() {
        let text = r#"distinct !DISubprogram(name: "a, \22b\22(", scope: !2, flags: A | B, x: !{!1, !2}, line: 7)"#;
        let node = MetadataNode::read(text).unwrap();
        assert_eq!(node.kind, "DISubprogram");
        assert_eq!(node.text("name"), "a, \"b\"(");
        assert_eq!(node.reference("scope"), Some(2));
        assert_eq!(node.number("line"), Some(7));
        assert_eq!(node.field("x"), Some("!{!1, !2}"));
        assert!(node.has_flag("flags", "B") && !node.has_flag("flags", "A | B"));
        assert_eq!(node.text("line"), "");
    }

    #[test]
    fn lists() {
        let mut metadata = Metadata::default();
        metadata.add("llvm.dbg.cu", "!{!4, !6}");
        metadata.add("4", "!{null, !\"x,y\"}");
        assert_eq!(metadata.list("llvm.dbg.cu"), [4, 6]);
        let list: Vec<_> = metadata.node(4).unwrap().elements().collect();
        assert_eq!(list, ["null", "!\"x,y\""]);
        assert_eq!(MetadataNode::read("i32 5"), None);
    }
}
