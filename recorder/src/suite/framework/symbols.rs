//! Names in a program's file, by which its framework is recognized.

use object::{Object, ObjectSection, ObjectSymbol};
use std::path::Path;
use unsnarl_trace::files::read_regular;

/// Names of the symbols that a program has or needs, and its constant texts.
pub(super) struct ProgramNames {
    names: Vec<String>,
    texts: Vec<u8>,
}

impl ProgramNames {
    /// Reads the names of a program; `None` if it is no program.
    pub fn of(program: &Path) -> Option<ProgramNames> {
        let bytes = read_regular(program, crate::assemble::MOST).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let names: Vec<String> = symbols
            .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
            .collect();
        let texts = file
            .section_by_name(".rodata")
            .and_then(|section| section.data().ok())
            .unwrap_or_default();
        Some(ProgramNames {
            names,
            texts: texts.to_vec(),
        })
    }

    /// Returns whether a symbol's name contains this text.
    pub fn has_symbol(&self, mark: &str) -> bool {
        self.names.iter().any(|name| name.contains(mark))
    }

    /// Returns whether the constants contain this text.
    pub fn has_text(&self, mark: &str) -> bool {
        let mut windows = self.texts.windows(mark.len().max(1));
        windows.any(|window| window == mark.as_bytes())
    }
}
