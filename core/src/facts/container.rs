//! Sizes of the containers of the C++ library, from the pointers that they keep of their elements.
//!
//! A thread that asks a vector whether it is empty reads where its elements begin and end. Where they are tells nobody
//! anything, but that both are at one place says that there are none.

use super::told::{ToldValue, ValueKind, bits_in_words};
use unsnarl_trace::{Encoding, Event, EventId, LocationId, Run, Value};

/// The text between a node and a member of it.
const MEMBER: &str = "._M_";

/// The member by which a deque knows an end: its elements lie in several blocks.
const DEQUE: &str = "_M_cur";

/// Ends of the names of two members that are equal where a container is empty: of a vector, and of a deque.
const BOUNDS: [(&str, &str); 2] = [
    ("_M_start._M_cur", "_M_finish._M_cur"),
    ("_M_start", "_M_finish"),
];

/// Members of the node in front of the elements, which point at that node itself where there is no element: of a list, and of
/// a map.
const RINGS: [&str; 4] = [
    "_M_node._M_next",
    "_M_node._M_prev",
    "_M_header._M_left",
    "_M_header._M_right",
];

/// Members that point at the first element, if there is one: of a map, and of a hash table.
const FIRST: [&str; 2] = ["_M_header._M_parent", "_M_before_begin._M_nxt"];

/// Members that are pointers of a container, to elements or to where they are kept: what they hold says nothing but how many
/// elements there are, if that.
const LINKS: [&str; 17] = [
    "_M_start",
    "_M_finish",
    "_M_end_of_storage",
    "_M_cur",
    "_M_first",
    "_M_last",
    "_M_node",
    "_M_map",
    "_M_next",
    "_M_prev",
    "_M_nxt",
    "_M_parent",
    "_M_left",
    "_M_right",
    "_M_buckets",
    "_M_single_bucket",
    "_M_p",
];

/// The member in which a `std::variant` keeps the value of one of its alternatives: a location there has the name of the one
/// that fits best, whichever it is.
const UNION: &str = "._M_u.";

/// Returns whether an event is about such a pointer.
pub(super) fn is_link(run: &Run, event: &Event) -> bool {
    is_named_link(run.location(event.location)) && of_variant(run, event).is_none()
}

fn is_named_link(name: &str) -> bool {
    let member = name.rsplit(['.', '>']).next();
    member.is_some_and(|member| LINKS.contains(&member))
}

/// The value of an alternative that is no pointer, where an event is about one and the location has the name of a pointer: `7`
/// for an `int` in the place of a string.
pub(super) fn of_variant(run: &Run, event: &Event) -> Option<ToldValue> {
    const POINTER: u32 = 8;
    let bits = match event.value? {
        Value::Bits(bits) => bits,
        Value::Address(_) => return None,
    };
    let name = run.location(event.location);
    let is_pointer =
        is_named_link(name) || run.meta.encoding(event.location) == Some(&Encoding::Pointer);
    let is_number = name.contains(UNION) && is_pointer && (event.size < POINTER || bits != 0);
    bits_in_words(bits, event.size).filter(|_| is_number)
}

/// Returns whether the member of a container says by a pointer how many elements there are.
pub(super) fn tells_size(name: &str) -> bool {
    bounds(name).is_some()
        || RINGS
            .iter()
            .chain(&FIRST)
            .any(|member| name.ends_with(member))
}

/// The number of elements that a container has by a row's access to one of its pointers: `0`, `3`, `1 or more`. `None` where
/// the member says nothing of it, or it is not known. Linear in the rows before.
pub(super) fn size(run: &Run, row: EventId) -> Option<ToldValue> {
    let event = run.events.event(row);
    let name = run.location(event.location);
    let is_empty = match bounds(name) {
        Some((_, is_begin)) => {
            let other = value_of(run, row, other_bound(run, event.location)?)?;
            let (begin, end) = match is_begin {
                true => (event.value?, other),
                false => (other, event.value?),
            };
            if let Some(number) = between(run, begin, end) {
                return Some(told(&number.to_string()));
            }
            // While a container is filled anew or emptied, one of the two lies elsewhere for a moment.
            let is_settled = begin == end || is_in_one_block(run, begin, end);
            let is_of_deque = name.ends_with(DEQUE) && !event.kind.writes();
            (is_settled || is_of_deque).then_some(begin == end)?
        }
        None => is_without_first(run, &event)?,
    };
    Some(told(if is_empty { "0" } else { "1 or more" }))
}

