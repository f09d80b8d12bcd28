//! Small corpora, whose answers are seen by eye, and the same runs in several places.

use crate::{
    AnswerFormat, Limits, answer,
    pack::{Packed, into_file},
    queries::{Query, QueryArguments},
    schema::of_summaries,
};
use clap::ValueEnum;
use datafusion::{
    arrow::{
        array::{ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array},
        compute::cast,
    },
    parquet::arrow::ArrowWriter,
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A run of one test: it has these pairs, each on an object of its own.
#[derive(Clone, Copy)]
struct TestRun {
    number: u64,
    fails: bool,
    pairs: &'static [u64],
}

/// Passing runs have pair 1 always, 2 and 3 together or not at all, 4 and 5 never together. The failing ones lack 1 and 3,
/// have 4 with 5, and 9 alone.
const RUNS: [TestRun; 5] = [
    passing(1, &[1, 2, 3, 4]),
    passing(2, &[1, 2, 3, 5]),
    passing(3, &[1, 4]),
    failing(4, &[2, 4, 5, 9]),
    failing(5, &[2, 4, 5, 9]),
];

const fn passing(number: u64, pairs: &'static [u64]) -> TestRun {
    TestRun {
        number,
        fails: false,
        pairs,
    }
}

const fn failing(number: u64, pairs: &'static [u64]) -> TestRun {
    TestRun {
        number,
        fails: true,
        pairs,
    }
}

impl TestRun {
    /// Writes its summary into a folder, as it was recorded then.
    fn write(self, folder: &Path, recorded: i64) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(format!("{}.parquet", self.number));
        let schema = Arc::new(of_summaries());
        let columns = schema
            .fields()
            .iter()
            .map(|field| cast(&self.column(field.name(), recorded), field.data_type()).unwrap());
        let rows = RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema, None).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
        path
    }

    /// The rows of a column: that of the run first, then one for each pair.
    fn column(self, name: &str, recorded: i64) -> ArrayRef {
        let rows = self.pairs.len() + 1;
        let all = |text: String| Arc::new(StringArray::from(vec![text; rows])) as ArrayRef;
        let numbers = |first: Option<i64>, of: fn(i64) -> i64| {
            let pairs = self.pairs.iter().map(|pair| Some(of(pair.cast_signed())));
            Arc::new(Int64Array::from_iter(std::iter::once(first).chain(pairs))) as ArrayRef
        };
        match name {
            "fact" => {
                let pairs = self.pairs.iter().map(|_| "pair");
                Arc::new(StringArray::from_iter_values(
                    std::iter::once("run").chain(pairs),
                ))
            }
            "run" => all(format!("{:016x}", self.number)),
            "file" => all(format!("{}.arrow", self.number)),
            "program" => all("prog".to_owned()),
            "build" => all("b1".to_owned()),
            "arguments" => all(String::new()),
            "outcome" => all(if self.fails { "failed" } else { "passed" }.to_owned()),
            "failure_signature" if self.fails => all("5167".to_owned()),
            "recorded" => Arc::new(Int64Array::from(vec![recorded; rows])),
            "steps" => Arc::new(Int64Array::from(vec![self.number.cast_signed(); rows])),
            "object" => {
                let pairs = self.pairs.iter().map(|pair| Some(format!("object_{pair}")));
                Arc::new(StringArray::from_iter(std::iter::once(None).chain(pairs)))
            }
            "fact_id" => numbers(Some(0), |pair| pair),
            "reverse_id" => numbers(None, |pair| pair + 100),
            "count" => numbers(Some(1), |pair| pair * 10),
            _ => {
                let schema = of_summaries();
                new_null_array(schema.field_with_name(name).unwrap().data_type(), rows)
            }
        }
    }
}

fn packed(places: &[PathBuf], folder: &Path) -> (Packed, PathBuf) {
    let file = folder.join("packed.file");
    (into_file(places, &file).unwrap(), file)
}

fn ask(query: Query, file: &Path) -> String {
    let arguments = QueryArguments {
        signature: Some("5167".to_owned()),
        failing: 1,
        passing: 2,
    };
    let limits = Limits {
        memory: 256,
        threads: 2,
    };
    answer::to(query, &arguments, limits, file, AnswerFormat::Json).unwrap()
}

/// The values of a column in an answer.
fn column(query: Query, name: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    RUNS.iter().for_each(|run| drop(run.write(&runs, 7)));
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
    RUNS.iter().for_each(|run| drop(run.write(&one, 7)));
    // Three machines: some runs have come twice, and some were recorded again, later.
    RUNS.iter().take(3).for_each(|run| drop(run.write(&a, 7)));
    RUNS.iter().skip(2).for_each(|run| drop(run.write(&b, 7)));
    RUNS.iter().for_each(|run| drop(run.write(&c, 8)));
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
    let paths: Vec<PathBuf> = RUNS.iter().map(|run| run.write(&runs, 7)).collect();
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
