//! `unsnarl explain --engine dsp`: what the engine says, for reading, for programs and as pictures.

mod json;
mod text;

pub use json::DifferenceRow;
pub use text::{check_one_way, print, print_dot, print_svg};
