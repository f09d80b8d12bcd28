//! A sample of the mutants of `cargo xtask bench mutants`: correct programs with one mistake each, whose place is known
//! because a rule has put it there.

use anyhow::{Context, Result, ensure};
use unsnarl_e2e::mutants::{Half, Mutant, judge::judge};

/// The first explanation blames the mutated lines by a right class, and all that is claimed is true.
fn is_explained(id: &str) -> Result<()> {
    ensure!(Half::of(id) == Half::Development, "{id} is held back");
    let (base, mutant) = Mutant::open(id)?;
    let judgement = judge(&base, &mutant)?;
    let told = judgement.told.as_ref();
    let told = told.with_context(|| format!("{id} is not explained: {judgement:?}"))?;
    ensure!(told.is_region_right, "{:?}: {judgement:?}", mutant.region);
    ensure!(told.is_class_right, "{:?}: {judgement:?}", mutant.classes);
    ensure!(judgement.false_claims == 0, "{judgement:?}");
    let fix_holds = judgement.fix.as_ref().is_none_or(|fix| fix.holds);
    ensure!(fix_holds, "the fix does not hold: {judgement:?}");
    Ok(())
}

mod matrix {
    use super::*;

    /// Locks that are missing are the mistake of many programs under `tests/programs`, too, which take less time.
    #[test]
    fn a_lock_that_is_not_taken() -> Result<()> {
        is_explained("lru_cache/drop-lock/5")
    }
}

#[test]
fn a_section_in_two_pieces() -> Result<()> {
    is_explained("mail_queue/split-section/9")
}

#[test]
fn an_atomic_step_made_of_two() -> Result<()> {
    is_explained("shared_text/split-atomic/2")
}

#[test]
fn a_thread_that_is_not_waited_for() -> Result<()> {
    is_explained("print_server/drop-join/1")
}

#[test]
fn a_condition_that_is_looked_at_once() -> Result<()> {
    is_explained("log_ring/if-wait/2")
}

#[test]
fn a_signal_that_is_left_out() -> Result<()> {
    is_explained("log_ring/drop-signal/6")
}
