//! The name of a block that a thread uses through a pointer: by the pointer, since the member that is used is not the block.

use super::view::View;
use crate::facts;
use unsnarl_trace::EventId;

/// The block that an access uses, in words: `*job` where the line has `job->steps`, or where the thread has read the pointer
/// `job` at `pointer`; otherwise by its allocation, as what a container keeps for itself: the line's pointers lead elsewhere.
pub(super) fn used_block(view: &View, used: EventId, pointer: Option<EventId>) -> String {
    let place = view.place(used);
    let read = || pointer.and_then(|row| pointer_variable(view, row));
    let block = || {
        let block = view.run.block(view.event(used).location);
        facts::in_block(block)
    };
    let member = member_of(view, used);
    let through = pointer.filter(|row| {
        let at = view.place(*row);
        (&at.file, at.line) == (&place.file, place.line)
    });
    if let Some(name) = through.and_then(|row| pointer_member(&place.text, member_of(view, row))) {
        return format!("*{name}");
    }
    let is_own = pointer.is_some_and(|row| is_held_by_a_container(view, row));
    let by_text = only_pointer(&place.text, member).filter(|_| !is_own);
    let by_text = by_text.map(str::to_owned);
    by_text
        .or_else(read)
        .map_or_else(block, |name| format!("*{name}"))
}

/// The last member of the location of a row: `mut` of `q->mut`.
fn member_of<'v>(view: &'v View, row: EventId) -> &'v str {
    let location = view.run.location(view.event(row).location);
    location.rsplit(['.', ')']).next().unwrap_or("")
}

/// The pointer that a line reads from a member: `q->mut` of `lock(q->mut)` for `mut`. What it leads to is another block than
/// that of `q`.
fn pointer_member(text: &str, member: &str) -> Option<String> {
    let mut all = arrows(text).into_iter().filter(|(_, name)| *name == member);
    let (operand, name) = all.next()?;
    all.all(|(other, _)| other == operand)
        .then(|| format!("{operand}->{name}"))
}

/// Returns whether a row reads the pointer of a container to what it keeps: the text of a string, the elements of a vector. A
/// pointer that is an element is the program's own.
fn is_held_by_a_container(view: &View, row: EventId) -> bool {
    let location = view.run.location(view.event(row).location);
    !facts::is_in_no_container(location) && !location.ends_with(']')
}

/// The pointer variable that a row reads; none where it is a part of a container.
fn pointer_variable(view: &View, row: EventId) -> Option<String> {
    let is_plain = facts::is_in_no_container(view.run.location(view.event(row).location));
    let name = view.named(row).filter(|_| is_plain)?;
    // One of an array's has no name that says which.
    (facts::is_named(&name) && !name.ends_with(']')).then_some(name)
}

/// The pointer through which a line uses a member: `conn` of `conn->buf->len++` for `buf`. Of another member that of all
/// pointers in the line that they lead to, if that is one: `conn->buf`.
fn only_pointer<'t>(text: &'t str, member: &str) -> Option<&'t str> {
    let all = arrows(text);
    let to_member = all.iter().filter(|(_, name)| *name == member);
    let to_member: Vec<&str> = to_member.map(|(pointer, _)| *pointer).collect();
    let pointers = match to_member.is_empty() {
        true => all.iter().map(|(pointer, _)| *pointer).collect(),
        false => to_member,
    };
    let own = pointers
        .iter()
        .copied()
        .max_by_key(|pointer| pointer.len())?;
    let leads_there = |pointer: &&str| own.starts_with(pointer);
    pointers.iter().all(leads_there).then_some(own)
}

/// The pointers of a line that lead to members, with these: `conn` and `buf` of `conn->buf`.
fn arrows(text: &str) -> Vec<(&str, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let arrows = text.match_indices("->");
    let all = arrows.filter_map(|(at, arrow)| {
        let behind = text.get(at + arrow.len()..)?;
        let end = behind.find(|c| !is_word(c)).unwrap_or(behind.len());
        Some((operand(text.get(..at)?)?, behind.get(..end)?))
    });
    all.collect()
}

/// The name or the path of members at the end of a text.
fn operand(before: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '>';
    let mut start = before.len();
    for (at, c) in before.char_indices().rev() {
        let is_arrow = c == '-' && before.get(at + 1..at + 2) == Some(">");
        if !is_part(c) && !is_arrow {
            break;
        }
        start = at;
    }
    let own = before.get(start..)?.trim_start_matches('>');
    own.starts_with(|c: char| c.is_alphabetic() || c == '_')
        .then_some(own)
}

#[cfg(test)]
mod tests {
    use super::{only_pointer, pointer_member};

    #[test]
    fn a_pointer_in_a_member_leads_to_another_block() {
        let name = |text| pointer_member(text, "target");
        assert_eq!(name("++*t->target;").as_deref(), Some("t->target"));
        assert_eq!(
            name("lock(q->parts->target);").as_deref(),
            Some("q->parts->target")
        );
        assert_eq!(name("t->ticks++;"), None);
        assert_eq!(name("a->target = b->target;"), None);
    }

    #[test]
    fn a_block_is_named_by_the_pointer_to_it() {
        let check = |text, expected| assert_eq!(only_pointer(text, ""), expected, "{text}");
        check("steps_done += job->steps;", Some("job"));
        check("o->on_event(e);", Some("o"));
        check("conn->buf->len++;", Some("conn->buf"));
        check("if (self->used && self->size > 2)", Some("self"));
        check("a->next = b->next;", None);
        check("++words_[w];", None);
        check("x > y->z", Some("y"));
        check("items[i]->n", None);
        assert_eq!(only_pointer("conn->buf->len++;", "buf"), Some("conn"));
        assert_eq!(only_pointer("a->next = b->prev;", "prev"), Some("b"));
    }
}
