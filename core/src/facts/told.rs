//! Values in words.

use super::{basename, container, is_left_by_free, is_named, measure, own_part, without_function};
use serde::{Deserialize, Serialize};
use unsnarl_trace::{
    Encoding, Event, EventId, EventKind, Location, LocationId, Run, SiteId, Value,
};

/// A value as people are told it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ToldValue {
    /// The words: `300`, `-1`, `NULL`, `&table.head`, `a block from list.c:20`.
    pub text: String,
    /// Kind of the value.
    pub kind: ValueKind,
}

/// Kind of a value that people are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// Bits that are told as a number, or as the name that a type has for it.
    Number,
    /// A null pointer.
    Null,
    /// The address of something that the words name.
    Address,
    /// An address of which nothing is known that a person could use.
    Unknown,
    /// The bytes that are left in memory that was freed before.
    Freed,
}

impl ToldValue {
    /// Words of this kind.
    pub fn new(text: impl Into<String>, kind: ValueKind) -> ToldValue {
        ToldValue {
            text: text.into(),
            kind,
        }
    }

    /// The null pointer.
    pub fn null() -> ToldValue {
        ToldValue::new("NULL", ValueKind::Null)
    }

    /// Returns whether the value is the null pointer or an address.
    pub fn is_pointer(&self) -> bool {
        use ValueKind::{Address, Null, Unknown};
        matches!(self.kind, Null | Address | Unknown)
    }

    /// Returns whether the words tell one value from others.
    pub fn is_known(&self) -> bool {
        self.kind != ValueKind::Unknown
    }
}

impl std::fmt::Display for ToldValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The value that an event read or wrote, in words. `pointer` says whether a zero is a null pointer. None when it was not
/// recorded. Where the row is known, [`value_at`] knows more.
pub fn value(run: &Run, event: &Event, pointer: bool) -> Option<ToldValue> {
    if let Some(number) = container::of_variant(run, event) {
        return Some(number);
    }
    match event.value? {
        _ if container::is_link(run, event) => None,
        Value::Bits(0) if pointer => Some(ToldValue::null()),
        Value::Bits(bits) => told_bits(run, event, bits),
        Value::Address(place) => Some(address(run, place, event.site)),
    }
}

/// The value of a row as [`value`] gives it, with a word for what it is of a variable of the C++ library (`length 3`); or the
/// words for what a block holds that was freed before the row, and for what an update makes of that.
pub fn value_at(run: &Run, row: EventId, pointer: bool) -> Option<ToldValue> {
    let event = run.events.event(row);
    let is_left = |value| is_left_by_free(value, event.size);
    // What was there before is not known of an update that has failed.
    let is_made_of_it =
        event.kind == EventKind::Rmw && event.old.is_none_or(|old| is_left(Some(Value::Bits(old))));
    if (is_left(event.value) || is_made_of_it) && is_freed(run, row) {
        return Some(ToldValue::new("freed memory", ValueKind::Freed));
    }
    let name = run.location(event.location);
    let told = match container::is_link(run, &event) {
        true => container::size(run, row),
        false => value(run, &event, pointer),
    };
    let told = told?;
    Some(match measure(name) {
        Some(what) => ToldValue::new(format!("{what} {told}"), told.kind),
        None => told,
    })
}

/// Returns whether a row's block was freed before it, and not allocated again.
fn is_freed(run: &Run, row: EventId) -> bool {
    let block = run.block(run.events.location(row));
    let kind = |row: u32| run.events.kind(EventId(row));
    let mut before = (0..row.0).rev();
    let last = before.find(|&other| {
        matches!(kind(other), EventKind::Alloc | EventKind::Free)
            && run.block(run.events.location(EventId(other))) == block
    });
    last.is_some_and(|last| kind(last) == EventKind::Free)
}

/// The value that a read-modify-write read, in words. None when it was not recorded.
pub fn old_value(run: &Run, event: &Event) -> Option<ToldValue> {
    told_bits(run, event, event.old?)
}

/// The bits of an event's location, as its type reads them.
fn told_bits(run: &Run, event: &Event, bits: u64) -> Option<ToldValue> {
    let encoding = run.meta.encoding(event.location);
    match encoding.and_then(|encoding| encoding.text(bits, event.size)) {
        Some(_) if encoding == Some(&Encoding::Pointer) => Some(ToldValue::null()),
        Some(text) => Some(ToldValue::new(text, ValueKind::Number)),
        None => bits_in_words(bits, event.size),
    }
}

