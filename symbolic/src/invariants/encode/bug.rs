//! Encoding of the failure as the last statement of the path.

use super::{super::model::Unexplained, blank, build::FormulaBuild, recorded};
use crate::{
    Action, Binary, Bug, Comparison, ExprId, StepId,
    expr::Values,
    invariants::model::{Kind, Statement},
};
use std::collections::BTreeMap;
use unsnarl_trace::{EventKind, FailureKind, LocationId, ThreadId};

const NEXT: &str = "\n  next: look at the recorded steps, or at the other engines";

impl FormulaBuild<'_> {
    /// Appends the failure as the path's last statement.
    pub fn failure(&mut self, order: &[StepId]) -> Result<(), Unexplained> {
        match self.trace.bug.clone() {
            Bug::Condition { step, .. } => self.condition_failed(step),
            Bug::AfterFree { step, freed } => self.used_after_free(step, freed),
            Bug::Deadlock => self.deadlocked(order),
            Bug::Unknown(why) => match self.goes_round() || self.values_failed() {
                true => Ok(()),
                false => Err(Unexplained::Unreadable(why)),
            },
        }?;
        let last = self.statements.last();
        let wrong = last.and_then(|last| last.condition);
        let holds =
            wrong.and_then(|wrong| recorded(&self.exprs, &self.vars, wrong, &mut Values::new()));
        match holds {
            Some(1) => Ok(()),
            _ => Err(Unexplained::Contradiction(format!(
                "what failed does not hold with what was recorded{NEXT}"
            ))),
        }
    }

    fn condition_failed(&mut self, step: StepId) -> Result<(), Unexplained> {
        let row = self.by_step.get(&step).copied();
        let Some(row) = row else {
            return Err(Unexplained::Unreadable(format!(
                "it does not depend on anything that changes{NEXT}"
            )));
        };
        self.statements.truncate(row.saturating_add(1));
        if let Some(last) = self.statements.last_mut() {
            last.kind = Kind::Failure;
        }
        Ok(())
    }

    fn used_after_free(&mut self, step: StepId, freed: StepId) -> Result<(), Unexplained> {
        let row = self.by_step.get(&step).copied();
        let block = self.freed.get(&freed).copied();
        let Some((row, block)) = row.zip(block) else {
            return Err(Unexplained::Unreadable(format!(
                "the block that was used had been freed, but where is not known{NEXT}"
            )));
        };
        self.statements.truncate(row.saturating_add(1));
        let Some(access) = self.statements.last().cloned() else {
            return Ok(());
        };
        let mut wrong = self.exprs.symbol(block, 1);
        for pointer in self.pointers_of(&access) {
            wrong = self.exprs.binary(Binary::And, wrong, pointer);
        }
        let name = self.vars.get(block.index()).map(|var| var.name.clone());
        self.fails(&access, wrong, name.unwrap_or_default());
        Ok(())
    }

    /// The conditions that fixed the address of an access, which directly precede it on its line.
    fn pointers_of(&self, access: &Statement) -> Vec<ExprId> {
        let own = self.statements.iter().rev().skip(1);
        let own = own.filter(|statement| statement.thread == access.thread);
        let near = own.take_while(|statement| {
            statement.kind == Kind::Branch && statement.place.line == access.place.line
        });
        near.filter_map(|statement| statement.condition).collect()
    }

    fn fails(&mut self, at: &Statement, wrong: ExprId, name: String) {
        let mut failure = blank(at.thread, Kind::Failure, at.place.clone());
        failure.site = at.site;
        failure.step = at.step;
        failure.event = at.event;
        failure.name = name;
        failure.condition = Some(wrong);
        failure.guards.clone_from(&at.guards);
        self.push(failure);
    }

    /// Encodes a deadlock: each thread waits for a lock, a signal, a unit or others that do not come.
    fn deadlocked(&mut self, order: &[StepId]) -> Result<(), Unexplained> {
        let mut wrong: Option<ExprId> = None;
        let (mut names, mut at) = (Vec::new(), None);
        for (thread, object) in self.waiting(order) {
            let Some(waits) = self.waits(thread, object) else {
                continue;
            };
            names.push(self.run.location(object).to_owned());
            let mut rows = self.statements.iter();
            at = at.max(rows.rposition(|one| one.thread == thread));
            wrong = Some(match wrong {
                Some(wrong) => self.exprs.binary(Binary::And, wrong, waits),
                None => waits,
            });
        }
        let at = at.and_then(|at| self.statements.get(at)).cloned();
        let Some((wrong, at)) = wrong.zip(at) else {
            return Err(Unexplained::Unreadable(format!(
                "nothing in the run says what would have ended the waits{NEXT}"
            )));
        };
        names.sort();
        names.dedup();
        self.fails(&at, wrong, names.join(", "));
        Ok(())
    }

    /// Encodes a run that does not end: each thread that goes round found what it found in its last round. `false` if
    /// the run ended or no thread's round has a condition.
    fn goes_round(&mut self) -> bool {
        let failure = self.run.meta.failure.as_ref();
        if failure.is_none_or(|failure| failure.kind != FailureKind::Timeout) {
            return false;
        }
        let mut wrong: Option<ExprId> = None;
        let mut at = None;
        for row in self.rounds() {
            let found = self.statements.get(row).and_then(|one| one.condition);
            let Some(found) = found else { continue };
            at = at.max(Some(row));
            wrong = Some(match wrong {
                Some(wrong) => self.exprs.binary(Binary::And, wrong, found),
                None => found,
            });
        }
        let at = at.and_then(|at| self.statements.get(at)).cloned();
        let both = wrong.zip(at);
        if let Some((wrong, at)) = &both {
            self.fails(at, *wrong, String::new());
        }
        both.is_some()
    }

    /// The branches of the last round of each thread that goes round: those since its last one came the time before.
    fn rounds(&self) -> Vec<usize> {
        let mut rows = Vec::new();
        for thread in 0..self.trace.threads.len() {
            let all = self.statements.iter().enumerate().rev();
            let own = all.filter(|(_, one)| one.thread.index() == thread);
            let ends = own.clone().next();
            let waits = |kind| matches!(kind, Kind::Sync(EventKind::Blocked | EventKind::End));
            if ends.is_some_and(|(_, one)| waits(one.kind)) {
                continue;
            }
            let mut own = own.filter(|(_, one)| one.kind == Kind::Branch);
            let Some((row, last)) = own.next() else {
                continue;
            };
            let earlier: Vec<usize> = own
                .clone()
                .take_while(|(_, one)| one.place != last.place)
                .map(|(row, _)| row)
                .collect();
            let is_round = own.any(|(_, one)| one.place == last.place);
            rows.extend([row].into_iter().chain(earlier).filter(|_| is_round));
        }
        rows
    }

    /// The objects that threads wait for when the run ends.
    fn waiting(&self, order: &[StepId]) -> BTreeMap<ThreadId, LocationId> {
        let steps = order
            .iter()
            .filter_map(|id| Some((id, self.trace.step(*id)?)));
        let waits = steps.filter_map(|(id, step)| match step.action {
            Action::Sync {
                kind: EventKind::Blocked,
                object,
                ..
            } => Some((id.thread, object)),
            _ => None,
        });
        waits.collect()
    }

    /// Encodes a failure without a model: the values that the failing thread read at the site of the failure.
    /// `false` if it read nothing there.
    fn values_failed(&mut self) -> bool {
        let is_concrete = self
            .trace
            .threads
            .iter()
            .all(|thread| thread.path.is_empty());
        let failure = self
            .run
            .events
            .iter()
            .find(|(_, event)| event.kind == EventKind::Failure);
        let Some((_, failure)) = failure.filter(|_| is_concrete) else {
            return false;
        };
        let place = self.site_place(failure.site);
        let own = self.statements.iter().enumerate().rev();
        let reads = own
            .filter(|(_, one)| one.thread == failure.thread && one.kind == Kind::Read)
            .take_while(|(_, one)| one.place.line == place.line && one.place.file == place.file);
        let reads: Vec<_> = reads
            .filter_map(|(_, one)| one.makes.zip(one.recorded))
            .collect();
        let mut wrong: Option<ExprId> = None;
        for (made, bits) in reads.into_iter().rev() {
            let width = self.vars.get(made.index()).map_or(1, |var| var.width);
            let (found, number) = (
                self.exprs.symbol(made, width),
                self.exprs.number(bits, width),
            );
            let is_so = self.exprs.compare(Comparison::Eq, found, number);
            wrong = Some(match wrong {
                Some(wrong) => self.exprs.binary(Binary::And, wrong, is_so),
                None => is_so,
            });
        }
        let Some(wrong) = wrong else {
            return false;
        };
        let mut at = blank(failure.thread, Kind::Failure, place);
        at.site = failure.site;
        self.fails(&at, wrong, String::new());
        true
    }
}
