//! Checkouts that are not where they were recorded: where their sources may be, and what the program tells about it.

use crate::{
    config::Config,
    facts::ExplainedFact,
    paths::{Root, SourceMap, candidates},
    sources::Sources,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_trace::files::{read_regular, sha256};

/// The places of sources for runs of a folder.
pub fn source_map(
    folder: &Path,
    workspace: &[PathBuf],
    config: &Config,
    tree: &Arc<BTreeSet<PathBuf>>,
) -> SourceMap {
    let own = workspace.iter().find(|root| folder.starts_with(root));
    let up_to_own = folder
        .ancestors()
        .skip(1)
        .take_while(|above| own.is_some_and(|own| above.starts_with(own)));
    let mut above: Vec<PathBuf> = up_to_own.map(Path::to_owned).collect();
    let others = workspace.iter().filter(|root| *root != folder);
    above.extend(others.filter(|root| Some(*root) != own).cloned());
    let base = own.or(workspace.first()).map_or(folder, PathBuf::as_path);
    let set = config.source_map.iter();
    SourceMap {
        set: set
            .map(|(from, to)| (from.clone(), base.join(to)))
            .collect(),
        above,
        folders: tree.clone(),
    }
}

/// Bytes of a program up to which it is compared with the recorded one.
const MAX_PROGRAM_BYTES: u64 = 64 << 20;

/// Notes a folder that has moved, if the recorded program is elsewhere, unchanged.
pub fn note_program(sources: &mut Sources, root: &Root, explained: &ExplainedFact) {
    let Some(run) = &explained.evidence else {
        return;
    };
    let program = Path::new(&run.meta.directory).join(&run.meta.program);
    if run.meta.build_id.is_empty() || program.exists() || !sources.is_first_search(root, &program)
    {
        return;
    }
    let found = candidates(root, &program).into_iter().find(|path| {
        let bytes = read_regular(path, MAX_PROGRAM_BYTES);
        bytes.is_ok_and(|bytes| sha256(&bytes) == run.meta.build_id)
    });
    if let Some(found) = found {
        sources.add_moved(root, &program, &found);
    }
}
