//! Units as text, to look at them.
//!
//! One line for each instruction: its point, the value that it makes and its type, what it does, and where that
//! stands in the source. Constants stand where they are used.

use super::{
    Block, BlockId, Constant, ConstantId, DebugKind, DebugTypeId, Function, Instruction, Op,
    Operand, PlaceId, TypeId, TypeKind, Unit,
};
use std::fmt::{self, Display, Formatter, Write as _};

/// Depth down to which nested constants are written.
const DEEPEST: u32 = 3;
/// Number of elements up to which constants are written.
const MOST: usize = 8;

/// Something that writes itself.
struct Shown<F>(F);

impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Shown<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

fn shown<F: Fn(&mut Formatter<'_>) -> fmt::Result>(write: F) -> Shown<F> {
    Shown(write)
}

impl Display for Unit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "unit {} in {}", self.source, self.directory)?;
        for global in &self.globals {
            self.global_line(f, global)?;
        }
        for alias in &self.aliases {
            writeln!(f, "alias {} = {}", alias.name, self.show_constant(alias.of))?;
        }
        for function in &self.functions {
            self.function_lines(f, function)?;
        }
        for problem in &self.problems {
            writeln!(f, "problem: {problem}")?;
        }
        Ok(())
    }
}

impl Unit {
    fn global_line(&self, f: &mut Formatter<'_>, global: &super::Global) -> fmt::Result {
        let kinds = [
            (global.is_local, "local "),
            (global.is_thread_local, "thread-local "),
            (global.is_constant, "constant "),
        ];
        for (_, word) in kinds.iter().filter(|(is_so, _)| *is_so) {
            f.write_str(word)?;
        }
        write!(f, "global {}", global.name)?;
        if !global.display.is_empty() && global.display != global.name {
            write!(f, " `{}`", global.display)?;
        }
        write!(f, ": {}", self.show_type(global.ty))?;
        if global.debug_type.0 != 0 {
            write!(f, " ({})", self.show_debug_type(global.debug_type))?;
        }
        match global.initial {
            Some(initial) => writeln!(f, " = {}", self.show_constant(initial)),
            None => writeln!(f),
        }
    }

