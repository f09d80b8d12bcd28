//! Two orders side by side: the one that fails, and the same steps in a passing run.

use crate::{
    beside, facts::ExplainedFact, host::ServerState, marks::FollowedFiles, paths::Root, to_proto,
    words,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tower_lsp::lsp_types::Location;
use unsnarl_core::{
    Explanation, Place, Step,
    beside::Passing,
    facts::{ToldValue, short, verb},
    render,
};

use unsnarl_trace::EventKind;

/// Parameters of `unsnarl/schedule`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ScheduleParams {
    /// Id of an explanation; none for the selected one.
    #[serde(default)]
    pub explanation: Option<String>,
}

/// Answer of `unsnarl/schedule`. Steps are named by their number in the explanation, from 1, in both orders.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ScheduleResult {
    /// Id of the explanation.
    pub explanation: String,
    /// The headline of the failure.
    pub headline: String,
    /// The threads, in the order of the fork tree.
    pub lanes: Vec<Lane>,
    /// The order that fails.
    pub failing: Order,
    /// The order in which a passing run took the steps.
    pub passing: Option<Order>,
    /// The reason for which there is no passing order; `None` when there is one.
    pub reason: Option<String>,
    /// Steps that the passing run did not take.
    pub missing: Vec<usize>,
    /// Pairs of steps that are reversed in the passing order and meet on the same data or lock; if none meet, all
    /// reversed neighbours.
    pub turned: Vec<ReversedSteps>,
    /// Steps that only the passing order has, behind the numbers of the others: the failing run misses them.
    pub added: Vec<Added>,
    /// Values that the steps read and wrote, by variable, in the order of its first step.
    pub values: Vec<VariableValues>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Lane {
    /// Its name: `main.1`.
    pub thread: String,
    /// Its name for a person: `deposit (main.1)`.
    pub name: String,
}

/// Steps in the order in which a run took them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Order {
    /// Name of the run.
    pub run: String,
    /// Its end, for a person.
    pub end: String,
    /// The steps.
    pub steps: Vec<TakenStep>,
    /// Arrows from each step to the next one of another thread that meets it, as numbers of steps.
    pub arrows: Vec<(usize, usize)>,
}

/// A step as a run took it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TakenStep {
    /// Its number.
    pub number: usize,
    /// Index into the lanes.
    pub lane: usize,
    /// Its place when it was recorded.
    pub place: Place,
    /// Its current place; `None` when the line has changed.
    pub now: Option<Location>,
    /// `read`, `write`, ...
    pub access: String,
    /// The accessed variable, as the source has it; empty when that is not known.
    pub variable: String,
    /// Its effect: `reads 300`.
    pub effect: String,
    /// The value in the effect.
    #[serde(skip)]
    pub value: Option<ToldValue>,
    /// Returns whether it writes the variable.
    #[serde(skip)]
    pub writes: bool,
    /// Remark, e.g. `in between`; empty when there is none.
    pub note: String,
}

/// Two steps in reversed order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ReversedSteps {
    /// The step that comes first in the failing order.
    pub from: usize,
    /// The step that comes first in the passing order.
    pub to: usize,
    /// `data`, `lock` or `order` (they do not meet).
    pub kind: &'static str,
    /// Description for a person.
    pub text: String,
}

/// A step that the failing run misses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Added {
    /// Its number.
    pub step: usize,
    /// Description for a person.
    pub text: String,
}

/// The values of a variable in both orders.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct VariableValues {
    /// Its name.
    pub variable: String,
    /// Values in the failing order.
    pub failing: Vec<StepValue>,
    /// Values in the passing order.
    pub passing: Vec<StepValue>,
}

/// A value at a step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepValue {
    /// The step.
    pub step: usize,
    /// The value that was read or written.
    pub value: String,
    /// `true` if it was written.
    pub writes: bool,
}

