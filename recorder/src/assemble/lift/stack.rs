//! The stack and frame pointer as offsets from the canonical frame address, at each place of a function.

use super::decode::MachineCode;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// Bound on the distance from the canonical frame address.
const FARTHEST: i64 = 1 << 20;

/// The positions of the pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StackState {
    /// The stack pointer.
    pub pointer: i64,
    /// The frame pointer, if the register holds one.
    pub frame: Option<i64>,
}

impl StackState {
    /// At a function's entry the return address is the last word.
    pub const ENTRY: StackState = StackState {
        pointer: -8,
        frame: None,
    };

    /// The offset that a register holds.
    pub fn offset(&self, register: Register) -> Option<i64> {
        match register {
            Register::RSP => Some(self.pointer),
            Register::RBP => self.frame,
            _ => None,
        }
    }

    /// The offset of an instruction's memory operand in the frame, without its index.
    pub fn operand(&self, one: &Instruction) -> Option<i64> {
        let base = self.offset(one.memory_base())?;
        base.checked_add(one.memory_displacement64() as i64)
    }

    /// Goes past an instruction.
    pub fn step(
        &mut self,
        one: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Result<(), String> {
        let to_stack = one.op0_kind() == OpKind::Register && one.op0_register() == Register::RSP;
        let to_frame = one.op0_kind() == OpKind::Register && one.op0_register() == Register::RBP;
        match one.mnemonic() {
            Mnemonic::Push => self.pointer -= 8,
            Mnemonic::Pop => {
                self.pointer += 8;
                if to_frame {
                    self.frame = None;
                }
            }
            Mnemonic::Leave => {
                self.pointer = self.frame.ok_or("its frame pointer is not known")? + 8;
                self.frame = None;
            }
            Mnemonic::Call | Mnemonic::Ret => {}
            Mnemonic::Mov if (to_stack || to_frame) && one.op1_kind() == OpKind::Register => {
                self.moves(to_stack, self.offset(one.op1_register()))?;
            }
            Mnemonic::Lea if to_stack || to_frame => {
                let has_index = one.memory_index() != Register::None;
                self.moves(to_stack, self.operand(one).filter(|_| !has_index))?;
            }
            Mnemonic::Add | Mnemonic::Sub if to_stack => {
                let by = one
                    .try_immediate(1)
                    .map_err(|_| "its stack grows by a number that is computed")?;
                let by = by as i64;
                let by = if one.mnemonic() == Mnemonic::Sub {
                    by.checked_neg()
                } else {
                    Some(by)
                };
                self.moves(true, by.and_then(|by| self.pointer.checked_add(by)))?;
            }
            _ => self.other(one, factory)?,
        }
        match (-FARTHEST..=FARTHEST).contains(&self.pointer) {
            true => Ok(()),
            false => Err("its frame is too large".into()),
        }
    }

    fn moves(&mut self, is_stack: bool, to: Option<i64>) -> Result<(), String> {
        match (is_stack, to) {
            (true, Some(to)) => self.pointer = to,
            (true, None) => return Err("its stack pointer is not known".into()),
            (false, to) => self.frame = to,
        }
        Ok(())
    }

    fn other(
        &mut self,
        one: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Result<(), String> {
        for used in factory.info(one).used_registers() {
            let is_written = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            match used.register().full_register() {
                Register::RSP if is_written => return Err("it aligns its stack".into()),
                Register::RBP if is_written => self.frame = None,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The state at the beginning of each block, which is the same on all ways to it.
pub(super) fn stack_states(code: &MachineCode) -> Result<Vec<StackState>, String> {
    let mut states: Vec<Option<StackState>> = vec![None; code.blocks.len()];
    if let Some(first) = states.first_mut() {
        *first = Some(StackState::ENTRY);
    }
    let mut factory = InstructionInfoFactory::new();
    for at in code.order() {
        let (Some(Some(mut state)), Some(block)) = (states.get(at).copied(), code.blocks.get(at))
        else {
            continue;
        };
        for one in &block.instructions {
            state.step(one, &mut factory)?;
        }
        for to in block.after() {
            let Some(slot) = states.get_mut(to) else {
                continue;
            };
            match slot {
                None => *slot = Some(state),
                Some(known) if known.pointer != state.pointer => {
                    return Err("its stack pointer depends on the way".into());
                }
                Some(known) if known.frame != state.frame => {
                    return Err("its frame pointer depends on the way".into());
                }
                Some(_) => {}
            }
        }
    }
    let unreached = StackState::ENTRY;
    Ok(states
        .into_iter()
        .map(|it| it.unwrap_or(unreached))
        .collect())
}
