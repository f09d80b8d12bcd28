//! How a compiler's command line is changed so that the program can be recorded.
//!
//! The whole list stands here, each flag with its reason, and beneath it what was left out on
//! purpose. Rewriting is pure: nothing is started, read or written.
//!
//! Compiling and linking in one command is the delicate case: `-fsanitize=thread` has to reach the
//! compiler proper but not the driver, which would link the sanitizer's own runtime. For clang
//! `-Xclang` does that; for gcc a specs file that appends it to the compiler proper's options.

use super::{
    arguments::{self, Command, Stage, Word},
    assembler,
    build::Build,
    compiler::Family,
    linker,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Words that are added to a command line, and why.
pub struct Flag {
    /// For which compilers; `None` for all.
    pub family: Option<Family>,
    /// The words.
    pub words: &'static [&'static str],
    /// Why they are needed.
    pub reason: &'static str,
}

/// Added wherever code is made, behind the user's own flags so that these win. (`-fsanitize=thread`
/// comes on top, in the form that the command needs.)
pub const COMPILE: [Flag; 10] = [
    Flag {
        family: None,
        words: &["-g"],
        reason: "lines, columns and names of variables come from debug info",
    },
    Flag {
        family: None,
        words: &["-fno-omit-frame-pointer"],
        reason: "variables on the stack are found by the frame pointer that the runtime sees at function entry",
    },
    Flag {
        family: None,
        words: &["-Wp,-U_FORTIFY_SOURCE"],
        reason: "the checking variants of memcpy and the like would not be recorded (this form also undoes -Wp,-D)",
    },
    Flag {
        family: Some(Family::Gcc),
        words: &["-fno-builtin"],
        reason: "gcc expands small memset, memcpy and string functions in line without recording them",
    },
    Flag {
        family: Some(Family::Gcc),
        words: &["-fno-tree-loop-distribute-patterns"],
        reason: "a loop over shared data must stay accesses of its own lines, not become a call of memset",
    },
    Flag {
        family: Some(Family::Gcc),
        words: &["-Wno-tsan"],
        reason: "gcc warns that fences are not supported by its own runtime; ours supports them",
    },
    Flag {
        family: Some(Family::Clang),
        words: &["-mllvm", "-tsan-instrument-read-before-write=1"],
        reason: "clang drops the read of `x++` because a write follows",
    },
    Flag {
        family: Some(Family::Clang),
        words: &["-mprefer-vector-width=128"],
        reason: "clang has no callback for wider vectors, as -mavx makes them of loops",
    },
    Flag {
        family: Some(Family::Gcc),
        words: &["-fsanitize-coverage=trace-pc"],
        reason: "replays record the branches; the callback returns at once in all other runs",
    },
    Flag {
        family: Some(Family::Clang),
        words: &[
            "-Xclang",
            "-fsanitize-coverage-type=3",
            "-Xclang",
            "-fsanitize-coverage-trace-pc",
            "-Xclang",
            "-fsanitize-coverage-no-prune",
        ],
        reason: "the same (given to the driver, -fsanitize-coverage would link a runtime of clang's own)",
    },
];

/// Added instead where code is made for path mode ([`Build::Path`]): the compiler makes the code that it
/// would make anyway, and [`super::assembler`] stands in for the assembler.
pub const COMPILE_PATH: [Flag; 3] = [
    Flag {
        family: None,
        words: &["-g"],
        reason: "lines and names come from debug info, and the debug info marks the ends of functions",
    },
    Flag {
        family: Some(Family::Gcc),
        words: &["-fno-ipa-ra"],
        reason: "gcc would rely on which registers the functions of a file leave alone",
    },
    Flag {
        family: Some(Family::Clang),
        words: &["-fno-integrated-as"],
        reason: "clang would write machine code itself",
    },
];

/// Added where an executable is linked for path mode.
pub const LINK_PATH: [Flag; 1] = [Flag {
    family: None,
    words: &["-Xlinker", "--defsym=unsnarl_path_build=0"],
    reason: "a mark by which the recorder knows what the program is built for",
}];

