//! One more wait at a barrier that a function waits at already.

use super::{
    EditRefusal,
    change::{Change, line_after},
    move_statement::at,
    source::{ParsedSource, lines, range},
};

/// Repeats the wait at a barrier on line `waits` behind the statement of line `late`, so that no thread comes to line `early`
/// before all have done that.
///
/// # Errors
/// An error when the three are not in one function, or not each thread that comes to the barrier comes there.
pub fn wait_behind(
    source: &ParsedSource,
    waits: u32,
    late: u32,
    early: u32,
) -> Result<Vec<Change>, EditRefusal> {
    let (function, barrier) = at(source, waits)?;
    if source.body_around(late)? != function || source.body_around(early)? != function {
        return Err(format!("lines {late} and {early} are not in one function"));
    }
    let [waiting] = barrier.statements() else {
        return Err(format!("line {waits} has several statements"));
    };
    let both = range(function, late.min(early), late.max(early))?;
    let mut steps = both.statements().iter();
    let behind = steps.find(|node| lines(**node).contains(&late));
    let behind = behind.filter(|node| !lines(**node).contains(&early));
    let behind = behind.ok_or_else(|| {
        format!("lines {late} and {early} are in one statement, which has no room for a barrier")
    })?;
    let comes_there = both.block.byte_range().contains(&waiting.start_byte());
    let is_call = waiting.kind() == "expression_statement";
    match comes_there && is_call {
        true => {
            let (start, end) = (behind.start_byte(), behind.end_byte());
            Ok(vec![line_after(source, start, end, source.str(*waiting))])
        }
        false => Err(format!(
            "not each thread that waits at the barrier on line {waits} comes to line {late}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixes::text::change::apply;

    const PHASES: &str = "void *relax(void *arg)\n{\n    for (int step = 0; step < 2; step++) {\n        for (int i = 0; i < 9; i++)\n            next[i] = grid[i] + 1;\n        for (int i = 0; i < 9; i++)\n            grid[i] = next[i];\n        pthread_barrier_wait(&phase);\n    }\n    return 0;\n}\n";

    fn waits(late: u32, early: u32) -> Result<String, EditRefusal> {
        let source = ParsedSource::parse("a.c", PHASES).ok_or("no source")?;
        let changes = wait_behind(&source, 8, late, early)?;
        apply(PHASES, &changes).ok_or_else(|| "no text".to_owned())
    }

    #[test]
    fn a_barrier_between_two_loops() {
        let behind = |loops: &str| {
            let wait = "        pthread_barrier_wait(&phase);\n";
            PHASES.replace(loops, &format!("{loops}{wait}"))
        };
        assert_eq!(
            waits(5, 7),
            Ok(behind("            next[i] = grid[i] + 1;\n"))
        );
        assert_eq!(waits(7, 5), Ok(behind("            grid[i] = next[i];\n")));
        assert!(waits(7, 7).is_err());
        let behind_the_loop = waits(5, 10).is_err_and(|why| why.contains("not each thread"));
        assert!(!behind_the_loop, "all threads leave the loop");
        let alone = "void *run(void *arg)\n{\n    if (me == 0) {\n        x = 1;\n        y = x;\n    }\n    pthread_barrier_wait(&b);\n}\n";
        let source = ParsedSource::parse("a.c", alone).unwrap();
        let some = wait_behind(&source, 7, 4, 5);
        assert!(some.is_err_and(|why| why.contains("not each thread")));
    }
}
