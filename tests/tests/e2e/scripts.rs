//! Scripts and other programs that are not instrumented, and start the program that is recorded.

use anyhow::{Context, Result, ensure};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile_with};
use unsnarl_trace::{FailureKind, Run, read_run};

/// A folder with two builds of the program, and a script.
struct Scripted(Workspace);

const SCRIPT: &str = "test.sh";

impl Scripted {
    fn with(script: &str) -> Result<Scripted> {
        let workspace = Workspace::new()?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/started.c");
        workspace.write("started.c", &fs::read_to_string(source)?)?;
        for name in ["first", "second"] {
            let (source, gcc) = (Path::new("started.c"), TestedCompiler::Gcc);
            compile_with(&workspace, source, name, gcc, &[])?;
        }
        let path = workspace.write(SCRIPT, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(Scripted(workspace))
    }

    fn record(&self, options: &[&str], command: &[&str]) -> Result<Finished> {
        let start = ["record", "--seed", "3"];
        let words = [&start[..], options, &["--"], command].concat();
        self.0.unsnarl(&words)
    }

    fn runs(&self) -> Result<Vec<(String, Run)>> {
        let names = self
            .0
            .runs()?
            .into_iter()
            .map(|name| self.0.run_path(&name));
        let read = |name: String| {
            let run = read_run(&self.0.path().join(&name))?;
            Ok((name, run))
        };
        names.map(read).collect()
    }

    fn all_replay(&self) -> Result<()> {
        for (name, _) in self.runs()?.iter().take(4) {
            self.0.unsnarl(&["replay", name, "-n", "2"])?.exits(0)?;
        }
        Ok(())
    }
}

#[test]
fn one_of_two_programs_is_chosen() -> Result<()> {
    let scripted = Scripted::with(
        "#!/bin/sh\nenv MOOD=1 ./first tell >first.txt || exit 5\nexec ./second tell\n",
    )?;
    let said = scripted.record(&["-n", "2"], &["./test.sh"])?.exits(2)?;
    said.says(&[
        "starts several programs that can be recorded",
        "/first, ",
        "/second",
        "unsnarl record --record-child first -- ./test.sh",
    ])?;
    for (name, count) in [("first", 12), ("second", 4)] {
        let runs = count.to_string();
        let options = ["-n", &runs, "--record-child", name];
        let said = scripted.record(&options, &["./test.sh"])?.exits(0)?;
        said.says(&[
            &format!("/{name}, which test.sh starts"),
            &format!("{runs} passed"),
        ])?;
    }
    let mut recorded: Vec<String> = Vec::new();
    for (_, run) in scripted.runs()? {
        ensure!(run.meta.command == ["./test.sh"], "{:?}", run.meta.command);
        let parent = run.meta.parent.context("no parent is noted")?;
        ensure!(parent.ends_with(SCRIPT), "{parent}");
        recorded.push(run.meta.program);
    }
    ensure!(recorded.iter().any(|name| name.ends_with("/first")));
    ensure!(recorded.iter().any(|name| name.ends_with("/second")));
    scripted.all_replay()
}

#[test]
fn a_program_that_is_not_started_is_not_chosen() -> Result<()> {
    let scripted = Scripted::with("#!/bin/sh\n./first\n")?;
    let options = ["--record-child", "third"];
    let said = scripted.record(&options, &["./test.sh"])?.exits(2)?;
    said.says(&["starts no instrumented program third", "/first"])?;
    let said = scripted.record(&[], &["sh", "-c", "true"])?.exits(2)?;
    said.says(&["starts no program that was", "next: build the program"])?;
    Ok(())
}

/// The script decides: what its program's exit status means, and with which words a run fails.
#[test]
fn the_script_judges() -> Result<()> {
    let script = "#!/bin/sh\nif ./first check >told.txt; then exit 0; fi\necho 'the count is wrong'\nexit 3\n";
    let scripted = Scripted::with(script)?;
    let said = scripted.record(&["--until-failing", "1"], &["./test.sh"])?;
    said.exits(1)?.says(&["1 failed"])?;
    let runs = scripted.runs()?;
    let failures: Vec<_> = runs
        .iter()
        .filter_map(|(_, run)| run.meta.failure.as_ref())
        .collect();
    let failure = failures.first().context("no run failed")?;
    ensure!(failure.kind == FailureKind::Exit, "{failure:?}");
    let message = "test.sh ended with exit status 3: the count is wrong";
    ensure!(failure.message == message, "{failure:?}");
    scripted.all_replay()?;
    scripted
        .0
        .unsnarl(&["explain"])?
        .exits(1)?
        .says(&["counted"])?;

    let lenient = Scripted::with("#!/bin/sh\n./first check\nexit 0\n")?;
    lenient.record(&["-n", "20"], &["./test.sh"])?.exits(0)?;
    Ok(())
}

/// A driver of tests that closes all descriptors of its children, and one that puts them into groups of their own.
#[test]
fn other_programs_start_the_program_too() -> Result<()> {
    let scripted = Scripted::with("#!/bin/sh\ntimeout 20 ./first tell\n")?;
    scripted
        .record(&["-n", "3"], &["./test.sh"])?
        .exits(0)?
        .says(&["3 passed"])?;
    let python =
        "import subprocess, sys; sys.exit(subprocess.run(['./second', 'tell']).returncode)";
    let said = scripted
        .record(&["-n", "3"], &["python3", "-c", python])?
        .exits(0)?;
    said.says(&["/second, which python3", "3 passed"])?;
    scripted.all_replay()
}

#[test]
fn another_script_is_not_executed() -> Result<()> {
    let scripted = Scripted::with("#!/bin/sh\n./first\n")?;
    scripted.record(&["-n", "1"], &["./test.sh"])?.exits(0)?;
    scripted
        .0
        .write(SCRIPT, "#!/bin/sh\n./first; rm -rf precious\n")?;
    let (name, _) = scripted
        .runs()?
        .into_iter()
        .next()
        .context("no run was kept")?;
    let said = scripted.0.unsnarl(&["replay", &name])?.exits(2)?;
    said.says(&["by", "test.sh as it is now", "--trust"])?;
    Ok(())
}

/// The time limit of a recording holds for its repetitions, too.
#[test]
fn a_hang_is_repeated_within_the_time_that_it_had() -> Result<()> {
    let scripted = Scripted::with("#!/bin/sh\n./first hang\n")?;
    let options = ["-n", "1", "--timeout", "1500ms"];
    let said = scripted.record(&options, &["./test.sh"])?.exits(1)?;
    said.says(&["1 deadlocked"])?;
    let (name, run) = scripted
        .runs()?
        .into_iter()
        .next()
        .context("no run was kept")?;
    ensure!(
        run.meta.time_limit == Some(1500),
        "{:?}",
        run.meta.time_limit
    );
    scripted.0.unsnarl(&["replay", &name])?.exits(0)?;
    Ok(())
}
