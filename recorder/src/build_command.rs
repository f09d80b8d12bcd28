//! The commands that build a program: for recording, and in a copy of its project.

use std::{
    fs,
    path::{Path, PathBuf},
};
use unsnarl_trace::{RunMeta, shell};

/// The file that CMake keeps in a build folder.
const CACHE: &str = "CMakeCache.txt";
/// The entry of it that names the folder of the sources.
const HOME: &str = "CMAKE_HOME_DIRECTORY:INTERNAL=";

/// A command that builds the program of a run from the folder of its project: of a build folder of CMake inside of the project one
/// that configures it anew, since a copy of such a folder still builds the original; otherwise `make`, as an example.
pub fn in_a_copy(meta: &RunMeta) -> String {
    let program = Path::new(&meta.directory).join(&meta.program);
    cmake(&program).unwrap_or_else(|| "make".to_owned())
}

/// The build folder of CMake that contains the program.
fn cmake_folder(program: &Path) -> Option<&Path> {
    let mut folders = program.ancestors().skip(1);
    folders.find(|folder| folder.join(CACHE).is_file())
}

/// The folder of the sources that a build folder of CMake belongs to.
fn sources(folder: &Path) -> Option<PathBuf> {
    let cache = fs::read_to_string(folder.join(CACHE)).ok()?;
    let mut lines = cache.lines();
    lines
        .find_map(|line| line.strip_prefix(HOME))
        .map(PathBuf::from)
}

fn cmake(program: &Path) -> Option<String> {
    let folder = cmake_folder(program)?;
    let name = folder.strip_prefix(sources(folder)?).ok()?.to_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_word = !name.is_empty() && name.chars().all(is_plain);
    is_word.then(|| format!("cmake --fresh -B {name} && cmake --build {name}"))
}

/// The command for the build system whose folder contains the program or is the folder of the command; that for make
/// where neither is one. CMake and Meson keep the compiler that they found first, hence a folder of its own.
pub fn for_recording(program: &Path, directory: &Path) -> String {
    const COMPILERS: &str = "CC=\"unsnarl cc\" CXX=\"unsnarl c++\"";
    // That of the command is looked at as if the program lay in it.
    let inside = directory.join("program");
    if let Some(folder) = cmake_folder(program).or_else(|| cmake_folder(&inside)) {
        let there = sources(folder).filter(|sources| sources != directory);
        let there = there.map(|sources| format!("cd {} && ", shell::word(&sources)));
        return format!(
            "{}{COMPILERS} cmake -B build-recorded && cmake --build build-recorded",
            there.unwrap_or_default()
        );
    }
    let mut folders = program.ancestors().skip(1).chain([directory]);
    if folders.any(|folder| folder.join("meson-private").is_dir()) {
        return format!(
            "{COMPILERS} meson setup build-recorded && meson compile -C build-recorded"
        );
    }
    "CC=\"unsnarl cc\" make".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_folder_of_cmake_is_configured_anew() {
        let project = tempfile::tempdir().unwrap();
        let program = project.path().join("out/debug/tests/pool_test");
        assert_eq!(cmake(&program), None);
        let build = project.path().join("out/debug");
        fs::create_dir_all(&build).unwrap();
        let cache = format!("# CMake\n{HOME}{}\n", project.path().display());
        fs::write(build.join(CACHE), cache).unwrap();
        let command = "cmake --fresh -B out/debug && cmake --build out/debug";
        assert_eq!(cmake(&program).as_deref(), Some(command));
    }

    #[test]
    fn the_folder_shows_the_build_system() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("build/tests/queue_test");
        fs::create_dir_all(root.path().join("build/tests")).unwrap();
        let elsewhere = Path::new("/");
        assert!(for_recording(&program, elsewhere).ends_with(" make"));
        fs::create_dir(root.path().join("build/meson-private")).unwrap();
        assert!(for_recording(&program, elsewhere).contains(" meson setup "));
        let cache = format!("{HOME}{}\n", root.path().display());
        fs::write(root.path().join("build/CMakeCache.txt"), cache).unwrap();
        assert!(for_recording(&program, root.path()).starts_with("CC="));
        assert!(for_recording(&program, elsewhere).starts_with("cd "));
        let ctest = Path::new("/usr/bin/ctest");
        assert!(for_recording(ctest, &root.path().join("build")).contains(" cmake -B "));
    }
}
