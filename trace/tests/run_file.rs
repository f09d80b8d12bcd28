//! Round trips of run files, and reports for broken ones.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]

mod common;

use common::{bytes_of, follow_ids, runs};
use proptest::{prelude::*, strategy::ValueTree};
use unsnarl_trace::{
    EncodedRun, Event, Events, PointId, ReadError, Run, RunEncoder, RunMeta, read::unpacked,
    read_run_bytes,
};

proptest! {
    #[test]
    fn round_trip(run in runs()) {
        prop_assert_eq!(read_run_bytes(bytes_of(&run)).unwrap(), run);
    }

    #[test]
    fn equal_runs_give_equal_bytes(run in runs()) {
        prop_assert_eq!(bytes_of(&run), bytes_of(&run.clone()));
    }

    /// A file with any flipped bytes gives an answer whose ids are in their tables.
    #[test]
    fn flipped_bytes(run in runs(), flips in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..6)) {
        let mut bytes = bytes_of(&run);
        for (place, bits) in flips {
            *place.get_mut(&mut bytes) ^= bits;
        }
        if let Ok(read) = read_run_bytes(bytes) {
            follow_ids(&read);
        }
    }

    /// A file whose metadata has other numbers and shorter tables gives a run whose ids are in their tables.
    #[test]
    fn stray_metadata(
        run in runs(),
        digits in proptest::collection::vec((any::<prop::sample::Index>(), b'1'..=b'9'), 0..20),
        emptied in proptest::sample::subsequence(TABLES.to_vec(), 0..=TABLES.len()),
    ) {
        let mut bytes = bytes_of(&run);
        for table in emptied {
            empty(&mut bytes, table);
        }
        let metadata = metadata(&bytes);
        let places: Vec<usize> = metadata.filter(|at| bytes[*at].is_ascii_digit()).collect();
        for (place, digit) in digits {
            bytes[*place.get(&places)] = digit;
        }
        if let Ok(read) = read_run_bytes(bytes) {
            follow_ids(&read);
        }
    }

    #[test]
    fn noise_is_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), magic: bool) {
        if magic {
            bytes.splice(..0, *b"ARROW1\0\0");
        }
        prop_assert!(read_run_bytes(bytes).is_err());
    }
}

/// Tables of the metadata.
const TABLES: [&str; 6] = ["threads", "sites", "frames", "units", "points", "blocks"];

/// Range of the metadata in a run file.
fn metadata(bytes: &[u8]) -> std::ops::Range<usize> {
    let start = position(bytes, b"{\"format\":").unwrap();
    start..start + position(&bytes[start..], b"\"problems\":").unwrap()
}

/// Removes the rows of a table of the metadata, by spaces that JSON does not count.
fn empty(bytes: &mut [u8], table: &str) {
    let metadata = metadata(bytes);
    let bytes = &mut bytes[metadata];
    let start = position(bytes, format!("\"{table}\":[").as_bytes()).unwrap() + table.len() + 4;
    let (mut open, mut in_text, mut is_escaped) = (1, false, false);
    for byte in &mut bytes[start..] {
        let is_quote = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        in_text ^= is_quote;
        match byte {
            b'[' | b'{' if !in_text => open += 1,
            b']' | b'}' if !in_text => open -= 1,
            _ => {}
        }
        if open == 0 {
            break;
        }
        *byte = b' ';
    }
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// A run whose metadata leads nowhere is repaired, and says so.
#[test]
fn references_that_lead_nowhere_are_told() {
    let mut bytes = bytes_of(&long_run());
    empty(&mut bytes, "frames");
    let read = read_run_bytes(bytes).unwrap();
    follow_ids(&read);
    assert!(
        read.damage[0].contains("references in it lead nowhere"),
        "{:?}",
        read.damage
    );
}

/// A run of more than two batches.
fn long_run() -> Run {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let run = loop {
        let run = runs().new_tree(&mut runner).unwrap().current();
        if run.events.len() > 10 {
            break run;
        }
    };
    let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
    let rows: Vec<Event> = rows.into_iter().cycle().take(40_000).collect();
    Run {
        events: Events::from_rows(&rows),
        ..run
    }
}

#[test]
fn many_batches() {
    let run = long_run();
    assert_eq!(read_run_bytes(bytes_of(&run)).unwrap(), run);
}

/// Long runs are compressed, and have no numbers beside those of their rows.
#[test]
fn long_runs_are_compressed() {
    let run = long_run();
    let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
    let numbered: Vec<Event> = (0..)
        .zip(rows)
        .map(|(seq, event)| Event { seq, ..event })
        .collect();
    let numbered = Run {
        events: Events::from_rows(&numbered),
        ..run.clone()
    };
    let (with, without) = (bytes_of(&run), bytes_of(&numbered));
    assert!(without.len() < with.len() && with.len() < run.events.len() * 8);
    assert_eq!(read_run_bytes(without).unwrap(), numbered);
}

/// A run whose events are encoded while they are made has the file that it has as a whole, whatever its batches lack.
#[test]
fn events_are_encoded_one_by_one() {
    let run = long_run();
    let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
    let numbered = |is_numbered: fn(u64) -> bool, has_point: fn(u64) -> bool| {
        let rows = (0..).zip(&rows).map(|(row, event)| Event {
            seq: row + u64::from(!is_numbered(row)),
            point: if has_point(row) {
                event.point
            } else {
                PointId(0)
            },
            ..*event
        });
        rows.collect::<Vec<Event>>()
    };
    for (length, rows) in [
        (0, rows.clone()),
        (16_384, rows.clone()),
        (16_385, rows.clone()),
        (40_000, numbered(|_| true, |_| false)),
        (40_000, numbered(|row| row < 20_000, |row| row >= 20_000)),
        (40_000, numbered(|row| row >= 20_000, |row| row < 20_000)),
    ] {
        let mut encoder = RunEncoder::default();
        let rows = &rows[..length];
        rows.iter().for_each(|row| encoder.push(row));
        let locations = run.locations.as_slice();
        let encoded = EncodedRun::of_events(encoder, &run.meta, locations).unwrap();
        let whole = Run {
            events: Events::from_rows(rows),
            ..run.clone()
        };
        assert!(encoded == EncodedRun::of(&whole).unwrap());
        // The metadata may refer to rows that are not there.
        assert!(encoded.decode().unwrap().events == whole.events);
    }
}

/// A compressed file with any flipped bytes gives an answer, and takes no more memory than it can need.
#[test]
fn flipped_bytes_of_a_compressed_file() {
    let bytes = bytes_of(&long_run());
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let places = (0..bytes.len(), 1u8..);
    for _ in 0..100 {
        let (at, bits) = places.new_tree(&mut runner).unwrap().current();
        let mut broken = bytes.clone();
        broken[at] ^= bits;
        if let Ok(read) = read_run_bytes(broken) {
            follow_ids(&read);
            assert!(read.events.len() <= 40_000);
        }
    }
}

#[test]
fn what_a_file_takes_in_memory_is_known_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.arrow");
    let events: Vec<Event> = long_run().events.iter().map(|(_, event)| event).collect();
    let events: Vec<Event> = events.into_iter().cycle().take(400_000).collect();
    let run = Run {
        events: Events::from_rows(&events),
        ..long_run()
    };
    std::fs::write(&path, bytes_of(&run)).unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length < 8 * 400_000);
    assert_eq!(unpacked(&path, length), 50 * 400_000);
    std::fs::write(&path, vec![0; 100_000]).unwrap();
    assert_eq!(unpacked(&path, 100_000), 100_000);
}

