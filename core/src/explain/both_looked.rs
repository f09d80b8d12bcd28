//! A flag that two threads look at before either has set it: both go on, as only one of them was to.

use super::{draft::Draft, look::asks, view::View};
use crate::{
    claims::line,
    explanation::{BugKind, Certainty, Explanation, Place, Role},
    mining::trace::line_hash,
    pairs::{AccessClass, Fnv},
};
use unsnarl_trace::EventId;

/// Accesses of a thread before it sets the flag among which its look is searched for.
const NEAR: usize = 200;

/// Two looks at a flag, and the first step by which one of the threads sets it.
pub(super) struct BothLooked {
    /// The look of the thread that has not come to set the flag.
    look: EventId,
    /// The look of the other thread.
    other: EventId,
    /// The row at which that one sets it.
    set: EventId,
    /// The place where the first thread sets it in runs that pass.
    sets: Place,
}

impl BothLooked {
    /// The two looks, if `early` asks for what the thread of `late` has asked for as well before it sets it there, and that
    /// function sets it, too. Linear in the accesses of passing runs to the flag.
    pub fn of(view: &View, early: EventId, late: EventId) -> Option<BothLooked> {
        let (first, second) = (view.event(early), view.event(late));
        let is_flag = first.kind.reads() && !first.kind.writes() && second.kind.writes();
        if !is_flag || !asks(&view.place(early)) || second.value == first.value {
            return None;
        }
        let other = view.own_before(late).take(NEAR).find(|row| {
            let event = view.event(*row);
            event.location == first.location && event.kind.reads()
        })?;
        let is_same = view.event(other).value == first.value && first.value.is_some();
        let is_own = view.place(other).function == view.place(late).function;
        let is_look = is_same && is_own && asks(&view.place(other));
        let is_unchanged = view.source(other) == view.source(early);
        let sets = setter(view, early)?;
        (is_look && is_unchanged).then_some(BothLooked {
            look: early,
            other,
            set: late,
            sets,
        })
    }

    /// Explains that nobody had set it when both looked.
    pub fn explain(&self, view: &View) -> Explanation {
        let [look, other, set] = [self.look, self.other, self.set];
        let name = view.variable_of(&[set, look]);
        let (who, whose) = (view.words(look), view.words(other));
        let headline =
            format!("{who} and {whose} both looked at `{name}` before either had set it");
        // Which of the two looks comes first makes no difference: what counts is that the first one has missed the change.
        let mut draft = Draft::new(view, BugKind::OrderViolation, headline);
        draft.set().certainty = Certainty::Possible;
        let at = view.place(look);
        draft.detail(format!(
            "{who} read {name}{} at {}, and {whose} read {name}{} at {};\n{} set it{} only at {}, as {} does at {}.",
            view.equals_read(look),
            view.at(look),
            view.equals_read(other),
            line(&view.place(other), &at),
            view.name(other),
            view.equals(set).replacen(" =", " to", 1),
            line(&view.place(set), &at),
            view.name(look),
            line(&self.sets, &at),
        ));
        draft.set().remark = "The look and the change have to be one step.".to_owned();
        draft.step(other, "");
        draft.step(look, "");
        draft.step(set, "too late");
        draft.mark(look, Role::Cause);
        draft.mark(set, Role::Interference);
        draft.fail();
        draft.finish()
    }
}

/// The line below a look at which its function sets the variable in runs that pass.
fn setter(view: &View, look: EventId) -> Option<Place> {
    let at = view.place(look);
    let location = Fnv::of(view.run.location(view.event(look).location));
    let below = view.corpus.counts().sites().filter(|site| {
        let place = &site.place;
        site.class != AccessClass::Read
            && (&place.file, &place.function) == (&at.file, &at.function)
            && place.line > at.line
    });
    let sets = |place: &Place| {
        let line = line_hash(&place.file, place.line);
        let mut passing = view.corpus.passing();
        passing.any(|run| {
            let mut kinds = run.accesses.kinds.iter();
            kinds.any(|kind| {
                kind.location == location && kind.line == line && kind.access != AccessClass::Read
            })
        })
    };
    let mut places: Vec<&Place> = below.map(|site| &site.place).collect();
    places.sort_by_key(|place| (place.line, place.column));
    places.into_iter().find(|place| sets(place)).cloned()
}

#[cfg(test)]
mod tests {
    use crate::{Budget, explain, fixture::corpus};

    const BEGIN: &str = "start main.1 complete\nstart main.2 expire\nmain fork main.1 @5 main\nmain fork main.2 @6 main\n";
    const COMPLETE: &str =
        "main.1 R done =0 @24 complete \"if (done) return;\"\nmain.1 W done =1 @26 complete\n";
    const EXPIRED: &str = "main.2 R done =1 @30 expire \"if (done) return;\"\n";
    const LOOKS: &str = "main.2 R done =0 @30 expire \"if (done) return;\"\n";
    const EARLY: &str = "main.1 R done =0 @24 complete \"if (done) return;\"\n";
    const SETS: &str = "main.2 W done =1 @32 expire\n";
    const FAILS: &str = "main.1 fails @25";

    fn told(failing: &[&str]) -> String {
        let first = [BEGIN, COMPLETE, EXPIRED].concat();
        let late = EARLY.replace("done =0", "done =1");
        let second = [BEGIN, LOOKS, SETS, &late].concat();
        let passed: Vec<&str> = [&*first, &second].repeat(6);
        let failed = [&[BEGIN][..], failing, &[FAILS]].concat().concat();
        let found = explain(&corpus(&passed, &[&failed]), &Budget::unlimited());
        let told = found.findings.into_iter();
        let all = told.map(|told| format!("{}: {}", told.headline, told.detail));
        all.collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn a_flag_that_two_threads_look_at_before_either_has_set_it() {
        let both = "complete (main.1) and expire (main.2) both looked at `done` before either had set it: complete (main.1) \
            read done = 0 at test.c:24, and expire (main.2) read done = 0 at line 30;\nmain.2 set it to 1 only at line 32, \
            as main.1 does at line 26.";
        assert_eq!(told(&[LOOKS, EARLY, SETS]), both);
        assert_eq!(told(&[EARLY, LOOKS, SETS]), both);
    }
}
