//! Fixes that let all threads wait at a barrier between two steps of a round.

use super::{
    FixInput,
    atomic::Changes,
    in_file,
    model::{Fix, FixKind},
    order::{marks, reached},
    seen::{At, frames},
    text::{EditRefusal, barrier::wait_behind},
};
use crate::{
    explanation::{BugKind, SiteMark},
    facts,
};
use std::collections::BTreeSet;
use unsnarl_trace::EventKind;

/// Waits between the step that should have come first and the one that came too early, at a barrier that both threads come to
/// in the same function; `None` when there is none.
pub(super) fn wait_between(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let is_order = case.explanation.kind == BugKind::OrderViolation;
    let (early, late) = marks(case).filter(|_| is_order)?;
    let barriers = [early, late].map(|mark| barriers(case, mark));
    let (early, late) = (reached(case, early)?, reached(case, late)?);
    let is_of = |at: &At, other: &At| (&at.file, &at.function) == (&other.file, &other.function);
    let [of_early, of_late] = &barriers;
    let mut common = early.iter().filter_map(|early| {
        let late = late.iter().find(|late| is_of(late, early))?;
        let mut waits = of_early.intersection(of_late);
        Some((early, late, waits.find(|waits| is_of(waits, early))?))
    });
    let (early, late, waits) = common.next()?;
    Some(waiting(case, early, late, waits))
}

fn waiting(case: &FixInput<'_>, early: &At, late: &At, waits: &At) -> Result<Fix, EditRefusal> {
    let file = &early.file;
    let source = case.files.get(file)?;
    let changes = wait_behind(source, waits.line, late.line, early.line)
        .map_err(|why| in_file(case.explanation, file, &why))?;
    let edits = Changes::from([(file.clone(), changes)]);
    let title = format!(
        "wait between lines {} and {} at the barrier of line {}, too",
        late.line, early.line, waits.line
    );
    let cost = format!(
        "all threads wait for each other once more behind line {}",
        late.line
    );
    Ok(Fix::edit(
        FixKind::Barrier,
        title,
        case.files.edits(&edits)?,
        cost,
    ))
}

/// The places where the thread of a mark arrives at barriers, in any run, with the calls that lead there.
fn barriers(case: &FixInput<'_>, mark: &SiteMark) -> BTreeSet<At> {
    let Some(step) = case.explanation.step_of(mark) else {
        return BTreeSet::new();
    };
    let runs = case.runs.iter().map(|(_, run)| &**run);
    let found = runs.flat_map(|run| {
        let arrives = run.events.iter().filter(|(_, event)| {
            event.kind == EventKind::BarrierArrive
                && facts::thread_name(run, event.thread) == step.thread
        });
        arrives.flat_map(|(row, _)| frames(run, row))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use crate::fixes::{apply, tests::offered_of};

    #[test]
    fn a_round_without_its_barrier() {
        let text = "void *relax(void *arg)\n{\n    for (int step = 0; step < 2; step++) {\n        next[me] = grid[me] + grid[1 - me];\n        grid[me] = next[me];\n        pthread_barrier_wait(&phase);\n    }\n    return 0;\n}\n";
        let begin = "start main.1 relax\nstart main.2 relax\nmain W grid[0] =1 @20 main\nmain fork main.1 @21 main\nmain fork main.2 @22 main\n";
        let reads = |value: u32| format!("main.2 R grid[0] ={value} @4 relax\n");
        let sets = |value: u32| format!("main.1 W grid[0] ={value} @5 relax\n");
        let own = |value: u32| format!("main.2 W grid[1] ={value} @5 relax\n");
        let waits = "main.1 barrier-arrive phase @6 relax\nmain.2 barrier-arrive phase @6 relax\nmain.1 barrier-leave phase @6 relax\nmain.2 barrier-leave phase @6 relax\n";
        let ends =
            "main join main.1 @23 main\nmain join main.2 @24 main\nmain R grid[1] =8 @25 main\n";
        let first = [begin, &reads(1), &sets(2), &own(2), waits].concat();
        let second = [&*reads(2), &sets(8), &own(5), waits, ends].concat();
        let turned = [begin, &sets(2), &reads(2), &own(3), waits].concat();
        let passed = [&*first, &second].concat();
        let failed = [&*turned, &second, "main fails @25\n"].concat();
        let names: Vec<String> = (0..12).map(|at| format!("p{at}")).collect();
        let passing = names.iter().map(|name| (name.as_str(), passed.as_str()));
        let all: Vec<(&str, &str)> = [("failed-1", failed.as_str())]
            .into_iter()
            .chain(passing)
            .collect();
        let offered = offered_of(&all, text);
        let fix = offered.fixes.first();
        let fix = fix.unwrap_or_else(|| panic!("{offered:?}"));
        assert_eq!(
            fix.title,
            "wait between lines 4 and 5 at the barrier of line 6, too"
        );
        let set = "        grid[me] = next[me];\n";
        let expected = text.replace(
            set,
            &format!("        pthread_barrier_wait(&phase);\n{set}"),
        );
        assert_eq!(apply(text, "test.c", &fix.edits), Some(expected));
    }
}
