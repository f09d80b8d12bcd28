//! Schedules that somebody proposes: `unsnarl replay SCHEDULE`, and the function behind it.

use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Duration,
};
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, permit, program::compile};
use unsnarl_recorder::{
    assemble,
    launch::{Output, Starter},
    log::Limits,
    proposal::{FollowVerdict, ScheduleEnd, execute_proposal},
    record::Job,
};
use unsnarl_trace::{
    Criteria, Event, EventId, EventKind, Outcome, Proposal, Run, RunFolder, model::flags, read_run,
};

/// An event on the line that holds `text`.
fn on(program: &TestProgram, thread: &str, kind: &str, text: &str) -> Result<String> {
    let source = std::fs::read_to_string(&program.source)?;
    let is_it = |line: &&str| line.contains(text) && !line.starts_with("//");
    let (line, _) = (1..)
        .zip(source.lines())
        .find(|(_, line)| is_it(line))
        .with_context(|| format!("no line `{text}`"))?;
    let file = format!("{}.c", program.name);
    Ok(format!(
        r#"{{"thread": "{thread}", "kind": "{kind}", "file": "{file}", "line": {line}}}"#
    ))
}

fn schedule(workspace: &Workspace, program: &str, events: &[String]) -> Result<()> {
    let events = events.join(",\n    ");
    let text = format!(
        "{{\n  \"unsnarl_schedule\": 1,\n  \"program\": \"{program}\",\n  \"events\": [\n    {events}\n  ]\n}}\n"
    );
    workspace.write("schedule.json", &text)?;
    Ok(())
}

fn compiled(name: &str, compiler: TestedCompiler) -> Result<(Workspace, TestProgram, String)> {
    let program = TestProgram::open(name)?;
    let workspace = Workspace::new()?;
    let command = program.compile(&workspace, compiler)?;
    Ok((workspace, program, command))
}

#[test]
fn two_critical_sections_in_either_order() -> Result<()> {
    let (workspace, bank, command) = compiled("bank_account", TestedCompiler::Gcc)?;
    let read = on(&bank, "main.2", "read", "long available = account.balance")?;
    let deposit = on(&bank, "main.1", "write", "account.balance += amount")?;
    let write = on(&bank, "main.2", "write", "account.balance = available")?;

    schedule(
        &workspace,
        &command,
        &[read.clone(), deposit.clone(), write.clone()],
    )?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json", "-n", "10"])?
        .exits(0)?
        .says(&[
            "reached all 3 events 10 of 10 times",
            "the run: failed",
            "kept as",
        ])?;
    let kept = workspace.runs_that("failed")?;
    let [kept] = kept.as_slice() else {
        bail!("{kept:?} were kept")
    };
    workspace
        .unsnarl(&["replay", &workspace.run_path(kept), "-n", "10"])?
        .exits(0)?;

    schedule(&workspace, &command, &[read, write, deposit])?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json", "-n", "10"])?
        .exits(0)?
        .says(&["reached all 3 events 10 of 10 times", "the run: passed"])?;
    ensure!(
        workspace.runs()?.len() == 1,
        "a passing run was kept without --keep"
    );
    Ok(())
}

