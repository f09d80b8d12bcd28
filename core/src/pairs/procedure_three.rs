//! Test Procedure III (LOCON, Algorithm 3): pairs that passing runs have too, but never as a couple.

use super::{
    collect::access_key,
    counts::PairCounts,
    couples::{CoupledPairs, couples},
};
use crate::orders::{Accesses, Dependency, dependencies};
use unsnarl_trace::Run;

/// Couples of the failing run with the number of passing runs that have them too, in the order in which
/// they were complete. Those of the procedure have none; the others are weaker evidence.
pub fn procedure_three(
    run: &Run,
    accesses: &Accesses,
    passing: &PairCounts,
) -> Vec<(CoupledPairs, u32)> {
    let mut direct: Vec<Dependency> = Vec::new();
    dependencies(run, accesses, |dependency| {
        if dependency.direct {
            direct.push(dependency);
        }
    });
    let mut found = Vec::new();
    couples(
        run,
        &direct,
        |row| access_key(run, row),
        |couple, key| {
            found.push((couple, passing.couple_runs(key)));
        },
    );
    found.sort_by_key(|(couple, _)| (couple.first.tail.max(couple.second.tail), *couple));
    found
}
