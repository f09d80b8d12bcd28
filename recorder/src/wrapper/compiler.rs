//! Search for the compiler that does the work.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
};

/// The syntax of a compiler's command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// GNU.
    Gcc,
    /// LLVM.
    Clang,
}

/// The language that a driver links for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `unsnarl cc`.
    C,
    /// `unsnarl c++`.
    Cxx,
}

impl Language {
    /// The environment variable that names the compiler.
    pub fn variable(self) -> &'static str {
        match self {
            Self::C => "UNSNARL_CC",
            Self::Cxx => "UNSNARL_CXX",
        }
    }

    /// Compilers that are looked for when the variable is not set.
    pub fn usual(self) -> [&'static str; 2] {
        match self {
            Self::C => ["gcc", "clang"],
            Self::Cxx => ["g++", "clang++"],
        }
    }
}

/// A compiler that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    /// The syntax of its command line.
    pub family: Family,
    /// The program and words that come before all others, as in `ccache gcc`.
    pub command: Vec<OsString>,
}

/// The reason for which no compiler was found.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// The search path holds no compiler.
    #[error(
        "no C or C++ compiler: neither {0} nor {1} is in PATH\n  next: install one (Debian: apt-get install gcc g++), or name one in {2}"
    )]
    Missing(&'static str, &'static str, &'static str),
    /// The one that is asked for is not there.
    #[error(
        "{variable} names `{name}`, which is not in PATH\n  next: correct {variable}, or unset it"
    )]
    NotFound {
        /// The environment variable.
        variable: &'static str,
        /// The program in its value.
        name: String,
    },
    /// The program is neither gcc nor clang.
    #[error(
        "`{0}` is neither gcc nor clang by its name or by what `--version` says\n  next: name one of them in {1}"
    )]
    Unknown(String, &'static str),
    /// The program is unsnarl itself.
    #[error(
        "{0} names unsnarl itself\n  next: name the compiler that unsnarl shall call, such as gcc"
    )]
    Itself(&'static str),
}

/// Programs that only pass on what follows them.
const LAUNCHERS: [&str; 4] = ["ccache", "distcc", "icecc", "sccache"];

/// The compiler for a language: the one in the environment, else the first usual one.
pub fn find(language: Language) -> Result<Compiler, CompilerError> {
    let variable = language.variable();
    if let Some(value) = env::var_os(variable).filter(|value| !value.is_empty()) {
        return named(&value.to_string_lossy(), variable);
    }
    let [gnu, llvm] = language.usual();
    match [gnu, llvm].into_iter().find(|name| in_path(name).is_some()) {
        Some(name) => named(name, variable),
        None => Err(CompilerError::Missing(gnu, llvm, variable)),
    }
}

/// The compiler that the arguments begin with, as in `unsnarl cc ccache gcc-13 -c x.c` or when a build
/// system puts `unsnarl cc` before its own compiler (CMake's launchers), and the arguments behind it.
pub fn named_first(
    language: Language,
    arguments: &[OsString],
) -> Result<Option<(Compiler, &[OsString])>, CompilerError> {
    let launchers = arguments
        .iter()
        .take_while(|word| is_launcher(word))
        .count();
    let is_compiler = |word: &OsString| names_compiler(word) && in_path(word).is_some();
    match arguments.split_at_checked(launchers + 1) {
        Some((command, rest)) if command.last().is_some_and(is_compiler) => {
            let compiler = of_command(command.to_vec(), language.variable())?;
            Ok(Some((compiler, rest)))
        }
        _ => Ok(None),
    }
}

/// Returns whether no input file of a compiler has this name.
fn names_compiler(word: &OsStr) -> bool {
    let name = file_name(word);
    matches!(name.as_str(), "cc" | "c++" | "c99" | "c11" | "c89") || family_by_name(&name).is_some()
}

fn is_launcher(word: &OsStr) -> bool {
    LAUNCHERS.contains(&file_name(word).as_str())
}

fn named(value: &str, variable: &'static str) -> Result<Compiler, CompilerError> {
    of_command(
        value.split_whitespace().map(OsString::from).collect(),
        variable,
    )
}

