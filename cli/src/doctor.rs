//! `unsnarl doctor`: reports what is missing on this machine, and how to get it.

use anstyle::{AnsiColor, Style};
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, ExitCode},
};
use unsnarl_recorder::{
    log::{Log, LogConfig},
    replay::registers,
    runtime_library,
    wrapper::compiler::{self, Language, in_path},
};

/// The result of one check.
enum CheckResult {
    /// The checked part is there; the text describes it.
    Good(String),
    /// The checked part could be better; the second text is the next step.
    Weak(String, String),
    /// The checked part is missing, and nothing works without it; the second text is the next step.
    Missing(String, String),
}

use CheckResult::{Good, Missing, Weak};

/// Makes all checks and prints their results. The status is 1 when something is missing.
pub fn run() -> ExitCode {
    let findings = [
        ("system", system()),
        ("C compiler", compiler(Language::C)),
        ("C++ compiler", compiler(Language::Cxx)),
        ("linker", linker()),
        ("runtime", runtime()),
        ("log memory", memory()),
        ("program start", spawn()),
        ("runs folder", runs_folder()),
        ("solver", solver()),
        ("gdb", gdb()),
        ("Neovim", neovim()),
    ];
    let width = findings
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or(0);
    for (name, finding) in &findings {
        say(name, width, finding);
    }
    let missing = findings
        .iter()
        .any(|(_, finding)| matches!(finding, Missing(..)));
    ExitCode::from(u8::from(missing))
}

fn say(name: &str, width: usize, finding: &CheckResult) {
    let (colour, word, what, next) = match finding {
        Good(what) => (AnsiColor::Green, "ok     ", what, None),
        Weak(what, next) => (AnsiColor::Yellow, "weak   ", what, Some(next)),
        Missing(what, next) => (AnsiColor::Red, "missing", what, Some(next)),
    };
    let style: Style = colour.on_default();
    anstream::println!("{style}{word}{style:#}  {name:width$}  {what}");
    if let Some(next) = next {
        anstream::println!("         {:width$}  next: {next}", "");
    }
}

fn system() -> CheckResult {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Good(format!(
        "{} {}, kernel {}",
        std::env::consts::ARCH,
        std::env::consts::OS,
        release.trim()
    ))
}

fn compiler(language: Language) -> CheckResult {
    match compiler::find(language) {
        Ok(found) => {
            let words: Vec<_> = found
                .command
                .iter()
                .map(|word| word.to_string_lossy())
                .collect();
            let version = found
                .command
                .last()
                .and_then(|program| first_line(program))
                .unwrap_or_default();
            Good(format!("{}: {version}", words.join(" ")))
        }
        Err(error) => {
            let text = error.to_string();
            let (what, next) = text
                .split_once("\n  next: ")
                .unwrap_or((&text, "install gcc or clang"));
            Missing(what.to_owned(), next.to_owned())
        }
    }
}

fn first_line(program: &OsStr) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    Some(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()?
            .to_owned(),
    )
}

fn linker() -> CheckResult {
    match first_line(OsStr::new("ld")) {
        Some(version) => Good(version),
        None => Missing(
            "no `ld`".to_owned(),
            "install binutils (Debian: apt-get install binutils)".to_owned(),
        ),
    }
}

fn runtime() -> CheckResult {
    match runtime_library::parts().and_then(|_| runtime_library::folder()) {
        Ok(folder) => Good(folder.display().to_string()),
        Err(error) => Missing(
            error.to_string().replace("\n  next: ", "; "),
            "as above".to_owned(),
        ),
    }
}

fn memory() -> CheckResult {
    let config = LogConfig::default();
    match Log::create(&config) {
        Ok(log) => Good(format!("room for {} events ({} MB, taken as needed)", config.limits.events, log.bytes().len() >> 20)),
        Err(error) => Missing(
            format!("no memory that programs can share: {error}"),
            "raise the limits on address space and file size (ulimit -v, ulimit -f), or record with --max-events 100000".to_owned(),
        ),
    }
}

