//! Other programs, and the folders of the project.

use anyhow::{Context, Result, bail};
use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The folder of the project.
pub fn project() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR");
    let here = here.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), PathBuf::from)
}

/// The folder in which cargo builds.
pub fn target() -> Result<PathBuf> {
    let json = output(cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&json)?;
    let target = metadata
        .get("target_directory")
        .and_then(|path| path.as_str());
    Ok(PathBuf::from(
        target.context("cargo metadata names no target_directory")?,
    ))
}

/// The folder that the set-up installs into: it outlives the project.
pub fn cache() -> Result<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    let of_home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = named
        .or_else(of_home)
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("unsnarl"))
}

/// Cargo in the project's folder.
pub fn cargo(arguments: &[&str]) -> Command {
    command(
        env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")),
        arguments,
    )
}

/// A program in the project's folder.
pub fn command(program: impl Into<OsString>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program.into());
    command.args(arguments).current_dir(project());
    command
}

/// The command as on a terminal; the program without its folder, as people type it.
pub fn text(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.join(" ")
}

/// Runs a command that has to succeed, and shows it.
pub fn run(command: Command) -> Result<()> {
    run_expecting(command, &[0])
}

/// Runs a command that has to end with one of these exit statuses, and shows it.
pub fn run_expecting(mut command: Command, statuses: &[i32]) -> Result<()> {
    let text = text(&command);
    eprintln!("$ {text}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{text}`"))?;
    match status.code() {
        Some(code) if statuses.contains(&code) => Ok(()),
        _ => bail!("`{text}` ended with {status}"),
    }
}

/// As [`run`], for a command beside others: what it prints comes in one piece when it has ended.
pub fn run_beside(mut command: Command) -> Result<()> {
    let text = text(&command);
    eprintln!("$ {text}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start `{text}`"))?;
    io::stdout().write_all(&output.stdout)?;
    match output.status.success() {
        true => Ok(()),
        false => bail!("`{text}` ended with {}", output.status),
    }
}

/// Standard output of a command that has to succeed.
pub fn output(mut command: Command) -> Result<String> {
    let text = text(&command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start `{text}`"))?;
    if !output.status.success() {
        bail!("`{text}` ended with {}", output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The time of the last commit, in seconds since 1970: the same commit makes the same archives.
pub fn commit_time() -> Result<String> {
    let time = output(command("git", &["log", "-1", "--format=%ct"]))?;
    Ok(time.trim().to_owned())
}

/// Returns whether the command succeeds. Prints nothing either way.
pub fn succeeds(mut command: Command) -> bool {
    let silent = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}
