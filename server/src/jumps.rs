//! Jumps from a line: along the edges of an explanation, and from step to step.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
    words,
};
use std::path::Path;
use unsnarl_core::{Edge, EdgeKind, SiteMark};

/// The kind of a jump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JumpKind {
    /// A jump to the next step of the failing run.
    NextStep,
    /// A jump to the previous step of the failing run.
    PreviousStep,
    /// A jump along an edge of the explanation.
    Edge(EdgeKind),
}

/// A place to go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jump {
    /// Id of the explanation that connects the two.
    pub explanation: String,
    /// Kind of the jump.
    pub way: JumpKind,
    /// Description for a person: `in the failing run before: main.1 writes balance = 500`.
    pub title: String,
    /// The place.
    pub spot: LineSpot,
}

/// The jumps from a line (from 0) of a current file: for each explanation that mentions it, the selected one first,
/// its steps before its edges.
pub fn jumps(state: &ServerState, path: &Path, line: usize) -> Vec<Jump> {
    let mut jumps: Vec<Jump> = Vec::new();
    for (root, explained) in state.selected_first() {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let from = From {
            explained,
            located: &located,
            path,
            line,
        };
        for jump in from.steps().into_iter().chain(from.edges()) {
            if !jumps.iter().any(|other| other.says(&jump)) {
                jumps.push(jump);
            }
        }
    }
    jumps
}

impl Jump {
    /// Returns whether this jump leads where `other` does and says as much: the steps of an explanation are its order
    /// in the failing run.
    fn says(&self, other: &Jump) -> bool {
        let is_step = matches!(self.way, JumpKind::NextStep | JumpKind::PreviousStep);
        let is_in_order = self.way == other.way || other.way == JumpKind::Edge(EdgeKind::Failing);
        let is_of_same = self.explanation == other.explanation && is_step && is_in_order;
        let place = |jump: &Jump| (jump.spot.path.clone(), jump.spot.line);
        place(self) == place(other) && (self.title == other.title || is_of_same)
    }
}

/// The current line in one explanation.
struct From<'a> {
    explained: &'a ExplainedFact,
    located: &'a FollowedFiles<'a>,
    path: &'a Path,
    line: usize,
}

impl From<'_> {
    fn is_here(&self, spot: &LineSpot) -> bool {
        spot.path == self.path && spot.line == self.line
    }

    fn jump(&self, way: JumpKind, title: String, spot: LineSpot) -> Jump {
        let explanation = self.explained.explanation.id.clone();
        Jump {
            explanation,
            way,
            title,
            spot,
        }
    }

    /// The steps next to each step of this line, if they are on other lines.
    fn steps(&self) -> Vec<Jump> {
        let steps = &self.explained.explanation.steps;
        let spots: Vec<Option<LineSpot>> = steps
            .iter()
            .map(|step| self.located.spot(&step.place))
            .collect();
        let mut jumps = Vec::new();
        for (at, spot) in spots.iter().enumerate() {
            if !spot.as_ref().is_some_and(|spot| self.is_here(spot)) {
                continue;
            }
            let beside = [
                (JumpKind::NextStep, Some(at + 1)),
                (JumpKind::PreviousStep, at.checked_sub(1)),
            ];
            for (way, to) in beside.into_iter().filter_map(|(way, to)| Some((way, to?))) {
                let (Some(step), Some(Some(spot))) = (steps.get(to), spots.get(to)) else {
                    continue;
                };
                if !self.is_here(spot) {
                    let title = format!("step {}: {}", to + 1, words::step(self.explained, step));
                    jumps.push(self.jump(way, title, spot.clone()));
                }
            }
        }
        jumps
    }

    fn edges(&self) -> Vec<Jump> {
        let explanation = &self.explained.explanation;
        let site = |index: u32| explanation.sites.get(index as usize);
        let mut jumps = Vec::new();
        for edge in &explanation.edges {
            let (Some(from), Some(to)) = (site(edge.from), site(edge.to)) else {
                continue;
            };
            for (here, there, leaves) in [(from, to, true), (to, from, false)] {
                let spots = (
                    self.located.spot(&here.place),
                    self.located.spot(&there.place),
                );
                if let (Some(here), Some(target)) = spots
                    && self.is_here(&here)
                    && !self.is_here(&target)
                {
                    jumps.push(self.jump(
                        JumpKind::Edge(edge.kind),
                        title(edge, leaves, there),
                        target,
                    ));
                }
            }
        }
        jumps
    }
}

/// The description of an edge, seen from the current line.
fn title(edge: &Edge, leaves: bool, there: &SiteMark) -> String {
    let way = match (edge.kind, leaves) {
        (EdgeKind::Failing, true) => "then, in the failing run",
        (EdgeKind::Failing, false) => "before, in the failing run",
        (EdgeKind::Passing, true) => "then, in passing runs",
        (EdgeKind::Passing, false) => "before, in passing runs",
        (EdgeKind::Flow, true) => "its value goes to",
        (EdgeKind::Flow, false) => "its value comes from",
        (EdgeKind::WaitsFor, true) => "waits for",
        (EdgeKind::WaitsFor, false) => "is waited for by",
    };
    let place = unsnarl_core::facts::short(&there.place);
    format!("{way}: {}, {} at {place}", there.thread, there.access)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump(way: JumpKind, line: usize, title: &str) -> Jump {
        Jump {
            explanation: "314a3ea1".into(),
            way,
            title: title.into(),
            spot: LineSpot {
                path: "bank.c".into(),
                line,
                columns: 0..9,
                part: 0..9,
                source: "balance++;".into(),
            },
        }
    }

    #[test]
    fn the_order_of_the_steps_is_no_jump_of_its_own() {
        let step = jump(JumpKind::NextStep, 7, "step 2: main.1 writes");
        let edge = |kind| JumpKind::Edge(kind);
        assert!(step.says(&jump(
            edge(EdgeKind::Failing),
            7,
            "then, in the failing run: main.1"
        )));
        assert!(step.says(&jump(JumpKind::NextStep, 7, "step 4: main.1 writes")));
        assert!(!step.says(&jump(
            edge(EdgeKind::Failing),
            8,
            "then, in the failing run: main.1"
        )));
        assert!(!step.says(&jump(
            edge(EdgeKind::Passing),
            7,
            "before, in passing runs: main.1"
        )));
        assert!(!step.says(&jump(JumpKind::PreviousStep, 7, "step 1: main.1 reads")));
    }

    #[test]
    fn both_directions_of_a_flow_are_told() {
        let flow = JumpKind::Edge(EdgeKind::Flow);
        let to = jump(flow, 7, "its value goes to: main");
        assert!(to.says(&to));
        assert!(!to.says(&jump(flow, 7, "its value comes from: main")));
    }
}
