//! Code excluded by the preprocessor, as far as the executed lines show it.

use super::source::{ParsedSource, children, lines};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use tree_sitter::Node;

/// A condition of the preprocessor: `#ifdef NAME`, `#ifndef NAME`, `#if EXPRESSION`.
struct Condition<'t> {
    /// Text of the condition; the same text has the same value everywhere in a file that does not define its
    /// names.
    words: String,
    /// `true` for `#ifndef`.
    is_negated: bool,
    /// The whole directive.
    node: Node<'t>,
    /// `#else` and the code after it.
    alternative: Option<Node<'t>>,
}

/// The bytes that are excluded, given the executed lines of the file.
pub fn left_out(source: &ParsedSource, ran: &BTreeSet<u32>) -> Vec<Range<usize>> {
    if !source.text().contains('#') {
        return Vec::new();
    }
    let all = conditions(source);
    let defined = defines(source);
    let mut known: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    for condition in &all {
        let words = condition.words.as_str();
        if !defined.iter().any(|name| mentions(words, name)) {
            known
                .entry(words)
                .or_default()
                .extend(shown(condition, ran));
        }
    }
    let mut found = Vec::new();
    for condition in &all {
        let known = known.get(condition.words.as_str());
        let mut values = known.into_iter().flatten();
        let (Some(value), None) = (values.next(), values.next()) else {
            continue;
        };
        let takes_first = *value != condition.is_negated;
        let node = condition.node;
        let parts = condition.alternative.map(|other| other.start_byte());
        match (takes_first, parts) {
            (true, Some(other)) => found.push(other..node.end_byte()),
            (true, None) => {}
            (false, other) => found.push(node.start_byte()..other.unwrap_or(node.end_byte())),
        }
    }
    found
}

/// Values of a condition, by itself or as the executed lines in it show.
fn shown(condition: &Condition<'_>, ran: &BTreeSet<u32>) -> Vec<bool> {
    match condition.words.as_str() {
        "0" => return vec![false],
        "1" => return vec![true],
        _ => {}
    }
    let whole = lines(condition.node);
    let parting = condition.alternative.map(|other| *lines(other).start());
    let first = *whole.start()..parting.unwrap_or(*whole.end());
    let (mut values, is_plain_else) = (Vec::new(), is_else(condition));
    if ran.range(first).next().is_some() {
        values.push(!condition.is_negated);
    }
    let other = parting.map(|parting| parting..=*whole.end());
    if other.is_some_and(|other| ran.range(other).next().is_some()) && is_plain_else {
        values.push(condition.is_negated);
    }
    values
}

fn is_else(condition: &Condition<'_>) -> bool {
    condition
        .alternative
        .is_some_and(|other| other.kind() == "preproc_else")
}

fn conditions(source: &ParsedSource) -> Vec<Condition<'_>> {
    let (mut found, mut stack) = (Vec::new(), vec![source.root()]);
    while let Some(node) = stack.pop() {
        stack.extend(children(node));
        let words = match node.kind() {
            "preproc_ifdef" => node.child_by_field_name("name"),
            "preproc_if" => node.child_by_field_name("condition"),
            _ => None,
        };
        if let Some(words) = words {
            found.push(Condition {
                words: source.str(words).trim().to_owned(),
                is_negated: source.str(node).starts_with("#ifndef"),
                node,
                alternative: node.child_by_field_name("alternative"),
            });
        }
    }
    found
}

/// Names that the file defines or undefines: their value depends on the place.
fn defines(source: &ParsedSource) -> BTreeSet<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest
            .strip_prefix("define")
            .or_else(|| rest.strip_prefix("undef"))?;
        let name = rest.trim_start();
        let end = name.find(|c| !is_word(c)).unwrap_or(name.len());
        name.get(..end).map(str::to_owned)
    };
    source.text().lines().filter_map(name).collect()
}

fn mentions(words: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    words.split(|c: char| !is_word(c)).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "void f(void)\n{\n#ifdef FIXED\n    one();\n#else\n    two();\n#endif\n}\nvoid g(void)\n{\n#ifdef FIXED\n    three();\n#endif\n#ifndef FIXED\n    four();\n#endif\n#if 0\n    five();\n#endif\n}\n";

    fn texts(text: &str, ran: &[u32]) -> Vec<String> {
        let source = ParsedSource::parse("a.c", text).unwrap();
        let ran: BTreeSet<u32> = ran.iter().copied().collect();
        let mut found = left_out(&source, &ran);
        found.sort_by_key(|range| range.start);
        let words = |range: &Range<usize>| source.slice(range.start, range.end).trim().to_owned();
        found.iter().map(words).collect()
    }

    #[test]
    fn lines_that_ran_tell_of_the_same_condition_elsewhere() {
        let left = texts(TEXT, &[6]);
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(left[0].contains("one()") && !left[0].contains("two()"));
        assert!(left[1].contains("three()"));
        assert!(left[2].contains("five()"));
        let left = texts(TEXT, &[4]);
        assert!(left[0].contains("two()") && left[1].contains("four()"));
    }

    #[test]
    fn what_nothing_shows_stays() {
        assert_eq!(texts(TEXT, &[]).len(), 1);
        assert_eq!(texts(&format!("#define FIXED\n{TEXT}"), &[7]).len(), 1);
    }
}
