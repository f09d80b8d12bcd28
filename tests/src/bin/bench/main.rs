//! The benchmarks behind `cargo xtask bench`: tables in Markdown on standard output, progress on
//! standard error.
//!
//! ```text
//! bench programs [NAME...]   how soon each bug is found, replayed and explained
//! bench levels [NAME...]     how many first explanations are right by compiler and level of optimization, into the docs
//! bench seeds [NAME...]      whether ten recordings of a program have the same first explanation, into the docs
//! bench sensitivity [NAME..] whether other thresholds would change what is confirmed in these recordings, into the docs
//! bench budget [NAME...]     right explanations and processor time by `--run-budget`, into the docs
//! bench scale                explanations of many long runs: processor time and memory, into the docs
//! bench rates                controlled runs per second of processor time
//! bench overhead             recording beside the compiler's own thread sanitizer
//! bench recorder [NAME...]   hits per 1,000 runs and strategy, rates, sizes, replays; then rates and overhead
//! bench long                 recording of up to a billion accesses, into the docs
//! bench exactness            what programs note of their own accesses beside what their run files say
//! bench paths                path mode beside the plain program
//! bench pairs [NAME...]      the 16 bugs of LOCON, Falcon beside it; without names also its speed, into the docs
//! bench pairs-bugs           the first half of it
//! bench pairs-speed          the second half: access pairs beside plain scans, growth
//! bench mining [WHAT]        bug explanation patterns: what they cost, the case studies of their paper, into the docs
//! bench predict [WHAT]       predicted anomalies: the subjects of their paper, speed, into the docs
//! bench dsp [WHAT]           differential schedule projections: the tables of their paper, growth, into the docs
//! bench invariants [WHAT]     error invariants: the kernels of their paper, growth, into the docs
//! bench explain [NAME...]    what `unsnarl explain` says of each program, and what experiments show, into the docs
//! bench fixes [NAME...]      suggested fixes: offered, refused, and whether they hold, into the docs
//! bench wrapped [NAME...]    fixes of programs whose locks stand behind functions and classes, into the docs
//! bench mutants [WHAT...]    mutants of correct programs: whether the explanations of those that fail are right, into the docs
//! bench editor [NAME...]     the language server: landing runs, hovers, 1,000 runs, memory, into the docs
//! bench suites               `unsnarl test` beside the plain suite, run once and repeated, into the docs
//! bench real [NAME...]       recording of Debian's packages, into the docs; with --bug their injected bugs
//! bench fleet ENGINE GENERATE  questions over made-up summaries, by these programs, into the docs
//! bench latency              from a run file landing to the diagnostic in the editor
//! ```

mod answers;
mod budget;
mod budget_plot;
mod cases;
mod docs;
mod dsp;
mod editor;
mod editor_client;
mod exactness;
mod explain;
mod fixes;
mod fleet;
mod hits;
mod invariants;
mod judged;
mod kept;
mod latency;
mod levels;
mod long;
mod measure;
mod mining;
mod mining_cases;
mod mining_inputs;
mod mining_speed;
mod mutants;
mod overhead;
mod pairs;
mod pairs_plot;
mod pairs_speed;
mod paths;
mod predict;
mod predict_orders;
mod predict_schedules;
mod predict_speed;
mod predict_table;
mod predict_traces;
mod programs;
mod rates;
mod real;
mod scale;
mod seeds;
mod sensitivity;
mod suites;
mod synthetic;
mod table;
mod wrapped;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((what, names)) if what == "programs" => programs::run(names),
        Some((what, names)) if what == "real" => real::run(names),
        Some((what, names)) if what == "levels" => levels::run(names),
        Some((what, names)) if what == "seeds" => seeds::run(names),
        Some((what, names)) if what == "sensitivity" => sensitivity::run(names),
        Some((what, names)) if what == "budget" => budget::run(names),
        Some((what, names)) if what == "recorder" => {
            hits::run(names)?;
            rates::run()?;
            overhead::run()
        }
        Some((what, [])) if what == "scale" => scale::run(),
        Some((what, [])) if what == "rates" => rates::run(),
        Some((what, [])) if what == "overhead" => overhead::run(),
        Some((what, [])) if what == "long" => long::run(),
        Some((what, [])) if what == "exactness" => exactness::run(),
        Some((what, [])) if what == "paths" => paths::run(),
        Some((what, words)) if what == "mining" => mining::run(words),
        Some((what, names)) if what == "pairs" => pairs::run(names),
        Some((what, [])) if what == "pairs-bugs" => pairs::bugs(&[]),
        Some((what, [])) if what == "pairs-speed" => pairs_speed::run(),
        Some((what, words)) if what == "predict" => predict::run(words),
        Some((what, words)) if what == "dsp" => dsp::run(words),
        Some((what, words)) if what == "invariants" => invariants::run(words),
        Some((what, names)) if what == "fixes" => fixes::run(names),
        Some((what, words)) if what == "fleet" => fleet::run(words),
        Some((what, names)) if what == "wrapped" => wrapped::run(names),
        Some((what, names)) if what == "explain" => explain::run(names),
        Some((what, words)) if what == "mutants" => mutants::run(words),
        Some((what, names)) if what == "editor" => editor::run(names),
        Some((what, [])) if what == "suites" => suites::run(),
        Some((what, [])) if what == "latency" => latency::run(),
        _ => bail!(
            "expected `programs`, `levels`, `seeds`, `sensitivity`, `budget`, `scale`, `recorder`, `rates`, `overhead`, `long`, `exactness`, `paths`, `pairs`, `pairs-bugs`, `pairs-speed`, `mining`, `predict`, `dsp`, `invariants`, `explain`, `fixes`, `wrapped`, `mutants`, `editor`, `suites`, `real`, `fleet` or `latency`, not `{}`",
            words.join(" ")
        ),
    }
}
