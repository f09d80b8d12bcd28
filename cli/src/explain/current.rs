//! Explanations with the lines of sources as they are now, for editors that jump to them.

use std::collections::{BTreeMap, BTreeSet};
use unsnarl_core::{Explanation, Place};
use unsnarl_lab::{load::Loaded, sources::is_other};
use unsnarl_server::current_lines;
use unsnarl_trace::{Run, files::read_text};

/// Mark of a line that is not certain to be anywhere in the current text.
const AS_RECORDED: &str = " (a line of the recorded text: the file has changed)";

/// The explanation with the current numbers of lines that have moved since it was recorded. What is said of a line that
/// cannot be followed is marked.
pub fn current(explanation: &Explanation, loaded: &Loaded) -> Explanation {
    let mut now = explanation.clone();
    let mut runs = loaded.runs.iter();
    let Some((_, run)) = runs.find(|(name, _)| *name == explanation.run) else {
        return now;
    };
    for (file, text) in changed(explanation, run) {
        let known = known(explanation, run, &file);
        let line = current_lines(&known, &text);
        let follow = |place: &mut Place| match line(place.line) {
            _ if place.file != file || place.line == 0 => true,
            Some(line) => {
                place.line = line;
                true
            }
            None => false,
        };
        move_places(&mut now, follow);
    }
    now
}

/// Moves the places that are printed; marks what is said of those that could not be moved.
fn move_places(now: &mut Explanation, follow: impl Fn(&mut Place) -> bool) {
    let causes = now.sites.iter_mut().map(|mark| &mut mark.place);
    let mut is_certain = true;
    for place in causes.chain(&mut now.failure.site) {
        is_certain &= follow(place);
    }
    if !is_certain && !now.headline.ends_with(AS_RECORDED) {
        now.headline.push_str(AS_RECORDED);
    }
    for step in &mut now.steps {
        if !follow(&mut step.place) {
            step.effect.push_str(AS_RECORDED);
        }
    }
}

/// The files that are printed and whose text is another one than the run's, with that text.
fn changed(explanation: &Explanation, run: &Run) -> Vec<(String, String)> {
    let named: BTreeSet<&str> = places(explanation)
        .map(|place| place.file.as_str())
        .collect();
    let sources = run.meta.sources.iter();
    let others =
        sources.filter(|row| named.contains(row.file.as_str()) && is_other(&row.file, &row.sha256));
    others
        .filter_map(|row| Some((row.file.clone(), read_text(row.file.as_ref()).ok()?)))
        .collect()
}

/// The lines of a file whose text the run has, ascending.
fn known(explanation: &Explanation, run: &Run, file: &str) -> Vec<(u32, String)> {
    let sites = run.meta.sites.iter();
    let sites = sites.map(|site| (&site.file, site.line, &site.text));
    let places = places(explanation).map(|place| (&place.file, place.line, &place.text));
    let lines: BTreeMap<u32, String> = sites
        .chain(places)
        .filter(|(of, line, text)| *of == file && *line > 0 && !text.is_empty())
        .map(|(_, line, text)| (line, text.clone()))
        .collect();
    lines.into_iter().collect()
}

fn places(explanation: &Explanation) -> impl Iterator<Item = &Place> {
    let steps = explanation.steps.iter().map(|step| &step.place);
    let sites = explanation.sites.iter().map(|mark| &mark.place);
    sites.chain(steps).chain(&explanation.failure.site)
}
