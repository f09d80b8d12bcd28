//! The packages tried where nothing else is: in a clean Debian root, from the checksums to the first explanation.

use super::{copy, packaging};
use crate::shell::{command, run as shell_run, succeeds};
use anyhow::{Context, Result, bail};
use std::{fs, path::Path};

/// The release of Debian that the root is made of.
const DEBIAN: &str = "bookworm";

/// Checks the checksums, and tries each kind of package in a root of its own.
pub fn run(folder: &Path) -> Result<()> {
    let mut sums = command("sha256sum", &["--check", "--quiet", "SHA256SUMS"]);
    sums.current_dir(folder);
    shell_run(sums).context("`cargo xtask dist` makes the packages that are tried")?;
    if !succeeds(command("mmdebstrap", &["--version"])) {
        bail!("a clean Debian root takes mmdebstrap (Debian: apt-get install mmdebstrap)");
    }
    let given = folder.join("try");
    super::empty(&given)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_owned();
        if path
            .extension()
            .is_some_and(|ending| ending == "deb" || ending == "gz")
        {
            copy(&path, &given.join(name))?;
        }
    }
    for name in ["racy.c", "try.sh"] {
        copy(&packaging(name), &given.join(name))?;
    }
    for kind in ["deb", "tarball"] {
        shell_run(in_clean_root(&given, kind)?)?;
    }
    super::empty(&given)
}

/// Makes a root from Debian's packages, and runs the script in it before it is thrown away.
fn in_clean_root(given: &Path, kind: &str) -> Result<std::process::Command> {
    let given = given.to_str().context("the folder's name is not UTF-8")?;
    let words = [
        "--quiet",
        "--variant=apt",
        "--include=ca-certificates",
        &format!("--customize-hook=mkdir -p \"$1/tmp/try\" && cp -r '{given}/.' \"$1/tmp/try\""),
        &format!("--customize-hook=chroot \"$1\" sh /tmp/try/try.sh {kind}"),
        DEBIAN,
        "/dev/null",
    ];
    Ok(command("mmdebstrap", &words))
}