fn of_command(command: Vec<OsString>, variable: &'static str) -> Result<Compiler, CompilerError> {
    let compiler = command.iter().find(|word| !is_launcher(word));
    let Some(compiler) = compiler else {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        return Err(CompilerError::Unknown(words.join(" "), variable));
    };
    if is_itself(compiler) {
        return Err(CompilerError::Itself(variable));
    }
    for program in command.iter().take(1).chain([compiler]) {
        if in_path(program).is_none() {
            let name = program.to_string_lossy().into_owned();
            return Err(CompilerError::NotFound { variable, name });
        }
    }
    match family_by_name(&file_name(compiler)).or_else(|| family_by_version(compiler)) {
        Some(family) => Ok(Compiler { family, command }),
        None => Err(CompilerError::Unknown(
            compiler.to_string_lossy().into_owned(),
            variable,
        )),
    }
}

/// Returns whether the program is unsnarl itself, under its own name or one that links to it.
fn is_itself(program: &OsStr) -> bool {
    let itself = || env::current_exe().ok()?.canonicalize().ok();
    let meant = || in_path(program)?.canonicalize().ok();
    file_name(program) == "unsnarl" || meant().is_some_and(|meant| itself() == Some(meant))
}

fn file_name(program: &OsStr) -> String {
    let name = Path::new(program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The family of `gcc`, `g++-12`, `x86_64-linux-gnu-gcc-12`, `clang++-19`; `cc` and `c++` may be either.
fn family_by_name(name: &str) -> Option<Family> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if plain.ends_with("clang") || plain.ends_with("clang++") {
        Some(Family::Clang)
    } else if plain.ends_with("gcc") || plain.ends_with("g++") {
        Some(Family::Gcc)
    } else {
        None
    }
}

fn family_by_version(program: &OsStr) -> Option<Family> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("clang version") {
        Some(Family::Clang)
    } else if text.contains("Free Software Foundation") {
        Some(Family::Gcc)
    } else {
        None
    }
}

/// The path of a program, searched for as the shell does.
pub fn in_path(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    let program = Path::new(program.as_ref());
    if program.components().count() > 1 {
        return is_executable(program).then(|| program.to_owned());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| is_executable(file))
}

/// Returns whether this user may execute the file, as far as its mode says.
pub fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_family() {
        for (name, family) in [
            ("gcc", Some(Family::Gcc)),
            ("g++", Some(Family::Gcc)),
            ("gcc-12", Some(Family::Gcc)),
            ("x86_64-linux-gnu-g++-12.2", Some(Family::Gcc)),
            ("clang", Some(Family::Clang)),
            ("clang++-19", Some(Family::Clang)),
            ("cc", None),
            ("tcc", None),
        ] {
            assert_eq!(family_by_name(name), family, "{name}");
        }
    }

    #[test]
    fn a_compiler_may_stand_in_front() {
        let words =
            |line: &str| -> Vec<OsString> { line.split_whitespace().map(OsString::from).collect() };
        let line = words("/usr/bin/gcc -c x.c");
        let (compiler, rest) = named_first(Language::C, &line).unwrap().unwrap();
        assert_eq!(compiler.family, Family::Gcc);
        assert_eq!(rest, words("-c x.c"));
        for line in [
            "-c gcc",
            "x.c gcc",
            "",
            "gcc-that-is-not-here x.c",
            "ccache",
        ] {
            assert_eq!(
                named_first(Language::C, &words(line)).unwrap(),
                None,
                "{line}"
            );
        }
    }

    #[test]
    fn launchers_stand_before_the_compiler() {
        assert!(matches!(
            named("ccache", "UNSNARL_CC"),
            Err(CompilerError::Unknown(..))
        ));
        assert!(matches!(
            named("/opt/unsnarl cc", "UNSNARL_CC"),
            Err(CompilerError::Itself(_))
        ));
        assert!(matches!(
            named("/nowhere/gcc", "UNSNARL_CC"),
            Err(CompilerError::NotFound { .. })
        ));
    }
}
