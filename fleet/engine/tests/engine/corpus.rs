//! Summaries of runs that nobody has made.

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
use unsnarl_fleet_engine::schema::of_summaries;

/// A run of one test: it has these pairs, each on an object of its own.
pub struct TestRun {
    number: u64,
    fails: bool,
    pairs: Vec<u64>,
}

/// Passing runs have pair 1 always, 2 and 3 together or not at all, 4 and 5 never together. The failing ones lack 1 and 3,
/// have 4 with 5, and 9 alone.
pub fn five() -> Vec<TestRun> {
    let run = |number, fails, pairs: &[u64]| TestRun {
        number,
        fails,
        pairs: pairs.to_vec(),
    };
    vec![
        run(1, false, &[1, 2, 3, 4]),
        run(2, false, &[1, 2, 3, 5]),
        run(3, false, &[1, 4]),
        run(4, true, &[2, 4, 5, 9]),
        run(5, true, &[2, 4, 5, 9]),
    ]
}

/// So many runs, each with about half of so many pairs; one in ten fails, and lacks the first pair.
pub fn many(runs: u64, pairs: u64) -> Vec<TestRun> {
    let run = |number: u64| {
        let fails = number % 10 == 9;
        let has = |pair: &u64| match pair {
            0 => !fails,
            pair => (number * 7919 + pair * 104_729) % 97 < 48,
        };
        TestRun {
            number: number + 1,
            fails,
            pairs: (0..pairs).filter(has).collect(),
        }
    };
    (0..runs).map(run).collect()
}

impl TestRun {
    /// Writes its summary into a folder, as it was recorded then.
    pub fn write(&self, folder: &Path, recorded: i64) -> PathBuf {
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
    fn column(&self, name: &str, recorded: i64) -> ArrayRef {
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
