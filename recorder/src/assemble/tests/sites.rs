//! Places in the source and call stacks.

use super::{
    log_writer::LogWriter,
    programs::{compile, compilers},
    run_of,
};
use unsnarl_trace::{EventId, FrameRow, SiteId, StackId, raw::RecordKind as K};

const BIAS: u64 = 0x5600_0000_0000;

fn log() -> LogWriter {
    let mut log = LogWriter::default();
    log.module(BIAS, BIAS, BIAS + 0x10_0000, "");
    log.thread(0, 0, 0, (0x7ffd_0000_0000, 0x7ffd_0010_0000));
    log
}

const CALLS: &str = "
int total;
static int inner(int n) {
    total += n; /* inner */
    return total;
}
int outer(int n) {
    return inner(n) + 1; /* outer */
}
int main(void) {
    return outer(3); /* main */
}
";

#[test]
fn stacks_are_a_tree_of_call_sites() {
    for compiler in compilers("calls.c") {
        let calls = compile(compiler, "calls.c", CALLS, &["-g", "-O0"]);
        let at = |function, mark| BIAS + calls.on_line(function, mark);
        let (inner, outer, main) = (
            at("inner", "/* inner */"),
            at("outer", "/* outer */"),
            at("main", "/* main */"),
        );
        let total = BIAS + calls.symbol("total");
        let sp = 0x7ffd_000f_0000;
        let mut log = log();
        log.enter(0, main, 0, sp, sp + 16);
        log.access(0, K::Read, (main, total), 4, 0);
        log.enter(0, outer, main, sp - 64, sp - 48);
        log.enter(0, inner, outer, sp - 128, sp - 112);
        log.access(0, K::Read, (inner, total), 4, 0);
        log.push(0, K::Leave, inner, 0, 0)
            .push(0, K::Leave, outer, 0, 0);
        log.access(0, K::Write, (main, total), 4, 3);
        let run = run_of(&log, &calls.program);
        let event = |i| run.events.get(EventId(i)).unwrap();
        let site = |i| run.meta.site(event(i).site);
        assert_eq!(
            (site(1).function.as_str(), site(1).text.as_str()),
            ("inner", "total += n; /* inner */")
        );
        assert!(site(1).file.ends_with("/calls.c") && site(1).line == 4);
        assert_eq!((event(0).stack, event(2).stack), (StackId(0), StackId(0)));
        let FrameRow(caller, at) = run.meta.frame(event(1).stack);
        assert_eq!(run.meta.site(at).function, "outer");
        let FrameRow(first, at) = run.meta.frame(caller);
        assert_eq!(
            (first, run.meta.site(at).function.as_str()),
            (StackId(0), "main")
        );
        assert_eq!(run.meta.sources.len(), 1);
    }
}

#[test]
fn code_in_system_headers_is_charged_to_its_caller() {
    const CPP: &str = "
#include <mutex>
std::mutex lock;
int main() {
    std::lock_guard<std::mutex> guard(lock); /* guard */
}
";
    for compiler in compilers("guard.cpp") {
        let guard = compile(compiler, "guard.cpp", CPP, &["-g", "-O0"]);
        let main = BIAS + guard.on_line("main", "/* guard */");
        let lock = guard.symbol("_ZNSt5mutex4lockEv");
        let inside = BIAS + lock + 12;
        let sp = 0x7ffd_000f_0000;
        let mut log = log();
        log.enter(0, main, 0, sp, sp + 16);
        log.enter(0, inside, main, sp - 64, sp - 48);
        log.push(0, K::Lock, inside, BIAS + guard.symbol("lock"), 0);
        let run = run_of(&log, &guard.program);
        let event = run.events.get(EventId(0)).unwrap();
        assert_eq!(run.meta.site(event.site).line, 5);
        assert_eq!(run.location(event.location), "lock");
        assert_eq!(event.stack, StackId(0));
    }
}

#[test]
fn a_changed_source_has_no_text() {
    for compiler in compilers("calls.c").into_iter().take(1) {
        let calls = compile(compiler, "calls.c", CALLS, &["-g", "-O0"]);
        let source = calls.path.with_file_name("calls.c");
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        std::fs::File::options()
            .append(true)
            .open(&source)
            .unwrap()
            .set_modified(later)
            .unwrap();
        let mut log = log();
        let main = BIAS + calls.on_line("main", "/* main */");
        log.access(0, K::Read, (main, BIAS + calls.symbol("total")), 4, 0);
        let run = run_of(&log, &calls.program);
        let site = run.meta.site(SiteId(1));
        assert_eq!((site.line, site.text.as_str()), (11, ""));
        assert!(run.meta.sources.is_empty());
        assert!(
            run.meta
                .problems
                .iter()
                .any(|text| text.contains("changed after"))
        );
    }
}

#[test]
fn calls_within_libraries_stand_where_the_library_was_called() {
    const CPP: &str = "
#include <thread>
static void work() {}
int main() {
    std::thread first(work), second(work); /* start */
    first.join();
    second.join();
}
";
    for compiler in compilers("join.cpp") {
        let join = compile(compiler, "join.cpp", CPP, &["-g", "-O0"]);
        let main = BIAS + join.on_line("main", "/* start */");
        // Any place in the library's `join` will do: the system's libstdc++ is what the program loads.
        let library = libstdcxx(compiler);
        let image = join.program.image(&library).unwrap();
        let inside = image.code_named("std::thread::join").unwrap();
        let at = 0x7f00_0000_0000;
        let sp = 0x7ffd_000f_0000;
        let mut log = log();
        log.module(at, at, at + 0x100_0000, &library);
        log.enter(0, main, 0, sp, sp + 16);
        log.access(0, K::Read, (main, sp + 2), 1, 0);
        for child in [1, 2] {
            log.push(0, K::Join, at + inside + 9, 0, child);
            log.push(0, K::Unlock, at + inside + 9, 0, 0);
        }
        let run = run_of(&log, &join.program);
        let lines: Vec<u32> = run
            .events
            .iter()
            .map(|(_, e)| run.meta.site(e.site).line)
            .collect();
        assert_eq!(lines, [5, 6, 6, 7, 7], "{compiler}");
    }
}

/// Path of the C++ library.
fn libstdcxx(compiler: &str) -> String {
    let asked = std::process::Command::new(compiler)
        .arg("-print-file-name=libstdc++.so.6")
        .output()
        .unwrap();
    let path = String::from_utf8(asked.stdout).unwrap();
    std::fs::canonicalize(path.trim())
        .unwrap()
        .to_string_lossy()
        .into_owned()
}
