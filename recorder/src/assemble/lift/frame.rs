//! A function's frame as separate objects: each variable that the debug info places there is one, the slots that only
//! the code itself uses are one together.
//!
//! The machine code does not say which object an address in the frame is meant for. Where one may be meant for the end
//! of an object or for a place outside of all of them, as optimized loops have it, the whole frame is one object: its
//! variables then have no names, but addresses are never taken for those of others.

use super::{debug::SourceVariable, decode::MachineCode, stack::StackState};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use std::collections::BTreeSet;

/// Bound on a variable's distance from the canonical frame address.
const FARTHEST: i64 = 1 << 20;
/// Bound on the size of an object that begins where no variable does.
const MOST: i64 = 1 << 20;

/// Memory of the frame that is one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrameObject {
    pub from: i64,
    pub to: i64,
    /// The variable that it is: row of the function's.
    pub variable: Option<usize>,
    /// `true` for a slot that only plain accesses of the code use.
    is_slot: bool,
}

/// The objects of a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameObjects {
    /// By offset, without overlap.
    parts: Vec<FrameObject>,
    /// Bounds of the object that holds all slots.
    slots: Option<(i64, i64)>,
}

/// A use of the frame by an instruction.
#[derive(Clone, Copy, Debug)]
enum FrameUse {
    /// An access of so many bytes.
    Access(i64, i64),
    /// An address that is computed, or the base of one.
    Address(i64),
}

impl FrameObjects {
    /// Divides the frame of a function with these variables and their sizes.
    pub fn new(
        code: &MachineCode,
        states: &[StackState],
        (variables, sizes): (&[SourceVariable], &[u64]),
        is_optimized: bool,
    ) -> Result<FrameObjects, String> {
        let uses = frame_uses(code, states)?;
        let mut objects = FrameObjects::default();
        for (row, (variable, size)) in variables.iter().zip(sizes).enumerate() {
            let size = i64::try_from(*size).map_err(|_| "a variable is too large")?;
            if !(-FARTHEST..FARTHEST).contains(&variable.offset) {
                return Err("a variable lies nowhere".into());
            }
            let to = variable.offset + size.clamp(1, MOST);
            objects.add(variable.offset, to, Some(row));
        }
        let accesses = uses.iter().filter_map(FrameUse::access);
        for (from, size) in accesses.collect::<BTreeSet<_>>() {
            objects.add(from, from.saturating_add(size), None);
        }
        let addresses: BTreeSet<i64> = uses.iter().filter_map(FrameUse::address).collect();
        for at in addresses {
            if is_optimized && objects.is_ambiguous(at) {
                objects.join();
                break;
            }
            objects.give_room(at);
        }
        let slots = objects.parts.iter().filter(|part| part.is_slot);
        let bounds = slots.fold(None, |bounds: Option<(i64, i64)>, part| {
            let (from, to) = bounds.unwrap_or((part.from, part.to));
            Some((from.min(part.from), to.max(part.to)))
        });
        objects.slots = bounds;
        Ok(objects)
    }

    /// Adds bytes; what overlaps becomes one object.
    fn add(&mut self, from: i64, to: i64, variable: Option<usize>) {
        let mut new = FrameObject {
            from,
            to,
            variable,
            is_slot: variable.is_none(),
        };
        let overlaps = |part: &FrameObject| part.from < to && from < part.to;
        let inside = |part: &FrameObject| part.from <= from && to <= part.to;
        if variable.is_none() && self.parts.iter().any(inside) {
            return;
        }
        for part in self.parts.iter().filter(|part| overlaps(part)) {
            let is_within = part.variable.is_none() && from <= part.from && part.to <= to;
            new.variable = new.variable.filter(|_| is_within);
            new.is_slot &= part.is_slot;
            new.from = new.from.min(part.from);
            new.to = new.to.max(part.to);
        }
        self.parts.retain(|part| !overlaps(part));
        self.parts.push(new);
        self.parts.sort_by_key(|part| part.from);
    }

    fn part(&self, at: i64) -> Option<&FrameObject> {
        self.parts
            .iter()
            .find(|part| (part.from..part.to).contains(&at))
    }

    /// Returns whether an address may be meant for another object than the one that it lies in.
    fn is_ambiguous(&self, at: i64) -> bool {
        // Loops end behind arrays and structures, not behind single numbers.
        let is_large = |part: &FrameObject| part.to - part.from > 8 && !part.is_slot;
        let is_end = self
            .parts
            .iter()
            .any(|part| part.to == at && is_large(part));
        is_end || self.part(at).is_none_or(|part| part.is_slot)
    }

