//! The project's own commands: `cargo xtask setup | demo | test | deny | dist | fleet | book | fuzz | bench | codegen | real | corpora
//! | gate | measure`.
//!
//! Everything here works from a clone in any folder, keeps to `CARGO_TARGET_DIR`, and leaves nothing
//! outside of the project but what the set-up installed and a cache in the user's cache folder.

mod bench;
mod book;
mod corpora;
mod demo;
mod deny;
mod dist;
mod fleet;
mod fuzz;
mod gate;
mod language;
mod measure;
mod miri;
mod prose;
mod real;
mod setup;
mod shell;
mod test;

use anyhow::Result;
use clap::{Parser, Subcommand};
use dist::DistStep;
use fleet::FleetStep;
use setup::{MissingTool, Scope};
use test::TestExtent;

#[derive(Parser)]
#[command(name = "cargo xtask", about, long_about = None)]
struct XtaskArguments {
    #[command(subcommand)]
    task: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Installs what tests and demo need and this machine lacks
    Setup {
        /// Install without asking
        #[arg(short)]
        yes: bool,
    },
    /// Compiles an example with a real bug, records it and explains why it fails
    Demo {
        /// Install what is missing without asking
        #[arg(short)]
        yes: bool,
    },
    /// Runs every check and every test
    Test {
        /// Install what is missing without asking
        #[arg(short)]
        yes: bool,
        /// Leave out what records and explains whole programs, and editors
        #[arg(long)]
        quick: bool,
        /// Test every program in all of its builds, not in one of them, and draw as many random cases as each test asks
        /// for
        #[arg(long, conflicts_with = "quick")]
        matrix: bool,
    },
    /// Feeds mutated valid inputs to what reads them, until one makes it panic or the time is over
    Fuzz {
        /// The target; an unknown one lists all
        name: String,
        /// Time to look for: 30s, 10m, 2h
        #[arg(long = "for", value_name = "TIME", default_value = "1m", value_parser = fuzz::time)]
        time: std::time::Duration,
    },
    /// Measures and prints tables
    Bench {
        /// Sections to measure, and for `programs`, `levels`, `recorder`, `pairs` and `explain` the names of
        /// programs; everything when not given
        #[arg(value_name = "SECTION|PROGRAM")]
        words: Vec<String>,
    },
    /// Fetches, builds and records projects from Debian's source packages; into docs/real-programs.md
    Real {
        /// Names of declarations under tests/debian; all when none is given
        names: Vec<String>,
        /// Put the declared mistake in, record until it shows, and print what is explained
        #[arg(long, conflicts_with = "mutants")]
        bug: bool,
        /// Put mistakes in by rule, see which of them are found, and judge what is explained
        #[arg(long)]
        mutants: bool,
    },
    /// Records the programs of the tests as data that is explained without executing anything (tests/corpora)
    Corpora {
        /// Programs; all when none is given
        names: Vec<String>,
        /// Accept what is said of the corpora as they are, instead
        #[arg(long)]
        answers: bool,
    },
    /// Writes the files that are made from declarations in the code
    Codegen {
        /// Only says which files are out of date
        #[arg(long)]
        check: bool,
    },
    /// Checks licences, duplicates, sources and, where their database can be reached, advisories of the dependencies
    Deny,
    /// Makes the packages, in target/dist
    Dist {
        /// Install what is missing without asking
        #[arg(short)]
        yes: bool,
        /// Install the packages that were made in a clean Debian root instead, and explain a program there
        #[arg(long = "try")]
        tries: bool,
    },
    /// Checks, builds and tests the engine for questions over a fleet, which no other command builds (minutes)
    Fleet {
        /// Measure its answers about made-up summaries instead, up to 100,000 runs; into docs/fleet.md
        #[arg(long)]
        measure: bool,
    },
    /// Builds the guide, in target/book
    Book,
    /// Checks the dependencies of the crates, the functions that core calls, and the language of doc comments
    Gate,
    /// Prints sizes, documentation, names and commit messages of the tree as a table
    Measure,
}

fn main() -> Result<()> {
    match XtaskArguments::parse().task {
        XtaskCommand::Setup { yes } => setup::run(Scope::Tests, MissingTool::from_flag(yes)),
        XtaskCommand::Demo { yes } => demo::run(MissingTool::from_flag(yes)),
        XtaskCommand::Test { yes, quick, matrix } => test::run(
            TestExtent::from_flags(quick, matrix),
            MissingTool::from_flag(yes),
        ),
        XtaskCommand::Fuzz { name, time } => fuzz::run(&name, time),
        XtaskCommand::Bench { words } => bench::run(&words),
        XtaskCommand::Real {
            names,
            bug,
            mutants,
        } => {
            let option = bug.then_some("--bug");
            real::run(&names, option.or(mutants.then_some("--mutants")))
        }
        XtaskCommand::Corpora { names, answers } => corpora::run(&names, answers),
        XtaskCommand::Codegen { check } => test::codegen(check),
        XtaskCommand::Deny => deny::run(),
        XtaskCommand::Dist { yes, tries } => dist::run(
            if tries { DistStep::Try } else { DistStep::Make },
            MissingTool::from_flag(yes),
        ),
        XtaskCommand::Fleet { measure } => fleet::run(if measure {
            FleetStep::Measure
        } else {
            FleetStep::Test
        }),
        XtaskCommand::Book => book::run(),
        XtaskCommand::Gate => gate::run(),
        XtaskCommand::Measure => measure::run(),
    }
}
