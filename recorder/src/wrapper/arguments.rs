//! Reads the command line of gcc or clang as far as rewriting it needs: the last stage of the command, its inputs,
//! and the options with an argument of their own.

use std::ffi::{OsStr, OsString};

/// The last stage of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastStage {
    /// Asks the compiler about itself, or gives it nothing to do.
    Question,
    /// Preprocesses, lists dependencies or checks the syntax: makes no code.
    NoCode,
    /// Makes assembler text, an object or a precompiled header.
    Compile,
    /// Links an executable, also when it compiles on the way.
    Link,
    /// Links a shared library.
    LinkShared,
    /// Links objects to one object (`-r`).
    LinkRelocatable,
}

/// A parsed command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompilerCommand {
    /// The last stage.
    pub stage: LastStage,
    /// `true` if it compiles something that can be instrumented.
    pub compiles: bool,
    /// `true` if C++ is among that, by the endings of files or by `-x`.
    pub compiles_cpp: bool,
    /// `true` if an `-x` is in force at its end, so that appended words would be taken for source text.
    pub language_forced: bool,
    /// The options and inputs, each with its separate argument if it has one.
    pub words: Vec<CommandWord>,
}

/// An option with its separate argument, or an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandWord {
    /// Text as given.
    pub text: OsString,
    /// The argument that follows as a word of its own, as in `-o FILE`.
    pub argument: Option<OsString>,
}

/// Options whose argument may stand as a word of its own. Those of both compilers are listed: each compiler refuses
/// the ones that it does not know.
const WITH_ARGUMENT: [&str; 47] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-B",
    "-T",
    "-u",
    "-z",
    "-e",
    "-h",
    "-A",
    "-F",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-cxx-isystem",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-target",
    "-resource-dir",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-fdebug-compilation-dir",
    "--param",
    "--sysroot",
    "-wrapper",
    "-include-pch",
];

/// Options that only ask something. A trailing `*` stands for any ending.
const QUESTIONS: [&str; 12] = [
    "--version",
    "-dumpversion",
    "-dumpfullversion",
    "-dumpmachine",
    "-dumpspecs",
    "-print-*",
    "--print-*",
    "--help*",
    "--target-help",
    "-###",
    "-cc1",
    "-help",
];

/// Options after which no code is made.
const NO_CODE: [&str; 6] = [
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--precompile",
    "--analyze",
];

/// Endings of files that hold C or C++ (preprocessed or not, headers too).
const SOURCES: [&str; 24] = [
    "c", "i", "h", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii", "H", "hh", "hp", "hxx",
    "hpp", "HPP", "h++", "tcc", "cppm", "ixx", "m", "mm", "inc",
];

/// Endings of headers: a command that is given only headers makes precompiled ones.
const HEADERS: [&str; 9] = ["h", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

/// Endings of files that hold C++ alone.
const CPP: [&str; 16] = [
    "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++",
    "cppm", "ixx",
];

/// The kind of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputKind {
    Source,
    Header,
    /// Assembler text, objects, libraries: nothing that can be instrumented.
    Other,
}

/// Reads a command line whose response files have been expanded.
pub fn read(arguments: &[OsString]) -> CompilerCommand {
    let words = split(arguments);
    let mut inputs = Vec::new();
    let mut compiles_cpp = false;
    let mut forced: Option<String> = None;
    for word in &words {
        if let Some(language) = word.value_of("-x") {
            forced = Some(language).filter(|language| language != "none");
        } else if let Some(input) = word.input(forced.as_deref()) {
            compiles_cpp |= word.is_cpp(forced.as_deref());
            inputs.push(input);
        }
    }
    let only_headers = !inputs.is_empty() && inputs.iter().all(|input| *input == InputKind::Header);
    CompilerCommand {
        stage: stage(&words, inputs.is_empty(), only_headers),
        compiles: inputs.iter().any(|input| *input != InputKind::Other),
        compiles_cpp,
        language_forced: forced.is_some(),
        words,
    }
}

fn split(arguments: &[OsString]) -> Vec<CommandWord> {
    let mut rest = arguments.iter();
    let mut words = Vec::new();
    while let Some(text) = rest.next() {
        let argument = WITH_ARGUMENT
            .iter()
            .any(|option| text == option)
            .then(|| rest.next().cloned());
        words.push(CommandWord {
            text: text.clone(),
            argument: argument.flatten(),
        });
    }
    words
}

fn stage(words: &[CommandWord], nothing: bool, only_headers: bool) -> LastStage {
    let has = |options: &[&str]| words.iter().any(|word| word.is_one_of(options));
    if nothing || has(&QUESTIONS) {
        LastStage::Question
    } else if has(&NO_CODE) {
        LastStage::NoCode
    } else if only_headers || has(&["-c", "-S"]) {
        LastStage::Compile
    } else if has(&["-shared", "--shared"]) {
        LastStage::LinkShared
    } else if has(&["-r"]) {
        LastStage::LinkRelocatable
    } else {
        LastStage::Link
    }
}

