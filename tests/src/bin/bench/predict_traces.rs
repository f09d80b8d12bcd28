//! Racy accesses in traces of other tools, beside the counts of the tool they are for.

use crate::{docs, measure::on_cpu, table::PrintedTable};
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use unsnarl_core::{
    Budget, StopReason,
    orders::Orders,
    predict::sync_preserving::{Racy, SyncPreserving, hb_racy, lockset_racy, shb_racy},
};
use unsnarl_trace::{
    Run,
    rapid::{self, Format},
};

/// Time for the sync-preserving races of one trace.
const PATIENCE: Duration = Duration::from_secs(120);
/// Columns of the table for which there are counts of others.
const COUNTED: [&str; 4] = ["HB", "SHB", "sync-preserving", "lockset"];

/// Counts of others: by trace and column.
type Others = BTreeMap<(String, String), String>;

/// Counts in all `.std` files of a folder, and writes the table into the docs.
pub fn run(folder: &str) -> Result<()> {
    let folder = Path::new(folder);
    let others = others(folder)?;
    let mut table = PrintedTable::new(&[
        "trace",
        "events",
        "HB",
        "SHB",
        "sync-preserving",
        "lockset",
        "sync-preserving, ms",
        "pairs of places that race",
        "deadlocks",
    ]);
    let files = files(folder)?;
    if files.is_empty() {
        bail!("{} has no .std files", folder.display());
    }
    for file in files {
        eprintln!("{} ...", file.display());
        table.row(row(&file, &others).with_context(|| file.display().to_string())?);
    }
    println!("{table}");
    docs::replace("engines/predict.md", "traces", &table.to_string())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "std"));
    files.sort();
    Ok(files)
}

fn row(file: &Path, others: &Others) -> Result<Vec<String>> {
    let run = rapid::import(&fs::read(file)?, Format::Std)?.run;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let cell = |column: &str, racy: &Racy| {
        let ours = count(&run, racy);
        match others.get(&(name.to_string(), column.to_owned())) {
            Some(theirs) if *theirs != ours => format!("**{ours}** ({theirs})"),
            _ => ours,
        }
    };
    let orders = Orders::new(&run);
    let begin = on_cpu()?;
    let these = SyncPreserving::new(&run);
    let racy = these.racy(&Budget::lasting(PATIENCE));
    let time = on_cpu()? - begin;
    let races = these.races(&Budget::lasting(PATIENCE));
    let deadlocks = these.deadlocks(&Budget::lasting(PATIENCE));
    for stopped in [racy.stopped, races.stopped, deadlocks.stopped] {
        if stopped != StopReason::Complete {
            bail!("gave up: {stopped:?}");
        }
    }
    Ok(vec![
        name.to_string(),
        run.events.len().to_string(),
        cell(COUNTED[0], &hb_racy(&run, &orders)),
        cell(COUNTED[1], &shb_racy(&run)),
        cell(COUNTED[2], &racy.findings),
        cell(COUNTED[3], &lockset_racy(&run)),
        format!("{:.1}", time.as_secs_f64() * 1e3),
        races.findings.len().to_string(),
        deadlocks.findings.len().to_string(),
    ])
}

/// Formats racy events / places of racy events.
fn count(run: &Run, racy: &Racy) -> String {
    let sites = run.events.sites();
    let places: BTreeSet<_> = racy.iter().map(|row| sites.get(row.index())).collect();
    format!("{}/{}", racy.len(), places.len())
}

/// The counts in the table of a README beside the traces or above them.
fn others(folder: &Path) -> Result<Others> {
    let mut others = Others::new();
    let readme = [folder.join("README.md"), folder.join("../README.md")]
        .into_iter()
        .find(|file| file.is_file());
    let Some(readme) = readme else {
        return Ok(others);
    };
    let text = fs::read_to_string(readme)?;
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut head: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells = cells(line);
        let Some((trace, counts)) = cells.split_first() else {
            continue;
        };
        if trace == "trace" {
            head = counts.to_vec();
            continue;
        }
        for (column, count) in head.iter().zip(counts) {
            others.insert((trace.clone(), column.clone()), count.clone());
        }
    }
    Ok(others)
}
