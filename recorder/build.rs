//! Builds the runtime as a static library with a nested cargo call, to be embedded in the recorder.
//!
//! The runtime is not an ordinary dependency: it is linked into the user's program, with its own
//! profile and without the standard library.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use sha2::{Digest, Sha256};

/// Settings of the outer build that must not reach the nested one: flags for hosted code, compiler
/// wrappers such as clippy's, and what describes the package being built.
const OUTER_ONLY: [&str; 14] = [
    "CARGO_BUILD_TARGET",
    "CARGO_CFG_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_FEATURE_",
    "CARGO_INCREMENTAL",
    "CARGO_MANIFEST",
    "CARGO_PKG_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_DIR",
    "CLIPPY_",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "__CARGO",
];

fn main() {
    if let Err(problem) = build() {
        for line in problem.lines() {
            println!("cargo::error={line}");
        }
    }
}

fn build() -> Result<(), String> {
    let recorder = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let workspace = recorder
        .parent()
        .ok_or("the recorder stands in no workspace")?;
    for input in [
        "runtime/src",
        "runtime/Cargo.toml",
        "trace/src/kinds.rs",
        "trace/src/kinds",
        "trace/src/raw.rs",
        "trace/src/raw",
        "trace/src/lib.rs",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(input).display()
        );
    }
    let target = (
        variable("CARGO_CFG_TARGET_ARCH")?,
        variable("CARGO_CFG_TARGET_OS")?,
    );
    if target != ("x86_64".to_owned(), "linux".to_owned()) {
        return Err(format!(
            "unsnarl records on x86_64 Linux only, not on {} {}",
            target.0, target.1
        ));
    }
    let archive = build_runtime(workspace, &out.join("runtime"))?;
    embed(&archive, &out.join("libunsnarl_runtime.a"))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("cargo did not set {name}"))
}

/// Offline first: what the runtime needs, the recorder needs too, so it is there already. Only when
/// that fails is the network asked.
fn build_runtime(workspace: &Path, target: &Path) -> Result<PathBuf, String> {
    let offline = nested_cargo(workspace, target, true)?;
    if !offline.status.success() {
        let online = nested_cargo(workspace, target, false)?;
        if !online.status.success() {
            let said = String::from_utf8_lossy(&online.stderr).into_owned();
            return Err(format!(
                "building unsnarl-runtime as a static library failed:\n{said}"
            ));
        }
    }
    Ok(target.join("embedded").join("libunsnarl_runtime.a"))
}

fn nested_cargo(workspace: &Path, target: &Path, offline: bool) -> Result<Output, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command
        .current_dir(workspace)
        .args(["rustc", "-p", "unsnarl-runtime", "--lib"]);
    command.args([
        "--crate-type",
        "staticlib",
        "--profile",
        "embedded",
        "--features",
        "interpose",
    ]);
    command.arg("--target-dir").arg(target);
    if offline {
        command.arg("--offline");
    }
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if OUTER_ONLY.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
        .output()
        .map_err(|error| format!("cannot start {}: {error}", cargo.to_string_lossy()))
}

/// The header of the runtime.
const HEADER: &str = "include/unsnarl.h";

/// Puts the archive where `include_bytes!` finds it, and a hash of it and the header where the code can name it.
fn embed(archive: &Path, place: &Path) -> Result<(), String> {
    let bytes = fs::read(archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    fs::write(place, &bytes).map_err(|error| format!("{}: {error}", place.display()))?;
    println!("cargo::rerun-if-changed={HEADER}");
    let header = fs::read(HEADER).map_err(|error| format!("{HEADER}: {error}"))?;
    let hash: String = Sha256::digest([bytes, header].concat())
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=UNSNARL_RUNTIME_HASH={hash}");
    Ok(())
}
