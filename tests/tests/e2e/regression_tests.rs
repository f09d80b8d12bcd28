//! `unsnarl export RUN --to test`: scripts that fail before the fix, pass after it, and never give a wrong answer.

use anyhow::{Context, Result, ensure};
use std::fs;
use unsnarl_e2e::{Finished, TestProgram, TestedCompiler, Workspace};

/// A program with a bug, and the script that pins it.
struct PinnedProgram {
    workspace: Workspace,
    source: String,
    text: String,
}

impl PinnedProgram {
    /// Records until the program fails and exports the first failing run.
    fn of(name: &str) -> Result<PinnedProgram> {
        let text = fs::read_to_string(&TestProgram::open(name)?.source)?;
        PinnedProgram::of_text(&format!("{name}.c"), text)
    }

    fn of_text(source: &str, text: String) -> Result<PinnedProgram> {
        let pinned = PinnedProgram {
            workspace: Workspace::new()?,
            source: source.to_owned(),
            text,
        };
        pinned.build(&pinned.text)?;
        let record = ["-n", "400", "--until-failing", "1"];
        pinned.workspace.record(&record, "./prog")?.exits(1)?;
        let mut runs = pinned.workspace.runs()?.into_iter();
        let run = runs
            .find(|run| !run.starts_with("passed"))
            .context("a failing run")?;
        let script = pinned
            .workspace
            .unsnarl(&["export", &run, "--to", "test"])?
            .exits(0)?;
        let here = pinned.workspace.path().to_string_lossy();
        ensure!(
            !script.stdout.contains(here.as_ref()),
            "a path of this machine: {}",
            script.stdout
        );
        pinned.workspace.write("pinned.sh", &script.stdout)?;
        // The script needs nothing of what was recorded.
        fs::remove_dir_all(pinned.workspace.path().join(".unsnarl"))?;
        Ok(pinned)
    }

    fn build(&self, text: &str) -> Result<()> {
        self.workspace.write(&self.source, text)?;
        self.workspace
            .unsnarl(&["cc", "-g", &self.source, "-o", "prog", "-pthread"])?
            .exits(0)?;
        Ok(())
    }

    fn edited(&self, edits: &[(&str, &str)]) -> Result<String> {
        let mut text = self.text.clone();
        for (from, to) in edits {
            ensure!(text.contains(from), "{from} is not in {}", self.source);
            text = text.replace(from, to);
        }
        Ok(text)
    }

    /// Checks the script's verdict on the program as it is built.
    fn says(&self, word: &str, status: i32) -> Result<Finished> {
        let mut command = self.workspace.command("sh", &["pinned.sh"]);
        command.env(
            "UNSNARL",
            self.workspace.unsnarl_command::<&str>(&[])?.get_program(),
        );
        let finished = Finished::of(command)?.exits(status)?;
        ensure!(finished.stdout.starts_with(word), "{finished:?}");
        Ok(finished)
    }
}

