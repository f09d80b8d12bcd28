//! The programs under `tests/programs`, each with a known bug or with none, and the kernels of bugs under
//! `tests/kernels`.

use crate::{Expectation, Finished, Workspace};
use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A compiler that programs are tested with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestedCompiler {
    /// gcc and g++.
    Gcc,
    /// clang and clang++, the newest that is installed.
    Clang,
    /// As `Clang`, without models of clang's own text, so that they are made from the machine code.
    ClangLifted,
    /// clang-14 and clang++-14.
    Clang14,
}

impl TestedCompiler {
    /// Commands that it can have, for C and for C++.
    fn candidates(self) -> &'static [(&'static str, &'static str)] {
        match self {
            TestedCompiler::Gcc => &[("gcc", "g++")],
            TestedCompiler::Clang | TestedCompiler::ClangLifted => {
                &[("clang-19", "clang++-19"), ("clang", "clang++")]
            }
            TestedCompiler::Clang14 => &[("clang-14", "clang++-14")],
        }
    }

    /// Its name in the headers of programs.
    fn word(self) -> &'static str {
        match self {
            TestedCompiler::Gcc => "gcc",
            TestedCompiler::Clang | TestedCompiler::ClangLifted => "clang",
            TestedCompiler::Clang14 => "clang-14",
        }
    }

    /// Its name in tables.
    pub fn in_words(self) -> &'static str {
        match self {
            TestedCompiler::ClangLifted => "clang, machine code",
            other => other.word(),
        }
    }

    /// The command for C or C++; `None` when it is not installed.
    pub fn command(self, cpp: bool) -> Option<&'static str> {
        let names = self
            .candidates()
            .iter()
            .map(|(c, cxx)| if cpp { *cxx } else { *c });
        let mut names = names.filter(|name| is_installed(name));
        names.next()
    }
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// One program.
#[derive(Debug)]
pub struct TestProgram {
    /// Name of its folder.
    pub name: String,
    /// Its source file.
    pub source: PathBuf,
    /// Expectation about its explanation.
    pub expectation: Expectation,
    /// Expectation about the explanation of its second bug, if it has one.
    pub second: Option<Expectation>,
    /// Options that `record` needs for it: the words behind `// record with: `.
    options: Vec<String>,
    /// Compilers and levels that leave the bug out of the program: the words behind `// without the bug: `.
    without: Vec<String>,
    /// Compilers and levels whose builds unsnarl still explains wrongly: the words behind `// still wrong: `.
    still_wrong: Vec<String>,
}

impl TestProgram {
    /// The program of this name.
    pub fn open(name: &str) -> Result<TestProgram> {
        TestProgram::in_folder(&programs_folder().join(name), name)
    }

    /// The kernel of this name, or the program if there is no such kernel.
    pub fn kernel(name: &str) -> Result<TestProgram> {
        let kernels = kernels_folder();
        match kernels.join(name).with_extension("c").is_file() {
            true => TestProgram::in_folder(&kernels, name),
            false => TestProgram::open(name),
        }
    }

    /// The program of this name that uses GLib.
    pub fn of_glib(name: &str) -> Result<TestProgram> {
        TestProgram::in_folder(&crate::project().join("tests/glib"), name)
    }

    fn in_folder(folder: &Path, name: &str) -> Result<TestProgram> {
        let source = ["c", "cpp"]
            .map(|extension| folder.join(name).with_extension(extension))
            .into_iter()
            .find(|path| path.is_file())
            .with_context(|| format!("{} holds no {name}.c or {name}.cpp", folder.display()))?;
        let text = fs::read_to_string(&source)?;
        let expectation =
            Expectation::parse(&text, &text).with_context(|| source.display().to_string())?;
        let second =
            Expectation::second(&text, &text).with_context(|| source.display().to_string())?;
        Ok(TestProgram {
            name: name.to_owned(),
            source,
            expectation,
            second,
            options: options(&text),
            without: builds(&text, "// without the bug: "),
            still_wrong: builds(&text, "// still wrong: "),
        })
    }

