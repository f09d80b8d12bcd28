//! Causes of failures over several builds: explanations of different builds that name the same cause.

use crate::{
    explanation::{BugKind, Explanation, Role},
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
    let marks = explanation.sites.iter();
    let blamed = marks.filter(|mark| matches!(mark.role, Role::Cause | Role::Interference));
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
