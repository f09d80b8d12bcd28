//! Causes of failures over several builds: explanations of different builds that name the same cause.

use crate::{
    explanation::{BugKind, Explanation},
    facts::family,
    pairs::Fnv,
    suppressions::without_lines,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Signature of the cause that an explanation names: its class, and the function, kind and variable of each step that is
/// blamed or interferes. Neither lines nor their text count, so it stays while lines move and are edited; it changes when
/// a function or a variable gets another name.
pub fn cause_signature(explanation: &Explanation) -> String {
    let mut hash = Fnv::default();
    hash.text(explanation.kind.word());
    let blamed = explanation.blamed();
    let steps: BTreeSet<[String; 3]> = blamed
        .map(|mark| {
            let variable = family(&without_lines(&mark.location));
            [mark.place.function.clone(), mark.access.clone(), variable]
        })
        .collect();
    steps.iter().flatten().for_each(|word| hash.text(word));
    if steps.is_empty() {
        // A failure in every order has no steps to blame: it is told by where it fails.
        let place = explanation.failure.site.as_ref();
        hash.text(place.map_or("", |place| &place.function));
    }
    format!("{:016x}", hash.0)
}

/// A build, in the order in which builds were first recorded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct RecordedBuild {
    /// Time of its first run, in milliseconds since 1970.
    pub recorded: u64,
    /// SHA-256 of the program's file.
    pub build_id: String,
}

/// A cause, over all builds that have it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// See [`cause_signature`].
    pub signature: String,
    /// Class of the bug.
    pub kind: BugKind,
    /// Headline of its explanation in the last build.
    pub headline: String,
    /// Programs that have it, as they were called.
    pub programs: BTreeSet<String>,
    /// Number of failing runs.
    pub runs: usize,
    /// Builds that have it, the first one first.
    pub builds: BTreeSet<RecordedBuild>,
    /// A run of the last build, for `replay`.
    pub example: String,
}

/// Causes, while explanations are added.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    by_signature: BTreeMap<String, Cause>,
}

impl Causes {
    /// Adds an explanation of this program's build.
    pub fn add(&mut self, explanation: &Explanation, program: &str, build: RecordedBuild) {
        let signature = cause_signature(explanation);
        let cause = self.by_signature.entry(signature.clone());
        let cause = cause.or_insert_with(|| Cause {
            signature,
            kind: explanation.kind,
            headline: String::new(),
            programs: BTreeSet::new(),
            runs: 0,
            builds: BTreeSet::new(),
            example: String::new(),
        });
        cause.runs += explanation.runs.len();
        cause.programs.insert(program.to_owned());
        let is_last = cause.builds.last().is_none_or(|last| *last < build);
        cause.builds.insert(build);
        if is_last {
            cause.headline.clone_from(&explanation.headline);
            cause.example = explanation.runs.first().cloned().unwrap_or_default();
        }
    }

    /// The causes, those of most runs first.
    pub fn by_frequency(self) -> Vec<Cause> {
        let mut causes: Vec<Cause> = self.by_signature.into_values().collect();
        causes.sort_by(|a, b| (b.runs, &a.signature).cmp(&(a.runs, &b.signature)));
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::cause_signature;
    use crate::{Budget, explain, fixture::corpus};

    /// The signature of a lost update, in a build whose lines are so much further down and where names are others.
    fn signature(shift: u32, variable: &str, function: &str) -> String {
        let run = |middle: [&str; 2]| {
            let [read, write] = [10 + shift, 11 + shift];
            let other = |old: u32| {
                format!(
                    "main.2 R {variable} ={old} @{read} {function}\nmain.2 W {variable} ={} @{write} {function}\n",
                    old + 1
                )
            };
            let [inside, after] = middle.map(|old| old.parse().map_or(String::new(), other));
            format!(
                "main fork main.1 @40\nmain fork main.2 @41\nmain.1 R {variable} =0 @{read} {function}\n{inside}main.1 W {variable} =1 @{write} {function}\n{after}"
            )
        };
        let fine = run(["", "1"]) + &format!("main R {variable} =2 @44 main\n");
        let lost =
            run(["0", ""]) + &format!("main R {variable} =1 @44 main\nmain fails @44 main\n");
        let found = explain(&corpus(&[fine.as_str(); 6], &[&lost]), &Budget::unlimited());
        cause_signature(found.findings.first().unwrap())
    }

    #[test]
    fn lines_do_not_count_but_names_do() {
        let own = signature(0, "n", "add");
        assert_eq!(signature(7, "n", "add"), own);
        assert_ne!(signature(0, "m", "add"), own);
        assert_ne!(signature(0, "n", "put"), own);
    }
}
