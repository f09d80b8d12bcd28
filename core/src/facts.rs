//! Wording of facts that explanations and hovers share: places, threads, variables, values.

mod call;
mod container;
mod map_node;
mod told;

pub(crate) use container::{is_begin, other_bound};
pub(crate) use map_node::element_of_map;
pub use told::{ToldValue, ValueKind, bits_in_words, old_value, value, value_at};

use crate::explanation::Place;
use unsnarl_trace::{
    Event, EventId, EventKind, Location, LocationId, Run, SiteId, SiteRow, ThreadId, Value,
    raw::FREED,
};

/// The place of a site in the source.
pub fn place(run: &Run, site: SiteId) -> Place {
    place_of(run.meta.site(site))
}

/// Place of a row of the table of sites.
pub fn place_of(row: &SiteRow) -> Place {
    Place {
        file: row.file.clone(),
        line: row.line,
        column: row.column,
        function: row.function.clone(),
        text: row.text.clone(),
    }
}

/// The ordinal of a number: `2nd`, `3rd`, `11th`.
pub fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// A list in words: `a`, `a and b`, `a, b and c`.
pub(crate) fn and(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A short form of a place: `bank.c:100`; `an unknown place` when the debug info does not say.
pub fn short(place: &Place) -> String {
    match (basename(&place.file), place.line) {
        ("", _) if place.function.is_empty() => "an unknown place".to_owned(),
        ("", _) => place.function.clone(),
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// The last part of a path.
pub fn basename(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The name of a thread: `main.2`.
pub fn thread_name(run: &Run, thread: ThreadId) -> String {
    let name = &run.meta.thread(thread).name;
    if name.is_empty() {
        format!("thread {}", thread.0)
    } else {
        name.clone()
    }
}

/// A thread with its start routine: `withdraw (main.2)`, or only its name when the start routine is not
/// known.
pub fn thread_in_words(run: &Run, thread: ThreadId) -> String {
    let name = thread_name(run, thread);
    let start = start_routine(&run.meta.thread(thread).start);
    if start.is_empty() || start == name {
        name
    } else {
        format!("{start} ({name})")
    }
}

/// A start routine without arguments, template parameters and namespaces without a name; empty for the glue of `std::thread`.
fn start_routine(start: &str) -> String {
    let start = start.replace("(anonymous namespace)::", "");
    let name = |text: &str| outside(text, ['(', '<'], [')', '>']).trim().to_owned();
    let name = match start.split_once("::operator()") {
        Some((class, _)) => format!("{}::operator()", name(class)),
        None => name(&start),
    };
    let glue = name.is_empty()
        || ["std::", "void std::", "execute_native_thread_routine", "__"]
            .iter()
            .any(|p| name.starts_with(p));
    if glue { String::new() } else { name }
}

/// A function's name without what it and its classes are instantiated with: `Guarded::with` of
/// `Guarded<int>::with<void (*)(int&)>`. Operators keep theirs, which may have such signs in their own names.
pub(crate) fn without_instance(function: &str) -> String {
    match function.contains("operator") {
        true => function.to_owned(),
        false => outside(function, ['<'], ['>']),
    }
}

/// The parts of a text that are in no such brackets.
fn outside<const N: usize>(text: &str, open: [char; N], close: [char; N]) -> String {
    let (mut rest, mut depth) = (String::new(), 0u32);
    for c in text.chars() {
        match c {
            c if open.contains(&c) => depth += 1,
            c if close.contains(&c) => depth = depth.saturating_sub(1),
            c if depth == 0 => rest.push(c),
            _ => {}
        }
    }
    rest
}

/// A location in the source's words: its name, or the block that contains it.
pub fn variable(run: &Run, event: &Event) -> String {
    let location = run.location(event.location);
    // Lines that change a use count name the pointer.
    use_count(location)
        .or_else(|| named(run, event))
        .or_else(|| in_map(run, event.location))
        .unwrap_or_else(|| in_block(without_offset(own_part(location))))
}

/// The name of a member of a map's node by the line that has put it there. Linear in the sites.
fn in_map(run: &Run, location: LocationId) -> Option<String> {
    let Location::Heap {
        allocation, path, ..
    } = run.location_parts(location)
    else {
        return None;
    };
    let (at, _) = allocation.split_once(" by ")?;
    let (file, line) = at.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    let path = without_offset(own_part(path));
    let mut sites = run.meta.sites.iter();
    sites.find_map(|site| {
        let is_there = site.line == line && basename(&site.file) == file;
        is_there.then(|| map_node::put_by(&site.text, path))?
    })
}

/// Name of a location in the source, if it has one. Globals have their own; for heap and stack locations it
/// comes from the text of the line.
pub fn named(run: &Run, event: &Event) -> Option<String> {
    let text = &run.meta.site(event.site).text;
    if let Location::Heap { path: inside, .. } = run.location_parts(event.location) {
        let path = without_offset(own_part(inside));
        let text = &match is_lambda(&run.meta.site(event.site).function) {
            true => text.clone(),
            false => without_lambdas(text),
        };
        let own = || {
            last_field(path)
                .filter(|field| mentions(text, field))
                .map(str::to_owned)
        };
        // A location inside a library object has no name as a member of one of the program's objects.
        let is_inner = own_part(inside) != inside && last_field(path).is_none();
        let fits = |name: &String| !is_inner || name.ends_with(']') || name.starts_with('*');
        return call::object(text, event.kind)
            .or_else(|| expression(text, path, event.kind.writes()).filter(fits))
            .or_else(own)
            .or_else(|| map_node::in_node(text, path, event.kind.writes()));
    }
    Some(
        own_part(without_offset(without_function(
            run,
            run.variable(event.location),
        )))
        .to_owned(),
    )
}

/// Returns whether this is the function of a lambda.
pub(crate) fn is_lambda(function: &str) -> bool {
    function.contains("lambda") || function.contains("operator()")
}

/// A line without the bodies of its lambdas, whose accesses are in functions of their own.
fn without_lambdas(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let head = before.trim_end();
        let head = head.rsplit_once('(').filter(|_| head.ends_with(')'));
        let head = head.map_or(before, |(head, _)| head).trim_end();
        left.push_str(before);
        left.push('{');
        rest = match head.ends_with(']') {
            true => behind.split_once('}').map_or("", |(_, behind)| behind),
            false => behind,
        };
    }
    left + rest
}

/// A name without an offset that the debug info does not name: `std::cout` of `std::cout+32`.
fn without_offset(name: &str) -> &str {
    match name.rsplit_once('+') {
        Some((own, offset))
            if !own.is_empty()
                && !offset.is_empty()
                && offset.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            own
        }
        _ => name,
    }
}

/// Note on bit-fields that share a location, as `flags.up|dirty` does: a person who writes one does not see
/// that the others are written too.
pub fn shared_word(name: &str) -> Option<String> {
    let last = name.rsplit(['.', '>']).next()?;
    let names: Vec<&str> = last.split('|').collect();
    let (last, others) = names.split_last().filter(|(_, rest)| !rest.is_empty())?;
    Some(format!(
        "`{}` and `{last}` are bit-fields of one word of memory: a write of one writes the others back.",
        others.join("`, `")
    ))
}

/// The part of a name that the program's own source uses: the C++ library's internal members (`_M_start`) are
/// cut off.
pub fn own_part(name: &str) -> &str {
    let inside = ["._M_", "->_M_"]
        .iter()
        .filter_map(|mark| name.find(mark))
        .min();
    match inside.and_then(|end| name.get(..end)) {
        Some(own) if !own.is_empty() => own,
        _ => name,
    }
}

/// Returns whether a location is no part of a container of the C++ library: one of the program's own variables, or what its
/// smart pointers hold.
pub fn is_in_no_container(name: &str) -> bool {
    const SMART: [&str; 2] = ["_M_head_impl", "_M_ptr"];
    own_part(name) == name || SMART.iter().any(|end| name.ends_with(end))
}

/// Returns whether a location is a count of owners that the smart pointers of the C++ library keep for themselves.
pub fn is_use_count(name: &str) -> bool {
    count_of_owners(name).is_some()
}

/// Words for the count of owners that a smart pointer keeps in this location.
fn count_of_owners(name: &str) -> Option<&'static str> {
    match name.rsplit('.').next()? {
        "_M_use_count" => Some("the use count"),
        "_M_weak_count" => Some("the weak count"),
        _ => None,
    }
}

/// A count of owners with the block that it counts for: `the use count of the heap block from bank.cc:22`.
fn use_count(location: &str) -> Option<String> {
    let count = count_of_owners(location)?;
    Some(format!("{count} of {}", in_block(own_part(location))))
}

/// Returns whether a location is a letter of a `std::string`: its value says nothing of the text.
pub fn is_letter(name: &str) -> bool {
    ["._M_local_buf[", "->_M_local_buf["]
        .iter()
        .any(|letters| name.contains(letters))
}

/// The quantity that an internal member of a type of the C++ library holds: of such a member's name [`own_part`] leaves only
/// the variable.
pub fn measure(name: &str) -> Option<&'static str> {
    match name.rsplit(['.', '>']).next()? {
        "_M_string_length" => Some("length"),
        "_M_node_count" | "_M_element_count" | "_M_size" => Some("size"),
        "_M_engaged" => Some("has_value"),
        "_M_index" => Some("alternative"),
        _ => container::tells_size(name).then_some("size"),
    }
}

