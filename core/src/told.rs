//! Explanations that were told, kept by their ids: comparing runs alone does not come to what experiments have found, nor
//! to the order in which trials have put the fixes. They are notes about a folder of runs among the user's own files: a fix
//! is built and executed, and nobody else may put one there.

use crate::Explanation;
use std::collections::BTreeSet;

/// The kind of these notes.
pub const TOLD: &str = "told";

/// Explanations that are kept of one folder: those that were told last.
const EXPLANATIONS: usize = 100;

/// The note with what is told now, which takes the place of what was told of the same explanations.
///
/// # Errors
/// An explanation cannot be written as JSON.
pub fn added(note: &str, now: Vec<Explanation>) -> serde_json::Result<String> {
    let mut ids = BTreeSet::new();
    let mut explanations: Vec<Explanation> = now.into_iter().chain(read(note)).collect();
    explanations.retain(|one| ids.insert(one.id.clone()));
    explanations.truncate(EXPLANATIONS);
    serde_json::to_string(&explanations)
}

/// The explanations of a note, those that were told last first, of the runs with these names.
#[must_use]
pub fn all(note: &str, names: &[&str]) -> Vec<Explanation> {
    let told = read(note).into_iter();
    told.filter_map(|one| with_names(one, names)).collect()
}

/// The content of a note: nothing where it is missing, or was written by another version.
fn read(note: &str) -> Vec<Explanation> {
    serde_json::from_str(note).unwrap_or_default()
}

/// The explanation with the names that its runs have now; none if its run is not there any more.
fn with_names(mut told: Explanation, names: &[&str]) -> Option<Explanation> {
    told.run = known(names, &told.run)?;
    let runs = told.runs.iter().filter_map(|name| known(names, name));
    told.runs = runs.collect();
    Some(told)
}

/// The name that a run has now: a run of the same file has another one when another place was named.
fn known(names: &[&str], name: &str) -> Option<String> {
    let mut names = names.iter();
    let found = names.find(|known| stem(known) == stem(name));
    found.map(|known| (*known).to_owned())
}

/// A run's name without the folder and the ending that it has where its file is named.
fn stem(name: &str) -> &str {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    name.strip_suffix(".arrow").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};

    const FAILING: &str = "main fork main.1 @1\nmain.1 R n =0 @4 add\nmain W n =1 @4 add\nmain.1 W n =1 @4 add\n\
        main R n =1 @6 main\nmain fails @6 assertion";

    fn explanation(id: &str) -> Explanation {
        let found = explain(&corpus(&[], &[FAILING]), &Budget::unlimited()).findings;
        Explanation {
            id: id.to_owned(),
            ..found.into_iter().next().unwrap()
        }
    }

    #[test]
    fn what_was_told_is_found_from_any_place() {
        let told = explanation("found-by-experiment");
        let note = added("", vec![told.clone()]).unwrap();
        assert_eq!(all(&note, &["failed-0"]), [told]);
        let by_file = ".unsnarl/runs/failed-0.arrow";
        let found = all(&note, &[by_file]);
        let runs = |one: &Explanation| (one.run.clone(), one.runs.clone());
        let expected = (by_file.to_owned(), vec![by_file.to_owned()]);
        assert_eq!(found.iter().map(runs).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn what_is_told_anew_takes_the_place_of_what_was() {
        let (first, other) = (explanation("first"), explanation("other"));
        let before = added("", vec![first.clone(), other.clone()]).unwrap();
        let anew = Explanation {
            headline: "anew".to_owned(),
            ..first
        };
        let note = added(&before, vec![anew.clone()]).unwrap();
        assert_eq!(all(&note, &["failed-0"]), [anew, other]);
    }

    #[test]
    fn nothing_is_found_without_its_run_or_of_another_version() {
        let note = added("", vec![explanation("first")]).unwrap();
        assert_eq!(all(&note, &["failed-1"]), []);
        assert_eq!(all("{}", &["failed-0"]), []);
    }
}
