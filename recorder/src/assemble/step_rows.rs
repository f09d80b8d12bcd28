//! The parts of rows that the drafts of one step have in common, worked out once.

use super::{
    drafts::Drafts,
    moved::{Moved, NO_VARIABLE},
    steps::{StepId, has},
};
use unsnarl_trace::{
    Event, EventKind, LocationId, PointId, SiteId, StackId, ThreadId, model::flags,
};

/// The rows of a step as far as they do not depend on the draft.
#[derive(Clone, Copy)]
pub(super) struct StepRow {
    pub id: StepId,
    /// The place of its instruction.
    pub there: SourceHome,
    pub point: PointId,
    pub thread: ThreadId,
    pub kind: EventKind,
    /// Bits of [`has`].
    pub has: u8,
    /// Nothing is known of its drafts but what stands in them.
    pub is_plain: bool,
    /// The compiler may have moved it away from its line.
    pub may_move: bool,
    /// The variable that the last one accessed, and where the source does that.
    pub accessed: u32,
    pub home: SourceHome,
}

/// The place of an access in the source, with the flags that say whether it was moved there.
#[derive(Clone, Copy)]
pub(super) struct SourceHome {
    pub site: SiteId,
    pub stack: StackId,
    pub flags: u16,
}

impl StepRow {
    /// Those of the step with this number.
    pub fn of(id: StepId, drafts: &Drafts) -> StepRow {
        let step = drafts.steps.get(id);
        let origin = drafts.origin(step.origin);
        let there = SourceHome {
            site: origin.site,
            stack: origin.stack,
            flags: step.flags,
        };
        StepRow {
            id,
            there,
            point: origin.point,
            thread: ThreadId(step.thread),
            kind: step.kind,
            has: step.has,
            is_plain: step.has & (has::OLD | has::SKIPPED) == 0
                && step.flags & flags::UNFINISHED == 0,
            may_move: Moved::may_move(step.kind, step.flags),
            accessed: NO_VARIABLE,
            home: there,
        }
    }

    /// A row of the step without location and values.
    #[inline(always)]
    pub fn event(&self, seq: u64, home: SourceHome) -> Event {
        Event {
            seq,
            thread: self.thread,
            kind: self.kind,
            site: home.site,
            location: LocationId(0),
            size: 0,
            flags: home.flags,
            value: None,
            old: None,
            stack: home.stack,
            point: self.point,
        }
    }
}