/// Returns whether the text names the variable or one that contains it. `log.text[3]` is mentioned by
/// `log.text`, not by `log` alone.
pub fn mentions(text: &str, name: &str) -> bool {
    let whole = name.split('[').next().unwrap_or(name);
    let mut at = 0;
    while let Some(found) = text
        .get(at..)
        .and_then(|rest| rest.find(whole))
        .filter(|_| !whole.is_empty())
    {
        let (start, end) = (at + found, at + found + whole.len());
        let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '>';
        let before = text
            .get(..start)
            .and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        if !before.is_some_and(joins) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return true;
        }
        at = end;
    }
    false
}

/// Returns whether a line sets a local variable that another line mentions. `int chunk = chunks[head];`
/// carries the value read to `assert(chunk != 0);`.
pub fn carries(from: &str, to: &str) -> bool {
    set_local(from).is_some_and(|name| from != to && mentions(to, name))
}

/// Returns whether a line sets a local variable.
pub fn sets_local(text: &str) -> bool {
    set_local(text).is_some()
}

/// The local variable that a line sets: `chunk` of `int chunk = chunks[head];`, `total` of `total += n;`;
/// none where a field or an element is set.
fn set_local(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let is_assignment = |&at: &usize| {
        let around = |i: Option<usize>| i.and_then(|i| bytes.get(i)).copied();
        around(Some(at)) == Some(b'=')
            && around(Some(at + 1)) != Some(b'=')
            && !matches!(around(at.checked_sub(1)), Some(b'=' | b'!' | b'<' | b'>'))
    };
    let at = (0..bytes.len()).find(is_assignment)?;
    let left = text
        .get(..at)?
        .trim_end_matches(['+', '-', '*', '/', '%', '&', '|', '^']);
    let left = left.trim_end();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = left.rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
    let before = left.get(..start)?.trim_end();
    let name = left.get(start..).filter(|name| !name.is_empty())?;
    let is_member = before.ends_with('.') || before.ends_with("->");
    (!is_member && !before.contains('(')).then_some(name)
}

