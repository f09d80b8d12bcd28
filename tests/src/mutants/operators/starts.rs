//! Starts of threads: something is set up behind them.

use super::{
    MutantDraft,
    publication::{draft, passed_over, starts_thread},
};
use crate::mutants::{
    edits::Edits,
    model::{BaseProgram, contains},
    syntax::{children, descendants},
};
use tree_sitter::Node;

/// Sets something up after the publication instead of before it.
pub fn delay_init(program: &BaseProgram) -> Vec<MutantDraft> {
    let mut drafts = Vec::new();
    for start in outermost_starts(program) {
        for init in passed_over(program, start) {
            let mut edits = Edits::default();
            edits.move_behind(program.source, init, start);
            drafts.push(draft(program, edits, init, &[start, init]));
        }
    }
    drafts
}

/// Statements of functions that start threads, with the loops around them.
fn outermost_starts<'s>(program: &BaseProgram<'s>) -> Vec<Node<'s>> {
    let mut starts: Vec<Node> = Vec::new();
    for function in &program.functions {
        for statement in children(function.body) {
            let inner = descendants(statement).into_iter();
            let in_loop = matches!(statement.kind(), "for_statement" | "if_statement");
            let mut inner = inner.filter(|one| contains(statement, *one));
            if starts_thread(program, statement)
                || in_loop && inner.any(|one| starts_thread(program, one))
            {
                starts.push(statement);
            }
        }
    }
    starts
}