/// A schedule that keeps only the order of the events: the seed decides which threads run in between.
#[test]
fn the_rest_of_a_schedule_can_be_drawn() -> Result<()> {
    let (workspace, bank, command) = compiled("bank_account", TestedCompiler::Gcc)?;
    let read = on(&bank, "main.2", "read", "long available = account.balance")?;
    let deposit = on(&bank, "main.1", "write", "account.balance += amount")?;
    let write = on(&bank, "main.2", "write", "account.balance = available")?;
    // Threads are held where they take the lock: with it they would keep the others up.
    let enters = on(&bank, "main.1", "lock", "pthread_mutex_lock(&account.lock)")?;
    let line = line_of(&write)?;
    let again = write.replace(r#""write""#, r#""lock""#);
    let again = again.replace(&line.to_string(), &(line - 1).to_string());
    let lost = vec![read, enters.clone(), deposit, again];
    for (order, outcome) in [(lost, "failed"), (vec![write, enters], "passed")] {
        let mut ways = BTreeSet::new();
        for seed in 0..6 {
            schedule(&workspace, &command, &order)?;
            let text = std::fs::read_to_string(workspace.path().join("schedule.json"))?;
            let drawn = format!(
                "{{ \"only_order\": true, \"then\": {{\"policy\": \"random\", \"seed\": {seed}}},"
            );
            workspace.write("schedule.json", &text.replacen('{', &drawn, 1))?;
            let words = ["replay", "--trust", "schedule.json", "--keep"];
            workspace.unsnarl(&words)?.exits(0)?.says(&[
                &format!("reached all {} events", order.len()),
                &format!("the run: {outcome}"),
            ])?;
            ways.extend(workspace.runs()?);
        }
        ensure!(ways.len() > 2, "all went the same way: {ways:?}");
    }
    Ok(())
}

/// An optional event is held back until its turn all the same.
#[test]
fn an_optional_event_may_stay_out() -> Result<()> {
    let (workspace, bank, command) = compiled("bank_account", TestedCompiler::Gcc)?;
    let optional = |event: String, nth: u32| {
        event.replace('}', &format!(r#", "nth": {nth}, "optional": true}}"#))
    };
    let write = on(&bank, "main.2", "write", "account.balance = available")?;
    let enters = on(&bank, "main.1", "lock", "pthread_mutex_lock(&account.lock)")?;
    for (nth, says) in [
        (1, "reached all 2 events"),
        (9, "reached 1 of 2 events; the others need not come"),
    ] {
        schedule(
            &workspace,
            &command,
            &[write.clone(), optional(enters.clone(), nth)],
        )?;
        workspace
            .unsnarl(&["replay", "--trust", "schedule.json"])?
            .exits(0)?
            .says(&[says, "the run: passed"])?;
    }
    Ok(())
}

#[test]
fn an_order_that_cannot_be_says_who_holds_whom_back() -> Result<()> {
    let (workspace, bank, command) = compiled("bank_account", TestedCompiler::Gcc)?;
    let read = on(&bank, "main.2", "read", "long available = account.balance")?;
    let deposit = on(&bank, "main.1", "write", "account.balance += amount")?;
    // The reader still holds the lock that the deposit needs.
    let unlock = read.replace(r#""read""#, r#""unlock""#).replace(
        &line_of(&read)?.to_string(),
        &(line_of(&read)? + 1).to_string(),
    );
    schedule(&workspace, &command, &[read, deposit, unlock])?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json"])?
        .exits(1)?
        .says(&[
            "diverged after 1 of 3 events",
            "main.1 cannot get there before main.2 goes on, which a later event holds back",
            "main.1 waits for `account.lock`, which main.2 holds",
            "main.2 is held back before event 2",
        ])?;
    Ok(())
}

fn line_of(event: &str) -> Result<u32> {
    let event: serde_json::Value = serde_json::from_str(event)?;
    let line = event.get("line").and_then(serde_json::Value::as_u64);
    Ok(u32::try_from(line.context("no line")?)?)
}

#[test]
fn what_a_thread_never_does() -> Result<()> {
    let (workspace, bank, command) = compiled("bank_account", TestedCompiler::Gcc)?;
    let twice =
        on(&bank, "main.1", "write", "account.balance += amount")?.replace("}", r#", "nth": 2}"#);
    schedule(&workspace, &command, &[twice])?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json"])?
        .exits(1)?
        .says(&["diverged after 0 of 1 events", "main.1 ended without it"])?;

    let nobody = on(&bank, "main.7", "write", "account.balance += amount")?;
    schedule(&workspace, &command, &[nobody])?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json"])?
        .exits(1)?
        .says(&["diverged after 0 of 1 events", "main.7 was never created"])?;

    let other = on(&bank, "main.1", "write", "account.balance += amount")?
        .replace("}", r#", "location": "account.deposits"}"#);
    schedule(&workspace, &command, &[other])?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json"])?
        .exits(1)?
        .says(&["it was `account.balance`, not `account.deposits`"])?;
    Ok(())
}

#[test]
fn what_is_no_schedule_of_the_program_is_refused() -> Result<()> {
    let (workspace, bank, command) = compiled("bank_account", TestedCompiler::Gcc)?;
    let refused = |events: &[String], says: &str| -> Result<()> {
        schedule(&workspace, &command, events)?;
        workspace
            .unsnarl(&["replay", "--trust", "schedule.json"])?
            .exits(2)?
            .says(&[says])?;
        Ok(())
    };
    let comment = r#"{"thread": "main", "kind": "read", "file": "bank_account.c", "line": 2}"#;
    refused(
        &[comment.to_owned()],
        "there is no recorded call at bank_account.c:2",
    )?;
    let read = on(&bank, "main.2", "read", "long available = account.balance")?;
    refused(&[read.replace("main.2", "maine")], "`maine` is no thread")?;
    refused(
        &[read.replace(r#""read""#, r#""look""#)],
        "`look` is no kind of event",
    )?;
    refused(
        &[read.replace(r#""line""#, r#""row""#)],
        "unknown field `row`",
    )?;
    workspace.write("schedule.json", r#"{"unsnarl_schedule": 7, "events": []}"#)?;
    workspace
        .unsnarl(&["replay", "--trust", "schedule.json"])?
        .exits(2)?
        .says(&["a schedule of version 7"])?;
    Ok(())
}

#[test]
fn a_deadlock_on_purpose() -> Result<()> {
    let (workspace, program, command) = compiled("lock_order", TestedCompiler::Gcc)?;
    workspace
        .record(&["-n", "300", "--until-failing", "1"], &command)?
        .exits(1)?;
    let deadlocked = workspace.runs_that("deadlocked")?;
    let first = deadlocked.first().context("no deadlock")?;
    let run = read_run(&workspace.path().join(workspace.run_path(first)))?;
    let locks = events(&run, |event| {
        event.kind == EventKind::Lock && run.meta.thread(event.thread).name != "main"
    });
    let mut proposal = Proposal::of_events(&run, &locks);
    let built = assemble::ProgramDebugInfo::open(run.meta.program.as_ref())?;
    let reached = attempt(&built, &run, &proposal)?;
    ensure!(
        reached.ended == ScheduleEnd::Reached && reached.run.meta.outcome == Outcome::Deadlocked
    );

    // The thread that took a lock last would take the one that it waits for next.
    let waits = run
        .events
        .iter()
        .find(|(_, event)| event.kind == EventKind::LockWait);
    let (wait, _) = waits.context("nobody waits")?;
    let mut beyond = Proposal::of_events(&run, &[wait]);
    let Some(wanted) = beyond.events.first_mut() else {
        bail!("no event")
    };
    wanted.kind = EventKind::Lock;
    proposal.events.append(&mut beyond.events);
    let verdict = attempt(&built, &run, &proposal)?;
    let ScheduleEnd::Deadlocked(divergence) = &verdict.ended else {
        bail!("{}: {:?}", program.name, verdict.ended)
    };
    ensure!(verdict.reached == locks.len() && divergence.entry == locks.len());
    ensure!(divergence.threads.len() >= 2, "{:?}", divergence.threads);
    Ok(())
}

fn events(run: &Run, wanted: impl Fn(&Event) -> bool) -> Vec<EventId> {
    let rows = run.events.iter().filter(|(_, event)| wanted(event));
    rows.map(|(id, _)| id).collect()
}

/// Runs a proposal for the program of a run.
fn attempt(
    program: &assemble::ProgramDebugInfo,
    run: &Run,
    proposal: &Proposal,
) -> Result<FollowVerdict> {
    let words: Vec<_> = run.meta.command.iter().map(Into::into).collect();
    let directory = PathBuf::from(&run.meta.directory);
    let job = Job {
        parent: None,
        permit: permit(program.path(), &words, &directory),
        command: words,
        directory,
        stdin: None,
        output: Output::Kept,
        timeout: Duration::from_secs(60),
        limits: Limits::default(),
        criteria: Criteria::default(),
        starter: Starter::default(),
    };
    Ok(execute_proposal(
        program,
        &job,
        proposal,
        &AtomicBool::new(false),
    )?)
}

/// Random numbers are part of a recorded run, so a schedule made from it has them too.
#[test]
fn a_schedule_made_from_a_run_has_its_input() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("dice.c", DICE)?;
    compile(&workspace, Path::new("dice.c"), "dice", TestedCompiler::Gcc)?;
    workspace.record(&["-n", "6", "--strategy", "random"], "./dice")?;
    let mut thrown = BTreeSet::new();
    for file in workspace.runs()? {
        let run = read_run(&workspace.path().join(workspace.run_path(&file)))?;
        let built = assemble::ProgramDebugInfo::open(run.meta.program.as_ref())?;
        let all = events(&run, |event| is_shared(&run, event));
        let proposal = Proposal::of_events(&run, &all);
        let again = Proposal::from_json(&proposal.to_json()?)?;
        ensure!(again == proposal, "{}", proposal.to_json()?);
        let verdict = attempt(&built, &run, &proposal)?;
        ensure!(
            verdict.ended == ScheduleEnd::Reached,
            "{file}: {:#?}",
            verdict.ended
        );
        ensure!(
            shared(&run) == shared(&verdict.run),
            "{file}: other numbers"
        );
        thrown.insert(shared(&run));

        let kept = RunFolder::new(workspace.path().join("kept")).store(&verdict.run)?;
        workspace
            .unsnarl(&["replay", &kept.to_string_lossy(), "-n", "3"])?
            .exits(0)?;
    }
    ensure!(
        thrown.len() > 1,
        "the dice always fell the same: {thrown:?}"
    );
    Ok(())
}

const DICE: &str = "#include <pthread.h>
#include <sys/random.h>
static unsigned thrown[2];
static void *throw(void *arg)
{
    getrandom(arg, sizeof(unsigned), 0);
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, throw, &thrown[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return thrown[0] > thrown[1];
}
";

/// Returns whether threads can see the order of this event and others.
fn is_shared(run: &Run, event: &Event) -> bool {
    use EventKind as K;
    let own = matches!(
        event.kind,
        K::Begin
            | K::End
            | K::Fork
            | K::Join
            | K::Alloc
            | K::Free
            | K::Branch
            | K::Yield
            | K::Blocked
            | K::Failure
    );
    // What no code of the user's led to has no place there.
    let file = &run.meta.site(event.site).file;
    // For calls within a library that is not instrumented the run's column is a guess.
    let place = run.location(event.location);
    let of_library = place.starts_with("libstdc++") || place.starts_with(".rodata");
    !own && !of_library
        && event.flags & flags::OWN_STACK == 0
        && file.starts_with(&run.meta.directory)
}

/// The shared events in a form that is the same in each run.
fn shared(run: &Run) -> Vec<String> {
    let rows = run.events.iter().filter(|(_, event)| is_shared(run, event));
    rows.map(|(_, event)| {
        let site = run.meta.site(event.site);
        format!(
            "{} {} {}:{} {} {:?}",
            run.meta.thread(event.thread).name,
            event.kind.name(),
            site.line,
            site.column,
            run.location(event.location),
            event.value.map(|value| match value {
                unsnarl_trace::Value::Bits(bits) => bits.to_string(),
                unsnarl_trace::Value::Address(place) => run.location(place).to_owned(),
            })
        )
    })
    .collect()
}

/// Runs of each outcome that are tried.
const RUNS_OF_EACH: usize = 1;
/// Subsequences of each that are tried.
const SUBSEQUENCES: u64 = 2;

/// Checks that every recorded run's shared events, proposed in their order, are reached, and give the same order; so
/// are some of them.
fn recorded_orders_are_reached(name: &str, compiler: TestedCompiler) -> Result<()> {
    let (workspace, _, command) = compiled(name, compiler)?;
    let recorded = workspace.record(&["-n", "24", "--chances", "none"], &command)?;
    let program = assemble::ProgramDebugInfo::open(&workspace.path().join(name))?;
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    for file in workspace.runs()? {
        let run = read_run(&workspace.path().join(workspace.run_path(&file)))?;
        let of_outcome = tried.entry(run.meta.outcome.name()).or_default();
        *of_outcome += 1;
        if *of_outcome > RUNS_OF_EACH {
            continue;
        }
        let all = events(&run, |event| is_shared(&run, event));
        let verdict = attempt(&program, &run, &Proposal::of_events(&run, &all))?;
        ensure!(
            verdict.ended == ScheduleEnd::Reached,
            "{file}: {:#?}",
            verdict.ended
        );
        let (was, is) = (shared(&run), shared(&verdict.run));
        let differs = was.iter().zip(&is).position(|(was, is)| was != is);
        ensure!(
            differs.is_none() && was.len() == is.len(),
            "{file}: {} events became {}, differing at {:?}",
            was.len(),
            is.len(),
            differs.map(|at| (was.get(at), is.get(at)))
        );
        for seed in 0..SUBSEQUENCES {
            let some = some_of(&run, &all, seed);
            let verdict = attempt(&program, &run, &Proposal::of_events(&run, &some))?;
            ensure!(
                verdict.ended == ScheduleEnd::Reached,
                "{file}, {seed}: {:#?}",
                verdict.ended
            );
        }
    }
    ensure!(!tried.is_empty(), "nothing was recorded:\n{recorded}");
    Ok(())
}

/// About a third of the events, and all after which another thread goes on: the steps of a thread in between may
/// depend on how far the others were.
fn some_of(run: &Run, all: &[EventId], seed: u64) -> Vec<EventId> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let thread = |id: EventId| run.events.get(id).map(|event| event.thread);
    let mut some = Vec::new();
    for (at, id) in all.iter().enumerate() {
        let next = all.get(at + 1).and_then(|next| thread(*next));
        if next != thread(*id) || draw() % 3 == 0 {
            some.push(*id);
        }
    }
    some
}

/// Programs with locks, conditions, atomics, heap, a barrier, a deadlock, a crash, C++; others for the other
/// compiler, because each takes a while.
const WITH_GCC: [&str; 10] = [
    "bank_account",
    "bounded_queue",
    "c11_atomics",
    "circular_list",
    "correct_cpp",
    "cpp_cache",
    "lock_order",
    "lost_wakeup",
    "one_barrier",
    "string_buffer",
];
const WITH_CLANG: [&str; 10] = [
    "block_pool",
    "chunk_buffer",
    "correct_atomics",
    "correct_bank",
    "correct_queue",
    "cpp_listeners",
    "log_buffer",
    "publication",
    "queue_pointer",
    "use_before_init",
];

/// Checks all of them, so that one failure does not hide the others.
fn each(names: &[&str], compiler: TestedCompiler) -> Result<()> {
    let mut wrong = Vec::new();
    for name in names {
        if let Err(error) = recorded_orders_are_reached(name, compiler) {
            wrong.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn recorded_orders_are_reached_gcc() -> Result<()> {
    each(&WITH_GCC, TestedCompiler::Gcc)
}

#[test]
fn recorded_orders_are_reached_clang() -> Result<()> {
    each(&WITH_CLANG, TestedCompiler::Clang)
}
