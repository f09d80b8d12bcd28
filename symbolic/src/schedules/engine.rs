//! The loop between the solver and the graph.
//!
//! The solver knows the writes that each read may read from (a literal each, which fixes the value), the path
//! conditions, and the goal. The engine evaluates its choice: it adds to the solver every value or condition
//! that the solver does not know and that comes out differently. Then the choices go to the graph; a
//! contradiction comes back as a clause.
//!
//! Everything is added as late as possible, since taking in formulas costs most ([`reads`]). A read's source
//! in the base order, its value there, and the signal that ends a wait there are assumptions until a
//! refutation depends on them; only then does the solver get the origin of the value, and only after that the
//! other sources that the read may have, nearest first and a few at a time.

mod choices;
mod reads;
mod values;

use super::{
    SolverOptions, SolverVerdict, Unknown,
    graph::PrecedenceGraph,
    problem::{OrderingProblem, StepsId, SymbolRead, Write},
    solver::{Limited, Solved},
    translate::SolverTerms,
};
use crate::{Action, Bug, ExprId, SymbolId};
use reads::NeededRead;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{collections::BTreeMap, rc::Rc};
use unsnarl_core::Budget;
use z3::ast::Bool;

/// Goal beyond the paths.
#[derive(Clone, Debug, Default)]
pub(super) struct ScheduleGoal {
    /// `true` if the run has to fail, `false` if it has to pass, `None` for either.
    pub fails: Option<bool>,
    /// Orders that have to hold.
    pub orders: Vec<(StepsId, StepsId)>,
}

/// An order that was found, with values for unrecorded input from outside.
pub(super) type FoundOrder = (Vec<StepsId>, Vec<(SymbolId, u128)>);

pub(super) struct ScheduleEngine<'p, 't, 'b> {
    pub problem: &'p OrderingProblem<'t>,
    pub solver: Limited<'b>,
    budget: &'b Budget,
    terms: SolverTerms,
    literals: Vec<Bool>,
    number_of: FxHashMap<Bool, u32>,
    known: FxHashMap<SymbolId, NeededRead>,
    /// The known reads, in the order of discovery.
    reads: Vec<SymbolId>,
    /// Symbols that occur in the solver's terms.
    mentioned: FxHashSet<SymbolId>,
    open: Vec<SymbolId>,
    symbols: FxHashMap<ExprId, Rc<[SymbolId]>>,
    inputs: Vec<SymbolId>,
    /// The path conditions, and those that the solver has.
    conditions: Vec<ExprId>,
    given: FxHashSet<ExprId>,
    groups: Vec<Vec<u32>>,
    /// Values that reads have in the base order.
    recorded: FxHashMap<SymbolId, u128>,
    /// Orders that always hold.
    always: PrecedenceGraph<'p, 't>,
    /// Orders that hold under the current goal, with the literal of the goal.
    now: Option<(u32, PrecedenceGraph<'p, 't>)>,
    /// Assumptions from the base order that were dropped for the current goal.
    dropped: FxHashSet<u32>,
    /// Distance to which values in a refutation are traced back next.
    reach: usize,
    /// Number of assumptions that the next refutation drops.
    freed: usize,
    /// Literals for "fails" and "does not fail".
    bug: Option<(ExprId, [u32; 2])>,
    /// Reason why a refutation is no proof.
    pub lacks: Option<String>,
    pub rounds: u64,
}

