//! The builds that every program is tested in.

use crate::TestedCompiler;

/// All of them: compiler and level of optimization.
pub const BUILDS: [(TestedCompiler, &str); 4] = [
    (TestedCompiler::Gcc, "-O0"),
    (TestedCompiler::Clang, "-O0"),
    (TestedCompiler::Gcc, "-O2"),
    (TestedCompiler::Clang, "-O2"),
];

/// The build that a program has where it is tested once: by the sum of its name's bytes, so that another program more or
/// less changes no one else's.
pub fn build_of(name: &str) -> (TestedCompiler, &'static str) {
    let sum: u32 = name.bytes().map(u32::from).sum();
    let [first, second, third, fourth] = BUILDS;
    match sum % 4 {
        0 => first,
        1 => second,
        2 => third,
        _ => fourth,
    }
}
