//! The parts that the drafts of one instruction have in common, by number.

use super::drafts::OriginId;
use unsnarl_trace::EventKind;

/// Number of a [`DraftStep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepId(u32);

impl StepId {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Properties of a draft that most drafts have or lack.
pub(super) mod has {
    pub const VALUE: u8 = 1;
    /// The value points to something.
    pub const POINTEE: u8 = 2;
    /// The value that an update read is known.
    pub const OLD: u8 = 4;
    /// It is not the first part of its access.
    pub const SKIPPED: u8 = 8;
    /// It belongs to the event of the draft before.
    pub const SAME: u8 = 16;
    /// The number of its event does not follow from that of the draft before.
    pub const NUMBER: u8 = 32;
}

/// All that the drafts of an instruction have in common, as long as a thread executes it in one call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DraftStep {
    pub origin: OriginId,
    pub thread: u16,
    pub flags: u16,
    pub kind: EventKind,
    /// Bits of [`has`].
    pub has: u8,
}

impl DraftStep {
    const NONE: DraftStep = DraftStep {
        origin: OriginId::NONE,
        thread: 0,
        flags: 0,
        kind: EventKind::Read,
        has: 0,
    };

    /// Number of the place at which it is looked for first.
    fn slot(&self) -> usize {
        let rest = u64::from(self.thread) << 32 | u64::from(self.flags) << 16;
        let rest = rest | (self.kind as u64) << 8 | u64::from(self.has);
        let mixed = (rest ^ (self.origin.index() as u64) << 24).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as usize % RECENT
    }
}

/// Number of steps that are found again. Others get another number each time: there are more call stacks in a recursion
/// than a table should hold, and most are left for good.
const RECENT: usize = 4096;

/// Steps by number.
pub(super) struct DraftSteps {
    rows: Vec<DraftStep>,
    recent: Box<[(DraftStep, StepId); RECENT]>,
}

impl Default for DraftSteps {
    fn default() -> DraftSteps {
        DraftSteps {
            rows: vec![DraftStep::NONE],
            recent: Box::new([(DraftStep::NONE, StepId(0)); RECENT]),
        }
    }
}

impl DraftSteps {
    /// Number of a step.
    #[inline(always)]
    pub fn id(&mut self, step: DraftStep) -> StepId {
        match self.recent.get(step.slot()) {
            Some((known, id)) if *known == step => *id,
            _ => self.add(step),
        }
    }

    fn add(&mut self, step: DraftStep) -> StepId {
        let id = StepId(self.rows.len() as u32);
        self.rows.push(step);
        if let Some(recent) = self.recent.get_mut(step.slot()) {
            *recent = (step, id);
        }
        id
    }

    /// The step with this number.
    pub fn get(&self, id: StepId) -> DraftStep {
        self.rows
            .get(id.index())
            .copied()
            .unwrap_or(DraftStep::NONE)
    }

    /// All steps by number.
    pub fn rows(&self) -> &[DraftStep] {
        &self.rows
    }
}
