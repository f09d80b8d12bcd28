//! The wrapper's command lines with real compilers: their output is instrumented, holds the runtime exactly once and
//! never the sanitizer's own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Output},
};
use unsnarl_recorder::{
    runtime_library,
    wrapper::{
        Family,
        build::BuildKind,
        compiler::in_path,
        flags::{self},
        response,
    },
};

const THREADED: &str = "#include <pthread.h>
#include <string.h>
int shared; char text[16];
static void *work(void *arg) { shared++; memset(text, 0, sizeof text); return arg; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return shared - 1;
}
";

/// The compilers of this machine.
fn compilers() -> Vec<(Family, &'static str)> {
    let all = [
        (Family::Gcc, "gcc"),
        (Family::Clang, "clang"),
        (Family::Clang, "clang-14"),
        (Family::Clang, "clang-19"),
    ];
    let here: Vec<_> = all
        .into_iter()
        .filter(|(_, name)| in_path(name).is_some())
        .collect();
    assert!(!here.is_empty(), "no compiler to test with");
    here
}

/// A folder with a compiler, as a user's project.
struct Project {
    folder: tempfile::TempDir,
    family: Family,
    compiler: &'static str,
}

impl Project {
    fn all() -> impl Iterator<Item = Project> {
        compilers().into_iter().map(|(family, compiler)| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("x.c"), THREADED).unwrap();
            Project {
                folder,
                family,
                compiler,
            }
        })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Runs the command that the wrapper would start.
    fn compile(&self, line: &str) -> Output {
        let parts = runtime_library::parts().unwrap();
        let words = line
            .split_whitespace()
            .map(|word| match word.strip_prefix('@') {
                Some(file) => OsString::from(format!("@{}", self.path().join(file).display())),
                None => word.into(),
            });
        let words = flags::rewrite(
            self.family,
            BuildKind::Exact,
            &response::expand(words),
            &parts,
        )
        .unwrap();
        Command::new(self.compiler)
            .args(words)
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    #[track_caller]
    fn compiles(&self, line: &str) {
        let output = self.compile(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.is_empty(),
            "{} {line}: {said}",
            self.compiler
        );
    }

    /// Calls of the instrumentation in an object or program.
    fn calls(&self, file: &str) -> usize {
        let relocated = self.tool("objdump", &["-dr", file]);
        let name = |line: &&str| line.contains("__tsan_read") || line.contains("__tsan_write");
        let called = |line: &&str| line.contains("call") || line.contains("PLT32");
        relocated.lines().filter(name).filter(called).count()
    }

    fn tool(&self, tool: &str, words: &[&str]) -> String {
        let output = Command::new(tool)
            .args(words)
            .current_dir(self.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Checks that a program is instrumented, with our runtime and without the sanitizer's, and runs by itself.
    #[track_caller]
    fn is_recordable(&self, program: &str) {
        let compiler = self.compiler;
        assert!(
            self.calls(program) >= 2,
            "{compiler}: {program} is not instrumented"
        );
        assert!(
            !self.tool("ldd", &[program]).contains("tsan"),
            "{compiler}: libtsan"
        );
        let symbols = self.tool("nm", &["--defined-only", program]);
        assert!(
            symbols.contains(" T __tsan_func_entry"),
            "{compiler}: no runtime in {program}"
        );
        assert!(
            !symbols.contains("6__tsan"),
            "{compiler}: the sanitizer's runtime is in {program}"
        );
        let dynamic = self.tool("nm", &["-D", "--defined-only", program]);
        for name in ["pthread_mutex_lock", "malloc", "__tsan_write4", "memset"] {
            let exported = dynamic
                .lines()
                .any(|line| line.split_whitespace().nth(2) == Some(name));
            assert!(
                exported,
                "{compiler}: {name} is not exported by {program}:\n{dynamic}"
            );
        }
        let status = Command::new(self.path().join(program)).status().unwrap();
        assert!(
            status.success(),
            "{compiler}: {program} by itself: {status}"
        );
    }
}

#[test]
fn in_one_command_and_in_two() {
    for project in Project::all() {
        project.compiles("-O1 x.c -o one -pthread");
        project.is_recordable("one");
        project.compiles("-O1 -c x.c -o x.o");
        project.compiles("x.o -o two");
        project.is_recordable("two");
        assert_eq!(
            project.calls("one"),
            project.calls("two"),
            "{}",
            project.compiler
        );
    }
}

#[test]
fn dependency_files_are_named_and_filled_as_usual() {
    for project in Project::all() {
        project.write("h.h", "");
        project.write("y.c", "#include \"h.h\"\nint main(void) { return 0; }\n");
        project.compiles("-MD -MF deps -MT target -c y.c -o y.o");
        let text = fs::read_to_string(project.path().join("deps")).unwrap();
        assert!(
            text.starts_with("target:") && text.contains("h.h"),
            "{text}"
        );
        project.compiles("-MMD y.c -o y");
        let usual = Command::new(project.compiler);
        assert_eq!(
            dependency_files(&project),
            dependency_files_of(usual, &project),
            "{}",
            project.compiler
        );
    }
}

fn dependency_files(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".d"));
    names.sort();
    names
}

