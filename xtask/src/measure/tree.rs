//! Measurements of all tracked sources together.

use super::{
    figures::MeasuredShare,
    source::{self, SourceFigures},
};
use anyhow::Result;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The number of lines beyond which a file is listed.
const LARGE: usize = 500;

/// A tracked file.
#[derive(Clone)]
pub struct TrackedFile {
    /// Its path from the project's folder.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

/// Lines of a crate.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CrateLines {
    /// Lines without tests.
    pub source: usize,
    /// Lines of tests: of whole files, and of items within other files.
    pub tests: usize,
}

/// Measurements of the tree.
#[derive(Debug, Default)]
pub struct TreeFigures {
    /// Lines of each function, sorted.
    pub functions: Vec<usize>,
    /// The share of public items with a doc comment.
    pub documented: MeasuredShare,
    /// The share of doc comments that begin with a question word.
    pub questions: MeasuredShare,
    /// Lines by crate.
    pub crates: BTreeMap<String, CrateLines>,
    /// The number of definitions of each type name, by crate.
    pub types: BTreeMap<String, BTreeMap<String, usize>>,
    /// Files with more than [`LARGE`] lines, longest first.
    pub large: Vec<(PathBuf, usize)>,
}

/// A Rust source with its crate.
pub struct RustSource<'a> {
    /// The file.
    pub file: &'a TrackedFile,
    /// The folder of its crate.
    pub name: &'a Path,
    /// Its measurements.
    pub figures: SourceFigures,
    /// True if cargo builds it for tests only.
    pub is_test: bool,
}

/// Measures the Rust sources among tracked files.
pub fn rust_sources(files: &[TrackedFile]) -> Result<Vec<RustSource<'_>>> {
    let crates = crates(files);
    let mut sources = Vec::new();
    for file in files.iter().filter(|file| is_rust(&file.path)) {
        sources.push(RustSource {
            file,
            name: crate_of(&file.path, &crates),
            figures: source::measure(&file.path, &file.text)?,
            is_test: false,
        });
    }
    let test_modules = sources
        .iter()
        .flat_map(|source| source.figures.test_modules.clone());
    let test_modules: BTreeSet<PathBuf> = test_modules.collect();
    for source in &mut sources {
        let path = &source.file.path;
        source.is_test = is_test_file(path, source.name) || is_in_module(path, &test_modules);
    }
    Ok(sources)
}

/// Measures tracked files: Rust sources as such, other ones by their lines.
pub fn measure(files: &[TrackedFile]) -> Result<TreeFigures> {
    let mut tree = TreeFigures::default();
    for source in rust_sources(files)? {
        tree.add(source.name, &source.figures, source.is_test);
    }
    tree.functions.sort_unstable();
    tree.large = large(files);
    Ok(tree)
}

impl TreeFigures {
    fn add(&mut self, name: &Path, figures: &SourceFigures, is_test: bool) {
        let name = name.display().to_string();
        self.questions.join(figures.questions);
        let lines = self.crates.entry(name.clone()).or_default();
        if is_test {
            lines.tests += figures.lines;
            return;
        }
        lines.tests += figures.test_lines;
        lines.source += figures.lines - figures.test_lines;
        self.functions.extend(&figures.functions);
        self.documented.join(figures.documented);
        let types = self.types.entry(name).or_default();
        for defined in &figures.types {
            *types.entry(defined.clone()).or_default() += 1;
        }
    }

    /// Lines of all crates.
    pub fn total(&self) -> CrateLines {
        let mut total = CrateLines::default();
        for lines in self.crates.values() {
            total.source += lines.source;
            total.tests += lines.tests;
        }
        total
    }

    /// The number of definitions of each type name in the whole tree.
    pub fn all_types(&self) -> BTreeMap<&str, usize> {
        let mut all = BTreeMap::new();
        for (name, count) in self.types.values().flatten() {
            *all.entry(name.as_str()).or_default() += count;
        }
        all
    }
}

/// The share of the definitions whose name has another definition.
pub fn share_of_shared(counts: impl IntoIterator<Item = usize>) -> MeasuredShare {
    let mut share = MeasuredShare::default();
    for count in counts {
        let with = if count > 1 { count } else { 0 };
        share.join(MeasuredShare { with, of: count });
    }
    share
}

