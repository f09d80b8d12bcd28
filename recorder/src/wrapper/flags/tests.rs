//! Tests of rewriting.

use super::{
    lists::{DROPPED, LEFT_OUT_ON_PURPOSE},
    *,
};

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn try_rewrite(family: Family, line: &str) -> Result<String, CommandRefusal> {
    let parts = CommandParts {
        runtime: "/c/rt.a".into(),
        specs: "/c/tsan.specs".into(),
        exported: "/c/list".into(),
        include: "/c/include".into(),
        tools: "/tools/".into(),
    };
    let rewritten = rewrite(family, BuildKind::Exact, &words(line), &parts)?;
    Ok(rewritten
        .iter()
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" "))
}

/// The flags for the header.
const HEADER: &str = " -idirafter /c/include";

#[test]
fn the_header_is_found_wherever_sources_are_read() {
    for line in ["-c x.c", "x.c y.o -o x", "-E x.c", "-MM x.c", "-S x.cpp"] {
        let got = try_rewrite(Gcc, line).unwrap();
        assert!(got.contains(HEADER), "{got}");
    }
    for line in ["--version", "x.o -o x", "-shared x.o -o x.so"] {
        let got = try_rewrite(Gcc, line).unwrap();
        assert!(!got.contains(HEADER), "{got}");
    }
}

#[test]
fn strings_are_compiled_with_sources_of_cpp_only() {
    let has = |line: &str| {
        let got = try_rewrite(Gcc, line).unwrap();
        got.contains(" -include unsnarl_strings.h ")
    };
    for line in [
        "-c x.cpp",
        "x.cc y.o -o x",
        "-x c++ -c y",
        "-c x.C",
        "-x c++-header x.h",
    ] {
        assert!(has(line), "{line}");
    }
    for line in [
        "-c x.c",
        "x.c -o x",
        "-x c -c x.cpp",
        "y.o -o y",
        "-c x.S",
        "-E x.cpp",
    ] {
        assert!(!has(line), "{line}");
    }
}

/// Compares without the flags for the header, and with our other flags abbreviated: GCC, CLANG for compiling, EXE and SO
/// for linking.
#[track_caller]
fn check(family: Family, line: &str, expected: &str) {
    let got = try_rewrite(family, line).expect("not refused");
    let short = got
        .replace(HEADER, "")
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
        "-c a.c b.c d.cpp -include unsnarl_strings.h GCC -fsanitize=thread",
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
    assert_eq!(
        refused("-static x.o"),
        CommandRefusal::Static("-static".into())
    );
    assert_eq!(
        refused("x.c -static-pie"),
        CommandRefusal::Static("-static-pie".into())
    );
    assert_eq!(
        refused("-nostdlib x.c"),
        CommandRefusal::NoLibrary("-nostdlib".into())
    );
    assert_eq!(
        refused("-c x.c -fsanitize=undefined,address"),
        CommandRefusal::Sanitizer("address".into())
    );
    assert_eq!(
        refused("-m32 -c x.c"),
        CommandRefusal::Machine("-m32".into())
    );
    assert_eq!(
        refused("--target=aarch64-linux-gnu -c x.c"),
        CommandRefusal::Machine("--target=aarch64-linux-gnu".into())
    );
    assert_eq!(
        refused("x.o -Wl,-Bstatic -lfoo"),
        CommandRefusal::Static("-Wl,-Bstatic".into())
    );
    assert!(try_rewrite(Gcc, "x.o -Wl,-Bstatic -lfoo -Wl,-Bdynamic").is_ok());
    assert!(try_rewrite(Gcc, "-nodefaultlibs x.o -lc -lgcc").is_ok());
    assert_eq!(
        try_rewrite(Clang, "-fopenmp -c x.c"),
        Err(CommandRefusal::OpenMp("-fopenmp".into()))
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

#[test]
fn a_note_for_what_the_user_does_not_get() {
    let noted = |line: &str| left_out(&words(line));
    assert_eq!(noted("-O2 -flto=auto x.o -gz"), ["-flto=auto", "-gz"]);
    assert!(noted("-flto -c x.c").is_empty(), "once a program is enough");
    assert!(noted("x.o -s -static-libtsan").is_empty());
}
