//! An atomic update, and a look at the variable right behind it: the value that the update leaves is the one to look at.

use super::{
    EditRefusal,
    change::{Change, remove_statement},
    locks::same,
    one_step::{AtomicForm, called, loaded, replaced},
    source::{ParsedSource, children, descendants, lines},
};
use tree_sitter::Node;

/// An update of an atomic variable, as the expression of a statement.
struct AtomicUpdate<'t> {
    statement: Node<'t>,
    form: AtomicForm,
    /// An expression that does it.
    text: String,
    /// Sign and text of a number that has to be added to the value of that for the one that the update leaves.
    offset: Option<(&'static str, String)>,
}

/// Has the look of line `reads` take what the update of line `updates` leaves.
///
/// # Errors
/// An error when the update is no statement of its own, or the next statement does not look at the variable once there.
pub fn look_at_what_is_left(
    source: &ParsedSource,
    updates: u32,
    reads: u32,
) -> Result<Vec<Change>, EditRefusal> {
    let unseen =
        || format!("how line {reads} looks at what line {updates} has changed is not understood");
    let function = source.function(updates).ok_or_else(unseen)?;
    let statements = descendants(function).into_iter();
    let mut updates = statements
        .filter(|node| lines(*node).contains(&updates))
        .filter_map(|node| update(source, node));
    let changes = updates.find_map(|update| looked_at(source, &update, reads));
    changes.ok_or_else(unseen)
}

fn looked_at(source: &ParsedSource, update: &AtomicUpdate<'_>, reads: u32) -> Option<Vec<Change>> {
    let mut behind = std::iter::successors(
        update.statement.next_named_sibling(),
        Node::next_named_sibling,
    );
    let next = behind.find(|node| node.kind() != "comment")?;
    let looks = match next.kind() {
        "if_statement" => next.child_by_field_name("condition")?,
        "return_statement" | "declaration" => next,
        _ => return None,
    };
    let all = descendants(looks).into_iter();
    let is_load = |node: &Node<'_>| is_of(source, *node, &update.form);
    let loads: Vec<Node<'_>> = all.filter(is_load).collect();
    let [load] = loads.as_slice() else {
        return None;
    };
    if may_be_skipped(source, *load, looks) {
        return None;
    }
    let mut changes = vec![remove_statement(source, update.statement)];
    match compared(source, *load, update) {
        Some(compared) => changes.extend(compared),
        None => changes.push(replaced(*load, update.left())),
    }
    lines(*load).contains(&reads).then_some(changes)
}

/// Returns whether a part of an expression is not reached by all that come to the whole, as the right side of `&&`: an update has
/// to be.
fn may_be_skipped(source: &ParsedSource, part: Node<'_>, whole: Node<'_>) -> bool {
    let above = std::iter::successors(Some(part), Node::parent);
    let steps = above
        .take_while(|node| *node != whole)
        .filter_map(|node| Some((node, node.parent()?)));
    steps.into_iter().any(|(node, around)| {
        let operator = around
            .child_by_field_name("operator")
            .map(|it| source.str(it));
        match around.kind() {
            "binary_expression" if matches!(operator, Some("&&" | "||" | "and" | "or")) => {
                around.child_by_field_name("left") != Some(node)
            }
            "conditional_expression" => around.child_by_field_name("condition") != Some(node),
            "lambda_expression" | "sizeof_expression" => true,
            _ => false,
        }
    })
}

/// `fetch_sub(1) == 1` for a look that compares with 0.
fn compared(
    source: &ParsedSource,
    load: Node<'_>,
    update: &AtomicUpdate<'_>,
) -> Option<[Change; 2]> {
    let parent = load
        .parent()
        .filter(|it| it.kind() == "binary_expression")?;
    let operator = source.str(parent.child_by_field_name("operator")?);
    if !matches!(operator, "==" | "!=") {
        return None;
    }
    let side = |name| parent.child_by_field_name(name);
    let other = [side("left")?, side("right")?];
    let other = other.into_iter().find(|side| *side != load)?;
    let number: i64 = source.str(other).parse().ok()?;
    let (sign, amount) = update.offset.as_ref()?;
    let amount: i64 = amount.parse().ok()?;
    let before = match *sign {
        "-" => number.checked_add(amount)?,
        _ => number.checked_sub(amount).filter(|before| *before >= 0)?,
    };
    Some([
        replaced(load, update.text.clone()),
        replaced(other, before.to_string()),
    ])
}

impl AtomicUpdate<'_> {
    /// An expression that does the update and has the value that it leaves.
    fn left(&self) -> String {
        match &self.offset {
            Some((sign, amount)) => format!("({} {sign} {amount})", self.text),
            None => self.text.clone(),
        }
    }
}

fn update<'t>(source: &ParsedSource, statement: Node<'t>) -> Option<AtomicUpdate<'t>> {
    let node = *children(statement)
        .first()
        .filter(|_| statement.kind() == "expression_statement")?;
    let (form, text, offset) = match node.kind() {
        "update_expression" => {
            let variable = source.str(node.child_by_field_name("argument")?);
            let sign = if source.str(node).contains("--") {
                "--"
            } else {
                "++"
            };
            let form = AtomicForm::Plain(variable.to_owned());
            (form, format!("{sign}{variable}"), None)
        }
        "assignment_expression" => {
            let sign = node.child_by_field_name("operator")?;
            let variable = node.child_by_field_name("left")?;
            let form = AtomicForm::Plain(source.str(variable).to_owned());
            let changes = source.str(sign) != "=";
            let text = changes.then(|| format!("({})", source.str(node)))?;
            (form, text, None)
        }
        _ => fetched(source, node)?,
    };
    Some(AtomicUpdate {
        statement,
        form,
        text,
        offset,
    })
}

