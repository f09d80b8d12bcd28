//! The case studies of the paper on mining, as programs: lengths, reduction, times, groups, and the rank of the group
//! that names the lines to blame; then with bounded and with random subsets.

use crate::{measure::on_cpu, table::PrintedTable};
use anyhow::{Context, Result, ensure};
use std::{fs, path::Path, sync::Arc};
use unsnarl_core::{
    Budget, Corpus, CorpusKey, RunSummary, StopReason,
    findings::{self, Finding, FoundDependency},
    mining::{
        Mapping, Mined, MiningInput, MiningOptions, MiningSteps, Sample, Subset, WantedPatterns,
        abstract_patterns, mine, switches,
    },
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, program::compile_with};
use unsnarl_trace::read_run;

/// A case study.
struct CaseStudy {
    /// Its name in the paper.
    name: &'static str,
    /// Its program here.
    program: &'static str,
    /// The macro that selects its long form.
    define: Option<&'static str>,
    /// Failing and passing traces in the paper.
    runs: (usize, usize),
    /// Average length and average abstract length in the paper.
    lengths: (&'static str, &'static str),
}

/// Runs of a side that are recorded at most.
const MOST: usize = 100;
/// Runs that are made to get them.
const TRIES: &str = "4000";
/// Seeds of the random subsets.
const SEEDS: [u64; 3] = [1, 2, 3];
/// The page with the tables.
const PAGE: &str = "docs/engines/mining.md";
const BEGIN: &str = "<!-- begin: written by `cargo xtask bench mining` -->";
const END: &str = "<!-- end -->";

const fn case(
    name: &'static str,
    program: &'static str,
    define: Option<&'static str>,
    runs: (usize, usize),
    lengths: (&'static str, &'static str),
) -> CaseStudy {
    CaseStudy {
        name,
        program,
        define,
        runs,
        lengths,
    }
}

const CASES: [CaseStudy; 11] = [
    case("BankAccount", "bank_account", None, (40, 5), ("178", "13")),
    case(
        "CircularListRace",
        "circular_list",
        None,
        (64, 6),
        ("187", "9"),
    ),
    case(
        "CircularListRace, long",
        "circular_list",
        Some("-DJOBS=200"),
        (64, 6),
        ("13,122", "9"),
    ),
    case(
        "WrongAccessOrder",
        "wrong_access_order",
        None,
        (100, 100),
        ("73", "19"),
    ),
    case(
        "Apache25520(Log)",
        "log_buffer",
        None,
        (100, 100),
        ("115", "15"),
    ),
    case(
        "Apache25520(Log), long",
        "log_buffer",
        Some("-DLINES=10"),
        (675, 27),
        ("4,219", "14"),
    ),
    case(
        "MozjsClrMsgPane",
        "message_pane",
        None,
        (775, 45),
        ("7,144", "15"),
    ),
    case("MozjsStr", "string_table", None, (70, 66), ("407", "18")),
    case(
        "MozjsInterp",
        "property_cache",
        None,
        (610, 251),
        ("433", "89"),
    ),
    case("MoztxtFrame", "text_frame", None, (99, 91), ("409", "57")),
    case("bzip2smp", "chunk_buffer", None, (20, 20), ("12,997", "13")),
];

/// Prints the tables.
pub fn run() -> Result<()> {
    println!("{}", tables()?);
    Ok(())
}

/// Writes the tables into the page about the engine.
pub fn write_docs() -> Result<()> {
    let path = unsnarl_e2e::project().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (before, rest) = page.split_once(BEGIN).context("no place for the tables")?;
    let (_, after) = rest.split_once(END).context("no end of the tables")?;
    let tables = tables()?;
    fs::write(&path, format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))?;
    Ok(())
}

/// The runs of a case.
struct RecordedCase {
    program: TestProgram,
    corpus: Corpus,
}

