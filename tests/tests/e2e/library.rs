//! Accesses of C library functions: each line of a program declares the effect of its call, and the run file must
//! agree.

use anyhow::{Context, Result, ensure};
use std::{collections::BTreeMap, fs, path::Path};
use unsnarl_e2e::{TestedCompiler, Workspace, consistent, program::compile_with};
use unsnarl_trace::{Run, model::flags, read_run};

const SOURCES: [&str; 2] = ["library.c", "library_data.c"];

/// Accesses of a line: `R text 3` for every byte.
type ByteAccesses = BTreeMap<u32, Vec<String>>;

fn expected(text: &str) -> Result<ByteAccesses> {
    let mut all = ByteAccesses::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some((_, comment)) = line.split_once("; // ") else {
            continue;
        };
        let mut bytes = Vec::new();
        for part in comment.split(", ").filter(|part| !part.trim().is_empty()) {
            let words: Vec<&str> = part.split(' ').collect();
            let [how, variable, first, count] = words[..] else {
                anyhow::bail!("line {number} has `{part}`");
            };
            let first: usize = first.parse()?;
            let end = first + count.parse::<usize>()?;
            bytes.extend((first..end).map(|at| format!("{how} {variable} {at}")));
        }
        bytes.sort();
        bytes.dedup();
        all.insert(number, bytes);
    }
    Ok(all)
}

fn recorded(run: &Run) -> Result<ByteAccesses> {
    let mut all = ByteAccesses::new();
    for (_, event) in run
        .events
        .iter()
        .filter(|(_, event)| event.kind.is_access())
    {
        let name = run.location(event.location);
        let (variable, start) = match name.split_once(['[', '+']) {
            Some((variable, rest)) => (variable, rest.trim_end_matches(']').parse().unwrap_or(0)),
            None => (name, 0),
        };
        let bytes_each = match variable {
            "text" | "copy" | "place" => 1,
            "wide" => 4,
            "numbers" => 8,
            _ => continue,
        };
        ensure!(
            event.flags & flags::UNFINISHED == 0 && event.value.is_some(),
            "{event:?}"
        );
        let start = bytes_each * start;
        let how = if event.kind.writes() { "W" } else { "R" };
        let bytes = all.entry(run.meta.site(event.site).line).or_default();
        let end = start + event.size as usize;
        bytes.extend((start..end).map(|at| format!("{how} {variable} {at}")));
    }
    for bytes in all.values_mut() {
        bytes.sort();
        bytes.dedup();
    }
    Ok(all)
}

fn check(compiler: TestedCompiler, options: &[&str]) -> Result<()> {
    SOURCES
        .iter()
        .try_for_each(|source| check_one(source, compiler, options))
}

fn check_one(source: &str, compiler: TestedCompiler, options: &[&str]) -> Result<()> {
    let workspace = Workspace::new()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
    let text = fs::read_to_string(folder.join(source))?;
    workspace.write(source, &text)?;
    compile_with(&workspace, Path::new(source), "library", compiler, options)?;
    workspace.record(&["-n", "1"], "./library")?.exits(0)?;
    let runs = workspace.runs()?;
    let run = runs.first().context("no run was kept")?;
    let run = read_run(&workspace.path().join(workspace.run_path(run)))?;
    let recorded = recorded(&run)?;
    let mut wrong = Vec::new();
    for (line, expected) in expected(&text)? {
        let found = recorded.get(&line).cloned().unwrap_or_default();
        if found != expected {
            let source = text.lines().nth(line as usize - 1).unwrap_or("").trim();
            wrong.push(format!("{source}\n  recorded: {}", found.join(", ")));
        }
    }
    ensure!(
        wrong.is_empty(),
        "{source}, {compiler:?} {options:?}:\n{}",
        wrong.join("\n")
    );
    let reads = consistent::check(&run, |_| false)?;
    ensure!(reads.agree > 100, "{reads:?}");
    Ok(())
}

#[test]
fn gcc() -> Result<()> {
    check(TestedCompiler::Gcc, &["-O0"])?;
    check(TestedCompiler::Gcc, &["-O2"])
}

#[test]
fn clang() -> Result<()> {
    check(TestedCompiler::Clang, &["-O0"])
}

/// A string is set behind a flag that says so: what its members do is part of the program, whatever the standard.
#[test]
fn members_of_a_string_are_recorded() -> Result<()> {
    const SOURCE: &str = r#"
#include <cassert>
#include <string>
#include <thread>

static bool ready;
static std::string name;

static void set() {
    ready = true;
    name = "a name that is too long to stand in the string itself";
}

static void look() {
    if (ready)
        assert(!name.empty());
}

int main() {
    std::thread setter(set), other(look);
    setter.join();
    other.join();
}
"#;
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        for standard in ["-std=c++11", "-std=c++20"] {
            let workspace = Workspace::new()?;
            let source = workspace.write("name.cpp", SOURCE)?;
            let options = ["-O0", standard];
            compile_with(&workspace, &source, "./name", compiler, &options)?;
            workspace.record(&["-n", "100"], "./name")?.exits(1)?;
            let told = workspace.unsnarl(&["explain"])?;
            told.says(&[
                "`ready` was changed before `name` was set",
                "reads length 0",
            ])?;
        }
    }
    Ok(())
}
