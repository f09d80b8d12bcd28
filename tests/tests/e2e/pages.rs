//! The pages under `docs/bugs`: their programs fail as they say, are explained as they show, and do
//! not fail after the change that they advise.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_e2e::{BugPage, TestedCompiler, Workspace, program::compile};

/// Asks the test to write the explanations into the pages instead of comparing them.
const UPDATE: &str = "UPDATE_EXPECT";

macro_rules! pages {
    ($($name:ident: $class:literal)*) => {
        $(
            #[test]
            fn $name() -> Result<()> {
                is_true($class)
            }
        )*

        #[test]
        fn none_is_left_out() {
            assert_eq!(BugPage::classes().unwrap(), [$($class),*]);
        }
    };
}

pages! {
    atomicity_violation: "atomicity-violation"
    data_race: "data-race"
    deadlock: "deadlock"
    lost_wakeup: "lost-wakeup"
    multi_variable_atomicity_violation: "multi-variable-atomicity-violation"
    order_violation: "order-violation"
    use_after_free: "use-after-free"
}

fn is_true(class: &str) -> Result<()> {
    let page = BugPage::open(class)?;
    is_explained_as_shown(&page).with_context(|| page.path.display().to_string())?;
    heals(&page).with_context(|| format!("{}, after the change", page.path.display()))
}

fn is_explained_as_shown(page: &BugPage) -> Result<()> {
    let workspace = Workspace::new()?;
    let file = build(&workspace, &page.program)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "3"], "./program")?
        .exits(1)?;
    let said = workspace.unsnarl(&["explain"])?.exits(1)?.stdout;
    let (_, explanations) = workspace.explain()?;
    let first = explanations.first().context("nothing is explained")?;
    page.expectation
        .check(first, Path::new(file))
        .with_context(|| said.clone())?;

    if std::env::var_os(UPDATE).is_some() {
        return page.show(&said);
    }
    let shown = page.shown();
    let same = without_runs(&said) == without_runs(shown);
    ensure!(same, "unsnarl says\n{said}\nbut the page shows\n{shown}");
    Ok(())
}

/// The text without what depends on how many runs there were and on the folder in which the program was
/// built: names and numbers of runs.
fn without_runs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let paragraph = match paragraph.split_once("Fails so") {
            Some((before, _)) => format!("{}\n", before.trim_end()),
            None => paragraph.to_owned(),
        };
        let lines = paragraph.lines().map(|line| {
            let counts = line.contains(" passing runs ");
            without_hashes(line).replace(|c: char| counts && c.is_ascii_digit(), "")
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Names of passing runs end in the hash of their content, which the folder decides as well.
fn without_hashes(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.rsplit_once('-') {
        Some((name, _)) if name.starts_with("passed-") => name,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

fn heals(page: &BugPage) -> Result<()> {
    let workspace = Workspace::new()?;
    build(&workspace, &page.healed)?;
    workspace.record(&["-n", "200"], "./program")?.exits(0)?;
    workspace.unsnarl(&["explain"])?.exits(0)?;
    Ok(())
}

fn build(workspace: &Workspace, program: &str) -> Result<&'static str> {
    let file = "program.c";
    workspace.write(file, program)?;
    compile(workspace, Path::new(file), "program", TestedCompiler::Gcc)?;
    Ok(file)
}
