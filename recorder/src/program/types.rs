//! Conversion of types from their text to rows with a layout.

use super::{
    cursor::{Cursor, Token},
    tables::{NamedType, Tables},
    trouble::{Parse, Trouble},
};
use unsnarl_trace::program::{FieldRow, Type, TypeId, TypeKind};

/// Returns whether a type begins with this token.
pub(super) fn begins_type(token: Token<'_>) -> bool {
    match token {
        Token::Word(word) => is_simple(word) || integer_bits(word).is_some(),
        Token::Local(_) | Token::Mark('[' | '{' | '<') => true,
        _ => false,
    }
}

fn is_simple(word: &str) -> bool {
    matches!(
        word,
        "void"
            | "ptr"
            | "label"
            | "token"
            | "metadata"
            | "x86_mmx"
            | "x86_amx"
            | "opaque"
            | "target"
    ) || float_bits(word).is_some()
}

fn integer_bits(word: &str) -> Option<u32> {
    word.strip_prefix('i')?.parse().ok()
}

fn float_bits(word: &str) -> Option<u32> {
    match word {
        "half" | "bfloat" => Some(16),
        "float" => Some(32),
        "double" => Some(64),
        "x86_fp80" => Some(80),
        "fp128" | "ppc_fp128" => Some(128),
        _ => None,
    }
}

impl<'t> Tables<'t> {
    /// Parses a type.
    pub fn ty(&mut self, text: &mut Cursor<'t>) -> Parse<TypeId> {
        let mut ty = self.nested(|tables| tables.pointee(text))?;
        loop {
            let mut ahead = *text;
            if ahead.eat_word("addrspace") {
                ahead.skip_brackets();
            }
            if !ahead.eat('*') {
                return Ok(ty);
            }
            *text = ahead;
            self.has_typed_pointers = true;
            ty = self.pointer();
        }
    }

    fn pointee(&mut self, text: &mut Cursor<'t>) -> Parse<TypeId> {
        match text.next() {
            Token::Word(word) => self.simple(word, text),
            Token::Local(name) => self.named_type(name),
            Token::Mark('[') => {
                let (count, element) = self.repeated(text)?;
                text.expect(']')?;
                self.array(count, element)
            }
            Token::Mark('{') => self.structure(text, false),
            Token::Mark('<') if text.eat('{') => {
                let found = self.structure(text, true);
                text.expect('>')?;
                found
            }
            Token::Mark('<') => {
                let (count, element) = self.repeated(text)?;
                text.expect('>')?;
                self.vector(count, element)
            }
            _ => Err(Trouble::expected("a type")),
        }
    }

    fn simple(&mut self, word: &str, text: &mut Cursor<'t>) -> Parse<TypeId> {
        if let Some(bits) = integer_bits(word) {
            return Ok(self.integer(bits));
        }
        if let Some(bits) = float_bits(word) {
            let (size, align) = self.layout.float(u64::from(bits));
            return Ok(self.row(TypeKind::Float(bits), size, align));
        }
        match word {
            "void" => Ok(self.void()),
            "ptr" => {
                if text.eat_word("addrspace") {
                    text.skip_brackets();
                }
                Ok(self.pointer())
            }
            "target" => {
                text.skip_brackets();
                Ok(self.opaque())
            }
            word if is_simple(word) => Ok(self.opaque()),
            _ => Err(Trouble::expected("a type")),
        }
    }

    fn named_type(&mut self, name: &'t str) -> Parse<TypeId> {
        match self.named.get(name).copied() {
            Some(NamedType::Done(id)) => Ok(id),
            Some(NamedType::Text(definition)) => {
                self.named.insert(name, NamedType::Busy);
                let id = self.ty(&mut Cursor::new(definition));
                // What cannot be read has no size, and is told where it is used.
                let known = id.clone().unwrap_or_else(|_| self.opaque());
                self.named.insert(name, NamedType::Done(known));
                id
            }
            Some(NamedType::Busy) => Err(Trouble::new("a type contains itself")),
            None => Ok(self.opaque()),
        }
    }