impl CommandWord {
    /// The word as text; bytes that are not UTF-8 are replaced, which no option contains.
    pub fn lossy(&self) -> String {
        self.text.to_string_lossy().into_owned()
    }

    /// The word and its argument, as they stand on a command line.
    pub fn parts(&self) -> impl Iterator<Item = OsString> + use<> {
        [Some(self.text.clone()), self.argument.clone()]
            .into_iter()
            .flatten()
    }

    /// Returns whether it is one of these options; a trailing `*` stands for any ending.
    pub fn is_one_of(&self, options: &[&str]) -> bool {
        options.iter().any(|option| self.is(option))
    }

    /// Returns whether it is this option; a trailing `*` stands for any ending.
    pub fn is(&self, option: &str) -> bool {
        match option.strip_suffix('*') {
            Some(start) => self.lossy().starts_with(start),
            None => self.text == OsStr::new(option),
        }
    }

    /// The value of a one-letter option, joined or separate.
    pub fn value_of(&self, option: &str) -> Option<String> {
        if self.text == OsStr::new(option) {
            return self
                .argument
                .as_ref()
                .map(|value| value.to_string_lossy().into_owned());
        }
        let joined = self.lossy().strip_prefix(option)?.to_owned();
        (!joined.is_empty()).then_some(joined)
    }

    /// The linker's words in this word: `-Wl,A,B` and `-Xlinker A` alike.
    pub fn linker_words(&self) -> Vec<String> {
        if self.is("-Xlinker") || self.is("-z") {
            return self
                .argument
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
        }
        match self.lossy().strip_prefix("-Wl,") {
            Some(words) => words.split(',').map(str::to_owned).collect(),
            None => Vec::new(),
        }
    }

    /// The kind of input, if it is one.
    fn input(&self, forced: Option<&str>) -> Option<InputKind> {
        let text = self.lossy();
        if text.starts_with('-') && text != "-" {
            return None;
        }
        Some(match forced {
            Some(language) if language.starts_with("assembler") => InputKind::Other,
            Some(language) if language.ends_with("-header") => InputKind::Header,
            Some(_) => InputKind::Source,
            None => by_ending(&text),
        })
    }

    /// Returns whether the input is C++.
    fn is_cpp(&self, forced: Option<&str>) -> bool {
        match forced {
            Some(language) => language.starts_with("c++"),
            None => CPP.contains(&ending(&self.lossy())),
        }
    }
}

fn ending(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn by_ending(file: &str) -> InputKind {
    let ending = ending(file);
    if HEADERS.contains(&ending) {
        InputKind::Header
    } else if SOURCES.contains(&ending) {
        InputKind::Source
    } else {
        InputKind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> CompilerCommand {
        read(
            &line
                .split_whitespace()
                .map(OsString::from)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn knows_how_far_a_command_goes() {
        let table = [
            ("--version", LastStage::Question),
            ("-v", LastStage::Question),
            ("", LastStage::Question),
            ("-print-search-dirs", LastStage::Question),
            ("-o x -lm", LastStage::Question),
            ("-E x.c", LastStage::NoCode),
            ("-MM x.c", LastStage::NoCode),
            ("-fsyntax-only x.c", LastStage::NoCode),
            ("-c x.c", LastStage::Compile),
            ("-MD -MF x.d -c x.c -o x.o", LastStage::Compile),
            ("-S x.c", LastStage::Compile),
            ("x.h", LastStage::Compile),
            ("-x c++-header x", LastStage::Compile),
            ("x.c", LastStage::Link),
            ("x.o -o x", LastStage::Link),
            ("-v x.c", LastStage::Link),
            ("-shared x.o -o x.so", LastStage::LinkShared),
            ("-r x.o y.o -o z.o", LastStage::LinkRelocatable),
        ];
        for (line, stage) in table {
            assert_eq!(command(line).stage, stage, "{line}");
        }
    }

    #[test]
    fn arguments_of_options_are_no_inputs() {
        for line in [
            "-o x.c",
            "-include y.c",
            "-MF a.c",
            "-Xlinker b.c",
            "-I c.c -D d.c",
        ] {
            assert_eq!(command(line).stage, LastStage::Question, "{line}");
        }
    }

    #[test]
    fn knows_what_can_be_instrumented() {
        for (line, compiles) in [
            ("x.c", true),
            ("x.o y.a z.so w.so.1.2 q", false),
            ("x.S", false),
            ("x.cpp y.o", true),
            ("-x c q", true),
            ("-xc++ q", true),
            ("-x assembler x.c", false),
            ("-x c a -x none b.o", true),
            ("-c -x c -", true),
        ] {
            assert_eq!(command(line).compiles, compiles, "{line}");
        }
        assert!(command("-x c q").language_forced);
        assert!(!command("-x c a -x none b.o").language_forced);
    }

    #[test]
    fn linker_words_from_every_spelling() {
        let words = |line: &str| -> Vec<String> {
            command(line)
                .words
                .iter()
                .flat_map(CommandWord::linker_words)
                .collect()
        };
        assert_eq!(
            words("-Wl,-z,defs a.o -Xlinker -static -z now"),
            ["-z", "defs", "-static", "now"]
        );
    }
}
