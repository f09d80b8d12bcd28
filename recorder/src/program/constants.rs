//! Conversion of constants from their text to rows, with address arithmetic folded.

use super::{
    cursor::{Cursor, Token, unescaped},
    numbers,
    tables::Tables,
    trouble::{Parse, Trouble},
};
use unsnarl_trace::program::{BinaryOp, CastOp, Constant, ConstantId, TypeId, TypeKind};

/// Returns whether a value begins with this word; other words in front of a value are attributes.
pub(super) fn begins_value(word: &str) -> bool {
    let is_number = word.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    is_number
        || matches!(
            word,
            "true"
                | "false"
                | "null"
                | "none"
                | "undef"
                | "poison"
                | "zeroinitializer"
                | "asm"
                | "splat"
                | "blockaddress"
                | "dso_local_equivalent"
                | "no_cfi"
                | "ptrauth"
                | "getelementptr"
                | "select"
                | "icmp"
                | "fcmp"
                | "extractelement"
                | "insertelement"
                | "shufflevector"
                | "extractvalue"
                | "insertvalue"
                | "fneg"
        )
        || cast(word).is_some()
        || binary(word).is_some()
}

/// The conversion of this name.
pub(super) fn cast(word: &str) -> Option<CastOp> {
    Some(match word {
        "trunc" => CastOp::Trunc,
        "zext" => CastOp::ZExt,
        "sext" => CastOp::SExt,
        "fptrunc" => CastOp::FPTrunc,
        "fpext" => CastOp::FPExt,
        "fptoui" => CastOp::FPToUI,
        "fptosi" => CastOp::FPToSI,
        "uitofp" => CastOp::UIToFP,
        "sitofp" => CastOp::SIToFP,
        "ptrtoint" => CastOp::PtrToInt,
        "inttoptr" => CastOp::IntToPtr,
        "bitcast" => CastOp::BitCast,
        "addrspacecast" => CastOp::AddrSpaceCast,
        _ => return None,
    })
}

/// The operation of this name.
pub(super) fn binary(word: &str) -> Option<BinaryOp> {
    Some(match word {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "mul" => BinaryOp::Mul,
        "udiv" => BinaryOp::UDiv,
        "sdiv" => BinaryOp::SDiv,
        "urem" => BinaryOp::URem,
        "srem" => BinaryOp::SRem,
        "shl" => BinaryOp::Shl,
        "lshr" => BinaryOp::LShr,
        "ashr" => BinaryOp::AShr,
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        "xor" => BinaryOp::Xor,
        "fadd" => BinaryOp::FAdd,
        "fsub" => BinaryOp::FSub,
        "fmul" => BinaryOp::FMul,
        "fdiv" => BinaryOp::FDiv,
        "frem" => BinaryOp::FRem,
        _ => return None,
    })
}

/// Words between an operation and its operands that make promises about the result.
pub(super) const PROMISES: [&str; 17] = [
    "nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw", "fast", "nnan",
    "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "inalloca",
];

impl<'t> Tables<'t> {
    /// Parses a type and a constant of it.
    pub fn typed_constant(&mut self, text: &mut Cursor<'t>) -> Parse<(TypeId, ConstantId)> {
        let ty = self.ty(text)?;
        Ok((ty, self.constant(ty, text)?))
    }

    /// Parses a constant of this type.
    pub fn constant(&mut self, ty: TypeId, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        self.nested(|tables| tables.constant_within(ty, text))
    }

    fn constant_within(&mut self, ty: TypeId, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        match text.next() {
            Token::Global(name) => self.symbol(name),
            Token::Word(word) => self.word(word, ty, text),
            Token::Bytes(raw) => {
                let bytes = unescaped(raw);
                Ok(self.intern(Constant::Bytes { ty, bytes }))
            }
            Token::Mark('[') => self.elements(ty, ']', text),
            Token::Mark('{') => self.elements(ty, '}', text),
            Token::Mark('<') if text.eat('{') => {
                let found = self.elements(ty, '}', text)?;
                text.expect('>')?;
                Ok(found)
            }
            Token::Mark('<') => self.elements(ty, '>', text),
            _ => Err(Trouble::expected("a constant")),
        }
    }

    fn elements(&mut self, ty: TypeId, end: char, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        let mut elements = Vec::new();
        if !text.eat(end) {
            loop {
                elements.push(self.typed_constant(text)?.1);
                if !text.eat(',') {
                    break;
                }
            }
            text.expect(end)?;
        }
        Ok(self.intern(Constant::Aggregate { ty, elements }))
    }