fn told(text: &str) -> ToldValue {
    ToldValue::new(text, ValueKind::Number)
}

/// The name of the other one of two members, and whether this one is the begin.
fn bounds(name: &str) -> Option<(String, bool)> {
    BOUNDS.iter().find_map(|(begin, end)| {
        let other = |own: &str, other: &str| {
            let container = name.strip_suffix(own)?;
            Some(format!("{container}{other}"))
        };
        let is_begin = other(begin, end).map(|name| (name, true));
        is_begin.or_else(|| Some((other(end, begin)?, false)))
    })
}

/// The location by which, together with this one, a container says how many elements it has, if it takes two.
pub fn other_bound(run: &Run, location: LocationId) -> Option<LocationId> {
    let (other, _) = bounds(run.location(location))?;
    sibling(run, location, &other)
}

/// Returns whether a location is where the elements of a container begin: unlike their end that stays as it is when there are
/// more of them.
pub fn is_begin(name: &str) -> bool {
    bounds(name).is_some_and(|(_, is_begin)| is_begin)
}

/// The location of this name: members of one object are found one after the other, so that it is not far as a rule.
fn sibling(run: &Run, own: LocationId, name: &str) -> Option<LocationId> {
    let id = |id: usize| u32::try_from(id).ok().map(LocationId);
    let is_it = |at: &usize| id(*at).is_some_and(|id| run.location(id) == name);
    let (own, all) = (own.0 as usize, run.locations.len());
    let near = (1..all.max(1)).flat_map(|by| [own.checked_sub(by), own.checked_add(by)]);
    let mut near = near.flatten().filter(|at| *at < all);
    id(near.find(is_it)?)
}

/// The value of a member when a row was executed: that of the last access before it.
fn value_of(run: &Run, row: EventId, location: LocationId) -> Option<Value> {
    let before = run.events.locations().get(..row.0 as usize)?;
    let last = before.iter().rposition(|other| *other == location.0)?;
    run.events.get(EventId(u32::try_from(last).ok()?))?.value
}

fn is_in_one_block(run: &Run, begin: Value, end: Value) -> bool {
    let block = |of: Value| match of {
        Value::Address(place) => Some(run.block(place)),
        Value::Bits(_) => None,
    };
    block(begin).is_some() && block(begin) == block(end)
}

/// The number of elements from one place to another of one block, where both are elements of it.
fn between(run: &Run, begin: Value, end: Value) -> Option<u64> {
    let (Value::Address(begin), Value::Address(end)) = (begin, end) else {
        return None;
    };
    let (block, first) = element(run.location(begin))?;
    let (other, last) = element(run.location(end))?;
    (block == other).then(|| last.checked_sub(first))?
}

/// A block and the number of an element of it.
fn element(name: &str) -> Option<(&str, u64)> {
    let (block, number) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((block, number.parse().ok()?))
}

/// Does a container have no first element? `None` where the member does not say.
fn is_without_first(run: &Run, event: &Event) -> Option<bool> {
    let name = run.location(event.location);
    let (node, _) = name.rsplit_once(MEMBER)?;
    let is_ring = RINGS.iter().any(|member| name.ends_with(member));
    let is_first = FIRST.iter().any(|member| name.ends_with(member));
    match event.value? {
        Value::Bits(0) if is_first => Some(true),
        Value::Address(_) if is_first => Some(false),
        Value::Address(to) if is_ring => Some(is_same_or_part(node, run.location(to))),
        _ => None,
    }
}

