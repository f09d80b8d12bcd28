//! `unsnarl export RUN --to test`: a shell script that is a regression test.

use super::explained::explained;
use crate::{arguments::Export, message, pin};
use anyhow::{Result, bail};
use std::path::Path;
use unsnarl_core::BugKind;
use unsnarl_lab::executable::{Executable, ExecutionSettings};
use unsnarl_trace::{Run, shell};

/// The script, with the schedule in it.
pub fn script(path: &Path, run: &Run, arguments: &Export) -> Result<String> {
    let name = path.display().to_string();
    if !run.meta.outcome.is_failure() {
        bail!("{name} did not fail\n  next: name a failing run");
    }
    let given = ExecutionSettings {
        stdin: arguments.stdin.clone(),
        driver: None,
        timeout: arguments.timeout,
        word: arguments.trusting.word(),
    };
    let program = Executable::of(run, &name, &given)?;
    let explanation = explained(path)?.explanation;
    if explanation
        .as_ref()
        .is_some_and(|it| it.kind == BugKind::Sequential)
    {
        bail!(
            "the program fails in every order: there is none to pin\n  next: any test that runs it will do"
        );
    }
    let pinned = pin::make(run, explanation.as_ref(), &program)?;
    for line in &pinned.pinned.lines {
        if Path::new(&line.file).is_absolute() {
            message::warning(&format!(
                "{} lies outside this folder: the test works on this machine only\n  next: export in the folder that holds the sources",
                line.file
            ));
        }
    }
    let cause = explanation.map_or(String::new(), |explanation| explanation.headline);
    let stdin = arguments.stdin.as_ref();
    let stdin = stdin.map_or(String::new(), |file| {
        format!(" --stdin {}", shell::word(file))
    });
    let timeout = arguments.timeout.unwrap_or(run.meta.time()).as_secs_f64();
    let failure = comment(&pinned.pinned.failure);
    let about = match cause.is_empty() {
        true => format!("# {failure}"),
        false => format!("# {}\n# {failure}", comment(&cause)),
    };
    let schedule = serde_json::to_string_pretty(&pinned)?;
    Ok(format!(
        r#"#!/bin/sh
# A regression test for an order of threads that made the program fail:
{about}
#
# usage: sh THIS [PROGRAM]    in the folder where it was exported, after building with `unsnarl cc`
# exit:  0   the program passes in this order, or no longer lets it happen: a thread has to wait, or goes another way
#        1   it fails
#        77  skipped: its lines are gone or not built, or threads are never started, so nothing is known
#        2   the program cannot be run
set -u
unsnarl=${{UNSNARL:-unsnarl}}
if ! command -v "$unsnarl" >/dev/null 2>&1; then
    echo "skipped: unsnarl is not there; put it on the PATH or set UNSNARL"
    exit 77
fi
schedule=$(mktemp) || exit 2
trap 'rm -f "$schedule"' EXIT
trap 'exit 130' INT TERM HUP
cat >"$schedule" <<'END OF THE SCHEDULE'
{schedule}
END OF THE SCHEDULE
"$unsnarl" replay --trust --test "$schedule"{stdin} --timeout {timeout}s ${{1:+--program "$1"}}
"#
    ))
}

/// One line.
fn comment(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
