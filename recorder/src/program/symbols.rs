//! Resolution of `@name`.

use super::{
    cursor::{Cursor, Token, plain},
    tables::{Tables, row},
    trouble::{Parse, Trouble},
    types::begins_type,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use unsnarl_trace::program::{Alias, BlockId, Constant, ConstantId, FunctionId, GlobalId};

/// The meaning of a name of the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SymbolMeaning {
    Global(GlobalId),
    Function(FunctionId),
    /// Row of [`Symbols::aliases`].
    Alias(usize),
}

/// An alias of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct AliasText<'t> {
    pub name: &'t str,
    /// Text of the aliased constant, from its type on.
    pub of: Cursor<'t>,
    pub state: AliasState,
}

/// Progress of reading an alias.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AliasState {
    Unread,
    Busy,
    Done(ConstantId),
}

/// The labels of a function.
pub(super) type FunctionLabels<'t> = Rc<FxHashMap<&'t str, BlockId>>;

/// Names of the module.
#[derive(Default)]
pub(super) struct Symbols<'t> {
    pub by_name: FxHashMap<&'t str, SymbolMeaning>,
    pub aliases: Vec<AliasText<'t>>,
    /// The labels of functions that others may jump into by address.
    pub labels: FxHashMap<FunctionId, FunctionLabels<'t>>,
}

impl<'t> Tables<'t> {
    /// The address that a name stands for.
    pub fn symbol(&mut self, name: &'t str) -> Parse<ConstantId> {
        match self.symbols.by_name.get(name).copied() {
            Some(SymbolMeaning::Global(id)) => Ok(self.intern(Constant::Global(id))),
            Some(SymbolMeaning::Function(id)) => Ok(self.intern(Constant::Function(id))),
            Some(SymbolMeaning::Alias(at)) => self.alias(at),
            None => Err(Trouble::new("a name is not defined")),
        }
    }

    fn alias(&mut self, at: usize) -> Parse<ConstantId> {
        let missing = || Trouble::new("a name is not defined");
        let alias = self.symbols.aliases.get_mut(at).ok_or_else(missing)?;
        let mut text = match alias.state {
            AliasState::Done(id) => return Ok(id),
            AliasState::Busy => return Err(Trouble::new("a name stands for itself")),
            AliasState::Unread => alias.of,
        };
        alias.state = AliasState::Busy;
        let found = self.nested(|tables| {
            // Expressions stand there without their type.
            let ty = match begins_type(text.peek()) {
                true => tables.ty(&mut text)?,
                false => tables.pointer(),
            };
            tables.constant(ty, &mut text)
        });
        if let (Ok(id), Some(alias)) = (&found, self.symbols.aliases.get_mut(at)) {
            alias.state = AliasState::Done(*id);
        }
        found
    }

    /// Puts all aliases into the unit.
    pub fn finish_aliases(&mut self) {
        for at in 0..self.symbols.aliases.len() {
            let name = self.symbols.aliases.get(at).map_or("", |alias| alias.name);
            match self.alias(at) {
                Ok(of) => self.unit.aliases.push(Alias {
                    name: plain(name),
                    of,
                }),
                Err(trouble) => self
                    .problems
                    .add(trouble, || format!("alias `{}`", plain(name))),
            }
        }
    }

    /// Parses `(@function, %label)` behind `blockaddress`.
    pub fn block_address(&mut self, text: &mut Cursor<'t>) -> Parse<ConstantId> {
        text.expect('(')?;
        let (function, _, label) = (text.next(), text.expect(',')?, text.next());
        text.expect(')')?;
        let (Token::Global(function), Token::Local(label)) = (function, label) else {
            return Err(Trouble::expected("a label of a function"));
        };
        let Some(SymbolMeaning::Function(function)) = self.symbols.by_name.get(function).copied()
        else {
            return Err(Trouble::new("a name is not defined"));
        };
        let labels = self.symbols.labels.get(&function);
        let block = labels.and_then(|labels| labels.get(label).copied());
        let block = block.ok_or_else(|| Trouble::new("a label is not defined"))?;
        Ok(self.intern(Constant::Block { function, block }))
    }

    /// The row that the next function gets.
    pub fn next_function(&self) -> FunctionId {
        FunctionId(row(self.unit.functions.len()))
    }
}
