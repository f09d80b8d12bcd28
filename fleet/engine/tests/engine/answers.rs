//! Small corpora, whose answers are seen by eye, and the same runs in several places.

use crate::{ask, corpus::five, packed};
use clap::ValueEnum;
use std::{fs, path::PathBuf};
use unsnarl_fleet_engine::{
    pack::{self, into_file},
    queries::Query,
};

/// The values of a column in an answer.
fn column(query: Query, name: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    five().iter().for_each(|run| drop(run.write(&runs, 7)));
    let (_, file) = packed(&[runs], folder.path());
    let answer = ask(query, &file);
    let key = format!("\"{name}\":");
    let values = answer.split(&key).skip(1);
    let ends = |text: &str| text.find([',', '}']).unwrap();
    values
        .map(|text| text[..ends(text)].trim_matches('"').to_owned())
        .collect()
}

#[test]
fn the_procedures_find_what_they_are_about() {
    assert_eq!(column(Query::ProcedureOne, "fact_id"), ["9"]);
    assert_eq!(column(Query::ProcedureTwo, "fact_id"), ["1", "3"]);
    assert_eq!(
        column(Query::ProcedureTwo, "failing_with_partner"),
        ["0", "2"]
    );
    // 2 and 5 were together in a passing run, as were 2 and 4.
    assert_eq!(column(Query::ProcedureThree, "first_id"), ["4"]);
    assert_eq!(column(Query::ProcedureThree, "second_id"), ["5"]);
    assert_eq!(
        column(Query::Pairs, "passing"),
        ["3", "2", "2", "2", "1", "0"]
    );
    assert_eq!(column(Query::Signatures, "failing"), ["2"]);
    assert_eq!(column(Query::Coverage, "pairs"), ["6"]);
    // The passing run with 2 and 4 lacks two pairs of the failing run, and has two that it lacks.
    assert_eq!(
        column(Query::Choose, "file"),
        ["4.arrow", "1.arrow", "2.arrow"]
    );
}

#[test]
fn a_fleet_answers_as_one_folder_does() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let [one, a, b, c] = ["one", "a", "b", "c"].map(place);
    five().iter().for_each(|run| drop(run.write(&one, 7)));
    // Three machines: some runs have come twice, and some were recorded again, later.
    five().iter().take(3).for_each(|run| drop(run.write(&a, 7)));
    five().iter().skip(2).for_each(|run| drop(run.write(&b, 7)));
    five().iter().for_each(|run| drop(run.write(&c, 8)));
    let (alone, of_one) = packed(std::slice::from_ref(&one), &one);
    let (fleet, of_fleet) = packed(&[c, b, a], folder.path());
    assert_eq!(
        (alone.runs, alone.again, fleet.runs, fleet.again),
        (5, 0, 5, 6)
    );
    for query in Query::value_variants() {
        assert_eq!(ask(*query, &of_fleet), ask(*query, &of_one), "{query:?}");
        // What was packed can be packed again.
        let again = folder.path().join("again.file");
        into_file(std::slice::from_ref(&of_fleet), &again).unwrap();
        assert_eq!(ask(*query, &again), ask(*query, &of_one), "{query:?}");
    }
}

#[test]
fn a_damaged_summary_is_named_and_spoils_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let paths: Vec<PathBuf> = five().iter().map(|run| run.write(&runs, 7)).collect();
    let bytes = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], &bytes[..bytes.len() / 2]).unwrap();
    fs::write(runs.join("notes.parquet"), "none").unwrap();
    let (packed, file) = packed(&[runs], folder.path());
    assert_eq!(packed.runs, 4);
    let broken: Vec<&str> = packed
        .broken
        .iter()
        .map(|(path, _)| path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(broken, ["1.parquet", "notes.parquet"]);
    assert!(ask(Query::Coverage, &file).contains("\"runs\":4"));
}

#[test]
fn a_packed_file_is_known_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let written: Vec<PathBuf> = five().iter().map(|run| run.write(&runs, 7)).collect();
    let (_, file) = packed(&[runs], folder.path());
    assert_eq!(pack::packed(&file).map(|packed| packed.runs), Some(5));
    assert!(pack::packed(&written[0]).is_none());
}
