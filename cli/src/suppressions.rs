//! `.unsnarl-suppressions.toml`: findings that somebody has looked at and calls harmless.
//!
//! A finding is known again by its class and by what its sites do: function, source text, access and location. Lines
//! and columns are left out, so edits elsewhere change nothing; an edit of such a line brings the finding back.

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Deserializer, de};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};
use toml::Spanned;
use unsnarl_core::{BugKind, Explanation, Role, facts};

/// The file's name, in the folder of the project.
pub const FILE: &str = ".unsnarl-suppressions.toml";

/// What stands in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    suppress: Vec<Spanned<Suppression>>,
}

/// One finding that is not to be shown.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppression {
    kind: BugKind,
    #[serde(deserialize_with = "reason")]
    because: String,
    #[serde(deserialize_with = "some_sites")]
    sites: BTreeSet<Site>,
}

/// What a line does in a finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Site {
    function: String,
    text: String,
    access: String,
    location: String,
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let reason = String::deserialize(deserializer)?;
    match reason.trim().is_empty() {
        true => Err(de::Error::custom(
            "a suppression says why: because = \"...\"",
        )),
        false => Ok(reason),
    }
}

fn some_sites<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Site>, D::Error> {
    let sites = BTreeSet::<Site>::deserialize(deserializer)?;
    match sites.is_empty() {
        true => Err(de::Error::custom("a suppression names its sites")),
        false => Ok(sites),
    }
}

/// An explanation that is not shown, and why.
#[derive(Clone, Debug)]
pub struct Suppressed {
    /// The explanation.
    pub explanation: Explanation,
    /// The reason that somebody gave.
    pub because: String,
}

/// The suppressions of a project.
#[derive(Debug, Default)]
pub struct Suppressions {
    path: PathBuf,
    text: String,
    rows: Vec<Spanned<Suppression>>,
    used: BTreeSet<usize>,
}

impl Suppressions {
    /// Those in the file of a folder; none when there is no file. A file that cannot be read is named with its line.
    pub fn read(folder: &Path) -> Result<Suppressions> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let content: Content = toml::from_str(&text).map_err(|error| {
            let error = error.to_string();
            anyhow!(
                "{}: {}\n  next: correct it (docs/formats.md), or remove that suppression and write it anew: unsnarl suppress",
                path.display(),
                error.trim_end()
            )
        })?;
        Ok(Suppressions {
            path,
            text,
            rows: content.suppress,
            used: BTreeSet::new(),
        })
    }

    /// Takes out of the explanations those that are suppressed.
    pub fn take(&mut self, explanations: &mut Vec<Explanation>) -> Vec<Suppressed> {
        let mut taken = Vec::new();
        explanations.retain(|explanation| {
            let found = self.find(explanation);
            if let Some((at, because)) = found {
                self.used.insert(at);
                taken.push(Suppressed {
                    explanation: explanation.clone(),
                    because,
                });
                return false;
            }
            true
        });
        taken
    }

    fn find(&self, explanation: &Explanation) -> Option<(usize, String)> {
        let sites = sites(explanation);
        let mut rows = self.rows.iter().map(Spanned::get_ref).enumerate();
        let found = rows.find(|(_, row)| row.kind == explanation.kind && row.sites == sites);
        found.map(|(at, row)| (at, row.because.clone()))
    }

    /// Suppressions that nothing has matched, each as file, line and reason.
    pub fn unused(&self) -> Vec<String> {
        let rows = self.rows.iter().enumerate();
        let unused = rows.filter(|(at, _)| !self.used.contains(at));
        let unused = unused.map(|(_, row)| {
            let before = self.text.get(..row.span().start).unwrap_or("");
            let line = before.matches('\n').count() + 1;
            let because = &row.get_ref().because;
            format!(
                "{}:{line}: nothing that was found is suppressed by this ({because})",
                self.path.display()
            )
        });
        unused.collect()
    }

    /// Writes one more into the file. Says where.
    pub fn add(&mut self, explanation: &Explanation, because: &str) -> Result<PathBuf> {
        let mut text = match self.text.is_empty() {
            true => "# Findings of unsnarl that are known to be harmless. Written by `unsnarl suppress`.\n".to_owned(),
            false => format!("{}\n", self.text.trim_end()),
        };
        text.push_str(&entry(explanation, because)?);
        fs::write(&self.path, &text)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.text = text;
        Ok(self.path.clone())
    }

    /// The reason why an explanation is suppressed already.
    pub fn reason(&self, explanation: &Explanation) -> Option<String> {
        self.find(explanation).map(|(_, because)| because)
    }
}

