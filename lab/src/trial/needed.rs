//! Lines that a mended program still has to execute.
//!
//! A fix that moves a call to where it does nothing any more lets no run fail, and no run test anything either.

use unsnarl_core::{Corpus, Explanation, explanation::Place, fixes::Fix};
use unsnarl_trace::{Run, SiteRow};

/// Lines that an explanation blames and every passing run executes.
#[derive(Clone, Debug, Default)]
pub struct NeededLines(Vec<Place>);

impl NeededLines {
    /// Least number of passing runs that tell what a right run executes.
    const ENOUGH: usize = 3;

    /// Those of an explanation.
    #[must_use]
    pub fn of(corpus: &Corpus, explanation: &Explanation) -> NeededLines {
        let comes_to = |place: &Place| {
            let mut passing = corpus.passing();
            passing.all(|run| run.comes_to(&place.file, place.line))
        };
        let blamed = explanation.blamed().map(|mark| &mark.place);
        let told = blamed.filter(|place| !place.text.is_empty() && !place.function.is_empty());
        match corpus.passing().count() < NeededLines::ENOUGH {
            true => NeededLines::default(),
            false => NeededLines(told.filter(|place| comes_to(place)).cloned().collect()),
        }
    }

    /// Those that a fix leaves as they are.
    pub(super) fn beside(mut self, fix: &Fix) -> NeededLines {
        let is_edited = |place: &Place| {
            fix.edits.iter().any(|edit| {
                let lines = edit.from.line..=edit.to.line;
                edit.file == place.file && lines.contains(&place.line)
            })
        };
        self.0.retain(|place| !is_edited(place));
        self
    }

    /// Takes off the list what a run of the edited program executes. Linear in its sites until nothing is left.
    pub(super) fn see(&mut self, run: &Run) {
        self.0.retain(|place| !executes(run, place));
    }

    /// A line that no run has executed.
    pub(super) fn missing(&self) -> Option<&Place> {
        self.0.first()
    }
}

/// Does a run execute the line, wherever it stands in that function?
fn executes(run: &Run, place: &Place) -> bool {
    let is_it = |site: &SiteRow| site.text == place.text && site.function == place.function;
    run.meta.sites.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use unsnarl_core::{
        Budget, CorpusKey, RunSummary, explain,
        fixes::{FileEdit, FixKind, Position},
    };
    use unsnarl_trace::script;

    fn parsed(text: &str) -> Run {
        script::parse(text).expect("a script")
    }

    /// The lines of a story of `stop` that comes before `step` is done.
    fn needed() -> NeededLines {
        let begin = "main fork main.1 @1\n";
        let step = "main.1 R state =0 @42 step \"if (state)\"\n";
        let stop = "main W state =1 @28 stop \"state = stopped;\"\n";
        let passing = [begin, step, stop].concat();
        let failing = [
            begin,
            stop,
            &step.replace("=0", "=1"),
            "main.1 fails @43 step",
        ]
        .concat();
        let mut corpus = Corpus::new(CorpusKey::default());
        for (at, text) in [&*passing; 4].into_iter().chain([&*failing]).enumerate() {
            corpus.insert(RunSummary::new(format!("run-{at}"), Arc::new(parsed(text))));
        }
        let told = explain(&corpus, &Budget::unlimited()).findings;
        NeededLines::of(&corpus, told.first().unwrap())
    }

    #[test]
    fn a_program_that_does_not_come_to_the_lines_is_no_mended_one() {
        let mut lines = needed();
        assert_eq!(lines.0.len(), 2);
        lines.see(&parsed("main.1 R state =0 @42 step \"if (state)\""));
        let missing = lines.missing().map(|place| place.line);
        assert_eq!(missing, Some(28));
        // Lines above it were added.
        lines.see(&parsed("main W state =1 @31 stop \"state = stopped;\""));
        assert!(lines.missing().is_none());
    }

    #[test]
    fn lines_that_are_edited_need_not_stay() {
        let at = |line| Position { line, column: 1 };
        let edit = FileEdit {
            file: needed().0[0].file.clone(),
            start: 0,
            end: 4,
            from: at(28),
            to: at(28),
            text: String::new(),
        };
        let fix = Fix::edit(
            FixKind::AtomicUpdate,
            "t".to_owned(),
            vec![edit],
            String::new(),
        );
        let left: Vec<u32> = needed()
            .beside(&fix)
            .0
            .iter()
            .map(|place| place.line)
            .collect();
        assert_eq!(left, [42]);
    }
}
