//! Global variables, aliases and the first lines of functions.

use super::{
    constants::begins_value,
    cursor::{Cursor, Token, plain},
    debug_types::DebugTypes,
    metadata::{Metadata, NodeId},
    outline::FunctionText,
    places::{self, PlaceRows},
    symbols::{AliasState, AliasText, SymbolMeaning},
    tables::{Tables, row},
    trouble::{Parse, Trouble},
    types::begins_type,
};
use unsnarl_trace::program::{Function, Global, GlobalId, PointNumber, TypeId};

/// The debug info, read as far as it is asked for.
pub(super) struct Debug<'t> {
    pub metadata: Metadata<'t>,
    pub places: PlaceRows,
    pub types: DebugTypes,
}

/// Gives every `@name` its row, so that constants can refer to those that come later.
pub(super) fn name_globals<'t>(tables: &mut Tables<'t>, globals: &[(&'t str, Cursor<'t>)]) {
    for &(name, text) in globals {
        let mut text = text;
        let symbol = match keyword(&mut text) {
            "alias" => {
                tables.symbols.aliases.push(alias(name, text));
                SymbolMeaning::Alias(tables.symbols.aliases.len() - 1)
            }
            "ifunc" => {
                let id = tables.next_function();
                tables.unit.functions.push(Function {
                    name: plain(name),
                    display: places::subprogram("", &plain(name)),
                    first_point: PointNumber(1),
                    ..Function::default()
                });
                SymbolMeaning::Function(id)
            }
            _ => {
                let id = GlobalId(row(tables.unit.globals.len()));
                tables.unit.globals.push(Global {
                    name: plain(name),
                    ..Global::default()
                });
                SymbolMeaning::Global(id)
            }
        };
        tables.symbols.by_name.insert(name, symbol);
    }
}

/// Skips linkage and the like, up to the word that names the kind of the global.
fn keyword<'t>(text: &mut Cursor<'t>) -> &'t str {
    loop {
        match text.next() {
            Token::Word(word @ ("global" | "constant" | "alias" | "ifunc")) => return word,
            Token::End => return "",
            _ => text.skip_brackets(),
        }
    }
}

/// Parses `T, T @of`; T may be the type of a function.
fn alias<'t>(name: &'t str, mut of: Cursor<'t>) -> AliasText<'t> {
    of.skip_element();
    of.eat(',');
    AliasText {
        name,
        of,
        state: AliasState::Unread,
    }
}

/// Reads the global variables, which have their rows.
pub(super) fn read_globals<'t>(
    tables: &mut Tables<'t>,
    debug: &mut Debug<'t>,
    globals: &[(&'t str, Cursor<'t>)],
) {
    for &(name, text) in globals {
        let Some(SymbolMeaning::Global(id)) = tables.symbols.by_name.get(name).copied() else {
            continue;
        };
        let mut global = Global {
            name: plain(name),
            ..Global::default()
        };
        if let Err(trouble) = read_global(tables, debug, text, &mut global) {
            tables
                .problems
                .add(trouble, || format!("variable `{}`", plain(name)));
        }
        if let Some(known) = tables.unit.globals.get_mut(id.index()) {
            *known = global;
        }
    }
}

fn read_global<'t>(
    tables: &mut Tables<'t>,
    debug: &mut Debug<'t>,
    mut text: Cursor<'t>,
    global: &mut Global,
) -> Parse<()> {
    let mut words = text;
    loop {
        match words.next() {
            Token::Word("internal" | "private") => global.is_local = true,
            Token::Word("thread_local") => global.is_thread_local = true,
            Token::Word("global" | "constant") | Token::End => break,
            _ => words.skip_brackets(),
        }
    }
    global.is_constant = keyword(&mut text) == "constant";
    if let Some(node) = attached(text.rest()) {
        name_global(tables, debug, node, global);
    }
    global.ty = tables.ty(&mut text)?;
    global.size = tables.size(global.ty).0;
    if !matches!(text.peek(), Token::Mark(',') | Token::End) {
        global.initial = Some(tables.constant(global.ty, &mut text)?);
    }
    Ok(())
}

/// The node that a trailing `!dbg` names.
pub(super) fn attached(text: &str) -> Option<NodeId> {
    let (_, behind) = text.rsplit_once("!dbg !")?;
    // Else it is part of a text: metadata that is attached has none.
    let is_attached = !behind.contains('"');
    let number = Cursor::new(behind).number().ok().filter(|_| is_attached)?;
    number.try_into().ok()
}

