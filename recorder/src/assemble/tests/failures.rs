//! Ends of runs.

use super::{
    super::{Exit, Launch, RawLog, assemble},
    log_writer::LogWriter,
    programs::{Compiled, compile, compilers},
};
use std::mem::offset_of;
use unsnarl_trace::{
    Criteria, EventId, FailureKind, Outcome, Run, ThreadId,
    raw::{End, Header, Record, RecordKind as K, WaitsFor},
};

const SOURCE: &str = "
int total;
int check(void) {
    return total == 3; /* check */
}
int main(void) { return check(); }
";

fn program() -> Compiled {
    let compiler = compilers("check.c").into_iter().next().unwrap();
    compile(compiler, "check.c", SOURCE, &["-g", "-O0"])
}

const BIAS: u64 = 0x5600_0000_0000;

fn log() -> LogWriter {
    let mut log = LogWriter::default();
    log.module(BIAS, BIAS, BIAS + 0x10_0000, "");
    log.thread(0, 0, 0, (0x7ffd_0000_0000, 0x7ffd_0010_0000));
    log
}

fn assembled(log: &LogWriter, program: &Compiled, launch: &Launch) -> Run {
    let bytes = log.bytes();
    assemble(&RawLog::new(&bytes).unwrap(), &program.program, launch)
}

#[test]
fn an_assertion_names_expression_and_place() {
    let program = program();
    let mut log = log();
    let pc = BIAS + program.on_line("check", "/* check */");
    log.access(0, K::Read, (pc, BIAS + program.symbol("total")), 4, 2);
    log.push(0, K::Failure, pc, 0, End::Assert as u64);
    log.end(End::Assert).message("total == 3\0check.c\0check");
    log.field(offset_of!(Header, fail_pc), &pc.to_ne_bytes());
    log.field(offset_of!(Header, fail_line), &4u32.to_ne_bytes());
    let run = assembled(
        &log,
        &program,
        &Launch {
            exit: Exit::Signal(6),
            ..Launch::default()
        },
    );
    let failure = run.meta.failure.clone().unwrap();
    assert_eq!(run.meta.outcome, Outcome::Failed);
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Assert, "assertion `total == 3` failed")
    );
    let site = run.meta.site(failure.site.unwrap());
    assert_eq!((site.line, site.function.as_str()), (4, "check"));
    assert_eq!(failure.event.unwrap().0, 1);

    // What the assertion says about its place counts, as after a #line.
    log.message("total == 3\0grammar.y\0check");
    log.field(offset_of!(Header, fail_line), &90u32.to_ne_bytes());
    let run = assembled(&log, &program, &Launch::default());
    let site = run
        .meta
        .site(run.meta.failure.clone().unwrap().site.unwrap());
    assert!(site.file.ends_with("grammar.y"), "{}", site.file);
    assert_eq!(site.line, 90);
}

