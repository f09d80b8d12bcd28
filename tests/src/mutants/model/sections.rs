//! Critical sections.

use super::{BaseProgram, Effect, MutatedLockStatement, contains, last_name};
use crate::mutants::syntax::{
    MutatedSource, ancestors, before, behind, descendants, is_block, is_jump,
};
use std::ops::Range;
use tree_sitter::Node;

/// Calls that wake threads which wait for a condition or a semaphore.
pub const SIGNALS: [&str; 7] = [
    "pthread_cond_signal",
    "pthread_cond_broadcast",
    "cnd_signal",
    "cnd_broadcast",
    "notify_one",
    "notify_all",
    "sem_post",
];

/// Statements between taking a lock and giving it back.
#[derive(Clone, Debug)]
pub struct LockedStatements<'s> {
    /// Statement that takes the lock.
    pub acquire: MutatedLockStatement<'s>,
    /// Statement that releases it at the end; `None` where a guard's end does it.
    pub release: Option<Node<'s>>,
    /// Statements that release it before a jump out of the section.
    pub early: Vec<Node<'s>>,
    /// The statements between.
    pub body: Vec<Node<'s>>,
}

/// A section with the parts of the text that its statements and what they call take up.
pub(super) struct Reached<'s> {
    pub(super) section: LockedStatements<'s>,
    pub(super) ranges: Vec<Range<usize>>,
}

impl<'s> BaseProgram<'s> {
    /// All critical sections, in the order of the text.
    pub fn sections(&self) -> Vec<LockedStatements<'s>> {
        let reached = self.sections.iter();
        reached.map(|one| one.section.clone()).collect()
    }

    pub(super) fn find_sections(&self) -> Vec<Reached<'s>> {
        let statements = descendants(self.source.root()).into_iter();
        let acquires = statements.filter_map(|one| self.locking(one));
        acquires
            .filter(|one| one.effect == Effect::Acquire)
            .filter_map(|acquire| self.section(acquire))
            .map(|section| Reached {
                ranges: self.reach(&section.body),
                section,
            })
            .collect()
    }

    fn section(&self, acquire: MutatedLockStatement<'s>) -> Option<LockedStatements<'s>> {
        acquire
            .statement
            .parent()
            .filter(|block| is_block(*block))?;
        let rest = behind(acquire.statement);
        if acquire.guard.is_some() {
            return Some(LockedStatements {
                acquire,
                release: None,
                early: Vec::new(),
                body: rest,
            });
        }
        let release_at = rest
            .iter()
            .position(|one| self.releases(*one, &acquire.lock))?;
        let body: Vec<Node> = rest.iter().take(release_at).copied().collect();
        let inner: Vec<Node> = body.iter().flat_map(|one| descendants(*one)).collect();
        // Where the lock is held elsewhere too, or not all the time, the statements between are not the section.
        if inner
            .iter()
            .any(|one| self.opens(*one, &acquire.lock, &body))
        {
            return None;
        }
        let early = inner
            .into_iter()
            .filter(|one| self.releases(*one, &acquire.lock));
        Some(LockedStatements {
            early: early.collect(),
            release: rest.get(release_at).copied(),
            body,
            acquire,
        })
    }

    fn releases(&self, statement: Node<'s>, lock: &str) -> bool {
        let locking = self.locking(statement);
        locking.is_some_and(|one| one.effect == Effect::Release && one.lock == lock)
    }

    /// Returns whether the node takes the lock of a section with this body once more, or leaves it with the lock
    /// held.
    fn opens(&self, node: Node<'s>, lock: &str, body: &[Node<'s>]) -> bool {
        let locking = self.locking(node);
        let again = locking.is_some_and(|one| one.effect == Effect::Acquire && one.lock == lock);
        let is_released = || {
            before(node)
                .first()
                .is_some_and(|one| self.releases(*one, lock))
        };
        again || is_jump(node) && !is_released() && escapes(node, body)
    }

    /// The innermost section around a node.
    pub fn section_of(&self, node: Node<'s>) -> Option<LockedStatements<'s>> {
        let holds =
            |section: &LockedStatements| section.body.iter().any(|one| contains(*one, node));
        self.sections().into_iter().rfind(holds)
    }

    /// Ranges of a section: its lines and the functions that it calls.
    pub fn guarded(&self, section: &LockedStatements<'s>) -> Vec<Range<usize>> {
        let mut ranges = self.reach(&section.body);
        ranges.push(section.acquire.statement.byte_range());
        ranges.extend(section.release.map(|node| node.byte_range()));
        ranges.extend(self.told_of(section).map(|node| node.byte_range()));
        ranges
    }

    /// The signal behind a section, which announces its change.
    fn told_of(&self, section: &LockedStatements<'s>) -> Option<Node<'s>> {
        let end = match section.release {
            Some(release) => release,
            None => section.acquire.statement.parent()?,
        };
        let next = behind(end).first().copied()?;
        let call = self.source.statement_call(next)?;
        SIGNALS.contains(&call.name).then_some(next)
    }
}

/// Returns whether a jump leads out of these statements. A break or continue does not if its loop is among them.
fn escapes(jump: Node, body: &[Node]) -> bool {
    let is_local = matches!(jump.kind(), "break_statement" | "continue_statement");
    let is_around = |node: &Node| {
        let kinds = [
            "for_statement",
            "while_statement",
            "do_statement",
            "switch_statement",
            "for_range_loop",
        ];
        kinds.contains(&node.kind()) && body.iter().any(|one| contains(*one, *node))
    };
    let in_lambda = |node: &Node| {
        node.kind() == "lambda_expression" && body.iter().any(|one| contains(*one, *node))
    };
    let mut chain = ancestors(jump);
    !chain.any(|node| is_local && is_around(&node) || in_lambda(&node))
}

impl<'s> LockedStatements<'s> {
    /// All statements that give the lock back.
    pub fn releases(&self) -> impl Iterator<Item = Node<'s>> {
        self.early.iter().copied().chain(self.release)
    }

    /// Returns whether the variable that holds the lock, or the lock, is used in between, as by a wait.
    pub fn uses_lock(&self, source: &MutatedSource) -> bool {
        let name = match &self.acquire.guard {
            Some(guard) => guard.as_str(),
            None => last_name(&self.acquire.lock),
        };
        let inner = self.body.iter().flat_map(|one| source.calls(*one));
        inner
            .filter(|call| !self.early.iter().any(|early| contains(*early, call.node)))
            .any(|call| {
                let in_arguments = call
                    .arguments
                    .iter()
                    .any(|one| source.names(*one).contains(&name));
                let is_method = call.receiver == Some(name);
                // A condition that knows its lock is waited for without naming it.
                let is_bound = matches!(call.name, "cnd_wait" | "pthread_cond_wait")
                    && call.arguments.len() < 2;
                in_arguments && call.name.contains("wait") || is_method || is_bound
            })
    }
}