/// The files that the compiler itself makes for `-MMD y.c -o y`.
fn dependency_files_of(mut compiler: Command, project: &Project) -> Vec<String> {
    for file in dependency_files(project) {
        fs::remove_file(project.path().join(file)).unwrap();
    }
    assert!(
        compiler
            .args(["-MMD", "y.c", "-o", "y"])
            .current_dir(project.path())
            .status()
            .unwrap()
            .success()
    );
    dependency_files(project)
}

#[test]
fn many_files_and_a_forced_language() {
    for project in Project::all() {
        project.write(
            "more.c",
            "int more = 3;\nint *get(void) { more++; return &more; }\n",
        );
        project.write("odd.txt", THREADED);
        project.compiles("more.c x.c -o many");
        project.is_recordable("many");
        project.compiles("-c more.c x.c");
        assert!(project.calls("more.o") > 0 && project.calls("x.o") > 0);
        project.compiles("-x c odd.txt -o odd");
        project.is_recordable("odd");
        project.compiles("-x c -c odd.txt -o odd.o");
        assert!(project.calls("odd.o") > 0);
    }
}

#[test]
fn response_files() {
    for project in Project::all() {
        project.write("args", "-O1 'x.c'\n-o \"from args\"");
        project.compiles("@args");
        project.is_recordable("from args");
    }
}

#[test]
fn a_shared_library_takes_the_callbacks_from_the_program() {
    for project in Project::all() {
        project.write(
            "lib.c",
            "int counter;\nint count(void) { return ++counter; }\n",
        );
        project.write(
            "main.c",
            "int count(void);\nint main(void) { return count() - 1; }\n",
        );
        project.compiles("-fPIC -shared lib.c -o libcount.so -Wl,-z,defs -Wl,--no-undefined");
        assert!(project.calls("libcount.so") > 0, "not instrumented");
        let symbols = project.tool("nm", &["-D", "libcount.so"]);
        assert!(
            symbols.contains("U __tsan_write4") && !symbols.contains("T __tsan_"),
            "{symbols}"
        );
        project.compiles("main.c -o app -L. -lcount -Wl,-rpath,.");
        let status = Command::new("./app")
            .current_dir(project.path())
            .status()
            .unwrap();
        assert!(status.success(), "{}: {status}", project.compiler);
    }
}

#[test]
fn a_library_that_is_loaded_later_finds_the_callbacks() {
    for project in Project::all() {
        project.write(
            "lib.c",
            "int counter;\nint count(void) { return ++counter; }\n",
        );
        project.write(
            "main.c",
            "#include <dlfcn.h>\nint main(void) { void *lib = dlopen(\"./lib.so\", RTLD_NOW);\n\
             if (!lib) return 2; int (*count)(void) = (int (*)(void))dlsym(lib, \"count\"); return count() - 1; }\n",
        );
        project.compiles("-fPIC -shared lib.c -o lib.so");
        project.compiles("main.c -o app");
        let status = Command::new("./app")
            .current_dir(project.path())
            .status()
            .unwrap();
        assert!(status.success(), "{}: {status}", project.compiler);
    }
}

