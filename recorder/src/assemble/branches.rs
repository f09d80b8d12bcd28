//! Branches: from blocks that were entered to the places where the program decided to enter them.
//!
//! The compiler's callback names the block. The machine code between the previous callback and this one tells whether
//! there was a choice, and where in the source it stands: a conditional jump on the way is a branch, its line the
//! line of the condition. A block that has to follow the one before is no event.

use super::{image::Image, origins::Origin, walk::EventDraft, walk::LogWalk};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use unsnarl_trace::{BlockRow, EventKind, PointId, SiteId, StackId};

/// The way from one block to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockEdge {
    /// A jump at this address led there and could have gone elsewhere.
    Decided(u64),
    /// The only way: no other one leads on.
    Straight,
    /// The code between the two does not show it: an exception, `longjmp`, a function's first block.
    Unknown,
}

/// The blocks of one run.
#[derive(Default)]
pub(super) struct RunBlocks {
    /// Rows of the run's table of blocks.
    pub rows: Vec<BlockRow>,
    ids: FxHashMap<u64, Option<u64>>,
    ways: FxHashMap<(u64, u64), Option<(SiteId, PointId)>>,
}

/// The function that the callback calls.
const CALLBACK: &str = "__sanitizer_cov_trace_pc";
/// Bound for the instructions that are examined from one block to the next.
const MAX_INSTRUCTIONS: usize = 4096;
/// Bound on the bytes of straight code that are read.
const MAX_STRAIGHT: usize = 4096;

impl LogWalk<'_> {
    /// Notes that a thread has entered the block that calls back from just before `pc`.
    pub fn block(&mut self, thread: u16, pc: u64) {
        let index = usize::from(thread);
        let function = self.function_of(pc);
        let top = self
            .calls
            .get_mut(index)
            .and_then(|calls| calls.frames.last_mut());
        let code = top
            .as_ref()
            .and_then(|top| self.entries.get(top.entry))
            .and_then(|entry| entry.code);
        let is_here = function.is_some() && function == code;
        let mut stack = StackId(0);
        let mut from = 0;
        if let Some(top) = top.filter(|_| is_here) {
            stack = top.stack;
            from = std::mem::replace(&mut top.block, pc);
        }
        self.seen_at(index, pc);
        let Some((site, point)) = self.decision(from, pc) else {
            return;
        };
        let Some(id) = self.block_id(pc) else { return };
        let origin = self.drafts.origin_id(Origin { site, stack, point });
        self.drafts.push(&EventDraft {
            value: Some(id),
            ..EventDraft::new(self.seq, thread, EventKind::Branch, origin)
        });
        self.seq += 1;
    }

    /// The branch from one block to another; the block itself if there was no block before or the way is not known;
    /// `None` if there was nothing to decide or the branch is not in the user's code.
    fn decision(&mut self, from: u64, to: u64) -> Option<(SiteId, PointId)> {
        if let Some(known) = self.blocks.ways.get(&(from, to)) {
            return *known;
        }
        let pc = match self.way(from, to) {
            BlockEdge::Decided(jump) => Some(jump.wrapping_add(1)),
            BlockEdge::Straight => None,
            BlockEdge::Unknown if from == 0 => None,
            BlockEdge::Unknown => Some(to),
        };
        let found = pc.and_then(|pc| Some((self.user_site(pc)?, self.point(pc))));
        self.blocks.ways.insert((from, to), found);
        found
    }

    fn way(&mut self, from: u64, to: u64) -> BlockEdge {
        let (Some(start), Some(end)) = (
            self.memory.modules.locate(from),
            self.memory.modules.locate(to),
        ) else {
            return BlockEdge::Unknown;
        };
        if start.module != end.module {
            return BlockEdge::Unknown;
        }
        match way(&start.image, start.address, end.address) {
            BlockEdge::Decided(jump) => {
                BlockEdge::Decided(jump.wrapping_add(from.wrapping_sub(start.address)))
            }
            other => other,
        }
    }

    /// A number for a block that is the same in every run: its address in the file, and for libraries
    /// the file's name in the upper bits.
    fn block_id(&mut self, pc: u64) -> Option<u64> {
        if let Some(known) = self.blocks.ids.get(&pc) {
            return *known;
        }
        let row = self.block_row(pc);
        self.blocks.rows.extend(row);
        let id = row.map(|row| row.id);
        self.blocks.ids.insert(pc, id);
        id
    }

    /// The row of a block, by the return address of its callback.
    fn block_row(&mut self, pc: u64) -> Option<BlockRow> {
        let at = self.memory.modules.locate(pc.wrapping_sub(1))?;
        let address = at.address.wrapping_add(1);
        let start = at
            .image
            .code_symbol(at.address)
            .map(|(symbol, _)| symbol.start);
        Some(BlockRow {
            id: address ^ label(&at.image.prefix) << 48,
            site: self.user_site(pc).unwrap_or_default(),
            point: self.point(pc),
            is_entry: start
                .is_some_and(|start| way(&at.image, start, address) == BlockEdge::Straight),
        })
    }
}