/// Folders with a manifest.
fn crates(files: &[TrackedFile]) -> BTreeSet<&Path> {
    let is_manifest = |file: &&TrackedFile| file.path.ends_with("Cargo.toml");
    let manifests = files.iter().filter(is_manifest);
    manifests.filter_map(|file| file.path.parent()).collect()
}

/// The innermost folder of a crate that a file lies in.
fn crate_of<'a>(path: &'a Path, crates: &BTreeSet<&Path>) -> &'a Path {
    let mut folders = path.ancestors().skip(1);
    let found = folders.find(|folder| crates.contains(folder));
    found.unwrap_or(Path::new(""))
}

/// Returns whether cargo builds a file for tests and benchmarks only, or it belongs to the crate of the tests.
fn is_test_file(path: &Path, name: &Path) -> bool {
    let within = path.strip_prefix(name).unwrap_or(path);
    name.ends_with("tests") || within.starts_with("tests") || within.starts_with("benches")
}

/// Returns whether a file belongs to one of these modules, which are paths without `.rs`.
fn is_in_module(path: &Path, modules: &BTreeSet<PathBuf>) -> bool {
    let stem = path.with_extension("");
    stem.ancestors().any(|folder| modules.contains(folder))
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rs")
}

fn large(files: &[TrackedFile]) -> Vec<(PathBuf, usize)> {
    let sources = files
        .iter()
        .filter(|file| !file.path.ends_with("Cargo.toml"));
    let lines = sources.map(|file| (file.path.clone(), file.text.lines().count()));
    let mut large: Vec<_> = lines.filter(|(_, lines)| *lines > LARGE).collect();
    large.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    large
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TrackedFile {
        let (path, text) = (path.into(), text.to_string());
        TrackedFile { path, text }
    }

    /// Two crates and the crate of the tests.
    fn tree() -> TreeFigures {
        let files = [
            file("Cargo.toml", ""),
            file("one/Cargo.toml", ""),
            file(
                "one/src/lib.rs",
                "//! One.\npub struct Place;\nmod part;\n#[cfg(test)]\nmod checks;\n",
            ),
            file(
                "one/src/part.rs",
                "/// Where it is.\npub struct Place;\nfn a() {\n}\n#[test]\nfn b() {}\n",
            ),
            file("one/src/checks.rs", "mod deep;\nstruct Place;\n"),
            file("one/src/checks/deep.rs", "pub fn c() {}\n"),
            file("one/tests/whole.rs", "fn d() {}\n"),
            file("two/Cargo.toml", ""),
            file(
                "two/src/main.rs",
                "struct Place;\nstruct Other;\nfn main() {}\n",
            ),
            file("tests/Cargo.toml", ""),
            file("tests/src/lib.rs", "/// Text.\npub fn help() {}\n"),
            file("editors/one.ts", &"\n".repeat(LARGE)),
            file("editors/two.ts", &"\n".repeat(LARGE + 1)),
        ];
        measure(&files).unwrap()
    }

    #[test]
    fn lines_belong_to_crates_and_tests() {
        let tree = tree();
        let lines = |source, tests| CrateLines { source, tests };
        // Of `one` these are tests: the declaration of `checks` (2), `b` (2), `checks` (2), `deep` (1), `whole` (1).
        let by_crate = [
            ("one".to_string(), lines(7, 8)),
            ("tests".to_string(), lines(0, 2)),
            ("two".to_string(), lines(3, 0)),
        ];
        assert_eq!(tree.crates, by_crate.into());
        assert_eq!(tree.total(), lines(10, 10));
    }

    #[test]
    fn tests_count_for_comments_only() {
        let tree = tree();
        assert_eq!(tree.functions, [1, 2]);
        assert_eq!(tree.documented, MeasuredShare { with: 1, of: 2 });
        assert_eq!(tree.questions, MeasuredShare { with: 1, of: 3 });
    }

    #[test]
    fn shared_names_are_counted_in_the_tree_and_in_crates() {
        let tree = tree();
        assert_eq!(tree.all_types(), [("Other", 1), ("Place", 3)].into());
        let all = share_of_shared(tree.all_types().into_values());
        assert_eq!(all, MeasuredShare { with: 3, of: 4 });
        let within = tree
            .types
            .values()
            .flat_map(|types| types.values().copied());
        assert_eq!(share_of_shared(within), MeasuredShare { with: 2, of: 4 });
    }

    #[test]
    fn large_files_are_listed() {
        let large = tree().large;
        assert_eq!(large, [(PathBuf::from("editors/two.ts"), LARGE + 1)]);
    }
}