/// Both orders of an explanation; none when it is not known. Reads run files.
pub fn schedule(state: &ServerState, id: Option<&str>) -> Option<ScheduleResult> {
    let (root, explained) = match id {
        Some(id) => state
            .explained()
            .find(|(_, one)| one.explanation.id == id)?,
        None => state.selected()?,
    };
    let passing = beside::passing(state, root, explained);
    let sides = Sides::new(state, root, explained, passing.as_ref().ok());
    let explanation = &explained.explanation;
    let steps: Vec<&Step> = explanation.steps.iter().collect();
    let all: Vec<usize> = (0..steps.len()).collect();
    let failing = sides.order(&explanation.run, &explanation.failure.message, &steps, &all);
    let taken = passing.as_ref().ok().map(|passing| {
        let steps: Vec<&Step> = passing.steps.iter().collect();
        sides.order(&passing.run, "passes", &steps, &sides.indices(passing))
    });
    Some(ScheduleResult {
        explanation: explanation.id.clone(),
        headline: explanation.headline.clone(),
        turned: passing.as_ref().map_or(Vec::new(), |it| sides.turned(it)),
        added: passing.as_ref().map_or(Vec::new(), |it| sides.added(it)),
        missing: passing
            .as_ref()
            .map_or(Vec::new(), |it| numbers(&it.missing)),
        values: values(&failing, taken.as_ref()),
        lanes: sides.lanes,
        failing,
        passing: taken,
        reason: passing.err(),
    })
}

fn numbers(indices: &[usize]) -> Vec<usize> {
    indices.iter().map(|at| at + 1).collect()
}

/// The data that both orders share.
struct Sides<'a> {
    state: &'a ServerState,
    explained: &'a ExplainedFact,
    located: FollowedFiles<'a>,
    lanes: Vec<Lane>,
}

