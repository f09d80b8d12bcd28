//! Measurements, with the program for each.

use crate::{
    setup::{self, MissingTool, Scope},
    shell::{cargo, run as shell_run},
};
use anyhow::{Result, bail};
use clap::ValueEnum;
use std::process::Command;

/// The parts that can be measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchPart {
    /// A trace of one million events: write, read, happens-before, locksets, beside a plain scan
    Trace,
    /// Per program: runs to the first failure, runs per second, replays, rank of the explanation
    Programs,
    /// By compiler and level of optimization: how many first explanations are right; into docs/explain.md
    Levels,
    /// Per program: whether ten recordings have the same first explanation; into docs/explain.md
    Seeds,
    /// Other thresholds for the experiments of the same recordings; into docs/explain.md
    Sensitivity,
    /// By `--run-budget`: how many first explanations are right, processor time; into docs/explain.md
    Budget,
    /// Explanations of many long runs: processor time and memory; into docs/explain.md
    Scale,
    /// Hits per 1,000 runs and strategy for every program, rates, sizes, replays; then `rates` and `overhead`
    Recorder,
    /// Controlled runs per second of processor time, started anew and copied, in C and C++
    Rates,
    /// Recording beside the plain program and beside gcc's own thread sanitizer
    Overhead,
    /// Recording of up to a billion accesses: time, memory, files; into docs/recording.md
    Long,
    /// Millions of accesses: the programs' own notes beside their run files
    Exactness,
    /// Path mode beside the plain program
    Paths,
    /// The 16 bugs of LOCON by access pairs, Falcon beside it; speed; into docs/engines/pairs.md
    Pairs,
    /// Bug explanation patterns: what mining costs, the case studies of its paper; into docs/engines/mining.md
    Mining,
    /// Predicted anomalies: the subjects of PECAN's Table 1, speed; into docs/engines/predict.md
    Predict,
    /// Differential schedule projections: Tables 1 and 2 of their paper, growth; into docs/engines/dsp.md
    Dsp,
    /// Error invariants: Table 1 of their paper on kernels of the same bugs, growth; into docs/engines/invariants.md
    Invariants,
    /// Explanations of all programs: class, lines, what experiments show, fixes, time; into docs/explain.md
    Explain,
    /// Suggested fixes of all programs: offered, refused, and whether they hold; into docs/fixes.md
    Fixes,
    /// Fixes of programs whose locks stand behind functions, macros and classes, each one built; into docs/fixes.md
    Wrapped,
    /// Mutants of correct programs: place and class of the first explanation, fixes, claims; `jobs=N`, `limit=N`,
    /// `half=development`, `half=held-back`, `list`, `alarms`, names of programs, operators and mutants; without words
    /// into docs/explain.md
    Mutants,
    /// The language server: landing runs, hovers, a workspace with 1,000 runs, memory; into docs/editor-speed.md
    Editor,
    /// `unsnarl test` beside the plain suite, run once and repeated; into docs/testing.md
    Suites,
    /// From a run file landing to the diagnostic in the editor
    Latency,
}

/// Measures these sections, or all; other words are names of programs for the sections before them.
pub fn run(words: &[String]) -> Result<()> {
    setup::run(Scope::Tests, MissingTool::from_flag(false))?;
    for (section, names) in sections(words)? {
        measure(section, &names)?;
    }
    Ok(())
}

fn sections(words: &[String]) -> Result<Vec<(BenchPart, Vec<String>)>> {
    if words.is_empty() {
        let all = BenchPart::value_variants().iter();
        return Ok(all.map(|section| (*section, Vec::new())).collect());
    }
    let mut sections: Vec<(BenchPart, Vec<String>)> = Vec::new();
    for word in words {
        match (BenchPart::from_str(word, false), sections.last_mut()) {
            (Ok(section), _) => sections.push((section, Vec::new())),
            (Err(_), Some((_, names))) => names.push(word.clone()),
            (Err(_), None) => {
                let known = BenchPart::value_variants().iter();
                let known = known.filter_map(ValueEnum::to_possible_value);
                let known: Vec<String> = known.map(|one| one.get_name().to_owned()).collect();
                bail!(
                    "there is no section {word}: say one of {}",
                    known.join(", ")
                );
            }
        }
    }
    Ok(sections)
}

fn measure(section: BenchPart, names: &[String]) -> Result<()> {
    let mut command = match section {
        BenchPart::Trace => example("bench_trace"),
        BenchPart::Programs => end_to_end("programs"),
        BenchPart::Levels => end_to_end("levels"),
        BenchPart::Seeds => end_to_end("seeds"),
        BenchPart::Sensitivity => end_to_end("sensitivity"),
        BenchPart::Budget => end_to_end("budget"),
        BenchPart::Scale => end_to_end("scale"),
        BenchPart::Recorder => end_to_end("recorder"),
        BenchPart::Rates => end_to_end("rates"),
        BenchPart::Overhead => end_to_end("overhead"),
        BenchPart::Long => end_to_end("long"),
        BenchPart::Exactness => end_to_end("exactness"),
        BenchPart::Paths => end_to_end("paths"),
        BenchPart::Pairs => end_to_end("pairs"),
        BenchPart::Mining => end_to_end("mining"),
        BenchPart::Predict => end_to_end("predict"),
        BenchPart::Dsp => end_to_end("dsp"),
        BenchPart::Invariants => end_to_end("invariants"),
        BenchPart::Explain => end_to_end("explain"),
        BenchPart::Fixes => end_to_end("fixes"),
        BenchPart::Wrapped => end_to_end("wrapped"),
        BenchPart::Mutants => end_to_end("mutants"),
        BenchPart::Editor => end_to_end("editor"),
        BenchPart::Suites => end_to_end("suites"),
        BenchPart::Latency => end_to_end("latency"),
    };
    command.args(names);
    command.env("UNSNARL_TEST_NVIM", setup::neovim()?);
    shell_run(command)
}

fn example(name: &str) -> Command {
    cargo(&["run", "--release", "--package", "xtask", "--example", name])
}

fn end_to_end(section: &str) -> Command {
    cargo(&[
        "run",
        "--release",
        "--package",
        "unsnarl-e2e",
        "--bin",
        "bench",
        "--",
        section,
    ])
}