#[test]
fn every_end_has_an_outcome() {
    let program = program();
    let check = |end: End, launch: Launch, outcome: Outcome, message: &str| {
        let mut log = log();
        log.push(0, K::Begin, 0, 0, 0)
            .end(end)
            .message("St13runtime_error");
        log.field(offset_of!(Header, signal), &11u32.to_ne_bytes());
        let run = assembled(&log, &program, &launch);
        assert_eq!(run.meta.outcome, outcome, "{end:?} {launch:?}");
        let said = run
            .meta
            .failure
            .map_or(run.meta.problems.join(" "), |failure| failure.message);
        assert!(said.contains(message), "{end:?}: {said}");
    };
    let ended = |exit| Launch {
        exit,
        ..Launch::default()
    };
    let plain = Launch::default;
    check(End::Exited, ended(Exit::Code(0)), Outcome::Passed, "");
    check(
        End::Exited,
        ended(Exit::Code(3)),
        Outcome::Failed,
        "exit status 3",
    );
    check(
        End::Exited,
        ended(Exit::Signal(11)),
        Outcome::Failed,
        "segmentation fault",
    );
    let asked = Launch {
        asked: true,
        ..ended(Exit::Signal(15))
    };
    check(End::Exited, asked, Outcome::Passed, "");
    check(End::Signal, plain(), Outcome::Failed, "null pointer");
    check(End::Abort, plain(), Outcome::Failed, "abort");
    check(
        End::Terminate,
        plain(),
        Outcome::Failed,
        "std::runtime_error",
    );
    check(End::DoubleFree, plain(), Outcome::Failed, "freed twice");
    let freed = "used after it was freed";
    check(End::UseAfterFree, plain(), Outcome::Failed, freed);
    check(
        End::InvalidFree,
        plain(),
        Outcome::Failed,
        "no heap block's",
    );
    check(
        End::UndefinedBehavior,
        plain(),
        Outcome::Failed,
        "undefined behavior: st13runtime",
    );
    let expecting = |exit, expected_exits| Launch {
        criteria: Criteria {
            expected_exits,
            ..Criteria::default()
        },
        ..ended(exit)
    };
    let three = expecting(Exit::Code(3), vec![1, 3]);
    check(End::Exited, three, Outcome::Passed, "");
    let zero = expecting(Exit::Code(0), vec![3]);
    check(End::Exited, zero, Outcome::Failed, "exit status 0");
    check(End::UnlockFree, plain(), Outcome::Failed, "nobody holds");
    check(
        End::UnlockForeign,
        plain(),
        Outcome::Failed,
        "another thread holds",
    );
    check(
        End::Deadlock,
        plain(),
        Outcome::Deadlocked,
        "no thread can go on",
    );
    check(End::StepLimit, plain(), Outcome::TimedOut, "steps");
    check(End::LogFull, plain(), Outcome::CutShort, "log is full");
    check(End::Assumption, plain(), Outcome::CutShort, "");
    check(End::Exec, plain(), Outcome::CutShort, "exec");
    check(End::TooManyThreads, plain(), Outcome::CutShort, "threads");
    check(
        End::Unsupported,
        plain(),
        Outcome::CutShort,
        "cannot follow",
    );
    check(
        End::NotStarted,
        plain(),
        Outcome::CutShort,
        "nothing was recorded",
    );
    check(
        End::Running,
        ended(Exit::Signal(9)),
        Outcome::CutShort,
        "killed",
    );
    check(
        End::Running,
        ended(Exit::Signal(11)),
        Outcome::Failed,
        "segmentation fault",
    );
    check(
        End::Running,
        plain(),
        Outcome::CutShort,
        "before the program did",
    );
    let timed_out = Launch {
        timed_out: true,
        exit: Exit::Signal(9),
        ..Launch::default()
    };
    check(End::Running, timed_out, Outcome::TimedOut, "time allowed");
    let killed = Launch {
        killed: true,
        exit: Exit::Signal(9),
        ..Launch::default()
    };
    check(End::Running, killed, Outcome::CutShort, "from outside");
}

#[test]
fn a_deadlock_stands_where_somebody_waits_for_a_lock() {
    let program = program();
    let mut log = log();
    let blocked = |thread, waits_for: WaitsFor, addr| Record {
        kind: K::Blocked as u8,
        thread,
        size: waits_for as u32,
        addr,
        ..Record::default()
    };
    log.thread(0, 1, 0, (0, 0)).end(End::Deadlock);
    log.record(blocked(0, WaitsFor::Join, 1));
    log.record(blocked(1, WaitsFor::Lock, BIAS + program.symbol("total")));
    let run = assembled(&log, &program, &Launch::default());
    assert_eq!(run.meta.failure.clone().unwrap().event.unwrap().0, 1);
    assert_eq!(
        super::shown(&run),
        "main blocked  = 1\nmain.1 blocked total\n"
    );
}

