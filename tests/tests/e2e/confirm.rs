//! Claims of `unsnarl explain` are executed: both orders, unless the user forbids it or the program is gone.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_core::{
    Certainty, Explanation, Tally, Verdict,
    diagnosis::{Evidence, PassedOver, Shows},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace};

/// A folder with runs of a program.
fn recorded(name: &str, compiler: TestedCompiler) -> Result<Workspace> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, compiler)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "3"], &command)?
        .exits(1)?;
    Ok(workspace)
}

fn first(workspace: &Workspace, words: &[&str]) -> Result<Explanation> {
    let words = [&["explain", "--format", "json"], words].concat();
    let finished = workspace.unsnarl(&words)?.exits(1)?;
    let mut explanations = finished.explanations()?.into_iter();
    explanations.next().context("no explanation")
}

fn verdict(explanation: &Explanation) -> Option<Verdict> {
    explanation
        .executed
        .as_ref()
        .map(|executed| executed.verdict)
}

#[test]
fn both_orders_are_executed() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = recorded("bank_account", compiler)?;
        let told = first(&workspace, &["--times", "4"])?;
        let all = Tally {
            fails: 4,
            of_fails: 4,
            passes: 4,
            of_passes: 4,
        };
        ensure!(told.confirmed == Some(all), "{told:?}");
        ensure!(told.certainty == Certainty::Confirmed, "{told:?}");
        workspace.unsnarl(&["explain"])?.exits(1)?.says(&[
            "Run again with lines 46 to 54 in one piece, it passes, whether line 38 of payroll (main.1) comes before or after.",
            "Confirmed: this order fails 10/10, the other passes 10/10.",
        ])?;
        for format in ["markdown", "html"] {
            let words = ["explain", "--times", "2", "--format", format];
            let said = workspace.unsnarl(&words)?.exits(1)?;
            said.says(&["this order fails 2/2, the other passes 2/2"])?;
        }
    }
    Ok(())
}

#[test]
fn experiments_find_where_it_was_decided() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Gcc)?;
    let told = first(&workspace, &[])?;
    let last = told.decisive.last().context("nothing is decisive")?;
    ensure!(last.after.is_all() && last.after.of == 40, "{last:?}");
    ensure!(last.before.fails < last.before.of, "{last:?}");
    let of_deposit = ["main.1", "main.2"].contains(&last.thread.as_str());
    ensure!(
        of_deposit && last.place.file.ends_with("bank_account.c"),
        "{last:?}"
    );
    let evidence = told.evidence.context("no experiment was made")?;
    ensure!(
        evidence.with.is_all() && evidence.without.fails == 0,
        "{evidence:?}"
    );
    ensure!(evidence.without.orders > 1, "{evidence:?}");
    ensure!(told.curve.len() > 3, "{:?}", told.curve);
    let page = workspace.unsnarl(&["explain", "--format", "html"])?;
    page.exits(1)?.says(&["<polyline", "Decided at"])?;
    Ok(())
}

#[test]
fn nothing_is_executed_when_the_user_says_so() -> Result<()> {
    let workspace = recorded("lost_counter", TestedCompiler::Gcc)?;
    let told = first(&workspace, &["--no-run"])?;
    ensure!(verdict(&told) == Some(Verdict::NotRun), "{told:?}");
    ensure!(told.certainty == Certainty::Likely, "{told:?}");
    workspace
        .unsnarl(&["explain", "--no-run"])?
        .exits(1)?
        .says(&["Likely: found in the recorded runs, not run again: --no-run."])?;
    Ok(())
}

#[test]
fn a_program_that_is_gone_or_built_anew_is_not_run() -> Result<()> {
    let workspace = recorded("lost_counter", TestedCompiler::Gcc)?;
    let program = workspace.path().join("lost_counter");
    let mut bytes = fs::read(&program)?;
    bytes.push(0);
    fs::write(&program, bytes)?;
    workspace.unsnarl(&["explain"])?.exits(1)?.says(&[
        "not run again:",
        "is another build than the one that was recorded",
        "next: record the new build: unsnarl record -- ./lost_counter",
    ])?;
    fs::remove_file(&program)?;
    let told = first(&workspace, &[])?;
    ensure!(verdict(&told) == Some(Verdict::NotRun), "{told:?}");
    ensure!(told.confirmed.is_none(), "{told:?}");
    workspace.unsnarl(&["explain"])?.exits(1)?.says(&[
        "not run again:",
        "next:",
        "Not executed: ranked by Ochiai's coefficient",
    ])?;
    Ok(())
}

