//! Conversion of the solver's choices to an order, or to a clause that excludes them.

use super::{
    super::{
        SolverVerdict, Unknown,
        graph::{Chosen, Conflict, Consequence, PrecedenceGraph},
        linearize::{Linearized, linearize},
    },
    FoundOrder, ScheduleEngine, ScheduleGoal,
    values::ReadSources,
};
use z3::{Model, ast::Bool};

/// Bound on the contradictions extracted from one answer of the solver.
const CONTRADICTIONS: usize = 12;
/// Bound on the attempts to remove choices from a contradiction.
const TRIES: usize = 40;

impl<'p> ScheduleEngine<'p, '_, '_> {
    /// An order with the solver's choices; none when there is no such order, which the solver then learns, or
    /// when the solver did not know all that the choice depends on.
    pub(super) fn try_order(
        &mut self,
        model: &Model,
        goals: &[u32],
        asked: &ScheduleGoal,
    ) -> Option<SolverVerdict<FoundOrder>> {
        let (problem, budget) = (self.problem, self.budget);
        let taken = self.taken(model);
        if self.tell_broken(model, &taken) {
            return None;
        }
        let mut chosen = self.choices(model, &taken);
        for contradictions in 0..CONTRADICTIONS {
            let conflict = match PrecedenceGraph::new(problem, &chosen, &asked.orders) {
                Err(conflict) => self.smaller(conflict, &chosen, asked),
                // The rest of a contradictory choice proves nothing.
                Ok(_) if contradictions > 0 => return None,
                Ok(graph) => {
                    let everything = graph.everything();
                    match linearize(graph, budget) {
                        Linearized::Order(order) => {
                            return Some(SolverVerdict::Found((order, self.input_values(model))));
                        }
                        Linearized::None => everything,
                        Linearized::GaveUp => return Some(SolverVerdict::Unknown(Unknown::Effort)),
                        Linearized::Stopped(why) => {
                            return Some(SolverVerdict::Unknown(Unknown::Stopped(why)));
                        }
                    }
                }
            };
            self.exclude(&conflict, goals);
            // Without one of them, other contradictions may show.
            let last = *conflict.literals.last()?;
            chosen.retain(|choice| choice.literal != last);
        }
        None
    }

    fn exclude(&mut self, conflict: &Conflict, goals: &[u32]) {
        let literals = conflict.literals.iter();
        let mut clause: Vec<Bool> = literals.map(|&literal| self.bool(literal).not()).collect();
        let guard = goals.first().filter(|_| conflict.asked);
        clause.extend(guard.map(|&guard| self.bool(guard).not()));
        self.solver.assert(&Bool::or(&clause));
    }

    /// The sources of reads, and the choices of synchronization.
    fn choices(&self, model: &Model, taken: &ReadSources) -> Vec<Chosen<'p>> {
        let reads = self.reads.iter().filter_map(|symbol| {
            let (write, literal) = taken.get(symbol)?;
            let read = self.known.get(symbol)?.read;
            Some(Chosen {
                literal: *literal,
                what: Consequence::Reads(read, write.map(|write| write.node)),
            })
        });
        let mut chosen: Vec<Chosen> = reads.collect();
        for (group, literals) in self.problem.groups.iter().zip(&self.groups) {
            let numbers = group.preferred.into_iter().chain(0..literals.len());
            let mut options =
                numbers.filter_map(|at| Some((*literals.get(at)?, group.options.get(at)?)));
            let taken = options.find(|(literal, _)| self.is_true(model, *literal));
            chosen.extend(taken.map(|(literal, (orders, _))| Chosen {
                literal,
                what: Consequence::Orders(orders),
            }));
        }
        chosen
    }

    pub(super) fn is_true(&self, model: &Model, literal: u32) -> bool {
        let value = model.eval(&self.bool(literal), true);
        value.and_then(|value| value.as_bool()) == Some(true)
    }

    /// Minimizes the contradiction, as far as a few attempts can.
    fn smaller(&self, mut conflict: Conflict, chosen: &[Chosen], asked: &ScheduleGoal) -> Conflict {
        for literal in conflict.literals.clone().into_iter().take(TRIES) {
            if conflict.literals.len() < 3 {
                break;
            }
            let is_kept = |choice: &&Chosen| {
                choice.literal != literal && conflict.literals.contains(&choice.literal)
            };
            if !conflict.literals.contains(&literal) {
                continue;
            }
            let kept: Vec<Chosen> = chosen.iter().filter(is_kept).cloned().collect();
            if let Err(smaller) = PrecedenceGraph::new(self.problem, &kept, &asked.orders) {
                conflict = smaller;
            }
        }
        conflict
    }
}
