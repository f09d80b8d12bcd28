//! Operations of instructions.

use super::{
    body::{Body, TypedOperation},
    constants::{PROMISES, binary, cast},
    cursor::{Cursor, Token},
    trouble::{Parse, Trouble},
};
use unsnarl_trace::program::{
    BinaryOp, CompareOp, Constant, Op, Operand, Scaled, SwitchCase, TypeId, TypeKind,
};

fn comparison(word: &str, is_float: bool) -> Option<CompareOp> {
    Some(match (is_float, word) {
        (false, "eq") => CompareOp::Eq,
        (false, "ne") => CompareOp::Ne,
        (false, "ugt") => CompareOp::Ugt,
        (false, "uge") => CompareOp::Uge,
        (false, "ult") => CompareOp::Ult,
        (false, "ule") => CompareOp::Ule,
        (false, "sgt") => CompareOp::Sgt,
        (false, "sge") => CompareOp::Sge,
        (false, "slt") => CompareOp::Slt,
        (false, "sle") => CompareOp::Sle,
        (true, "false") => CompareOp::FFalse,
        (true, "oeq") => CompareOp::FOeq,
        (true, "ogt") => CompareOp::FOgt,
        (true, "oge") => CompareOp::FOge,
        (true, "olt") => CompareOp::FOlt,
        (true, "ole") => CompareOp::FOle,
        (true, "one") => CompareOp::FOne,
        (true, "ord") => CompareOp::FOrd,
        (true, "ueq") => CompareOp::FUeq,
        (true, "ugt") => CompareOp::FUgt,
        (true, "uge") => CompareOp::FUge,
        (true, "ult") => CompareOp::FUlt,
        (true, "ule") => CompareOp::FUle,
        (true, "une") => CompareOp::FUne,
        (true, "uno") => CompareOp::FUno,
        (true, "true") => CompareOp::FTrue,
        _ => return None,
    })
}

fn atomic_update(word: &str) -> Option<BinaryOp> {
    Some(match word {
        "xchg" => BinaryOp::Exchange,
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "and" => BinaryOp::And,
        "nand" => BinaryOp::Nand,
        "or" => BinaryOp::Or,
        "xor" => BinaryOp::Xor,
        "max" => BinaryOp::Max,
        "min" => BinaryOp::Min,
        "umax" => BinaryOp::UMax,
        "umin" => BinaryOp::UMin,
        "fadd" => BinaryOp::FAdd,
        "fsub" => BinaryOp::FSub,
        _ => return None,
    })
}

