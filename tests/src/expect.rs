//! Expectations about a program's explanation, as the program itself declares them.
//!
//! The header comment of a program names the class of its bug and quotes the lines that are to blame,
//! so that the expectation stays true when lines move:
//!
//! ```text
//! // expect kind: atomicity-violation
//! // expect cause 1: long available = account.balance;
//! // expect cause 2: account.balance = available - amount;
//! // expect interference: account.balance += amount;
//! ```
//!
//! `cause 1`, `cause 2` and `interference` are *parts*. A part may quote several lines of which one is
//! enough: most bugs show in more than one way. Lines of the part `also` may be blamed, but need not.
//! A program with two bugs says of the other one the same behind `// and expect ` (`// and expect kind: ...`).
//!
//! An explanation is right when its class is one of the kinds, each part has a line among the sites
//! that it blames (the causes and what came in between), and it blames no other line.

use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use unsnarl_core::{BugKind, Explanation};

/// The part whose lines may be blamed, but need not.
const ALSO: &str = "also";

/// The expectation about a program's explanation.
#[derive(Debug, Default)]
pub struct Expectation {
    /// Classes that are right; empty when no failure is expected.
    pub kinds: Vec<BugKind>,
    /// Lines by part.
    pub parts: BTreeMap<String, BTreeSet<u32>>,
}

impl Expectation {
    /// Reads the expectations in `header`, whose quotations are looked up in `source`.
    pub fn parse(header: &str, source: &str) -> Result<Expectation> {
        let first = Expectation::behind("expect ", header, source)?;
        first.context("nothing is expected")
    }

    /// The expectation about the explanation of a second bug; `None` when there is none.
    pub fn second(header: &str, source: &str) -> Result<Option<Expectation>> {
        Expectation::behind("and expect ", header, source)
    }

    fn behind(word: &str, header: &str, source: &str) -> Result<Option<Expectation>> {
        let mut expectation = Expectation::default();
        let mut stated = false;
        for line in header.lines() {
            let Some(text) = stripped(line, word) else {
                continue;
            };
            expectation
                .add(text, source)
                .with_context(|| format!("expectation `{text}`"))?;
            stated = true;
        }
        Ok(stated.then_some(expectation))
    }

    fn add(&mut self, text: &str, source: &str) -> Result<()> {
        if text == "no failure" {
            return Ok(());
        }
        let (part, value) = text.split_once(": ").context("no colon")?;
        if part == "kind" {
            for word in value.split_whitespace() {
                self.kinds.push(kind(word)?);
            }
            return Ok(());
        }
        let word = part.split(' ').next().unwrap_or_default();
        let known = ["cause", "interference", ALSO].contains(&word);
        ensure!(
            known,
            "`{part}` is none of `kind`, `cause`, `interference`, `{ALSO}`"
        );
        self.parts
            .entry(part.to_owned())
            .or_default()
            .insert(line_of(value, source)?);
        Ok(())
    }

    /// Checks `explanation`; the error says in words what is wrong with it.
    pub fn check(&self, explanation: &Explanation, file: &Path) -> Result<()> {
        ensure!(
            self.kinds.contains(&explanation.kind),
            "its kind is {:?}, expected one of {:?}",
            explanation.kind,
            self.kinds
        );
        let blamed = blamed_lines(explanation, file)?;
        for (part, lines) in self.parts.iter().filter(|(part, _)| *part != ALSO) {
            ensure!(
                lines.iter().any(|line| blamed.contains(line)),
                "it names none of the lines {lines:?} ({part}), but {blamed:?}"
            );
        }
        let right: BTreeSet<u32> = self.parts.values().flatten().copied().collect();
        let wrong: Vec<_> = blamed.difference(&right).collect();
        ensure!(
            self.parts.is_empty() || wrong.is_empty(),
            "it blames the lines {wrong:?}"
        );
        Ok(())
    }

    /// Place of the first right one among `explanations`, from 1.
    pub fn rank(&self, explanations: &[Explanation], file: &Path) -> Option<usize> {
        let right = |explanation| self.check(explanation, file).is_ok();
        explanations.iter().position(right).map(|index| index + 1)
    }
}

/// The text of an expectation in a comment line of a program or a page.
fn stripped<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let text = line.trim().trim_end_matches("-->").trim_end();
    let text = text
        .strip_prefix("//")
        .or_else(|| text.strip_prefix("<!--"))?;
    text.trim_start().strip_prefix(word)
}

fn kind(word: &str) -> Result<BugKind> {
    serde_json::from_value(serde_json::Value::from(word))
        .with_context(|| format!("`{word}` is not a class of bugs"))
}

/// Number of the only line that holds `quotation`, comment lines aside.
fn line_of(quotation: &str, source: &str) -> Result<u32> {
    let mut found = (1u32..)
        .zip(source.lines())
        .filter(|(_, line)| !line.trim_start().starts_with("//") && line.contains(quotation))
        .map(|(number, _)| number);
    let Some(number) = found.next() else {
        bail!("no line holds the quotation")
    };
    ensure!(
        found.next().is_none(),
        "more than one line holds the quotation"
    );
    Ok(number)
}

/// Lines of the sites that an explanation calls the cause or what came in between.
fn blamed_lines(explanation: &Explanation, file: &Path) -> Result<BTreeSet<u32>> {
    let mut lines = BTreeSet::new();
    for site in &explanation.sites {
        if !site.role.is_blamed() {
            continue;
        }
        let same = Path::new(&site.place.file).file_name() == file.file_name();
        ensure!(
            same,
            "it blames a line of another file: {}:{}",
            site.place.file,
            site.place.line
        );
        lines.insert(site.place.line);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "// expect kind: deadlock lost-wakeup\n// expect cause 1: a++;\n// expect cause 1: b++;\nint a, b;\na++;\nb++;\nb--; a--;\n";

    #[test]
    fn quotations_become_lines() {
        let expectation = Expectation::parse(SOURCE, SOURCE).unwrap();
        assert_eq!(expectation.kinds, [BugKind::Deadlock, BugKind::LostWakeup]);
        let lines: Vec<_> = expectation.parts["cause 1"].iter().copied().collect();
        assert_eq!(lines, [5, 6]);
    }

    #[test]
    fn a_second_bug_has_expectations_of_its_own() {
        assert!(Expectation::second(SOURCE, SOURCE).unwrap().is_none());
        let two = format!("{SOURCE}// and expect kind: deadlock\n// and expect cause: b++;\n");
        let second = Expectation::second(&two, SOURCE).unwrap().unwrap();
        assert_eq!(second.kinds, [BugKind::Deadlock]);
        assert_eq!(Expectation::parse(&two, SOURCE).unwrap().kinds.len(), 2);
    }

    #[test]
    fn wrong_headers_are_refused() {
        for header in [
            "no comment",
            "// expect cause: c++;",
            "// expect cause: a",
            "// expect kind: bad-luck",
            "// expect reason: a++;",
            "// expect kind",
        ] {
            assert!(Expectation::parse(header, SOURCE).is_err(), "{header}");
        }
    }
}
