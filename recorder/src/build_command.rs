//! The command that builds a program for recording, as an example for its build system.

use std::path::Path;

/// The command for the build system whose folder contains the program or is the folder of the command; that for make
/// where neither is one. CMake and Meson keep the compiler that they found first, hence a folder of its own.
pub fn example(program: &Path, directory: &Path) -> &'static str {
    let folders = || program.ancestors().skip(1).chain([directory]);
    if folders().any(|folder| folder.join("CMakeCache.txt").is_file()) {
        return "CC=\"unsnarl cc\" CXX=\"unsnarl c++\" cmake -B build-recorded && cmake --build build-recorded";
    }
    if folders().any(|folder| folder.join("meson-private").is_dir()) {
        return "CC=\"unsnarl cc\" CXX=\"unsnarl c++\" meson setup build-recorded && meson compile -C build-recorded";
    }
    "CC=\"unsnarl cc\" make"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_folder_shows_the_build_system() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("build/tests/queue_test");
        fs::create_dir_all(root.path().join("build/tests")).unwrap();
        let elsewhere = Path::new("/");
        assert!(example(&program, elsewhere).ends_with(" make"));
        fs::create_dir(root.path().join("build/meson-private")).unwrap();
        assert!(example(&program, elsewhere).contains(" meson setup "));
        fs::write(root.path().join("build/CMakeCache.txt"), "").unwrap();
        assert!(example(&program, elsewhere).contains(" cmake -B "));
        let ctest = Path::new("/usr/bin/ctest");
        assert!(example(ctest, &root.path().join("build")).contains(" cmake -B "));
    }
}
