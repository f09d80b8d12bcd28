//! The archives of the tree, and their checksums.

use super::{VERSION, copy, packaging, stage::PROGRAMS};
use crate::shell::{command, commit_time, output, run as shell_run};
use anyhow::{Context, Result};
use std::{fs, path::Path, process::Command};

/// Packs the tree, in an order and with owners and times that depend on the commit alone.
pub fn tarball(folder: &Path, name: &str) -> Result<()> {
    let time = format!("--mtime=@{}", commit_time()?);
    let archive = format!("{name}.tar.gz");
    let words = [
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        &time,
        "-czf",
        &archive,
        name,
    ];
    shell_run(within(folder, "tar", &words))
}

/// Makes the Debian package: the tree below `/usr`, and its description.
pub fn deb(folder: &Path, tree: &Path) -> Result<()> {
    let root = folder.join("deb");
    fs::create_dir_all(&root)?;
    let usr = root.join("usr");
    let mut copied = command("cp", &["-r"]);
    copied.arg(tree).arg(&usr);
    shell_run(copied)?;
    shell_run(command(
        "sh",
        &[
            "-c",
            "gzip -9n \"$0\"/*.1",
            &text(&usr.join("share/man/man1"))?,
        ],
    ))?;
    let doc = usr.join("share/doc/unsnarl");
    copy(&packaging("copyright"), &doc.join("copyright"))?;
    let control = fs::read_to_string(packaging("control"))?
        .replace("@VERSION@", VERSION)
        .replace("@LIBRARIES@", &libraries(folder, &usr)?);
    fs::create_dir_all(root.join("DEBIAN"))?;
    fs::write(root.join("DEBIAN/control"), control)?;
    let archive = format!("unsnarl_{VERSION}_amd64.deb");
    let mut build = within(
        folder,
        "dpkg-deb",
        &["--root-owner-group", "--build", "deb", &archive],
    );
    build.env("SOURCE_DATE_EPOCH", commit_time()?);
    shell_run(build)?;
    Ok(fs::remove_dir_all(root)?)
}

/// Packages with the libraries that the binary and the solver are linked with, as Debian's own tool finds them. It wants a
/// `debian/control` in its folder.
fn libraries(folder: &Path, usr: &Path) -> Result<String> {
    let work = folder.join("shlibdeps");
    fs::create_dir_all(work.join("debian"))?;
    fs::write(work.join("debian/control"), "Source: unsnarl\n")?;
    let solver = usr.join("lib/unsnarl");
    let mut asked = within(&work, "dpkg-shlibdeps", &["-O"]);
    for program in PROGRAMS {
        asked.arg("-e").arg(usr.join("bin").join(program));
    }
    for entry in fs::read_dir(&solver)? {
        asked.arg("-e").arg(entry?.path());
    }
    let said = output(asked).context("dpkg-shlibdeps is in Debian's dpkg-dev")?;
    fs::remove_dir_all(work)?;
    let depends = said.trim().strip_prefix("shlibs:Depends=");
    Ok(depends
        .context("dpkg-shlibdeps names no libraries")?
        .to_owned())
}

/// Writes the checksums of all files in the folder, for `sha256sum --check`.
pub fn checksums(folder: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    let mut sums = within(folder, "sha256sum", &[]);
    sums.args(names);
    Ok(fs::write(folder.join("SHA256SUMS"), output(sums)?)?)
}

fn within(folder: &Path, program: &str, words: &[&str]) -> Command {
    let mut command = command(program, words);
    command.current_dir(folder);
    command
}

fn text(path: &Path) -> Result<String> {
    Ok(path
        .to_str()
        .context("a folder's name is not UTF-8")?
        .to_owned())
}