#[test]
fn a_cut_file_keeps_its_whole_batches() {
    let run = long_run();
    let bytes = bytes_of(&run);
    let read = read_run_bytes(bytes[..bytes.len() * 4 / 5].to_vec()).unwrap();
    assert_eq!(read.events.len(), 32_768);
    assert_eq!(read.meta, run.meta);
    let told = format!(
        "it is cut off at byte {}; the 32768 events before that are there",
        bytes.len() * 4 / 5
    );
    assert_eq!(read.damage, [told]);
    assert!(
        run.events
            .iter()
            .zip(read.events.iter())
            .all(|(whole, part)| whole == part)
    );
}

#[test]
fn every_truncation_of_a_small_file() {
    let run = Run {
        events: Events::from_rows(
            &long_run()
                .events
                .get(Default::default())
                .map_or(vec![], |e| vec![e]),
        ),
        ..long_run()
    };
    let bytes = bytes_of(&run);
    let mut readable = 0;
    for length in 0..bytes.len() {
        match read_run_bytes(bytes[..length].to_vec()) {
            Ok(read) => {
                readable += 1;
                assert!(
                    !read.damage.is_empty(),
                    "cut at {length} of {}",
                    bytes.len()
                );
                follow_ids(&read);
                assert!(read.events == run.events || read.events.is_empty());
                assert_eq!(read.meta.command, run.meta.command);
            }
            Err(ReadError::Damaged { why, .. }) => assert!(!why.is_empty()),
            Err(ReadError::NotARun { .. }) => assert!(length < 8),
            Err(other) => panic!("cut at {length}: {other}"),
        }
    }
    assert!(readable > 1_000);
}

#[test]
fn an_empty_run() {
    let read = read_run_bytes(bytes_of(&Run::default())).unwrap();
    assert!(read.events.is_empty() && read.damage.is_empty());
    assert_eq!(read.meta.format, unsnarl_trace::meta::FORMAT);
}

#[test]
fn ids_outside_of_the_tables_are_not_written() {
    let rows: Vec<Event> = long_run()
        .events
        .iter()
        .take(1)
        .map(|(_, event)| event)
        .collect();
    let run = Run {
        meta: RunMeta::default(),
        events: Events::from_rows(&rows),
        ..Run::default()
    };
    let error = unsnarl_trace::write_run(&run, &mut Vec::new())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("the run cannot be stored: "), "{error}");
}

/// Metadata is read from the beginning of a file, whether it is short or as long as a schedule makes it.
#[test]
fn metadata_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    for choices in [0, 1 << 20] {
        let mut run = long_run();
        run.meta.schedule = (0..choices).map(|n| (n % 2) as u16).collect();
        let mut bytes = bytes_of(&run);
        bytes.truncate(bytes.len() - 1_000);
        let path = folder.path().join("run.arrow");
        std::fs::write(&path, &bytes).unwrap();
        let read = unsnarl_trace::read::read_meta(&path);
        assert_eq!(read.unwrap(), run.meta);
    }
}
