//! Causes of failures over several builds: explanations of different builds that name the same cause.

use crate::{
    explanation::{BugKind, Explanation},
    facts::family,
    fixes::{Fix, Trial, TrialVerdict},
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

/// A fix that was suggested for a cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CauseFix {
    /// Its name, as `unsnarl verify` takes it.
    pub name: String,
    /// The change in a sentence.
    pub title: String,
    /// SHA-256 of the program's file for which it was suggested.
    pub build_id: String,
    /// Its last trial; `None` if there was none.
    pub tried: Option<Trial>,
}

impl CauseFix {
    /// The knowledge in favour of it: a fix that held when it was built comes before one that held as a constraint,
    /// and one that nobody has tried before one that does not hold.
    fn rank(&self) -> (u8, bool) {
        let tried = self.tried.as_ref();
        match tried.map_or(TrialVerdict::NotTried, |trial| trial.verdict) {
            TrialVerdict::Holds => (2, tried.is_some_and(|trial| trial.built)),
            TrialVerdict::NotTried => (1, false),
            TrialVerdict::DoesNotHold => (0, false),
        }
    }

    /// The knowledge of it in words: `not tried`, or what its trial says.
    pub fn in_words(&self) -> String {
        let tried = self.tried.as_ref();
        tried.map_or_else(|| "not tried".to_owned(), Trial::in_words)
    }
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
    /// The fix of which the most is known in its favour; `None` if none was suggested for these runs.
    pub fix: Option<CauseFix>,
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
            fix: None,
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

    /// Adds the fixes that an explanation of this build was told with. It changes nothing if its cause is not there.
    pub fn suggest(&mut self, told: &Explanation, build_id: &str) {
        let Some(cause) = self.by_signature.get_mut(&cause_signature(told)) else {
            return;
        };
        let suggested = |fix: &Fix| CauseFix {
            name: told.name_of(fix),
            title: fix.title.clone(),
            build_id: build_id.to_owned(),
            tried: fix.tried.clone(),
        };
        for fix in told.fixes.iter().map(suggested) {
            let known = cause.fix.as_ref().map(CauseFix::rank);
            if known.is_none_or(|known| known < fix.rank()) {
                cause.fix = Some(fix);
            }
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
    use super::{Causes, RecordedBuild, cause_signature};
    use crate::{
        Budget, Explanation, explain,
        fixes::{Fix, FixKind, Trial, TrialVerdict},
        fixture::corpus,
    };

    /// The explanation of a lost update, in a build whose lines are so much further down and where names are others.
    fn explanation(shift: u32, variable: &str, function: &str) -> Explanation {
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
        found.findings.into_iter().next().unwrap()
    }

    fn signature(shift: u32, variable: &str, function: &str) -> String {
        cause_signature(&explanation(shift, variable, function))
    }

    #[test]
    fn lines_do_not_count_but_names_do() {
        let own = signature(0, "n", "add");
        assert_eq!(signature(7, "n", "add"), own);
        assert_ne!(signature(0, "m", "add"), own);
        assert_ne!(signature(0, "n", "put"), own);
    }

    /// The fix that is known for the cause after these, each with the verdict of its trial and whether it was built.
    fn known(trials: &[(&str, TrialVerdict, bool)]) -> Option<String> {
        let told = explanation(0, "n", "add");
        let mut causes = Causes::default();
        let build = RecordedBuild {
            recorded: 1,
            build_id: "b".to_owned(),
        };
        causes.add(&told, "./prog", build);
        let fixes = trials.iter().map(|(title, verdict, built)| Fix {
            tried: Some(Trial {
                verdict: *verdict,
                built: *built,
                ..Trial::not_run("")
            }),
            ..Fix::edit(
                FixKind::Wait,
                (*title).to_owned(),
                Vec::new(),
                String::new(),
            )
        });
        let told = Explanation {
            fixes: fixes.collect(),
            ..told
        };
        causes.suggest(&told, "b");
        let mut causes = causes.by_frequency().into_iter();
        Some(causes.next()?.fix?.title)
    }

    #[test]
    fn the_fix_that_most_speaks_for_is_known() {
        use TrialVerdict::{DoesNotHold, Holds, NotTried};
        assert_eq!(known(&[]), None);
        let known = |trials: &[_]| known(trials).unwrap();
        assert_eq!(
            known(&[("a", DoesNotHold, true), ("b", NotTried, false)]),
            "b"
        );
        assert_eq!(known(&[("a", Holds, false), ("b", NotTried, false)]), "a");
        assert_eq!(known(&[("a", Holds, false), ("b", Holds, true)]), "b");
        assert_eq!(known(&[("a", Holds, true), ("b", Holds, true)]), "a");
    }
}
