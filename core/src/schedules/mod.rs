//! Schedules by constraint solving ([symbiosis], sections 3.3 to 3.5).
//!
//! [symbiosis]: Machado, Lucia and Rodrigues, *Concurrency Debugging with Differential Schedule Projections*, PLDI 2015.

/// Name and version of the solver that this process is linked with.
pub fn solver_version() -> String {
    format!("Z3 {}", z3::full_version())
}

/// Is it at least the release that the bindings were made for? An older one has other numbers for the kinds of
/// terms, and misbehaves.
pub fn solver_is_recent() -> bool {
    is_recent(z3::full_version())
}

/// `Z3 5.4.0.0 ...` and later, 4.13 at least.
fn is_recent(full_version: &str) -> bool {
    let number = full_version
        .split_whitespace()
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let mut parts = number
        .unwrap_or_default()
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (4, 13)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_solver_is_the_one_that_the_set_up_installed() {
        let found = super::solver_version();
        assert!(
            found.contains(include_str!("../../solver-version.txt")),
            "{found}"
        );
        assert!(super::solver_is_recent(), "{found}");
    }

    #[test]
    fn old_solvers_are_told_apart() {
        for (version, recent) in [
            ("Z3 5.4.0.0", true),
            ("Z3 4.13.3.0 abc", true),
            ("Z3 4.8.12.0", false),
            ("", false),
        ] {
            assert_eq!(super::is_recent(version), recent, "{version}");
        }
    }
}
