//! Thread-local data of a program: one block, which lies below the address in the segment register.

use super::{
    function::{Lifted, Lifting, OperandPlace},
    unit::{UnitTables, row},
};
use iced_x86::{Instruction, OpKind, Register as Name};
use object::{Object as _, ObjectSection as _, SectionKind};
use unsnarl_trace::program::{Constant, Global, GlobalId, Op, Operand};

/// Name of the block. No variable is called so.
const NAME: &str = "thread-local data";
/// The operation that gives each thread its own copy of a variable.
const ADDRESS: &str = "llvm.threadlocal.address.p0";
/// Bound on the bytes of the block that are known.
const MOST: u64 = 1 << 16;

/// The block as each thread finds it first.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadData {
    /// Bytes from its beginning to the address in the segment register.
    size: u64,
    /// First content, without what is zero at the end.
    bytes: Vec<u8>,
}

impl ThreadData {
    /// Reads the sections of a file.
    pub fn read(file: &object::File<'_>) -> ThreadData {
        let is_local = |kind| matches!(kind, SectionKind::Tls | SectionKind::UninitializedTls);
        let sections = || file.sections().filter(|it| is_local(it.kind()));
        let start = sections().map(|it| it.address()).min().unwrap_or(0);
        let end = sections().map(|it| it.address().saturating_add(it.size()));
        let align = sections().map(|it| it.align()).max().unwrap_or(1).max(1);
        let size = end.max().unwrap_or(0).saturating_sub(start);
        let mut sections = sections();
        let data = sections.find(|it| it.kind() == SectionKind::Tls && it.address() == start);
        let bytes = data.and_then(|it| it.data().ok()).unwrap_or(&[]).to_vec();
        let size = size.checked_next_multiple_of(align).unwrap_or(0);
        match size <= MOST {
            true => ThreadData { size, bytes },
            false => ThreadData::default(),
        }
    }

    /// The row of the block among a unit's variables.
    fn global(&self, tables: &mut UnitTables) -> GlobalId {
        let known = tables.unit.globals.iter();
        let known = known.clone().position(|global| global.name == NAME);
        if let Some(known) = known {
            return GlobalId(row(known));
        }
        let id = GlobalId(row(tables.unit.globals.len()));
        let word = tables.integer(64);
        let mut fields = Vec::new();
        let mut elements = Vec::new();
        for (at, bytes) in (0..self.size).step_by(8).zip(self.bytes.chunks(8)) {
            let bits = bytes.iter().rev();
            let bits = bits.fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
            fields.push((word, at));
            elements.push(tables.constant(Constant::Integer { ty: word, bits }));
        }
        let ty = tables.structure(fields, self.size);
        let initial = tables.constant(Constant::Aggregate { ty, elements });
        tables.unit.globals.push(Global {
            name: NAME.to_owned(),
            ty,
            size: self.size,
            initial: Some(initial),
            is_thread_local: true,
            ..Global::default()
        });
        id
    }
}

impl Lifting<'_> {
    /// The place of a thread's own data that a memory operand names.
    pub(super) fn thread_place(&mut self, one: &Instruction) -> Option<OperandPlace> {
        let is_fixed = one.segment_prefix() == Name::FS
            && one.memory_base() == Name::None
            && one.memory_index() == Name::None;
        let below = (one.memory_displacement64() as i64).checked_neg()?;
        let size = self.file.thread_data.size;
        let is_within = below > 0 && u64::try_from(below).ok()? <= size;
        let end = self.thread_end().filter(|_| is_fixed && is_within)?;
        Some(OperandPlace::at(end, -below))
    }

    /// Reads the address that lies where the segment register points: that itself.
    pub(super) fn takes_thread_address(&mut self, one: &Instruction) -> Lifted {
        let is_it = one.op_kind(1) == OpKind::Memory
            && one.op0_register().is_gpr64()
            && one.segment_prefix() == Name::FS
            && one.memory_base() == Name::None
            && one.memory_index() == Name::None
            && one.memory_displacement64() == 0;
        let end = is_it.then(|| self.thread_end()).flatten()?;
        self.set_register(one.op0_register(), end, 64)
    }

    /// The end of the thread's block; none in a file without one.
    fn thread_end(&mut self) -> Option<Operand> {
        let file = self.file;
        if file.thread_data.size == 0 {
            return None;
        }
        let global = file.thread_data.global(self.body.tables);
        let of = self.body.tables.constant(Constant::Global(global));
        let op = Op::Call {
            callee: Operand::Constant(self.body.tables.function_address(ADDRESS)),
            arguments: vec![Operand::Constant(of)],
            by_value: vec![0],
            normal: None,
            unwind: None,
        };
        let ty = self.body.tables.pointer();
        let block = self.body.emit(op, ty);
        let end = OperandPlace::at(block, i64::try_from(file.thread_data.size).ok()?);
        Some(self.address(&end))
    }
}
