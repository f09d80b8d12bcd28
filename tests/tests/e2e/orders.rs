//! Atomic operations are recorded as written: what a program notes of each of its own, kind, place, memory
//! order and values, is what the run file says.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_e2e::{TestedCompiler, Workspace, consistent, program::compile_with};
use unsnarl_trace::{Event, EventKind, Run, Value, read_run};

/// One line of the notes: `rmw shared.i acq_rel 5 4`.
fn line(run: &Run, event: &Event) -> Option<String> {
    let is_atomic = event.kind.is_atomic() || event.kind == EventKind::Fence;
    let place = match event.kind {
        EventKind::Fence => "-",
        _ => run.location(event.location),
    };
    let is_noted = is_atomic && (place == "-" || place.starts_with("shared"));
    let order = event
        .order()
        .map_or("none".to_owned(), |order| format!("{order:?}"));
    let value = match event.value {
        _ if event.kind == EventKind::Fence => 0,
        Some(Value::Bits(bits)) => bits,
        // An address has no bits that mean the same in another run.
        Some(Value::Address(_)) | None => u64::MAX,
    };
    let old = match event.kind {
        EventKind::Rmw => event.old.unwrap_or(u64::MAX),
        _ => 0,
    };
    let kind = event.kind.name();
    is_noted.then(|| format!("{kind} {place} {} {value:x} {old:x}", words(&order)))
}

/// `AcqRel` as `acq_rel`.
fn words(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

/// The lines of every thread, by its number.
fn recorded(run: &Run, threads: usize) -> Vec<Vec<String>> {
    let mut lines = vec![Vec::new(); threads];
    for (_, event) in run.events.iter() {
        let of = lines.get_mut(usize::from(event.thread.0));
        if let (Some(of), Some(line)) = (of, line(run, &event)) {
            of.push(line);
        }
    }
    lines
}

fn compare(run: &Run, notes: &str, threads: usize) -> Result<usize> {
    let recorded = recorded(run, threads);
    for (thread, recorded) in (0..).zip(&recorded) {
        let number = format!("{thread} ");
        let noted: Vec<&str> = notes
            .lines()
            .filter_map(|line| line.strip_prefix(&number))
            .collect();
        for (i, (noted, recorded)) in noted.iter().zip(recorded).enumerate() {
            ensure!(
                noted == recorded,
                "operation {i} of thread {thread}: the program notes\n{noted}\nand the run file says\n{recorded}"
            );
        }
        ensure!(
            noted.len() == recorded.len(),
            "thread {thread} notes {} operations, the run file has {}: {:?} {:?}",
            noted.len(),
            recorded.len(),
            noted.get(recorded.len()),
            recorded.get(noted.len())
        );
    }
    Ok(notes.lines().count())
}

/// Builds `source` at every level, and compares the runs of every strategy.
fn check(source: &str, compiler: TestedCompiler, options: &[&str], least: usize) -> Result<()> {
    const THREADS: usize = 3;
    for level in ["-O0", "-O1", "-O2"] {
        let workspace = Workspace::new()?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
        workspace.write(source, &fs::read_to_string(folder.join(source))?)?;
        let options = [&[level, "-latomic"], options].concat();
        compile_with(&workspace, Path::new(source), "orders", compiler, &options)?;
        for strategy in ["random", "pct", "sequential"] {
            let out = format!("--out=runs-{strategy}");
            // A try that fails for no reason would be one more than is noted.
            let words = [
                "record",
                "-n1",
                "--seed=5",
                "--chances=none",
                "--strategy",
                strategy,
                &out,
            ];
            let program = ["--", "./orders", "notes", &THREADS.to_string()];
            workspace
                .unsnarl(&[&words[..], &program[..]].concat())?
                .exits(0)?;
            let names = workspace.runs_in(&format!("runs-{strategy}"))?;
            let name = names.first().context("no run was kept")?;
            let run = read_run(&workspace.path().join(format!("runs-{strategy}")).join(name))?;
            let notes = fs::read_to_string(workspace.path().join("notes"))?;
            let noted = compare(&run, &notes, THREADS)
                .with_context(|| format!("{compiler:?} {level} {strategy}"))?;
            ensure!(noted > least, "only {noted} operations were noted");
            let reads = consistent::check(&run, |_| false)?;
            ensure!(reads.agree > 100, "{reads:?}");
        }
    }
    Ok(())
}

macro_rules! checks {
    ($($name:ident: $source:literal, $options:expr, $least:literal;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn gcc() -> Result<()> {
                check($source, TestedCompiler::Gcc, &$options, $least)
            }

            #[test]
            fn clang() -> Result<()> {
                check($source, TestedCompiler::Clang, &$options, $least)
            }

            #[test]
            fn clang_14() -> Result<()> {
                check($source, TestedCompiler::Clang14, &$options, $least)
            }
        }
    )*};
}

checks! {
    c: "orders.c", [], 1500;
    cpp: "orders.cpp", ["-std=c++20"], 100;
}
