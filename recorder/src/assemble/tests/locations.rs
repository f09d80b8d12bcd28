//! Names of memory.

use super::{
    log_writer::LogWriter,
    programs::{Compiled, compile, compilers},
    run_of, shown,
};
use unsnarl_trace::{EventId, SiteId, ThreadId, model::flags, raw::RecordKind as K};

const BANK: &str = "
#include <pthread.h>
#include <stdlib.h>
struct account { char tag; int total; pthread_mutex_t lock; union { int i; float f; } u;
                 unsigned a : 3, b : 5; struct { long x, y; } point[2]; };
struct account acct[4];
int matrix[3][5];
static int hidden = 3;
char text[16];
void *shared;
int worker(int n) {
    static int calls;
    int buf[8];
    buf[n] = n;           /* write */
    calls += hidden;
    return buf[n] + calls; /* read */
}
int main(void) {
    shared = malloc(64);   /* allocate */
    struct account *mine = malloc(2 * sizeof *mine); /* typed */
    free(mine);
    return worker(3) + matrix[0][0]; /* call */
}
";

const BIAS: u64 = 0x5600_0000_0000;
const STACK: (u64, u64) = (0x7ffd_0000_0000, 0x7ffd_0010_0000);
const HEAP: u64 = 0x5600_1000_0000;

fn log() -> LogWriter {
    let mut log = LogWriter::default();
    log.module(BIAS, BIAS, BIAS + 0x10_0000, "")
        .thread(0, 0, 0, STACK);
    log
}

fn each_compiler(check: impl Fn(&Compiled)) {
    let all = compilers("bank.c");
    assert!(!all.is_empty(), "neither gcc nor clang is there");
    for compiler in all {
        check(&compile(compiler, "bank.c", BANK, &["-g", "-O0"]));
    }
}

#[test]
fn globals_have_field_paths() {
    each_compiler(|bank| {
        let mut log = log();
        let acct = BIAS + bank.symbol("acct");
        let size = 4 + 4 + 40 + 8 + 32;
        let mut read = |address: u64, bytes: u32| {
            log.access(0, K::Read, (0, address), bytes, 7);
        };
        read(acct + 3 * size + 4, 4);
        read(acct, 1);
        read(acct + 8, 8);
        read(acct + 48, 4);
        read(acct + 52, 4);
        read(acct + size + 72, 8);
        read(BIAS + bank.symbol("matrix") + 4 * 8, 4);
        read(BIAS + bank.symbol("hidden"), 4);
        let run = run_of(&log, &bank.program);
        let names: Vec<&str> = run
            .events
            .iter()
            .map(|(_, e)| run.location(e.location))
            .collect();
        let expected = [
            "acct[3].total",
            "acct[0].tag",
            "acct[0].lock",
            "acct[0].u",
            "acct[0].a|b",
            "acct[1].point[1].x",
            "matrix[1][3]",
            "hidden",
        ];
        assert_eq!(names, expected);
    });
}

#[test]
fn an_access_to_several_leaves_becomes_several_rows() {
    each_compiler(|bank| {
        let mut log = log();
        let acct = BIAS + bank.symbol("acct");
        log.access(0, K::Write, (0, acct), 8, 0x1122_3344_5566_7788);
        log.access(0, K::Read, (0, BIAS + bank.symbol("text") + 1), 2, 0x4241);
        let run = run_of(&log, &bank.program);
        assert_eq!(
            shown(&run),
            "main write acct[0].tag = 136\n\
             main write acct[0].total = 287454020\n\
             main read text[1] = 65\n\
             main read text[2] = 66\n"
        );
        let seq: Vec<u64> = run.events.iter().map(|(_, event)| event.seq).collect();
        assert_eq!(seq, [0, 0, 1, 1]);
    });
}

#[test]
fn heap_blocks_are_named_by_their_allocation_and_divided_by_use() {
    each_compiler(|bank| {
        let mut log = log();
        let pc = BIAS + bank.on_line("main", "/* allocate */");
        log.push(0, K::Alloc, pc, HEAP, 64);
        log.push(0, K::Alloc, pc, HEAP + 64, 32);
        log.access(0, K::Write, (pc, BIAS + bank.symbol("shared")), 8, HEAP);
        log.access(0, K::Write, (pc, HEAP + 8), 8, HEAP + 64);
        log.access(0, K::Write, (pc, HEAP + 12), 4, 5);
        log.access(0, K::Read, (pc, HEAP + 64 + 16), 4, 6);
        log.push(0, K::WriteRange, pc, HEAP, 64);
        log.push(0, K::Free, pc, HEAP, 0);
        log.access(0, K::Read, (pc, HEAP + 12), 4, 5);
        let run = run_of(&log, &bank.program);
        assert_eq!(
            shown(&run),
            "main alloc heap(bank.c:19 by main #0) = 64\n\
             main alloc heap(bank.c:19 by main #1) = 32\n\
             main write shared = &heap(bank.c:19 by main #0)\n\
             main write heap(bank.c:19 by main #0)+8 = &heap(bank.c:19 by main #1)\n\
             main write heap(bank.c:19 by main #0)+8 = 5\n\
             main read heap(bank.c:19 by main #1)+16 = 6\n\
             main write heap(bank.c:19 by main #0)\n\
             main write heap(bank.c:19 by main #0)+8\n\
             main write heap(bank.c:19 by main #0)[16..64]\n\
             main free heap(bank.c:19 by main #0)\n\
             main read heap(bank.c:19 by main #0)+8 = 5\n"
        );
        let range = run.events.get(EventId(8)).unwrap();
        assert_eq!((range.flags & flags::RANGE, range.size), (flags::RANGE, 48));
    });
}

