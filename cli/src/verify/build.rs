//! A fix as a real edit: the project is copied, the copy edited and built. The user's files stay as they are.

use super::choose::ChosenFix;
use crate::own_file::own_file;
use anyhow::{Context, Result, bail};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};
use unsnarl_lab::edited::edited;
use unsnarl_recorder::{
    build_command,
    target::{self, Target},
};

/// Folder of the copies, one per fix.
const COPIES: &str = ".unsnarl/verify";
/// Folders that hold nothing to build from.
const LEFT_OUT: [&str; 4] = [".git", ".unsnarl", ".hg", ".svn"];
/// Number of lines of the build's output that are shown when it fails.
const SHOWN: usize = 15;

/// An edited copy that was built.
pub struct Built {
    /// The copy.
    pub root: PathBuf,
    /// The program's folder in it.
    pub directory: PathBuf,
    /// The program.
    pub program: PathBuf,
    /// The program, opened.
    pub target: Target,
}

impl Built {
    /// Removes the copy.
    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.root)
            .with_context(|| format!("cannot remove {}", self.root.display()))
    }
}

/// Edits a copy of the current folder and builds it by `command`.
pub fn build(chosen: &ChosenFix, command: &str) -> Result<Built> {
    let project = std::env::current_dir().context("the current folder cannot be found")?;
    let project = project.canonicalize()?;
    let root = project
        .join(COPIES)
        .join(format!("{}-{}", chosen.explanation.id, chosen.fix.number));
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    copy(&project, &root)
        .with_context(|| format!("cannot copy the project to {}", root.display()))?;
    for (file, text) in edited(&chosen.fix, &chosen.sources)? {
        fs::write(inside(&project, &root, Path::new(&file))?, text)?;
    }
    let meta = &chosen.run.1.meta;
    let directory = inside(&project, &root, Path::new(&meta.directory))?;
    let program = inside(&project, &root, Path::new(&meta.program))?;
    make(&root, command)?;
    let target = target::open(program.as_os_str(), &directory)?;
    if target.program.build_id() == meta.build_id {
        bail!(
            "`{command}` made the same program again, so it does not build from the copy in {}\n  \
             next: give a command that names its files from the current folder, such as {}",
            root.display(),
            build_command::in_a_copy(meta)
        );
    }
    Ok(Built {
        root,
        directory,
        program,
        target,
    })
}

fn make(root: &Path, command: &str) -> Result<()> {
    let own = own_file()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(root);
    for (variable, word) in [("CC", "cc"), ("CXX", "c++")] {
        if std::env::var_os(variable).is_none() {
            shell.env(variable, format!("{} {word}", own.display()));
        }
    }
    let output = shell.output().context("sh cannot be started")?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: String = text
        .lines()
        .take(SHOWN)
        .map(|line| format!("\n  | {line}"))
        .collect();
    bail!(
        "`{command}` failed in {} ({}){lines}",
        root.display(),
        output.status
    )
}

/// Path of a project's file in the copy.
fn inside(project: &Path, root: &Path, file: &Path) -> Result<PathBuf> {
    let path = file
        .canonicalize()
        .with_context(|| format!("{} is gone", file.display()))?;
    let Ok(below) = path.strip_prefix(project) else {
        bail!(
            "{} is not in {}\n  next: verify from the folder that holds the sources and the program",
            path.display(),
            project.display()
        );
    };
    Ok(root.join(below))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !LEFT_OUT.iter().any(|left| name == *left) {
                copy(&entry.path(), &target)?;
            }
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
            // `make` goes by the order of times.
            let modified = entry.metadata()?.modified()?;
            fs::File::options()
                .append(true)
                .open(&target)?
                .set_modified(modified)?;
        }
    }
    Ok(())
}
