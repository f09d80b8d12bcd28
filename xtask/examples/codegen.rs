//! Writes the files that are made from declarations in the code: the settings, declared once in
//! `server/src/config.rs`. With `--check` it only says which are out of date.

use anyhow::{Result, bail};
use std::{fmt::Write, fs, path::Path};
use unsnarl_server::config::SETTINGS;

fn main() -> Result<()> {
    let check = std::env::args().any(|word| word == "--check");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut stale = Vec::new();
    for (name, text) in [("docs/settings.md", settings()?)] {
        let path = project.join(name);
        if fs::read_to_string(&path).ok().as_ref() == Some(&text) {
            continue;
        }
        if check {
            stale.push(name);
        } else {
            fs::write(&path, text)?;
            eprintln!("wrote {name}");
        }
    }
    if !stale.is_empty() {
        bail!("out of date: {}", stale.join(", "));
    }
    Ok(())
}

fn settings() -> Result<String> {
    let mut page = String::from(
        "# Settings\n\n<!-- Made by `cargo xtask codegen` from server/src/config.rs. -->\n\n\
         All of them stand below `unsnarl`.\n\n| name | default | what it does |\n|---|---|---|\n",
    );
    for setting in SETTINGS {
        writeln!(
            page,
            "| `{}` | `{}` | {} |",
            setting.name, setting.default, setting.doc
        )?;
    }
    Ok(page)
}
