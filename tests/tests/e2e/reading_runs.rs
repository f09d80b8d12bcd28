//! Commands that read runs: where they find them, and what they say of sources that have changed since.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

/// Two threads fail in one of two ways.
const TWO_WAYS: &str = "#include <assert.h>
#include <pthread.h>
static int first, second;
static void *add(void *arg)
{
    first++;
    second++;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(first == 2);
    assert(second == 2);
    return 0;
}
";

fn recorded() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    let options = ["-n", "400", "--until-failing", "2"];
    workspace.record(&options, &command)?.exits(1)?;
    Ok(workspace)
}

fn below(workspace: &Workspace, words: &[&str]) -> Result<Finished> {
    let folder = workspace.path().join("src/deep");
    fs::create_dir_all(&folder)?;
    let mut command = workspace.unsnarl_command(words)?;
    command.current_dir(folder);
    Finished::of(command)
}

#[test]
fn runs_are_found_above() -> Result<()> {
    let workspace = recorded()?;
    let found = below(&workspace, &["explain", "--no-run"])?.exits(1)?;
    ensure!(found.stdout.contains("was lost"), "{found:?}");
    below(&workspace, &["report"])?.exits(1)?;
    let run = workspace.runs_that("failed")?;
    let run = run.first().context("a failing run")?;
    below(&workspace, &["export", run, "--to", "std"])?.exits(0)?;
    below(&workspace, &["explain", "nosuch"])?
        .exits(2)?
        .says(&["there is no file or folder nosuch", "next:"])?;
    let empty = Workspace::new()?;
    below(&empty, &["explain"])?.exits(2)?.says(&[
        "there are no runs in .unsnarl/runs, neither of this folder nor of one above it",
    ])?;
    Ok(())
}

#[test]
fn one_run_is_compared_with_the_passing_ones_beside_it() -> Result<()> {
    let workspace = recorded()?;
    let failed = workspace.runs_that("failed")?;
    ensure!(failed.len() > 1, "{failed:?}");
    for run in failed.iter().take(2) {
        let told = workspace
            .unsnarl(&["explain", "--no-run", &workspace.run_path(run)])?
            .exits(1)?;
        let of_one = !told.stdout.contains(" more.") && !told.stdout.contains("no passing run");
        let is_told = told.stdout.contains("was lost") && told.stdout.contains("passing runs");
        ensure!(is_told && of_one, "{told:?}");
    }
    Ok(())
}

#[test]
fn an_unknown_fix_names_each_that_there_is_once() -> Result<()> {
    let workspace = recorded()?;
    let said = workspace.unsnarl(&["verify", "nosuch"])?.exits(2)?;
    let (_, ids) = said.stderr.split_once("name one of ").context("ids")?;
    let mut ids: Vec<&str> = ids.trim().split(", ").collect();
    let all = ids.len();
    ids.dedup();
    ensure!(all > 0 && ids.len() == all, "{said:?}");
    Ok(())
}

#[test]
fn lines_follow_edits() -> Result<()> {
    let workspace = recorded()?;
    let lines = || -> Result<Vec<String>> {
        let words = ["explain", "--no-run", "--format", "lines"];
        let said = workspace.unsnarl(&words)?.exits(1)?;
        Ok(said.stdout.lines().map(str::to_owned).collect())
    };
    let number = |line: &String| -> Option<u32> { line.split(':').nth(1)?.parse().ok() };
    let then: Vec<_> = lines()?.iter().map(number).collect();
    let source = TestProgram::open("bank_account")?.source;
    let file = lines()?
        .first()
        .and_then(|line| Some(line.split_once(':')?.0.to_owned()));
    let file = file.context("a file")?;
    ensure!(
        !source.ends_with(&file) || source.is_relative(),
        "the test would change {file}"
    );
    let file = workspace.path().join(file);
    let text = fs::read_to_string(&file)?;
    fs::write(&file, format!("// One.\n// Two.\n{text}"))?;
    let now: Vec<_> = lines()?.iter().map(number).collect();
    let moved: Vec<_> = then.iter().map(|line| line.map(|line| line + 2)).collect();
    ensure!(now == moved, "{then:?}, then {now:?}");
    fs::write(&file, "// Nothing is left.\n")?;
    let now = lines()?;
    let is_marked = |line: &String| line.contains("a line of the recorded text");
    ensure!(now.iter().all(is_marked), "{now:?}");
    Ok(())
}

#[test]
fn a_picture_of_several_ways_to_fail_is_refused_with_the_next_step() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("ways.c", TWO_WAYS)?;
    workspace
        .unsnarl(&["cc", "-g", "ways.c", "-o", "prog", "-pthread"])?
        .exits(0)?;
    workspace.record(&["-n", "400"], "./prog")?.exits(1)?;
    let draw = ["explain", "--engine", "dsp", "--format", "svg", "--no-run"];
    let said = workspace.unsnarl(&draw)?.exits(2)?;
    let next = "unsnarl explain --engine dsp --format svg ";
    let named = said.stderr.split_once(next).context("a command")?.1;
    let file = named.split_whitespace().next().context("a file")?;
    ensure!(workspace.path().join(file).is_file(), "{said:?}");
    let one = [&draw[..], &[file]].concat();
    let picture = workspace.unsnarl(&one)?.exits(1)?.stdout;
    ensure!(picture.starts_with("<svg"), "{picture}");
    Ok(())
}
