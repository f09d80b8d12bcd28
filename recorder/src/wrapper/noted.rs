//! Notes of how sources were compiled and programs linked, among the user's own files: debug info does not tell the
//! folders and macros that a compiler was given. A note holds the last time that a source was compiled or a program
//! linked.

use super::arguments::{self, CommandWord, CompilerCommand, LastStage};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use unsnarl_trace::{files::read_text, own_folder::Purpose};

/// The folder of the notes, in the user's cache.
const FOLDER: &str = "compiled";
/// Variable that is set for compilers of temporary copies: nobody asks how those were compiled.
pub const UNNOTED: &str = "UNSNARL_UNNOTED";
/// Endings of files that are compiled by themselves.
const SOURCES: [&str; 6] = ["c", "cc", "cpp", "cxx", "c++", "C"];

/// The compilation of a source, or the linking of a program: an entry of a compile database.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Noted {
    /// The compiler's working directory.
    pub directory: PathBuf,
    /// The source, or the program.
    pub file: PathBuf,
    /// The command line, with the compiler's name first.
    pub arguments: Vec<String>,
}

/// Notes how these arguments compile their sources, and what they link. If the user has no folder for notes, none are
/// made: that only makes later reports poorer.
pub fn note(compiler: &str, words: &[OsString]) {
    if std::env::var_os(UNNOTED).is_some() {
        return;
    }
    let command = arguments::read(words);
    let (Ok(directory), Ok(cache)) = (std::env::current_dir(), Purpose::Cache.folder()) else {
        return;
    };
    let folder = cache.join(FOLDER);
    let mut all = vec![compiler.to_owned()];
    all.extend(words.iter().map(|word| word.to_string_lossy().into_owned()));
    let program = linked(&command);
    for file in sources(&command.words).chain(program) {
        // What is left out is not known later, which is no harm.
        let _ = write(&folder, &directory, &file, &all);
    }
}

/// The note of the compilation of a source or the linking of a program, if this user's compiler wrapper did it.
pub fn of(source: &Path) -> Option<Noted> {
    let cache = Purpose::Cache.folder().ok()?;
    within(&cache.join(FOLDER), source)
}

/// All notes of this user's compiler wrapper, in no particular order. Those that cannot be read are left out, as if the
/// wrapper had not been used.
pub fn all() -> Vec<Noted> {
    let folder = Purpose::Cache.folder().map(|cache| cache.join(FOLDER));
    let entries = folder.ok().and_then(|folder| fs::read_dir(folder).ok());
    let files = entries.into_iter().flatten().flatten();
    let texts = files.filter_map(|file| read_text(&file.path()).ok());
    texts
        .filter_map(|text| serde_json::from_str(&text).ok())
        .collect()
}

/// Returns whether a file is compiled by itself, by its name.
pub fn is_source(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SOURCES.contains(&ending))
}

fn within(folder: &Path, source: &Path) -> Option<Noted> {
    let source = absolute(source).ok()?;
    let text = read_text(&folder.join(name(&source))).ok()?;
    let noted: Noted = serde_json::from_str(&text).ok()?;
    (noted.file == source).then_some(noted)
}

fn sources(words: &[CommandWord]) -> impl Iterator<Item = PathBuf> {
    let inputs = words.iter().filter(|word| word.argument.is_none());
    let paths = inputs.map(|word| PathBuf::from(&word.text));
    paths.filter(|path| is_source(path))
}

fn write(folder: &Path, directory: &Path, source: &Path, words: &[String]) -> io::Result<()> {
    let file = absolute(&directory.join(source))?;
    let place = folder.join(name(&file));
    let noted = Noted {
        directory: directory.to_owned(),
        file,
        arguments: words.to_vec(),
    };
    let text = serde_json::to_string(&noted)?;
    if read_text(&place).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let new = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(new.path(), text)?;
    new.persist(place)?;
    Ok(())
}

/// The program that a command makes.
fn linked(command: &CompilerCommand) -> Option<PathBuf> {
    const USUAL: &str = "a.out";
    let named = command
        .words
        .iter()
        .rev()
        .find_map(|word| word.value_of("-o"));
    (command.stage == LastStage::Link).then(|| PathBuf::from(named.as_deref().unwrap_or(USUAL)))
}

/// The path without links of a file that may not exist yet.
fn absolute(file: &Path) -> io::Result<PathBuf> {
    let (folder, name) = file
        .parent()
        .zip(file.file_name())
        .ok_or(io::ErrorKind::NotFound)?;
    file.canonicalize()
        .or_else(|_| Ok(folder.canonicalize()?.join(name)))
}

/// A note's name: the hash of the source's path.
fn name(source: &Path) -> String {
    let digest = Sha256::digest(source.as_os_str().as_bytes());
    let hash: String = digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{hash}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_as_it_was_compiled_last() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("a.c"), "").unwrap();
        let notes = root.join("notes");
        for level in ["-DN=1", "-DN=2"] {
            let words = ["cc", level, "-o", "b.c", "a.c"].map(OsString::from);
            let all = words.clone().map(|word| word.into_string().unwrap());
            let sources: Vec<PathBuf> = sources(&arguments::read(&words[1..]).words).collect();
            assert_eq!(sources, [PathBuf::from("a.c")]);
            write(&notes, &root, Path::new("a.c"), &all).unwrap();
        }
        let noted = within(&notes, &root.join("a.c")).unwrap();
        assert_eq!(
            (noted.directory, noted.arguments[1].as_str()),
            (root.clone(), "-DN=2")
        );
        assert_eq!(within(&notes, &root.join("b.c")), None);
    }
}
