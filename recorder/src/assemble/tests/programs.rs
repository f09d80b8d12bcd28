//! Small programs, compiled for the tests.

use super::super::ProgramDebugInfo;
use std::{path::PathBuf, process::Command};

/// A compiled program and where things lie in it.
pub struct Compiled {
    pub program: ProgramDebugInfo,
    pub path: PathBuf,
    text: String,
    _folder: tempfile::TempDir,
}

/// Compilers that are there, for a file of this name.
pub fn compilers(name: &str) -> Vec<&'static str> {
    let all = if name.ends_with(".cpp") {
        ["g++", "clang++-19", "clang++-14"]
    } else {
        ["gcc", "clang-19", "clang-14"]
    };
    let is_there = |compiler: &&str| Command::new(compiler).arg("--version").output().is_ok();
    all.into_iter().filter(is_there).collect()
}

/// Compiles `text` with these flags.
pub fn compile(compiler: &str, name: &str, text: &str, flags: &[&str]) -> Compiled {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join(name);
    let path = folder.path().join("program");
    std::fs::write(&source, text).unwrap();
    let done = Command::new(compiler)
        .args(["-pthread", "-fno-omit-frame-pointer"])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let program = ProgramDebugInfo::open(&path).unwrap();
    Compiled {
        program,
        path,
        text: text.to_owned(),
        _folder: folder,
    }
}

impl Compiled {
    /// File address of a symbol.
    pub fn symbol(&self, name: &str) -> u64 {
        use object::{Object as _, ObjectSymbol as _};
        let bytes = std::fs::read(&self.path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let found = file.symbols().find(|symbol| symbol.name() == Ok(name));
        found
            .unwrap_or_else(|| panic!("no symbol {name}"))
            .address()
    }

    /// An address that a call on the line with this mark returns to, within this function.
    pub fn on_line(&self, function: &str, mark: &str) -> u64 {
        let line = self
            .text
            .lines()
            .position(|line| line.contains(mark))
            .unwrap() as u32
            + 1;
        let image = self.program.image("").unwrap();
        let (start, (symbol, _)) = (
            self.symbol(function),
            image.code_symbol(self.symbol(function)).unwrap(),
        );
        let is_there = |address: &u64| {
            image
                .source_frames(*address)
                .iter()
                .any(|frame| frame.line == line)
        };
        let found = (start..start + symbol.size).rev().find(is_there);
        found.unwrap_or_else(|| panic!("no code for {mark}")) + 1
    }

    /// Offset of a variable from the frame base of its function.
    pub fn in_frame(&self, function: &str, variable: &str) -> i64 {
        let image = self.program.image("").unwrap();
        let (index, _) = image.function(self.symbol(function)).unwrap();
        let found = image
            .variables(index)
            .iter()
            .find(|known| known.name == variable);
        found
            .unwrap_or_else(|| panic!("no variable {variable}"))
            .offset
    }
}