fn tables() -> Result<String> {
    let mut lengths = PrintedTable::new(&[
        "program",
        "failing, passing runs",
        "events",
        "macros after pruning",
        "reduction",
        "in the paper: runs, events, macros",
    ]);
    let mut groups = PrintedTable::new(&[
        "program",
        "least support",
        "patterns with dependencies",
        "groups",
        "of these only in failing runs",
        "rank of the right one",
        "by the lines alone that depend on each other",
    ]);
    let mut times = PrintedTable::new(&[
        "program",
        "macros and dependencies, ms",
        "abstract patterns, ms",
        "steps 3 to 8 by dependencies, ms",
        "on macro traces, ms (rank)",
        "on original traces, ms (rank)",
    ]);
    let mut subsets = PrintedTable::new(&[
        "program",
        "most switches of a run",
        "bound: failing, passing runs, rank",
        "half of the runs, three times: rank",
    ]);
    for case in &CASES {
        eprintln!("{} ...", case.name);
        let recorded = record(case).with_context(|| case.name.to_owned())?;
        let (mined, stopped) = recorded.mine(&MiningOptions::default());
        ensure!(
            stopped == StopReason::Complete,
            "{stopped:?}, {:?}",
            mined.notes
        );
        lengths.row(length_row(case, &mined));
        groups.row(recorded.group_row(case, &mined));
        times.row(recorded.time_row(case)?);
        if case.define.is_none() {
            subsets.row(recorded.subset_row(case));
        }
    }
    Ok(format!(
        "Lengths (the paper's Table 3):\n\n{lengths}\nGroups (Figure 4):\n\n{groups}\n\
         Times of the processor (Table 5):\n\n{times}\nSubsets (Sections 5.5 and 5.6):\n\n{subsets}"
    ))
}

fn record(case: &CaseStudy) -> Result<RecordedCase> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open(case.program)?;
    let command = match case.define {
        None => program.compile(&workspace, TestedCompiler::Gcc)?,
        Some(define) => {
            let name = program.source.file_name().context("no file name")?;
            fs::copy(&program.source, workspace.path().join(name))?;
            compile_with(
                &workspace,
                Path::new(name),
                case.program,
                TestedCompiler::Gcc,
                &[define],
            )?;
            format!("./{}", case.program)
        }
    };
    let failing = case.runs.0.min(MOST).to_string();
    let passing = case.runs.1.min(MOST).to_string();
    let options = [
        "-n",
        TRIES,
        "--until-failing",
        &failing,
        "--keep-passing",
        &passing,
        "--chances",
        "none",
    ];
    let words = [&options[..], &program.recording()].concat();
    workspace.record(&words, &command)?.exits(1)?;
    let mut corpus: Option<Corpus> = None;
    for name in workspace.runs()? {
        let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
        let key = CorpusKey::of(&run);
        let corpus = corpus.get_or_insert_with(|| Corpus::new(key));
        corpus.insert(RunSummary::new(name, Arc::new(run)));
    }
    let corpus = corpus.context("no runs")?;
    Ok(RecordedCase { program, corpus })
}

