//! One file of many summaries.
//!
//! A run that two machines have recorded has two summaries, which differ in the time and perhaps in the name of the
//! file. The first one by time and name is taken, whatever the order in which files are found: so the answers over many
//! folders are those over one folder with the same runs.

use crate::schema::{of_packed, of_summaries};
use anyhow::{Context, Result, ensure};
use datafusion::{
    arrow::{
        array::{Array, AsArray, RecordBatch, UInt64Array},
        compute::{cast, concat_batches, filter_record_batch},
        datatypes::{DataType, Int64Type, SchemaRef},
    },
    parquet::{
        arrow::{ArrowWriter, ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder},
        basic::Compression,
        file::{metadata::KeyValue, properties::WriterProperties},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Counts of what was packed.
#[derive(Debug, Default)]
pub struct Packed {
    /// Runs.
    pub runs: u64,
    /// Summaries of runs of which another summary was taken.
    pub again: u64,
    /// Files that were left out, with the reason.
    pub broken: Vec<(PathBuf, String)>,
}

/// A summary of a run in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    recorded: i64,
    /// Name of the run file.
    file: String,
    path: PathBuf,
}

/// Rows that are held until they are written.
const ROWS: usize = 1 << 16;

/// Key of a packed file's metadata, with the number of its runs.
const RUNS: &str = "unsnarl.packed-runs";

/// The counts of a packed file; `None` if the file is another one.
pub fn packed(path: &Path) -> Option<Packed> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).ok()?).ok()?;
    let metadata = builder.metadata().file_metadata().key_value_metadata()?;
    let runs = metadata.iter().find(|entry| entry.key == RUNS)?;
    Some(Packed {
        runs: runs.value.as_ref()?.parse().ok()?,
        ..Packed::default()
    })
}

/// Packs the summaries of these places into a file.
pub fn into_file(places: &[PathBuf], out: &Path) -> Result<Packed> {
    let mut packed = Packed::default();
    let mut sources: BTreeMap<String, Source> = BTreeMap::new();
    for path in files(places)? {
        match runs(&path) {
            Ok(found) => found
                .into_iter()
                .for_each(|(run, source)| packed.choose(&mut sources, run, source)),
            Err(error) => packed.broken.push((path, format!("{error:#}"))),
        }
    }
    packed.write(&sources, out)?;
    packed.broken.sort();
    Ok(packed)
}

/// The Parquet files of the places, sorted.
fn files(places: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for place in places {
        let failed = || format!("cannot read {}", place.display());
        if !place.metadata().with_context(failed)?.is_dir() {
            files.insert(place.clone());
            continue;
        }
        for entry in fs::read_dir(place).with_context(failed)? {
            let path = entry.with_context(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".parquet") && !name.starts_with('.') {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

/// The columns that tell runs apart.
const HEAD: [&str; 3] = ["run", "recorded", "file"];

/// The runs of a file. Only the columns that tell are read, of which a summary has a few bytes.
fn runs(path: &Path) -> Result<BTreeMap<String, Source>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), HEAD);
    let mut runs = BTreeMap::new();
    for batch in builder.with_projection(mask).build()? {
        let batch = batch?;
        let [run, recorded, file] = HEAD.map(|name| column(&batch, name));
        let (run, file) = (cast(run?, &DataType::Utf8)?, cast(file?, &DataType::Utf8)?);
        let recorded = cast(recorded?, &DataType::Int64)?;
        let (run, file) = (run.as_string::<i32>(), file.as_string::<i32>());
        let recorded = recorded.as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let source = || Source {
                recorded: recorded.value(row),
                file: file.value(row).to_owned(),
                path: path.to_owned(),
            };
            if !runs.contains_key(run.value(row)) {
                runs.insert(run.value(row).to_owned(), source());
            }
        }
    }
    ensure!(!runs.is_empty(), "it has no rows");
    Ok(runs)
}