/// Returns whether one of two names is the other one or a part of it: the address of a node may be named by its first member,
/// or by what the node stands first in.
fn is_same_or_part(one: &str, other: &str) -> bool {
    let is_part = |part: &str, whole: &str| {
        let rest = part.strip_prefix(whole);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    is_part(one, other) || is_part(other, one)
}

#[cfg(test)]
mod tests {
    use crate::{facts::value_at, fixture};
    use unsnarl_trace::EventId;

    /// The value that the last of some accesses is told by.
    fn told(lines: &str) -> String {
        let run = fixture::run(lines);
        let row = EventId(run.events.len() as u32 - 1);
        value_at(&run, row, true).map_or("-".to_owned(), |value| value.text)
    }

    #[test]
    fn vectors_and_deques_tell_their_size() {
        let begin = "main W jobs._M_start =&`heap(a.cc:3 by main #0)[2]` @5\n";
        let end = |to: &str| told(&format!("{begin}main.1 R jobs._M_finish =&`{to}` @9"));
        assert_eq!(end("heap(a.cc:3 by main #0)[2]"), "size 0");
        assert_eq!(end("heap(a.cc:3 by main #0)[5]"), "size 3");
        assert_eq!(end("heap(a.cc:3 by main #0)+96"), "size 1 or more");
        // It is moved from: its end is set to nothing next.
        let moved =
            "main W jobs._M_finish =&`heap(a.cc:3 by main #0)[2]` @4\nmain W jobs._M_start =0 @5";
        assert_eq!(told(moved), "-");
        let none = "main W jobs._M_finish =0 @4\nmain.1 R jobs._M_start =0 @9";
        assert_eq!(told(none), "size 0");
        let ends = "main W jobs._M_finish._M_cur =&`heap(a.cc:3 by main #0)[1]` @4\n\
            main.1 R jobs._M_start._M_cur =&`heap(a.cc:3 by main #0)[0]` @9";
        assert_eq!(told(ends), "size 1");
    }

    #[test]
    fn what_other_members_hold_is_not_told() {
        let only = "main R jobs._M_finish =&`heap(a.cc:3 by main #0)` @5";
        assert_eq!(told(only), "-");
        let room = "main R jobs._M_end_of_storage =&`heap(a.cc:3 by main #0)` @5";
        assert_eq!(told(room), "-");
        // What a smart pointer holds is what the program asks it for.
        let owned = "main R owner._M_head_impl =&`heap(a.cc:3 by main #0)` @5";
        assert_eq!(told(owned), "a block from a.cc:3");
        let element = "main R `heap(l.cc:9 by main #0)._M_storage` =&`heap(a.cc:3 by main #0)` @5";
        assert_eq!(told(element), "a block from a.cc:3");
    }

    /// The names are those of the string that is the largest of the alternatives.
    #[test]
    fn numbers_in_a_variant_are_told() {
        let member = "state._M_u._M_rest._M_first._M_dataplus._M_p";
        let size =
            |bytes: u32, value: &str| told(&format!("main W {member} {value} size={bytes} @5"));
        assert_eq!(size(4, "=7"), "7");
        assert_eq!(size(4, "=0"), "0");
        assert_eq!(size(8, "=7000"), "7000");
        // A string has its place there, or none yet.
        assert_eq!(size(8, "=&`heap(a.cc:3 by main #0)`"), "-");
        assert_eq!(size(8, "=0"), "-");
        assert_eq!(told("main W name._M_dataplus._M_p =7 size=4 @5"), "-");
    }

    #[test]
    fn rings_and_trees_tell_whether_they_are_empty() {
        let list = |to: &str| told(&format!("main R list._M_node._M_next =&`{to}` @5"));
        for own in ["list._M_node._M_next", "list._M_node", "list"] {
            assert_eq!(list(own), "size 0", "{own}");
        }
        assert_eq!(list("list_of_others"), "size 1 or more");
        assert_eq!(list("heap(a.cc:3 by main #0)"), "size 1 or more");
        let map = |to: &str| told(&format!("main R map._M_header._M_left =&`{to}` @5"));
        assert_eq!(map("map._M_header._M_color"), "size 0");
        assert_eq!(told("main R map._M_header._M_parent =0 @5"), "size 0");
        let table = "main R table._M_before_begin._M_nxt =&`heap(a.cc:3 by main #0)` @5";
        assert_eq!(told(table), "size 1 or more");
        assert_eq!(told("main R list._M_node._M_size =2 @5"), "size 2");
    }
}