#[test]
fn the_sanitizer_that_the_build_asks_for_is_replaced() {
    for project in Project::all() {
        project.compiles("-fsanitize=thread -O1 -c x.c -o x.o");
        project.compiles("-fsanitize=thread x.o -o two");
        project.is_recordable("two");
        project.compiles("-fsanitize=thread x.c -o one");
        project.is_recordable("one");
    }
}

#[test]
fn common_flags_of_distributions_and_build_systems() {
    for project in Project::all() {
        for (number, flags) in [
            "-O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -Wl,-z,relro,-z,now -fPIE -pie",
            "-O2 -Wp,-D_FORTIFY_SOURCE=2 -Wall -Wextra -Werror",
            "-O0 -no-pie",
            "-O3 -flto -s",
            "-O1 -fuse-ld=gold",
            "-O2 -ffunction-sections -Wl,--gc-sections -Wl,--as-needed",
            "-Os -std=gnu11 -pthread -Wl,-O1,--sort-common",
        ]
        .iter()
        .enumerate()
        {
            if flags.contains("gold") && in_path("ld.gold").is_none() {
                continue;
            }
            project.compiles(&format!("{flags} x.c -o flags{number}"));
            project.is_recordable(&format!("flags{number}"));
            let symbols = project.tool("nm", &[&format!("flags{number}")]);
            assert!(!symbols.contains("_chk@"), "{flags}: fortified");
        }
    }
}

#[test]
fn fences_do_not_break_a_build_with_werror() {
    for project in Project::all() {
        project.write(
            "fence.c",
            "#include <stdatomic.h>\nint main(void) { atomic_thread_fence(memory_order_seq_cst); return 0; }\n",
        );
        project.compiles("-O1 -Werror fence.c -o fence");
    }
}

#[test]
fn no_access_is_dropped() {
    for project in Project::all() {
        project.write("inc.c", "int n;\nvoid inc(void) { n++; }\n");
        project.write(
            "set.c",
            "#include <string.h>\nchar b[8];\nvoid set(void) { memset(b, 0, sizeof b); }\n",
        );
        project.compiles("-O1 -c inc.c");
        let relocations = project.tool("objdump", &["-dr", "inc.o"]);
        assert!(
            relocations.contains("__tsan_read4") && relocations.contains("__tsan_write4"),
            "{}",
            project.compiler
        );
        project.compiles("-O0 -c set.c");
        let relocations = project.tool("objdump", &["-dr", "set.o"]);
        let seen = relocations.contains("memset-") || relocations.contains("__tsan_write8");
        assert!(seen, "{}: {relocations}", project.compiler);
    }
}

#[test]
fn cpp_programs_too() {
    let source = "#include <mutex>\n#include <thread>\nstatic int shared; static std::mutex lock;\n\
                  int main() { std::thread other([] { std::lock_guard<std::mutex> hold(lock); shared++; });\n\
                  { std::lock_guard<std::mutex> hold(lock); shared++; } other.join(); return shared - 2; }\n";
    for (family, compiler) in [
        (Family::Gcc, "g++"),
        (Family::Clang, "clang++-19"),
        (Family::Clang, "clang++-14"),
    ] {
        if in_path(compiler).is_none() {
            continue;
        }
        let project = Project {
            folder: tempfile::tempdir().unwrap(),
            family,
            compiler,
        };
        project.write("x.cpp", source);
        project.compiles("-std=c++17 -O1 x.cpp -o x -pthread");
        project.is_recordable("x");
        project.compiles("-std=c++17 -c x.cpp");
        project.compiles("x.o -o y");
        project.is_recordable("y");
    }
}
