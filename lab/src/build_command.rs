//! The command by which a person would build a program in a copy of its project.

use std::{fs, path::Path};
use unsnarl_trace::RunMeta;

/// The file that CMake keeps in a build folder.
const CACHE: &str = "CMakeCache.txt";
/// The entry of it that names the folder of the sources.
const HOME: &str = "CMAKE_HOME_DIRECTORY:INTERNAL=";

/// A command that builds the program of a run from the folder of its project: of a build folder of CMake inside of the project one
/// that configures it anew, since a copy of such a folder still builds the original; otherwise `make`, as an example.
pub fn build_command(meta: &RunMeta) -> String {
    let program = Path::new(&meta.directory).join(&meta.program);
    cmake(&program).unwrap_or_else(|| "make".to_owned())
}

fn cmake(program: &Path) -> Option<String> {
    let folder = program
        .ancestors()
        .skip(1)
        .find(|folder| folder.join(CACHE).is_file())?;
    let cache = fs::read_to_string(folder.join(CACHE)).ok()?;
    let home = cache.lines().find_map(|line| line.strip_prefix(HOME))?;
    let name = folder.strip_prefix(home).ok()?.to_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_word = !name.is_empty() && name.chars().all(is_plain);
    is_word.then(|| format!("cmake --fresh -B {name} && cmake --build {name}"))
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
}