impl<'t> Body<'_, 't> {
    /// Parses the operation of an instruction, behind the name of its result.
    pub fn operation(&mut self, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let Token::Word(name) = text.next() else {
            return Err(Trouble::expected("an instruction"));
        };
        text.skip_words(&PROMISES);
        if let Some(op) = binary(name) {
            return self.binary(op, text);
        }
        if let Some(op) = cast(name) {
            let (from, of) = self.typed(text)?;
            text.expect_word("to")?;
            return Ok((Op::Cast { op, of, from }, self.tables.ty(text)?));
        }
        match name {
            "br" | "switch" | "indirectbr" | "ret" | "unreachable" | "resume" => {
                let op = self.jump(name, text)?;
                Ok((op, self.tables.void()))
            }
            "call" => self.call(text, false),
            "tail" | "musttail" | "notail" => {
                text.expect_word("call")?;
                self.call(text, false)
            }
            "invoke" => self.call(text, true),
            "landingpad" => self.landing_pad(text),
            "alloca" | "load" | "store" | "getelementptr" | "cmpxchg" | "atomicrmw" | "fence"
            | "va_arg" => self.memory(name, text),
            _ => self.value(name, text),
        }
    }

    fn binary(&mut self, op: BinaryOp, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let (ty, a) = self.typed(text)?;
        text.expect(',')?;
        let b = self.operand(ty, text)?;
        Ok((Op::Binary { op, a, b }, ty))
    }

    fn jump(&mut self, name: &str, text: &mut Cursor<'t>) -> Parse<Op> {
        match name {
            "br" => self.branch(text),
            "switch" => self.switch(text),
            "indirectbr" => {
                let (_, address) = self.typed(text)?;
                text.expect(',')?;
                text.expect('[')?;
                let mut to = Vec::new();
                while !text.eat(']') {
                    to.push(self.target(text)?);
                    text.eat(',');
                }
                Ok(Op::IndirectJump { address, to })
            }
            "ret" if text.eat_word("void") => Ok(Op::Return(None)),
            "ret" => Ok(Op::Return(Some(self.typed(text)?.1))),
            "resume" => Ok(Op::Resume(self.typed(text)?.1)),
            _ => Ok(Op::Unreachable),
        }
    }

    fn branch(&mut self, text: &mut Cursor<'t>) -> Parse<Op> {
        if text.peek() == Token::Word("label") {
            return Ok(Op::Jump(self.target(text)?));
        }
        let (_, condition) = self.typed(text)?;
        text.expect(',')?;
        let yes = self.target(text)?;
        text.expect(',')?;
        let no = self.target(text)?;
        Ok(Op::Branch { condition, yes, no })
    }

    fn switch(&mut self, text: &mut Cursor<'t>) -> Parse<Op> {
        let (_, value) = self.typed(text)?;
        text.expect(',')?;
        let default = self.target(text)?;
        text.expect('[')?;
        let mut cases = Vec::new();
        while !text.eat(']') {
            let (_, constant) = self.tables.typed_constant(text)?;
            let bits = match self.tables.unit.constant(constant) {
                Some(Constant::Integer { bits, .. }) => *bits,
                _ => return Err(Trouble::expected("an integer")),
            };
            text.expect(',')?;
            cases.push(SwitchCase {
                bits,
                to: self.target(text)?,
            });
        }
        Ok(Op::Switch {
            value,
            cases,
            default,
        })
    }

    fn landing_pad(&mut self, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let ty = self.tables.ty(text)?;
        let is_cleanup = text.eat_word("cleanup");
        let mut catches = Vec::new();
        loop {
            if text.eat_word("catch") {
                catches.push(self.typed(text)?.1);
            } else if text.eat_word("filter") {
                self.typed(text)?;
            } else {
                return Ok((
                    Op::LandingPad {
                        is_cleanup,
                        catches,
                    },
                    ty,
                ));
            }
        }
    }

    /// Parses an instruction that computes a value from others.
    fn value(&mut self, name: &str, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        match name {
            "icmp" => self.compare(text, false),
            "fcmp" => self.compare(text, true),
            "fneg" => {
                let (ty, of) = self.typed(text)?;
                Ok((Op::Negate(of), ty))
            }
            "freeze" => {
                let (ty, of) = self.typed(text)?;
                Ok((Op::Freeze(of), ty))
            }
            "select" => {
                let (_, condition) = self.typed(text)?;
                let (ty, yes) = self.next_typed(text)?;
                let (_, no) = self.next_typed(text)?;
                Ok((Op::Select { condition, yes, no }, ty))
            }
            "phi" => self.phi(text),
            _ => self.aggregate(name, text),
        }
    }

    fn compare(&mut self, text: &mut Cursor<'t>, is_float: bool) -> Parse<TypedOperation> {
        let op = match text.next() {
            Token::Word(word) => comparison(word, is_float),
            _ => None,
        };
        let op = op.ok_or_else(|| Trouble::expected("a comparison"))?;
        let (of, a) = self.typed(text)?;
        text.expect(',')?;
        let b = self.operand(of, text)?;
        let truth = self.tables.integer(1);
        let lanes = match self.tables.unit.ty(of).map(|ty| &ty.kind) {
            Some(TypeKind::Vector { count, .. }) => Some(*count),
            _ => None,
        };
        let ty = match lanes {
            Some(count) => self.tables.vector(count, truth)?,
            None => truth,
        };
        Ok((Op::Compare { op, a, b, of }, ty))
    }

    fn phi(&mut self, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let ty = self.tables.ty(text)?;
        let mut from = Vec::new();
        while text.eat('[') {
            let value = self.operand(ty, text)?;
            text.expect(',')?;
            from.push((self.block(text)?, value));
            text.expect(']')?;
            // Behind the last comma comes metadata.
            let mut ahead = *text;
            if !ahead.eat(',') || ahead.peek() != Token::Mark('[') {
                break;
            }
            *text = ahead;
        }
        Ok((Op::Phi(from), ty))
    }

    fn aggregate(&mut self, name: &str, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        match name {
            "extractvalue" => {
                let (whole, of) = self.typed(text)?;
                let (path, ty) = self.path(whole, text)?;
                Ok((Op::Extract { of, path }, ty))
            }
            "insertvalue" => {
                let (ty, into) = self.typed(text)?;
                let (_, value) = self.next_typed(text)?;
                let (path, _) = self.path(ty, text)?;
                Ok((Op::Insert { into, value, path }, ty))
            }
            "extractelement" => {
                let (whole, of) = self.typed(text)?;
                let (_, index) = self.next_typed(text)?;
                Ok((Op::ExtractElement { of, index }, self.element(whole)?.0))
            }
            "insertelement" => {
                let (ty, into) = self.typed(text)?;
                let (_, value) = self.next_typed(text)?;
                let (_, index) = self.next_typed(text)?;
                Ok((Op::InsertElement { into, value, index }, ty))
            }
            "shufflevector" => self.shuffle(text),
            _ => Err(Trouble::unknown(&format!("`{name}`"))),
        }
    }

    /// Parses `, 0, 1`, the path to an element of an aggregate, with the element's type.
    fn path(&mut self, of: TypeId, text: &mut Cursor<'t>) -> Parse<(Vec<u32>, TypeId)> {
        let (mut path, mut ty) = (Vec::new(), of);
        loop {
            let mut ahead = *text;
            // Behind the last comma may come metadata.
            let Some(number) = ahead.eat(',').then(|| ahead.number().ok()).flatten() else {
                return Ok((path, ty));
            };
            *text = ahead;
            let part = self.tables.part(ty, number);
            ty = part
                .ok_or_else(|| Trouble::expected("an element of the aggregate"))?
                .0;
            path.push(u32::try_from(number).map_err(|_| Trouble::expected("a number"))?);
        }
    }

    /// Type and number of a vector's elements.
    fn element(&self, vector: TypeId) -> Parse<(TypeId, u64)> {
        match self.tables.unit.ty(vector).map(|ty| &ty.kind) {
            Some(TypeKind::Vector { element, count }) => Ok((*element, *count)),
            _ => Err(Trouble::expected("a vector")),
        }
    }

    fn shuffle(&mut self, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let (of, a) = self.typed(text)?;
        let (_, b) = self.next_typed(text)?;
        text.expect(',')?;
        let (shape, mask) = self.tables.typed_constant(text)?;
        let (element, _) = self.element(of)?;
        let (_, count) = self.element(shape)?;
        let ty = self.tables.vector(count, element)?;
        let lane = |at: u64| match self.tables.unit.constant(mask) {
            Some(Constant::Zero(_)) => Some(0),
            Some(Constant::Aggregate { elements, .. }) => {
                let id = elements.get(usize::try_from(at).ok()?)?;
                u32::try_from(self.tables.signed(*id)?).ok()
            }
            _ => None,
        };
        /// Upper bound for the elements of a vector: no processor has more.
        const MOST: u64 = 1 << 16;
        if count > MOST {
            return Err(Trouble::new("a vector is too big"));
        }
        let mask = (0..count).map(lane).collect();
        Ok((Op::Shuffle { a, b, mask }, ty))
    }

    /// Parses an instruction that allocates, reads or writes memory, or computes addresses.
    fn memory(&mut self, name: &str, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let is_atomic = text.eat_word("atomic");
        text.skip_words(&["volatile", "weak", "swifterror", "volatile"]);
        match name {
            "alloca" => self.alloca(text),
            "load" => {
                let ty = self.tables.ty(text)?;
                let (_, address) = self.next_typed(text)?;
                Ok((Op::Load { address, is_atomic }, ty))
            }
            "store" => {
                let (ty, value) = self.typed(text)?;
                let (_, address) = self.next_typed(text)?;
                let op = Op::Store {
                    value,
                    address,
                    is_atomic,
                };
                Ok((op, ty))
            }
            "getelementptr" => self.address(text),
            "cmpxchg" => {
                let (_, address) = self.typed(text)?;
                let (ty, expected) = self.next_typed(text)?;
                let (_, new) = self.next_typed(text)?;
                let truth = self.tables.integer(1);
                let ty = self.tables.struct_of(&[ty, truth], false)?;
                let op = Op::CompareExchange {
                    address,
                    expected,
                    new,
                };
                Ok((op, ty))
            }
            "atomicrmw" => {
                let Token::Word(word) = text.next() else {
                    return Err(Trouble::expected("an operation"));
                };
                let op = atomic_update(word)
                    .ok_or_else(|| Trouble::unknown(&format!("`atomicrmw {word}`")))?;
                let (_, address) = self.typed(text)?;
                let (ty, value) = self.next_typed(text)?;
                Ok((Op::AtomicUpdate { op, address, value }, ty))
            }
            "va_arg" => {
                let (_, list) = self.typed(text)?;
                text.expect(',')?;
                Ok((Op::VariableArgument { list }, self.tables.ty(text)?))
            }
            _ => Ok((Op::Fence, self.tables.void())),
        }
    }

    fn alloca(&mut self, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        let ty = self.tables.ty(text)?;
        let mut ahead = *text;
        let count = match ahead.eat(',') && super::types::begins_type(ahead.peek()) {
            true => self.next_typed(text)?.1,
            false => {
                let integer = self.tables.integer(32);
                let one = Constant::Integer {
                    ty: integer,
                    bits: 1,
                };
                Operand::Constant(self.tables.intern(one))
            }
        };
        let size = self.tables.size(ty).0;
        Ok((Op::Alloca { ty, size, count }, self.tables.pointer()))
    }

    /// Parses `getelementptr`: constant indices are added up.
    fn address(&mut self, text: &mut Cursor<'t>) -> Parse<TypedOperation> {
        while text.eat_word("inrange") {
            text.skip_brackets();
            text.skip_words(&PROMISES);
        }
        let mut ty = self.tables.ty(text)?;
        let (of, base) = self.next_typed(text)?;
        self.not_vector(of)?;
        let (mut bytes, mut scaled, mut is_first) = (0i64, Vec::new(), true);
        loop {
            let mut ahead = *text;
            if !ahead.eat(',') || !super::types::begins_type(ahead.peek()) {
                break;
            }
            let (index_type, index) = self.typed(&mut ahead)?;
            *text = ahead;
            self.not_vector(index_type)?;
            let known = match index {
                Operand::Constant(id) => self.tables.step(ty, id, is_first),
                Operand::Value(_) => None,
            };
            let (part, more) = match known {
                Some(step) => step,
                None => {
                    let part = self.repeated(ty, is_first)?;
                    let step = self.tables.size(part).0.cast_signed();
                    scaled.push(Scaled { index, bytes: step });
                    (part, 0)
                }
            };
            bytes = bytes.wrapping_add(more);
            (ty, is_first) = (part, false);
        }
        let op = Op::Address {
            base,
            bytes,
            scaled,
        };
        Ok((op, self.tables.pointer()))
    }

    fn not_vector(&self, ty: TypeId) -> Parse<()> {
        match self.tables.unit.ty(ty).map(|ty| &ty.kind) {
            Some(TypeKind::Vector { .. }) => Err(Trouble::unknown("a vector of addresses")),
            _ => Ok(()),
        }
    }

    /// Type of the elements among which an unknown index picks: the first index picks one of several objects in a
    /// row, later ones pick elements.
    fn repeated(&self, ty: TypeId, is_first: bool) -> Parse<TypeId> {
        match self.tables.unit.ty(ty).map(|ty| &ty.kind) {
            _ if is_first => Ok(ty),
            Some(TypeKind::Array { element, .. } | TypeKind::Vector { element, .. }) => {
                Ok(*element)
            }
            _ => Err(Trouble::expected("a constant index")),
        }
    }
}
