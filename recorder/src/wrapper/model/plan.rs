//! Division of a compiling command into steps: each source to text, the text to an object, then the link.
//!
//! Pure: the words of the steps are those of the command, without those that belong to another step.

use super::super::arguments::{self, CommandWord, CompilerCommand, LastStage};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// The steps of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandPlan {
    /// One for each source, in their order.
    pub sources: Vec<SourceSteps>,
    /// The words of the last step, if it links.
    pub link: Option<Vec<OsString>>,
}

/// A source file with its steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceSteps {
    /// Name as given; `-` is standard input.
    pub file: OsString,
    /// The object file.
    pub object: PathBuf,
    /// Words that make its text and write it to standard output.
    pub to_text: Vec<OsString>,
    /// Words that make the object from the text on standard input.
    pub to_object: Vec<OsString>,
    /// Words that make the object as without a model, and repeat no message.
    pub plain: Vec<OsString>,
}

/// Words for outputs that only the compiler can make in one step, or beside the object under its name; a trailing `*`
/// stands for any ending.
const IN_ONE_STEP: [&str; 24] = [
    "-S",
    "-v",
    "-emit-llvm",
    "-emit-ast",
    "-save-temps*",
    "--save-temps*",
    "-fmodule*",
    "-fcxx-modules",
    "-fbuiltin-module-map",
    "-fimplicit-modules",
    "-MJ*",
    "-M",
    "-MM",
    "--coverage",
    "-coverage",
    "-ftest-coverage",
    "-fprofile-*",
    "-fcoverage-mapping",
    "-fembed-bitcode*",
    "-ftime-trace*",
    "-fstack-usage",
    "-fsave-optimization-record*",
    "-foptimization-record*",
    "-dumpdir",
];

/// Words for the preprocessor, which do not concern a text that was made already, and words that instrument, which
/// the text already is.
const BEFORE_TEXT: [&str; 26] = [
    "-D*",
    "-U*",
    "-I*",
    "-A*",
    "-include*",
    "-imacros",
    "-isystem*",
    "-iquote*",
    "-idirafter*",
    "-iprefix",
    "-iwithprefix*",
    "-cxx-isystem",
    "-std=*",
    "-Wp,*",
    "-Xpreprocessor",
    "-MD",
    "-MMD",
    "-MP",
    "-MG",
    "-MV",
    "-MF*",
    "-MT*",
    "-MQ*",
    "-fsanitize*",
    "-fno-sanitize*",
    "--serialize-diagnostics*",
];

/// Word that silences warnings about words for another step, such as the linker's.
const UNUSED: &str = "-Wno-unused-command-line-argument";

/// The steps of a rewritten command of clang's; `None` when it has to stay one step. `temporary` is a folder for
/// objects that are only linked.
pub fn plan(words: &[OsString], temporary: &Path) -> Option<CommandPlan> {
    let command = arguments::read(words);
    let links = match command.stage {
        LastStage::Question | LastStage::NoCode => return None,
        LastStage::Compile => false,
        LastStage::Link | LastStage::LinkShared | LastStage::LinkRelocatable => true,
    };
    if !command.compiles || command.words.iter().any(is_in_one_step) {
        return None;
    }
    let inputs = inputs(&command);
    let is_served = |input: &&InputFile| input.is_served;
    let has_other_language = inputs.iter().any(|input| !input.is_served);
    // An `-x` cannot be taken away from a source that stays.
    let stays = |input: &InputFile| !input.is_served && input.language.is_some();
    if (!links && has_other_language) || inputs.iter().any(stays) {
        return None;
    }
    let output = value_of(&command, "-o");
    if !links && output.as_deref().is_some_and(|output| output == "-") {
        return None;
    }
    let sources: Vec<(usize, SourceSteps)> = inputs
        .iter()
        .filter(is_served)
        .enumerate()
        .map(|(number, input)| {
            let object = match (&output, links) {
                (_, true) => temporary.join(format!("{}-{number}.o", stem(&input.file))),
                (Some(output), false) => PathBuf::from(output),
                (None, false) => PathBuf::from(format!("{}.o", stem(&input.file))),
            };
            (input.at, source(&command, input, object, output.as_deref()))
        })
        .collect();
    let link = links.then(|| link(&command, &sources));
    let sources: Vec<SourceSteps> = sources.into_iter().map(|(_, source)| source).collect();
    (!sources.is_empty()).then_some(CommandPlan { sources, link })
}

fn is_in_one_step(word: &CommandWord) -> bool {
    let by_frontend = |argument: &OsString| argument.to_string_lossy().starts_with("-emit-");
    word.is_one_of(&IN_ONE_STEP)
        || (word.is("-Xclang") && word.argument.as_ref().is_some_and(by_frontend))
}

/// A file to compile or link.
struct InputFile {
    /// Its place among the words.
    at: usize,
    file: OsString,
    /// Language that an `-x` gives it.
    language: Option<String>,
    /// `true` for C and C++.
    is_served: bool,
}

