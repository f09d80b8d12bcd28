//! The tree that is installed below a prefix such as `/usr`.

use super::copy;
use crate::{
    setup,
    shell::{self, cargo, command, output, run as shell_run},
};
use anyhow::{Context, Result};
use std::{fs, path::Path};

/// Pages that go along, from the folder of the project.
const PAGES: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs",
];

/// Programs, by the names of their packages. What a fleet needs is linked into the second only.
pub const PROGRAMS: [&str; 2] = ["unsnarl", "unsnarl-fleet"];

/// Completions, each with the place where its shell looks.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/unsnarl"),
    ("zsh", "share/zsh/site-functions/_unsnarl"),
    ("fish", "share/fish/vendor_completions.d/unsnarl.fish"),
];

/// Parts of the plugin for Neovim that work without its tests.
const NEOVIM: [&str; 6] = ["doc", "lsp", "lua", "plugin", "syntax", "README.md"];

/// Builds everything, and fills the tree. The runtime and its header are in the binary.
pub fn fill(tree: &Path) -> Result<()> {
    let binary = tree.join("bin/unsnarl");
    for name in PROGRAMS {
        // One at a time: together the crates that both need would have the features of both.
        shell_run(cargo(&[
            "build",
            "--release",
            "--locked",
            "--package",
            name,
        ]))?;
        let program = tree.join("bin").join(name);
        copy(&shell::target()?.join("release").join(name), &program)?;
        shell_run(tool("strip", &["--strip-unneeded"], &program))?;
    }
    solver(tree)?;
    manual(tree, &binary)?;
    editors(tree)?;
    let doc = tree.join("share/doc/unsnarl");
    fs::create_dir_all(&doc)?;
    for page in PAGES {
        shell_run(tree_copy(&shell::project().join(page), &doc))?;
    }
    Ok(())
}

/// Puts the solver where the binary looks for it.
fn solver(tree: &Path) -> Result<()> {
    let folder = setup::solver_folder()?;
    let library = fs::canonicalize(folder.join("libz3.so")).context("the set-up left no solver")?;
    let name = library
        .file_name()
        .context("the solver's library has no name")?;
    copy(&library, &tree.join("lib/unsnarl").join(name))
}

/// Man pages and completions, which the binary writes itself.
fn manual(tree: &Path, binary: &Path) -> Result<()> {
    let pages = tree.join("share/man/man1");
    fs::create_dir_all(&pages)?;
    shell_run(tool_at(binary, &["man"], &pages))?;
    for (shell, place) in COMPLETIONS {
        let script = output(command(binary, &["completions", shell]))?;
        let place = tree.join(place);
        fs::create_dir_all(place.parent().context("a file in no folder")?)?;
        fs::write(place, script)?;
    }
    Ok(())
}

fn editors(tree: &Path) -> Result<()> {
    setup::vscode::package_extension()?;
    let editors = shell::project().join("editors");
    let shared = tree.join("share/unsnarl");
    copy(
        &editors.join("vscode/unsnarl.vsix"),
        &shared.join("unsnarl.vsix"),
    )?;
    let neovim = shared.join("neovim");
    fs::create_dir_all(&neovim)?;
    for part in NEOVIM {
        shell_run(tree_copy(&editors.join("neovim").join(part), &neovim))?;
    }
    Ok(())
}

/// The command that copies a file or a folder into a folder.
fn tree_copy(from: &Path, into: &Path) -> std::process::Command {
    let mut copy = command("cp", &["-r"]);
    copy.arg(from).arg(into);
    copy
}

fn tool(program: &str, words: &[&str], path: &Path) -> std::process::Command {
    tool_at(Path::new(program), words, path)
}

fn tool_at(program: &Path, words: &[&str], path: &Path) -> std::process::Command {
    let mut command = command(program, words);
    command.arg(path);
    command
}