/// An entry is found with the lock held, and pinned after it was given back.
const CACHE: &str = "#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry { int pins; } *found, *kept;
static void *evict(void *arg)
{
    struct entry *gone = 0;
    pthread_mutex_lock(&lock);
    if (kept->pins == 0) {
        gone = kept;
        kept = 0;
    }
    pthread_mutex_unlock(&lock);
    if (gone)
        free(gone);
    return arg;
}
static void *use(void *arg)
{
    pthread_mutex_lock(&lock);
    found = kept;
    pthread_mutex_unlock(&lock);
    if (found)
        found->pins++;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    kept = calloc(1, sizeof *kept);
    pthread_create(&threads[0], 0, evict, 0);
    pthread_create(&threads[1], 0, use, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
";

#[test]
fn a_step_that_the_fix_makes_a_thread_leave_out_passes() -> Result<()> {
    let pinned = PinnedProgram::of_text("cache.c", CACHE.to_owned())?;
    pinned.says("fails: a heap block was used after it was freed", 1)?;
    let fixed = pinned.edited(&[(
        "    pthread_mutex_unlock(&lock);\n    if (found)\n        found->pins++;\n",
        "    if (found)\n        found->pins++;\n    pthread_mutex_unlock(&lock);\n",
    )])?;
    pinned.build(&fixed)?;
    let said = pinned.says("passes", 0)?;
    ensure!(
        said.stdout.contains("does not come about any more"),
        "{said:?}"
    );
    Ok(())
}

/// One critical section instead of two.
const ONE_SECTION: [(&str, &str); 2] = [
    (
        "    long available = account.balance;\n    pthread_mutex_unlock(&account.lock);\n",
        "    long available = account.balance;\n",
    ),
    (
        "        return false;\n\n    pthread_mutex_lock(&account.lock);\n",
        "    {\n        pthread_mutex_unlock(&account.lock);\n        return false;\n    }\n",
    ),
];

#[test]
fn a_lost_update_fails_before_the_fix_and_passes_after_it() -> Result<()> {
    let pinned = PinnedProgram::of("bank_account")?;
    pinned.says("fails: assertion `account.balance == 450` failed", 1)?;
    // Lines that move are found again, and change nothing.
    let moved = format!("// One line.\n\n// And another.\n{}", pinned.text);
    pinned.build(&moved)?;
    pinned.says("fails", 1)?;
    let fixed = pinned.edited(&ONE_SECTION)?;
    pinned.build(&format!("// One line.\n{fixed}"))?;
    let said = pinned.says("passes", 0)?;
    ensure!(
        said.stdout.contains("cannot happen any more") && said.stdout.contains("account.lock"),
        "{said:?}"
    );
    Ok(())
}

#[test]
fn a_forgotten_join_fails_before_the_fix_and_passes_after_it() -> Result<()> {
    let pinned = PinnedProgram::of("missing_join")?;
    pinned.says("fails: assertion", 1)?;
    pinned.build(&pinned.edited(&[
        ("i < PARTS - 1; i++", "i < PARTS; i++"),
        ("    pthread_join(helpers[PARTS - 1], NULL);\n", ""),
    ])?)?;
    pinned.says("passes", 0)?;
    Ok(())
}

#[test]
fn a_fix_that_rewrites_the_lines_ends_the_test() -> Result<()> {
    let pinned = PinnedProgram::of("lock_order")?;
    pinned.says("fails", 1)?;
    let ordered = "    struct account *first = from < to ? from : to, *second = from < to ? to : from;\n    pthread_mutex_lock(&first->lock);\n    pthread_mutex_lock(&second->lock);\n";
    let fixed = pinned.edited(&[(
        "    pthread_mutex_lock(&from->lock);\n    pthread_mutex_lock(&to->lock);\n",
        ordered,
    )])?;
    pinned.build(&fixed)?;
    // The lines that the order names are gone with this fix, and nobody says that it holds.
    pinned.says("skipped", 77)?;
    Ok(())
}

#[test]
fn an_order_that_cannot_be_followed_is_no_pass() -> Result<()> {
    let pinned = PinnedProgram::of("bank_account")?;
    let gone = pinned.edited(&[(
        "long available = account.balance;",
        "long available = account.balance + 0;",
    )])?;
    pinned.build(&gone)?;
    let said = pinned.says("skipped", 77)?;
    ensure!(
        said.stdout
            .contains("`long available = account.balance;` is no longer in bank_account.c"),
        "{said:?}"
    );
    // What is not built yet says nothing about the new text.
    pinned.build(&pinned.text)?;
    pinned
        .workspace
        .run("touch", &["-d", "1 hour", "bank_account.c"])?
        .exits(0)?;
    let said = pinned.says("skipped", 77)?;
    ensure!(said.stdout.contains("newer than the program"), "{said:?}");
    // A program that goes another way does not pass either.
    pinned.build(&pinned.edited(&[
        (
            "    pthread_create(&threads[1], ",
            "    if (!getenv(\"NOWHERE\")) exit(0);\n    pthread_create(&threads[1], ",
        ),
        (
            "#include <stdio.h>",
            "#include <stdio.h>\n#include <stdlib.h>",
        ),
    ])?)?;
    pinned.says("skipped", 77)?;
    Ok(())
}

#[test]
fn what_cannot_be_pinned_is_said() -> Result<()> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("sequential_sum")?.compile(&workspace, TestedCompiler::Gcc)?;
    workspace.record(&["-n", "40"], &command)?.exits(1)?;
    let run = workspace.runs()?.into_iter().next().context("a run")?;
    let finished = workspace
        .unsnarl(&["export", &run, "--to", "test"])?
        .exits(2)?;
    ensure!(
        finished.stderr.contains("fails in every order"),
        "{finished:?}"
    );
    workspace.write(
        "plain.json",
        "{\"unsnarl_schedule\": 1, \"program\": \"./prog\", \"events\": []}",
    )?;
    let finished = workspace
        .unsnarl(&["replay", "--test", "plain.json"])?
        .exits(2)?;
    ensure!(
        finished.stderr.contains("no test") && finished.stderr.contains("export RUN --to test"),
        "{finished:?}"
    );
    Ok(())
}
