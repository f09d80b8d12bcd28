//! The kinds of builds: for exact recording, or for path mode.

use std::{env, ffi::OsString};

/// The kind of a build. The two kinds exclude each other: instrumented accesses cost more than a recording of paths
/// may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildKind {
    /// Every access can be recorded: all strategies but `path`.
    Exact,
    /// Build in which only branches and synchronization can be recorded: the strategy `path`, at nearly full speed.
    Path,
}

/// The environment variable that chooses the build if the command line does not.
pub const VARIABLE: &str = "UNSNARL_BUILD";
/// The option that chooses the build; it stands before all others.
pub const OPTION: &str = "--path";

/// The error for an invalid value of [`VARIABLE`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{VARIABLE} is `{0}`\n  next: set it to `path` or `exact`, or unset it")]
pub struct BuildError(pub String);

/// Takes the option out of the command line, and returns the build that it or else the environment asks for.
pub fn take(arguments: &mut Vec<OsString>) -> Result<BuildKind, BuildError> {
    if arguments.first().is_some_and(|first| first == OPTION) {
        arguments.remove(0);
        return Ok(BuildKind::Path);
    }
    named(&env::var_os(VARIABLE).unwrap_or_default().to_string_lossy())
}

fn named(value: &str) -> Result<BuildKind, BuildError> {
    match value {
        "" | "exact" => Ok(BuildKind::Exact),
        "path" => Ok(BuildKind::Path),
        other => Err(BuildError(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_comes_first() {
        let mut arguments: Vec<OsString> = ["--path", "-c", "x.c"].map(OsString::from).to_vec();
        assert_eq!(take(&mut arguments), Ok(BuildKind::Path));
        assert_eq!(arguments, ["-c", "x.c"]);
    }

    #[test]
    fn names() {
        assert_eq!(named("path"), Ok(BuildKind::Path));
        assert_eq!(named(""), Ok(BuildKind::Exact));
        assert_eq!(named("paths"), Err(BuildError("paths".into())));
    }
}