/// What a finding is known by: the lines that it blames and those that got in their way.
fn sites(explanation: &Explanation) -> BTreeSet<Site> {
    let marks = explanation.sites.iter();
    let blamed = marks.filter(|mark| matches!(mark.role, Role::Cause | Role::Interference));
    let sites = blamed.map(|mark| Site {
        function: mark.place.function.clone(),
        text: mark.place.text.clone(),
        access: mark.access.clone(),
        location: without_lines(&mark.location),
    });
    sites.collect()
}

/// Heap blocks are named by the line that made them.
fn without_lines(location: &str) -> String {
    match location.strip_prefix("heap(") {
        Some(_) => format!(
            "heap{}",
            location.get(facts::block(location).len()..).unwrap_or("")
        ),
        None => location.to_owned(),
    }
}

/// The entry as it stands in the file.
fn entry(explanation: &Explanation, because: &str) -> Result<String> {
    let headline = explanation.headline.replace(['\n', '\r'], " ");
    let kind = serde_json::to_string(&explanation.kind)?;
    let mut text = format!(
        "\n# {headline}\n[[suppress]]\nkind = {kind}\nbecause = {}\nsites = [\n",
        quoted(because)?
    );
    for site in sites(explanation) {
        text.push_str(&format!(
            "  {{ function = {}, text = {}, access = {}, location = {} }},\n",
            quoted(&site.function)?,
            quoted(&site.text)?,
            quoted(&site.access)?,
            quoted(&site.location)?
        ));
    }
    text.push_str("]\n");
    Ok(text)
}

/// A basic string of TOML: JSON escapes all that it has to, but for one character.
fn quoted(text: &str) -> Result<String> {
    Ok(serde_json::to_string(text)?.replace('\u{7f}', "\\u007f"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_core::{Budget, Corpus, CorpusKey, RunSummary, explain};

    fn explanation(shift: u32) -> Explanation {
        let at = |line: u32| line + shift;
        let text = format!(
            "file bank.c\nmain fork main.1 @{0} main\nmain fork main.2 @{0} main\n\
             main.1 R n =0 @{1} add \"int old = n; // \\\"x\\\" \\\\\"\nmain.2 R n =0 @{1} add \"int old = n; // \\\"x\\\" \\\\\"\n\
             main.2 W n =1 @{2} add \"n = old + 1;\"\nmain.1 W n =1 @{2} add \"n = old + 1;\"\n\
             main join main.1 @{3} main\nmain join main.2 @{3} main\nmain R n =1 @{4} main \"assert(n == 2);\"\n\
             main fails @{4} assertion `n == 2` failed\n",
            at(9),
            at(4),
            at(5),
            at(11),
            at(13)
        );
        let run = unsnarl_trace::script::parse(&text).unwrap();
        let mut corpus = Corpus::new(CorpusKey::default());
        corpus.insert(RunSummary::new("failed-0", run.into()));
        explain(&corpus, &Budget::unlimited()).findings.remove(0)
    }

    #[test]
    fn a_finding_is_known_again_after_lines_have_moved() {
        let folder = tempfile::tempdir().unwrap();
        let mut none = Suppressions::read(folder.path()).unwrap();
        assert!(none.take(&mut vec![explanation(0)]).is_empty());
        none.add(&explanation(0), "a \"counter\" of\nno use")
            .unwrap();

        let mut read = Suppressions::read(folder.path()).unwrap();
        assert_eq!(read.unused().len(), 1);
        let mut found = vec![explanation(20)];
        let taken = read.take(&mut found);
        assert!(found.is_empty());
        assert_eq!(taken[0].because, "a \"counter\" of\nno use");
        assert!(read.unused().is_empty());
        let mut other = explanation(0);
        other
            .sites
            .iter_mut()
            .for_each(|site| site.place.text.push('x'));
        assert!(
            Suppressions::read(folder.path())
                .unwrap()
                .take(&mut vec![other])
                .is_empty()
        );
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        for (text, line, word) in [
            ("\n[[suppress]]\nkind = \"nonsense\"\n", 3, "nonsense"),
            (
                "[[suppress]]\nkind = \"deadlock\"\nbecause = \" \"\nsites = []\n",
                3,
                "says why",
            ),
            ("[[supress]]\n", 1, "supress"),
            ("\n\n[[suppress\n", 3, "TOML"),
        ] {
            fs::write(folder.path().join(FILE), text).unwrap();
            let said = Suppressions::read(folder.path()).unwrap_err().to_string();
            for part in [FILE, &format!("line {line}"), word, "next:"] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }
}
