//! Summaries of recorded programs, and the queries of `docs/fleet.md` on them.

use anyhow::{Context, Result, ensure};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use unsnarl_e2e::{
    Finished, TestProgram, TestedCompiler, Workspace, binary::python, program::compile_with,
};

/// Reads the summaries and the queries as the page says, and prints an answer per line as JSON.
const POLARS: &str = "
import json, sys
import polars as pl
folder, build, queries = sys.argv[1], sys.argv[2], json.load(sys.stdin)
ctx = pl.SQLContext(summaries=pl.scan_parquet(folder + '/*.parquet'))
for query in queries:
    rows = ctx.execute(query.replace('BUILD', build)).collect().to_dicts()
    print(json.dumps(rows, default=str))
";

type Rows = Vec<BTreeMap<String, serde_json::Value>>;

/// The queries of the page, in their order.
fn queries() -> Result<Vec<String>> {
    let page = fs::read_to_string(unsnarl_e2e::project().join("docs/fleet.md"))?;
    let blocks = page.split("```sql\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    Ok(blocks.map(str::to_owned).collect())
}

fn ask(workspace: &Workspace, folder: &str, build: &str) -> Result<Vec<Rows>> {
    let script = workspace.write("ask.py", POLARS)?;
    let questions = workspace.write("questions.json", &serde_json::to_string(&queries()?)?)?;
    let mut command = Command::new(python()?);
    command.arg(script).args([folder, build]);
    command
        .current_dir(workspace.path())
        .stdin(fs::File::open(questions)?);
    let answered = command.output()?;
    ensure!(
        answered.status.success(),
        "{}",
        String::from_utf8_lossy(&answered.stderr)
    );
    let text = String::from_utf8(answered.stdout)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn fleet(workspace: &Workspace, words: &[&str]) -> Result<Finished> {
    Finished::of(workspace.fleet_command(words)?)
}

fn record(workspace: &Workspace, program: &str) -> Result<()> {
    let options = [
        "record",
        "-n",
        "30",
        "--seed",
        "5",
        "--summaries",
        "--out",
        "runs",
        "--",
    ];
    let said = workspace.unsnarl(&[&options[..], &[program]].concat())?;
    said.exits(1)?.says(&["summaries written, 0 were there"])?;
    Ok(())
}

/// Two builds of a program, in the second of which all lines have moved, and a newer program that deadlocks.
fn recorded() -> Result<(Workspace, String)> {
    let workspace = Workspace::new()?;
    let text = fs::read_to_string(TestProgram::open("bank_account")?.source)?;
    workspace.write("bank.c", &text)?;
    let compile = |source: &Path, program| {
        compile_with(&workspace, source, program, TestedCompiler::Gcc, &[])
    };
    compile("bank.c".as_ref(), "bank")?;
    record(&workspace, "./bank")?;
    workspace.write("bank.c", &format!("\n\n{text}"))?;
    compile("bank.c".as_ref(), "bank")?;
    record(&workspace, "./bank")?;
    compile(&TestProgram::open("lock_order")?.source, "locks")?;
    record(&workspace, "./locks")?;
    let build = unsnarl_trace::read_run(&newest_of(&workspace, "locks")?)?
        .meta
        .build_id;
    Ok((workspace, build))
}

/// A run file of this program.
fn newest_of(workspace: &Workspace, program: &str) -> Result<PathBuf> {
    let paths = workspace.runs_in("runs")?.into_iter();
    let paths = paths.map(|name| {
        workspace
            .path()
            .join("runs")
            .join(name)
            .with_extension("arrow")
    });
    let mut own = paths.filter(|path| {
        unsnarl_trace::read_run(path).is_ok_and(|run| run.meta.program.ends_with(program))
    });
    own.next().context("no run of it")
}

fn number(row: &BTreeMap<String, serde_json::Value>, column: &str) -> Result<u64> {
    let value = row.get(column).and_then(serde_json::Value::as_u64);
    value.with_context(|| format!("no {column} in {row:?}"))
}

fn text<'r>(row: &'r BTreeMap<String, serde_json::Value>, column: &str) -> Result<&'r str> {
    let value = row.get(column).and_then(serde_json::Value::as_str);
    value.with_context(|| format!("no {column} in {row:?}"))
}

