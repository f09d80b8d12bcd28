//! Check that claims about passing runs are true for all that were kept.

use crate::Workspace;
use anyhow::Result;
use std::sync::Arc;
use unsnarl_core::{BugKind, Explanation, RunSummary};
use unsnarl_trace::read_run;

/// Number of wrong claims, and of all claims. That a failure does not depend on the schedule is one, too.
pub fn check(workspace: &Workspace, explanations: &[Explanation]) -> Result<(u32, u32)> {
    let mut passing = Vec::new();
    for name in workspace.runs_that("passed")? {
        let run = read_run(&workspace.path().join(workspace.run_path(&name)))?;
        passing.push(RunSummary::new(name, Arc::new(run)));
    }
    let (mut wrong, mut all) = (0, 0);
    for explanation in explanations {
        for counted in &explanation.claims {
            let with = passing
                .iter()
                .filter(|run| counted.claim.holds(&run.accesses));
            let is_right =
                with.count() == counted.holds_in as usize && passing.len() == counted.of as usize;
            wrong += u32::from(!is_right);
            all += 1;
        }
        if explanation.kind == BugKind::Sequential {
            wrong += u32::from(!passing.is_empty());
            all += 1;
        }
    }
    Ok((wrong, all))
}
