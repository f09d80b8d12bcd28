//! The outline of a module: its lines outside of functions, and the lines of each function's body.

use super::{
    cursor::{Cursor, Token},
    layout::Alignments,
    lines::{Item, LineKind, items},
    metadata::Metadata,
};

/// The pieces of a module, unread.
#[derive(Default)]
pub(super) struct Outline<'t> {
    /// `source_filename`.
    pub source: &'t str,
    pub layout: Alignments,
    /// Names and definitions of types.
    pub types: Vec<(&'t str, &'t str)>,
    /// Definitions that begin with `@`: globals, aliases, indirect functions.
    pub globals: Vec<(&'t str, Cursor<'t>)>,
    pub functions: Vec<FunctionText<'t>>,
    pub metadata: Metadata<'t>,
    /// `true` if there was a line that only this language has.
    pub is_module: bool,
}

/// A function, unread.
pub(super) struct FunctionText<'t> {
    /// The line that begins it, from behind `define` or `declare`.
    pub header: Cursor<'t>,
    pub is_defined: bool,
    /// The point of the first instruction behind the header.
    pub first_point: u32,
    /// Labels, records and instructions.
    pub items: Vec<Item<'t>>,
}

impl<'t> Outline<'t> {
    pub fn read(text: &'t str) -> Outline<'t> {
        let mut outline = Outline::default();
        let mut next_point = 1;
        for item in items(text) {
            match item.kind {
                LineKind::Outer => outline.outer(item.text, next_point),
                LineKind::Define => {
                    outline.is_module = true;
                    outline.function(item.text, true, next_point);
                }
                LineKind::Label | LineKind::Record | LineKind::Instruction(_) => {
                    if let LineKind::Instruction(point) = item.kind {
                        next_point = point.saturating_add(1);
                    }
                    if let Some(function) = outline.functions.last_mut() {
                        function.items.push(item);
                    }
                }
                LineKind::Blank | LineKind::End => {}
            }
        }
        outline
    }

    fn function(&mut self, line: &'t str, is_defined: bool, first_point: u32) {
        let mut header = Cursor::new(line);
        header.next();
        self.functions.push(FunctionText {
            header,
            is_defined,
            first_point,
            items: Vec::new(),
        });
    }

    fn outer(&mut self, line: &'t str, next_point: u32) {
        let mut cursor = Cursor::new(line);
        match cursor.next() {
            Token::Word("source_filename") => {
                self.is_module = true;
                self.source = text_of(cursor);
            }
            Token::Word("target") if cursor.eat_word("datalayout") => {
                self.is_module = true;
                self.layout = Alignments::read(text_of(cursor));
            }
            Token::Word("declare") => self.function(line, false, next_point),
            Token::Local(name) if cursor.eat('=') && cursor.eat_word("type") => {
                self.types.push((name, cursor.rest()));
            }
            Token::Global(name) if cursor.eat('=') => self.globals.push((name, cursor)),
            Token::Meta(name) if cursor.eat('=') => self.metadata.add(name, cursor.rest()),
            _ => {}
        }
    }
}

/// Parses `= "text"`.
fn text_of(mut cursor: Cursor<'_>) -> &str {
    match (cursor.next(), cursor.next()) {
        (Token::Mark('='), Token::Text(text)) => text,
        _ => "",
    }
}