fn column<'b>(batch: &'b RecordBatch, name: &str) -> Result<&'b Arc<dyn Array>> {
    batch
        .column_by_name(name)
        .with_context(|| format!("it has no column {name}"))
}

impl Packed {
    fn choose(&mut self, sources: &mut BTreeMap<String, Source>, run: String, source: Source) {
        match sources.get_mut(&run) {
            None => drop(sources.insert(run, source)),
            Some(other) => {
                self.again += 1;
                if source < *other {
                    *other = source;
                }
            }
        }
    }

    /// Writes the chosen summaries in the order of their runs. A file whose other columns turn out to be broken is left
    /// out, and with it its runs.
    fn write(&mut self, sources: &BTreeMap<String, Source>, out: &Path) -> Result<()> {
        let mut by_path: BTreeMap<&Path, BTreeSet<&str>> = BTreeMap::new();
        for (run, source) in sources {
            by_path.entry(&source.path).or_default().insert(run);
        }
        let schema = Arc::new(of_packed());
        let mut writer = writer(out, &schema)?;
        let mut held = Vec::new();
        for (path, chosen) in by_path {
            match rows(path, &chosen) {
                Ok(batches) => held.extend(batches),
                Err(error) => {
                    self.broken.push((path.to_owned(), format!("{error:#}")));
                    continue;
                }
            }
            self.runs += chosen.len() as u64;
            flush(&mut held, &schema, &mut writer, ROWS)?;
        }
        flush(&mut held, &schema, &mut writer, 0)?;
        let runs = KeyValue::new(RUNS.to_owned(), self.runs.to_string());
        writer.append_key_value_metadata(runs);
        writer.close()?;
        Ok(())
    }
}

fn writer(out: &Path, schema: &SchemaRef) -> Result<ArrowWriter<File>> {
    let file = File::create(out).with_context(|| format!("cannot write {}", out.display()))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .build();
    Ok(ArrowWriter::try_new(
        file,
        Arc::clone(schema),
        Some(properties),
    )?)
}

/// Writes the rows that are held as one batch, if they are more than `most`.
fn flush(
    held: &mut Vec<RecordBatch>,
    schema: &SchemaRef,
    writer: &mut ArrowWriter<File>,
    most: usize,
) -> Result<()> {
    let rows: usize = held.iter().map(RecordBatch::num_rows).sum();
    if rows > most {
        let batch = concat_batches(schema, held.iter())?;
        writer.write(&batch)?;
        held.clear();
    }
    Ok(())
}

/// The rows of these runs in a file.
fn rows(path: &Path, chosen: &BTreeSet<&str>) -> Result<Vec<RecordBatch>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    let mut batches = Vec::new();
    for batch in builder.build()? {
        let batch = conforming(&batch?)?;
        let runs = column(&batch, "run")?.as_string::<i32>();
        let is_chosen = runs.iter().map(|run| Some(chosen.contains(run?)));
        let is_chosen = is_chosen.collect();
        batches.push(with_numbers(&filter_record_batch(&batch, &is_chosen)?)?);
    }
    Ok(batches)
}

/// The batch with the columns of summaries in their order, and their types.
fn conforming(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = of_summaries();
    let columns = schema.fields().iter().map(|field| {
        let own = column(batch, field.name())?;
        Ok(cast(own, field.data_type())?)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

/// The batch with the ids of runs as numbers, too: they have sixteen hexadecimal digits.
fn with_numbers(batch: &RecordBatch) -> Result<RecordBatch> {
    let runs = column(batch, "run")?.as_string::<i32>();
    let number = |run: Option<&str>| u64::from_str_radix(run.unwrap_or_default(), 16);
    let numbers = runs.iter().map(number).collect::<Result<Vec<u64>, _>>();
    let numbers = numbers.context("the id of a run is no hexadecimal number")?;
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(UInt64Array::from(numbers)));
    Ok(RecordBatch::try_new(Arc::new(of_packed()), columns)?)
}
