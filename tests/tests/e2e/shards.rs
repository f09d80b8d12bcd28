//! Shards of a campaign: each run belongs to one of them, and is the same run in all.

use anyhow::{Context, Result, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace, program::compile};
use unsnarl_trace::{Outcome, read_run};

/// Number of shards.
const SHARDS: usize = 3;

fn record(workspace: &Workspace, out: &str, options: &[&str]) -> Result<Finished> {
    let words = [&["record", "--out", out][..], options, &["--", "./prog"]].concat();
    workspace.unsnarl(&words)
}

/// The run files of a folder.
fn files(workspace: &Workspace, folder: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let names = workspace.runs_in(folder)?.into_iter();
    names
        .map(|name| {
            let path = workspace
                .path()
                .join(folder)
                .join(&name)
                .with_extension("arrow");
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            Ok((name, bytes))
        })
        .collect()
}

/// Records all shards, each into a folder of its own, and returns their files together.
fn union(workspace: &Workspace, options: &[&str]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for number in 1..=SHARDS {
        let (shard, out) = (format!("{number}/{SHARDS}"), format!("part{number}"));
        let words = [options, &["--shard", &shard]].concat();
        let said = record(workspace, &out, &words)?;
        ensure!(said.stderr.contains(&format!("shard {shard}")), "{said}");
        let own = files(workspace, &out)?;
        let twice = own.keys().find(|name| all.contains_key(*name));
        ensure!(twice.is_none(), "{twice:?} is in two shards: {options:?}");
        all.extend(own);
    }
    Ok(all)
}

fn compare(workspace: &Workspace, options: &[&str]) -> Result<BTreeMap<String, Vec<u8>>> {
    let words = [options, &["--shard", "1/1"]].concat();
    record(workspace, "whole", &words)?;
    let (whole, parts) = (files(workspace, "whole")?, union(workspace, options)?);
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    ensure!(
        names(&whole) == names(&parts),
        "{options:?}: {:#?}\nand\n{:#?}",
        names(&whole),
        names(&parts)
    );
    ensure!(whole == parts, "{options:?}: same names, other bytes");
    ensure!(whole.len() > 20, "{options:?}: {} runs", whole.len());
    Ok(whole)
}

#[test]
fn the_shards_of_random_strategies_are_the_whole() -> Result<()> {
    let workspace = TestProgram::compiled("bank_account", "prog")?;
    let portfolio = ["-n", "50", "--seed", "7", "-j", "2"];
    compare(&workspace, &portfolio)?;
    // What is recorded twice adds nothing.
    let before = files(&workspace, "part1")?;
    record(
        &workspace,
        "part1",
        &[&portfolio[..], &["--shard", "1/3"]].concat(),
    )?;
    ensure!(before == files(&workspace, "part1")?);
    Ok(())
}

#[test]
fn where_nothing_is_learned_the_shards_are_the_usual_campaign() -> Result<()> {
    let workspace = TestProgram::compiled("correct_bank", "prog")?;
    let options = [
        "-n",
        "30",
        "--seed",
        "4",
        "--strategy",
        "random:3",
        "--no-filter",
    ];
    record(&workspace, "usual", &options)?.exits(0)?;
    ensure!(files(&workspace, "usual")? == union(&workspace, &options)?);
    Ok(())
}

/// Outcome and order of conflicting events of each run in a folder.
fn classes(workspace: &Workspace, folder: &str) -> Result<BTreeSet<(Outcome, String)>> {
    let names = workspace.runs_in(folder)?.into_iter();
    let class = |name: String| {
        let path = workspace
            .path()
            .join(folder)
            .join(name)
            .with_extension("arrow");
        let meta = read_run(&path)?.meta;
        Ok((meta.outcome, meta.order))
    };
    names.map(class).collect()
}

#[test]
fn the_shards_of_the_exhaustive_search_are_the_whole() -> Result<()> {
    let workspace = TestProgram::compiled("bank_account", "prog")?;
    let options = ["--strategy", "exhaustive"];
    compare(&workspace, &options)?;
    record(&workspace, "usual", &options)?.says(&["bound 2: all"])?;
    ensure!(classes(&workspace, "usual")? == classes(&workspace, "whole")?);
    Ok(())
}

#[test]
fn an_interrupted_shard_goes_on_where_it_was() -> Result<()> {
    let workspace = TestProgram::compiled("bank_account", "prog")?;
    let options = ["--strategy", "exhaustive", "--shard", "2/3"];
    record(&workspace, "at_once", &options)?.says(&["shard 2/3: bound 2: all"])?;
    for _ in 0..4 {
        record(
            &workspace,
            "in_steps",
            &[&options[..], &["-n", "9"]].concat(),
        )?;
    }
    record(&workspace, "in_steps", &options)?.says(&["shard 2/3: bound 2: all"])?;
    ensure!(files(&workspace, "at_once")? == files(&workspace, "in_steps")?);
    Ok(())
}

/// A program that looks up the variable by which tests are divided.
const LOOKS: &str = "
#include <stdlib.h>
int main(void) { return getenv(\"TEST_SHARD_INDEX\") ? 1 : 0; }
";

#[test]
fn the_environment_tells_the_shard_on_request_only() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("looks.c", LOOKS)?;
    compile(&workspace, "looks.c".as_ref(), "prog", TestedCompiler::Gcc)?;
    let record = |shard: &str, variables: &[(&str, &str)]| {
        let words = [
            "record", "-n", "2", "--seed", "1", "--shard", shard, "--", "./prog",
        ];
        let mut command = workspace.unsnarl_command(&words)?;
        command.envs(variables.iter().copied());
        Finished::of(command)
    };
    let bazel = [
        ("TEST_SHARD_INDEX", "1"),
        ("TEST_TOTAL_SHARDS", "2"),
        ("TEST_SHARD_STATUS_FILE", "status"),
    ];
    let told =
        "this is shard 2/2, by TEST_SHARD_INDEX, TEST_TOTAL_SHARDS, TEST_SHARD_STATUS_FILE (Bazel)";
    record("auto", &bazel)?
        .exits(0)?
        .says(&[told, "1 run: 1 passed", "shard 2/2"])?;
    ensure!(workspace.path().join("status").is_file());
    // A shard that the user names is the user's own, and the program's environment as well.
    record("1/2", &bazel)?
        .exits(1)?
        .says(&["1 run: 1 failed"])?;
    record("auto", &[])?
        .exits(2)?
        .says(&["no variable tells", "next: name the shard"])?;
    let job = [("JOB_COMPLETION_INDEX", "1")];
    record("auto", &job)?.exits(2)?.says(&["--shard auto/8"])?;
    record("auto/2", &job)?
        .exits(0)?
        .says(&["by JOB_COMPLETION_INDEX (Kubernetes)"])?;
    let seedless = ["record", "--shard", "1/2", "--", "./prog"];
    workspace
        .unsnarl(&seedless)?
        .exits(2)?
        .says(&["--seed S"])?;
    Ok(())
}
