//! Fixes that let all threads wait at a barrier between two steps of a round.

use super::{
    FixInput,
    atomic::Changes,
    in_file,
    model::{Fix, FixKind},
    seen::{At, frames},
    text::{EditRefusal, barrier::wait_behind},
};
use crate::explanation::{BugKind, Role, SiteMark};
use unsnarl_trace::{EventId, EventKind};

/// Waits between the step that should have come first and the one that came too early, at a barrier that both threads wait at
/// in the same function; `None` when there is none.
pub(super) fn wait_between(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    if case.explanation.kind != BugKind::OrderViolation {
        return None;
    }
    let [early, late] = [Role::Cause, Role::Interference].map(|role| reached(case, role));
    let (early, late) = (early?, late?);
    let barriers = barriers(case);
    let is_of = |at: &At, other: &At| (&at.file, &at.function) == (&other.file, &other.function);
    let mut common = early.iter().filter_map(|early| {
        let late = late.iter().find(|late| is_of(late, early))?;
        let waits = barriers.iter().find(|waits| is_of(waits, early))?;
        Some((early, late, waits))
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

/// The step of a mark, with its calls.
fn reached(case: &FixInput<'_>, role: Role) -> Option<Vec<At>> {
    let mut marks = case.explanation.sites.iter();
    let mark: &SiteMark = marks.find(|mark| mark.role == role)?;
    let step = case
        .explanation
        .steps
        .get(mark.step?.checked_sub(1)? as usize)?;
    Some(frames(case.run, EventId(step.event)))
}

/// The places where threads wait at barriers, in the run or functions on the way there.
fn barriers(case: &FixInput<'_>) -> Vec<At> {
    let runs = case.runs.iter().map(|(_, run)| &**run);
    let mut found: Vec<At> = Vec::new();
    for run in runs.chain([case.run]) {
        let rows = run.events.iter();
        let mut arrives = rows.filter(|(_, event)| event.kind == EventKind::BarrierArrive);
        if let Some((row, _)) = arrives.next() {
            found.extend(frames(run, row));
            break;
        }
    }
    found
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
