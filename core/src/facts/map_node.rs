//! Names of what lies in the nodes of maps. A node is a pair in a block of its own, which no line of the program names: the line
//! has the map with its key, or a reference to the value.

use super::{candidates, closing, is_assigned, is_word_start};

/// Members of a node: the key, and the value.
const KEY: &str = ".first";
const VALUE: &str = ".second";

/// The expression on a line that may name what lies at `path` in a node of a map: `shown_[file].errors`, or `newest` where
/// that is assigned, which can only be a reference; `key of shown_[file]`.
pub(super) fn in_node(text: &str, path: &str, writes: bool) -> Option<String> {
    if member(path, KEY).is_some() {
        return element(text, writes).map(|element| format!("key of {element}"));
    }
    let part = member(path, VALUE)?;
    let value = element(text, writes).or_else(|| assigned_word(text).filter(|_| writes));
    value.map(|value| format!("{value}{part}"))
}

/// The element of a map that a line accesses, where `path` lies in a node.
pub(crate) fn element_of_map(text: &str, path: &str, writes: bool) -> Option<String> {
    let is_in_node = [KEY, VALUE].iter().any(|name| member(path, name).is_some());
    is_in_node.then(|| in_node(text, VALUE, writes))?
}

/// The member at `path` in a node that a line of the program has put into a map: `levels_[...]`, since the key is that line's.
pub(super) fn put_by(text: &str, path: &str) -> Option<String> {
    let whole = format!("{}[...]", only_container(text)?);
    match member(path, VALUE) {
        Some(part) => Some(format!("{whole}{part}")),
        None => member(path, KEY).map(|_| format!("key of {whole}")),
    }
}

/// The only container on a line of which it names an element: `levels_` of `levels_[order.price].push_back(order);`.
fn only_container(text: &str) -> Option<&str> {
    let open = text.find('[')?;
    let (before, rest) = text.split_at_checked(open)?;
    let is_part = |c: char| c.is_alphanumeric() || "_.->".contains(c);
    let name = before.rsplit(|c| !is_part(c)).next()?;
    let after = rest.get(closing(rest, ['[', ']'])?..)?;
    (name.starts_with(is_word_start) && !after.contains('[')).then_some(name)
}

/// The path within a member.
fn member<'p>(path: &'p str, name: &str) -> Option<&'p str> {
    let part = path.strip_prefix(name)?;
    (part.is_empty() || part.starts_with(['.', '['])).then_some(part)
}

/// The element that is written or read. The only one of a line may be new: it is set before it is read.
fn element(text: &str, writes: bool) -> Option<String> {
    let mut elements = candidates(text);
    elements.retain(|(expression, _)| expression.ends_with([']', ')']));
    let is_only = elements.len() == 1;
    elements.retain(|(_, end)| is_assigned(text, *end) == writes || writes && is_only);
    match elements.as_slice() {
        [(element, _)] => Some(element.clone()),
        _ => None,
    }
}

/// The word that a statement without elements consists of up to its assignment.
fn assigned_word(text: &str) -> Option<String> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    let word = text.get(..end)?;
    let is_it = word.starts_with(is_word_start) && is_assigned(text, end) && !text.contains('[');
    is_it.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_maps_are_named_by_their_keys() {
        let check = |text, path, writes, expected: Option<&str>| {
            let name = in_node(text, path, writes);
            assert_eq!(name.as_deref(), expected, "{text}");
        };
        let shown = "shown_[file] = d;";
        check(shown, ".second", true, Some("shown_[file]"));
        check(shown, ".second.errors", true, Some("shown_[file].errors"));
        check(shown, ".first", true, Some("key of shown_[file]"));
        check(shown, ".seconds", true, None);
        check(shown, ".third", true, None);
        check("newest = version;", ".second", true, Some("newest"));
        let got = "return counts.at(key);";
        check(got, ".second", false, Some("counts.at(key)"));
        check("if (version < newest) return;", ".second", false, None);
        let both = "totals[day] = counts[key];";
        check(both, ".second", false, Some("counts[key]"));
        check("int n = newest;", ".second", true, None);
        check("n = counts[key];", ".second", true, Some("counts[key]"));
        check("n = a[i] + b[j];", ".second", true, None);
        check("use(a[i], b[j]);", ".second", false, None);
    }

    #[test]
    fn what_no_line_names_is_known_by_the_line_that_has_put_it_there() {
        let put = |path| put_by("levels_[orders[i].price].push_back(order);", path);
        assert_eq!(put(".second").as_deref(), Some("levels_[...]"));
        assert_eq!(put(".second.size").as_deref(), Some("levels_[...].size"));
        assert_eq!(put(".first").as_deref(), Some("key of levels_[...]"));
        assert_eq!(put(".next"), None);
        assert_eq!(put_by("a[i] = b[j];", ".second"), None);
        assert_eq!(put_by("run([&] { use(map); });", ".second"), None);
        assert_eq!(put_by("levels_.emplace(price, order);", ".second"), None);
    }

    #[test]
    fn elements_of_maps_are_named_by_either_member() {
        let of = |path| element_of_map("return used_[tenant] + 1;", path, false);
        assert_eq!(of(".first").as_deref(), Some("used_[tenant]"));
        assert_eq!(of(".second").as_deref(), Some("used_[tenant]"));
        assert_eq!(of(".next"), None);
    }
}
