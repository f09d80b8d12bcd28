//! Files that other tools write: other types, other orders, less than everything.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, UInt8Array, UInt32Array, types::Int8Type,
};
use arrow_ipc::writer::FileWriter;
use std::sync::Arc;
use unsnarl_trace::{
    Event, EventId, EventKind, LocationId, OrderMode, Outcome, ReadError, Run, Value,
    read_run_bytes,
};

/// The bytes of a file with these columns and metadata.
fn file(columns: &[(&str, ArrayRef)], metadata: &[(&str, &str)]) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .iter()
            .map(|(name, column)| (*name, column.clone(), true)),
    );
    let batch = batch.unwrap();
    let metadata: std::collections::HashMap<String, String> = metadata
        .iter()
        .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
        .collect();
    let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(metadata));
    let batch = batch.with_schema(schema.clone()).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn text(rows: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(rows.to_vec()))
}

fn dictionary(rows: &[Option<&str>]) -> ArrayRef {
    Arc::new(rows.iter().copied().collect::<DictionaryArray<Int8Type>>())
}

/// Four columns in four types.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let places = vec![Some("b.c:9:1"), None, Some("a.c:7"), Some("b.c:9:1")];
    vec![
        (
            "location",
            Arc::new(LargeStringArray::from(vec![
                Some("y"),
                None,
                Some("x"),
                Some("y"),
            ])) as ArrayRef,
        ),
        ("site", Arc::new(StringViewArray::from(places)) as ArrayRef),
        (
            "kind",
            dictionary(&[Some("write"), Some("fence"), Some("read"), Some("rmw")]),
        ),
        (
            "thread",
            text(&[Some("main.1"), Some("main"), Some("main"), Some("main.1")]),
        ),
    ]
}

fn rows(run: &Run) -> Vec<(String, EventKind, String, u32, String)> {
    let row = |event: Event| {
        let site = run.meta.site(event.site);
        let location = run.location(event.location).to_owned();
        (
            run.meta.thread(event.thread).name.clone(),
            event.kind,
            site.file.clone(),
            site.line,
            location,
        )
    };
    run.events.iter().map(|(_, event)| row(event)).collect()
}

#[test]
fn the_required_columns_are_enough() {
    let run = read_run_bytes(file(&columns(), &[])).unwrap();
    assert_eq!(run.damage, [""; 0]);
    assert_eq!(
        (run.meta.mode, run.meta.outcome),
        (OrderMode::Imported, Outcome::Passed)
    );
    let row = |thread: &str, kind, file: &str, line, location: &str| {
        (
            thread.to_owned(),
            kind,
            file.to_owned(),
            line,
            location.to_owned(),
        )
    };
    assert_eq!(
        rows(&run),
        [
            row("main.1", EventKind::Write, "b.c", 9, "y"),
            row("main", EventKind::Fence, "", 0, ""),
            row("main", EventKind::Read, "a.c", 7, "x"),
            row("main.1", EventKind::Rmw, "b.c", 9, "y"),
        ]
    );
    assert_eq!(run.events.sequence(), [0, 1, 2, 3]);
}

#[test]
fn other_integers() {
    let mut columns = columns();
    columns.push((
        "value",
        Arc::new(Int64Array::from(vec![Some(-1), None, None, Some(5)])),
    ));
    columns.push((
        "old",
        Arc::new(UInt8Array::from(vec![None, None, None, Some(4)])),
    ));
    columns.push(("size", Arc::new(Int64Array::from(vec![8, 0, 4, 4]))));
    columns.push(("pointee", Arc::new(UInt32Array::from(vec![0, 0, 3, 0]))));
    let run = read_run_bytes(file(&columns, &[])).unwrap();
    let event = |n| run.events.get(EventId(n)).unwrap();
    assert_eq!(
        (event(0).value, event(0).size),
        (Some(Value::Bits(u64::MAX)), 8)
    );
    assert_eq!(event(1).value, None);
    // Plain text has no keys but the row numbers: row 3 is `y`, which is location 1.
    assert_eq!(event(2).value, Some(Value::Address(LocationId(1))));
    assert_eq!(
        (event(3).old, event(3).value),
        (Some(4), Some(Value::Bits(5)))
    );
}

#[test]
fn an_unknown_kind_ends_what_can_be_read() {
    let mut columns = columns();
    columns[2].1 = dictionary(&[Some("write"), Some("read"), Some("teleport"), Some("read")]);
    let run = read_run_bytes(file(&columns, &[])).unwrap();
    assert_eq!(run.events.len(), 2);
    assert_eq!(
        run.damage,
        [
            "an event's kind `teleport` is not known to this version; the 2 events before that are there"
        ]
    );
}

#[test]
fn an_event_without_a_thread() {
    let mut columns = columns();
    columns[3].1 = text(&[Some("main"), None, None, None]);
    let run = read_run_bytes(file(&columns, &[])).unwrap();
    assert_eq!(
        run.damage,
        ["an event has no thread; the 1 events before that are there"]
    );
}

#[test]
fn refusals_say_why() {
    let error = |bytes| read_run_bytes(bytes).unwrap_err().to_string();
    let newer = error(file(&columns(), &[("unsnarl.format", "7")]));
    assert!(
        newer.contains("has format 7, and this unsnarl reads formats up to 4"),
        "{newer}"
    );
    let strange = error(file(&columns(), &[("unsnarl.format", "x")]));
    assert!(
        strange.contains("its `unsnarl.format` is \"x\" and not a number"),
        "{strange}"
    );
    let json = file(&columns(), &[("unsnarl.run", "{")]);
    assert!(matches!(
        read_run_bytes(json),
        Err(ReadError::Damaged { .. })
    ));
    let missing = error(file(&columns()[1..], &[]));
    assert!(missing.contains("it has no column `location`"), "{missing}");
    let mut columns = columns();
    columns.push((
        "value",
        Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0])),
    ));
    let typed = error(file(&columns, &[]));
    assert!(
        typed.contains("its column `value` is Float64 and not whole numbers"),
        "{typed}"
    );
    assert!(error(Vec::new()).contains("it is empty"));
    assert!(error(b"#!/bin/sh".to_vec()).contains("does not begin as an Arrow IPC file does"));
}

#[test]
fn tables_that_lead_nowhere() {
    let meta = r#"{"frames": [[5, 9]], "locks": [70], "threads": [{"name": "main", "start": "", "parent": 3, "created_at": 8}],
        "failure": {"kind": "assert", "message": "m", "thread": 9, "site": 9, "event": 9}}"#;
    let run = read_run_bytes(file(&columns(), &[("unsnarl.run", meta)])).unwrap();
    let failure = run.meta.failure.clone().unwrap();
    assert_eq!(
        (failure.thread, failure.site, failure.event),
        (None, None, None)
    );
    assert!(run.meta.locks.is_empty());
    assert_eq!(
        run.damage,
        ["8 references in it lead nowhere and were left out"]
    );
}