fn name_global(tables: &mut Tables, debug: &mut Debug, expression: NodeId, global: &mut Global) {
    let metadata = &debug.metadata;
    let node = metadata
        .node(expression)
        .and_then(|node| node.reference("var"));
    let Some((id, variable)) = node.and_then(|id| Some((id, metadata.node(id)?))) else {
        return;
    };
    let unit = &mut tables.unit;
    global.display = places::qualified(metadata, id);
    global.debug_type = debug.types.of(unit, variable, "type");
    global.place = debug.places.declaration(unit, metadata, id);
}

/// The names of a function's parameters, where it has a body.
pub(super) type ParameterNames<'t> = Vec<Option<&'t str>>;

/// Reads the first line of a function and gives it a row.
pub(super) fn read_header<'t>(
    tables: &mut Tables<'t>,
    debug: &mut Debug<'t>,
    text: &FunctionText<'t>,
) -> ParameterNames<'t> {
    let mut function = Function {
        first_point: PointNumber(text.first_point),
        ..Function::default()
    };
    let mut names = Vec::new();
    if let Err(trouble) = header(tables, debug, text.header, &mut function, &mut names) {
        let name = function.name.clone();
        tables
            .problems
            .add(trouble, || format!("function `{name}`"));
    }
    if function.display.is_empty() {
        function.display = places::subprogram("", &function.name);
    }
    tables.unit.functions.push(function);
    names
}

fn header<'t>(
    tables: &mut Tables<'t>,
    debug: &mut Debug<'t>,
    mut text: Cursor<'t>,
    function: &mut Function,
    names: &mut ParameterNames<'t>,
) -> Parse<()> {
    loop {
        match text.peek() {
            token if begins_type(token) => break,
            Token::End => return Err(Trouble::expected("a type")),
            Token::Word("internal" | "private") => function.is_local = true,
            _ => {}
        }
        text.next();
        text.skip_round();
    }
    let result = tables.ty(&mut text);
    let Token::Global(name) = text.next() else {
        return Err(Trouble::expected("a function's name"));
    };
    function.name = plain(name);
    let id = tables.next_function();
    tables
        .symbols
        .by_name
        .insert(name, SymbolMeaning::Function(id));
    name_function(tables, debug, text, function);
    function.result = result?;
    text.expect('(')?;
    while !text.eat(')') {
        if text.eat_word("...") {
            function.is_variadic = true;
        } else {
            let (ty, by_value) = tables.typed_slot(&mut text)?;
            function.parameters.push(ty);
            function.by_value.push(by_value);
            names.push(match text.peek() {
                Token::Local(name) => Some(name),
                _ => None,
            });
            text.skip_element();
        }
        if !text.eat(',') && text.peek() != Token::Mark(')') {
            return Err(Trouble::expected("`)`"));
        }
    }
    function.values = row(function.parameters.len());
    Ok(())
}

fn name_function(tables: &mut Tables, debug: &mut Debug, text: Cursor, function: &mut Function) {
    let Some(node) = attached(text.rest()) else {
        return;
    };
    let unit = &mut tables.unit;
    function.place = debug.places.declaration(unit, &debug.metadata, node);
    let name = debug.places.name_of(unit, &debug.metadata, node);
    function.display = name.unwrap_or_default();
}

impl<'t> Tables<'t> {
    /// Parses a type with its attributes, as of a parameter or argument, with the number of bytes that `byval`
    /// copies.
    pub fn typed_slot(&mut self, text: &mut Cursor<'t>) -> Parse<(TypeId, u64)> {
        let ty = self.ty(text)?;
        let mut by_value = 0;
        loop {
            match text.peek() {
                Token::Word(word) if begins_value(word) => return Ok((ty, by_value)),
                Token::Word("byval") => {
                    text.next();
                    if text.eat('(') {
                        let copied = self.ty(text)?;
                        by_value = self.size(copied).0;
                        text.expect(')')?;
                    }
                }
                Token::Word("align") => {
                    text.next();
                    if matches!(text.peek(), Token::Word(word) if begins_value(word)) {
                        text.next();
                    }
                    text.skip_round();
                }
                Token::Word(_) => {
                    text.next();
                    text.skip_round();
                }
                Token::Text(_) => {
                    text.next();
                    if text.eat('=') {
                        text.next();
                    }
                }
                _ => return Ok((ty, by_value)),
            }
        }
    }
}
