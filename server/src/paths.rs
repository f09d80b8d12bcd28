//! Translation of the file names in debug info into files of the workspace.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// Knowledge about the places of sources, beside the folder that was recorded in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// The setting `sourceMap`: beginnings of recorded paths, each with its replacement.
    pub set: Vec<(PathBuf, PathBuf)>,
    /// Folders above that one, up to the workspace folder, and the other workspace folders.
    pub above: Vec<PathBuf>,
    /// Folders of the workspace.
    pub folders: Arc<BTreeSet<PathBuf>>,
}

impl SourceMap {
    /// The place that the setting gives to a recorded file: the longest beginning counts.
    pub fn set_place(&self, recorded: &Path) -> Option<PathBuf> {
        let recorded = normal(recorded);
        let fitting = self.set.iter().filter_map(|(from, to)| {
            let inside = recorded.strip_prefix(from).ok()?;
            Some((from.components().count(), normal(&to.join(inside))))
        });
        fitting
            .max_by_key(|(length, _)| *length)
            .map(|(_, place)| place)
    }
}

/// A workspace folder, as the editor names it and as the file system does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Path as the editor names it.
    pub path: PathBuf,
    /// Path with symbolic links resolved, as compilers write it into debug info.
    pub real: PathBuf,
    /// Places of sources elsewhere.
    pub map: Arc<SourceMap>,
}

impl Root {
    /// Looks up the real path of a folder.
    pub fn new(path: PathBuf) -> Root {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let map = Arc::default();
        Root { path, real, map }
    }
}

/// Possible places of a recorded file, best guess first: where the setting says, and then nowhere else; in the folder by
/// its own path; in a checkout that has moved (longest common end first); or outside where debug info says. Nothing is
/// looked up.
pub fn candidates(root: &Root, recorded: &Path) -> Vec<PathBuf> {
    let recorded = normal(recorded);
    if let Some(place) = root.map.set_place(&recorded) {
        return vec![place];
    }
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
    let bases = || [&root.path].into_iter().chain(&root.map.above);
    let ends = (0..names.len()).flat_map(|from| {
        let end: PathBuf = names.iter().skip(from).collect();
        bases().map(move |base| base.join(&end))
    });
    let outside = recorded.is_absolute().then(|| recorded.clone());
    let mut all: Vec<PathBuf> = ends.chain(in_folders(root, &recorded)).collect();
    all.extend(outside);
    let mut known = BTreeSet::new();
    all.retain(|path| known.insert(path.clone()));
    all
}

/// The places of a recorded file in those folders of the workspace whose names end as its folder's does, longest common
/// end first.
fn in_folders<'a>(root: &'a Root, recorded: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let parts = recorded.parent().zip(recorded.file_name());
    let found = parts.into_iter().flat_map(|(parent, name)| {
        let folders = root.map.folders.iter();
        let found = folders.filter_map(move |folder| {
            let common = common_end(folder, parent);
            (common > 0).then(|| (common, folder.join(name)))
        });
        let mut found: Vec<(usize, PathBuf)> = found.collect();
        found.sort_by_key(|(common, _)| std::cmp::Reverse(*common));
        found
    });
    found.map(|(_, path)| path)
}

/// Number of names at the end that two paths share.
pub fn common_end(one: &Path, other: &Path) -> usize {
    let names = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().rev();
        let names = parts.take_while(|part| matches!(part, Component::Normal(_)));
        names.map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (one, other) = (names(one), names(other));
    one.iter()
        .zip(&other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// Two paths of the same file without their common end: the beginning that has moved, and its new place.
pub fn moved(from: &Path, to: &Path) -> Option<(PathBuf, PathBuf)> {
    let common = common_end(from, to);
    let beginning = |path: &Path| path.ancestors().nth(common).map(Path::to_owned);
    beginning(from).zip(beginning(to))
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
            map: Arc::default(),
        };
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(candidates(&root, Path::new(recorded)), expected);
    }

    #[test]
    fn the_setting_decides() {
        let pair = |from: &str, to: &str| (PathBuf::from(from), PathBuf::from(to));
        let root = Root {
            path: "/w".into(),
            real: "/w".into(),
            map: Arc::new(SourceMap {
                set: vec![pair("/src", "/w/a"), pair("/src/lib", "/w/b")],
                ..SourceMap::default()
            }),
        };
        let of = |recorded: &str| candidates(&root, Path::new(recorded));
        assert_eq!(of("/src/lib/../x.c"), [PathBuf::from("/w/a/x.c")]);
        assert_eq!(of("/src/lib/x.c"), [PathBuf::from("/w/b/x.c")]);
        assert_eq!(of("/w/x.c"), [PathBuf::from("/w/x.c")]);
    }

    #[test]
    fn folders_above_and_below() {
        let folders = ["/w/one/lib", "/w/two/deep/lib"].map(PathBuf::from);
        let root = Root {
            path: "/w/build".into(),
            real: "/w/build".into(),
            map: Arc::new(SourceMap {
                above: vec!["/w".into()],
                folders: Arc::new(folders.into()),
                ..SourceMap::default()
            }),
        };
        let found = candidates(&root, Path::new("/old/deep/lib/x.c"));
        let at = |path: &str| found.iter().position(|one| one == Path::new(path)).unwrap();
        assert!(at("/w/deep/lib/x.c") < at("/w/two/deep/lib/x.c"));
        assert!(at("/w/two/deep/lib/x.c") < at("/w/one/lib/x.c"));
        assert!(at("/w/one/lib/x.c") < at("/old/deep/lib/x.c"));
    }

    #[test]
    fn what_has_moved() {
        let pair = moved(Path::new("/a/b/src/x.c"), Path::new("/w/src/x.c"));
        assert_eq!(pair, Some(("/a/b".into(), "/w".into())));
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
