//! Writes the files that are made from declarations in the code: the settings, declared once in `server/src/config.rs`,
//! and the subcommands and options of the Neovim plugin, declared in its Lua. With `--check` it only says which are out
//! of date.

mod help;

use anyhow::{Context, Result, bail};
use std::{fmt::Write, fs, path::Path};
use unsnarl_server::config::{SETTINGS, Setting, SettingKind};

fn main() -> Result<()> {
    let check = std::env::args().any(|word| word == "--check");
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut stale = Vec::new();
    let manifest = "editors/vscode/package.json";
    let files = [
        ("docs/settings.md", settings()?),
        (
            manifest,
            with_settings(&fs::read_to_string(project.join(manifest))?)?,
        ),
        ("editors/neovim/doc/unsnarl.txt", help::text(&project)?),
    ];
    for (name, text) in files {
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

/// The extension's manifest with the server's settings before those of its own, which stay as they are.
fn with_settings(manifest: &str) -> Result<String> {
    let begin = "      \"properties\": {\n";
    let own = "        \"unsnarl.server.path\": {";
    let (head, rest) = manifest
        .split_once(begin)
        .context("the manifest has no settings")?;
    let (_, tail) = rest
        .split_once(own)
        .context("the manifest has no setting unsnarl.server.path")?;
    let servers: Vec<String> = SETTINGS.iter().map(property).collect::<Result<_>>()?;
    Ok(format!("{head}{begin}{}{own}{tail}", servers.concat()))
}

fn property(setting: &Setting) -> Result<String> {
    let default = match setting.kind {
        SettingKind::Folder | SettingKind::Command | SettingKind::Permission(_) => {
            serde_json::to_string(setting.default)?
        }
        SettingKind::Switch | SettingKind::Number | SettingKind::Paths => {
            setting.default.to_owned()
        }
    };
    let (words, scope) = match setting.kind {
        SettingKind::Permission(words) => (
            format!("          \"enum\": {},\n", serde_json::to_string(words)?),
            "machine",
        ),
        _ => (String::new(), "resource"),
    };
    Ok(format!(
        "        \"unsnarl.{}\": {{\n          \"type\": \"{}\",\n{words}          \"default\": {default},\n          \
         \"scope\": \"{scope}\",\n          \"markdownDescription\": {}\n        }},\n",
        setting.name,
        setting.kind.json_type(),
        serde_json::to_string(setting.doc)?
    ))
}