/// A static variable of a function without the function's name.
pub fn without_function<'n>(run: &Run, name: &'n str) -> &'n str {
    match name.split_once("::") {
        Some((function, variable))
            if run.meta.sites.iter().any(|site| site.function == function) =>
        {
            variable
        }
        _ => name,
    }
}

/// A location without the parts that distinguish elements of an array, and blocks that one thread allocates at one place:
/// `accounts[].lock` of `accounts[2].lock`. That of a family is the family itself.
pub fn family(location: &str) -> String {
    // Most locations are plain names, and all of a run's are asked for.
    if !location.contains('[') && !location.contains('#') {
        return location.to_owned();
    }
    let mut family = String::new();
    let mut rest = location;
    while let Some((before, part)) = rest
        .find(['[', '#'])
        .and_then(|at| rest.split_at_checked(at))
    {
        family.push_str(before);
        if part.starts_with('[') {
            family.push('[');
        }
        rest = part
            .find([']', ')', '.'])
            .and_then(|end| part.get(end..))
            .unwrap_or("");
    }
    family + rest
}

/// A location's [`family`], whichever thread has allocated its block: `heap(a.c:3).next` of `heap(a.c:3 by main.2 #1).next`.
/// Threads that run the same code may change places.
pub fn kin(location: &str) -> String {
    family(&Location::by_any_thread(location))
}

