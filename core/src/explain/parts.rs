//! The two orders of which a story about two variables consists: one variable is seen changed, then the other one is read
//! before it is set. Where the reader's thread comes to that read whatever it saw of the first variable, that one is
//! innocent.

use super::{
    Proposers,
    announced::setter_key,
    missing, order,
    proposers::name_orders,
    turned::{Blamed, blamed, never_came},
    view::View,
};
use crate::{
    explanation::{BugKind, Certainty, Explanation, Role},
    pairs::PairKey,
};
use unsnarl_trace::EventId;

/// Both orders, each as a story of its own.
pub struct SplitStory {
    /// The change of the first variable came before the look at it.
    pub seen: Explanation,
    /// The second variable was read before it was set.
    pub early: Explanation,
}

/// The parts of a story, if it says that a thread had seen one variable changed and read another one too early. Linear in
/// the run.
pub fn parts(proposers: &Proposers<'_>, explanation: &Explanation) -> Option<SplitStory> {
    let is_such = matches!(
        explanation.kind,
        BugKind::OrderViolation | BugKind::MultiVariableAtomicityViolation
    );
    let corpus = proposers.material().corpus;
    let view = View::new(corpus, corpus.get(&explanation.run)?).filter(|_| is_such)?;
    let blamed = blamed(explanation);
    let reader = early_read(&view, explanation, &blamed)?;
    let (store, load) = seen(&view, explanation, &blamed, reader)?;
    let told = |mut part: Explanation| {
        part.certainty = Certainty::Possible;
        part.runs.clone_from(&explanation.runs);
        part.also_fails.clone_from(&explanation.also_fails);
        name_orders(&view, &mut part);
        part
    };
    Some(SplitStory {
        seen: told(order::plain(&view, store, load)),
        early: told(read_early(&view, explanation, &blamed, reader)?),
    })
}

/// The read that came before a write of the other thread, which the run may not have reached.
fn early_read(view: &View, explanation: &Explanation, blamed: &[Blamed<'_>]) -> Option<EventId> {
    let last = blamed.last()?.row;
    if never_came(explanation).is_some() {
        return Some(last).filter(|row| view.event(*row).kind.reads());
    }
    let is_read = |row: &EventId| {
        let (event, write) = (view.event(*row), view.event(last));
        event.location == write.location && event.thread != write.thread && event.kind.reads()
    };
    let mut rows = blamed.iter().rev().map(|one| one.row);
    rows.find(is_read)
        .filter(|_| view.event(last).kind.writes())
}

/// The change of the other variable, with the look at it.
fn seen(
    view: &View,
    explanation: &Explanation,
    blamed: &[Blamed<'_>],
    reader: EventId,
) -> Option<(EventId, EventId)> {
    let mut causes = blamed.iter().filter(|one| one.role == Role::Cause);
    let store = causes.next()?.row;
    let (change, read) = (view.event(store), view.event(reader));
    let is_change = change.kind.is_access() && change.kind.writes();
    let is_other = change.location != read.location && change.thread != read.thread;
    let steps = explanation.steps.iter().rev();
    let mut looks = steps.map(|step| EventId(step.event)).filter(|row| {
        let event = view.event(*row);
        event.thread == read.thread && event.location == change.location && event.kind.reads()
    });
    let load = looks.find(|load| *load > store)?;
    (is_change && is_other).then_some((store, load))
}

fn read_early(
    view: &View,
    explanation: &Explanation,
    blamed: &[Blamed<'_>],
    reader: EventId,
) -> Option<Explanation> {
    let Some(mark) = never_came(explanation) else {
        return Some(order::plain(view, reader, blamed.last()?.row));
    };
    let original = PairKey {
        head: setter_key(&mark.place),
        tail: view.key(reader),
    };
    Some(missing::not_yet(view, original, reader, &mark.place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};

    #[test]
    fn a_flag_and_its_data_are_two_orders() {
        let start = "main fork main.1 @1\nmain fork main.2 @2\n";
        let fine = format!(
            "{start}main.1 W data =7 @11 fill\nmain.1 W ready =1 @10 fill\nmain.2 R ready =1 @20 use\n\
             main.2 R data =7 @21 use"
        );
        let early = format!(
            "{start}main.1 W ready =1 @10 fill\nmain.2 R ready =1 @20 use\nmain.2 R data =0 @21 use\n\
             main.1 W data =7 @11 fill\nmain.2 fails @21 use"
        );
        let corpora = corpus(&[fine.as_str(); 6], &[early.as_str()]);
        let told = explain(&corpora, &Budget::unlimited()).findings;
        let told = told.first().unwrap();
        assert_eq!(told.headline, "`ready` was changed before `data` was set");
        let parts = parts(&Proposers::comparing(&corpora), told).unwrap();
        assert_eq!(
            [parts.seen.headline, parts.early.headline],
            [
                "`ready` was changed before use (main.2) had read it",
                "`data` was read before fill (main.1) had set it"
            ]
        );
    }
}
