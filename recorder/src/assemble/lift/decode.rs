//! Functions as blocks of machine instructions.

use super::file::LoadedFile;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::{BTreeMap, BTreeSet};
use unsnarl_trace::program::flow::reverse_postorder;

/// Bound on the size of a function in bytes.
const LONGEST: u64 = 1 << 20;
/// Bound on the cases of a switch.
const MOST_CASES: u64 = 1 << 12;

/// The end of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// It goes on with a block.
    Jump(usize),
    /// Its last instruction decides.
    Branch { yes: usize, no: usize },
    /// It goes to one of these by the number that the block before it has compared, from 0.
    Switch { cases: Vec<usize>, default: usize },
    /// It returns.
    Return,
    /// Nothing comes behind it.
    Nothing,
}

/// A block of machine instructions.
#[derive(Clone, Debug)]
pub(super) struct MachineBlock {
    pub instructions: Vec<Instruction>,
    pub end: End,
    pub before: Vec<usize>,
}

/// A function's blocks, the entry first; it has no block before it.
#[derive(Clone, Debug, Default)]
pub(super) struct MachineCode {
    pub blocks: Vec<MachineBlock>,
}

/// Splits the function with these ranges into blocks; `ends` are the addresses behind calls that do not return.
pub(super) fn decode(
    file: &LoadedFile,
    (entry, ranges): (u64, &[(u64, u64)]),
    is_final: &dyn Fn(&Instruction) -> bool,
) -> Result<MachineCode, String> {
    let size = ranges
        .iter()
        .fold(0u64, |size, (from, to)| size.saturating_add(to - from));
    if size > LONGEST {
        return Err("it is too long".into());
    }
    let mut found = Found {
        file,
        ranges,
        is_final,
        instructions: BTreeMap::new(),
        leaders: BTreeSet::from([entry]),
        switches: BTreeMap::new(),
    };
    found.follow(entry)?;
    found.blocks(entry)
}

struct Switch {
    cases: Vec<u64>,
    default: u64,
}

struct Found<'a> {
    file: &'a LoadedFile,
    ranges: &'a [(u64, u64)],
    is_final: &'a dyn Fn(&Instruction) -> bool,
    instructions: BTreeMap<u64, Instruction>,
    leaders: BTreeSet<u64>,
    switches: BTreeMap<u64, Switch>,
}