/// Added where an executable is linked, behind the runtime itself and the list of what it exports.
pub const LINK: [Flag; 1] = [Flag {
    family: None,
    words: &["-lpthread", "-ldl", "-lc"],
    reason: "the runtime calls the real functions; with a C library older than 2.34 they are in these libraries",
}];

/// Added for OpenMP: nothing in the program needs libgomp any more, so the linker would leave it out;
/// without the recorder the runtime passes every call on to it.
const LIBGOMP: [&str; 4] = [
    "-Wl,--push-state",
    "-Wl,--no-as-needed",
    "-lgomp",
    "-Wl,--pop-state",
];

/// Content of the list of symbols that a program exports to libraries that it loads with `dlopen`.
/// (What the C library defines too, as `pthread_*` and `malloc`, the linker exports by itself.)
pub const EXPORTED: &str =
    "{ __tsan_*; __sanitizer_cov_trace_pc; unsnarl_path_*; unsnarl_next; GOMP_*; omp_*; };\n";

/// Flags that somebody might miss here, and why they are not added.
pub const LEFT_OUT_ON_PURPOSE: [(&str, &str); 6] = [
    (
        "-O0",
        "what the user's build runs is what is recorded; at -O2 there are fewer accesses, not wrong ones",
    ),
    (
        "-fno-inline",
        "inlined functions are found through debug info",
    ),
    (
        "-fno-optimize-sibling-calls",
        "the exit callback stands behind the call, so there are no sibling calls",
    ),
    (
        "-fno-store-merging",
        "merged stores are what the program does",
    ),
    (
        "-rdynamic",
        "it would export everything and make programs behave differently under dlsym",
    ),
    ("-static-libgcc", "the runtime neither throws nor unwinds"),
];

/// Words of the user's that are dropped, and why. A trailing `*` stands for any ending.
const DROPPED: [(&str, &str); 18] = [
    (
        "-static-libtsan",
        "the sanitizer's own runtime is not linked",
    ),
    ("-ltsan", "the same"),
    (
        "-fsanitize-coverage=*",
        "its callbacks are the recorder's, which serves one kind of them",
    ),
    (
        "-flto",
        "gcc would instrument when linking, where the flags are no longer in force",
    ),
    ("-flto=*", "the same"),
    ("-ffat-lto-objects", "the same"),
    (
        "-fwhole-program*",
        "goes with link-time optimization, and hides functions from the program's other objects without it",
    ),
    (
        "-fvirtual-function-elimination",
        "clang refuses it without link-time optimization",
    ),
    ("-fsplit-lto-unit", "the same"),
    (
        "-static-libstdc++",
        "the runtime takes over functions of the shared C++ library",
    ),
    (
        "-fdebug-prefix-map=*",
        "the recorder reads the source text where the debug info says it is",
    ),
    ("-fdebug-compilation-dir*", "the same"),
    ("-ffile-compilation-dir=*", "the same"),
    ("-fuse-linker-plugin", "goes with link-time optimization"),
    (
        "-gsplit-dwarf*",
        "debug info is read from the program's own file",
    ),
    ("-gz*", "debug info is read as it is"),
    ("-g0", "debug info is needed"),
    ("-s", "the names are needed"),
];

/// Words for the linker that are dropped for the same reasons.
const DROPPED_LINKER: [&str; 4] = ["-s", "--strip-all", "-S", "--strip-debug"];

