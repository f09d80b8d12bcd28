//! The libraries that a program loads at its start, as the loader names them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The loader of x86-64 programs for glibc.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Beginnings of the names of files that make up the C library: what they call is not seen by anybody.
const OF_C_LIBRARY: [&str; 9] = [
    "ld-linux",
    "libc.",
    "libm.",
    "libmvec.",
    "libpthread.",
    "librt.",
    "libdl.",
    "libresolv.",
    "linux-vdso",
];

/// The libraries that the loader would load for a program, without those of the C library. None of the program's code
/// runs; a program that the loader refuses has none.
pub(super) fn libraries(program: &Path) -> Vec<PathBuf> {
    let asked = Command::new(LOADER).arg("--list").arg(program).output();
    let Ok(said) = asked.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()) else {
        return Vec::new();
    };
    said.lines().filter_map(library).collect()
}

/// The path in a line such as `libz.so.1 => /lib/libz.so.1 (0x00007f)`.
fn library(line: &str) -> Option<PathBuf> {
    let (name, behind) = line.trim().split_once(" => ")?;
    let (path, _) = behind.rsplit_once(" (")?;
    let is_c = OF_C_LIBRARY
        .iter()
        .any(|beginning| name.starts_with(beginning));
    (!is_c && path.starts_with('/')).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_loader() {
        for (line, path) in [
            (
                "\tlibz.so.1 => /lib/libz.so.1 (0x00007f)",
                Some("/lib/libz.so.1"),
            ),
            ("\tlibc.so.6 => /lib/libc.so.6 (0x00007f)", None),
            ("\tlinux-vdso.so.1 (0x00007f)", None),
            ("\tlibgone.so => not found", None),
            ("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)", None),
        ] {
            assert_eq!(library(line), path.map(PathBuf::from), "{line}");
        }
    }
}
