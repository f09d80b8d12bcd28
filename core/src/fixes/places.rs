//! Which lines an explanation wants to be one step.

use super::seen::{Access, At, frames};
use crate::{
    callers::parting,
    explanation::{Explanation, Role, SiteMark, Step},
    facts::{self, family},
};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::{EventId, Run};

/// Lines of a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub file: String,
    pub function: String,
    pub first: u32,
    pub last: u32,
}

impl Place {
    fn holds(&self, at: &At) -> bool {
        at.file == self.file
            && at.function == self.function
            && (self.first..=self.last).contains(&at.line)
    }
}

/// What is to be one step.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub places: Vec<Place>,
    /// The lock that the two ends hold.
    pub lock: Option<String>,
    /// The variable, as people say it.
    pub data: String,
}

impl Wanted {
    /// The first of the access's frames that is within the lines.
    pub fn covering(&self, access: &Access) -> Option<usize> {
        access
            .frames
            .iter()
            .position(|frame| self.places.iter().any(|place| place.holds(frame)))
    }
}

/// The locations that an explanation blames: those of causes and interference.
pub(super) fn families(explanation: &Explanation) -> BTreeSet<String> {
    let blamed = explanation.sites.iter().filter(|mark| matters(mark));
    blamed.map(|mark| family(&mark.location)).collect()
}

fn matters(mark: &SiteMark) -> bool {
    let accesses = [
        "read",
        "write",
        "rmw",
        "atomic-read",
        "atomic-write",
        "free",
    ];
    matches!(mark.role, Role::Cause | Role::Interference)
        && accesses.contains(&mark.access.as_str())
}

/// The lines that are to be one step, if the explanation is of that kind.
pub(super) fn wanted(explanation: &Explanation, run: &Run) -> Option<Wanted> {
    let causes: Vec<&SiteMark> = explanation
        .sites
        .iter()
        .filter(|mark| mark.role == Role::Cause && matters(mark))
        .collect();
    let lock = explanation
        .region
        .as_ref()
        .and_then(|region| region.lock.clone());
    let region = match &explanation.region {
        Some(region) => Place {
            file: region.file.clone(),
            function: region.function.clone(),
            first: region.first,
            last: region.last,
        },
        None => together(&causes)?,
    };
    let mut places = vec![region];
    places.extend(interfering(explanation, run, &places));
    let data = causes
        .first()
        .map_or("", |mark| facts::stack_variable(&mark.location))
        .to_owned();
    Some(Wanted {
        places: by_function(places),
        lock: lock.filter(|lock| !lock.contains("->")),
        data,
    })
}

/// Two causes in one function.
fn together(causes: &[&SiteMark]) -> Option<Place> {
    let [one, other, ..] = causes else {
        return None;
    };
    let same = one.place.file == other.place.file && one.place.function == other.place.function;
    (same && one.place.line != other.place.line).then(|| Place {
        file: one.place.file.clone(),
        function: one.place.function.clone(),
        first: one.place.line.min(other.place.line),
        last: one.place.line.max(other.place.line),
    })
}

/// What the other thread does with the data, from its first step to its last one.
fn interfering(explanation: &Explanation, run: &Run, known: &[Place]) -> Option<Place> {
    let families = families(explanation);
    let cause = |step: &Step| {
        explanation.sites.iter().any(|mark| {
            mark.role == Role::Cause
                && mark.place.line == step.place.line
                && mark.thread.contains(&step.thread)
        })
    };
    let other = explanation
        .sites
        .iter()
        .find(|mark| mark.role == Role::Interference && !mark.thread.is_empty())?;
    let steps: Vec<&Step> = explanation
        .steps
        .iter()
        .filter(|step| {
            other.thread == step.thread || other.thread.contains(&format!("({})", step.thread))
        })
        .filter(|step| {
            families.contains(&family(&step.location)) && !cause(step) && step.effect != "fails"
        })
        .collect();
    let (first, last) = (steps.first()?, steps.last()?);
    let within = |row: u32| {
        frames(run, EventId(row))
            .iter()
            .any(|at| known.iter().any(|place| place.holds(at)))
    };
    if within(first.event) && within(last.event) {
        return None;
    }
    let (a, b) = parting(run, EventId(first.event), EventId(last.event))?;
    let (a, b) = (run.meta.site(a), run.meta.site(b));
    (a.function == b.function && a.file == b.file && a.line != 0).then(|| Place {
        file: a.file.clone(),
        function: a.function.clone(),
        first: a.line.min(b.line),
        last: a.line.max(b.line),
    })
}

/// One place per function: from its first line to its last.
pub(super) fn by_function(places: Vec<Place>) -> Vec<Place> {
    let mut merged: BTreeMap<(String, String), Place> = BTreeMap::new();
    let mut order = Vec::new();
    for place in places {
        let key = (place.file.clone(), place.function.clone());
        match merged.get_mut(&key) {
            Some(known) => {
                known.first = known.first.min(place.first);
                known.last = known.last.max(place.last);
            }
            None => {
                order.push(key.clone());
                merged.insert(key, place);
            }
        }
    }
    order
        .into_iter()
        .filter_map(|key| merged.remove(&key))
        .collect()
}