    /// Makes an object of what lies between an address and the next object, unless it lies in one.
    fn give_room(&mut self, at: i64) {
        if let Some(part) = self
            .parts
            .iter_mut()
            .find(|part| (part.from..part.to).contains(&at))
        {
            part.is_slot = false;
            return;
        }
        let next = self
            .parts
            .iter()
            .map(|part| part.from)
            .find(|from| *from > at);
        let to = next.unwrap_or(at.saturating_add(8));
        self.parts.push(FrameObject {
            from: at,
            to,
            variable: None,
            is_slot: false,
        });
        self.parts.sort_by_key(|part| part.from);
    }

    /// Makes one object of everything.
    fn join(&mut self) {
        let from = self.parts.iter().map(|part| part.from).min().unwrap_or(-8);
        let to = self.parts.iter().map(|part| part.to).max().unwrap_or(0);
        self.parts = vec![FrameObject {
            from: from.saturating_sub(MOST / 2),
            to: to.saturating_add(MOST / 2),
            variable: None,
            is_slot: false,
        }];
    }

    /// The objects to allocate: bounds and variable of each.
    pub fn allocated(&self) -> Vec<(i64, i64, Option<usize>)> {
        let whole = self.parts.iter().filter(|part| !part.is_slot);
        let whole = whole.map(|part| (part.from, part.to, part.variable));
        let slots = self.slots.map(|(from, to)| (from, to, None));
        whole.chain(slots).collect()
    }

    /// The object that holds an offset: its number among those to allocate, and the distance from its beginning.
    pub fn find(&self, at: i64) -> Option<(usize, i64)> {
        let part = self.part(at)?;
        let whole = self.parts.iter().filter(|part| !part.is_slot);
        if part.is_slot {
            let (from, _) = self.slots?;
            return Some((whole.count(), at - from));
        }
        let number = whole.take_while(|other| other.from < part.from).count();
        Some((number, at - part.from))
    }
}

impl FrameUse {
    fn access(&self) -> Option<(i64, i64)> {
        match self {
            FrameUse::Access(at, size) => Some((*at, *size)),
            FrameUse::Address(_) => None,
        }
    }

    fn address(&self) -> Option<i64> {
        match self {
            FrameUse::Access(..) => None,
            FrameUse::Address(at) => Some(*at),
        }
    }
}

fn frame_uses(code: &MachineCode, states: &[StackState]) -> Result<Vec<FrameUse>, String> {
    let mut uses = Vec::new();
    let mut factory = InstructionInfoFactory::new();
    for (block, state) in code.blocks.iter().zip(states) {
        let mut state = *state;
        for one in &block.instructions {
            note(one, &state, &mut uses);
            state.step(one, &mut factory)?;
        }
    }
    Ok(uses)
}

fn note(one: &Instruction, state: &StackState, uses: &mut Vec<FrameUse>) {
    match one.mnemonic() {
        Mnemonic::Push => uses.push(FrameUse::Access(state.pointer - 8, 8)),
        Mnemonic::Pop => uses.push(FrameUse::Access(state.pointer, 8)),
        Mnemonic::Leave => uses.extend(state.frame.map(|frame| FrameUse::Access(frame, 8))),
        _ => {}
    }
    let has_memory = (0..one.op_count()).any(|at| one.op_kind(at) == OpKind::Memory);
    let is_pointer = matches!(one.op0_register(), Register::RSP | Register::RBP);
    let moves_pointer = one.mnemonic() == Mnemonic::Lea && is_pointer;
    if has_memory
        && !moves_pointer
        && let Some(at) = state.operand(one)
    {
        let size = i64::try_from(one.memory_size().size()).unwrap_or(0);
        let is_address = one.mnemonic() == Mnemonic::Lea || one.memory_index() != Register::None;
        uses.push(match is_address || size == 0 {
            true => FrameUse::Address(at),
            false => FrameUse::Access(at, size),
        });
    }
    // The pointer itself as a value.
    let is_move = one.mnemonic() == Mnemonic::Mov && one.op1_kind() == OpKind::Register;
    if is_move
        && !is_pointer
        && let Some(at) = state.offset(one.op1_register())
    {
        uses.push(FrameUse::Address(at));
    }
}