impl<'a> Sides<'a> {
    fn new(
        state: &'a ServerState,
        root: &Root,
        explained: &'a Arc<ExplainedFact>,
        passing: Option<&Passing>,
    ) -> Sides<'a> {
        let lanes = render::lanes(&explained.explanation).into_iter();
        let mut lanes: Vec<Lane> = lanes.map(|(thread, name)| Lane { thread, name }).collect();
        for step in passing.iter().flat_map(|passing| &passing.steps) {
            if lanes.iter().all(|lane| lane.thread != step.thread) {
                let (thread, name) = (step.thread.clone(), step.thread.clone());
                lanes.push(Lane { thread, name });
            }
        }
        Sides {
            state,
            explained,
            located: FollowedFiles::new(&state.sources, root, explained),
            lanes,
        }
    }

    /// Indices (from 0) of a passing order's steps; steps that the failing run misses come behind the others.
    fn indices(&self, passing: &Passing) -> Vec<usize> {
        let mut behind = self.explanation().steps.len()..;
        let of = passing.of.iter();
        of.filter_map(|of| of.or_else(|| behind.next())).collect()
    }

    fn added(&self, passing: &Passing) -> Vec<Added> {
        let steps = passing.steps.iter().zip(self.indices(passing));
        let added = steps.zip(&passing.of).filter(|(_, of)| of.is_none());
        added
            .map(|((step, at), _)| Added {
                step: at + 1,
                text: format!(
                    "Where it passes, {} {} at {}; where it fails, that has not happened yet.",
                    step.thread,
                    self.did(step, at),
                    short(&step.place)
                ),
            })
            .collect()
    }

    fn explanation(&self) -> &Explanation {
        &self.explained.explanation
    }

    /// An order of steps; `of` holds for each step its index in the explanation, from 0.
    fn order(&self, run: &str, end: &str, steps: &[&Step], of: &[usize]) -> Order {
        let numbered = || steps.iter().copied().zip(of);
        let later = |row: usize| numbered().skip(row + 1);
        let arrow = |(row, (step, from)): (usize, (&Step, &usize))| {
            let (_, to) = later(row).find(|(other, _)| meet(step, other).is_some())?;
            Some((from + 1, to + 1))
        };
        Order {
            run: run.to_owned(),
            end: end.to_owned(),
            arrows: numbered().enumerate().filter_map(arrow).collect(),
            steps: numbered().map(|(step, at)| self.taken(step, *at)).collect(),
        }
    }

    fn taken(&self, step: &Step, at: usize) -> TakenStep {
        let mut lanes = self.lanes.iter();
        let spot = self.located.spot(&step.place);
        TakenStep {
            number: at + 1,
            lane: lanes
                .position(|lane| lane.thread == step.thread)
                .unwrap_or(0),
            now: spot.and_then(|spot| to_proto::location(&spot, self.state.encoding)),
            place: step.place.clone(),
            access: step.access.clone(),
            variable: self.name(step, at),
            effect: step.effect.clone(),
            value: step.value.clone(),
            writes: step.access_kind().is_some_and(EventKind::writes),
            note: step.note.clone(),
        }
    }

    /// The accessed variable of a step, in the failing run's words if that takes the step.
    fn name(&self, step: &Step, at: usize) -> String {
        let told = self.explanation().steps.get(at).unwrap_or(step);
        words::name(self.explained, told)
    }

    fn turned(&self, passing: &Passing) -> Vec<ReversedSteps> {
        let of_two_threads = |(a, b): &(usize, usize)| {
            let steps = &self.explanation().steps;
            matches!((steps.get(*a), steps.get(*b)), (Some(a), Some(b)) if a.thread != b.thread)
        };
        let pairs: Vec<(usize, usize)> = passing
            .turned()
            .into_iter()
            .filter(of_two_threads)
            .collect();
        let meeting: Vec<ReversedSteps> = pairs
            .iter()
            .filter_map(|pair| self.pair(*pair, None))
            .collect();
        if !meeting.is_empty() {
            return meeting;
        }
        let neighbours = pairs.iter().filter(|(a, b)| a + 1 == *b);
        neighbours
            .filter_map(|pair| self.pair(*pair, Some("order")))
            .collect()
    }

    /// Two steps of the explanation; `None` when they do not meet and no other kind is given.
    fn pair(
        &self,
        (from, to): (usize, usize),
        otherwise: Option<&'static str>,
    ) -> Option<ReversedSteps> {
        let steps = &self.explanation().steps;
        let (a, b) = (steps.get(from)?, steps.get(to)?);
        let did = |step: &Step, at| {
            format!(
                "{} {} at {}",
                step.thread,
                self.did(step, at),
                short(&step.place)
            )
        };
        Some(ReversedSteps {
            from: from + 1,
            to: to + 1,
            kind: meet(a, b).or(otherwise)?,
            text: format!(
                "Where it fails, {}, and then {}; where it passes, the other way round.",
                did(a, from),
                did(b, to)
            ),
        })
    }

    /// The effect of a step without the value, which differs from run to run.
    fn did(&self, step: &Step, at: usize) -> String {
        match (step.access_kind(), &step.value) {
            (Some(kind), Some(_)) => format!("{} `{}`", verb(kind), self.name(step, at)),
            _ => step.effect.clone(),
        }
    }
}

/// The kind of meeting of two steps of different threads; `None` when they do not meet.
fn meet(a: &Step, b: &Step) -> Option<&'static str> {
    if a.thread == b.thread || a.location.is_empty() || a.location != b.location {
        return None;
    }
    match (is_lock(a), is_lock(b)) {
        (true, true) => Some("lock"),
        _ => (a.access != "read" || b.access != "read").then_some("data"),
    }
}

fn is_lock(step: &Step) -> bool {
    ["lock", "unlock"]
        .iter()
        .any(|word| step.access.contains(word))
}

fn values(failing: &Order, passing: Option<&Order>) -> Vec<VariableValues> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<VariableValues> = Vec::new();
    let orders = [Some(failing), passing].into_iter().flatten().enumerate();
    for (side, order) in orders {
        for step in order.steps.iter().filter(|step| !step.variable.is_empty()) {
            let Some(value) = &step.value else {
                continue;
            };
            let at = *places.entry(&step.variable).or_insert(all.len());
            if at == all.len() {
                all.push(VariableValues {
                    variable: step.variable.clone(),
                    failing: Vec::new(),
                    passing: Vec::new(),
                });
            }
            let Some(values) = all.get_mut(at) else {
                continue;
            };
            let seen = StepValue {
                step: step.number,
                value: value.text.clone(),
                writes: step.writes,
            };
            match side {
                0 => values.failing.push(seen),
                _ => values.passing.push(seen),
            }
        }
    }
    all
}
