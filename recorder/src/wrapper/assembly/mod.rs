//! Path mode: the compiler's assembler text, with notes of the path that a thread takes.
//!
//! The compiler makes the code that it would make anyway. Before it is assembled, each conditional jump
//! gets a note of whether it is taken: one byte, by four instructions without a jump of their own. What
//! else a reader needs to follow the program is noted where it happens: functions that are entered from
//! elsewhere, returns from elsewhere, jumps through tables, handlers of exceptions.

mod exceptions;
mod liveness;
mod notes;
mod plan;
mod registers;
mod text;

use notes::AssemblyNotes;
use plan::AssemblyPlan;
use unsnarl_trace::raw::path::SECTION;

/// The text with notes; `None` when it is not a compiler's, or cannot be read: then it stays as it is.
/// `is_shared`: it is for a shared library.
pub fn annotate(text: &str, is_shared: bool) -> Option<String> {
    let mut plan = AssemblyPlan::of(text)?;
    let notes = loop {
        match AssemblyNotes::of(&plan, is_shared) {
            Ok(notes) => break notes,
            Err(part) => plan.leave_part(part)?,
        }
    };
    let mut out = String::with_capacity(text.len() * 2);
    for (number, line) in plan.text.lines.iter().enumerate() {
        out.push_str(notes.before.get(&number).map_or("", String::as_str));
        out.push_str(line);
        out.push('\n');
        out.push_str(notes.behind.get(&number).map_or("", String::as_str));
    }
    if !notes.table.is_empty() {
        out.push_str(&format!(
            "\t.section {SECTION},\"\",@progbits\n{}",
            notes.table
        ));
    }
    Some(out)
}
