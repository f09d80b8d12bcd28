//! Check that gdb can write registers on this machine, which it does when it calls a function of the program.
//!
//! gdb before 14 sends the kernel a block of extended registers that is too short where the processor has AMX, and
//! the kernel refuses it: `Couldn't write extended state status: Bad address`.

use crate::wrapper::compiler::in_path;
use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The next step for a gdb that cannot write registers.
pub const NEXT: &str = "take gdb 14.1 or newer; this one can show and set variables all the same";

/// Reports a gdb that cannot write registers. Tries it on a program of its own, which takes a third of a second, on
/// machines with AMX only; a gdb that is not there or does not start has other problems.
#[must_use]
pub fn limit() -> Option<String> {
    let gdb = in_path(OsStr::new("gdb")).filter(|_| has_amx())?;
    (!can_write(&gdb)).then(|| {
        format!(
            "this gdb cannot call functions of the program on this processor (AMX)\n  next: {NEXT}"
        )
    })
}

fn can_write(gdb: &Path) -> bool {
    let commands = ["starti", "set $xmm0.v2_int64[0] = $xmm0.v2_int64[0] + 1"];
    let output = Command::new(gdb)
        .args(["-nx", "-batch"])
        .args(commands.iter().flat_map(|command| ["-ex", command]))
        .arg(gdb)
        .stdin(Stdio::null())
        .output();
    output.map_or(true, |output| {
        !String::from_utf8_lossy(&output.stderr).contains("extended state")
    })
}

fn has_amx() -> bool {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = about.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "amx_tile"))
}