#[test]
fn the_time_for_it_is_limited_and_that_is_said() -> Result<()> {
    let workspace = recorded("lost_counter", TestedCompiler::Gcc)?;
    let told = first(&workspace, &["--run-budget", "1ms"])?;
    ensure!(verdict(&told) == Some(Verdict::Unsettled), "{told:?}");
    workspace
        .unsnarl(&["explain", "--run-budget", "1ms"])?
        .exits(1)?
        .says(&[
            "the time for running it again was over",
            "next: give it more: --run-budget 2m",
        ])?;
    Ok(())
}

#[test]
fn why_names_the_engines_and_the_rank() -> Result<()> {
    let workspace = recorded("bank_account", TestedCompiler::Gcc)?;
    let told = first(&workspace, &[])?;
    let engines: Vec<&String> = told.contributions.iter().map(|one| &one.engine).collect();
    ensure!(
        engines == told.engines.iter().collect::<Vec<_>>(),
        "{told:?}"
    );
    workspace.unsnarl(&["explain", "--why"])?.exits(1)?.says(&[
        "Number 1: run again with both orders",
        "orders tells it from the order of the steps of",
        "The other order: main.2 bank_account.c:54 before main.1 bank_account.c:38.",
    ])?;
    Ok(())
}

#[test]
fn what_passing_runs_have_and_the_failing_one_lacks_stands_at_its_place() -> Result<()> {
    let workspace = recorded("use_before_init", TestedCompiler::Gcc)?;
    workspace.unsnarl(&["explain"])?.exits(1)?.says(&[
        "use_before_init.c:59",
        "(in passing runs main runs it here)",
    ])?;
    let told = first(&workspace, &["--no-run"])?;
    let [absent] = told.absent.as_slice() else {
        anyhow::bail!("{told:?}")
    };
    ensure!(
        (absent.place.line, absent.thread.as_str()) == (59, "main"),
        "{absent:?}"
    );
    Ok(())
}

/// Proposals that were passed over with a run that speaks against them.
fn with_counterexample(told: &Explanation) -> impl Iterator<Item = &PassedOver> {
    let over = told.passed_over.iter();
    over.filter(|other| other.counterexample.is_some())
}

#[test]
fn what_refutes_a_proposal_can_be_replayed() -> Result<()> {
    let workspace = recorded("critical_turn", TestedCompiler::Gcc)?;
    let runs = || fs::read_dir(workspace.path().join(".unsnarl/runs")).map(Iterator::count);
    let before = runs()?;
    let told = first(&workspace, &[])?;
    let mut shown = 0;
    for other in with_counterexample(&told) {
        let kept = other.counterexample.as_ref().context("it was kept")?;
        let (ends, of) = match kept.shows {
            Shows::FailsWithout => ("failed", other.evidence.map(fails_without)),
            Shows::PassesWith => ("passed", other.evidence.map(passes_with)),
        };
        ensure!(of.is_none_or(|share| share > 0), "{other:?}");
        let words = ["replay", &kept.run, "-n", "2"];
        let says = format!("the same run 2 of 2 times: {ends}");
        workspace.unsnarl(&words)?.exits(0)?.says(&[&says])?;
        shown += 1;
    }
    ensure!(shown > 0, "{told:?}");
    ensure!(runs()? == before, "none of them is a recorded run");
    let file = with_counterexample(&told)
        .next()
        .and_then(|other| other.counterexample.clone());
    let file = file.context("it was kept")?.run;
    ensure!(file.starts_with(".unsnarl/counterexamples/"), "{file}");
    let why = workspace.unsnarl(&["explain", "--why"])?.exits(1)?;
    why.says(&[
        "Not told (orders",
        "unsnarl replay",
        ".unsnarl/counterexamples/",
    ])?;
    Ok(())
}