impl Found<'_> {
    fn is_inside(&self, address: u64) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|(from, to)| (*from..*to).contains(&address))
    }

    /// Decodes everything that can be reached.
    fn follow(&mut self, entry: u64) -> Result<(), String> {
        let mut open = vec![entry];
        while let Some(at) = open.pop() {
            self.straight(at, &mut open)?;
        }
        Ok(())
    }

    /// Decodes up to the next instruction that does not go on with the one behind it.
    fn straight(&mut self, from: u64, open: &mut Vec<u64>) -> Result<(), String> {
        let code = self.file.bytes(from);
        let mut decoder = Decoder::with_ip(64, code, from, DecoderOptions::NONE);
        let mut at = from;
        while self.is_inside(at) && !self.instructions.contains_key(&at) {
            let one = decoder.decode();
            if one.code() == Code::INVALID {
                return Err(format!("the code at {at:#x} is not understood"));
            }
            self.instructions.insert(at, one);
            at = one.next_ip();
            match one.flow_control() {
                FlowControl::Next | FlowControl::IndirectCall => {}
                FlowControl::Call if (self.is_final)(&one) => return Ok(()),
                FlowControl::Call => {}
                FlowControl::ConditionalBranch => {
                    self.leads(one.near_branch_target(), open)?;
                    self.leaders.insert(at);
                }
                // A call of another function in the place of a return.
                FlowControl::UnconditionalBranch if self.leaves(&one) => return Ok(()),
                FlowControl::UnconditionalBranch => {
                    return self.leads(one.near_branch_target(), open);
                }
                FlowControl::IndirectBranch => return self.switch(&one, open),
                FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => {
                    return Ok(());
                }
                _ => return Err("it leaves the program".into()),
            }
        }
        Ok(())
    }

    /// Returns whether a jump goes to the beginning of another function.
    fn leaves(&self, jump: &Instruction) -> bool {
        !self.is_inside(jump.near_branch_target())
            && super::calls::callee(self.file, jump).is_some()
    }

    fn leads(&mut self, to: u64, open: &mut Vec<u64>) -> Result<(), String> {
        if !self.is_inside(to) {
            return Err("it jumps to another function".into());
        }
        self.leaders.insert(to);
        open.push(to);
        Ok(())
    }

    /// Reads the table of a switch: the block before compares the number with the last case and leaves when it is
    /// above; the table holds distances from itself.
    fn switch(&mut self, jump: &Instruction, open: &mut Vec<u64>) -> Result<(), String> {
        let unknown = || "it jumps to a computed place".to_owned();
        let (table, bound, default) = self.switch_parts(jump).ok_or_else(unknown)?;
        let mut cases = Vec::new();
        for case in 0..=bound {
            let distance = self
                .file
                .word(table.wrapping_add(4 * case))
                .ok_or_else(unknown)?;
            let to = table.wrapping_add_signed(distance.into());
            self.leads(to, open)?;
            cases.push(to);
        }
        self.leads(default, open)?;
        self.switches.insert(jump.ip(), Switch { cases, default });
        Ok(())
    }

    /// Address of the table, the last case, and the block of all others.
    fn switch_parts(&self, jump: &Instruction) -> Option<(u64, u64, u64)> {
        if jump.op_kind(0) != OpKind::Register {
            return None;
        }
        let mut back = self.instructions.range(..jump.ip()).rev();
        let mut table = None;
        let leaves = loop {
            let (_, one) = back.next()?;
            if one.mnemonic() == Mnemonic::Lea && one.is_ip_rel_memory_operand() {
                table = table.or(Some(one.ip_rel_memory_address()));
            }
            match one.flow_control() {
                FlowControl::ConditionalBranch => break one,
                FlowControl::Next | FlowControl::Call => {}
                _ => return None,
            }
        };
        let (_, compares) = back.next()?;
        let is_above = leaves.mnemonic() == Mnemonic::Ja;
        let is_number = compares.mnemonic() == Mnemonic::Cmp && immediate(compares).is_some();
        let last = immediate(compares).filter(|last| *last < MOST_CASES);
        let table = table.filter(|table| is_above && is_number && !self.file.is_writable(*table));
        Some((table?, last?, leaves.near_branch_target()))
    }

    fn blocks(mut self, entry: u64) -> Result<MachineCode, String> {
        let is_looped = self.leads_back(entry);
        self.leaders.retain(|at| self.instructions.contains_key(at));
        let starts: Vec<u64> = self.leaders.iter().copied().collect();
        // The entry comes first; if something jumps there, an empty block comes before it.
        let shift = usize::from(is_looped);
        let order = |start: u64| {
            let at = starts.binary_search(&start).ok()?;
            let first = starts.binary_search(&entry).ok()?;
            Some(
                shift
                    + match at {
                        at if at == first => 0,
                        at if at < first => at + 1,
                        at => at,
                    },
            )
        };
        let mut blocks: Vec<Option<MachineBlock>> = vec![None; starts.len() + shift];
        if let Some(first) = blocks.first_mut().filter(|_| is_looped) {
            *first = Some(MachineBlock {
                instructions: Vec::new(),
                end: End::Jump(1),
                before: Vec::new(),
            });
        }
        for (row, &start) in starts.iter().enumerate() {
            let next = starts.get(row + 1).copied();
            let block = self.block(start, next, &order);
            if let Some(slot) = order(start).and_then(|at| blocks.get_mut(at)) {
                *slot = Some(block);
            }
        }
        let blocks: Option<Vec<MachineBlock>> = blocks.into_iter().collect();
        let mut code = MachineCode {
            blocks: blocks.ok_or("blocks overlap")?,
        };
        code.note_before();
        Ok(code)
    }

    fn leads_back(&self, entry: u64) -> bool {
        let jumps = self.instructions.values().any(|one| {
            let is_jump = matches!(
                one.flow_control(),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            );
            is_jump && one.near_branch_target() == entry
        });
        let falls = self.instructions.range(..entry).next_back();
        jumps || falls.is_some_and(|(_, one)| one.next_ip() == entry)
    }

    fn block(
        &self,
        start: u64,
        next: Option<u64>,
        order: &dyn Fn(u64) -> Option<usize>,
    ) -> MachineBlock {
        let to = next.unwrap_or(u64::MAX);
        let mut instructions = Vec::new();
        let mut at = start;
        while let Some(one) = self.instructions.get(&at).filter(|_| at < to) {
            instructions.push(*one);
            at = one.next_ip();
        }
        let goes = |to: u64| order(to).map_or(End::Nothing, End::Jump);
        let end = match instructions.last() {
            Some(last) => match last.flow_control() {
                FlowControl::ConditionalBranch => {
                    match (order(last.near_branch_target()), order(at)) {
                        (Some(yes), Some(no)) => End::Branch { yes, no },
                        _ => End::Nothing,
                    }
                }
                FlowControl::UnconditionalBranch if self.leaves(last) => End::Return,
                FlowControl::UnconditionalBranch => goes(last.near_branch_target()),
                FlowControl::IndirectBranch => self.switch_end(last, order),
                FlowControl::Return => End::Return,
                FlowControl::Call if (self.is_final)(last) => End::Nothing,
                FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => goes(at),
                _ => End::Nothing,
            },
            None => End::Nothing,
        };
        MachineBlock {
            instructions,
            end,
            before: Vec::new(),
        }
    }

    fn switch_end(&self, jump: &Instruction, order: &dyn Fn(u64) -> Option<usize>) -> End {
        let Some(switch) = self.switches.get(&jump.ip()) else {
            return End::Nothing;
        };
        let cases: Option<Vec<usize>> = switch.cases.iter().map(|to| order(*to)).collect();
        match (cases, order(switch.default)) {
            (Some(cases), Some(default)) => End::Switch { cases, default },
            _ => End::Nothing,
        }
    }
}

/// The number that an instruction's last operand is.
fn immediate(one: &Instruction) -> Option<u64> {
    let last = one.op_count().checked_sub(1)?;
    one.try_immediate(last).ok()
}

impl MachineBlock {
    /// The blocks that come behind it, each once.
    pub fn after(&self) -> Vec<usize> {
        let mut after = match &self.end {
            End::Jump(to) => vec![*to],
            End::Branch { yes, no } => vec![*yes, *no],
            End::Switch { cases, default } => {
                let all = cases.iter().chain([default]);
                all.copied().collect()
            }
            End::Return | End::Nothing => Vec::new(),
        };
        after.sort_unstable();
        after.dedup();
        after
    }
}

impl MachineCode {
    fn note_before(&mut self) {
        let edges: Vec<Vec<usize>> = self.blocks.iter().map(MachineBlock::after).collect();
        for (from, after) in edges.into_iter().enumerate() {
            for to in after {
                if let Some(block) = self.blocks.get_mut(to) {
                    block.before.push(from);
                }
            }
        }
    }

    /// The blocks in reverse postorder: a block comes behind those that all ways to it pass.
    pub fn order(&self) -> Vec<usize> {
        let ways: Vec<Vec<usize>> = self.blocks.iter().map(MachineBlock::after).collect();
        reverse_postorder(0, &ways)
    }
}