impl RecordedCase {
    fn inputs(&self) -> Vec<MiningInput<'_>> {
        let input = |run: &'_ RunSummary| run.is_failure() || run.is_pass();
        let runs = self.corpus.runs().filter(|run| input(run));
        runs.map(|run| MiningInput {
            trace: &run.accesses,
            failing: run.is_failure(),
        })
        .collect()
    }

    fn mine(&self, options: &MiningOptions) -> (Mined, StopReason) {
        mine(&self.inputs(), options, &Budget::unlimited())
    }

    /// The place of the first group with a line of each part of what the program expects: among the lines
    /// that depend on each other alone, or among all of its pattern.
    fn rank(&self, options: &MiningOptions, alone: bool) -> String {
        let answer = findings::mining::ask(&self.corpus, options, &Budget::unlimited());
        let right = |finding: &Finding| {
            let parts = self.program.expectation.parts.iter();
            let mut parts = parts.filter(|(part, _)| *part != "also");
            parts.all(|(_, lines)| {
                let mut sites = finding.sites.iter().zip(0..).filter(|(_, index)| {
                    let depends = |d: &FoundDependency| d.head == *index || d.tail == *index;
                    !alone || finding.dependencies.iter().any(depends)
                });
                sites.any(|(site, _)| lines.contains(&site.place.line))
            })
        };
        let rank = answer.findings.iter().position(right);
        rank.map_or("none".to_owned(), |rank| (rank + 1).to_string())
    }

    fn rank_text(&self, options: &MiningOptions) -> String {
        self.rank(options, false)
    }

    fn group_row(&self, case: &CaseStudy, mined: &Mined) -> Vec<String> {
        let only_failing = mined.groups.iter().filter(|group| group.passing == 0);
        vec![
            case.name.to_owned(),
            format!("{} %", mined.figures.min_support),
            mined.figures.patterns.to_string(),
            mined.groups.len().to_string(),
            only_failing.count().to_string(),
            self.rank_text(&MiningOptions::default()),
            self.rank(&MiningOptions::default(), true),
        ]
    }

    fn time_row(&self, case: &CaseStudy) -> Result<Vec<String>> {
        let inputs = self.inputs();
        let budget = Budget::unlimited();
        let begin = on_cpu()?;
        let prepared = MiningSteps::new(&inputs, &Subset::default(), &budget);
        let prepared = prepared.ok().context("gave up")?;
        let ready = on_cpu()?;
        let options = MiningOptions::default();
        let wanted = WantedPatterns {
            least: prepared.set.failing,
            below: prepared.set.failing + 1,
            longest: options.longest,
            effort: options.effort,
            most: options.most_patterns,
        };
        let (data, related) = (prepared.sequences(), prepared.related());
        abstract_patterns(&data, &related, &wanted, &budget);
        let patterns = on_cpu()?;
        let ms = |time: std::time::Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        let mut row = vec![
            case.name.to_owned(),
            ms(ready - begin),
            ms(patterns - ready),
        ];
        let before = patterns - begin;
        for mapping in [
            Mapping::Dependencies,
            Mapping::MacroTraces,
            Mapping::OriginalTraces,
        ] {
            let options = MiningOptions { mapping, ..options };
            let begin = on_cpu()?;
            let (_, stopped) = self.mine(&options);
            let time = ms((on_cpu()? - begin).saturating_sub(before));
            row.push(match (mapping, stopped) {
                (Mapping::Dependencies, _) => time,
                (_, StopReason::Complete) => format!("{time} ({})", self.rank_text(&options)),
                _ => format!("{time}, gave up ({})", self.rank_text(&options)),
            });
        }
        Ok(row)
    }

    fn subset_row(&self, case: &CaseStudy) -> Vec<String> {
        let (all, _) = self.mine(&MiningOptions::default());
        let set = &all.prepared.set;
        let of_traces = set.traces.iter().map(|t| switches(&t.events, &set.items));
        let most = of_traces.max().unwrap_or(0);
        let bounds: Vec<u32> = (2..most).rev().take(4).collect();
        let bounded = bounds.iter().map(|bound| {
            let subset = Subset {
                switches: Some(*bound),
                sample: None,
            };
            let options = MiningOptions {
                subset,
                ..MiningOptions::default()
            };
            let (mined, _) = self.mine(&options);
            let set = &mined.prepared.set;
            format!(
                "{bound}: {}, {}, {}",
                set.failing,
                set.passing,
                self.rank_text(&options)
            )
        });
        let halves = SEEDS.map(|seed| {
            let sample = Sample {
                seed,
                failing: (set.failing as usize).div_ceil(2),
                passing: (set.passing as usize).div_ceil(2),
            };
            let subset = Subset {
                switches: None,
                sample: Some(sample),
            };
            self.rank_text(&MiningOptions {
                subset,
                ..MiningOptions::default()
            })
        });
        vec![
            case.name.to_owned(),
            most.to_string(),
            bounded.collect::<Vec<_>>().join("; "),
            halves.join(", "),
        ]
    }
}

fn length_row(case: &CaseStudy, mined: &Mined) -> Vec<String> {
    let set = &mined.prepared.set;
    let (events, macros) = (mined.average_length(), mined.average_abstract_length());
    let (theirs, their_macros) = case.lengths;
    vec![
        case.name.to_owned(),
        format!("{}, {}", set.failing, set.passing),
        format!("{events:.0}"),
        format!("{macros:.0}"),
        format!("{:.0} %", 100.0 * (1.0 - macros / events.max(1.0))),
        format!("{}, {}; {theirs}; {their_macros}", case.runs.0, case.runs.1),
    ]
}
