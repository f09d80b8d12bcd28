//! The body of a function: blocks, instructions, variables.

use super::{
    cursor::{Cursor, Token},
    globals::{Debug, ParameterNames, attached},
    lines::{Item, LineKind},
    symbols::FunctionLabels,
    tables::{Tables, row},
    trouble::{Parse, Trouble, shortened},
    variables,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use unsnarl_trace::program::{
    Block, BlockId, Function, FunctionId, Instruction, Op, Operand, PlaceId, TypeId, ValueId,
};

/// A function while its instructions are read.
pub(super) struct Body<'a, 't> {
    pub tables: &'a mut Tables<'t>,
    pub values: FxHashMap<&'t str, ValueId>,
    pub labels: FunctionLabels<'t>,
    /// `true` if the first block has no label: its number stands in no line of its own.
    pub is_first_unnamed: bool,
}

/// The operation of an instruction, and the type of its result.
pub(super) type TypedOperation = (Op, TypeId);

/// The number of a first block without a label: the one behind the parameters' numbers.
fn first_label(names: &ParameterNames) -> String {
    let is_number = |name: &&Option<&str>| name.is_none_or(|name| name.parse::<u32>().is_ok());
    names.iter().filter(is_number).count().to_string()
}

/// The name at the beginning of a label's line.
fn label(text: &str) -> &str {
    let mut cursor = Cursor::new(text);
    match cursor.next() {
        Token::Word(name) | Token::Text(name) => name,
        _ => "",
    }
}

/// The name of an instruction's result; the cursor is behind the `=`.
fn result<'t>(text: &mut Cursor<'t>) -> Option<&'t str> {
    let mut ahead = *text;
    let Token::Local(name) = ahead.next() else {
        return None;
    };
    ahead.eat('=').then(|| {
        *text = ahead;
        name
    })
}

/// The blocks of a body, without their instructions' ranges, and their labels. A first block without a label has its
/// number as the key here, although the text does not contain it.
pub(super) fn blocks<'t>(
    items: &[Item<'t>],
    names: &ParameterNames<'t>,
) -> (Vec<Block>, FxHashMap<&'t str, BlockId>) {
    let mut found: Vec<Block> = Vec::new();
    let mut labels = FxHashMap::default();
    let mut instructions = 0;
    for item in items {
        match item.kind {
            LineKind::Label => {
                let name = label(item.text);
                labels.insert(name, BlockId(row(found.len())));
                found.push(begin(name, instructions));
            }
            LineKind::Instruction(_) => {
                if found.is_empty() {
                    found.push(begin(&first_label(names), 0));
                }
                instructions += 1;
                if let Some(block) = found.last_mut() {
                    block.to = instructions;
                }
            }
            _ => {}
        }
    }
    (found, labels)
}

fn begin(label: &str, at: u32) -> Block {
    Block {
        label: label.to_owned(),
        from: at,
        to: at,
    }
}

/// Reads the body of the function with this row.
pub(super) fn read<'t>(
    tables: &mut Tables<'t>,
    debug: &mut Debug<'t>,
    id: FunctionId,
    items: &[Item<'t>],
    names: &ParameterNames<'t>,
) {
    let Some(mut function) = tables
        .unit
        .functions
        .get_mut(id.index())
        .map(std::mem::take)
    else {
        return;
    };
    let (found, labels) = blocks(items, names);
    function.blocks = found;
    let mut body = Body {
        tables,
        values: values(items, names, &mut function),
        is_first_unnamed: !labels.values().any(|block| block.0 == 0),
        labels: Rc::new(labels),
    };
    for item in items {
        match item.kind {
            LineKind::Instruction(_) => {
                let instruction = body.instruction(debug, item, &function);
                function.instructions.push(instruction);
            }
            LineKind::Record => variables::record(&mut body, debug, item.text, &mut function),
            _ => {}
        }
    }
    variables::without_repetitions(&mut function.variables);
    if let Some(place) = body.tables.unit.functions.get_mut(id.index()) {
        *place = function;
    }
}

/// Numbers for parameters and results: any instruction may use the result of a later one.
fn values<'t>(
    items: &[Item<'t>],
    names: &ParameterNames<'t>,
    function: &mut Function,
) -> FxHashMap<&'t str, ValueId> {
    let mut values = FxHashMap::default();
    for (at, name) in names.iter().enumerate() {
        if let Some(name) = name {
            values.insert(*name, ValueId(row(at)));
        }
    }
    let instructions = items
        .iter()
        .filter(|item| matches!(item.kind, LineKind::Instruction(_)));
    for item in instructions {
        if let Some(name) = result(&mut Cursor::new(item.text)) {
            values.insert(name, ValueId(function.values));
            function.values = function.values.saturating_add(1);
        }
    }
    values
}

impl<'t> Body<'_, 't> {
    fn instruction(
        &mut self,
        debug: &mut Debug<'t>,
        item: &Item<'t>,
        function: &Function,
    ) -> Instruction {
        let mut text = Cursor::new(item.text);
        let result = result(&mut text).and_then(|name| self.values.get(name).copied());
        let (op, ty) = self.operation(&mut text).unwrap_or_else(|trouble| {
            self.tables.problems.add(trouble, || {
                format!("`{}` in `{}`", shortened(item.text), function.display)
            });
            let ty = match result {
                Some(_) => self.tables.opaque(),
                None => self.tables.void(),
            };
            (Op::Unknown(shortened(item.text)), ty)
        });
        Instruction {
            op,
            result,
            ty,
            place: place(self.tables, debug, item.text),
        }
    }

    /// A value of this type.
    pub fn operand(&mut self, ty: TypeId, text: &mut Cursor<'t>) -> Parse<Operand> {
        if let Token::Local(name) = text.peek() {
            text.next();
            let value = self.values.get(name).copied();
            return value
                .map(Operand::Value)
                .ok_or_else(|| Trouble::new("a value is not defined"));
        }
        self.tables.constant(ty, text).map(Operand::Constant)
    }

    /// A type and a value of it.
    pub fn typed(&mut self, text: &mut Cursor<'t>) -> Parse<(TypeId, Operand)> {
        let ty = self.tables.ty(text)?;
        Ok((ty, self.operand(ty, text)?))
    }

    /// A comma, a type and a value of it.
    pub fn next_typed(&mut self, text: &mut Cursor<'t>) -> Parse<(TypeId, Operand)> {
        text.expect(',')?;
        self.typed(text)
    }

    /// `label %name`.
    pub fn target(&mut self, text: &mut Cursor<'t>) -> Parse<BlockId> {
        text.expect_word("label")?;
        self.block(text)
    }

    /// `%name` of a block.
    pub fn block(&mut self, text: &mut Cursor<'t>) -> Parse<BlockId> {
        let Token::Local(name) = text.next() else {
            return Err(Trouble::expected("a label"));
        };
        match self.labels.get(name) {
            Some(block) => Ok(*block),
            None if self.is_first_unnamed && name.parse::<u32>().is_ok() => Ok(BlockId(0)),
            None => Err(Trouble::new("a label is not defined")),
        }
    }
}

/// The place that the `!dbg` behind an instruction names.
fn place<'t>(tables: &mut Tables<'t>, debug: &mut Debug<'t>, text: &'t str) -> PlaceId {
    let node = attached(text);
    node.map_or(PlaceId(0), |node| {
        debug
            .places
            .location(&mut tables.unit, &debug.metadata, node)
    })
}
