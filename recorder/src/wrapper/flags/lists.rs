//! The flags that are added and the words that are dropped, each with the reason.

use crate::wrapper::compiler::Family;

/// Words that are added to a command line, with the reason.
pub struct Flag {
    /// Family of compilers that get them; `None` for all.
    pub family: Option<Family>,
    /// The words.
    pub words: &'static [&'static str],
    /// The reason for which they are needed.
    pub reason: &'static str,
}

/// The header that is read before C++ sources, in the folder of `unsnarl.h`: the library's own copies of `std::string`'s
/// members would not be recorded. Sources of C do not get it, since lists of dependences would name it.
pub const STRINGS: &str = "unsnarl_strings.h";

/// Flags that are added wherever code is made, behind the user's own flags so that these win. (`-fsanitize=thread`
/// comes on top, in the form that the command needs.)
pub const COMPILE: [Flag; 11] = [
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
        words: &["-Wno-unused-command-line-argument"],
        reason: "some commands have no use for what is added, as those that compile preprocessed text; with -Werror clang would refuse them",
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

/// Flags that are added instead where code is made for path mode
/// ([`Build::Path`](crate::wrapper::build::Build::Path)): the compiler makes the code that it would make anyway, and
/// [`assembler`](crate::wrapper::assembler) stands in for the assembler.
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

/// Flags that are added where an executable is linked for path mode.
pub const LINK_PATH: [Flag; 1] = [Flag {
    family: None,
    words: &["-Xlinker", "--defsym=unsnarl_path_build=0"],
    reason: "a mark by which the recorder knows what the program is built for",
}];

/// Flags that are added where an executable is linked, behind the runtime itself and the list of its exports.
pub const LINK: [Flag; 1] = [Flag {
    family: None,
    words: &["-lpthread", "-ldl", "-lc"],
    reason: "the runtime calls the real functions; with a C library older than 2.34 they are in these libraries",
}];

/// Flags that are added for OpenMP: nothing in the program needs libgomp any more, so the linker would leave it out;
/// without the recorder the runtime passes every call on to it.
pub(super) const LIBGOMP: [&str; 4] = [
    "-Wl,--push-state",
    "-Wl,--no-as-needed",
    "-lgomp",
    "-Wl,--pop-state",
];

/// Content of the list of symbols that a program exports to libraries that it loads with `dlopen`. (Symbols that the
/// C library defines too, as `pthread_*` and `malloc`, are exported by the linker itself.)
pub const EXPORTED: &str = "{ __tsan_*; __sanitizer_cov_trace_pc; unsnarl_path_*; unsnarl_next; unsnarl_runtime_*; GOMP_*; omp_*; };\n";

/// Flags that one might expect here, with the reason for which they are not added.
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

/// Words of the user's that are dropped, with the reason. A trailing `*` stands for any ending.
pub(super) const DROPPED: [(&str, &str); 18] = [
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
pub(super) const DROPPED_LINKER: [&str; 4] = ["-s", "--strip-all", "-S", "--strip-debug"];

/// Content of the specs file: one more option for gcc's compiler proper, unknown to its driver.
/// (The blank at its end matters: with -save-temps more options follow.)
pub const SPECS: &str = "*cc1_options:\n+ -fsanitize=thread \n\n";
