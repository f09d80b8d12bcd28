//! Check that an edited source still compiles, as far as the flags that it was compiled with are known: a fix is
//! offered only when it does, or when the source as it is does not compile so either.

use crate::edited::edited;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use unsnarl_core::fixes::Fix;
use unsnarl_recorder::wrapper::noted;
use unsnarl_trace::files::read_regular;

/// Bytes of a compile database that are read.
const MOST: u64 = 16 << 20;
/// Seconds that one compilation may take.
const LONGEST: &str = "20";
/// Flags of a compile database that tell what a source means, and run nothing.
const TELLING: [&str; 7] = ["-include", "-isystem", "-iquote", "-std=", "-I", "-D", "-U"];

/// Compiles sources without making anything, each as it is once.
pub struct Compiles<'a> {
    sources: &'a BTreeMap<String, String>,
    directory: PathBuf,
    as_it_is: BTreeMap<String, bool>,
}

impl<'a> Compiles<'a> {
    /// For programs that were built in this folder.
    pub fn new(sources: &'a BTreeMap<String, String>, directory: &str) -> Compiles<'a> {
        Compiles {
            sources,
            directory: PathBuf::from(directory),
            as_it_is: BTreeMap::new(),
        }
    }

    /// The fixes whose edits compile, and why the others do not.
    pub fn sifted(&mut self, fixes: Vec<Fix>) -> (Vec<Fix>, Vec<String>) {
        let (mut right, mut wrong) = (Vec::new(), Vec::new());
        for fix in fixes {
            match self.complaint(&fix) {
                None => right.push(fix),
                Some(why) => {
                    let title = &fix.title;
                    wrong.push(format!(
                        "{title}: the edited source would not compile: {why}"
                    ));
                }
            }
        }
        (right, wrong)
    }

    /// The compiler's first complaint about the sources that the fix edits, if it had none before.
    fn complaint(&mut self, fix: &Fix) -> Option<String> {
        for (file, text) in edited(fix, self.sources).ok()? {
            let Some(complaint) = self.compile(&file, &text) else {
                continue;
            };
            let before = self.sources.get(&file)?;
            let known = self.as_it_is.get(&file).copied();
            let was_right = known.unwrap_or_else(|| self.compile(&file, before).is_none());
            self.as_it_is.insert(file, was_right);
            if was_right {
                return Some(complaint);
            }
        }
        None
    }

    /// Compiles a text and returns the first error; none when there is no error, or no compiler.
    fn compile(&self, file: &str, text: &str) -> Option<String> {
        let path = self.directory.join(file);
        let ending = path.extension()?.to_str()?;
        let (language, compiler) = match ending {
            "c" => ("c", "cc"),
            "cpp" | "cc" | "cxx" | "C" | "c++" => ("c++", "c++"),
            _ => return None,
        };
        // A source may include what never ends.
        let mut command = Command::new("timeout");
        command
            .args([LONGEST, compiler])
            .args(["-x", language, "-fsyntax-only", "-pthread", "-iquote"])
            .arg(path.parent().unwrap_or(&self.directory))
            .args(self.flags(&path))
            .arg("-")
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Without a compiler nothing is known.
        let mut child = command.spawn().ok()?;
        let written = child.stdin.take()?.write_all(text.as_bytes());
        let output = child.wait_with_output().ok()?;
        if output.status.success() || written.is_err() {
            return None;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let mut errors = said.lines().filter_map(|line| line.split_once("error: "));
        errors.next().map(|(_, error)| error.to_owned())
    }

    /// The flags of a source: those that our own compiler was given last, or those in the compile database of the folder
    /// or of one around it.
    fn flags(&self, path: &Path) -> Vec<String> {
        if let Some(noted) = noted::of(path) {
            return telling(&noted.arguments, &noted.directory);
        }
        let folders = self.directory.ancestors().take(4);
        let mut all = folders.flat_map(|folder| [folder.to_owned(), folder.join("build")]);
        let found = all.find_map(|folder| of_database(&folder.join("compile_commands.json"), path));
        found.unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct CompileEntry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    command: String,
    #[serde(default)]
    arguments: Vec<String>,
}

fn of_database(database: &Path, source: &Path) -> Option<Vec<String>> {
    let text = read_regular(database, MOST).ok()?;
    let entries: Vec<CompileEntry> = serde_json::from_slice(&text).ok()?;
    let entry = entries
        .into_iter()
        .find(|entry| entry.directory.join(&entry.file) == source)?;
    let words = match entry.arguments.is_empty() {
        true => entry
            .command
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        false => entry.arguments,
    };
    Some(telling(&words, &entry.directory))
}

/// The flags that tell what the source means, with folders made absolute.
fn telling(words: &[String], directory: &Path) -> Vec<String> {
    let mut flags = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(flag) = TELLING.iter().find(|flag| word.starts_with(**flag)) else {
            continue;
        };
        let value = match word.get(flag.len()..).filter(|value| !value.is_empty()) {
            Some(value) => value.to_owned(),
            None => match words.next() {
                Some(value) => value.clone(),
                None => break,
            },
        };
        match *flag {
            "-I" | "-isystem" | "-iquote" | "-include" => {
                flags.push((*flag).to_owned());
                flags.push(directory.join(value).to_string_lossy().into_owned());
            }
            flag => flags.push(format!("{flag}{value}")),
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_flags_that_tell_what_a_source_means_are_taken() {
        let words = "cc -Iinclude -D N=2 -fplugin=evil.so -std=c11 -O2 -isystem /opt/x -c a.c";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(
            telling(&words, Path::new("/p")).join(" "),
            "-I /p/include -DN=2 -std=c11 -isystem /opt/x"
        );
    }
}