#[test]
fn blocks_have_fields_where_the_source_says_what_they_hold() {
    each_compiler(|bank| {
        let mut log = log();
        let pc = BIAS + bank.on_line("main", "/* typed */");
        let size = 4 + 4 + 40 + 8 + 32;
        log.push(0, K::Alloc, pc, HEAP, 2 * size);
        log.access(0, K::Write, (pc, HEAP + 4), 4, 1);
        log.access(0, K::Write, (pc, HEAP + size + 4), 4, 2);
        log.push(0, K::Lock, pc, HEAP + size + 8, 0);
        log.access(0, K::Write, (pc, HEAP), 8, HEAP + size);
        // Of another size than the source says: who knows what it is.
        log.push(0, K::Alloc, pc, HEAP + 4096, size + 1);
        log.access(0, K::Read, (pc, HEAP + 4096 + 4), 4, 1);
        let run = run_of(&log, &bank.program);
        assert_eq!(
            shown(&run),
            "main alloc heap(bank.c:20 by main #0) = 176\n\
             main write heap(bank.c:20 by main #0)[0].total = 1\n\
             main write heap(bank.c:20 by main #0)[1].total = 2\n\
             main lock heap(bank.c:20 by main #0)[1].lock\n\
             main write heap(bank.c:20 by main #0)[0].tag\n\
             main write heap(bank.c:20 by main #0)[0].total\n\
             main alloc heap(bank.c:20 by main #1) = 89\n\
             main read heap(bank.c:20 by main #1)+4 = 1\n"
        );
    });
}

#[test]
fn stack_variables_belong_to_a_thread_and_a_function() {
    each_compiler(|bank| {
        let mut log = log();
        let stack = (0x7f00_0000_0000, 0x7f00_0080_0000);
        log.thread(0, 1, 0, stack);
        let write = BIAS + bank.on_line("worker", "/* write */");
        let call = BIAS + bank.on_line("main", "/* call */");
        let cfa = stack.1 - 4096;
        log.push(0, K::Fork, call, 0, 1).push(1, K::Begin, 0, 0, 0);
        log.enter(1, write, call, cfa - 16 - 128, cfa - 16);
        // At -O0 clang counts from the frame pointer, gcc from the frame address.
        let image = bank.program.image("").unwrap();
        let base = match image.function(bank.symbol("worker")).unwrap().1.frame_base {
            super::super::dwarf::FrameBase::Cfa => cfa,
            _ => cfa - 16,
        };
        let buf = base.wrapping_add_signed(bank.in_frame("worker", "buf"));
        log.access(1, K::Write, (write, buf + 12), 4, 3);
        // Called again below itself: another frame of the same function.
        log.enter(1, write, write, cfa - 16 - 128 - 256, cfa - 16 - 256);
        log.access(0, K::Read, (write, buf + 12 - 256), 4, 9);
        log.push(1, K::Leave, write, 0, 0);
        log.access(0, K::Read, (write, buf + 12), 4, 3);
        log.access(0, K::Read, (write, stack.1 - 64), 8, 3);
        let run = run_of(&log, &bank.program);
        assert_eq!(
            shown(&run),
            "main fork  = 1\n\
             main.1 begin \n\
             main.1 write main.1:worker.buf[3] = 3\n\
             main read main.1:worker#1.buf[3] = 9\n\
             main read main.1:worker.buf[3] = 3\n\
             main read main.1:stack-64 = 3\n"
        );
        let own = |i| run.events.get(EventId(i)).unwrap().flags & flags::OWN_STACK != 0;
        assert!(own(2) && !own(3));
        assert_eq!(run.meta.thread(ThreadId(1)).start, "worker");
    });
}

#[test]
fn function_statics_carry_the_function() {
    each_compiler(|bank| {
        let image = bank.program.image("").unwrap();
        assert!(
            image
                .objects
                .iter()
                .any(|object| object.name == "worker::calls")
        );
    });
}

