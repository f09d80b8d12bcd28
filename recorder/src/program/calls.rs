//! Calls, also those that may unwind, and assembler.

use super::{
    body::{Body, TypedOperation},
    cursor::{Cursor, Token, plain},
    trouble::{Parse, Trouble},
    types::begins_type,
};
use unsnarl_trace::program::{Constant, Op, Operand};

impl<'t> Body<'_, 't> {
    /// A call, behind the word `call` or `invoke`.
    pub fn call(&mut self, text: &mut Cursor<'t>, is_invoke: bool) -> Parse<TypedOperation> {
        // The calling convention, promises, attributes of the result.
        while !begins_type(text.peek()) {
            if text.next() == Token::End {
                return Err(Trouble::expected("a type"));
            }
            text.skip_round();
        }
        let ty = self.tables.ty(text)?;
        text.skip_round();
        let assembly = self.assembly(text);
        let callee = match assembly {
            Some(_) => None,
            None => {
                let pointer = self.tables.pointer();
                Some(self.operand(pointer, text)?)
            }
        };
        let (arguments, by_value) = self.arguments(text)?;
        let (mut normal, mut unwind) = (None, None);
        if is_invoke {
            (normal, unwind) = self.continuations(text)?;
        }
        let op = match (callee, assembly) {
            (Some(callee), _) => Op::Call {
                callee,
                arguments,
                by_value,
                normal,
                unwind,
            },
            (None, Some(text)) if !is_invoke => Op::Assembly { text, arguments },
            _ => return Err(Trouble::unknown("assembler that may unwind")),
        };
        Ok((op, ty))
    }

    /// The text in `asm sideeffect "text", "constraints"`, if that comes next.
    fn assembly(&mut self, text: &mut Cursor<'t>) -> Option<String> {
        if !text.eat_word("asm") {
            return None;
        }
        text.skip_words(&["sideeffect", "alignstack", "inteldialect", "unwind"]);
        let Token::Text(code) = text.next() else {
            return Some(String::new());
        };
        if text.eat(',') {
            text.next();
        }
        Some(plain(code))
    }

    fn arguments(&mut self, text: &mut Cursor<'t>) -> Parse<(Vec<Operand>, Vec<u64>)> {
        text.expect('(')?;
        let (mut arguments, mut by_value) = (Vec::new(), Vec::new());
        while !text.eat(')') {
            let (argument, bytes) = self.argument(text)?;
            arguments.push(argument);
            by_value.push(bytes);
            if !text.eat(',') && text.peek() != Token::Mark(')') {
                return Err(Trouble::expected("`)`"));
            }
        }
        Ok((arguments, by_value))
    }

    fn argument(&mut self, text: &mut Cursor<'t>) -> Parse<(Operand, u64)> {
        if text.eat_word("metadata") {
            let ty = self.tables.opaque();
            text.skip_element();
            let nothing = self.tables.intern(Constant::Undefined(ty));
            return Ok((Operand::Constant(nothing), 0));
        }
        let (ty, bytes) = self.tables.typed_slot(text)?;
        Ok((self.operand(ty, text)?, bytes))
    }

    /// `to label %a unwind label %b`, behind attributes and operand bundles.
    fn continuations(
        &mut self,
        text: &mut Cursor<'t>,
    ) -> Parse<(
        Option<unsnarl_trace::program::BlockId>,
        Option<unsnarl_trace::program::BlockId>,
    )> {
        while !text.eat_word("to") {
            if text.next() == Token::End {
                return Err(Trouble::expected("`to label`"));
            }
            text.skip_brackets();
        }
        let normal = self.target(text)?;
        text.expect_word("unwind")?;
        Ok((Some(normal), Some(self.target(text)?)))
    }
}
