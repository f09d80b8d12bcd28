//! Steps and marks in the words of the source.

use crate::facts::ExplainedFact;
use unsnarl_core::{
    Place, SiteMark, Step,
    facts::{expression, own_part, variable, verb},
};
use unsnarl_trace::{Event, EventId, EventKind, Location, Run};

/// A step as one sentence: `main.2 reads balance = 300, in between`.
pub fn step(explained: &ExplainedFact, step: &Step) -> String {
    let name = name(explained, step);
    // An update's two values need no variable before them.
    let one_value = step.access_kind().filter(|kind| *kind != EventKind::Rmw);
    let did = match (one_value.map(verb), &step.value) {
        _ if name.is_empty() || is_said(step, &name) => step.effect.clone(),
        (Some(verb), Some(value)) if value.is_known() => format!("{verb} {name} = {value}"),
        (Some(verb), Some(value)) => format!("{verb} {name} ({value})"),
        _ => format!("{} ({name})", step.effect),
    };
    let note = if step.note.is_empty() {
        String::new()
    } else {
        format!(", {}", step.note)
    };
    format!("{} {did}{note}", step.thread)
}

/// Returns whether an effect names the variable already: `frees the block` says no less than *a heap block*.
fn is_said(step: &Step, name: &str) -> bool {
    let frees = step.access_kind() == Some(EventKind::Free);
    step.effect.contains(name) || name == A_BLOCK && frees
}

/// The description of a site: the steps at its line, or what it is when it is no step.
pub fn site(explained: &ExplainedFact, site: &SiteMark) -> String {
    let steps = &explained.explanation.steps;
    let here = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| same_line(&step.place, &site.place));
    let told: Vec<String> = here
        .map(|(i, one)| {
            format!(
                "step {} of {}: {}",
                i + 1,
                steps.len(),
                step(explained, one)
            )
        })
        .collect();
    match told.as_slice() {
        [] if site.thread.is_empty() => {
            let name = by_text(&site.place, &site.location, &site.access);
            format!("not reached before the failure: {} of {name}", site.access)
        }
        [] => {
            let name = by_text(&site.place, &site.location, &site.access);
            format!("{}: {} of {name}", site.thread, site.access)
        }
        _ => told.join("; "),
    }
}

/// Returns whether both are at one line of one file.
pub fn same_line(a: &Place, b: &Place) -> bool {
    a.line == b.line && a.file == b.file
}

/// The accessed variable of a step, as the source has it: the run knows more than the name of the location. The step
/// may have been taken from another run of the corpus, so the row has to agree with the step.
pub fn name(explained: &ExplainedFact, step: &Step) -> String {
    let said = explained
        .evidence
        .as_deref()
        .and_then(|run| Some(variable(run, &event(run, step)?)));
    said.unwrap_or_else(|| by_text(&step.place, &step.location, &step.access))
}

/// The accessed variable of a place by the text of its line alone: `ring->sum` of a location `.sum` in a heap block.
fn by_text(place: &Place, location: &str, access: &str) -> String {
    let said = match Location::of(location) {
        Location::Heap { path, .. } if !path.is_empty() => {
            let writes = EventKind::from_name(access).is_some_and(EventKind::writes);
            expression(&place.text, own_part(path), writes)
        }
        _ => None,
    };
    said.unwrap_or_else(|| plain(location).to_owned())
}

/// The event of a step in this run, if the step was taken from it.
pub fn event(run: &Run, step: &Step) -> Option<Event> {
    let event = run.events.get(EventId(step.event))?;
    let site = run.meta.site(event.site);
    let is_it = run.location(event.location) == step.location
        && site.line == step.place.line
        && site.file == step.place.file;
    is_it.then_some(event)
}

/// A heap block of which nothing else is known.
const A_BLOCK: &str = "a heap block";

/// A location without the parts that distinguish it from others of its name: thread and function, or the heap block; and
/// without the members that a library keeps inside its types.
fn plain(location: &str) -> &str {
    let name = match Location::of(location) {
        Location::Heap { path, .. } => match path.trim_start_matches(['.', '+']) {
            "" => A_BLOCK,
            field => field,
        },
        Location::Stack { variable, .. } => variable,
        Location::Static(name) => name,
    };
    own_part(name)
}

#[cfg(test)]
mod tests {
    use super::{by_text, plain};
    use unsnarl_core::Place;

    #[test]
    fn the_text_of_a_line_names_a_part_of_a_block() {
        let place = Place {
            text: "tile.locked = false;".to_owned(),
            ..Place::default()
        };
        let block = "heap(board.cpp:7 by main #0)[3].locked";
        assert_eq!(by_text(&place, block, "write"), "tile.locked");
        assert_eq!(by_text(&Place::default(), block, "write"), "[3].locked");
    }

    #[test]
    fn locations_as_people_say_them() {
        assert_eq!(plain("account.balance"), "account.balance");
        assert_eq!(plain("main:main.ring.tail"), "ring.tail");
        assert_eq!(plain("main.1:worker.buf[3]"), "buf[3]");
        assert_eq!(plain("heap(a.c:25 by main.1 #0).workers"), "workers");
        assert_eq!(plain("heap(a.c:25 by main.1 #0)"), "a heap block");
        assert_eq!(plain("main::machine.next"), "main::machine.next");
        let root = "main:main.limiter.spent_._M_t._M_header._M_parent";
        assert_eq!(plain(root), "limiter.spent_");
        let begin = "heap(main.cc:81 by main #0).letters_._M_impl._M_start";
        assert_eq!(plain(begin), "letters_");
    }
}
