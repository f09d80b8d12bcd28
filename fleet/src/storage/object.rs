//! Names of objects, which are those of the files of a folder of runs.

use super::hexadecimal;
use std::fmt;

/// The kind of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ObjectKind {
    /// The program model of a build, named by its build id.
    Model,
    /// A run file, whose name ends with the beginning of its SHA-256.
    Run,
    /// The summary of a run, with the run's name.
    Summary,
}

/// The name of an object that belongs to runs: what follows the URL of the storage.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ObjectName {
    kind: ObjectKind,
    name: String,
}

/// Folder of the program models.
const MODELS: &str = "models/";
/// Digits of the SHA-256 in the name of a run file.
const DIGITS: usize = 8;

impl ObjectName {
    /// The name, if it is one of an object that belongs to runs.
    pub fn of(name: &str) -> Option<ObjectName> {
        let within = name.strip_prefix(MODELS);
        let file = within.unwrap_or(name);
        let kind = match (within, file.rsplit_once('.')) {
            (Some(_), None) => ObjectKind::Model,
            (None, Some((_, "arrow"))) => ObjectKind::Run,
            (None, Some((_, "parquet"))) => ObjectKind::Summary,
            _ => return None,
        };
        let is_plain = match kind {
            ObjectKind::Model => !file.is_empty() && file.bytes().all(|c| c.is_ascii_hexdigit()),
            ObjectKind::Run | ObjectKind::Summary => !file.starts_with('.') && !file.contains('/'),
        };
        is_plain.then(|| ObjectName {
            kind,
            name: name.to_owned(),
        })
    }

    /// Its kind.
    pub fn kind(&self) -> ObjectKind {
        self.kind
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// File name without folders.
    pub fn file(&self) -> &str {
        self.name.strip_prefix(MODELS).unwrap_or(&self.name)
    }

    /// The name of a run's summary.
    pub fn summary(&self) -> Option<ObjectName> {
        let run = self.name.strip_suffix(".arrow")?;
        ObjectName::of(&format!("{run}.parquet"))
    }

    /// Checks that a content can be the one that the name promises.
    pub fn check(&self, bytes: &[u8]) -> Result<(), &'static str> {
        match self.kind {
            ObjectKind::Model => Ok(()),
            ObjectKind::Run => self.check_run(bytes),
            ObjectKind::Summary => check_summary(bytes),
        }
    }

    fn check_run(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let stem = self.name.strip_suffix(".arrow").unwrap_or_default();
        let digits = stem.rsplit_once('-').map_or("", |(_, digits)| digits);
        let is_hash =
            digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hash {
            return Err("its name does not end with a hash, so it is no file of a recording");
        }
        match hexadecimal(bytes).starts_with(digits) {
            true => Ok(()),
            false => Err("its content is not the one that its name was made of"),
        }
    }
}

/// A Parquet file that was cut short has lost the mark at its end, and with it the list of its columns.
fn check_summary(bytes: &[u8]) -> Result<(), &'static str> {
    let is_whole = bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && bytes.len() > 12;
    is_whole.then_some(()).ok_or("it is no whole Parquet file")
}

impl fmt::Display for ObjectName {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<ObjectKind> {
        ObjectName::of(name).map(|name| name.kind())
    }

    #[test]
    fn only_what_belongs_to_runs_has_a_name() {
        assert_eq!(kind("passed-pct-1-0123abcd.arrow"), Some(ObjectKind::Run));
        assert_eq!(
            kind("passed-pct-1-0123abcd.parquet"),
            Some(ObjectKind::Summary)
        );
        assert_eq!(kind("models/44fa"), Some(ObjectKind::Model));
        for other in [
            "notes.txt",
            ".passed.arrow.71",
            "sub/passed.arrow",
            "models/",
            "models/a/b",
            "models/../x",
            "",
        ] {
            assert_eq!(kind(other), None, "{other}");
        }
    }

    #[test]
    fn a_run_has_the_hash_of_its_name() {
        // The SHA-256 of nothing begins so.
        let name = ObjectName::of("passed-pct-1-e3b0c442.arrow").unwrap();
        assert_eq!(name.check(b""), Ok(()));
        assert!(name.check(b"x").is_err());
        assert!(ObjectName::of("mine.arrow").unwrap().check(b"").is_err());
    }

    #[test]
    fn a_summary_has_both_marks() {
        let name = ObjectName::of("passed-pct-1-e3b0c442.parquet").unwrap();
        assert_eq!(name.check(b"PAR1 columns PAR1"), Ok(()));
        assert!(name.check(b"PAR1 columns PA").is_err());
        assert!(name.check(b"PAR1").is_err());
    }
}
