//! Queries for Phi_fail and Phi_alt.

use super::{
    CheckedSchedule, ConstraintCounts, ScheduleAnswer, SolverOptions, SolverVerdict, Unknown,
    engine::{FoundOrder, ScheduleEngine, ScheduleGoal},
    graph::PrecedenceGraph,
    linearize::{Linearized, linearize},
    problem::OrderingProblem,
    solver_version,
};
use crate::{
    Bug, StepId, SymbolId, SymbolicTrace,
    dsp::{PairAnswer, Solve, TraceConstraints},
};
use unsnarl_core::Budget;
use z3::{Config, with_z3_config};

/// Finds an order of all steps that fails as the trace says ([symbiosis], section 3.3), as close to the
/// recorded one as possible: the recorded order is a hint only, and may be missing. Exponential at worst,
/// within the options.
///
/// [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*, PLDI 2015.
pub fn synthesize(
    trace: &SymbolicTrace,
    options: &SolverOptions,
    budget: &Budget,
) -> ScheduleAnswer<CheckedSchedule> {
    ask(trace, &trace.order, options, budget, true, &[])
}

/// Finds an order that does not fail, takes the same paths, and flips `pair` of `order` ([symbiosis], section
/// 3.5): its second step comes before its first. Other changes are limited to necessary ones, as far as the
/// solver's choices show.
///
/// [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*,
/// PLDI 2015.
pub fn alternate(
    trace: &SymbolicTrace,
    order: &[StepId],
    pair: (StepId, StepId),
    options: &SolverOptions,
    budget: &Budget,
) -> ScheduleAnswer<CheckedSchedule> {
    ask(trace, order, options, budget, false, &[(pair.1, pair.0)])
}

fn ask(
    trace: &SymbolicTrace,
    order: &[StepId],
    options: &SolverOptions,
    budget: &Budget,
    fails: bool,
    orders: &[(StepId, StepId)],
) -> ScheduleAnswer<CheckedSchedule> {
    if let Err(why) = solver_version() {
        return ScheduleAnswer::unknown(Unknown::NoSolver(why));
    }
    // A context of its own, since earlier queries must not change the answer.
    with_z3_config(&Config::new(), || {
        let mut problem = OrderingProblem::new(trace, order, options.memory_model);
        if order.is_empty() {
            one_after_the_other(&mut problem, budget);
        }
        let problem = problem;
        let counts = ConstraintCounts::of(&problem);
        let answer = |verdict| ScheduleAnswer { verdict, counts };
        let mut asked = match goal(&problem, fails) {
            Ok(asked) => asked,
            Err(why) => return answer(SolverVerdict::Unknown(Unknown::Trace(why))),
        };
        for &(before, after) in orders {
            match (problem.node_of(before), problem.node_of(after)) {
                (Some(before), Some(after)) => asked.orders.push((before, after)),
                _ => {
                    return answer(SolverVerdict::Unknown(Unknown::Trace(
                        "a step of the pair is not in the trace".into(),
                    )));
                }
            }
        }
        let Some(mut engine) = ScheduleEngine::new(&problem, options, budget) else {
            return answer(match &problem.lacks {
                Some(what) => SolverVerdict::Unknown(Unknown::Trace(what.clone())),
                None => SolverVerdict::Impossible,
            });
        };
        let verdict = match engine.solve(&asked) {
            SolverVerdict::Found(found) => checked(&problem, found, fails, options),
            SolverVerdict::Impossible => SolverVerdict::Impossible,
            SolverVerdict::Unknown(why) => SolverVerdict::Unknown(why),
        };
        ScheduleAnswer {
            verdict,
            counts: counts.with(&engine),
        }
    })
}

/// Makes a base order where none is known: each thread runs as far as synchronization lets it. The order is a
/// hint like any other.
fn one_after_the_other(problem: &mut OrderingProblem, budget: &Budget) {
    let line = PrecedenceGraph::new(problem, &[], &[]).map(|graph| linearize(graph, budget));
    if let Ok(Linearized::Order(order)) = line {
        problem.stay_close_to(&order);
    }
}

/// Goal of failing, or of not failing.
pub(super) fn goal(problem: &OrderingProblem, fails: bool) -> Result<ScheduleGoal, String> {
    match &problem.trace.bug {
        Bug::Unknown(why) => Err(why.clone()),
        Bug::Deadlock => Err("orders that end in a deadlock are not solved for".into()),
        Bug::Condition { .. } => Ok(ScheduleGoal {
            fails: Some(fails),
            orders: Vec::new(),
        }),
        Bug::AfterFree { step, freed } => {
            let nodes = [*freed, *step].map(|id| problem.node_of(id));
            let [Some(freed), Some(step)] = nodes else {
                return Err("the failure's steps are not in the trace".into());
            };
            Ok(ScheduleGoal {
                fails: None,
                orders: vec![if fails { (freed, step) } else { (step, freed) }],
            })
        }
    }
}

/// Returns a schedule only if the checker accepts it.
fn checked(
    problem: &OrderingProblem,
    (nodes, inputs): FoundOrder,
    fails: bool,
    options: &SolverOptions,
) -> SolverVerdict<CheckedSchedule> {
    let order = problem.steps(&nodes);
    let outside = |symbol: SymbolId| {
        let assumed = inputs.iter().find(|(input, _)| *input == symbol);
        let recorded = || problem.trace.symbol(symbol)?.recorded;
        assumed.map(|(_, value)| *value).or_else(recorded)
    };
    let checker = TraceConstraints::under(problem.trace, options.memory_model);
    let refused = match checker.check_with(&order, outside) {
        Err(broken) => Some(broken.rule.sentence().to_owned()),
        Ok(feasible) if feasible.fails == Some(fails) => None,
        Ok(_) if fails => Some("it does not fail".to_owned()),
        Ok(_) => Some("it fails".to_owned()),
    };
    match refused {
        None => SolverVerdict::Found(CheckedSchedule { order, inputs }),
        Some(why) => SolverVerdict::Unknown(Unknown::Refused(why)),
    }
}

/// Solver for [`crate::dsp::alternates`] that answers about the pairs of one failing order.
#[derive(Debug)]
pub struct Flips<'t> {
    trace: &'t SymbolicTrace,
    order: &'t [StepId],
    options: SolverOptions,
}

impl<'t> Flips<'t> {
    /// Makes the solver of this trace and failing order; the options' effort is for all pairs together.
    pub fn new(trace: &'t SymbolicTrace, order: &'t [StepId], options: SolverOptions) -> Flips<'t> {
        Flips {
            trace,
            order,
            options,
        }
    }
}

impl Solve for Flips<'_> {
    fn flipped(&mut self, first: StepId, second: StepId, budget: &Budget) -> PairAnswer {
        if self.options.effort == 0 {
            return PairAnswer::Unknown(Unknown::Effort.to_string());
        }
        let pair = (first, second);
        let answer = alternate(self.trace, self.order, pair, &self.options, budget);
        self.options.effort = self.options.effort.saturating_sub(answer.counts.effort);
        match answer.verdict {
            SolverVerdict::Found(schedule) => PairAnswer::Order(schedule.order),
            SolverVerdict::Impossible => PairAnswer::Impossible,
            SolverVerdict::Unknown(why) => PairAnswer::Unknown(why.to_string()),
        }
    }
}
