//! Logs that make no sense are refused or put together, and never end the recorder.

use super::{
    super::{Launch, RawLog, RawLogError, assemble},
    log_writer::LogWriter,
    programs::{compile, compilers},
    run_of,
};
use proptest::prelude::*;
use unsnarl_trace::raw::{HEADER_BYTES, Record};

const SOURCE: &str = "
struct cell { char tag; long sum; } cells[3];
int main(void) { int here[4] = {0}; return here[cells[0].tag]; }
";

const BIAS: u64 = 0x40_0000;

/// Addresses that mean something, or nearly.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..0x8000).prop_map(|n| BIAS + n),
        (0u64..0x2000).prop_map(|n| 0x7ffd_0000_0000 + n),
        (0u64..512).prop_map(|n| 0x50_0000 + n),
        0u64..200,
        (0u64..64).prop_map(|n| u64::MAX - n),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let kind = prop_oneof![0u8..90, Just(1), Just(2), Just(50), Just(60), Just(9)];
    let size = prop_oneof![0u32..64, any::<u32>()];
    (
        kind,
        any::<u8>(),
        0u16..5,
        size,
        address(),
        address(),
        address(),
    )
        .prop_map(|(kind, flags, thread, size, pc, addr, value)| Record {
            kind,
            flags,
            thread,
            size,
            pc,
            addr,
            value,
        })
}

#[test]
fn any_records_become_a_run() {
    let compiler = compilers("cells.c").into_iter().next().unwrap();
    let program = compile(compiler, "cells.c", SOURCE, &["-g", "-O0", "-no-pie"]);
    let mut runner = proptest::test_runner::TestRunner::default();
    let strategy = (
        proptest::collection::vec(record(), 0..60),
        proptest::collection::vec((0u64..9, 0u64..9, address(), address(), address()), 0..5),
        proptest::collection::vec((address(), address(), address()), 0..4),
        0u32..20,
    );
    let checked = runner.run(&strategy, |(records, threads, modules, end)| {
        let mut log = LogWriter::default();
        log.module(0, BIAS, BIAS + 0x1_0000, "");
        for (bias, start, end) in modules {
            log.module(bias, start, end, "");
        }
        for (parent, nth, start, low, high) in threads {
            log.thread(parent, nth, start, (low, high));
        }
        log.field(
            std::mem::offset_of!(unsnarl_trace::raw::Header, end),
            &end.to_ne_bytes(),
        );
        log.message("a\0b\0c");
        log.records = records;
        let run = run_of(&log, &program.program);
        let known = |index: usize, len: usize| index < len;
        for (_, event) in run.events.iter() {
            prop_assert!(known(event.thread.index(), run.meta.threads.len()));
            prop_assert!(known(event.site.index(), run.meta.sites.len()));
            prop_assert!(known(event.location.index(), run.locations.len()));
            prop_assert!(known(event.stack.index(), run.meta.frames.len()));
        }
        Ok(())
    });
    checked.unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(
        bytes in proptest::collection::vec(any::<u8>(), 0..HEADER_BYTES + 400),
        keep_mark in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if keep_mark && bytes.len() >= 12 {
            bytes[..8].copy_from_slice(&unsnarl_trace::raw::MAGIC.to_ne_bytes());
            bytes[8..12].copy_from_slice(&unsnarl_trace::raw::VERSION.to_ne_bytes());
        }
        let _ = RawLog::new(&bytes).map(|log| log.records().count());
    }

    #[test]
    fn any_truncation_is_refused_or_read(cut in 0usize..70_000) {
        let mut log = LogWriter::default();
        log.push(0, unsnarl_trace::raw::RecordKind::Begin, 0, 0, 0);
        let bytes = log.bytes();
        let cut = cut.min(bytes.len());
        prop_assert_eq!(RawLog::new(&bytes[..cut]).is_ok(), cut == bytes.len());
    }
}

#[test]
fn other_versions_say_what_to_do() {
    let mut log = LogWriter::default();
    log.field(8, &99u32.to_ne_bytes());
    let refused = RawLog::new(&log.bytes()).err();
    assert_eq!(refused, Some(RawLogError::Version(99)));
    assert!(refused.unwrap().to_string().contains("unsnarl cc"));
    assert_eq!(RawLog::new(&[]).err(), Some(RawLogError::TooShort(0)));
}

#[test]
fn a_range_over_everything_is_shortened_and_said() {
    let compiler = compilers("cells.c").into_iter().next().unwrap();
    let text = "char many[100000]; int main(void) { return many[3]; }";
    let program = compile(compiler, "many.c", text, &["-g", "-O0", "-no-pie"]);
    let mut log = LogWriter::default();
    log.module(0, BIAS, BIAS + 0x10_0000, "")
        .thread(0, 0, 0, (0, 0));
    let write = unsnarl_trace::raw::RecordKind::WriteRange;
    log.push(0, write, 0, program.symbol("many"), 100_000);
    let bytes = log.bytes();
    let log = RawLog::new(&bytes).unwrap();
    let run = assemble(&log, &program.program, &Launch::default());
    assert_eq!(run.events.len(), 4096);
    assert!(run.meta.problems.iter().any(|text| text.contains("4096")));
}

#[test]
fn programs_that_cannot_be_recorded_are_told_apart() {
    use super::super::{Instrumented, ProgramDebugInfo, ProgramError};
    let compiler = compilers("cells.c").into_iter().next().unwrap();
    let plain = compile(compiler, "cells.c", SOURCE, &["-g"]);
    assert_eq!(plain.program.is_instrumented(), Instrumented::No);
    let callbacks = format!("{SOURCE} void __tsan_func_entry(void *caller) {{ (void)caller; }}");
    let ours = compile(compiler, "ours.c", &callbacks, &[]);
    assert_eq!(ours.program.is_instrumented(), Instrumented::ByUnsnarl);
    let beside = format!("{callbacks} void __sanitizer_set_death_callback(void) {{}}");
    let beside = compile(compiler, "beside.c", &beside, &[]);
    assert_eq!(beside.program.is_instrumented(), Instrumented::ByUnsnarl);
    let theirs = format!("{callbacks} void __tsan_on_report(void) {{}}");
    let theirs = compile(compiler, "theirs.c", &theirs, &[]);
    assert_eq!(theirs.program.is_instrumented(), Instrumented::ByLibtsan);
    let script = plain.path.with_file_name("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    assert!(matches!(
        ProgramDebugInfo::open(&script),
        Err(ProgramError::NotElf(_))
    ));
    let missing = plain.path.with_file_name("missing");
    assert!(matches!(
        ProgramDebugInfo::open(&missing),
        Err(ProgramError::Read { .. })
    ));
}
