//! The accesses that an explanation connects with one place.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
};
use std::{collections::BTreeSet, path::Path};

/// The way in which a line accesses its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectAccess {
    /// The line only reads.
    Read,
    /// The line writes, perhaps after reading.
    Write,
    /// Another access: it takes a lock, waits and so on.
    Other,
}

/// The lines of this file that access the same object as the line (from 0).
pub fn highlights(state: &ServerState, path: &Path, line: usize) -> Vec<(LineSpot, ObjectAccess)> {
    let mut spots = accesses(state, path, line);
    spots.retain(|(spot, _)| spot.path == path);
    spots
}

/// The lines of all files that access the same object as the line (from 0), in the selected explanation or else the
/// best one that mentions the line. The line itself is among them; there are none when it accesses nothing.
pub fn accesses(state: &ServerState, path: &Path, line: usize) -> Vec<(LineSpot, ObjectAccess)> {
    let mut told = state.selected_first().map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        connected(explained, &located, path, line)
    });
    told.find(|spots| !spots.is_empty()).unwrap_or_default()
}

fn connected(
    explained: &ExplainedFact,
    located: &FollowedFiles<'_>,
    path: &Path,
    line: usize,
) -> Vec<(LineSpot, ObjectAccess)> {
    let sites = explained.explanation.sites.iter();
    let here = sites.filter_map(|site| {
        let spot = located.spot(&site.place)?;
        Some((spot, site.location.as_str(), access(&site.access)))
    });
    let here: Vec<(LineSpot, &str, ObjectAccess)> = here.collect();
    let about: BTreeSet<&str> = here
        .iter()
        .filter(|(spot, location, _)| {
            spot.line == line && spot.path == path && !location.is_empty()
        })
        .map(|(_, location, _)| *location)
        .collect();
    let mut lines: Vec<(LineSpot, ObjectAccess)> = Vec::new();
    for (spot, _, access) in here
        .into_iter()
        .filter(|(_, location, _)| about.contains(location))
    {
        let is_here = |other: &LineSpot| other.line == spot.line && other.path == spot.path;
        match lines.iter_mut().find(|(other, _)| is_here(other)) {
            Some((_, told)) if access == ObjectAccess::Write => *told = access,
            Some(_) => {}
            None => lines.push((spot, access)),
        }
    }
    lines
}

/// The access by the name of an event's kind.
fn access(kind: &str) -> ObjectAccess {
    match kind {
        "read" | "atomic-read" => ObjectAccess::Read,
        "write" | "atomic-write" | "rmw" | "free" => ObjectAccess::Write,
        _ => ObjectAccess::Other,
    }
}