type Fetched = (AtomicForm, String, Option<(&'static str, String)>);

/// `count.fetch_sub(n)` and `atomic_fetch_sub(&count, n)`.
fn fetched(source: &ParsedSource, node: Node<'_>) -> Option<Fetched> {
    const SIGNS: [(&str, &str); 2] = [("fetch_sub", "-"), ("fetch_add", "+")];
    SIGNS.into_iter().find_map(|(name, sign)| {
        let (form, arguments) = called(source, node, name)?;
        let at = usize::from(matches!(form, AtomicForm::Function(_)));
        let amount = source.str(*arguments.get(at)?).to_owned();
        Some((form, source.str(node).to_owned(), Some((sign, amount))))
    })
}

/// Returns whether an expression loads the variable, in whichever form.
fn is_of(source: &ParsedSource, node: Node<'_>, form: &AtomicForm) -> bool {
    // The name within `count.load()` and `&count` is part of the load around it.
    let is_part = node.parent().is_some_and(|around| {
        matches!(
            around.kind(),
            "field_expression" | "pointer_expression" | "subscript_expression"
        )
    });
    let load = loaded(source, node).filter(|_| !is_part);
    load.is_some_and(|load| same(variable(&load), variable(form)))
}

fn variable(form: &AtomicForm) -> &str {
    match form {
        AtomicForm::Method(object) => {
            let object = object.strip_suffix("->").unwrap_or(object);
            object.strip_suffix('.').unwrap_or(object)
        }
        AtomicForm::Function(address) => address.strip_prefix('&').unwrap_or(address),
        AtomicForm::Plain(variable) => variable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;

    fn edited(file: &str, body: &str) -> Result<String, EditRefusal> {
        let text = format!("void f(int n)\n{{\n{body}\n}}\n");
        let source = ParsedSource::parse(file, &text).unwrap();
        let changes = look_at_what_is_left(&source, 3, 4)?;
        let edited = apply(&text, &changes).unwrap();
        let body = edited.strip_prefix("void f(int n)\n{\n").unwrap();
        Ok(body.strip_suffix("\n}\n").unwrap().to_owned())
    }

    #[test]
    fn the_last_reference_is_the_one_whose_update_leaves_none() {
        let functions = "    atomic_fetch_sub(&s->refs, 1);\n    if (atomic_load(&s->refs) == 0)\n        close(s);";
        assert_eq!(
            edited("a.c", functions).as_deref(),
            Ok("    if (atomic_fetch_sub(&s->refs, 1) == 1)\n        close(s);")
        );
        let methods = "    refs_.fetch_sub(1);\n    if (refs_.load() == 0)\n        delete this;";
        assert_eq!(
            edited("a.cpp", methods).as_deref(),
            Ok("    if (refs_.fetch_sub(1) == 1)\n        delete this;")
        );
        let plain = "    --refs_;\n    if (refs_ == 0)\n        delete this;";
        assert_eq!(
            edited("a.cpp", plain).as_deref(),
            Ok("    if (--refs_ == 0)\n        delete this;")
        );
    }

    #[test]
    fn other_looks_take_the_value_with_what_was_added() {
        let negated = "    refs_.fetch_sub(n);\n    if (!refs_)\n        delete this;";
        assert_eq!(
            edited("a.cpp", negated).as_deref(),
            Ok("    if (!(refs_.fetch_sub(n) - n))\n        delete this;")
        );
        let returned = "    atomic_fetch_add(&count, 1);\n    return atomic_load(&count);";
        assert_eq!(
            edited("a.c", returned).as_deref(),
            Ok("    return (atomic_fetch_add(&count, 1) + 1);")
        );
        let twice = "    count++;\n    return count * count;";
        assert!(edited("a.c", twice).is_err());
        let later = "    count++;\n    if (n == 0) return count;";
        assert!(edited("a.c", later).is_err());
        let added = "    atomic_fetch_sub(&count, 1);\n    if (atomic_load(&count) + 1 > n)\n        grow();";
        assert_eq!(
            edited("a.c", added).as_deref(),
            Ok("    if ((atomic_fetch_sub(&count, 1) - 1) + 1 > n)\n        grow();")
        );
    }

    /// The update would be made only where the left side holds.
    #[test]
    fn an_update_goes_nowhere_where_it_may_be_skipped() {
        let both =
            "    refs_.fetch_sub(1);\n    if (closing && refs_.load() == 0)\n        delete this;";
        assert!(edited("a.cpp", both).is_err());
        let chosen = "    refs_.fetch_sub(1);\n    return n ? refs_.load() : 0;";
        assert!(edited("a.cpp", chosen).is_err());
        let first =
            "    refs_.fetch_sub(1);\n    if (refs_.load() == 0 && closing)\n        delete this;";
        assert_eq!(
            edited("a.cpp", first).as_deref(),
            Ok("    if (refs_.fetch_sub(1) == 1 && closing)\n        delete this;")
        );
    }
}
