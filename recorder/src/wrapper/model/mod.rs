//! The program model, which is made while compiling with clang: the compiler's text is kept, numbered and compiled.
//!
//! [`mod@plan`] turns a command into steps, where it can be served; [`points`] edits the text; [`steps`] runs
//! compilers. Whatever goes wrong with the model, the object is made as it would be without: a build never
//! fails because of it.

mod plan;
mod points;
mod steps;

pub use plan::{CommandPlan, plan};
pub use points::{FLAG, SECTION};
pub use steps::run;

use std::env;

/// The environment variable that turns the model off.
pub const VARIABLE: &str = "UNSNARL_MODEL";

/// The error for an invalid value of [`VARIABLE`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{VARIABLE} is `{0}`\n  next: set it to `on` or `off`, or unset it")]
pub struct ModelError(pub String);

/// Returns whether models are wanted.
///
/// # Errors
/// Fails if the variable has another value than `on` and `off`.
pub fn is_wanted() -> Result<bool, ModelError> {
    wanted(&env::var_os(VARIABLE).unwrap_or_default().to_string_lossy())
}

fn wanted(value: &str) -> Result<bool, ModelError> {
    match value {
        "" | "on" => Ok(true),
        "off" => Ok(false),
        other => Err(ModelError(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(wanted(""), Ok(true));
        assert_eq!(wanted("off"), Ok(false));
        assert_eq!(wanted("no"), Err(ModelError("no".into())));
    }
}
