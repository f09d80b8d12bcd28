//! The library itself, and the slots that the calls of the bindings go through.

use libloading::Library;
use std::{
    arch::global_asm,
    ffi::{CStr, c_char, c_void},
    path::Path,
    sync::atomic::{AtomicPtr, Ordering::Release},
};

global_asm!(include_str!("functions.s"));

unsafe extern "C" {
    /// The slots, in the order of the names.
    static unsnarl_solver_slots: AtomicPtr<c_void>;
    /// The names, each ended by a zero byte; an empty one is the last.
    static unsnarl_solver_names: c_char;
}

/// Opens the library and fills all slots, or none when it lacks a function. It stays open until the process ends.
pub fn open(path: &Path) -> Result<(), String> {
    // SAFETY: the initializers of libz3 ask nothing of those who load it.
    let library = unsafe { Library::new(path) }.map_err(reason)?;
    let functions: Vec<*mut c_void> = names()
        .map(|name| function(&library, name))
        .collect::<Result<_, _>>()?;
    let slots = &raw const unsnarl_solver_slots;
    for (row, function) in functions.into_iter().enumerate() {
        // SAFETY: `functions.s` makes a slot for each name, in the same order.
        unsafe { &*slots.add(row) }.store(function, Release);
    }
    std::mem::forget(library);
    Ok(())
}

/// The loader's own words, which name the file.
fn reason(error: libloading::Error) -> String {
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn function(library: &Library, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: only the address is taken here; its type is that of the bindings.
    let symbol = unsafe { library.get::<*mut c_void>(name.to_bytes_with_nul()) };
    symbol
        .map(|symbol| *symbol)
        .map_err(|_| format!("it has no function {}", name.to_string_lossy()))
}

/// The names of the functions.
fn names() -> impl Iterator<Item = &'static CStr> {
    let mut next = &raw const unsnarl_solver_names;
    std::iter::from_fn(move || {
        // SAFETY: `next` is the start of a name of `functions.s`; an empty name ends them, and `next` stays there.
        let name = unsafe { CStr::from_ptr(next) };
        if name.is_empty() {
            return None;
        }
        // SAFETY: behind the zero byte of a name there is another name.
        next = unsafe { next.add(name.to_bytes_with_nul().len()) };
        Some(name)
    })
}