impl LogWalk<'_> {
    /// The row of the block that begins at an address, in path mode.
    pub fn block_at(&mut self, start: u64) -> Option<BlockRow> {
        let at = self.memory.modules.locate(start)?;
        let is_entry = at.image.landmarks.is_function(at.address);
        Some(BlockRow {
            id: at.address ^ label(&at.image.prefix) << 48,
            site: self.user_site(start.wrapping_add(1)).unwrap_or_default(),
            point: match is_entry {
                true => self.first_point(start),
                false => self.first_point_until(start, straight_end(&at.image, at.address)),
            },
            is_entry,
        })
    }
}

/// Sixteen bits of a file's name; 0 for the program itself.
fn label(prefix: &str) -> u64 {
    let hash = prefix.bytes().fold(0u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash & 0xffff
}

/// The shortest way from behind one callback to the callback that returns to `to`.
pub(super) fn way(image: &Image, from: u64, to: u64) -> BlockEdge {
    let mut queue = VecDeque::from([(from, None)]);
    let mut seen = FxHashSet::default();
    let mut jumps_anywhere = None;
    let mut left = MAX_INSTRUCTIONS;
    while let Some((start, decided)) = queue.pop_front() {
        if !seen.insert(start) {
            continue;
        }
        let stretch = stretch(image, start, to, &mut left);
        match stretch {
            JumpFreeEnd::Arrived => return decided.map_or(BlockEdge::Straight, BlockEdge::Decided),
            JumpFreeEnd::Over => {}
            JumpFreeEnd::Jump(target) => queue.push_back((target, decided)),
            JumpFreeEnd::Branch(at, next, target) => {
                queue.push_back((next, Some(at)));
                queue.push_back((target, Some(at)));
            }
            JumpFreeEnd::Anywhere(at) => jumps_anywhere = jumps_anywhere.or(Some(at)),
        }
    }
    jumps_anywhere.map_or(BlockEdge::Unknown, BlockEdge::Decided)
}

/// The end of a stretch of code without jumps.
enum JumpFreeEnd {
    Arrived,
    /// Another callback, a return, code that cannot be read.
    Over,
    Jump(u64),
    /// A conditional jump: its address, that of the next instruction, and its target.
    Branch(u64, u64, u64),
    /// A jump through a table.
    Anywhere(u64),
}

fn stretch(image: &Image, start: u64, to: u64, left: &mut usize) -> JumpFreeEnd {
    let Some(code) = image.code_at(start) else {
        return JumpFreeEnd::Over;
    };
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() && *left > 0 {
        *left -= 1;
        decoder.decode_out(&mut instruction);
        match instruction.flow_control() {
            FlowControl::Next => {}
            FlowControl::Call | FlowControl::IndirectCall => {
                if instruction.next_ip() == to {
                    return JumpFreeEnd::Arrived;
                }
                if calls_back(image, &instruction) {
                    return JumpFreeEnd::Over;
                }
            }
            FlowControl::UnconditionalBranch => {
                return JumpFreeEnd::Jump(instruction.near_branch_target());
            }
            FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                return JumpFreeEnd::Branch(instruction.ip(), instruction.next_ip(), target);
            }
            FlowControl::IndirectBranch => return JumpFreeEnd::Anywhere(instruction.ip()),
            _ => return JumpFreeEnd::Over,
        }
    }
    JumpFreeEnd::Over
}

/// The end of the straight code that begins at an address.
fn straight_end(image: &Image, start: u64) -> u64 {
    let code = image.code_at(start).unwrap_or_default();
    let code = code.get(..MAX_STRAIGHT).unwrap_or(code);
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let goes_on = matches!(
            instruction.flow_control(),
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall
        );
        if !goes_on {
            break;
        }
    }
    decoder.ip()
}

/// Returns whether the instruction calls the callback itself, directly, by a stub or through a pointer.
fn calls_back(image: &Image, call: &Instruction) -> bool {
    debug_assert_eq!(call.mnemonic(), Mnemonic::Call);
    let name = match call.op0_kind() {
        OpKind::NearBranch64 => image.called_name(call.near_branch_target()),
        _ if call.is_ip_rel_memory_operand() => image.slot_name(call.ip_rel_memory_address()),
        _ => None,
    };
    name == Some(CALLBACK)
}