    /// Names of all programs, sorted.
    pub fn names() -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(programs_folder())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Names of all kernels, sorted.
    pub fn kernels() -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(kernels_folder())? {
            let path = entry?.path();
            let name = path
                .file_stem()
                .filter(|_| path.extension() == Some("c".as_ref()));
            names.extend(name.map(|name| name.to_string_lossy().into_owned()));
        }
        names.sort();
        Ok(names)
    }

    /// Options that `record` needs for it.
    pub fn recording(&self) -> Vec<&str> {
        self.options.iter().map(String::as_str).collect()
    }

    /// Returns whether the program has its bug when this compiler compiles it at this level (`-O2`). An optimizing
    /// compiler may read once what the source reads twice.
    pub fn has_bug(&self, compiler: TestedCompiler, level: &str) -> bool {
        let build = format!("{} {level}", compiler.word());
        !self.without.contains(&build)
    }

    /// Returns whether unsnarl is known to explain this build wrongly.
    pub fn is_still_wrong(&self, compiler: TestedCompiler, level: &str) -> bool {
        let build = format!("{} {level}", compiler.word());
        self.still_wrong.contains(&build)
    }

    /// Returns whether it is written in C++.
    pub fn is_cpp(&self) -> bool {
        self.source
            .extension()
            .is_some_and(|extension| extension == "cpp")
    }

    /// A new workspace in which gcc has compiled the program of this name for recording, as `to`.
    pub fn compiled(name: &str, to: &str) -> Result<Workspace> {
        let workspace = Workspace::new()?;
        let source = TestProgram::open(name)?.source;
        compile(&workspace, &source, to, TestedCompiler::Gcc)?;
        Ok(workspace)
    }

    /// Copies the source into `workspace` and compiles it there for recording; returns the command
    /// that runs it.
    pub fn compile(&self, workspace: &Workspace, compiler: TestedCompiler) -> Result<String> {
        self.compile_with(workspace, compiler, &[])
    }

    /// As [`TestProgram::compile`], with more options.
    pub fn compile_with(
        &self,
        workspace: &Workspace,
        compiler: TestedCompiler,
        options: &[&str],
    ) -> Result<String> {
        let name = self
            .source
            .file_name()
            .context("a source file has a name")?;
        fs::copy(&self.source, workspace.path().join(name))?;
        compile_with(workspace, Path::new(name), &self.name, compiler, options)?;
        Ok(format!("./{}", self.name))
    }
}

/// The words behind `// record with: `.
fn options(source: &str) -> Vec<String> {
    behind(source, "// record with: ")
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

/// The rest of each line that begins with these words.
fn behind<'s>(source: &'s str, words: &'s str) -> impl Iterator<Item = &'s str> {
    source
        .lines()
        .filter_map(move |line| line.strip_prefix(words))
}

/// The compilers and levels that the lines behind a word name.
fn builds(text: &str, word: &str) -> Vec<String> {
    let all = behind(text, word).flat_map(|line| line.split(", "));
    all.map(str::to_owned).collect()
}

/// Compiles a source file for recording.
pub fn compile(
    workspace: &Workspace,
    source: &Path,
    to: &str,
    compiler: TestedCompiler,
) -> Result<Finished> {
    compile_with(workspace, source, to, compiler, &[])
}

/// Compiles a source file for recording, with more options.
pub fn compile_with(
    workspace: &Workspace,
    source: &Path,
    to: &str,
    compiler: TestedCompiler,
    options: &[&str],
) -> Result<Finished> {
    let cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let command = compiler
        .command(cpp)
        .with_context(|| format!("{compiler:?} is missing"))?;
    let source = source.to_string_lossy();
    let (word, variable) = if cpp {
        ("c++", "UNSNARL_CXX")
    } else {
        ("cc", "UNSNARL_CC")
    };
    let words = [&[word, "-g", &source, "-o", to, "-pthread"], options].concat();
    let mut unsnarl = workspace.unsnarl_command(&words)?;
    unsnarl.env(variable, command);
    if compiler == TestedCompiler::ClangLifted {
        unsnarl.env("UNSNARL_MODEL", "off");
    }
    let finished = Finished::of(unsnarl)?.exits(0)?;
    ensure!(
        workspace.path().join(to).is_file(),
        "no {to} was made:\n{finished}"
    );
    Ok(finished)
}

fn kernels_folder() -> PathBuf {
    crate::project().join("tests/kernels")
}

fn programs_folder() -> PathBuf {
    crate::project().join("tests/programs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_can_be_read() {
        for name in TestProgram::names().unwrap() {
            let program = TestProgram::open(&name).unwrap_or_else(|error| panic!("{error:#}"));
            let lines = fs::read_to_string(&program.source).unwrap().lines().count();
            assert!((40..=150).contains(&lines), "{name} has {lines} lines");
            let bugs = [Some(program.expectation), program.second];
            for bug in bugs.into_iter().flatten() {
                assert!(bug.kinds.len() < 2, "{name}: one class is true of a bug");
            }
        }
    }

    #[test]
    fn every_kernel_can_be_read() {
        let names = TestProgram::kernels().unwrap();
        assert!(names.len() >= 25, "{names:?}");
        for name in names {
            let kernel = TestProgram::kernel(&name).unwrap_or_else(|error| panic!("{error:#}"));
            let parts = kernel.expectation.parts.keys();
            let parts: Vec<&str> = parts.map(String::as_str).collect();
            assert_eq!(parts, ["cause", "interference"], "{name}");
        }
    }
}