    fn function_lines(&self, f: &mut Formatter<'_>, function: &Function) -> fmt::Result {
        let local = if function.is_local { "local " } else { "" };
        write!(f, "{local}function {}", function.name)?;
        if function.display != function.name {
            write!(f, " `{}`", function.display)?;
        }
        f.write_char('(')?;
        for (at, ty) in function.parameters.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}%{at}: {}", self.show_type(*ty))?;
            match function.by_value.get(at) {
                None | Some(0) => {}
                Some(bytes) => write!(f, " by value of {bytes} bytes")?,
            }
        }
        let more = if function.is_variadic { ", ..." } else { "" };
        writeln!(
            f,
            "{more}): {}{}",
            self.show_type(function.result),
            self.show_place(function.place)
        )?;
        for variable in &function.variables {
            let kind = if variable.is_parameter {
                "parameter"
            } else {
                "variable"
            };
            let at = if variable.is_address { "at" } else { "is" };
            write!(
                f,
                "    {kind} {}: {}",
                variable.name,
                self.show_debug_type(variable.ty)
            )?;
            if let Some((offset, size)) = variable.fragment {
                write!(f, " bits {offset}+{size}")?;
            }
            writeln!(f, " {at} %{}", variable.value.0)?;
        }
        for (number, block) in function.blocks.iter().enumerate() {
            self.block_lines(f, function, number, block)?;
        }
        Ok(())
    }

    fn block_lines(
        &self,
        f: &mut Formatter<'_>,
        function: &Function,
        number: usize,
        block: &Block,
    ) -> fmt::Result {
        writeln!(f, "  b{number}: ; {}", block.label)?;
        let id = BlockId(u32::try_from(number).unwrap_or(u32::MAX));
        for (instruction, at) in function.block(id).iter().zip(block.from..) {
            let point = function.first_point.0.saturating_add(at);
            writeln!(f, "    {}", self.show_instruction(point, instruction))?;
        }
        Ok(())
    }

    fn show_instruction(&self, point: u32, instruction: &Instruction) -> impl Display {
        shown(move |f| {
            write!(f, "#{point} ")?;
            if let Some(result) = instruction.result {
                write!(f, "%{}: {} = ", result.0, self.show_type(instruction.ty))?;
            }
            self.operation(f, instruction)?;
            write!(f, "{}", self.show_place(instruction.place))
        })
    }

    /// A type.
    pub fn show_type(&self, id: TypeId) -> impl Display {
        shown(move |f| self.write_type(f, id, 0))
    }

    fn write_type(&self, f: &mut Formatter<'_>, id: TypeId, depth: u32) -> fmt::Result {
        let Some(ty) = self.ty(id).filter(|_| depth < DEEPEST) else {
            return f.write_str("...");
        };
        let mut repeated = |open, count: u64, element, close| {
            write!(f, "{open}{count} x ")?;
            self.write_type(f, element, depth + 1)?;
            f.write_char(close)
        };
        match &ty.kind {
            TypeKind::Void => f.write_str("void"),
            TypeKind::Integer(bits) => write!(f, "i{bits}"),
            TypeKind::Float(bits) => write!(f, "f{bits}"),
            TypeKind::Pointer => f.write_str("ptr"),
            TypeKind::Array { element, count } => repeated('[', *count, *element, ']'),
            TypeKind::Vector { element, count } => repeated('<', *count, *element, '>'),
            TypeKind::Struct { fields } => {
                f.write_char('{')?;
                for (at, field) in fields.iter().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{}: ", field.offset)?;
                    self.write_type(f, field.ty, depth + 1)?;
                }
                write!(f, "}}{}", ty.size)
            }
            TypeKind::Opaque => f.write_str("opaque"),
        }
    }

    /// A type as the source writes it, roughly: `const int *[4]` is `int*[4]`.
    pub fn show_debug_type(&self, id: DebugTypeId) -> impl Display {
        shown(move |f| {
            let (mut suffix, mut at) = (String::new(), id);
            for _ in 0..16 {
                let Some(ty) = self.debug_type(at) else {
                    return write!(f, "void{suffix}");
                };
                match &ty.kind {
                    _ if !ty.name.is_empty() => return write!(f, "{}{suffix}", ty.name),
                    DebugKind::Pointer(to) => {
                        suffix.insert(0, '*');
                        at = *to;
                    }
                    DebugKind::Alias(to) => at = *to,
                    DebugKind::Array(element, counts) => {
                        let counts: String =
                            counts.iter().map(|count| format!("[{count}]")).collect();
                        suffix.insert_str(0, &counts);
                        at = *element;
                    }
                    DebugKind::Struct(members) => {
                        return write!(f, "struct of {} members{suffix}", members.len());
                    }
                    DebugKind::Function => return write!(f, "function{suffix}"),
                    _ => return write!(f, "?{suffix}"),
                }
            }
            write!(f, "...{suffix}")
        })
    }

    /// A constant.
    pub fn show_constant(&self, id: ConstantId) -> impl Display {
        shown(move |f| self.write_constant(f, id, 0))
    }

    fn write_constant(&self, f: &mut Formatter<'_>, id: ConstantId, depth: u32) -> fmt::Result {
        let Some(constant) = self.constant(id).filter(|_| depth < DEEPEST) else {
            return f.write_str("...");
        };
        match constant {
            Constant::Integer { ty, bits } => write!(f, "{bits}:{}", self.show_type(*ty)),
            Constant::Float { ty, bits } => write!(f, "{bits:#x}:{}", self.show_type(*ty)),
            Constant::Zero(ty) => match self.ty(*ty).map(|ty| &ty.kind) {
                Some(TypeKind::Pointer) => f.write_str("null"),
                _ => write!(f, "zero:{}", self.show_type(*ty)),
            },
            Constant::Undefined(_) => f.write_str("undefined"),
            Constant::Global(global) => write!(
                f,
                "@{}",
                self.global(*global).map_or("?", |global| &global.name)
            ),
            Constant::Function(function) => f.write_str(self.name_of(*function)),
            Constant::Block { function, block } => {
                write!(f, "{}:b{}", self.name_of(*function), block.0)
            }
            Constant::Offset { base, bytes } => {
                self.write_constant(f, *base, depth + 1)?;
                write!(f, "{bytes:+}")
            }
            Constant::Aggregate { elements, .. } => {
                f.write_char('{')?;
                for (at, element) in elements.iter().take(MOST).enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    self.write_constant(f, *element, depth + 1)?;
                }
                f.write_str(if elements.len() > MOST { ", ...}" } else { "}" })
            }
            Constant::Bytes { bytes, .. } => write!(f, "\"{}\"", bytes.escape_ascii()),
            Constant::Cast { op, ty, of } => {
                write!(f, "{op:?}(")?;
                self.write_constant(f, *of, depth + 1)?;
                write!(f, "):{}", self.show_type(*ty))
            }
            Constant::Binary { op, a, b, .. } => {
                write!(f, "{op:?}(")?;
                self.write_constant(f, *a, depth + 1)?;
                f.write_str(", ")?;
                self.write_constant(f, *b, depth + 1)?;
                f.write_char(')')
            }
            Constant::Unknown(_) => f.write_str("unknown"),
        }
    }

    fn name_of(&self, function: super::FunctionId) -> &str {
        self.function(function)
            .map_or("?", |function| &function.name)
    }

    fn show_place(&self, id: PlaceId) -> impl Display {
        shown(move |f| {
            let mut at = id;
            // Calls that were inlined into each other; more of them are a loop.
            for step in 0..64 {
                if at.0 == 0 {
                    break;
                }
                let place = self.place(at);
                let lead = if step == 0 { " ;" } else { " in" };
                let file = self.file(place).rsplit('/').next().unwrap_or("");
                write!(
                    f,
                    "{lead} {}:{file}:{}:{}",
                    self.function_name(place),
                    place.line,
                    place.column
                )?;
                at = place.inlined_at;
            }
            Ok(())
        })
    }

    fn show(&self, operand: Operand) -> impl Display {
        shown(move |f| match operand {
            Operand::Value(value) => write!(f, "%{}", value.0),
            Operand::Constant(id) => self.write_constant(f, id, 0),
        })
    }

    fn list(&self, operands: &[Operand]) -> impl Display {
        shown(move |f| {
            for (at, operand) in operands.iter().enumerate() {
                let comma = if at > 0 { ", " } else { "" };
                write!(f, "{comma}{}", self.show(*operand))?;
            }
            Ok(())
        })
    }

    fn operation(&self, f: &mut Formatter<'_>, instruction: &Instruction) -> fmt::Result {
        match &instruction.op {
            Op::Alloca { ty, count, size } => {
                write!(
                    f,
                    "alloca {} of {size} bytes x {}",
                    self.show_type(*ty),
                    self.show(*count)
                )
            }
            Op::Load { address, is_atomic } => {
                let kind = if *is_atomic { "load atomic" } else { "load" };
                write!(f, "{kind} {}", self.show(*address))
            }
            Op::Store {
                value,
                address,
                is_atomic,
            } => {
                let kind = if *is_atomic { "store atomic" } else { "store" };
                let ty = self.show_type(instruction.ty);
                write!(
                    f,
                    "{kind} {ty} {} to {}",
                    self.show(*value),
                    self.show(*address)
                )
            }
            Op::Address {
                base,
                bytes,
                scaled,
            } => {
                write!(f, "{} {bytes:+}", self.show(*base))?;
                scaled
                    .iter()
                    .try_for_each(|part| write!(f, " + {} * {}", self.show(part.index), part.bytes))
            }
            Op::Binary { op, a, b } => write!(f, "{op:?} {}, {}", self.show(*a), self.show(*b)),
            Op::Negate(of) => write!(f, "negate {}", self.show(*of)),
            Op::Cast { op, of, from } => {
                write!(f, "{op:?} {}: {}", self.show(*of), self.show_type(*from))
            }
            Op::Compare { op, a, b, of } => {
                write!(
                    f,
                    "{op:?} {}, {}: {}",
                    self.show(*a),
                    self.show(*b),
                    self.show_type(*of)
                )
            }
            Op::Select { condition, yes, no } => {
                write!(
                    f,
                    "{} ? {} : {}",
                    self.show(*condition),
                    self.show(*yes),
                    self.show(*no)
                )
            }
            Op::Phi(from) => {
                f.write_str("phi")?;
                from.iter().try_for_each(|(block, value)| {
                    write!(f, " b{}: {}", block.0, self.show(*value))
                })
            }
            Op::Freeze(of) => write!(f, "freeze {}", self.show(*of)),
            Op::Shuffle { a, b, mask } => {
                write!(
                    f,
                    "shuffle {}, {} by {mask:?}",
                    self.show(*a),
                    self.show(*b)
                )
            }
            Op::Extract { of, path } => write!(f, "{} at {path:?}", self.show(*of)),
            Op::Insert { into, value, path } => {
                write!(
                    f,
                    "{} with {} at {path:?}",
                    self.show(*into),
                    self.show(*value)
                )
            }
            Op::ExtractElement { of, index } => {
                write!(f, "{}[{}]", self.show(*of), self.show(*index))
            }
            Op::InsertElement { into, value, index } => {
                write!(
                    f,
                    "{}[{}] = {}",
                    self.show(*into),
                    self.show(*index),
                    self.show(*value)
                )
            }
            Op::CompareExchange {
                address,
                expected,
                new,
            } => {
                let (expected, new) = (self.show(*expected), self.show(*new));
                write!(
                    f,
                    "compare and exchange {}: {expected}, {new}",
                    self.show(*address)
                )
            }
            Op::AtomicUpdate { op, address, value } => {
                write!(
                    f,
                    "atomic {op:?} {}, {}",
                    self.show(*address),
                    self.show(*value)
                )
            }
            Op::Fence => f.write_str("fence"),
            Op::VariableArgument { list } => write!(f, "variable argument {}", self.show(*list)),
            Op::Unknown(text) => write!(f, "unknown: {text}"),
            op => self.transfer(f, op),
        }
    }

    /// Jumps and calls.
    fn transfer(&self, f: &mut Formatter<'_>, op: &Op) -> fmt::Result {
        match op {
            Op::Jump(to) => write!(f, "jump b{}", to.0),
            Op::Branch { condition, yes, no } => {
                write!(f, "branch {} b{}, b{}", self.show(*condition), yes.0, no.0)
            }
            Op::Switch {
                value,
                cases,
                default,
            } => {
                write!(f, "switch {}", self.show(*value))?;
                for case in cases {
                    write!(f, " {}: b{}", case.bits, case.to.0)?;
                }
                write!(f, " else b{}", default.0)
            }
            Op::IndirectJump { address, to } => {
                write!(f, "jump to {}", self.show(*address))?;
                to.iter().try_for_each(|block| write!(f, " b{}", block.0))
            }
            Op::Return(value) => {
                f.write_str("return")?;
                value
                    .iter()
                    .try_for_each(|value| write!(f, " {}", self.show(*value)))
            }
            Op::Unreachable => f.write_str("unreachable"),
            Op::Resume(of) => write!(f, "resume {}", self.show(*of)),
            Op::Call {
                callee,
                arguments,
                normal,
                unwind,
                ..
            } => {
                write!(f, "call {}({})", self.show(*callee), self.list(arguments))?;
                match (normal, unwind) {
                    (Some(normal), Some(unwind)) => {
                        write!(f, " then b{} or b{}", normal.0, unwind.0)
                    }
                    _ => Ok(()),
                }
            }
            Op::Assembly { text, arguments } => {
                write!(f, "assembly {text:?}({})", self.list(arguments))
            }
            Op::LandingPad {
                is_cleanup,
                catches,
            } => {
                let cleanup = if *is_cleanup { "cleanup, " } else { "" };
                write!(f, "landing pad: {cleanup}catches {}", self.list(catches))
            }
            _ => Ok(()),
        }
    }
}