/// Languages with the expected text of the intermediate representation.
const LANGUAGES: [&str; 4] = ["c", "c++", "cpp-output", "c++-cpp-output"];
/// Endings of files in them.
const ENDINGS: [&str; 10] = ["c", "i", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii"];

fn inputs(command: &CompilerCommand) -> Vec<InputFile> {
    let mut language: Option<String> = None;
    let mut inputs = Vec::new();
    for (at, word) in command.words.iter().enumerate() {
        if let Some(forced) = word.value_of("-x") {
            language = Some(forced).filter(|forced| forced != "none");
        } else if is_input(word) {
            let is_served = match &language {
                Some(language) => LANGUAGES.contains(&language.as_str()),
                None => ENDINGS.contains(&ending(&word.text).as_str()),
            };
            inputs.push(InputFile {
                at,
                file: word.text.clone(),
                language: language.clone(),
                is_served,
            });
        }
    }
    inputs
}

fn is_input(word: &CommandWord) -> bool {
    !word.is("-*") || word.is("-")
}

fn ending(file: &OsStr) -> String {
    let ending = Path::new(file).extension().unwrap_or_default();
    ending.to_string_lossy().into_owned()
}

/// The name that clang gives an object by default.
fn stem(file: &OsStr) -> String {
    let stem = Path::new(file).file_stem().unwrap_or(file);
    stem.to_string_lossy().into_owned()
}

fn value_of(command: &CompilerCommand, option: &str) -> Option<String> {
    let mut values = command
        .words
        .iter()
        .filter_map(|word| word.value_of(option));
    values.next_back()
}

fn source(
    command: &CompilerCommand,
    input: &InputFile,
    object: PathBuf,
    output: Option<&str>,
) -> SourceSteps {
    let general = command.words.iter().filter(|word| is_general(word));
    let mut common: Vec<OsString> = general.clone().flat_map(CommandWord::parts).collect();
    common.extend(dependencies(command, input, output));
    let named = |mut words: Vec<OsString>| {
        if let Some(language) = &input.language {
            words.extend(["-x".into(), language.into()]);
        }
        words.push(input.file.clone());
        words
    };
    common.push(UNUSED.into());
    let mut to_text = common.clone();
    to_text.extend(["-S", "-emit-llvm", "-o", "-"].map(OsString::from));
    let mut plain = common;
    plain.extend(["-w", "-c", "-o"].map(OsString::from));
    plain.push(object.clone().into_os_string());
    let code = general.filter(|word| !is_before_text(word));
    let mut to_object: Vec<OsString> = code.flat_map(CommandWord::parts).collect();
    let last = [
        UNUSED,
        "-Wno-override-module",
        "-Xclang",
        "-disable-llvm-passes",
        "-c",
        "-o",
    ];
    to_object.extend(last.map(OsString::from));
    to_object.push(object.clone().into_os_string());
    to_object.extend(["-x", "ir", "-"].map(OsString::from));
    SourceSteps {
        file: input.file.clone(),
        object,
        to_text: named(to_text),
        to_object,
        plain: named(plain),
    }
}

/// Returns whether the word is neither an input, nor about one, nor about the output.
fn is_general(word: &CommandWord) -> bool {
    !is_input(word)
        && !word.is("-c")
        && word.value_of("-o").is_none()
        && word.value_of("-x").is_none()
}

fn is_before_text(word: &CommandWord) -> bool {
    let argument = |start: &str| {
        let argument = word.argument.as_ref();
        argument.is_some_and(|argument| argument.to_string_lossy().starts_with(start))
    };
    word.is_one_of(&BEFORE_TEXT)
        || (word.is("-Xclang") && argument("-fsanitize"))
        || (word.is("-mllvm") && argument("-tsan-"))
}

/// Words for the names that clang otherwise derives from its own output's name: that of the list of dependencies, and
/// that of the target in it.
fn dependencies(
    command: &CompilerCommand,
    input: &InputFile,
    output: Option<&str>,
) -> Vec<OsString> {
    let has = |options: &[&str]| command.words.iter().any(|word| word.is_one_of(options));
    let names_list = ["-Wp,-MD,*", "-Wp,-MMD,*"];
    if !has(&["-MD", "-MMD"]) && !has(&names_list) {
        return Vec::new();
    }
    let target = match output {
        Some(output) => output.to_owned(),
        None => format!("{}.o", stem(&input.file)),
    };
    let mut words: Vec<OsString> = Vec::new();
    if !has(&["-MF*"]) && !has(&names_list) {
        let list = Path::new(&target).with_extension("d");
        words.extend(["-MF".into(), list.into_os_string()]);
    }
    if !has(&["-MT*", "-MQ*"]) {
        words.extend(["-MQ".into(), target.into()]);
    }
    words
}

/// The command with objects in the place of sources.
fn link(command: &CompilerCommand, sources: &[(usize, SourceSteps)]) -> Vec<OsString> {
    let mut words = Vec::new();
    for (at, word) in command.words.iter().enumerate() {
        if let Some((_, source)) = sources.iter().find(|(of, _)| *of == at) {
            words.push(source.object.clone().into_os_string());
        } else if word.value_of("-x").is_none() && !word.is_one_of(&["-MD", "-MMD", "-Wp,*"]) {
            words.extend(word.parts());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn planned(line: &str) -> Option<CommandPlan> {
        plan(&words(line), Path::new("/tmp/x"))
    }

    fn line(words: &[OsString]) -> String {
        let words = words.iter().filter(|word| *word != UNUSED);
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn one_source() {
        let plan =
            planned("-O1 -DA -c -o d/a.o a.c -g -fsanitize=thread -Xclang -fsanitize-x").unwrap();
        assert_eq!(plan.link, None);
        let source = &plan.sources[0];
        assert_eq!(source.object, Path::new("d/a.o"));
        assert_eq!(
            line(&source.to_text),
            "-O1 -DA -g -fsanitize=thread -Xclang -fsanitize-x -S -emit-llvm -o - a.c"
        );
        assert_eq!(
            line(&source.to_object),
            "-O1 -g -Wno-override-module -Xclang -disable-llvm-passes -c -o d/a.o -x ir -"
        );
        assert_eq!(
            line(&source.plain),
            "-O1 -DA -g -fsanitize=thread -Xclang -fsanitize-x -w -c -o d/a.o a.c"
        );
    }

    #[test]
    fn a_separate_argument_keeps_its_option() {
        let plan = planned("-resource-dir d -fsanitize=undefined -c a.c").unwrap();
        let text = line(&plan.sources[0].to_text);
        assert_eq!(
            text,
            "-resource-dir d -fsanitize=undefined -S -emit-llvm -o - a.c"
        );
    }

    #[test]
    fn lists_of_dependencies_have_the_names_that_clang_gives() {
        for (given, wanted) in [
            ("-c s/a.c -MD", "-MD -MF a.d -MQ a.o"),
            ("-c a.c -MMD -o d/x.o", "-MMD -MF d/x.d -MQ d/x.o"),
            ("-c a.c -MD -MF q -od/x.o", "-MD -MF q -MQ d/x.o"),
            ("-c a.c -MD -MTt -MP -o x.o", "-MD -MTt -MP -MF x.d"),
            ("-c a.c -MD -MT t -MF f -o x.o", "-MD -MT t -MF f"),
            ("-c a.c -Wp,-MMD,q.d -o x.o", "-Wp,-MMD,q.d -MQ x.o"),
            ("a.c -MD -o prog", "-MD -MF prog.d -MQ prog"),
            ("a.c -MD", "-MD -MF a.d -MQ a.o"),
            ("-c a.c -MP -o x.o", "-MP"),
        ] {
            let text = line(&planned(given).unwrap().sources[0].to_text);
            assert_eq!(
                text,
                format!("{wanted} -S -emit-llvm -o - a.c").replace(
                    "- a.c",
                    &format!(
                        "- {}",
                        if given.contains("s/a.c") {
                            "s/a.c"
                        } else {
                            "a.c"
                        }
                    )
                ),
                "{given}"
            );
        }
    }

    #[test]
    fn compiling_and_linking() {
        let plan = planned("a.c -x c++ b.x -x none c.o -O2 -MD -Wl,-z,now -lm -o p rt.a").unwrap();
        assert_eq!(
            line(plan.link.as_deref().unwrap()),
            "/tmp/x/a-0.o /tmp/x/b-1.o c.o -O2 -Wl,-z,now -lm -o p rt.a"
        );
        assert_eq!(
            line(&plan.sources[1].to_text),
            "-O2 -MD -Wl,-z,now -lm -MF p.d -MQ p -S -emit-llvm -o - -x c++ b.x"
        );
    }

    #[test]
    fn what_is_made_in_one_step() {
        for line in [
            "-c a.S",
            "-c a.c b.s",
            "-S a.c",
            "-c a.h",
            "-c a.c -emit-llvm",
            "-c a.c -save-temps=obj",
            "-c a.cpp -fmodules",
            "-c a.c -o -",
            "-c a.c -MJ x.json",
            "-c a.c --coverage",
            "-c a.c -Xclang -emit-pch",
            "-E a.c",
            "a.o -o p",
            "-c -x assembler a.c",
            "a.c -x assembler b.s",
            "-v a.c",
        ] {
            assert_eq!(planned(line), None, "{line}");
        }
    }

    #[test]
    fn standard_input() {
        let plan = planned("-c -x c - -o x.o").unwrap();
        assert_eq!(plan.sources[0].file, "-");
        assert_eq!(line(&plan.sources[0].to_text), "-S -emit-llvm -o - -x c -");
    }
}
