//! The targets: everything that is read from files, pipes or the program under test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../recorder/src/assemble/tests/log_writer.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "shared with tests that use the rest"
)]
mod log_writer;

use log_writer::LogWriter;
use std::{fs, panic::AssertUnwindSafe, path::Path, process::Command};
use unsnarl_core::predict::Patterns;
use unsnarl_fuzz::check;
use unsnarl_recorder::assemble::{Launch, ProgramDebugInfo, RawLog, assemble};
use unsnarl_server::{Setup, serve};
use unsnarl_trace::{
    EventId, Proposal, Run,
    rapid::{Format, export, import},
    raw::RecordKind,
    read_run_bytes, script, write_run,
};

const SCRIPT: &str = "
    T1 fork T2
    T1 lock m
    T1 R balance=1 @67
    T1 W balance=2 @74
    T1 unlock m
    T2 R balance=2 @100
    T2 W balance=3 @107
    fails @120
";

fn bytes_of(run: &Run) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_run(run, &mut bytes).unwrap();
    bytes
}

/// Everything that is said about a run without an analysis: no id may lead out of its table.
fn use_run(run: &Run) {
    for (_, event) in run.events.iter() {
        assert!(event.thread.index() < run.meta.threads.len());
        assert!(event.site.index() < run.meta.sites.len());
        assert!(event.location.index() < run.locations.len());
        assert!(event.stack.0 == 0 || event.stack.index() < run.meta.frames.len());
    }
    script::print(run);
    export(run);
}

#[test]
fn run_file() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/golden");
    let names = [
        "format-1.arrow",
        "format-1-points.arrow",
        "format-2.arrow",
        "format-2-points.arrow",
    ];
    let mut samples = names
        .map(|name| fs::read(golden.join(name)).unwrap())
        .to_vec();
    samples.push(bytes_of(&script::parse(SCRIPT).unwrap()));
    check!(samples, |input: &Vec<u8>| {
        if let Ok(run) = read_run_bytes(input.clone()) {
            use_run(&run);
            read_run_bytes(bytes_of(&run)).unwrap();
        }
    });
}

/// A log of two threads with records of each kind.
fn raw_sample(kinds: std::ops::Range<u8>, code: u64) -> Vec<u8> {
    let mut log = LogWriter::default();
    log.module(0, 0x40_0000, 0x41_0000, "");
    log.thread(0, 0, code, (0x7ffd_0000_0000, 0x7ffd_0001_0000));
    log.thread(0, 1, code, (0x7ffd_0002_0000, 0x7ffd_0003_0000));
    log.push(0, RecordKind::Fork, code, 0, 1);
    log.enter(1, code, code, 0x7ffd_0002_8000, 0x7ffd_0002_8010);
    for kind in kinds.filter_map(RecordKind::from_u8) {
        log.access(u16::from(kind as u8 % 2), kind, (code, 0x50_0000), 8, 1);
    }
    log.message("a\0b");
    log.bytes()
}

#[test]
fn raw_log() {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (folder.path().join("a.c"), folder.path().join("a"));
    fs::write(
        &source,
        "long cell[8]; int main(void) { return (int)cell[3]; }",
    )
    .unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-no-pie", "-o"])
        .arg(&path)
        .arg(&source);
    assert!(gcc.status().unwrap().success());
    let program = AssertUnwindSafe(ProgramDebugInfo::open(&path).unwrap());
    let samples = [0..30, 30..60, 60..90, 0..90].map(|kinds| raw_sample(kinds, 0x40_1110));
    check!(samples, |input: &Vec<u8>| {
        if let Ok(log) = RawLog::new(input) {
            use_run(&assemble(&log, &program, &Launch::default()));
        }
    });
}

#[test]
fn trace_text() {
    let std = "T2|fork(T1)|0\nT1|w(V1.a[0])|347\nT1|acq(L1)|Bank.java:12\nT1|r(V1.a[0])|Bank.java:13:5\n\
               T1|rel(L1)|347\nT2|join(T1)|0\nT2|branch|9\n";
    let csv = "start(T2),,\n,enter(m),\n,,acq(L)\n,,w(x)\n,sync(z),\n,,rel(L)\n,exit(m),\n,r(x),w(x)\njoin(T2),,\n";
    check!([std, csv], |input: &Vec<u8>| {
        for format in [Format::Std, Format::Csv] {
            if let Ok(imported) = import(input, format) {
                use_run(&imported.run);
            }
        }
    });
}

#[test]
fn proposal() {
    let run = script::parse(SCRIPT).unwrap();
    let events: Vec<EventId> = run.events.iter().map(|(id, _)| id).collect();
    let whole = Proposal::of_events(&run, &events).to_json().unwrap();
    let one = Proposal::of_events(&run, events.get(..1).unwrap())
        .to_json()
        .unwrap();
    check!([whole, one], |input: &Vec<u8>| {
        if let Ok(text) = str::from_utf8(input)
            && let Ok(proposal) = Proposal::from_json(text)
        {
            let again = Proposal::from_json(&proposal.to_json().unwrap()).unwrap();
            assert_eq!(again, proposal);
        }
    });
}

#[test]
fn patterns() {
    let file = "[[pattern]]\nname = \"stale length\"\nT = \"t1 - t2 - t1\"\nSV = \"len - len - buffer\"\n\
                AR = \"u1 - u2 - u1\"\nAT = \"r - w - w\"\nconsecutive = true\n\n[[region]]\nfunction = \"add\"\n";
    let lines = "[[region]]\nlines = \"a.c:3-4\"\n[[region]]\nlines = \"a.c:7\"\n";
    check!([file, lines], |input: &Vec<u8>| {
        if let Ok(text) = str::from_utf8(input)
            && let Err(error) = Patterns::parse(text)
        {
            assert!(!error.to_string().is_empty());
        }
    });
}

#[test]
fn protocol() {
    let folder = tempfile::tempdir().unwrap();
    let uri = format!("file://{}", folder.path().display());
    let framed = |message: &str| format!("Content-Length: {}\r\n\r\n{message}", message.len());
    let session = [
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"capabilities":{{}},"rootUri":"{uri}"}}}}"#
        ),
        r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#.to_owned(),
        format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{uri}/a.c","languageId":"c","version":1,"text":"int a;\n"}}}}}}"#
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{{"textDocument":{{"uri":"{uri}/a.c"}},"position":{{"line":0,"character":4}}}}}}"#
        ),
        r#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"exit"}"#.to_owned(),
    ];
    let whole: String = session.iter().map(|message| framed(message)).collect();
    let start: String = session
        .iter()
        .take(2)
        .map(|message| framed(message))
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    check!([whole, start], |input: &Vec<u8>| {
        // A stream that breaks off is an error of the stream, not a defect.
        let ended = runtime.block_on(serve(input.as_slice(), tokio::io::sink(), Setup::default()));
        drop(ended);
    });
}