#[test]
fn a_write_that_was_not_executed_has_no_value() {
    let program = program();
    let mut log = log();
    let total = BIAS + program.symbol("total");
    let pending = Record {
        kind: K::Write as u8,
        flags: unsnarl_trace::raw::flag::PENDING,
        size: 4,
        addr: total,
        value: 77,
        ..Record::default()
    };
    log.record(pending).end(End::Signal);
    log.push(0, K::Failure, 0, 0, End::Signal as u64);
    let run = assembled(&log, &program, &Launch::default());
    let event = run.events.get(unsnarl_trace::EventId(0)).unwrap();
    assert_eq!(event.value, None);
    assert_ne!(event.flags & unsnarl_trace::model::flags::UNFINISHED, 0);
}

#[test]
fn a_program_is_shared_by_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&program().program);
}

/// A thread ends the program on a line of its own, and others go on until its handlers have run.
#[test]
fn an_exit_status_has_the_place_of_the_call_that_ends_the_program() {
    let program = program();
    let (line, total) = (
        BIAS + program.on_line("check", "/* check */"),
        BIAS + program.symbol("total"),
    );
    let run = |exits: bool| {
        let mut log = log();
        log.thread(1, 0, 0, (0x7ffc_0000_0000, 0x7ffc_0010_0000));
        log.access(1, K::Read, (line, total), 4, 2);
        if exits {
            log.push(1, K::Exit, line + 1, 0, 0);
        }
        log.access(0, K::Read, (line, total), 4, 2);
        log.access(1, K::Write, (line, total), 4, 3);
        log.access(0, K::Read, (line, total), 4, 3);
        log.end(End::Exited);
        log.field(offset_of!(Header, exit_code), &3u32.to_ne_bytes());
        log.field(offset_of!(Header, fail_thread), &1u32.to_ne_bytes());
        let run = assembled(&log, &program, &Launch::default());
        assert_eq!(run.events.len(), 4, "the call is no event");
        run.meta.failure.unwrap()
    };
    let called = run(true);
    assert_eq!(
        (called.thread, called.event),
        (Some(ThreadId(1)), Some(EventId(0)))
    );
    // `main` has returned: the last step is that of the thread that ends the program, not of one that goes on.
    let returned = run(false);
    assert_eq!(
        (returned.thread, returned.event),
        (Some(ThreadId(1)), Some(EventId(2)))
    );
}

/// `exit` destroys global objects while the other threads go on: what they then meet is no failure of its own.
#[test]
fn what_is_gone_after_exit_is_no_failure() {
    let program = program();
    let (line, total) = (
        BIAS + program.on_line("check", "/* check */"),
        BIAS + program.symbol("total"),
    );
    let run = |status: u32| {
        let mut log = log();
        log.thread(1, 0, 0, (0x7ffc_0000_0000, 0x7ffc_0010_0000));
        log.access(1, K::Read, (line, total), 4, 2);
        log.push(1, K::Exit, line + 1, 0, 0);
        log.access(0, K::Read, (line, total), 4, 2);
        log.push(0, K::Failure, line, total, End::UseAfterFree as u64);
        log.end(End::UseAfterFree);
        log.field(offset_of!(Header, exit_code), &status.to_ne_bytes());
        log.field(offset_of!(Header, exiting), &2u32.to_ne_bytes());
        assembled(&log, &program, &Launch::default())
    };
    let failed = run(3);
    let failure = failed.meta.failure.unwrap();
    assert_eq!(failure.message, "exit status 3 (counted as a failure)");
    assert_eq!(
        (failure.thread, failure.event, failed.events.len()),
        (Some(ThreadId(1)), Some(EventId(0)), 2)
    );
    let passed = run(0).meta.failure.unwrap();
    assert_eq!(
        (passed.kind, passed.thread),
        (FailureKind::UseAfterFree, Some(ThreadId(0)))
    );
}
