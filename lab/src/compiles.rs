//! Check that an edited source still compiles, as far as the flags that it was compiled with are known: a fix is
//! offered only when it does, or when the source as it is does not compile so either.

use crate::edited::edited;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Component, Path, PathBuf},
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
        let texts = edited(fix, self.sources).ok()?;
        let complaints = self.complaints(&texts)?;
        for (file, complaint) in complaints {
            let before = BTreeMap::from([(file.clone(), self.sources.get(&file)?.clone())]);
            let known = self.as_it_is.get(&file).copied();
            let is_right = || self.complaints(&before).is_some_and(|all| all.is_empty());
            let was_right = known.unwrap_or_else(is_right);
            self.as_it_is.insert(file, was_right);
            if was_right {
                return Some(complaint);
            }
        }
        None
    }

    /// The first error of each of these texts that has one, where sources see headers as they are among the texts; none where the
    /// texts cannot be written.
    fn complaints(&self, texts: &BTreeMap<String, String>) -> Option<Vec<(String, String)>> {
        let mirror = tempfile::tempdir().ok()?;
        for (file, text) in texts {
            let path = mirrored(mirror.path(), &self.directory.join(file));
            std::fs::create_dir_all(path.parent()?).ok()?;
            std::fs::write(path, text).ok()?;
        }
        // What they include beside themselves is where they were.
        let folders: BTreeSet<PathBuf> = texts
            .keys()
            .filter_map(|file| Some(self.directory.join(file).parent()?.to_owned()))
            .collect();
        let compiled = |file| self.compile(file, mirror.path(), &folders);
        let complaints = texts
            .keys()
            .filter_map(|file| Some((file.clone(), compiled(file)?)));
        Some(complaints.collect())
    }

    /// Compiles a file of the mirror and returns the first error; none when there is no error, or no compiler.
    fn compile(&self, file: &str, mirror: &Path, beside: &BTreeSet<PathBuf>) -> Option<String> {
        let path = self.directory.join(file);
        let ending = path.extension()?.to_str()?;
        let (language, compiler) = match ending {
            "c" => ("c", "cc"),
            "cpp" | "cc" | "cxx" | "C" | "c++" => ("c++", "c++"),
            _ => return None,
        };
        // A source may include what never ends.
        let mut command = Command::new("timeout");
        let in_mirror = beside.iter().map(|folder| mirrored(mirror, folder));
        let beside: Vec<PathBuf> = in_mirror.chain(beside.iter().cloned()).collect();
        let beside = beside
            .iter()
            .flat_map(|folder| [OsStr::new("-iquote"), folder.as_os_str()]);
        let flags = self.flags(&path);
        command
            .args([LONGEST, compiler])
            .args(["-x", language, "-fsyntax-only", "-pthread"])
            .args(first_in(mirror, &flags))
            .args(beside)
            .args(flags)
            .arg(mirrored(mirror, &path))
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Without a compiler nothing is known.
        let output = command.output().ok()?;
        if output.status.success() {
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

/// The place of a file in a mirror of all folders.
fn mirrored(mirror: &Path, path: &Path) -> PathBuf {
    let mut inner = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => inner.push(part),
            Component::ParentDir => {
                inner.pop();
            }
            _ => {}
        }
    }
    mirror.join(inner)
}

/// The folders of these flags in the mirror, to be looked through first.
fn first_in(mirror: &Path, flags: &[String]) -> Vec<String> {
    let pairs = flags.iter().zip(flags.iter().skip(1));
    let folders = pairs.filter(|(flag, _)| matches!(flag.as_str(), "-I" | "-isystem" | "-iquote"));
    let mirrored = folders.flat_map(|(flag, folder)| {
        let folder = mirrored(mirror, Path::new(folder));
        [flag.clone(), folder.to_string_lossy().into_owned()]
    });
    mirrored.collect()
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

    /// A source is compiled with the header as the fix leaves it, wherever flags find it.
    #[test]
    fn sources_see_the_edited_headers() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(inside("include")).unwrap();
        std::fs::create_dir_all(inside("build")).unwrap();
        std::fs::write(inside("include/count.h"), "int count(void);\n").unwrap();
        std::fs::write(inside("include/beside.h"), "#define SIZE 4\n").unwrap();
        std::fs::write(inside("a.c"), "#include \"count.h\"\n").unwrap();
        let database = serde_json::json!([{
            "directory": inside("build"), "file": inside("a.c"), "command": "cc -I../include -c ../a.c",
        }]);
        std::fs::write(inside("compile_commands.json"), database.to_string()).unwrap();
        let sources = BTreeMap::new();
        let compiles = Compiles::new(&sources, &folder.path().to_string_lossy());
        let source = (
            "a.c",
            "#include \"count.h\"\nint twice(void) { return number; }\n",
        );
        let header = (
            "include/count.h",
            "#include \"beside.h\"\nextern int number, all[SIZE];\n",
        );
        let of = |texts: &[(&str, &str)]| {
            let texts = texts
                .iter()
                .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
            compiles.complaints(&texts.collect()).unwrap().len()
        };
        assert_eq!(of(&[source]), 1);
        assert_eq!(of(&[source, header]), 0);
    }

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
