//! The lines of the user's source that the machine code of a function is made of, the same in every run.

use super::{image::Image, program::ProgramDebugInfo};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};
use unsnarl_trace::meta::is_system;

/// First address and text of each piece of a function's code, by address.
pub(super) type FunctionLines = Arc<[(u64, String)]>;

/// Lines of the functions of all runs, by module and start of the function.
#[derive(Default)]
pub(super) struct LineCache(Mutex<FxHashMap<(String, u64), FunctionLines>>);

impl LineCache {
    /// Lines of the function that holds a file's own address; empty where there is none.
    pub fn around(&self, program: &ProgramDebugInfo, image: &Image, address: u64) -> FunctionLines {
        let Some((symbol, _)) = image.code_symbol(address) else {
            return Arc::default();
        };
        let end = symbol.start.saturating_add(symbol.size);
        let make = || lines(program, image, symbol.start, end);
        match self.0.lock() {
            Ok(mut known) => known
                .entry((image.path.clone(), symbol.start))
                .or_insert_with(make)
                .clone(),
            Err(_) => make(),
        }
    }
}

fn lines(program: &ProgramDebugInfo, image: &Image, from: u64, to: u64) -> FunctionLines {
    let lines = image.lines(from, to).into_iter();
    lines
        .filter(|(_, file, _)| !is_system(file))
        .map(|(start, file, line)| (start, program.sources.line(&file, line)))
        .collect()
}
