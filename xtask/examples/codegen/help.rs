//! The help of the Neovim plugin: prose from `editors/neovim/scripts/help.txt`, with the declarations of the plugin
//! and the server. The plugin prints its own declarations, in a Neovim.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::{env, path::Path, process::Command};
use unsnarl_server::config::SETTINGS;

/// Variable that names Neovim; `cargo xtask codegen` sets it.
const NEOVIM: &str = "UNSNARL_TEST_NVIM";
/// Width of help files, in columns.
const WIDTH: usize = 78;

#[derive(Deserialize)]
struct Declared {
    options: Vec<Opt>,
    commands: Vec<Subcommand>,
}

#[derive(Deserialize)]
struct Opt {
    name: String,
    help: String,
    default: String,
}

#[derive(Deserialize)]
struct Subcommand {
    name: String,
    help: String,
    runs: bool,
}

/// The text of `doc/unsnarl.txt`.
pub fn text(project: &Path) -> Result<String> {
    let scripts = project.join("editors/neovim/scripts");
    let declared = declared(&scripts.join("declared.lua"))?;
    let mut text = std::fs::read_to_string(scripts.join("help.txt"))?;
    let commands = |runs: bool| {
        let all = declared.commands.iter().filter(|one| one.runs == runs);
        all.map(|one| entry(&format!(":Unsnarl {}", one.name), 24, &one.help))
            .collect()
    };
    let options = declared.options.iter();
    let settings = SETTINGS.iter();
    let parts: [(&str, String); 6] = [
        ("{defaults}", options.clone().map(default).collect()),
        (
            "{options}",
            options.map(|one| entry(&one.name, 16, &one.help)).collect(),
        ),
        ("{commands}", commands(false)),
        ("{running}", commands(true)),
        ("{maps}", maps(&declared.commands)),
        (
            "{settings}",
            settings.map(|one| entry(one.name, 16, one.doc)).collect(),
        ),
    ];
    for (name, part) in parts {
        ensure!(text.contains(name), "help.txt has no place for {name}");
        text = text.replace(name, part.trim_end());
    }
    Ok(text)
}

fn declared(script: &Path) -> Result<Declared> {
    let neovim = env::var_os(NEOVIM)
        .with_context(|| format!("no Neovim is named in {NEOVIM}: use `cargo xtask codegen`"))?;
    let output = Command::new(neovim)
        .args(["--clean", "-l"])
        .arg(script)
        .output()?;
    if !output.status.success() {
        bail!("Neovim: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn default(option: &Opt) -> String {
    format!("      {} = {},\n", option.name, option.default)
}

/// The mappings, one for each subcommand.
fn maps(commands: &[Subcommand]) -> String {
    let names: Vec<&str> = commands.iter().map(|one| one.name.as_str()).collect();
    let Some((last, others)) = names.split_last() else {
        return String::new();
    };
    let sentence = format!(
        "There is a mapping `<Plug>(unsnarl-NAME)` for {} and {last}. None is bound; for example: >lua",
        others.join(", ")
    );
    wrapped(&sentence, 0)
}

/// A name with its description in a column of its own.
fn entry(name: &str, column: usize, help: &str) -> String {
    let text = wrapped(help, column);
    let rest = text.get(name.len()..).filter(|_| name.len() < column);
    match rest {
        Some(rest) => format!("{name}{rest}"),
        None => format!("{name}\n{text}"),
    }
}

/// Lines of at most [`WIDTH`] columns, each indented.
fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let (mut lines, mut line) = (String::new(), margin.clone());
    for word in text.split_whitespace() {
        if line.len() > indent && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line.clone_from(&margin);
        }
        if line.len() > indent {
            line.push(' ');
        }
        line.push_str(word);
    }
    format!("{lines}{line}\n")
}
