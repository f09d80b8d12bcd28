//! `unsnarl cc` and `unsnarl c++`.

use crate::message;
use std::{ffi::OsString, process::ExitCode};
use unsnarl_recorder::wrapper::{self, Language};

/// Compiles and links. As with the compilers, 1 is the status of what was not compiled.
pub fn run(language: Language, arguments: Vec<OsString>) -> ExitCode {
    wrapper::run(language, arguments).unwrap_or_else(|error| {
        message::error(&error.to_string());
        ExitCode::FAILURE
    })
}
