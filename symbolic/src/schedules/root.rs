//! Phi_root: the orders that make a failing schedule fail.
//!
//! The first of two steps is cheap: it finds the reads that, with their sources in the failing schedule,
//! exclude that the run passes (an unsat core of the solver, then minimized one by one). The second collects
//! the orders of steps that enforce those sources, and drops each one without which still no order passes.

use super::{
    ConstraintCounts, EventOrder, ReadsFrom, RootCause, ScheduleAnswer, SolverOptions,
    SolverVerdict, Unknown,
    engine::{ScheduleEngine, ScheduleGoal},
    problem::{OrderingProblem, StepsId},
    queries::goal,
    solver_version,
};
use crate::{StepId, SymbolId, SymbolicTrace};
use unsnarl_core::Budget;
use z3::{Config, with_z3_config};

/// Finds the orders that make `order` fail ([symbiosis], section 3.4). [`Verdict::Impossible`] when it does
/// not fail. One query to the solver for each order that it tries to drop; when the effort ends, the rest is
/// marked as not minimal.
///
/// [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*,
/// PLDI 2015.
pub fn root_cause(
    trace: &SymbolicTrace,
    order: &[StepId],
    options: &SolverOptions,
    budget: &Budget,
) -> ScheduleAnswer<RootCause> {
    if let Err(why) = solver_version() {
        return ScheduleAnswer::unknown(Unknown::NoSolver(why));
    }
    with_z3_config(&Config::new(), || {
        let problem = OrderingProblem::new(trace, order, options.memory_model);
        let counts = ConstraintCounts::of(&problem);
        let answer = |verdict| ScheduleAnswer { verdict, counts };
        let passes = match goal(&problem, false) {
            Ok(passes) => passes,
            Err(why) => return answer(SolverVerdict::Unknown(Unknown::Trace(why))),
        };
        let Some(mut engine) = ScheduleEngine::new(&problem, options, budget) else {
            return answer(SolverVerdict::Impossible);
        };
        let verdict = search(&mut engine, &passes);
        ScheduleAnswer {
            verdict,
            counts: counts.with(&engine),
        }
    })
}

fn search(engine: &mut ScheduleEngine, passes: &ScheduleGoal) -> SolverVerdict<RootCause> {
    let problem = engine.problem;
    // If the failure is an order, that order is the whole root cause.
    if let [(step, freed)] = passes.orders.as_slice() {
        let orders = vec![(*freed, *step)];
        return SolverVerdict::Found(RootCause {
            is_minimal: true,
            orders: in_words(problem, &orders),
            reads: Vec::new(),
        });
    }
    let mut reads = match engine.refuting(false, None) {
        Err(why) => return SolverVerdict::Unknown(why),
        Ok(None) => return SolverVerdict::Impossible,
        Ok(Some(reads)) => reads,
    };
    let mut at = 0;
    while let Some(&symbol) = reads.get(at) {
        let others: Vec<SymbolId> = reads
            .iter()
            .copied()
            .filter(|&other| other != symbol)
            .collect();
        match engine.refuting(false, Some(&others)) {
            Ok(Some(fewer)) => reads.retain(|symbol| fewer.contains(symbol)),
            _ => at += 1,
        }
    }
    let (orders, is_minimal) = minimal(engine, orders_of(engine, &reads), passes);
    let mut taken: Vec<ReadsFrom> = reads
        .iter()
        .filter_map(|&symbol| {
            let (read, write) = engine.hinted(symbol)?;
            Some(ReadsFrom {
                read: read.step,
                write: write.map(|write| write.step),
            })
        })
        .collect();
    let place = |id: StepId| problem.node_of(id).map(|node| problem.place_of(node));
    taken.sort_by_key(|taken| (place(taken.read), taken.read));
    SolverVerdict::Found(RootCause {
        reads: taken,
        orders: in_words(problem, &orders),
        is_minimal,
    })
}

/// The orders of the base order that enforce the sources of these reads: the write before the read, and each
/// other write of the cell on its side of the two. The nearest write of each thread stands for all on its
/// side.
fn orders_of(engine: &ScheduleEngine, reads: &[SymbolId]) -> Vec<(StepsId, StepsId)> {
    let problem = engine.problem;
    let mut orders = Vec::new();
    for (read, write) in reads.iter().filter_map(|&symbol| engine.hinted(symbol)) {
        let node = write.map(|write| write.node);
        orders.extend(node.map(|write| (write, read.node)));
        let chains = problem.writes.get(read.cell.index());
        for writes in chains.map_or(&[][..], |chains| chains) {
            let here = problem.place_of(read.node);
            let count = writes.partition_point(|write| problem.place_of(write.node) < here);
            let (earlier, later) = writes.split_at_checked(count).unwrap_or_default();
            let is_other = |write: &&super::problem::Write| {
                Some(write.node) != node && write.node != read.node
            };
            let before = earlier.iter().rev().find(is_other);
            orders.extend(before.zip(node).map(|(other, write)| (other.node, write)));
            let after = later.iter().find(is_other);
            orders.extend(after.map(|other| (read.node, other.node)));
        }
    }
    orders.retain(|&(a, b)| a != b && !engine.always_before(a, b));
    orders.sort_by_key(|&(a, b)| (problem.place_of(b), problem.place_of(a)));
    orders.dedup();
    orders
}

/// Share of the whole effort available for dropping one order: a refutation without it can be hard, and then
/// it stays.
const SHARES: u64 = 50;

/// Drops unnecessary orders, the earliest first.
fn minimal(
    engine: &mut ScheduleEngine,
    mut orders: Vec<(StepsId, StepsId)>,
    passes: &ScheduleGoal,
) -> (Vec<(StepsId, StepsId)>, bool) {
    let (mut at, mut is_minimal) = (0, true);
    let share = engine.solver.allowed() / SHARES;
    while at < orders.len() {
        let mut fewer = orders.clone();
        fewer.remove(at);
        let asked = ScheduleGoal {
            orders: fewer.clone(),
            ..passes.clone()
        };
        engine.solver.allow(share);
        match engine.solve(&asked) {
            SolverVerdict::Impossible => orders = fewer,
            SolverVerdict::Found(_) => at += 1,
            SolverVerdict::Unknown(_) => {
                is_minimal = false;
                at += 1;
            }
        }
    }
    (orders, is_minimal)
}

fn in_words(problem: &OrderingProblem, orders: &[(StepsId, StepsId)]) -> Vec<EventOrder> {
    let step = |id: StepsId| {
        let node = problem.node(id)?;
        Some(StepId {
            thread: node.thread,
            index: node.steps.0,
        })
    };
    let orders = orders.iter().filter_map(|&(a, b)| {
        Some(EventOrder {
            before: step(a)?,
            after: step(b)?,
        })
    });
    orders.collect()
}