/// Returns whether these are different elements of one array, or parts of such elements, as `ring[2].kind`
/// and `ring[3].value` are.
pub fn are_elements(one: &str, other: &str) -> bool {
    fn index(part: &str) -> (&str, &str) {
        part.split_once(']').unwrap_or((part, ""))
    }
    let mut parts = one.split('[').zip(other.split('['));
    if parts.next().is_none_or(|(one, other)| one != other) {
        return false;
    }
    for (one, other) in parts {
        let ((first, path), (second, other_path)) = (index(one), index(other));
        if first != second {
            return true;
        }
        if path != other_path {
            return false;
        }
    }
    false
}

/// Returns whether a name is meaningful to people. Memory of the library's own functions, of sections and of
/// frames without a variable has no such name.
pub fn is_named(location: &str) -> bool {
    let inner = Location::variable(location);
    // C leaves such names to its library.
    let is_reserved = |name: &str| {
        let rest = name.strip_prefix('_').unwrap_or("");
        rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase())
    };
    let is_internal = |name: &str| {
        let starts = ["std::", "stack-", "memory(", "vtable", "{"];
        is_reserved(name) || starts.iter().any(|start| name.starts_with(start))
    };
    let own = location.split_once(':').map_or(location, |(_, rest)| rest);
    !location.is_empty() && !location.starts_with('.') && !is_internal(inner) && !is_internal(own)
}

/// A location in words, without a line whose text names it.
pub fn location_in_words(location: &str) -> String {
    let variable = Location::variable(location);
    use_count(variable).unwrap_or_else(|| in_block(own_part(without_offset(variable))))
}

/// Words for a location on the heap that no text names: `used of the heap block from bank.c:22`. Other names stay.
pub fn in_block(location: &str) -> String {
    Location::in_words(location)
}

/// The expression on a line that may name a heap location: `c->workers`, `items[i]`, `*p`.
///
/// `path` is the known path in the block, as `.workers` or `.items[2]`; an expression with the same last
/// field is preferred, and one with another is refused. A write is the expression left of an assignment or
/// beside `++` and `--`; a read is the only candidate, or the last one.
pub fn expression(text: &str, path: &str, writes: bool) -> Option<String> {
    let mut candidates = candidates(text);
    if let Some(field) = last_field(path) {
        candidates.retain(|(expression, _)| last_field(expression) == Some(field));
    } else if path.ends_with(']') {
        // An element of an array is none of the members that stand beside it, but may be one of an array that is handed on.
        candidates.retain(|(expression, end)| {
            let is_element = expression.ends_with([']', ')']) || expression.starts_with('*');
            is_element || is_argument(text, (end.saturating_sub(expression.len()), *end))
        });
    }
    let mut read = candidates.iter().filter(|c| !is_only_assigned(text, c.1));
    let first = read.next();
    let is_one = read.all(|(expression, _)| first.is_some_and(|first| first.0 == *expression));
    // Nothing tells which of several is read.
    if !writes && !is_one && (path.is_empty() || path.starts_with('+')) {
        return None;
    }
    let chosen = if writes {
        candidates
            .iter()
            .find(|c| is_assigned(text, c.1))
            .or_else(|| candidates.first())
    } else {
        candidates
            .iter()
            .find(|c| !is_only_assigned(text, c.1))
            .or_else(|| candidates.last().filter(|_| last_field(path).is_some()))
    };
    chosen.map(|(expression, _)| expression.clone())
}

/// The last field of an expression: `workers` of `config->workers`, `.workers`, `list.workers[2]` or `[2].workers`; none
/// of `items[i]` and `+8`.
fn last_field(expression: &str) -> Option<&str> {
    let mut whole = expression;
    while let Some(indexed) = whole.strip_suffix(']') {
        whole = indexed.get(..opening(indexed)?)?;
    }
    let at = whole.rfind(['.', '>'])?;
    whole.get(at + 1..).filter(|field| !field.is_empty())
}

