//! `unsnarl cc` and `unsnarl c++`: drop-in compilers whose programs can be recorded.
//!
//! [`arguments`] understands a compiler's command line, [`flags`] says how it is changed and why, and [`compiler`]
//! finds the real compiler. [`mod@run`] starts it in this process's place, or [`model`] does so by steps. [`noted`]
//! keeps how sources were compiled and programs linked, and [`rebuild`] builds a program once more with edited sources.

mod archives;
pub mod arguments;
pub mod assembler;
mod assembly;
pub mod build;
pub mod compiler;
pub mod flags;
mod linker;
mod mirror;
pub mod model;
pub mod noted;
pub mod rebuild;
pub mod response;
pub mod run;

pub use compiler::{Compiler, Family, Language};
pub use flags::{CommandParts, CommandRefusal};
pub use run::{WrapperError, run};
