//! A lint for the language of doc comments.
//!
//! A doc comment says what its item is or does. One that begins with a question word says what is asked about the item
//! instead, and readers have to look for the answer.

use crate::{measure::MeasuredShare, shell};
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Folders of the crates whose doc comments are checked. A crate joins them once its comments pass.
const CRATES: [&str; 10] = [
    "cli", "core", "lab", "recorder", "runtime", "server", "solver", "tests", "trace", "xtask",
];

/// Words that no doc comment begins with.
const QUESTIONS: [&str; 9] = [
    "What", "Who", "Whose", "Where", "How", "Whether", "Which", "When", "Why",
];

/// Checks the doc comments of all [`CRATES`].
pub fn check() -> Result<()> {
    let mut found = Vec::new();
    for name in CRATES {
        for file in sources(&shell::project().join(name))? {
            found.extend(in_file(&file)?);
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    bail!(
        "doc comments begin with a question word:\n  {}\nbegin with a noun that says what the item is (`The outcome of \
         the run.`), or with a verb that says what it does (`Returns whether ...`)",
        found.join("\n  ")
    )
}

/// The Rust sources below a folder, sorted by path.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `FILE:LINE: COMMENT` for each comment of a file that begins with a question word.
fn in_file(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file);
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    let project = shell::project();
    let name = file.strip_prefix(&project).unwrap_or(file).display();
    let named = |(line, comment): (usize, &str)| format!("{name}:{line}: {comment}");
    Ok(questions(&text).into_iter().map(named).collect())
}

/// The share of the doc comments of a source that begin with a question word.
pub fn share_of_questions(source: &str) -> MeasuredShare {
    MeasuredShare {
        with: questions(source).len(),
        of: first_lines(source).len(),
    }
}

/// Number, from 1, and text of each first line of a doc comment that begins with a question word.
fn questions(source: &str) -> Vec<(usize, &str)> {
    let mut found = first_lines(source);
    found.retain(|(_, text)| is_question(text));
    found
}

/// Number, from 1, and text of the first line of each doc comment.
fn first_lines(source: &str) -> Vec<(usize, &str)> {
    let mut before = None;
    let mut found = Vec::new();
    for (line, number) in source.lines().zip(1..) {
        let comment = doc_comment(line);
        let marker = comment.map(|(marker, _)| marker);
        if let Some((_, text)) = comment.filter(|_| marker != before) {
            found.push((number, text));
        }
        before = marker;
    }
    found
}

/// Marker and text of a line that belongs to a doc comment.
fn doc_comment(line: &str) -> Option<(&str, &str)> {
    let (marker, text) = line.trim_start().split_at_checked(3)?;
    let is_doc = marker == "//!" || marker == "///" && !text.starts_with('/');
    is_doc.then(|| (marker, text.trim()))
}

/// Returns whether a text begins with a question word.
fn is_question(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphanumeric()).next();
    word.is_some_and(|word| QUESTIONS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<usize> {
        questions(source).iter().map(|(line, _)| *line).collect()
    }

    #[test]
    fn question_words_are_found() {
        for word in QUESTIONS {
            assert_eq!(lines(&format!("    /// {word} it is.\n")), [1]);
            assert_eq!(lines(&format!("//! {word}, and more.\n")), [1]);
        }
        assert_eq!(lines("///Why.\n"), [1]);
    }

    #[test]
    fn other_comments_pass() {
        for line in [
            "/// The outcome.",
            "/// Whatever is left.",
            "/// `What` as a word.",
            "/// what is lower case",
            "// What a plain comment asks.",
            "//// What a row of slashes is.",
            "let text = \"/// What\";",
            "//",
            "///",
        ] {
            assert_eq!(lines(line), [0; 0], "{line}");
        }
    }

    #[test]
    fn first_lines_count() {
        let wrapped = "/// Returns the place\n/// Where it is.\nfn one() {}\n";
        assert_eq!(lines(wrapped), [0; 0]);
        let paragraph = "/// Reads it.\n///\n/// # Errors\n/// When it is not there.\n";
        assert_eq!(lines(paragraph), [0; 0]);
        let fields = "struct One {\n    /// Its name.\n    name: String,\n    /// Where it is.\n    place: u32,\n}\n";
        assert_eq!(lines(fields), [4]);
        let module = "//! A module.\n/// What follows it.\nstruct One;\n";
        assert_eq!(lines(module), [2]);
    }

    #[test]
    fn comments_are_counted_once() {
        let source = "//! Why it is.\n//! And more.\n\n/// A thing.\n///\n/// What else.\nstruct A;\n// How.\n";
        assert_eq!(share_of_questions(source), MeasuredShare { with: 1, of: 2 });
    }

    #[test]
    fn files_and_lines_are_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        let file = folder.path().join("inner/one.rs");
        fs::write(&file, "\n/// Where it is.\nstruct One;\n").unwrap();
        fs::write(folder.path().join("note.txt"), "/// What it is.\n").unwrap();
        let found = sources(folder.path()).unwrap();
        assert_eq!(found, std::slice::from_ref(&file));
        let named = format!("{}:2: Where it is.", file.display());
        assert_eq!(in_file(&file).unwrap(), [named]);
    }
}