fn fails_without(evidence: Evidence) -> u32 {
    evidence.without.fails
}

fn passes_with(evidence: Evidence) -> u32 {
    evidence.with.of - evidence.with.fails
}

#[test]
fn counterexamples_of_the_explanation_before_are_gone() -> Result<()> {
    let workspace = recorded("critical_turn", TestedCompiler::Gcc)?;
    let folder = workspace.path().join(".unsnarl/counterexamples");
    first(&workspace, &[])?;
    fs::write(folder.join("failed-proposed-0-00000000.arrow"), "old")?;
    fs::write(folder.join("notes.txt"), "the user's")?;
    first(&workspace, &[])?;
    ensure!(!folder.join("failed-proposed-0-00000000.arrow").exists());
    ensure!(folder.join("notes.txt").exists());
    Ok(())
}

#[test]
fn experiments_that_end_early_say_how_far_they_came() -> Result<()> {
    let workspace = recorded("critical_turn", TestedCompiler::Gcc)?;
    // The usual time is that of a usual machine.
    let whole = first(&workspace, &["--run-budget", "2m"])?;
    ensure!(whole.progress.is_none());
    let told = first(&workspace, &["--run-budget", "1ms"])?;
    let progress = told.progress.context("nothing says how far it came")?;
    ensure!(progress.tried.is_empty(), "{progress:?}");
    ensure!(
        progress.not_tried.first() == Some(&told.headline),
        "{progress:?}"
    );
    ensure!(progress.not_tried.len() > 1, "{progress:?}");
    ensure!(
        progress.not_asked.contains(&"predict".to_owned()),
        "{progress:?}"
    );
    let words = ["explain", "--why", "--run-budget", "1ms"];
    workspace.unsnarl(&words)?.exits(1)?.says(&[
        "The time for experiments was over (--run-budget): of",
        "none was tried",
        "Not tried: ",
    ])?;
    Ok(())
}

/// A dictionary that counts as ready before the first word is in it: the other thread does not wait for the lock under which
/// the words are added.
const SPELLING: &str = r#"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Dictionary {
public:
    bool knows(const std::string &word)
    {
        if (!ready_.load())
            load();
        size_t n = count_.load();
        for (size_t i = 0; i < n; i++)
            if (words_[i] == word)
                return true;
        return false;
    }

private:
    void load()
    {
        std::lock_guard<std::mutex> hold(loading_);
        if (ready_.load())
            return;
        ready_.store(true);
        for (const char *word : {"lock", "wait", "post", "join"})
            add(word);
    }

    void add(const char *word)
    {
        words_[count_.load()] = word;
        count_.fetch_add(1);
    }

    std::mutex loading_;
    std::atomic<bool> ready_{false};
    std::atomic<size_t> count_{0};
    std::vector<std::string> words_ = std::vector<std::string>(4);
};

static Dictionary dictionary;

static void check(const char *word)
{
    if (!dictionary.knows(word)) {
        std::fprintf(stderr, "'%s' is not spelled right\n", word);
        std::exit(3);
    }
}

int main()
{
    std::thread editor(check, "join"), printer(check, "wait");

    editor.join();
    printer.join();
    return 0;
}
"#;

/// A thread reads a count while another one is still adding to it. Schedules that reach the read count only where the rest of
/// the additions comes behind it.
#[test]
fn a_read_is_early_only_before_the_last_addition() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("spelling.cpp", SPELLING)?;
    let words = [
        "c++",
        "-g",
        "-O0",
        "-pthread",
        "spelling.cpp",
        "-o",
        "spelling",
    ];
    workspace.unsnarl(&words)?.exits(0)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "3"], "./spelling")?
        .exits(1)?;
    let finished = workspace
        .unsnarl(&["explain", "--format", "json"])?
        .exits(1)?;
    for told in finished.explanations()? {
        let evidence = told.evidence.as_ref().context("no experiment was made")?;
        ensure!(evidence.with.is_all(), "{told:?}");
        ensure!(told.certainty == Certainty::Confirmed, "{told:?}");
    }
    Ok(())
}
