//! Mutants: correct programs with one mistake in them, inserted by a rule and therefore at a known place.
//!
//! The programs are those under `tests/mutants`, and files of real projects. Every operator of [`operators`] goes through a
//! program's syntax and makes one mutant for each place that it fits. Nothing is random: the same program has the same
//! mutants.

pub mod edits;
pub mod judge;
pub mod model;
pub mod names;
pub mod operators;
pub mod syntax;

use anyhow::{Context, Result};
use model::BaseProgram;
use operators::{NOT_SHOWN, OPERATORS};
use std::{
    collections::BTreeSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};
use syntax::MutatedSource;
use unsnarl_core::BugKind;

/// Bound for the mutants that one operator makes of one program; of more, those whose hash comes first are taken.
pub const MOST: usize = 6;

/// A correct program.
#[derive(Debug)]
pub struct Base {
    /// Name of its file without the extension; for a file of a project, `PROJECT/PATH`.
    pub name: String,
    /// Its source file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// One mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Program, operator and number: `lru_cache/drop-lock/2`.
    pub id: String,
    /// Name of the operator.
    pub operator: &'static str,
    /// The mutated text.
    pub text: String,
    /// Lines of it, from 1, that were changed or that the changed code protected.
    pub region: Vec<Range<u32>>,
    /// Classes that are right for it.
    pub classes: Vec<BugKind>,
}

/// The halves of the mutants, one of which may be examined one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// Mutants that unsnarl is developed with.
    Development,
    /// Mutants of which nobody sees more than totals.
    HeldBack,
}

impl Half {
    /// The half of a mutant, by a hash of its id.
    pub fn of(id: &str) -> Half {
        match hash(&format!("halves of 2026: {id}")) % 2 {
            0 => Half::Development,
            _ => Half::HeldBack,
        }
    }

    /// Its name in tables.
    pub fn word(self) -> &'static str {
        match self {
            Half::Development => "development",
            Half::HeldBack => "held back",
        }
    }
}

impl Base {
    /// The program of this name.
    pub fn open(name: &str) -> Result<Base> {
        let path = ["c", "cpp"]
            .map(|extension| folder().join(name).with_extension(extension))
            .into_iter()
            .find(|path| path.is_file())
            .with_context(|| format!("tests/mutants holds no {name}.c or {name}.cpp"))?;
        let text = fs::read_to_string(&path)?;
        let name = name.to_owned();
        Ok(Base { name, path, text })
    }

    /// Names of all programs, sorted.
    pub fn names() -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder())? {
            let path = entry?.path();
            let extension = path.extension().and_then(|one| one.to_str());
            if matches!(extension, Some("c" | "cpp")) {
                let stem = path.file_stem().context("a source has a name")?;
                names.push(stem.to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns whether it is written in C++.
    pub fn is_cpp(&self) -> bool {
        is_cpp(&self.path)
    }

    /// Number of mutants that no schedule can show.
    pub fn not_shown(&self) -> Result<usize> {
        let source = MutatedSource::parse(&self.text, self.is_cpp())?;
        let (_, find) = NOT_SHOWN;
        Ok(find(&BaseProgram::new(&source)).len())
    }

    /// All mutants, by operator.
    pub fn mutants(&self) -> Result<Vec<Mutant>> {
        self.mutants_within(None)
    }

    /// The mutants that change one of these functions, by operator.
    pub fn mutants_within(&self, functions: Option<&[String]>) -> Result<Vec<Mutant>> {
        let source = MutatedSource::parse(&self.text, self.is_cpp())?;
        let program = BaseProgram::new(&source);
        let mut texts = BTreeSet::from([self.text.clone()]);
        let mut mutants = Vec::new();
        for (operator, find) in OPERATORS {
            let mut drafts = Vec::new();
            for draft in find(&program) {
                let changed = program.function_at(draft.edits.last());
                let is_chosen =
                    |names: &[String]| names.iter().any(|name| Some(name.as_str()) == changed);
                if !functions.is_none_or(is_chosen) {
                    continue;
                }
                let text = draft.edits.apply(&self.text);
                if texts.insert(text.clone()) {
                    drafts.push((text, draft));
                }
            }
            let numbered = (1..).zip(drafts);
            let mut made: Vec<Mutant> = numbered
                .map(|(number, (text, draft))| Mutant {
                    id: format!("{}/{operator}/{number}", self.name),
                    operator,
                    text,
                    region: draft.edits.lines(&self.text, &draft.region),
                    classes: draft.classes,
                })
                .collect();
            made.sort_by_key(|mutant| hash(&mutant.id));
            made.truncate(MOST);
            made.sort_by(|a, b| a.id.cmp(&b.id));
            mutants.extend(made);
        }
        Ok(mutants)
    }
}

impl Mutant {
    /// The mutant of this id.
    pub fn open(id: &str) -> Result<(Base, Mutant)> {
        let base = Base::open(id.split('/').next().unwrap_or(id))?;
        let mut mutants = base.mutants()?.into_iter();
        let found = mutants.find(|mutant| mutant.id == id);
        let mutant = found.with_context(|| format!("there is no mutant {id}"))?;
        Ok((base, mutant))
    }

    /// Returns whether a line is in the region.
    pub fn concerns(&self, line: u32) -> bool {
        self.region.iter().any(|range| range.contains(&line))
    }
}

/// A hash that is the same everywhere and at all times: FNV-1a, then the mixer of SplitMix64, since names that differ
/// only in their last letter have nearly the same FNV.
pub fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

fn folder() -> PathBuf {
    crate::project().join("tests/mutants")
}

fn is_cpp(path: &Path) -> bool {
    path.extension()
        .is_some_and(|one| one == "cpp" || one == "cc")
}

#[cfg(test)]
mod tests;
