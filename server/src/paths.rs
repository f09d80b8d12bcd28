//! Translation of the file names in debug info into files of the workspace.

use std::path::{Component, Path, PathBuf};

/// A workspace folder, as the editor names it and as the file system does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Path as the editor names it.
    pub path: PathBuf,
    /// Path with symbolic links resolved, as compilers write it into debug info.
    pub real: PathBuf,
}

impl Root {
    /// Looks up the real path of a folder.
    pub fn new(path: PathBuf) -> Root {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        Root { path, real }
    }
}

/// Possible places of a recorded file, best guess first: in the workspace by its own path, in a checkout that has
/// moved (longest common end first), or outside where debug info says. Nothing is looked up.
pub fn candidates(root: &Root, recorded: &Path) -> Vec<PathBuf> {
    let recorded = normal(recorded);
    let inside = recorded
        .strip_prefix(&root.real)
        .or_else(|_| recorded.strip_prefix(&root.path));
    if let Ok(inside) = inside {
        return vec![root.path.join(inside)];
    }
    let names: Vec<Component> = recorded
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    let ends =
        (0..names.len()).map(|from| root.path.join(names.iter().skip(from).collect::<PathBuf>()));
    let outside = recorded.is_absolute().then(|| recorded.clone());
    ends.chain(outside).collect()
}

/// The path without `.` and `..`, by the text alone.
fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(recorded: &str, expected: &[&str]) {
        let root = Root {
            path: "/home/u/proj".into(),
            real: "/data/proj".into(),
        };
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(candidates(&root, Path::new(recorded)), expected);
    }

    #[test]
    fn guesses() {
        check("/data/proj/src/./x/../a.c", &["/home/u/proj/src/a.c"]);
        check("/home/u/proj/a.c", &["/home/u/proj/a.c"]);
        check("../src/a.c", &["/home/u/proj/src/a.c", "/home/u/proj/a.c"]);
        check(
            "/old/a.c",
            &["/home/u/proj/old/a.c", "/home/u/proj/a.c", "/old/a.c"],
        );
        check("", &[]);
    }
}
