//! `.unsnarl-suppressions.toml`: findings that somebody has reviewed and considers harmless. This module
//! handles text only; the caller reads and writes the file.
//!
//! A finding is recognized by its class and by its sites: function, source text, access and location. Lines
//! and columns are left out, so edits elsewhere change nothing; an edit of such a line brings the finding
//! back.

use crate::explanation::{BugKind, Explanation};
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeSet;
use toml::Spanned;
use unsnarl_trace::Location;

/// The file's name, in the folder of the project.
pub const FILE: &str = ".unsnarl-suppressions.toml";

/// Contents of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    suppress: Vec<Spanned<Suppression>>,
}

/// A suppressed finding.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppression {
    kind: BugKind,
    #[serde(deserialize_with = "reason")]
    because: String,
    #[serde(deserialize_with = "some_sites")]
    sites: BTreeSet<SuppressedSite>,
}

/// A site of a finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuppressedSite {
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

fn some_sites<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeSet<SuppressedSite>, D::Error> {
    let sites = BTreeSet::<SuppressedSite>::deserialize(deserializer)?;
    match sites.is_empty() {
        true => Err(de::Error::custom("a suppression names its sites")),
        false => Ok(sites),
    }
}

/// A suppressed explanation with its reason.
#[derive(Clone, Debug)]
pub struct Suppressed {
    /// The explanation.
    pub explanation: Explanation,
    /// The reason given by the user.
    pub because: String,
}

/// The suppressions of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suppressions {
    text: String,
    /// Suppressions with their positions in the text.
    rows: Vec<(usize, Suppression)>,
}

impl Suppressions {
    /// Parses the file's text. The error names the line and the problem there.
    pub fn parse(text: &str) -> Result<Suppressions, String> {
        let content: Content =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let rows = content.suppress.into_iter();
        Ok(Suppressions {
            text: text.to_owned(),
            rows: rows
                .map(|row| (row.span().start, row.into_inner()))
                .collect(),
        })
    }

    /// Removes suppressed explanations and returns them.
    pub fn take(&self, explanations: &mut Vec<Explanation>) -> Vec<Suppressed> {
        let mut taken = Vec::new();
        explanations.retain(|explanation| {
            let because = self.reason(explanation);
            taken.extend(because.map(|because| Suppressed {
                explanation: explanation.clone(),
                because: because.to_owned(),
            }));
            because.is_none()
        });
        taken
    }

    /// The reason why an explanation is suppressed, if it is.
    pub fn reason(&self, explanation: &Explanation) -> Option<&str> {
        let at = self.find(explanation)?;
        self.rows.get(at).map(|(_, row)| row.because.as_str())
    }

    fn find(&self, explanation: &Explanation) -> Option<usize> {
        let sites = sites(explanation);
        let is_it = |row: &Suppression| row.kind == explanation.kind && row.sites == sites;
        self.rows.iter().position(|(_, row)| is_it(row))
    }

    /// Suppressions that match none of the suppressed findings: line (from 1) and reason.
    pub fn unused(&self, suppressed: &[Suppressed]) -> Vec<(usize, &str)> {
        let used: BTreeSet<usize> = suppressed
            .iter()
            .filter_map(|one| self.find(&one.explanation))
            .collect();
        let rows = self.rows.iter().enumerate();
        let unused = rows.filter(|(at, _)| !used.contains(at));
        let told = unused.map(|(_, (start, row))| {
            let before = self.text.get(..*start).unwrap_or("");
            (before.matches('\n').count() + 1, row.because.as_str())
        });
        told.collect()
    }

    /// The file's text with one suppression more.
    pub fn with(&self, explanation: &Explanation, because: &str) -> String {
        let mut text = match self.text.is_empty() {
            true => "# Findings of unsnarl that are known to be harmless. Written by `unsnarl suppress`.\n".to_owned(),
            false => format!("{}\n", self.text.trim_end()),
        };
        text.push_str(&entry(explanation, because));
        text
    }
}

/// Sites by which a finding is recognized: the blamed lines and those that interfered.
fn sites(explanation: &Explanation) -> BTreeSet<SuppressedSite> {
    let blamed = explanation.blamed();
    let sites = blamed.map(|mark| SuppressedSite {
        function: mark.place.function.clone(),
        text: mark.place.text.clone(),
        access: mark.access.clone(),
        location: without_lines(&mark.location),
    });
    sites.collect()
}

/// A location without line numbers, which name heap blocks by the line that allocated them.
pub(crate) fn without_lines(location: &str) -> String {
    match Location::of(location) {
        Location::Heap { path, .. } => format!("heap{path}"),
        _ => location.to_owned(),
    }
}

/// The entry as written to the file.
fn entry(explanation: &Explanation, because: &str) -> String {
    let headline = explanation.headline.replace(['\n', '\r'], " ");
    let mut text = format!(
        "\n# {headline}\n[[suppress]]\nkind = {}\nbecause = {}\nsites = [\n",
        quoted(explanation.kind.word()),
        quoted(because)
    );
    for site in sites(explanation) {
        text.push_str(&format!(
            "  {{ function = {}, text = {}, access = {}, location = {} }},\n",
            quoted(&site.function),
            quoted(&site.text),
            quoted(&site.access),
            quoted(&site.location)
        ));
    }
    text.push_str("]\n");
    text
}

/// Quotes a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Corpus, CorpusKey, RunSummary, explain};

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
        let none = Suppressions::parse("").unwrap();
        assert!(none.take(&mut vec![explanation(0)]).is_empty());
        let because = "a \"counter\" of\nno use \u{7f}\t\\";
        let read = Suppressions::parse(&none.with(&explanation(0), because)).unwrap();
        assert_eq!(read.unused(&[]), [(4, because)]);
        let mut found = vec![explanation(20)];
        let taken = read.take(&mut found);
        assert!(found.is_empty());
        assert_eq!(taken[0].because, because);
        assert_eq!(read.unused(&taken), []);
        let mut other = explanation(0);
        other
            .sites
            .iter_mut()
            .for_each(|site| site.place.text.push('x'));
        assert!(read.take(&mut vec![other]).is_empty());
    }

    #[test]
    fn a_bad_file_is_named_with_its_line() {
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
            let said = Suppressions::parse(text).unwrap_err();
            for part in [&format!("line {line}"), word] {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }
}