/// Start of the index that the text ends in, without its closing bracket: that of `i` in `items[i`.
fn opening(indexed: &str) -> Option<usize> {
    let mut depth = 0u32;
    let found = indexed.char_indices().rev().find(|(_, c)| match c {
        ']' => {
            depth += 1;
            false
        }
        '[' if depth > 0 => {
            depth -= 1;
            false
        }
        c => *c == '[',
    });
    found.map(|(at, _)| at)
}

/// Expressions with `->`, `.`, `[]`, and their end positions.
fn candidates(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find(is_word_start))
        .map(|i| at + i)
    {
        let end = expression_end(text, start);
        let expression = text.get(start..end).unwrap_or("");
        let rest = text.get(end..).unwrap_or("");
        let is_call = rest.starts_with('(');
        if let Some(length) =
            closing(rest, ['(', ')']).filter(|_| is_call && is_element(expression))
        {
            let end = end + length;
            found.push((text.get(start..end).unwrap_or("").to_owned(), end));
        } else if expression.contains("->") || expression.contains('.') || expression.contains('[')
        {
            if !is_call {
                found.push((expression.trim().to_owned(), end));
            }
        } else if !is_call && text.get(..start).is_some_and(is_dereferenced) {
            found.push((format!("*{expression}"), end));
        }
        at = end.max(start + 1);
    }
    found
}

/// Returns whether an expression, from its start to its end, is all of an argument.
fn is_argument(text: &str, (start, end): (usize, usize)) -> bool {
    let before = text.get(..start).unwrap_or("").trim_end();
    let after = text.get(end..).unwrap_or("").trim_start();
    before.ends_with(['(', ',']) && after.starts_with([')', ','])
}

/// Returns whether a member function returns an element of its container, as `values.at` does.
fn is_element(function: &str) -> bool {
    const ELEMENTS: [&str; 3] = ["at", "front", "back"];
    let member = function.rsplit_once(['.', '>']);
    member.is_some_and(|(_, member)| ELEMENTS.contains(&member))
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Returns whether a `*` right before a word is a dereference: it does not follow another operand.
fn is_dereferenced(before: &str) -> bool {
    let Some(before) = before.strip_suffix('*') else {
        return false;
    };
    let last = before.trim_end().chars().next_back();
    last.is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ')' || c == ']' || c == '*'))
}

/// End of the expression that begins at `start`: words joined by `->`, `.`, `::`, and brackets.
fn expression_end(text: &str, start: usize) -> usize {
    let word_end = |from: usize| {
        let rest = text.get(from..).unwrap_or("");
        from + rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len())
    };
    let mut end = word_end(start);
    loop {
        let rest = text.get(end..).unwrap_or("");
        let joined = ["->", "::", "."]
            .iter()
            .find(|join| rest.starts_with(**join))
            .map_or(0, |join| join.len());
        let next = text
            .get(end + joined..)
            .and_then(|rest| rest.chars().next());
        if joined > 0 && next.is_some_and(is_word_start) {
            end = word_end(end + joined);
        } else if rest.starts_with('[') {
            match closing(rest, ['[', ']']) {
                Some(length) => end += length,
                None => return end,
            }
        } else {
            return end;
        }
    }
}

/// Length of a bracketed text with its brackets.
fn closing(text: &str, [open, close]: [char; 2]) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        if depth == 0 {
            return Some(i + 1);
        }
    }
    None
}

fn is_assigned(text: &str, end: usize) -> bool {
    let after = text.get(end..).unwrap_or("").trim_start();
    let compound = [
        "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>=", "++", "--",
    ];
    is_plain_assignment(after) || compound.iter().any(|operator| after.starts_with(operator))
}

fn is_only_assigned(text: &str, end: usize) -> bool {
    is_plain_assignment(text.get(end..).unwrap_or("").trim_start())
}

fn is_plain_assignment(after: &str) -> bool {
    after.starts_with('=') && !after.starts_with("==")
}

