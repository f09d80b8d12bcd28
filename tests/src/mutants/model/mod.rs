//! Model of a base program's use of threads, from its text: functions, locks and the data that these guard.

mod locking;
mod reach;
mod sections;
mod uses;

use super::syntax::{MutatedSource, of_kind};
pub use locking::{Effect, MutatedLockStatement, last_name};
use sections::Reached;
pub use sections::{LockedStatements, SIGNALS};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// A function with a body.
#[derive(Debug)]
pub struct BaseFunction<'s> {
    /// Name without class and namespace.
    pub name: &'s str,
    /// The braces.
    pub body: Node<'s>,
    /// Names of what it calls.
    pub calls: Vec<&'s str>,
}

/// A base program.
pub struct BaseProgram<'s> {
    /// Its text.
    pub source: &'s MutatedSource,
    /// Functions and methods with a body.
    pub functions: Vec<BaseFunction<'s>>,
    /// Functions that take or give back a lock for their caller, with the lock's name.
    wrappers: BTreeMap<&'s str, (Effect, String)>,
    /// Classes whose destructor gives a lock back.
    guards: BTreeSet<&'s str>,
    sections: Vec<Reached<'s>>,
}

impl<'s> BaseProgram<'s> {
    /// The program of a source.
    pub fn new(source: &'s MutatedSource) -> BaseProgram<'s> {
        let mut program = BaseProgram {
            source,
            functions: functions(source),
            wrappers: BTreeMap::new(),
            guards: locking::guards(source),
            sections: Vec::new(),
        };
        program.wrappers = program.find_wrappers();
        program.sections = program.find_sections();
        program
    }

    /// The function around a node.
    pub fn function_of(&self, node: Node<'s>) -> Option<&BaseFunction<'s>> {
        let around = |function: &&BaseFunction| contains(function.body, node);
        self.functions.iter().rfind(around)
    }

    /// Name of the function around an offset of the text.
    pub fn function_at(&self, offset: usize) -> Option<&'s str> {
        let around = |function: &&BaseFunction| function.body.byte_range().contains(&offset);
        Some(self.functions.iter().rfind(around)?.name)
    }
}

/// Returns whether one node is in the other, or the same.
pub fn contains(outer: Node, inner: Node) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

fn functions(source: &MutatedSource) -> Vec<BaseFunction<'_>> {
    let definitions = of_kind(source.root(), "function_definition").into_iter();
    let named = definitions.filter_map(|definition| {
        let declarators = of_kind(definition, "function_declarator");
        let name = declarators.first()?.child_by_field_name("declarator")?;
        let text = source.text(name);
        let body = definition.child_by_field_name("body")?;
        let calls = source.calls(body);
        Some(BaseFunction {
            name: text.rsplit("::").next().unwrap_or(text),
            body,
            calls: calls.iter().map(|call| call.name).collect(),
        })
    });
    named.collect()
}