/// Checks what recording needs: neither ptrace nor performance counters nor a fixed layout of memory, only this.
fn spawn() -> CheckResult {
    match Command::new("true").status() {
        Ok(status) if status.success() => {
            Good("neither ptrace nor performance counters are needed".to_owned())
        }
        Ok(status) => Weak(
            format!("`true` ended with {status}"),
            "look at the limits of this account (ulimit -a)".to_owned(),
        ),
        Err(error) => Missing(
            format!("no program can be started: {error}"),
            "look at the limits of this account (ulimit -a)".to_owned(),
        ),
    }
}

fn runs_folder() -> CheckResult {
    let folder = Path::new(unsnarl_lab::load::RUNS);
    let nearest = folder
        .ancestors()
        .find(|path| path.is_dir())
        .filter(|path| !path.as_os_str().is_empty());
    let nearest = nearest.unwrap_or(Path::new("."));
    match tempfile::Builder::new()
        .prefix(".unsnarl-doctor-")
        .tempfile_in(nearest)
    {
        Ok(_) => Good(format!("{} can be written", folder.display())),
        Err(error) => Weak(
            format!("{} cannot be written: {error}", nearest.display()),
            "change to the project's folder, or name another one with --out".to_owned(),
        ),
    }
}

/// Checks the solver's library, which is loaded when it is needed.
fn solver() -> CheckResult {
    unsnarl_symbolic::schedules::solver_version().map_or_else(
        |why| {
            Weak(
                format!("{why}; orders and conditions that take a solver are not looked for"),
                format!(
                    "put the library of PyPI's z3-solver {} beside unsnarl, or its folder into UNSNARL_Z3; `cargo xtask setup` does so",
                    unsnarl_symbolic::schedules::SOLVER_RELEASE
                ),
            )
        },
        Good,
    )
}

/// Checks gdb: `replay --gdb` needs one that can run Python.
fn gdb() -> CheckResult {
    let next = "install gdb with Python for `unsnarl replay RUN --gdb` (Debian: apt-get install gdb); the rest works without".to_owned();
    let Some(program) = in_path("gdb") else {
        return Weak("no `gdb` in PATH".to_owned(), next);
    };
    let version = first_line(program.as_os_str()).unwrap_or_default();
    let asked = ["-nx", "-batch", "-ex", "python print(6 * 7)"];
    match Command::new(&program).args(asked).output() {
        Ok(output) if output.stdout.starts_with(b"42") => match registers::limit() {
            None => Good(version),
            Some(_) => Weak(
                format!("{version} cannot call functions of the program on this processor (AMX)"),
                registers::NEXT.to_owned(),
            ),
        },
        _ => Weak(format!("{version} cannot run Python"), next),
    }
}

/// Checks Neovim: the editor support needs 0.11.
fn neovim() -> CheckResult {
    let next = "install Neovim 0.11 or newer for the editor support; recording and explaining work without".to_owned();
    let Some(version) = in_path("nvim").and_then(|program| first_line(program.as_os_str())) else {
        return Weak("no `nvim` in PATH".to_owned(), next);
    };
    match is_recent(&version) {
        true => Good(version),
        false => Weak(format!("{version} is too old"), next),
    }
}

/// Returns whether the version is recent enough: `NVIM v0.11.4` and later.
fn is_recent(version: &str) -> bool {
    let numbers = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = numbers
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    (major, minor) >= (0, 11)
}

#[cfg(test)]
mod tests {
    use super::is_recent;

    #[test]
    fn versions_of_neovim() {
        for (version, recent) in [
            ("NVIM v0.11.4", true),
            ("NVIM v0.9.5", false),
            ("NVIM v1.0.0-dev", true),
            ("", false),
        ] {
            assert_eq!(is_recent(version), recent, "{version}");
        }
    }
}