impl<'p, 't, 'b> ScheduleEngine<'p, 't, 'b> {
    /// Adds the goal and the choices that synchronization leaves open to the solver. None when
    /// synchronization is impossible.
    pub fn new(
        problem: &'p OrderingProblem<'t>,
        options: &SolverOptions,
        budget: &'b Budget,
    ) -> Option<ScheduleEngine<'p, 't, 'b>> {
        let always = PrecedenceGraph::new(problem, &[], &[]).ok()?;
        let mut engine = ScheduleEngine {
            problem,
            solver: Limited::new(options, budget),
            budget,
            terms: SolverTerms::default(),
            literals: Vec::new(),
            number_of: FxHashMap::default(),
            known: FxHashMap::default(),
            reads: Vec::new(),
            mentioned: FxHashSet::default(),
            open: Vec::new(),
            symbols: FxHashMap::default(),
            inputs: Vec::new(),
            conditions: conditions(problem),
            given: FxHashSet::default(),
            groups: Vec::new(),
            recorded: FxHashMap::default(),
            always,
            now: None,
            dropped: FxHashSet::default(),
            reach: 1,
            freed: 1,
            bug: None,
            lacks: problem.lacks.clone(),
            rounds: 0,
        };
        engine.recorded = engine.values_at_hand();
        engine.add_groups();
        engine.add_bug();
        Some(engine)
    }

    fn literal(&mut self) -> u32 {
        let number = self.literals.len() as u32;
        let literal = Bool::new_const(format!("c{number}"));
        self.number_of.insert(literal.clone(), number);
        self.literals.push(literal);
        number
    }

    pub fn bool(&self, literal: u32) -> Bool {
        let known = self.literals.get(literal as usize);
        known.cloned().unwrap_or_else(|| Bool::from_bool(false))
    }

    /// Adds the choices of synchronization: at least one option each, and nothing used up twice.
    fn add_groups(&mut self) {
        let problem = self.problem;
        let mut users: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for group in &problem.groups {
            let literals: Vec<u32> = group.options.iter().map(|_| self.literal()).collect();
            for ((_, uses), &literal) in group.options.iter().zip(&literals) {
                if let Some(uses) = uses {
                    users.entry(*uses).or_default().push(literal);
                }
            }
            let any: Vec<Bool> = literals.iter().map(|&literal| self.bool(literal)).collect();
            self.solver.assert(&Bool::or(&any));
            self.groups.push(literals);
        }
        for users in users.into_values() {
            for (at, &a) in users.iter().enumerate() {
                for &b in users.get(at + 1..).unwrap_or(&[]) {
                    let not_both = Bool::or(&[self.bool(a).not(), self.bool(b).not()]);
                    self.solver.assert(&not_both);
                }
            }
        }
    }

    /// Adds Phi_bug and its negation, each implied by a literal of its own.
    fn add_bug(&mut self) {
        let exprs = &self.problem.trace.exprs;
        if let Bug::Condition { condition, .. } = self.problem.trace.bug {
            let literals = [self.literal(), self.literal()];
            let truth = self.terms.truth(exprs, condition);
            let [fails, passes] = literals.map(|literal| self.bool(literal).not());
            self.solver.assert(&Bool::or(&[fails, truth.clone()]));
            self.solver.assert(&Bool::or(&[passes, truth.not()]));
            self.mention(condition);
            self.bug = Some((condition, literals));
        }
    }

    /// Searches for an order with the recorded paths that satisfies the goal.
    pub fn solve(&mut self, asked: &ScheduleGoal) -> SolverVerdict<FoundOrder> {
        let Ok(graph) = PrecedenceGraph::new(self.problem, &[], &asked.orders) else {
            return self.refuted();
        };
        let guard = self.literal();
        self.now = Some((guard, graph));
        self.dropped.clear();
        (self.reach, self.freed) = (1, 1);
        for symbol in self.reads.clone() {
            self.rule_out_given(symbol);
        }
        let mut goals = vec![guard];
        if let (Some(fails), Some((_, [yes, no]))) = (asked.fails, self.bug) {
            goals.push(if fails { yes } else { no });
        }
        let verdict = self.search(&goals, asked);
        self.now = None;
        verdict
    }

    fn search(&mut self, goals: &[u32], asked: &ScheduleGoal) -> SolverVerdict<FoundOrder> {
        loop {
            self.rounds += 1;
            self.give_all();
            let assumed = self.assumed(goals);
            match self.solver.check(&assumed) {
                Solved::Unknown(why) => return SolverVerdict::Unknown(why),
                Solved::Unsat(core) => {
                    let core = self.numbers(&core);
                    if !self.relax(&core, asked) {
                        return self.refuted();
                    }
                }
                Solved::Sat(model) => {
                    if let Some(verdict) = self.try_order(&model, goals, asked) {
                        return verdict;
                    }
                }
            }
        }
    }

    /// The assumptions of a query: the goals; that choices stay as in the base order, unless dropped; and
    /// that reads with other possible sources have one that the solver knows.
    fn assumed(&self, goals: &[u32]) -> Vec<Bool> {
        let mut assumed = goals.to_vec();
        assumed.extend(self.preferred().filter(|hint| !self.dropped.contains(hint)));
        for known in self.reads.iter().filter_map(|read| self.known.get(read)) {
            match known.hint().filter(|hint| !self.dropped.contains(hint)) {
                Some(hint) => assumed.extend(known.frozen.into_iter().chain([hint])),
                None => assumed.extend(known.only_these),
            }
        }
        assumed.iter().map(|&literal| self.bool(literal)).collect()
    }

    /// The options of synchronization that hold in the base order.
    fn preferred(&self) -> impl Iterator<Item = u32> {
        let groups = self.problem.groups.iter().zip(&self.groups);
        groups.filter_map(|(group, literals)| literals.get(group.preferred?).copied())
    }

    fn numbers(&self, core: &[Bool]) -> FxHashSet<u32> {
        let number = |literal| self.number_of.get(literal).copied();
        core.iter().filter_map(number).collect()
    }

    fn refuted<T>(&self) -> SolverVerdict<T> {
        match &self.lacks {
            Some(what) => SolverVerdict::Unknown(Unknown::Trace(what.clone())),
            None => SolverVerdict::Impossible,
        }
    }

    /// Drops assumptions that a refutation depends on: first that values are as in the base order; then that
    /// choices stay as they are there, nearest to the goal first and twice as many each time; then those that
    /// leave candidates out. `false` when the refutation depends on none of them.
    fn relax(&mut self, core: &FxHashSet<u32>, asked: &ScheduleGoal) -> bool {
        if self.trace_back(core) {
            return true;
        }
        let preferred: Vec<u32> = self
            .preferred()
            .filter(|hint| core.contains(hint))
            .collect();
        let is_any = !preferred.is_empty();
        self.dropped.extend(preferred);
        let leant_on = |symbol: &SymbolId| {
            let hint = self.known.get(symbol).and_then(NeededRead::hint);
            hint.is_some_and(|hint| core.contains(&hint))
        };
        let mut leant_on: Vec<SymbolId> = self.reads.iter().copied().filter(leant_on).collect();
        leant_on.sort_by_key(|&symbol| self.far(symbol, asked));
        for &symbol in leant_on.iter().take(self.freed) {
            self.let_go(symbol);
        }
        self.freed = self.freed.saturating_mul(2);
        if is_any || !leant_on.is_empty() {
            return true;
        }
        let mut is_more = false;
        for symbol in self.reads.clone() {
            let only_these = self.known.get(&symbol).and_then(|known| known.only_these);
            if only_these.is_some_and(|literal| core.contains(&literal)) {
                self.give_more(symbol);
                is_more = true;
            }
        }
        is_more
    }

    /// Distance in the base order of a read from the goal, or from the end.
    fn far(&self, symbol: SymbolId, asked: &ScheduleGoal) -> u32 {
        let place = |node: StepsId| self.problem.place_of(node);
        let here = self
            .known
            .get(&symbol)
            .map_or(0, |known| place(known.read.node));
        let nodes = asked.orders.iter().flat_map(|&(a, b)| [a, b]);
        let nearest = nodes.map(|node| place(node).abs_diff(here)).min();
        nearest.unwrap_or(u32::MAX - here)
    }

    /// The reads whose sources in the base order together imply the opposite of the goal; `None` when they do
    /// not, an error with the reason when the solver gives up. Considers all reads, or the given ones.
    pub fn refuting(
        &mut self,
        fails: bool,
        among: Option<&[SymbolId]>,
    ) -> Result<Option<Vec<SymbolId>>, Unknown> {
        let goal = self.bug.map(|(_, [yes, no])| if fails { yes } else { no });
        self.reach = 1;
        loop {
            self.give_all();
            let asked = among.unwrap_or(&self.reads);
            let mut assumed: Vec<u32> = goal.into_iter().collect();
            let mut hints = Vec::new();
            for &symbol in asked {
                let Some(known) = self.known.get(&symbol) else {
                    continue;
                };
                hints.extend(known.hint().map(|hint| (symbol, hint)));
                assumed.extend(known.hint().into_iter().chain(known.frozen));
            }
            let assumed: Vec<Bool> = assumed.iter().map(|&literal| self.bool(literal)).collect();
            match self.solver.check(&assumed) {
                Solved::Unknown(why) => return Err(why),
                Solved::Sat(model) if self.give_broken(&model) => {}
                Solved::Sat(_) => return Ok(None),
                Solved::Unsat(core) => {
                    let core = self.numbers(&core);
                    if !self.trace_back(&core) {
                        hints.retain(|(_, hint)| core.contains(hint));
                        return Ok(Some(hints.into_iter().map(|(symbol, _)| symbol).collect()));
                    }
                }
            }
        }
    }

    /// Returns whether a node is before another in every order.
    pub fn always_before(&self, a: StepsId, b: StepsId) -> bool {
        self.always.is_before(a, b)
    }

    /// A known read with its source in the base order.
    pub fn hinted(&self, symbol: SymbolId) -> Option<(SymbolRead, Option<Write>)> {
        let known = self.known.get(&symbol)?;
        Some((known.read, known.given.first()?.0))
    }

    /// Literals of the solver: choices of reads and of synchronization, goals, assumptions.
    pub fn variables(&self) -> u64 {
        (self.literals.len() + self.reads.len() + self.inputs.len()) as u64
    }
}

/// Phi_path: each condition once, without that of the failure.
fn conditions(problem: &OrderingProblem) -> Vec<ExprId> {
    let exprs = &problem.trace.exprs;
    let bug = match problem.trace.bug {
        Bug::Condition { step, .. } => Some(step),
        _ => None,
    };
    let mut seen = FxHashSet::default();
    let mut conditions = Vec::new();
    for (id, step) in problem.trace.steps() {
        if let Action::Assume(condition) = step.action
            && Some(id) != bug
            && exprs.constant(condition) != Some(1)
            && seen.insert(condition)
        {
            conditions.push(condition);
        }
    }
    conditions
}