    fn word(&mut self, word: &'t str, ty: TypeId, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        let constant = match word {
            "null" | "zeroinitializer" | "none" => Constant::Zero(ty),
            "undef" | "poison" => Constant::Undefined(ty),
            "true" | "false" => Constant::Integer {
                ty,
                bits: u128::from(word == "true"),
            },
            "splat" => return self.splat(ty, text),
            "blockaddress" => return self.block_address(text),
            "dso_local_equivalent" | "no_cfi" => return self.constant(ty, text),
            "getelementptr" => return self.constant_address(text),
            _ if cast(word).is_some() || binary(word).is_some() => {
                return self.operation(word, ty, text);
            }
            _ if begins_value(word) && !numbers::is_number(word) => {
                // Comparisons and parts of vectors, which only old compilers leave as they are.
                text.skip_brackets();
                text.skip_element();
                Constant::Unknown(ty)
            }
            _ => self.literal(word, ty)?,
        };
        Ok(self.intern(constant))
    }

    fn literal(&self, word: &str, ty: TypeId) -> Parse<Constant> {
        let bits = match self.unit.ty(ty).map(|ty| &ty.kind) {
            Some(TypeKind::Integer(width)) => {
                let bits = numbers::integer(word, *width);
                return match bits {
                    Some(bits) => Ok(Constant::Integer { ty, bits }),
                    None if *width > 128 => Ok(Constant::Unknown(ty)),
                    None => Err(Trouble::expected("an integer")),
                };
            }
            Some(TypeKind::Float(width)) => numbers::float(word, *width),
            _ => None,
        };
        let bits = bits.ok_or_else(|| Trouble::expected("a constant"))?;
        Ok(Constant::Float { ty, bits })
    }

    fn splat(&mut self, ty: TypeId, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        text.expect('(')?;
        let (_, element) = self.typed_constant(text)?;
        text.expect(')')?;
        let Some(TypeKind::Vector { count, .. }) = self.unit.ty(ty).map(|ty| &ty.kind) else {
            return Err(Trouble::expected("a vector"));
        };
        let count = usize::try_from(*count)
            .ok()
            .filter(|count| *count <= 1 << 16);
        let count = count.ok_or_else(|| Trouble::new("a vector is too big"))?;
        Ok(self.intern(Constant::Aggregate {
            ty,
            elements: vec![element; count],
        }))
    }

    /// Parses `op (T a)`, `op (T a to T)` or `op (T a, T b)`, behind the operation's name.
    fn operation(&mut self, word: &str, ty: TypeId, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        text.skip_words(&PROMISES);
        text.expect('(')?;
        let (from, a) = self.typed_constant(text)?;
        let made = if let Some(op) = cast(word) {
            text.expect_word("to")?;
            let to = self.ty(text)?;
            match self.cast_away(op, from, to) {
                true => None,
                false => Some(Constant::Cast { op, ty: to, of: a }),
            }
        } else {
            text.expect(',')?;
            let (_, b) = self.typed_constant(text)?;
            let op = binary(word).ok_or_else(|| Trouble::expected("an operation"))?;
            Some(Constant::Binary { op, ty, a, b })
        };
        text.expect(')')?;
        Ok(made.map_or(a, |constant| self.intern(constant)))
    }

    /// Returns whether the conversion of a constant has no effect: from an address to an address.
    fn cast_away(&self, op: CastOp, from: TypeId, to: TypeId) -> bool {
        matches!(op, CastOp::BitCast | CastOp::AddrSpaceCast) && from == to
    }

    /// Parses `inbounds (T, ptr base, i64 index, ...)`.
    fn constant_address(&mut self, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        loop {
            text.skip_words(&PROMISES);
            if !text.eat_word("inrange") {
                break;
            }
            text.skip_brackets();
        }
        text.expect('(')?;
        let element = self.ty(text)?;
        text.expect(',')?;
        let (of, base) = self.typed_constant(text)?;
        let (mut ty, mut bytes, mut is_first, mut is_known) = (element, 0i64, true, true);
        while text.eat(',') {
            text.eat_word("inrange");
            let (_, index) = self.typed_constant(text)?;
            let step = self.step(ty, index, is_first);
            is_known &= step.is_some();
            if let Some((part, more)) = step {
                (ty, bytes) = (part, bytes.wrapping_add(more));
            }
            is_first = false;
        }
        text.expect(')')?;
        if !is_known || !matches!(self.unit.ty(of).map(|ty| &ty.kind), Some(TypeKind::Pointer)) {
            return Ok(self.intern(Constant::Unknown(of)));
        }
        Ok(self.offset(base, bytes))
    }

    /// Type and offset of the part that a constant index selects.
    pub fn step(&self, ty: TypeId, index: ConstantId, is_first: bool) -> Option<(TypeId, i64)> {
        let index = self.signed(index)?;
        if is_first {
            let size = self.size(ty).0.cast_signed();
            return Some((ty, size.wrapping_mul(index)));
        }
        let (part, bytes) = self.part(ty, index.cast_unsigned())?;
        Some((part, bytes.cast_signed()))
    }

    /// An integer constant, sign-extended.
    pub fn signed(&self, id: ConstantId) -> Option<i64> {
        match self.unit.constant(id)? {
            Constant::Integer { ty, bits } => match self.unit.ty(*ty)?.kind {
                TypeKind::Integer(width) => numbers::sign_extended(*bits, width).try_into().ok(),
                _ => None,
            },
            Constant::Zero(ty) => {
                matches!(self.unit.ty(*ty)?.kind, TypeKind::Integer(_)).then_some(0)
            }
            _ => None,
        }
    }

    /// The address at a distance of `bytes` from another.
    pub fn offset(&mut self, base: ConstantId, bytes: i64) -> ConstantId {
        let (base, bytes) = match self.unit.constant(base) {
            Some(Constant::Offset { base, bytes: more }) => (*base, bytes.wrapping_add(*more)),
            _ => (base, bytes),
        };
        match bytes {
            0 => base,
            _ => self.intern(Constant::Offset { base, bytes }),
        }
    }
}
