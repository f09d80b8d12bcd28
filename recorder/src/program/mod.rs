//! Translation of the compiler's textual intermediate representation into the program model.
//!
//! [`lines`] finds functions and instructions in the text and numbers them; both the model and what is
//! compiled ([`crate::wrapper`]) take their numbers from there, so they agree. [`condense`] reads what these
//! lines say: first the outline (types, names of globals, functions), then globals, then bodies, with the
//! debug info read as far as something refers to it. All of it is linear in the text.

mod body;
mod calls;
mod constants;
mod cursor;
mod debug_types;
mod globals;
mod layout;
pub mod lines;
mod metadata;
mod numbers;
mod operations;
mod outline;
mod places;
mod symbols;
mod tables;
#[cfg(test)]
mod tests;
mod trouble;
mod types;
mod variables;

use cursor::plain;
use debug_types::DebugTypes;
use globals::{Debug, ParameterNames};
use outline::Outline;
use places::PlaceRows;
use std::rc::Rc;
use tables::{NamedType, Tables};
use trouble::Trouble;
use unsnarl_trace::program::{Constant, FunctionId, Unit};

/// An error that keeps a text from being condensed into a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CondenseError {
    /// The text is not LLVM's intermediate representation.
    #[error("this is not LLVM's textual intermediate representation")]
    OtherText,
    /// The pointers have pointee types, as before LLVM 15.
    #[error(
        "this clang is too old for a program model\n  next: name clang 15 or newer in UNSNARL_CC and UNSNARL_CXX"
    )]
    OldCompiler,
}

/// Condenses a module's text into its model. Linear in its length. Parts that are not understood become
/// [`Op::Unknown`](unsnarl_trace::program::Op::Unknown) or an unknown constant, and a line in [`Unit::problems`].
///
/// # Errors
/// Fails for texts in other languages, and for those of old compilers.
pub fn condense(text: &str) -> Result<Unit, CondenseError> {
    let outline = Outline::read(text);
    if !outline.is_module {
        return Err(CondenseError::OtherText);
    }
    let mut tables = Tables::new(outline.layout);
    if !tables.layout.is_known() {
        let trouble = Trouble::new("addresses of 64 bits with the lowest byte first are expected");
        tables.problems.add(trouble, || "data layout".to_owned());
    }
    let types = outline.types.iter();
    tables.named = types
        .map(|&(name, text)| (name, NamedType::Text(text)))
        .collect();
    let mut debug = Debug {
        metadata: outline.metadata,
        places: PlaceRows::begin(&mut tables.unit),
        types: DebugTypes::begin(&mut tables.unit),
    };
    name_unit(&mut tables.unit, &debug, outline.source);
    globals::name_globals(&mut tables, &outline.globals);
    let mut functions: Vec<(FunctionId, ParameterNames)> = Vec::new();
    for function in &outline.functions {
        let id = tables.next_function();
        let names = globals::read_header(&mut tables, &mut debug, function);
        functions.push((id, names));
    }
    if text.contains("blockaddress") {
        for (function, (id, names)) in outline.functions.iter().zip(&functions) {
            let labels = Rc::new(body::blocks(&function.items, names).1);
            tables.symbols.labels.insert(*id, labels);
        }
    }
    globals::read_globals(&mut tables, &mut debug, &outline.globals);
    tables.finish_aliases();
    for (function, (id, names)) in outline.functions.iter().zip(&functions) {
        if function.is_defined {
            body::read(&mut tables, &mut debug, *id, &function.items, names);
        }
    }
    debug.types.finish(&mut tables.unit, &debug.metadata);
    drop_unused(&mut tables.unit);
    if tables.has_typed_pointers {
        return Err(CondenseError::OldCompiler);
    }
    tables.unit.problems = tables.problems.lines();
    Ok(tables.unit)
}

/// Drops functions that are declared and not referred to: the compiler declares all callbacks, also those that it
/// does not call. References to functions are always constants.
fn drop_unused(unit: &mut Unit) {
    let mut is_used: Vec<bool> = unit
        .functions
        .iter()
        .map(|function| !function.blocks.is_empty())
        .collect();
    for constant in &unit.constants {
        if let Constant::Function(id) | Constant::Block { function: id, .. } = constant
            && let Some(used) = is_used.get_mut(id.index())
        {
            *used = true;
        }
    }
    let mut next = 0;
    let number = |used: &bool| {
        let own = next;
        next += u32::from(*used);
        FunctionId(own)
    };
    let renamed: Vec<FunctionId> = is_used.iter().map(number).collect();
    for constant in &mut unit.constants {
        if let Constant::Function(id) | Constant::Block { function: id, .. } = constant {
            *id = renamed.get(id.index()).copied().unwrap_or(*id);
        }
    }
    let mut is_used = is_used.into_iter();
    unit.functions.retain(|_| is_used.next().unwrap_or(true));
}

/// Sets the source's name and folder, from the debug info if there is any.
fn name_unit(unit: &mut Unit, debug: &Debug, source: &str) {
    let metadata = &debug.metadata;
    let units = metadata.list("llvm.dbg.cu");
    let file = units
        .first()
        .and_then(|id| metadata.node(*id)?.reference("file"));
    let file = file.and_then(|id| metadata.node(id));
    unit.source = file.map_or_else(|| plain(source), |file| file.text("filename"));
    unit.directory = file.map_or_else(String::new, |file| file.text("directory"));
}