/// Why a command is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refusal {
    /// A static executable.
    #[error(
        "`{0}` cannot be recorded: the runtime takes over functions of the shared C library\n  \
         next: link without `{0}`"
    )]
    Static(String),
    /// Without the C library.
    #[error(
        "`{0}` cannot be recorded: the runtime needs the C library\n  \
         next: link this program with the plain compiler, or without `{0}`"
    )]
    NoLibrary(String),
    /// Another sanitizer whose runtime takes over the same functions.
    #[error(
        "`-fsanitize={0}` and recording exclude each other: both take over memory accesses and malloc\n  \
         next: build without `-fsanitize={0}` for recording"
    )]
    Sanitizer(String),
    /// OpenMP by clang.
    #[error(
        "OpenMP is recorded as gcc compiles it; clang's (`{0}`) calls another library that cannot be recorded\n  \
         next: build with gcc (UNSNARL_CC=gcc, UNSNARL_CXX=g++), or without `{0}`"
    )]
    OpenMp(String),
    /// Another machine.
    #[error(
        "`{0}` makes code for another machine; recording works on x86-64 Linux only\n  next: build without `{0}`"
    )]
    Machine(String),
}

/// What the rewritten command refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The runtime, a static library.
    pub runtime: PathBuf,
    /// gcc's specs file: [`SPECS`].
    pub specs: PathBuf,
    /// The linker's list of symbols to export: [`EXPORTED`].
    pub exported: PathBuf,
    /// The folder with what stands in for the assembler, with a slash at its end.
    pub tools: PathBuf,
}

/// Content of the specs file: one more option for gcc's compiler proper, unknown to its driver.
/// (The blank at its end matters: with -save-temps more options follow.)
pub const SPECS: &str = "*cc1_options:\n+ -fsanitize=thread \n\n";

/// The command line that makes the same thing, ready for recording.
pub fn rewrite(
    family: Family,
    build: Build,
    given: &[OsString],
    parts: &Parts,
) -> Result<Vec<OsString>, Refusal> {
    let command = arguments::read(given);
    if matches!(command.stage, Stage::Question | Stage::NoCode) {
        return Ok(given.to_vec());
    }
    refuse(family, &command)?;
    let mut words = kept(&command);
    if command.stage == Stage::LinkShared {
        words = linker::without_ban_on_undefined(words);
    }
    if command.compiles {
        match build {
            Build::Exact => {
                add(&mut words, family, &COMPILE);
                words.extend(instrument(family, command.stage, parts));
            }
            Build::Path => {
                add(&mut words, family, &COMPILE_PATH);
                words.push(with("-B", &parts.tools));
                if is_for_library(&command) {
                    words.push(format!("-Wa,--defsym,{}", assembler::SHARED).into());
                }
            }
        }
    }
    if command.stage == Stage::Link {
        if command.language_forced {
            words.extend(["-x".into(), "none".into()]);
        }
        words.push(parts.runtime.clone().into_os_string());
        words.extend(["-Xlinker".into(), with("--dynamic-list=", &parts.exported)]);
        add(&mut words, family, &LINK);
        if family == Family::Gcc && command.words.iter().any(|word| word.is("-fopenmp")) {
            words.extend(LIBGOMP.map(OsString::from));
        }
        if build == Build::Path {
            add(&mut words, family, &LINK_PATH);
        }
    }
    Ok(words)
}

/// Whether the code may end up in a shared library.
fn is_for_library(command: &Command) -> bool {
    const MODELS: [&str; 8] = [
        "-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-PIC", "-fno-pic", "-fno-PIE", "-fno-pie",
    ];
    let mut models = command
        .words
        .iter()
        .rev()
        .filter(|word| word.is_one_of(&MODELS));
    models
        .next()
        .is_some_and(|word| word.is_one_of(&["-fPIC", "-fpic"]))
        || command.stage == Stage::LinkShared
}

fn add(words: &mut Vec<OsString>, family: Family, flags: &[Flag]) {
    let wanted = flags
        .iter()
        .filter(|flag| flag.family.is_none_or(|only| only == family));
    words.extend(wanted.flat_map(|flag| flag.words).map(OsString::from));
}

/// `-fsanitize=thread` for the compiler proper. Where nothing is linked the plain flag does, and
/// tells compiler caches what is going on.
fn instrument(family: Family, stage: Stage, parts: &Parts) -> Vec<OsString> {
    match (family, stage) {
        (_, Stage::Compile) => vec!["-fsanitize=thread".into()],
        (Family::Clang, _) => vec!["-Xclang".into(), "-fsanitize=thread".into()],
        (Family::Gcc, _) => vec![with("-specs=", &parts.specs)],
    }
}

