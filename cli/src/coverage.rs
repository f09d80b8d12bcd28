//! `unsnarl doctor --coverage`: the calls of a program, by what a recording makes of them.

use crate::arguments::OutputFormat;
use anyhow::Result;
use serde::Serialize;
use std::{collections::BTreeMap, path::Path, process::ExitCode};
use unsnarl_recorder::{
    build_command,
    modelled::{CallCoverage, Gap, PartCoverage, is_cpp},
};

/// Prints the calls of a program. The status is 1 when some that wait or synchronize are not modelled.
pub fn run(program: &Path, format: OutputFormat) -> Result<ExitCode> {
    let coverage = CallCoverage::of(program)?;
    match format {
        OutputFormat::Text => print(&coverage, program),
        OutputFormat::Json => {
            anstream::println!("{}", serde_json::to_string_pretty(&document(&coverage))?);
        }
    }
    Ok(ExitCode::from(u8::from(!coverage.is_whole())))
}

fn print(coverage: &CallCoverage, program: &Path) {
    for part in &coverage.parts {
        print_part(part);
    }
    if !coverage.is_exact {
        outln!(
            "the program is stripped: the calls of the recorder's own runtime in it are listed as if they were the program's"
        );
    }
    if !coverage.is_instrumented {
        outln!(
            "the program was not built for recording\n  next: build it with `unsnarl cc` (as in {})",
            build_command::for_recording(program, Path::new("."))
        );
    }
    if coverage.is_whole() {
        outln!("every call that waits or synchronizes is modelled");
    }
}

fn print_part(part: &PartCoverage) {
    outln!("{}", part.path.display());
    line("modelled", part.modelled.iter());
    let (cpp, c): (Vec<&String>, Vec<&String>) = part.passed.iter().partition(|name| is_cpp(name));
    line("passed through", c.into_iter());
    if !cpp.is_empty() {
        outln!(
            "  passed through as well: {} functions of C++ libraries, whose own calls are below",
            cpp.len()
        );
    }
    for (gap, names) in by_gap(part) {
        line("NOT MODELLED", names.iter().copied());
        outln!("      {}", gap.consequence());
        outln!("      next: {}", gap.next());
    }
}

fn line<'n>(title: &str, names: impl ExactSizeIterator<Item = &'n String>) {
    let count = names.len();
    let names: Vec<&str> = names.map(String::as_str).collect();
    if count > 0 {
        outln!("  {title} ({count}): {}", names.join(" "));
    }
}

fn by_gap(part: &PartCoverage) -> BTreeMap<Gap, Vec<&String>> {
    let mut gaps: BTreeMap<Gap, Vec<&String>> = BTreeMap::new();
    for (name, gap) in &part.gaps {
        gaps.entry(*gap).or_default().push(name);
    }
    gaps
}

/// The whole list, as JSON has it.
#[derive(Serialize)]
struct CoverageDocument<'c> {
    instrumented: bool,
    exact: bool,
    whole: bool,
    files: Vec<CoveredFile<'c>>,
}

#[derive(Serialize)]
struct CoveredFile<'c> {
    path: String,
    modelled: Vec<&'c str>,
    passed_through: Vec<&'c str>,
    not_modelled: Vec<UnmodelledCall<'c>>,
}

#[derive(Serialize)]
struct UnmodelledCall<'c> {
    name: &'c str,
    kind: &'static str,
    consequence: &'static str,
    next: &'static str,
}

fn document(coverage: &CallCoverage) -> CoverageDocument<'_> {
    CoverageDocument {
        instrumented: coverage.is_instrumented,
        exact: coverage.is_exact,
        whole: coverage.is_whole(),
        files: coverage.parts.iter().map(file).collect(),
    }
}

fn file(part: &PartCoverage) -> CoveredFile<'_> {
    CoveredFile {
        path: part.path.display().to_string(),
        modelled: part.modelled.iter().map(String::as_str).collect(),
        passed_through: part.passed.iter().map(String::as_str).collect(),
        not_modelled: part.gaps.iter().map(unmodelled).collect(),
    }
}

fn unmodelled<'c>((name, gap): (&'c String, &'c Gap)) -> UnmodelledCall<'c> {
    UnmodelledCall {
        name,
        kind: gap.name(),
        consequence: gap.consequence(),
        next: gap.next(),
    }
}
