//! Fixes for a flag that two threads look at before either has set it: who goes on sets it at once.

use super::{
    FixInput,
    atomic::Changes,
    in_file,
    model::{Fix, FixKind},
    order::marks,
    text::{EditRefusal, claim::set_where_asked},
};
use crate::{
    explanation::{BugKind, Step},
    orders::Locks,
};
use std::collections::BTreeSet;
use unsnarl_trace::{EventId, EventKind, Run};

/// Sets the flag where both threads ask for it; `None` where the explanation tells of no two looks at one.
pub(super) fn set_where_asked_for(case: &FixInput<'_>) -> Option<Result<Fix, EditRefusal>> {
    let (look, other, set) = looks(case)?;
    let is_atomic = set.access_kind() == Some(EventKind::AtomicWrite);
    if !is_atomic && !is_guarded(case.run, look, other) {
        return None;
    }
    if let Some(why) = looked_at_elsewhere(case, &[look, other]) {
        return Some(Err(why));
    }
    Some(claimed(case, [look, other], set, is_atomic))
}

fn claimed(
    case: &FixInput<'_>,
    looks: [&Step; 2],
    set: &Step,
    is_atomic: bool,
) -> Result<Fix, EditRefusal> {
    let file = &set.place.file;
    let source = case.files.get(file)?;
    let own = looks.iter().filter(|look| look.place.file == *file);
    let lines: BTreeSet<u32> = own.map(|look| look.place.line).collect();
    let mut changes = Vec::new();
    for line in &lines {
        let own = set_where_asked(source, *line, set.place.line, is_atomic)
            .map_err(|why| in_file(case.explanation, file, &why))?;
        changes.extend(own);
    }
    let at: Vec<String> = lines.iter().map(u32::to_string).collect();
    let (s, at) = (if at.len() == 1 { "" } else { "s" }, at.join(" and "));
    let title = match is_atomic {
        true => format!("exchange the flag on line{s} {at}, where it is asked for"),
        false => format!("set the flag behind line{s} {at}, where it is asked for"),
    };
    let edits = case
        .files
        .edits(&Changes::from([(file.clone(), changes)]))?;
    Ok(Fix::edit(
        FixKind::AtomicUpdate,
        title,
        edits,
        "none".to_owned(),
    ))
}

/// The look that is blamed, that of the other thread, and the step by which this one sets the flag.
fn looks<'c>(case: &FixInput<'c>) -> Option<(&'c Step, &'c Step, &'c Step)> {
    let explanation = case.explanation;
    let is_order = explanation.kind == BugKind::OrderViolation;
    let (early, late) = marks(case).filter(|_| is_order)?;
    let (look, set) = (explanation.step_of(early)?, explanation.step_of(late)?);
    let only_reads = |step: &Step| {
        let kind = step.access_kind();
        matches!(kind, Some(EventKind::Read | EventKind::AtomicRead))
    };
    let other = explanation.steps.iter().find(|step| {
        let at = (&step.place.file, &step.place.function);
        only_reads(step)
            && step.thread == set.thread
            && step.location == set.location
            && step.event < set.event
            && at == (&set.place.file, &set.place.function)
    })?;
    let is_one = look.location == set.location && look.thread != set.thread;
    (is_one && only_reads(look)).then_some((look, other, set))
}

/// Returns whether one lock is held for both looks.
fn is_guarded(run: &Run, look: &Step, other: &Step) -> bool {
    let locks = Locks::new(run, &mut Vec::new());
    let [own, others] = [look, other].map(|step| {
        let row = EventId(step.event);
        let held = locks.held_at(run.events.thread(row), row);
        held.map(|section| section.lock).collect::<BTreeSet<_>>()
    });
    !own.is_disjoint(&others)
}

/// Reason to leave the flag where it is set: another function reads it, which may take it for the end of the work.
fn looked_at_elsewhere(case: &FixInput<'_>, looks: &[&Step]) -> Option<EditRefusal> {
    let functions: BTreeSet<_> = looks
        .iter()
        .map(|look| (&look.place.file, &look.place.function))
        .collect();
    let flag = &looks.first()?.location;
    let elsewhere = case.runs.iter().find_map(|(_, run)| {
        let mut reads = run
            .events
            .iter()
            .filter(|(_, event)| event.kind.reads() && run.location(event.location) == flag);
        reads.find_map(|(_, event)| {
            let site = run.meta.site(event.site);
            let is_own = functions.contains(&(&site.file, &site.function));
            (!is_own).then_some(site.line)
        })
    });
    elsewhere.map(|line| {
        format!("line {line} reads the flag, too, and may take it for the end of the work")
    })
}

#[cfg(test)]
mod tests {
    use crate::fixes::{apply, tests::offered_of};

    const TEXT: &str = "void stop(void)\n{\n    lock(&m);\n    if (!running) {\n        unlock(&m);\n        return;\n    }\n    unlock(&m);\n    finish();\n    running = 0;\n}\n";

    /// Two threads that stop what runs, the second after the first, or both at once.
    fn offered(reads_elsewhere: &str) -> crate::fixes::Offered {
        let begin = "start main.1 stop\nstart main.2 stop\nmain W running =1 @20 main\nmain fork main.1 @21 main\nmain fork main.2 @22 main\n";
        let look = |by: &str, seen: u32| {
            format!(
                "{by} lock m @3 stop\n{by} R running ={seen} @4 stop \"if (!running) {{\"\n{by} unlock m @5 stop\n"
            )
        };
        let set = |by: &str| format!("{by} W running =0 @10 stop\n");
        let one = |first: &str, other: &str| {
            [
                begin,
                &look(first, 1),
                &set(first),
                &look(other, 0),
                reads_elsewhere,
            ]
            .concat()
        };
        let passed = [one("main.1", "main.2"), one("main.2", "main.1")];
        let failed = [
            begin,
            &look("main.2", 1),
            &look("main.1", 1),
            &set("main.2"),
            "main.1 fails @9 stop\n",
        ]
        .concat();
        let names: Vec<String> = (0..12).map(|at| format!("p{at}")).collect();
        let passing = names.iter().zip(passed.iter().cycle());
        let passing = passing.map(|(name, text)| (name.as_str(), text.as_str()));
        let all: Vec<(&str, &str)> = [("failed-1", failed.as_str())]
            .into_iter()
            .chain(passing)
            .collect();
        offered_of(&all, TEXT)
    }

    #[test]
    fn who_goes_on_sets_the_flag_at_once() {
        let offered = offered("");
        let fix = offered
            .fixes
            .first()
            .unwrap_or_else(|| panic!("{offered:?}"));
        assert_eq!(
            fix.title,
            "set the flag behind line 4, where it is asked for"
        );
        let set = "    }\n    running = 0;\n    unlock(&m);\n    finish();\n}\n";
        let expected = TEXT.replace(
            "    }\n    unlock(&m);\n    finish();\n    running = 0;\n}\n",
            set,
        );
        assert_eq!(apply(TEXT, "test.c", &fix.edits), Some(expected));
    }

    #[test]
    fn a_flag_that_others_read_stays_where_it_is() {
        let reads = "main R running =0 @25 main\n";
        let offered = offered(reads);
        let is_claim = |title: &str| title.contains("where it is asked for");
        assert!(!offered.fixes.iter().any(|fix| is_claim(&fix.title)));
        assert!(
            offered
                .refused
                .iter()
                .any(|why| why.contains("line 25 reads the flag")),
            "{offered:?}"
        );
    }
}