/// Returns whether a line assigns to a variable or member of this name, and does not read it for that: `current_ = next;`.
pub fn assigns_to(text: &str, name: &str) -> bool {
    let last = name.rsplit(['.', '>']).next().unwrap_or(name);
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |start: &usize| {
        let (before, from) = text.split_at_checked(*start).unwrap_or((text, ""));
        let behind = from.get(last.len()..).unwrap_or("");
        !before.ends_with(is_of_word) && !behind.starts_with(is_of_word)
    };
    let found = text.match_indices(last).map(|(start, _)| start);
    let mut found = found.filter(is_whole);
    let is_set = found
        .next()
        .is_some_and(|start| is_only_assigned(text, start + last.len()));
    is_set && found.next().is_none()
}

/// Returns whether this location is a pointer, as far as its values in this run show.
pub fn holds_pointers(run: &Run, rows: &[EventId]) -> bool {
    let is_address =
        |row: &EventId| matches!(run.events.event(*row).value, Some(Value::Address(_)));
    rows.iter().take(1000).any(is_address)
}

/// Returns whether a line sets something to a constant, as `ready = true;`, `state.store(State::closed);` and
/// `c->state = CLOSED;` do.
pub fn sets_constant(text: &str) -> bool {
    let assigned = || text.rsplit_once(" = ").map(|(_, value)| value);
    let stored = text.split_once(".store(").map(|(_, value)| value);
    let by_function = || text.split_once("atomic_store")?.1.split_once(',');
    let value = stored.or_else(|| by_function().map(|(_, value)| value));
    value.or_else(assigned).is_some_and(|value| {
        let ends = [',', ')', ';'];
        let value = value.split(ends).next().unwrap_or("");
        is_constant(value.trim())
    })
}

