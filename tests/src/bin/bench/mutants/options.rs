//! The words behind `bench mutants`.

use anyhow::{Result, bail};
use std::{num::NonZero, path::PathBuf, thread};
use unsnarl_e2e::mutants::{Base, Half, Mutant, operators::OPERATORS};

/// The mutants that are measured, and the settings.
pub struct MutantOptions {
    /// Number of mutants that are judged at the same time.
    pub jobs: usize,
    /// Upper bound for the mutants.
    pub limit: usize,
    /// Prints only the names of the mutants.
    pub list: bool,
    /// Folder into which the texts of the chosen mutants are written, instead of judging them.
    pub texts: Option<PathBuf>,
    /// Examines the unchanged programs, too; a measurement of all mutants always does.
    pub alarms: bool,
    half: Option<Half>,
    names: Vec<String>,
}

impl MutantOptions {
    /// Parses `jobs=2`, `limit=40`, `half=development`, `list`, `texts=FOLDER`, `alarms`, and names of programs, operators and
    /// mutants.
    pub fn parse(words: &[String]) -> Result<MutantOptions> {
        let mut options = MutantOptions {
            jobs: thread::available_parallelism().map_or(1, NonZero::get),
            limit: usize::MAX,
            list: false,
            texts: None,
            alarms: false,
            half: None,
            names: Vec::new(),
        };
        for word in words {
            match word.split_once('=') {
                Some(("jobs", number)) => options.jobs = number.parse::<usize>()?.max(1),
                Some(("limit", number)) => options.limit = number.parse()?,
                Some(("texts", folder)) => options.texts = Some(folder.into()),
                Some(("half", "development")) => options.half = Some(Half::Development),
                Some(("half", "held-back")) => options.half = Some(Half::HeldBack),
                Some(_) => bail!(
                    "expected `jobs=N`, `limit=N`, `texts=FOLDER` or `half=development|held-back`, not `{word}`"
                ),
                None if word == "list" => options.list = true,
                None if word == "alarms" => options.alarms = true,
                None => options.names.push(known(word)?),
            }
        }
        Ok(options)
    }

    /// Returns whether all mutants are measured.
    pub fn is_whole(&self) -> bool {
        self.names.is_empty() && self.half.is_none() && self.limit == usize::MAX && !self.list
    }

    /// Returns whether mutants of this program are among the chosen ones.
    pub fn has_base(&self, name: &str) -> bool {
        let mut bases = self.names.iter().filter(|one| !is_operator(one)).peekable();
        let of_base = |one: &String| one.split('/').next() == Some(name);
        bases.peek().is_none() || bases.any(of_base)
    }

    /// Returns whether this mutant, of a chosen program, is among the chosen ones.
    pub fn has_mutant(&self, mutant: &Mutant) -> bool {
        let mut ids = self.names.iter().filter(|one| one.contains('/')).peekable();
        let mut operators = self.names.iter().filter(|one| is_operator(one)).peekable();
        let in_half = self.half.is_none_or(|half| half == Half::of(&mutant.id));
        let named = ids.peek().is_none() || ids.any(|id| *id == mutant.id);
        let by = operators.peek().is_none() || operators.any(|one| one == mutant.operator);
        in_half && named && by
    }
}

fn is_operator(word: &str) -> bool {
    OPERATORS.iter().any(|(name, _)| *name == word)
}

/// Checks that a word is the name of a program, an operator or a mutant.
fn known(word: &str) -> Result<String> {
    if !is_operator(word) {
        Base::open(word.split('/').next().unwrap_or(word))?;
    }
    Ok(word.to_owned())
}
