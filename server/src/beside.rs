//! The passing run beside the failing one: searched among the recorded runs when the user wants to see both.

use crate::{facts::ExplainedFact, host::ServerState, paths::Root};
use std::path::PathBuf;
use unsnarl_core::beside::{Passing, nearest, taken};
use unsnarl_trace::{Run, folder::RunFolder, read::read_run};

/// Number of passing runs that are examined. The recorder keeps no more of one kind that are alike.
const LOOKED_AT: usize = 50;
/// Number of runs with all steps that are enough to choose from.
const ENOUGH: usize = 5;

/// The steps of an explanation in the nearest passing run: the one that leaves out the fewest, and reverses the
/// fewest pairs. The error is the reason, for a person, when there is none. Reads run files.
pub fn passing(
    state: &ServerState,
    root: &Root,
    explained: &ExplainedFact,
) -> Result<Passing, String> {
    let explanation = &explained.explanation;
    let folder = RunFolder::new(root.path.join(&state.config.runs_folder));
    let executed = explanation.executed.as_ref();
    let executed = executed.filter(|executed| executed.is_recorded);
    let executed = executed.map(|executed| &executed.other);
    let names: Vec<&String> = executed
        .into_iter()
        .chain(explained.passing.iter())
        .collect();
    // Steps are rows of this run, which need not be the one that is at hand.
    let told = read_run(&file(&folder, &explanation.run)).map_err(|_| {
        format!(
            "the failing run {} cannot be read any more; record again",
            explanation.run
        )
    })?;
    let (mut found, mut whole): (Vec<Passing>, usize) = (Vec::new(), 0);
    for name in names.iter().take(LOOKED_AT) {
        // A run that went since the analysis is no reason to show nothing.
        let Ok(run) = read_run(&file(&folder, name)) else {
            continue;
        };
        let other = taken(explanation, &told, name, &run);
        if !other.differs() {
            continue;
        }
        whole += usize::from(other.missing.is_empty());
        found.push(other);
        if whole == ENOUGH {
            break;
        }
    }
    nearest(found).ok_or_else(|| match names.len() {
        0 => "no passing run was recorded: record more runs".to_owned(),
        all => format!(
            "none of {} passing runs takes these steps in another order",
            all.min(LOOKED_AT)
        ),
    })
}

/// The failing run of an explanation and the passing ones beside it, as many as are examined, with their names.
pub fn runs<'a>(
    state: &ServerState,
    root: &Root,
    explained: &'a ExplainedFact,
) -> impl Iterator<Item = (&'a str, Run)> {
    let folder = RunFolder::new(root.path.join(&state.config.runs_folder));
    let passing = explained.passing.iter().take(LOOKED_AT);
    let names = std::iter::once(&explained.explanation.run).chain(passing);
    // A run that went since the analysis is no reason to say nothing.
    names.filter_map(move |name| Some((name.as_str(), read_run(&file(&folder, name)).ok()?)))
}

fn file(folder: &RunFolder, name: &str) -> PathBuf {
    folder.path().join(format!("{name}.arrow"))
}