/// Returns whether an expression is a number, a literal, or a name as constants have it.
fn is_constant(value: &str) -> bool {
    let is_word = |part: &str| {
        let mut letters = part.bytes();
        !part.is_empty() && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_number = is_word(value) && value.starts_with(|first: char| first.is_ascii_digit());
    let is_capital = is_word(value) && !value.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_enumerator = value.contains("::") && value.split("::").all(is_word);
    is_number || is_capital || is_enumerator || matches!(value, "true" | "false" | "nullptr" | "-1")
}

/// Returns whether the line compares with or assigns a null pointer.
pub fn mentions_null(text: &str) -> bool {
    text.contains("NULL") || text.contains("nullptr")
}

/// Returns whether a value consists of the bytes that the runtime fills freed memory with.
pub fn is_left_by_free(value: Option<Value>, size: u32) -> bool {
    let Some(Value::Bits(bits)) = value else {
        return false;
    };
    let bytes = bits.to_le_bytes();
    let read = bytes.get(..size as usize).unwrap_or(&bytes);
    !read.is_empty() && read.iter().all(|byte| *byte == FREED)
}

/// Returns whether this event is an access to the location.
pub fn accesses(event: &Event, location: LocationId) -> bool {
    event.location == location && event.kind.is_access()
}

/// Verb for the action of an event: `reads`, `writes`, `updates`, `locks`.
pub fn verb(kind: EventKind) -> &'static str {
    use EventKind::*;
    match kind {
        Read | AtomicRead => "reads",
        Write | AtomicWrite => "writes",
        Rmw => "updates",
        Lock | SharedLock => "locks",
        Unlock | SharedUnlock => "unlocks",
        LockWait => "waits for",
        Wait => "waits for",
        Signal => "signals",
        Broadcast => "wakes all of",
        Alloc => "allocates",
        Free => "frees",
        Join => "joins",
        Fork => "creates",
        TryLockFailed => "cannot lock",
        SemPost => "posts",
        Failure => "fails",
        _ => "passes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_of_one_word_are_named() {
        let said = shared_word("link->flags.up|dirty|retries");
        let names = "`up`, `dirty` and `retries` are bit-fields of one word of memory";
        assert!(said.is_some_and(|said| said.starts_with(names)));
        assert_eq!(shared_word("link.flags"), None);
        assert_eq!(shared_word("first.a/b"), None);
    }

    #[test]
    fn families_of_families() {
        let check = |location, expected| {
            assert_eq!(family(location), expected);
            assert_eq!(family(expected), expected);
        };
        check("accounts[2].lock", "accounts[].lock");
        check("heap(a.c:4 by main #1).lock", "heap(a.c:4 by main ).lock");
        check(
            "heap(a.c:4 by main.2 #3)[1].lock",
            "heap(a.c:4 by main.2 )[].lock",
        );
    }

    #[test]
    fn lines_that_carry_values() {
        let check = |from, to| carries(from, to);
        assert!(check(
            "int chunk = chunks[head % SLOTS];",
            "assert(chunk != 0);"
        ));
        assert!(check("total += item->size;", "if (total > most)"));
        assert!(!check("if (chunk == chunks[0])", "assert(chunk != 0);"));
        assert!(!check("item->size = size;", "assert(size != 0);"));
        assert!(!check("slots[i] = size;", "use(i);"));
        assert!(!check("for (int i = 0; i < n; i++)", "use(i);"));
        assert!(!check("int chunk = chunks[0];", "use(chunks[1]);"));
    }

    #[test]
    fn expressions_of_lines() {
        let check = |text, writes, expected| {
            assert_eq!(expression(text, "", writes).as_deref(), expected, "{text}");
        };
        check("int found = queue->filled;", false, Some("queue->filled"));
        check("total += table->cells[i];", false, Some("table->cells[i]"));
        check("c->workers = 4;", true, Some("c->workers"));
        check("job->next = ring->head;", true, Some("job->next"));
        check("job->next = ring->head;", false, Some("ring->head"));
        check("ring->tail->next = NULL;", true, Some("ring->tail->next"));
        check("(*count)++;", true, Some("*count"));
        check("log->used += length[i];", true, Some("log->used"));
        assert_eq!(
            expression("a->x = b->y;", ".y", false).as_deref(),
            Some("b->y")
        );
        let line = "if (!letter.sent) sum += letter.weight;";
        let weight = expression(line, "[0].weight", false);
        assert_eq!(weight.as_deref(), Some("letter.weight"));
        let of_array = expression("use(jobs[at[0]].state);", "[2].state", false);
        assert_eq!(of_array.as_deref(), Some("jobs[at[0]].state"));
        assert_eq!(expression("list.push_back(v);", ".size", true), None);
        let element = |text, writes| expression(text, "[2]", writes);
        let moves = element("stock.at(to) += 5;", true);
        assert_eq!(moves.as_deref(), Some("stock.at(to)"));
        let sums = "report.sum = std::accumulate(stock.begin(), stock.end(), 0);";
        assert_eq!(element(sums, false), None);
        assert_eq!(expression(sums, "", false), None);
        let copies = element("memcpy(item->name, from, size);", true);
        assert_eq!(copies.as_deref(), Some("item->name"));
        let last = element("report.last = shelf->items.back();", false);
        assert_eq!(last.as_deref(), Some("shelf->items.back()"));
        check("return x * y;", false, None);
        check("f(a);", false, None);
        check("list.size() == 3", false, None);
    }

    #[test]
    fn elements_of_arrays() {
        assert!(are_elements("ring[2].kind", "ring[3].value"));
        assert!(are_elements("grid[1][2]", "grid[1][3]"));
        assert!(are_elements(
            "heap(a.c:3 by main #0)[1]",
            "heap(a.c:3 by main #0)[2]"
        ));
        assert!(!are_elements("ring[2].kind", "ring[2].value"));
        assert!(!are_elements("queue.head", "queue.names[3]"));
        assert!(!are_elements("heads[2]", "tails[3]"));
    }

    #[test]
    fn what_freeing_leaves_is_known_by_its_bytes() {
        let is_left = |bits, size| is_left_by_free(Some(Value::Bits(bits)), size);
        assert!(is_left(0xdbdb_dbdb, 4) && is_left(0xdb, 1));
        assert!(is_left(u64::from_le_bytes([0xdb; 8]), 8));
        assert!(!is_left(0xdb, 4) && !is_left(0, 0) && !is_left_by_free(None, 4));
    }

    #[test]
    fn names_in_texts() {
        assert!(mentions("assert(strstr(log.text, needle));", "log.text[3]"));
        assert!(mentions("if (total != 3)", "total"));
        assert!(!mentions("if (subtotal != 3)", "total"));
        assert!(!mentions("assert(log.text)", "log.used"));
        assert!(!mentions("", "x") && !mentions("x", ""));
    }

    #[test]
    fn constants_that_lines_set() {
        assert!(sets_constant("ready = true;") && sets_constant("slot->used = 1;"));
        assert!(!sets_constant("seats = left - 1;") && !sets_constant("count++;"));
        assert!(!sets_constant("if (ready == 1)"));
        assert!(sets_constant("open_.store(false);") && sets_constant("c->state = CONN_CLOSED;"));
        assert!(sets_constant("state_ = State::closed;") && sets_constant("p = NULL;"));
        assert!(sets_constant(
            "atomic_store_explicit(&s->on, 0, memory_order_release);"
        ));
        assert!(!sets_constant("n.store(seen + 1);") && !sets_constant("n = next(A);"));
    }

    #[test]
    fn variables_have_the_names_of_the_source() {
        let named = |line: &str| {
            let run = crate::fixture::run(line);
            let event = run.events.get(EventId(0)).unwrap();
            variable(&run, &event)
        };
        assert_eq!(named("main W std::cout+32 =1 @3"), "std::cout");
        let letters = "`heap(main.cc:81 by main #0).letters_._M_impl._M_start`";
        let line = format!("main W {letters} =1 @3 f \"letters_.push_back(c);\"");
        assert_eq!(named(&line), "letters_");
        let lock = "main lock `heap(q.c:8 by main #0)+40` @3 f \"pthread_mutex_lock(m);\"";
        assert_eq!(named(lock), "m");
        let of_class = location_in_words("heap(main.cc:81).lock");
        assert_eq!(of_class, "lock of the heap block from main.cc:81");
        let count = "heap(main.cc:81 by main #0)._M_use_count";
        let copied = format!("main rmw `{count}` 1->2 @3 f \"*last = owner;\"");
        let words = "the use count of the heap block from main.cc:81";
        assert_eq!(named(&copied), words);
        assert_eq!(location_in_words(count), words);
    }

    #[test]
    fn an_assignment_reads_what_it_sets_only_where_its_value_has_it() {
        assert!(assigns_to("current_ = std::move(next);", "config.current_"));
        assert!(assigns_to("s->head = n;", "s->head"));
        assert!(!assigns_to("n = n + 1;", "n"));
        assert!(!assigns_to("if (n == 1)", "n"));
        assert!(!assigns_to("copy(current_);", "current_"));
        assert!(!assigns_to("old_current_ = load();", "current_"));
    }

    #[test]
    fn a_start_routine_is_named_without_its_arguments() {
        assert_eq!(start_routine("pool::work<int>(void*)"), "pool::work");
        assert_eq!(
            start_routine("Handler::operator()(int) const"),
            "Handler::operator()"
        );
        assert_eq!(start_routine("void std::__invoke_impl<void>(int)"), "");
    }

    #[test]
    fn what_lambdas_name_is_theirs() {
        let line = "list.erase(remove_if(list.begin(), list.end(), [id](auto &l) { return l->id == id; }));";
        let named = |location: &str, function: &str| {
            let text = format!("main W `{location}` =1 @3 {function} \"{line}\"");
            let run = crate::fixture::run(&text);
            variable(&run, &run.events.get(EventId(0)).unwrap())
        };
        let block = "heap(a.cc:22 by main #2)";
        assert_eq!(named(block, "remove::lambda"), "l->id");
        assert_eq!(named(block, "remove"), "the heap block from a.cc:22");
        let function = "Guarded<int>::with<void (*)(int&)>";
        assert_eq!(without_instance(function), "Guarded::with");
        assert_eq!(without_instance("Less::operator<"), "Less::operator<");
        assert!(is_letter("heap(a.cc:43 by main #0).second._M_local_buf[1]"));
        assert!(!is_letter("heap(a.cc:43 by main #0).letters[1]"));
        assert!(is_use_count("heap(a.cc:43 by main #0)._M_use_count"));
        assert!(!is_use_count("heap(a.cc:43 by main #0).use_count"));
        let inside = format!("{block}[1]._M_ptr");
        assert_eq!(
            named(&inside, "remove::lambda"),
            "the heap block from a.cc:22"
        );
        assert_eq!(
            without_lambdas("if (x) { a->b = 1; }"),
            "if (x) { a->b = 1; }"
        );
    }
}