    /// Parses `4 x i32`.
    fn repeated(&mut self, text: &mut Cursor<'t>) -> Parse<(u64, TypeId)> {
        if text.eat_word("vscale") {
            return Err(Trouble::unknown("a vector without a fixed length"));
        }
        let count = text.number()?;
        text.expect_word("x")?;
        Ok((count, self.ty(text)?))
    }

    fn structure(&mut self, text: &mut Cursor<'t>, is_packed: bool) -> Parse<TypeId> {
        let mut fields = Vec::new();
        if !text.eat('}') {
            loop {
                fields.push(self.ty(text)?);
                if !text.eat(',') {
                    break;
                }
            }
            text.expect('}')?;
        }
        self.struct_of(&fields, is_packed)
    }

    /// A structure of fields with these types.
    pub fn struct_of(&mut self, fields: &[TypeId], is_packed: bool) -> Parse<TypeId> {
        let too_big = || Trouble::new("a structure is too big");
        let (mut end, mut align) = (0u64, self.layout.structure());
        let mut rows = Vec::with_capacity(fields.len());
        for &ty in fields {
            let (size, own) = self.size(ty);
            let own = if is_packed { 1 } else { own };
            let offset = end
                .checked_next_multiple_of(u64::from(own))
                .ok_or_else(too_big)?;
            end = offset.checked_add(size).ok_or_else(too_big)?;
            align = align.max(own);
            rows.push(FieldRow { ty, offset });
        }
        let align = if is_packed { 1 } else { align };
        let size = end
            .checked_next_multiple_of(u64::from(align))
            .ok_or_else(too_big)?;
        Ok(self.row(TypeKind::Struct { fields: rows }, size, align))
    }

    fn array(&mut self, count: u64, element: TypeId) -> Parse<TypeId> {
        let (size, align) = self.size(element);
        let size = size
            .checked_mul(count)
            .ok_or_else(|| Trouble::new("an array is too big"))?;
        Ok(self.row(TypeKind::Array { element, count }, size, align))
    }

    /// A vector of elements of this type. Truth values take one bit each.
    pub fn vector(&mut self, count: u64, element: TypeId) -> Parse<TypeId> {
        let bits = match self.unit.ty(element).map(|ty| &ty.kind) {
            Some(TypeKind::Integer(bits) | TypeKind::Float(bits)) => u64::from(*bits),
            _ => self.size(element).0.saturating_mul(8),
        };
        let bits = bits
            .checked_mul(count)
            .filter(|bits| *bits < 1 << 40)
            .ok_or_else(|| Trouble::new("a vector is too big"))?;
        let (size, align) = self.layout.vector(bits);
        Ok(self.row(TypeKind::Vector { element, count }, size, align))
    }

    fn row(&mut self, kind: TypeKind, size: u64, align: u32) -> TypeId {
        self.intern_type(Type { kind, size, align })
    }

    /// Size and alignment.
    pub fn size(&self, id: TypeId) -> (u64, u32) {
        self.unit
            .ty(id)
            .map_or((0, 1), |ty| (ty.size, ty.align.max(1)))
    }

    /// An integer of this many bits.
    pub fn integer(&mut self, bits: u32) -> TypeId {
        let (size, align) = self.layout.integer(u64::from(bits));
        self.row(TypeKind::Integer(bits), size, align)
    }

    /// Returns the type `void`.
    pub fn void(&mut self) -> TypeId {
        self.row(TypeKind::Void, 0, 1)
    }

    /// A type without a size.
    pub fn opaque(&mut self) -> TypeId {
        self.row(TypeKind::Opaque, 0, 1)
    }

    /// An address.
    pub fn pointer(&mut self) -> TypeId {
        let (size, align) = self.layout.pointer();
        self.row(TypeKind::Pointer, size, align)
    }

    /// Type and offset of a numbered part of an aggregate.
    pub fn part(&self, of: TypeId, number: u64) -> Option<(TypeId, u64)> {
        match &self.unit.ty(of)?.kind {
            TypeKind::Struct { fields } => {
                let field = fields.get(usize::try_from(number).ok()?)?;
                Some((field.ty, field.offset))
            }
            TypeKind::Array { element, .. } | TypeKind::Vector { element, .. } => {
                Some((*element, self.size(*element).0.wrapping_mul(number)))
            }
            _ => None,
        }
    }
}
