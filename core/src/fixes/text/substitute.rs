//! Replacement of a variable in the text of a condition by what it holds.

/// The places of a name in a text at which it stands for itself, and not for a part of another name or a member.
fn places<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(name).filter(|_| !name.is_empty());
    found.map(|(at, _)| at).filter(move |at| {
        let (before, after) = (
            text.get(..*at).unwrap_or(""),
            text.get(at + name.len()..).unwrap_or(""),
        );
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

/// Returns whether a text names a variable or a member.
pub fn mentions(text: &str, name: &str) -> bool {
    places(text, name).next().is_some()
}

/// The text with a value in place of a variable.
pub fn put_in(text: &str, variable: &str, value: &str) -> String {
    let (mut out, mut rest_at) = (String::new(), 0);
    for at in places(text, variable) {
        let before = text.get(..at).unwrap_or("");
        if before.ends_with('.') || before.ends_with("->") {
            continue;
        }
        let after = at + variable.len();
        out.push_str(text.get(rest_at..at).unwrap_or(""));
        let rest = text.get(after..).unwrap_or("");
        match (value.strip_prefix('&'), rest.starts_with("->")) {
            (Some(object), true) => {
                out.push_str(object);
                out.push('.');
                rest_at = after + "->".len();
            }
            _ => {
                let is_alone = stands_alone(before, rest) || is_simple(value);
                match is_alone {
                    true => out.push_str(value),
                    false => out.push_str(&format!("({value})")),
                }
                rest_at = after;
            }
        }
    }
    out.push_str(text.get(rest_at..).unwrap_or(""));
    out
}

/// Returns whether what stands between the two texts needs no parentheses.
fn stands_alone(before: &str, after: &str) -> bool {
    let before = before.trim_end().chars().next_back();
    let after = after.trim_start();
    before.is_none_or(|c| "([<>=".contains(c))
        && !after.starts_with("->")
        && (after.is_empty() || after.starts_with([')', ']', '<', '>', '=', '!']))
}

/// Returns whether a value is a name, a number or a path of members.
fn is_simple(value: &str) -> bool {
    let is_path = |c: char| c.is_alphanumeric() || "_.".contains(c);
    value.replace("->", ".").chars().all(is_path)
}

#[cfg(test)]
mod tests {
    use super::put_in;

    #[test]
    fn a_value_takes_the_place_of_a_variable() {
        let check = |text, variable, value, expected: &str| {
            assert_eq!(put_in(text, variable, value), expected);
        };
        check("used >= size", "used", "used + 1", "used + 1 >= size");
        check(
            "2 * used >= size",
            "used",
            "used + 1",
            "2 * (used + 1) >= size",
        );
        check(
            "bag[slot] != NULL",
            "slot",
            "(o->head + 1) % 2",
            "bag[(o->head + 1) % 2] != NULL",
        );
        check("s->n > s->most", "s", "&all[i]", "all[i].n > all[i].most");
        check("q->used > used", "used", "0", "q->used > 0");
        check("reused", "used", "0", "reused");
    }
}
