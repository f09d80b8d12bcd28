//! The type of a heap block, derived from the source text that allocates it.
//!
//! The heap has no types. But `struct queue *queue = malloc(sizeof *queue)` says what it is for, and says the same in
//! every run: so fields can have their names instead of their offsets.

/// A mention of a type in the text, to be looked up in the debug info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element<'a> {
    /// The type with this name.
    Type(&'a str),
    /// The type that the variable with this name points to.
    PointedToBy(&'a str),
}

/// Candidates for what a line allocates, best first.
pub(super) fn elements(line: &str) -> Vec<Element<'_>> {
    let found = [
        new(line),
        glib_new(line),
        size_of(line),
        cast(line),
        assigned(line),
    ];
    found.into_iter().flatten().collect()
}

/// `new TYPE`.
fn new(line: &str) -> Option<Element<'_>> {
    let after = after_word(line, "new")?.trim_start();
    let end = after
        .find(['(', '[', '{', ';', ',', ')'])
        .unwrap_or(after.len());
    type_name(after.get(..end)?).map(Element::Type)
}

/// `g_new(TYPE, n)` and its relatives of GLib.
fn glib_new(line: &str) -> Option<Element<'_>> {
    const MACROS: [&str; 8] = [
        "g_new",
        "g_new0",
        "g_try_new",
        "g_try_new0",
        "g_renew",
        "g_try_renew",
        "g_slice_new",
        "g_slice_new0",
    ];
    let after = MACROS.iter().find_map(|name| after_word(line, name))?;
    let inside = after.trim_start().strip_prefix('(')?;
    type_name(inside.get(..inside.find([',', ')'])?)?).map(Element::Type)
}

/// `sizeof(TYPE)`, `sizeof *POINTER`, `sizeof(*POINTER)`.
fn size_of(line: &str) -> Option<Element<'_>> {
    let after = after_word(line, "sizeof")?.trim_start();
    let operand = match after.strip_prefix('(') {
        Some(inside) => inside.get(..inside.find(')')?)?,
        None => after.get(..after.find([')', ';', ',']).unwrap_or(after.len()))?,
    };
    match operand.trim().strip_prefix('*') {
        Some(pointer) => identifier(pointer.trim()).map(Element::PointedToBy),
        None => type_name(operand).map(Element::Type),
    }
}

/// `(TYPE *)malloc`.
fn cast(line: &str) -> Option<Element<'_>> {
    let open = line.find('(')?;
    let inside = line.get(open + 1..)?;
    let inside = inside.get(..inside.find(')')?)?;
    type_name(inside.trim().strip_suffix('*')?).map(Element::Type)
}

/// `POINTER = malloc`, also in its declaration.
fn assigned(line: &str) -> Option<Element<'_>> {
    let before = line.get(..line.find('=')?)?.trim_end();
    let start = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
    let name = identifier(before.get(start..)?)?;
    let outer = before.get(..start)?.trim_end();
    // Of `queue->items` the line says nothing about `items` alone.
    (!outer.ends_with("->") && !outer.ends_with('.')).then_some(Element::PointedToBy(name))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn identifier(text: &str) -> Option<&str> {
    let is_name = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && text.chars().all(is_word)).then_some(text)
}

fn type_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = ["struct ", "union ", "const ", "class "]
        .into_iter()
        .fold(text, |text, word| {
            text.strip_prefix(word).unwrap_or(text).trim_start()
        });
    let ok = |c: char| is_word(c) || matches!(c, ':' | '<' | '>' | ' ' | ',');
    (!name.is_empty() && name.chars().all(ok)).then_some(name)
}

/// The text behind the first occurrence of a whole word.
fn after_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.match_indices(word).find_map(|(at, _)| {
        let before = line.get(..at)?.chars().next_back();
        let after = line.get(at + word.len()..)?;
        let is_whole = !before.is_some_and(is_word) && !after.starts_with(is_word);
        is_whole.then_some(after)
    })
}

#[cfg(test)]
mod tests {
    use super::{Element::*, *};

    #[test]
    fn lines_say_what_they_allocate() {
        let first = |line| elements(line).into_iter().next();
        let of = [
            (
                "struct queue *queue = malloc(sizeof *queue);",
                PointedToBy("queue"),
            ),
            ("q = calloc(1, sizeof(*q));", PointedToBy("q")),
            ("return malloc(n * sizeof(struct cell));", Type("cell")),
            ("rows = (long *)malloc(80);", Type("long")),
            ("node *n = malloc(bytes);", PointedToBy("n")),
            (
                "auto p = new bank::Vault<int>(3);",
                Type("bank::Vault<int>"),
            ),
            ("cells = new Cell[4];", Type("Cell")),
            ("list->jobs = g_new0 (Job, 4);", Type("Job")),
            ("Job *job = g_slice_new(struct job);", Type("job")),
        ];
        for (line, expected) in of {
            assert_eq!(first(line), Some(expected), "{line}");
        }
        for line in ["return renew(3);", "list->head = make(4);", "newer = ;= ("] {
            assert!(!matches!(first(line), Some(Type(_))), "{line}");
        }
        assert_eq!(elements("list->head = make(4);"), []);
    }
}