fn with(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

fn refuse(family: Family, command: &Command) -> Result<(), Refusal> {
    for word in &command.words {
        let text = word.lossy();
        if family == Family::Clang && (text == "-fopenmp" || text.starts_with("-fopenmp=")) {
            return Err(Refusal::OpenMp(text));
        }
        if matches!(text.as_str(), "-m32" | "-mx32" | "-m16") {
            return Err(Refusal::Machine(text));
        }
        if let Some(target) = target(word).filter(|target| !target.starts_with("x86_64")) {
            return Err(Refusal::Machine(format!("--target={target}")));
        }
        if let Some(other) = sanitizers(&text).into_iter().find(|name| excludes(name)) {
            return Err(Refusal::Sanitizer(other));
        }
        if command.stage == Stage::Link {
            refuse_link(word, &command.words)?;
        }
    }
    match linker::ends_static(&command.words) {
        Some(word) if command.stage == Stage::Link => Err(Refusal::Static(format!("-Wl,{word}"))),
        _ => Ok(()),
    }
}

/// Without the default libraries a program may still name the C library itself.
fn refuse_link(word: &Word, all: &[Word]) -> Result<(), Refusal> {
    let text = word.lossy();
    let names_libc = || {
        all.iter()
            .any(|word| word.value_of("-l").as_deref() == Some("c"))
    };
    match text.as_str() {
        "-static" | "--static" | "-static-pie" => Err(Refusal::Static(text)),
        "-nostdlib" | "-nodefaultlibs" | "-nolibc" if !names_libc() => {
            Err(Refusal::NoLibrary(text))
        }
        _ => Ok(()),
    }
}

/// The machine that code is made for, if the word names one.
fn target(word: &Word) -> Option<String> {
    if word.is("-target") {
        return word
            .argument
            .as_ref()
            .map(|target| target.to_string_lossy().into_owned());
    }
    word.lossy().strip_prefix("--target=").map(str::to_owned)
}

/// The names in `-fsanitize=a,b`.
fn sanitizers(text: &str) -> Vec<String> {
    let names = text.strip_prefix("-fsanitize=").unwrap_or_default();
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Sanitizers that take over what the runtime takes over.
fn excludes(name: &str) -> bool {
    const OTHERS: [&str; 11] = [
        "address",
        "kernel-address",
        "hwaddress",
        "kernel-hwaddress",
        "pointer-compare",
        "pointer-subtract",
        "leak",
        "memory",
        "memtag",
        "dataflow",
        "fuzzer",
    ];
    OTHERS.contains(&name)
}

/// The user's words without those that are dropped.
fn kept(command: &Command) -> Vec<OsString> {
    let mut words = Vec::new();
    for word in &command.words {
        if let Some(text) = keep(word) {
            words.push(text);
            words.extend(word.argument.clone());
        }
    }
    words
}

fn keep(word: &Word) -> Option<OsString> {
    let text = word.lossy();
    if DROPPED.iter().any(|(option, _)| word.is(option)) || is_separate(word, "-l", "tsan") {
        return None;
    }
    if word.is("-Xlinker")
        && word
            .linker_words()
            .iter()
            .any(|word| is_dropped_linker(word))
    {
        return None;
    }
    if let Some(map) = text.strip_prefix("-ffile-prefix-map=") {
        // Of its two effects, the one on `__FILE__` stays.
        return Some(format!("-fmacro-prefix-map={map}").into());
    }
    if text.starts_with("-fsanitize=") {
        let others: Vec<String> = sanitizers(&text)
            .into_iter()
            .filter(|name| name != "thread")
            .collect();
        return (!others.is_empty()).then(|| format!("-fsanitize={}", others.join(",")).into());
    }
    if text.starts_with("-Wl,") {
        let words: Vec<String> = word
            .linker_words()
            .into_iter()
            .filter(|word| !is_dropped_linker(word))
            .collect();
        return (!words.is_empty()).then(|| format!("-Wl,{}", words.join(",")).into());
    }
    Some(word.text.clone())
}

fn is_separate(word: &Word, option: &str, argument: &str) -> bool {
    word.is(option) && word.argument.as_deref() == Some(argument.as_ref())
}

fn is_dropped_linker(word: &str) -> bool {
    DROPPED_LINKER.contains(&word) || word.starts_with("--compress-debug-sections")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn try_rewrite(family: Family, line: &str) -> Result<String, Refusal> {
        let parts = Parts {
            runtime: "/c/rt.a".into(),
            specs: "/c/tsan.specs".into(),
            exported: "/c/list".into(),
            tools: "/tools/".into(),
        };
        let rewritten = rewrite(family, Build::Exact, &words(line), &parts)?;
        Ok(rewritten
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" "))
    }

    /// Compares with our own flags abbreviated: GCC, CLANG for compiling, EXE and SO for linking.
    #[track_caller]
    fn check(family: Family, line: &str, expected: &str) {
        let got = try_rewrite(family, line).expect("not refused");
        let short = got
            .replace(
                &joined(family, &COMPILE),
                if family == Family::Gcc {
                    "GCC"
                } else {
                    "CLANG"
                },
            )
            .replace(
                &format!(
                    "/c/rt.a -Xlinker --dynamic-list=/c/list {}",
                    joined(family, &LINK)
                ),
                "EXE",
            );
        assert_eq!(short, expected, "{line}");
    }

    fn joined(family: Family, flags: &[Flag]) -> String {
        let mut words = Vec::new();
        add(&mut words, family, flags);
        words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    }

    use Family::{Clang, Gcc};

    #[test]
    fn compile_only() {
        check(Gcc, "-c x.c", "-c x.c GCC -fsanitize=thread");
        check(
            Clang,
            "-O2 -c x.c -o y.o",
            "-O2 -c x.c -o y.o CLANG -fsanitize=thread",
        );
        check(
            Gcc,
            "-c a.c b.c d.cpp",
            "-c a.c b.c d.cpp GCC -fsanitize=thread",
        );
        check(
            Gcc,
            "-MD -MF x.d -MT x.o -c x.c",
            "-MD -MF x.d -MT x.o -c x.c GCC -fsanitize=thread",
        );
        check(Gcc, "-S x.c", "-S x.c GCC -fsanitize=thread");
        check(
            Gcc,
            "-c -x c - -o x.o",
            "-c -x c - -o x.o GCC -fsanitize=thread",
        );
    }

    #[test]
    fn link_only() {
        check(Gcc, "a.o b.o -lm -o x", "a.o b.o -lm -o x EXE");
        check(Clang, "-pthread a.o libq.a", "-pthread a.o libq.a EXE");
        check(Gcc, "-r a.o b.o -o c.o", "-r a.o b.o -o c.o");
    }

    #[test]
    fn both_in_one_command() {
        check(
            Gcc,
            "x.c y.o -o x -lm",
            "x.c y.o -o x -lm GCC -specs=/c/tsan.specs EXE",
        );
        check(
            Clang,
            "x.c -MMD",
            "x.c -MMD CLANG -Xclang -fsanitize=thread EXE",
        );
        check(
            Gcc,
            "-x c x -o y",
            "-x c x -o y GCC -specs=/c/tsan.specs -x none EXE",
        );
        check(
            Gcc,
            "-x c x -x none y.o",
            "-x c x -x none y.o GCC -specs=/c/tsan.specs EXE",
        );
    }

    #[test]
    fn shared_libraries_get_no_runtime() {
        check(
            Gcc,
            "-shared x.o -Wl,-z,defs -o x.so",
            "-shared x.o -o x.so",
        );
        check(
            Clang,
            "-shared x.c",
            "-shared x.c CLANG -Xclang -fsanitize=thread",
        );
    }

    #[test]
    fn what_makes_no_code_is_passed_through() {
        for line in [
            "-E x.c",
            "-M x.c",
            "-MM -MF d x.c",
            "-fsyntax-only x.c",
            "--version",
            "-v",
            "",
            "-dumpmachine",
            "-print-file-name=libc.a",
            "-E -fsanitize=address x.c",
            "-fsanitize=thread -E x.c",
        ] {
            check(Gcc, line, line);
            check(Clang, line, line);
        }
    }

    #[test]
    fn what_the_user_gave_is_handled() {
        check(
            Gcc,
            "-fsanitize=thread -c x.c",
            "-c x.c GCC -fsanitize=thread",
        );
        check(
            Gcc,
            "-fsanitize=thread x.o -static-libtsan -ltsan -l tsan",
            "x.o EXE",
        );
        check(
            Clang,
            "-fsanitize=thread,undefined x.o",
            "-fsanitize=undefined x.o EXE",
        );
        check(
            Gcc,
            "-flto=auto -s x.o -Wl,-O1,-s -Wl,--strip-all -Xlinker -s",
            "x.o -Wl,-O1 EXE",
        );
        check(
            Gcc,
            "-g3 -gz -gsplit-dwarf -c x.c",
            "-g3 -c x.c GCC -fsanitize=thread",
        );
        check(
            Gcc,
            "-ffile-prefix-map=/b=. -fdebug-prefix-map=/b=/usr/src -c x.c",
            "-fmacro-prefix-map=/b=. -c x.c GCC -fsanitize=thread",
        );
        check(
            Clang,
            "-flto=thin -fwhole-program-vtables -fdebug-compilation-dir . -c x.c",
            "-c x.c CLANG -fsanitize=thread",
        );
        check(
            Gcc,
            "-static-libgcc -static-libstdc++ x.o",
            "-static-libgcc x.o EXE",
        );
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let refused = |line: &str| try_rewrite(Gcc, line).expect_err(line);
        assert_eq!(refused("-static x.o"), Refusal::Static("-static".into()));
        assert_eq!(
            refused("x.c -static-pie"),
            Refusal::Static("-static-pie".into())
        );
        assert_eq!(
            refused("-nostdlib x.c"),
            Refusal::NoLibrary("-nostdlib".into())
        );
        assert_eq!(
            refused("-c x.c -fsanitize=undefined,address"),
            Refusal::Sanitizer("address".into())
        );
        assert_eq!(refused("-m32 -c x.c"), Refusal::Machine("-m32".into()));
        assert_eq!(
            refused("--target=aarch64-linux-gnu -c x.c"),
            Refusal::Machine("--target=aarch64-linux-gnu".into())
        );
        assert_eq!(
            refused("x.o -Wl,-Bstatic -lfoo"),
            Refusal::Static("-Wl,-Bstatic".into())
        );
        assert!(try_rewrite(Gcc, "x.o -Wl,-Bstatic -lfoo -Wl,-Bdynamic").is_ok());
        assert!(try_rewrite(Gcc, "-nodefaultlibs x.o -lc -lgcc").is_ok());
        assert_eq!(
            try_rewrite(Clang, "-fopenmp -c x.c"),
            Err(Refusal::OpenMp("-fopenmp".into()))
        );
        assert!(try_rewrite(Gcc, "-fopenmp x.o").is_ok_and(|line| line.contains("-lgomp")));
        assert!(try_rewrite(Gcc, "-nostdlib -r x.o -o y.o").is_ok());
        assert!(try_rewrite(Gcc, "-c -static x.c").is_ok());
    }

    #[test]
    fn every_flag_has_a_reason() {
        for flag in COMPILE.iter().chain(&LINK) {
            assert!(
                !flag.words.is_empty() && flag.reason.len() > 20,
                "{:?}",
                flag.words
            );
        }
        for (flag, reason) in LEFT_OUT_ON_PURPOSE.iter().chain(&DROPPED) {
            assert!(flag.starts_with('-') && !reason.is_empty());
        }
    }
}
