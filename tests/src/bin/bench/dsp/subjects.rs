//! The programs of the paper as they were rebuilt here, with the paper's figures, and failing runs of them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};
use unsnarl_trace::{Run, read_run};

/// Number of runs in which a failure is waited for.
pub const RUNS: &str = "2000";

/// A program at a size, with the paper's figures ([symbiosis], Tables 1 and 2).
pub struct DspSubject {
    /// Its name in the paper.
    pub theirs: &'static str,
    program: &'static str,
    argument: &'static str,
    /// The paper's number of accesses of shared variables; of several failing runs the one that comes nearest is
    /// taken.
    pub accesses: usize,
    /// The paper's number of constraints.
    pub constraints: &'static str,
    /// The paper's number of unknowns.
    pub variables: &'static str,
    /// The paper's solver time.
    pub solver: &'static str,
    /// Number of pairs that the paper's tool tried.
    pub pairs: &'static str,
    /// Number of events of the paper's projection.
    pub shown: &'static str,
    /// Number of operations to read in the paper.
    pub to_read: &'static str,
}

const fn subject(
    theirs: &'static str,
    (program, argument): (&'static str, &'static str),
    accesses: usize,
    [constraints, variables, solver]: [&'static str; 3],
    [pairs, shown, to_read]: [&'static str; 3],
) -> DspSubject {
    DspSubject {
        theirs,
        program,
        argument,
        accesses,
        constraints,
        variables,
        solver,
        pairs,
        shown,
        to_read,
    }
}

/// The programs of the paper's tables.
pub const SUBJECTS: &[DspSubject] = &[
    subject(
        "crasher",
        ("crasher", "14"),
        266,
        ["22295", "400", "1 m 2 s"],
        ["27", "8", "3"],
    ),
    subject(
        "sbuff",
        ("cpp_string_buffer", "2"),
        69,
        ["423", "102", "1 s"],
        ["9", "16", "3"],
    ),
    subject(
        "pfscan",
        ("file_scanner", "4"),
        74,
        ["678", "131", "1 s"],
        ["5", "21", "3"],
    ),
    subject(
        "pbz (S)",
        ("block_compressor", "7"),
        176,
        ["1361", "289", "1 s"],
        ["1", "20", "3"],
    ),
    subject(
        "pbz (M)",
        ("block_compressor", "15"),
        367,
        ["6771", "564", "26 s"],
        ["1", "36", "3"],
    ),
    subject(
        "pbz (L)",
        ("block_compressor", "52"),
        1156,
        ["514548", "2866", "15 h 15 m"],
        ["2", "168", "6"],
    ),
    subject(
        "airline",
        ("airline", "7"),
        36,
        ["2670", "84", "1 s"],
        ["1", "7", "3"],
    ),
    subject(
        "bank",
        ("bank_total", "13"),
        115,
        ["8250", "197", "2 s"],
        ["181", "56", "6"],
    ),
    subject(
        "2stage",
        ("two_stage", "5"),
        49,
        ["264", "88", "1 s"],
        ["14", "12", "3"],
    ),
    subject(
        "c4j (S)",
        ("object_cache", "2"),
        28,
        ["122", "51", "1 s"],
        ["1", "28", "6"],
    ),
    subject(
        "c4j (M)",
        ("object_cache", "60"),
        1247,
        ["303626", "1810", "51 s"],
        ["1", "11", "3"],
    ),
    subject(
        "c4j (L)",
        ("object_cache", "68"),
        1411,
        ["1142120", "2051", "1 h 25 m"],
        ["1", "5", "3"],
    ),
];

/// The programs whose time is measured, by the number of accesses.
pub const TARGETS: &[DspSubject] = &[
    target(("crasher", "14"), 266),
    target(("crasher", "58"), 1156),
    target(("crasher", "250"), 5000),
    target(("block_compressor", "10"), 266),
    target(("block_compressor", "52"), 1156),
    target(("block_compressor", "250"), 5000),
    target(("object_cache", "13"), 266),
    target(("object_cache", "56"), 1156),
    target(("object_cache", "240"), 5000),
];

const fn target(program: (&'static str, &'static str), accesses: usize) -> DspSubject {
    subject("", program, accesses, [""; 3], [""; 3])
}

/// A failing run of a program.
pub struct DspRun {
    /// The workspace that holds it.
    pub workspace: Workspace,
    /// The run file in the workspace.
    pub run_file: String,
    /// Its sizes.
    pub sizes: RunSizes,
    /// Lines of code, comments and blanks aside.
    pub lines: usize,
    program: TestProgram,
}

/// Sizes of a run.
pub struct RunSizes {
    /// Threads.
    pub threads: usize,
    /// Locations that several threads access and one writes.
    pub variables: usize,
    /// Accesses of these.
    pub accesses: usize,
    /// Events.
    pub events: usize,
}

impl RunSizes {
    fn of(run: &Run) -> RunSizes {
        let mut uses: BTreeMap<u32, (BTreeSet<u16>, bool, usize)> = BTreeMap::new();
        for (_, event) in run
            .events
            .iter()
            .filter(|(_, event)| event.kind.is_access())
        {
            let (threads, written, count) = uses.entry(event.location.0).or_default();
            threads.insert(event.thread.0);
            *written |= event.kind.writes();
            *count += 1;
        }
        uses.retain(|_, (threads, written, _)| threads.len() > 1 && *written);
        RunSizes {
            threads: run.meta.threads.len(),
            variables: uses.len(),
            accesses: uses.values().map(|(_, _, count)| count).sum(),
            events: run.events.len(),
        }
    }
}

/// The agreement of a projection with its program's header.
pub struct JudgedProjection {
    /// `true` if the differing data flows are between a line that is the cause and one that interferes.
    pub explains: bool,
    /// `true` if making its region atomic, or keeping its order, removes the bug.
    pub finds_fix: bool,
}

impl DspSubject {
    /// The program with its argument.
    pub fn name(&self) -> String {
        format!("`{} {}`", self.program, self.argument)
    }

    /// Records failing runs with clang, and takes the one whose number of accesses is nearest to the paper's. `None`
    /// when none of [`RUNS`] runs failed.
    pub fn record(&self) -> Result<Option<DspRun>> {
        let program = TestProgram::open(self.program)?;
        let workspace = Workspace::new()?;
        let command = program.compile(&workspace, TestedCompiler::Clang)?;
        let words = ["record", "--seed", "1", "-n", RUNS, "--until-failing", "5"];
        let limits = ["--max-events", "10000000", "--timeout", "60"];
        let words = [&words[..], &limits, &["--", &command, self.argument]].concat();
        let recorded = workspace.unsnarl(&words)?;
        if recorded.status == Some(0) {
            return Ok(None);
        }
        recorded.exits(1)?;
        let mut nearest: Option<(usize, String, RunSizes)> = None;
        for name in workspace.runs_that("failed")? {
            let run_file = workspace.run_path(&name);
            let sizes = RunSizes::of(&read_run(&workspace.path().join(&run_file))?);
            let far = sizes.accesses.abs_diff(self.accesses);
            if nearest.as_ref().is_none_or(|(least, ..)| far < *least) {
                nearest = Some((far, run_file, sizes));
            }
        }
        let (_, run_file, sizes) = nearest.context("no failing run")?;
        let text = fs::read_to_string(&program.source)?;
        Ok(Some(DspRun {
            workspace,
            run_file,
            sizes,
            lines: lines(&text),
            program,
        }))
    }

    /// The program's file, and the argument that gives it its size.
    pub fn source(&self) -> Result<(TestProgram, &'static str)> {
        Ok((TestProgram::open(self.program)?, self.argument))
    }
}

fn lines(text: &str) -> usize {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().filter(code).count()
}

impl DspRun {
    /// Compares a projection with the program's header.
    pub fn judge(&self, projection: Option<&Value>) -> Result<JudgedProjection> {
        let Some(projection) = projection else {
            return Ok(JudgedProjection {
                explains: false,
                finds_fix: false,
            });
        };
        let operations = projection["operations"]
            .as_array()
            .context("no operations")?;
        ensure!(!operations.is_empty(), "no operations are shown");
        let line = |operation: &Value| operation["line"].as_u64().unwrap_or_default() as u32;
        let flowing = operations
            .iter()
            .filter(|operation| operation["is_in_flow"].as_bool().unwrap_or_default());
        let flowing: BTreeSet<u32> = flowing.map(line).collect();
        let of = |wanted: &str| -> BTreeSet<u32> {
            let parts = self.program.expectation.parts.iter();
            let parts = parts.filter(|(part, _)| part.starts_with(wanted));
            parts.flat_map(|(_, lines)| lines.clone()).collect()
        };
        let (causes, interference) = (of("cause"), of("interference"));
        let touches = |lines: &BTreeSet<u32>| !lines.is_disjoint(&flowing);
        let advice = &projection["advice"];
        let at = |name: &str| {
            let index = advice[name]
                .as_u64()
                .and_then(|at| usize::try_from(at).ok());
            index.and_then(|index| operations.get(index)).map(line)
        };
        let known: BTreeSet<u32> = of("");
        let finds_fix = match advice["kind"].as_str() {
            Some("region") => {
                let border = |name: &str| {
                    let line = advice["region"].get(name).and_then(Value::as_u64);
                    line.unwrap_or_default()
                };
                let within =
                    |line: &u32| (border("first")..=border("last")).contains(&u64::from(*line));
                let parts = self.program.expectation.parts.iter();
                let mut parts = parts.filter(|(part, _)| part.starts_with("cause"));
                parts.all(|(_, lines)| lines.iter().any(within))
            }
            Some("order") => [at("first"), at("second")]
                .iter()
                .all(|line| line.is_some_and(|line| known.contains(&line))),
            _ => false,
        };
        Ok(JudgedProjection {
            explains: touches(&causes) && touches(&interference),
            finds_fix,
        })
    }
}
