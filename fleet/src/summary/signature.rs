//! Failure signatures: ids of failures that are alike on different machines and builds.

use sha2::{Digest, Sha256};
use unsnarl_core::{
    corpus::failure_place,
    explanation::Place,
    facts::{self, basename, family},
};
use unsnarl_trace::{EventKind, FailureKind, LocationId, Run};

/// Id of the way in which a run failed, by names and by the text of its line: kind, program, function, the line's text,
/// and the message without numbers. Line numbers do not count, so that it stays the same in a build in which lines have
/// moved. In a deadlock the operations count that the threads wait in. `None` of a run that did not fail.
pub fn failure_signature(run: &Run) -> Option<String> {
    let failure = run.meta.failure.as_ref()?;
    let mut parts = vec![
        basename(&run.meta.program).to_owned(),
        failure.kind.name().to_owned(),
    ];
    match failure.kind {
        FailureKind::Deadlock => parts.extend(waiting(run)),
        FailureKind::Timeout => {}
        _ => {
            let place = failure_place(run).and_then(|failure| failure.site);
            parts.extend(place.as_ref().map(line));
            parts.push(without_numbers(&failure.message));
        }
    }
    Some(short_hash(parts.iter().map(String::as_str)))
}

/// Function and text of a line.
fn line(place: &Place) -> String {
    let words: Vec<&str> = place.text.split_whitespace().collect();
    format!("{} {}", place.function, words.join(" "))
}

/// The operations that threads wait in, with their objects, sorted.
fn waiting(run: &Run) -> Vec<String> {
    let rows = run.events.iter();
    let blocked = rows.filter(|(_, event)| event.kind == EventKind::Blocked);
    let mut all: Vec<String> = blocked
        .map(|(_, event)| {
            let place = facts::place(run, event.site);
            format!("{} {}", line(&place), object(run, event.location))
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The name of a location without the parts that tell elements and blocks apart.
pub(super) fn object(run: &Run, location: LocationId) -> String {
    family(run.location(location))
}

/// The text with each number as a `#`: values and addresses differ from run to run.
fn without_numbers(text: &str) -> String {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    let plain = words.map(|word| match word.starts_with(is_digit) {
        true => format!(
            "#{}",
            word.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric())
        ),
        false => word.to_owned(),
    });
    plain.collect()
}

/// Sixteen hexadecimal digits of the SHA-256 over the parts.
pub(super) fn short_hash<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    format!("{:016x}", hash(parts))
}

/// The first 64 bits of the SHA-256 over the parts.
pub(super) fn hash<'p>(parts: impl IntoIterator<Item = &'p str>) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    bytes
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_count() {
        assert_eq!(
            without_numbers("free of 0x7f30, 12 bytes"),
            "free of #, # bytes"
        );
        assert_eq!(
            without_numbers("assertion `x1 == 450` failed"),
            "assertion `x1 == #` failed"
        );
    }
}
