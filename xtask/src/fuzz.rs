//! Long runs of one fuzz target (`fuzz/tests/targets.rs`).
//!
//! With `cargo bolero` on the machine the inputs are guided by coverage (libFuzzer); without it they are random. Either
//! way failing inputs are made smaller before they are shown.

use crate::shell::{self, cargo, run as shell_run};
use anyhow::{Context, Result, bail};
use std::{process::Command, time::Duration};

/// Targets with the input that each mutates.
const TARGETS: [(&str, &str); 6] = [
    ("patterns", "files of patterns"),
    ("proposal", "proposed schedules"),
    ("protocol", "sessions of the language server"),
    ("raw_log", "raw logs"),
    ("run_file", "run files"),
    ("trace_text", "traces in RAPID's STD and CSV formats"),
];

/// Runs a target for this long.
pub fn run(name: &str, time: Duration) -> Result<()> {
    if !TARGETS.iter().any(|(target, _)| *target == name) {
        let lines = TARGETS.map(|(target, input)| format!("  {target:<10}  {input}"));
        bail!("there is no target {name}; there are\n{}", lines.join("\n"));
    }
    let mut command = match shell::succeeds(cargo(&["bolero", "--version"])) {
        true => guided(name, time),
        false => random(name, time),
    };
    command.env("UNSNARL_FUZZ_LONG", "1");
    shell_run(command)
}

/// Coverage works on stable; the sanitizers do not, and the code that is read here is safe Rust.
fn guided(name: &str, time: Duration) -> Command {
    let time = format!("{}s", time.as_secs());
    cargo(&[
        "bolero",
        "test",
        "--package",
        "unsnarl-fuzz",
        name,
        "--sanitizer",
        "NONE",
        "--rustc-bootstrap",
        "--total-time",
        &time,
    ])
}

fn random(name: &str, time: Duration) -> Command {
    let mut command = cargo(&[
        "test",
        "--package",
        "unsnarl-fuzz",
        "--test",
        "targets",
        "--",
        "--exact",
        "--nocapture",
        name,
    ]);
    command.env("BOLERO_RANDOM_TEST_TIME_MS", time.as_millis().to_string());
    command
}

/// A time as people write it: `30s`, `10m`, `2h`.
pub fn time(text: &str) -> Result<Duration> {
    let wrong = || format!("`{text}` is no time: expected one like 30s, 10m or 2h");
    let unit = text.chars().next_back().with_context(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        _ => bail!(wrong()),
    };
    let number: u32 = text.trim_end_matches(unit).parse().with_context(wrong)?;
    Ok(Duration::from_secs(u64::from(number) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(time("30s").unwrap(), Duration::from_secs(30));
        assert_eq!(time("10m").unwrap(), Duration::from_secs(600));
        assert_eq!(time("2h").unwrap(), Duration::from_secs(7200));
        for wrong in ["", "10", "m", "1.5h", "10 m", "-1s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_targets_are_listed() {
        let targets = include_str!("../../fuzz/tests/targets.rs");
        let defined = targets.match_indices("#[test]\nfn ").map(|(at, found)| {
            let rest = &targets[at + found.len()..];
            rest.split('(').next().unwrap()
        });
        let mut defined: Vec<&str> = defined.collect();
        defined.sort_unstable();
        assert_eq!(defined, TARGETS.map(|(name, _)| name));
    }
}
