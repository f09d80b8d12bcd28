//! Files of every version of the format stay readable. `UPDATE_EXPECT=1` writes the one of this
//! version when it is not there; what is there is never written again.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::bytes_of;
use std::{fs, path::Path};
use unsnarl_trace::{
    Event, Events, PointId, PointRow, UnitNameId, meta::FORMAT, program::PointNumber, read_run,
    script,
};

#[test]
fn every_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for version in 1..=FORMAT {
        let script = fs::read_to_string(folder.join(format!("format-{version}.script"))).unwrap();
        let run = script::parse(&script).unwrap();
        let file = folder.join(format!("format-{version}.arrow"));
        if version == FORMAT && !file.exists() && std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, bytes_of(&run)).unwrap();
        }
        assert_eq!(read_run(&file).unwrap(), run, "{}", file.display());
    }
}

/// A run of a program whose model was kept has a column more; readers that do not know it pass it over.
#[test]
fn with_points() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let script = fs::read_to_string(folder.join("format-1.script")).unwrap();
    let mut run = script::parse(&script).unwrap();
    let rows: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
    let numbered = rows.into_iter().zip(0u32..);
    let rows: Vec<Event> = numbered
        .map(|(event, at)| Event {
            point: PointId(at % 3),
            ..event
        })
        .collect();
    run.events = Events::from_rows(&rows);
    run.meta.units = vec!["00".to_owned(), "01".to_owned()].into();
    run.meta.points = vec![
        PointRow::default(),
        PointRow(UnitNameId(0), PointNumber(7)),
        PointRow(UnitNameId(1), PointNumber(7)),
    ]
    .into();
    for version in 1..=FORMAT {
        let file = folder.join(format!("format-{version}-points.arrow"));
        if version == FORMAT && !file.exists() && std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, bytes_of(&run)).unwrap();
        }
        assert_eq!(read_run(&file).unwrap(), run);
    }
    let file = folder.join(format!("format-{FORMAT}-points.arrow"));
    assert!(
        bytes_of(&run) == fs::read(&file).unwrap(),
        "another layout needs another version"
    );
}

/// The same run gives the same bytes as long as the format's version is the same.
#[test]
fn the_bytes_of_this_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let script = fs::read_to_string(folder.join(format!("format-{FORMAT}.script"))).unwrap();
    let bytes = fs::read(folder.join(format!("format-{FORMAT}.arrow"))).unwrap();
    assert!(
        bytes_of(&script::parse(&script).unwrap()) == bytes,
        "another layout needs another version"
    );
}