#[test]
fn symbols_stand_in_without_debug_info() {
    for compiler in compilers("bank.c") {
        let bank = compile(compiler, "bank.c", BANK, &["-O0"]);
        assert!(!bank.program.has_debug_info());
        let mut log = log();
        log.access(
            0,
            K::Read,
            (
                BIAS + bank.symbol("main") + 9,
                BIAS + bank.symbol("acct") + 8,
            ),
            4,
            1,
        );
        let run = run_of(&log, &bank.program);
        assert_eq!(shown(&run), "main read acct+8 = 1\n");
        assert_eq!(run.meta.site(SiteId(1)).function, "main+0x8");
        assert!(
            run.meta
                .problems
                .iter()
                .any(|text| text.contains("no debug info"))
        );
    }
}

#[test]
fn classes_and_namespaces_are_in_the_names() {
    const CPP: &str = "
#include <mutex>
#include <atomic>
#include <array>
namespace bank { struct Base { long id; }; struct Vault : Base { std::mutex lock; std::atomic<int> gold;
                 std::array<int, 3> bars; static int count; virtual void open() {} }; int Vault::count;
                 Vault vault; }
int main() { return bank::Vault::count; }
";
    for compiler in compilers("vault.cpp") {
        let vault = compile(compiler, "vault.cpp", CPP, &["-g", "-O0"]);
        let mut log = log();
        let at = BIAS + vault.symbol("_ZN4bank5vaultE");
        log.access(0, K::Read, (0, at + 8), 8, 1);
        log.push(0, K::Lock, 0, at + 16, 0);
        log.access(0, K::AtomicRead, (0, at + 56), 4, 1);
        log.access(0, K::Read, (0, at + 64), 4, 1);
        log.access(
            0,
            K::Read,
            (0, BIAS + vault.symbol("_ZN4bank5Vault5countE")),
            4,
            1,
        );
        log.access(0, K::Read, (0, at), 8, at + 60);
        let run = run_of(&log, &vault.program);
        assert_eq!(
            shown(&run),
            "main read bank::vault.id = 1\n\
             main lock bank::vault.lock\n\
             main atomic-read bank::vault.gold = 1\n\
             main read bank::vault.bars[1] = 1\n\
             main read bank::Vault::count = 1\n\
             main read bank::vault._vptr = &bank::vault.bars\n"
        );
        assert_eq!(
            run.meta
                .locks
                .iter()
                .map(|l| run.location(*l))
                .collect::<Vec<_>>(),
            ["bank::vault.lock"]
        );
    }
}

/// A queue of the library is known by its own name, not by the member that it keeps its container in; a member of the program's own
/// keeps its name.
#[test]
fn adapters_are_no_layer_around_their_container() {
    const CPP: &str = "
#include <queue>
#include <vector>
template <typename T> struct stack { long top; std::vector<T> c; };
std::queue<int, std::vector<int>> jobs;
stack<int> own;
int main() { return jobs.size() + own.c.size(); }
";
    for compiler in compilers("jobs.cpp") {
        let jobs = compile(compiler, "jobs.cpp", CPP, &["-g", "-O0"]);
        let mut log = log();
        log.access(0, K::Read, (0, BIAS + jobs.symbol("jobs")), 8, 1);
        log.access(0, K::Read, (0, BIAS + jobs.symbol("own") + 8), 8, 1);
        let run = run_of(&log, &jobs.program);
        assert_eq!(
            shown(&run),
            "main read jobs._M_start = 1\nmain read own.c._M_start = 1\n",
            "{compiler}"
        );
    }
}

const SHOP: &str = "
struct Store { virtual ~Store(); int opened; };
struct Cache : Store { int hits; ~Cache() override; };
";

/// Compilers describe a class with virtual functions in the unit that has them, and only name it in the others.
#[test]
fn classes_that_another_unit_defines_have_members() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("cache.cpp");
    std::fs::write(
        &other,
        format!("{SHOP}Store::~Store() {{}}\nCache::~Cache() {{}}\n"),
    )
    .unwrap();
    let other = other.to_str().unwrap();
    for compiler in compilers("shop.cpp") {
        let text = format!("{SHOP}Cache cache;\nint main() {{ return cache.hits; /* read */ }}\n");
        let shop = compile(compiler, "shop.cpp", &text, &["-g", "-O0", other]);
        let mut log = log();
        let cache = BIAS + shop.symbol("cache");
        log.access(0, K::Read, (0, cache + 8), 4, 7);
        log.access(0, K::Read, (0, cache + 12), 4, 7);
        let run = run_of(&log, &shop.program);
        let names = run
            .events
            .iter()
            .map(|(_, event)| run.location(event.location));
        assert_eq!(
            names.collect::<Vec<&str>>(),
            ["cache.opened", "cache.hits"],
            "{compiler}"
        );
    }
}
