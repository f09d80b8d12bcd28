//! The same steps at other addresses are the same run.

use super::{
    log_writer::LogWriter,
    programs::{Compiled, compile, compilers},
    run_of,
};
use proptest::prelude::*;
use unsnarl_trace::raw::RecordKind as K;

const SOURCE: &str = "
struct node { struct node *next; long value; };
struct node first, *list = &first;
int worker(int n) { long buf[4] = {n}; return buf[0]; /* worker */ }
int main(void) { return worker(1); /* main */ }
";

/// Addresses at which the loader put things.
#[derive(Debug, Clone, Copy)]
struct AddressSpace {
    program: u64,
    stack: u64,
    thread: u64,
    heap: u64,
    mapping: u64,
    environment: u64,
}

fn layout() -> impl Strategy<Value = AddressSpace> {
    let page = |low: u64| (0u64..0x10_0000).prop_map(move |n| low + n * 4096);
    let high = page(0x7ffd_0000_0000);
    (
        page(0x5600_0000_0000),
        high,
        page(0x7f00_0000_0000),
        0u64..4096,
        0u64..512,
    )
        .prop_map(|(program, stack, thread, heap, gap)| AddressSpace {
            program,
            stack,
            thread,
            heap: program + 0x20_0000 + heap * 4096,
            mapping: thread + 0x4000_0000,
            environment: stack + 0x10_0000 + 0x1000 + gap * 16,
        })
}

fn log(program: &Compiled, at: AddressSpace) -> LogWriter {
    let mut log = LogWriter::default();
    let file = |address: u64| at.program + address;
    let (main, worker) = (
        file(program.on_line("main", "/* main */")),
        file(program.on_line("worker", "/* worker */")),
    );
    let (list, first) = (file(program.symbol("list")), file(program.symbol("first")));
    log.module(at.program, at.program, at.program + 0x10_0000, "");
    log.thread(0, 0, 0, (at.stack, at.stack + 0x10_0000));
    log.thread(
        0,
        1,
        file(program.symbol("worker")),
        (at.thread, at.thread + 0x80_0000),
    );
    let (sp, own) = (at.stack + 0xf_0000, at.thread + 0x7f_0000);
    log.enter(0, main, 0, sp, sp + 16);
    log.push(0, K::Alloc, main, at.heap, 48);
    log.access(0, K::Write, (main, list), 8, at.heap);
    log.access(0, K::Write, (main, at.heap), 8, first);
    log.access(0, K::Write, (main, at.heap + 8), 8, sp - 24);
    log.access(0, K::Read, (main, sp - 24), 8, at.environment);
    log.access(0, K::Read, (main, at.environment + 3), 1, 7);
    log.access(0, K::Read, (main, at.stack + 0x10_0000 + 16), 8, at.mapping);
    log.access(
        0,
        K::Write,
        (main, at.mapping + 100),
        8,
        file(program.symbol("main")),
    );
    log.push(0, K::Fork, main, sp - 32, 1);
    log.access(
        0,
        K::Write,
        (main, sp - 32),
        8,
        at.thread + 0x80_0000 - 2368,
    );
    log.push(1, K::Begin, file(program.symbol("worker")), 0, 0);
    log.enter(1, worker, at.mapping + 5, own, own + 64);
    log.access(1, K::Rmw, (worker, own + 8), 8, at.heap + 48);
    log.push(1, K::Extra, 0, 0, at.heap);
    log.push(1, K::WriteRange, worker, at.heap, 48);
    log
}

fn text(run: &unsnarl_trace::Run) -> String {
    let rows: Vec<_> = run.events.iter().map(|(_, event)| event).collect();
    format!("{:?} {:?} {rows:?}", run.meta, run.locations)
}

#[test]
fn addresses_leave_no_trace() {
    let compiler = compilers("list.c").into_iter().next().unwrap();
    let program = compile(compiler, "list.c", SOURCE, &["-g", "-O0", "-fpie", "-pie"]);
    let mut runner = proptest::test_runner::TestRunner::default();
    let checked = runner.run(&(layout(), layout()), |(a, b)| {
        let one = run_of(&log(&program, a), &program.program);
        let other = run_of(&log(&program, b), &program.program);
        prop_assert_eq!(text(&one), text(&other));
        Ok(())
    });
    checked.unwrap();
}
