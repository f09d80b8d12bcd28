//! Names of values in the nodes of maps. A node is a pair in a block of its own, which no line of the program names: the line
//! has the map with its key, or a reference to the value.

use super::{candidates, is_assigned, is_word_start};

/// The member of a node that is the value.
const VALUE: &str = ".second";

/// The expression on a line that may name a value in a node of a map, or the part of one at `path`: `shown_[file].errors`, or
/// `newest` where that is assigned, which can only be a reference.
pub(crate) fn value_in_node(text: &str, path: &str, writes: bool) -> Option<String> {
    let part = path.strip_prefix(VALUE)?;
    if !(part.is_empty() || part.starts_with(['.', '['])) {
        return None;
    }
    let mut elements = candidates(text);
    elements.retain(|(expression, _)| expression.ends_with([']', ')']));
    if writes && elements.is_empty() {
        return Some(format!("{}{part}", assigned_word(text)?));
    }
    // The only element may be a new one, which is set before it is read.
    let is_only = elements.len() == 1;
    elements.retain(|(_, end)| is_assigned(text, *end) == writes || writes && is_only);
    match elements.as_slice() {
        [(element, _)] => Some(format!("{element}{part}")),
        _ => None,
    }
}

/// The word that a statement consists of up to its assignment.
fn assigned_word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    let word = text.get(..end)?;
    (word.starts_with(is_word_start) && is_assigned(text, end)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::value_in_node;

    #[test]
    fn values_of_maps_are_named_by_their_keys() {
        let check = |text, path, writes, expected: Option<&str>| {
            let name = value_in_node(text, path, writes);
            assert_eq!(name.as_deref(), expected, "{text}");
        };
        check("shown_[file] = d;", ".second", true, Some("shown_[file]"));
        check(
            "shown_[file] = d;",
            ".second.errors",
            true,
            Some("shown_[file].errors"),
        );
        check("newest = version;", ".second", true, Some("newest"));
        check(
            "return counts.at(key);",
            ".second",
            false,
            Some("counts.at(key)"),
        );
        check("if (version < newest) return;", ".second", false, None);
        check(
            "totals[day] = counts[key];",
            ".second",
            false,
            Some("counts[key]"),
        );
        check("int n = newest;", ".second", true, None);
        check("n = counts[key];", ".second", true, Some("counts[key]"));
        check("n = a[i] + b[j];", ".second", true, None);
        check("use(a[i], b[j]);", ".second", false, None);
        check("shown_[file] = d;", ".seconds", true, None);
        check("shown_[file] = d;", ".first", true, None);
    }
}