#[test]
fn the_queries_of_the_page_answer_about_recorded_programs() -> Result<()> {
    let (workspace, build) = recorded()?;
    let answers = ask(&workspace, "runs", &build)?;
    let [flaky, new, unseen, first, growth] = &answers[..] else {
        anyhow::bail!("{} queries", answers.len());
    };
    check_flaky(&workspace, flaky)?;
    // The failing lines of the program have moved, and it fails as before.
    let programs: Vec<&str> = new
        .iter()
        .map(|row| text(row, "program"))
        .collect::<Result<_>>()?;
    ensure!(programs == ["locks"], "{new:#?}");
    // What the first thread reads after the end of the others cannot come before what these write.
    let is_last = |row: &BTreeMap<_, _>| {
        text(row, "in_function").is_ok_and(|function| function == "main")
            && text(row, "before_function").is_ok_and(|function| function == "withdraw")
    };
    ensure!(unseen.iter().any(is_last), "{unseen:#?}");
    check_first(&workspace, first)?;
    check_causes(&workspace)?;
    for row in growth {
        ensure!(number(row, "total")? >= number(row, "fresh")? && number(row, "fresh")? > 5);
    }
    Ok(())
}

/// The counts are those of the run files, and both builds fail in one way.
fn check_flaky(workspace: &Workspace, flaky: &Rows) -> Result<()> {
    let runs = workspace.runs_in("runs")?;
    let passed = runs
        .iter()
        .filter(|name| name.starts_with("passed"))
        .count();
    let sum = |column| {
        flaky
            .iter()
            .map(|row| number(row, column))
            .sum::<Result<u64>>()
    };
    let (all, failing) = (sum("runs")?, sum("failing")?);
    ensure!(
        all == runs.len() as u64 && all - failing == passed as u64,
        "{flaky:#?}"
    );
    for row in flaky {
        ensure!(number(row, "ways")? == 1, "{flaky:#?}");
    }
    ensure!(flaky.len() == 2);
    Ok(())
}

/// Failing runs with something that no passing run has come before the deadlocks, and their files are there.
fn check_first(workspace: &Workspace, first: &Rows) -> Result<()> {
    let unseen = first
        .iter()
        .map(|row| number(row, "unseen"))
        .collect::<Result<Vec<u64>>>()?;
    let (some, none) = unseen.split_at(unseen.iter().filter(|unseen| **unseen > 0).count());
    ensure!(
        some.is_sorted() && !some.is_empty() && none.iter().all(|unseen| *unseen == 0),
        "{first:#?}"
    );
    for row in first {
        ensure!(
            workspace
                .path()
                .join("runs")
                .join(text(row, "file")?)
                .is_file()
        );
    }
    Ok(())
}

/// A cause has one id in both builds, and its example is there to replay.
fn check_causes(workspace: &Workspace) -> Result<()> {
    let report = |format| {
        workspace
            .unsnarl(&["report", "runs", "--format", format])?
            .exits(1)
    };
    let document: serde_json::Value = serde_json::from_str(&report("json")?.stdout)?;
    let causes = document
        .get("causes")
        .and_then(|causes| causes.as_array())
        .context("no causes")?;
    let builds = |kind: &str| {
        let cause = causes
            .iter()
            .find(|cause| cause.get("kind").is_some_and(|own| own == kind));
        cause.and_then(|cause| Some(cause.get("builds")?.as_array()?.len()))
    };
    ensure!(causes.len() == 2, "{document:#}");
    ensure!(
        builds("atomicity-violation") == Some(2) && builds("deadlock") == Some(1),
        "{document:#}"
    );
    for cause in causes {
        let example = cause
            .get("example")
            .and_then(|it| it.as_str())
            .context("no example")?;
        workspace.unsnarl(&["replay", example])?.exits(0)?;
        let signature = cause
            .get("signature")
            .and_then(|it| it.as_str())
            .context("no signature")?;
        ensure!(
            report("html")?.stdout.contains(signature)
                && report("text")?.stdout.contains(signature)
        );
    }
    Ok(())
}

#[test]
fn a_summary_is_written_once_and_is_the_same_again() -> Result<()> {
    let workspace = TestProgram::compiled("bank_account", "bank")?;
    record(&workspace, "./bank")?;
    let name = workspace
        .runs_in("runs")?
        .into_iter()
        .next()
        .context("no run")?;
    let summary = workspace
        .path()
        .join("runs")
        .join(&name)
        .with_extension("parquet");
    fleet(&workspace, &["summarize", "runs"])?
        .exits(0)?
        .says(&["0 summaries written, 30 were there"])?;
    let before = fs::read(&summary)?;
    fs::remove_file(&summary)?;
    fleet(&workspace, &["summarize", "runs"])?
        .exits(0)?
        .says(&["1 summaries written, 29 were there"])?;
    ensure!(
        fs::read(&summary)? == before,
        "the summary has other bytes now"
    );
    workspace.write("runs/failed-damaged.arrow", "no run")?;
    let said = fleet(&workspace, &["summarize", "runs"])?.exits(1)?;
    said.says(&["warning: cannot summarize runs/failed-damaged.arrow"])?;
    Ok(())
}