/// Bits as a whole number.
pub fn bits_in_words(bits: u64, size: u32) -> Option<ToldValue> {
    // More digits than a double holds mean nothing to people; they may be an address.
    Some(number(bits, size))
        .filter(|text| text.len() < 17)
        .map(|text| ToldValue::new(text, ValueKind::Number))
}

/// Formats a number; small negative numbers are more likely than unsigned ones near the top of their range.
fn number(bits: u64, size: u32) -> String {
    let signed = match size {
        1 => i64::from(bits as i8),
        2 => i64::from(bits as i16),
        4 => i64::from(bits as i32),
        _ => bits as i64,
    };
    if (-1_000_000..0).contains(&signed) {
        signed.to_string()
    } else {
        bits.to_string()
    }
}

/// An address by what is there, as it is told at a site: `&table.head`, `a block from line 20`. One line can make many
/// blocks: the words leave open which of them it is.
fn address(run: &Run, place: LocationId, site: SiteId) -> ToldValue {
    let name = run.location(place);
    let text = match Location::of(name) {
        Location::Heap {
            allocation, path, ..
        } => inside(path, &allocated(allocation, &run.meta.site(site).file)),
        _ if !is_named(name) => return ToldValue::new("a pointer", ValueKind::Unknown),
        _ => {
            let name = without_function(run, Location::variable(name));
            format!("&{}", own_part(name))
        }
    };
    ToldValue::new(text, ValueKind::Address)
}

/// A block by the line that allocates it, with the file's name in another file.
fn allocated(allocation: &str, file: &str) -> String {
    let site = allocation.split(' ').next().unwrap_or("");
    let mut parts = site.split(':');
    match (parts.next(), parts.next()) {
        (Some(own), Some(line)) if basename(own) == basename(file) => {
            format!("a block from line {line}")
        }
        (Some(own), Some(line)) => format!("a block from {}:{line}", basename(own)),
        _ => "a block".to_owned(),
    }
}

/// The part of a block that an address leads to. None is named if the block itself or no variable of the program is there.
fn inside(path: &str, block: &str) -> String {
    match own_part(path).trim_start_matches('.') {
        "" => block.to_owned(),
        part if part.starts_with(['+', '_']) => format!("an address in {block}"),
        part => format!("&{part} of {block}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{bits_in_words, value};
    use crate::fixture;
    use unsnarl_trace::{Encoding, EncodingRow, LocationId, Run};

    #[test]
    fn numbers() {
        let told = |bits, size| bits_in_words(bits, size).map(|value| value.text);
        assert_eq!(told(0xffff_ffff, 4).as_deref(), Some("-1"));
        assert_eq!(told(300, 8).as_deref(), Some("300"));
        assert_eq!(told(0x7fff_1234_5678_9abc, 8), None);
    }

    #[test]
    fn bits_are_told_as_the_type_of_their_location_reads_them() {
        let mut run = fixture::run("main W sum =4602678819172646912 size=8 @a.c:1");
        let told = |run: &Run| {
            let mut values = run.events.iter();
            values.find_map(|(_, event)| value(run, &event, false).map(|value| value.text))
        };
        assert_eq!(told(&run), None);
        let sum = run.events.locations().iter().find(|id| **id != 0);
        let sum = sum.map(|id| LocationId(*id)).into_iter().collect();
        run.meta.encodings = vec![EncodingRow::new(Encoding::Float, sum)];
        assert_eq!(told(&run).as_deref(), Some("0.5"));
    }

    #[test]
    fn addresses_are_told_by_what_is_there() {
        let all = [
            ("&table.head", "&table.head"),
            ("&main:main.ring.tail", "&ring.tail"),
            ("&`heap(src/a.c:20 by main #3)`", "a block from a.c:20"),
            ("&`heap(src/p.c:20 by main #3)`", "a block from line 20"),
            (
                "&`heap(a.c:20 by main #0).next`",
                "&next of a block from a.c:20",
            ),
            (
                "&`heap(a.c:20 by main #0)+24`",
                "an address in a block from a.c:20",
            ),
            (
                "&`heap(a.c:20 by main #0)._M_next`",
                "an address in a block from a.c:20",
            ),
            ("&std::cout", "a pointer"),
            ("&libc.so.6:_IO_2_1_stderr_", "a pointer"),
            ("&put::buffer", "&buffer"),
            ("0", "NULL"),
        ];
        for (pointee, expected) in all {
            let run = fixture::run(&format!("main W p ={pointee} @p.c:1 put"));
            let told = run
                .events
                .iter()
                .find_map(|(_, event)| value(&run, &event, true));
            assert_eq!(
                told.map(|value| value.text).as_deref(),
                Some(expected),
                "{pointee}"
            );
        }
    }
}
