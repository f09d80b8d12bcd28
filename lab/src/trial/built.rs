//! Fixes as real edits: the program is built once more with the edited sources, by the notes of how it was built, and its
//! schedules are explored. What building shows counts more than what the program as it is shows.

use super::{
    case::{Failures, FixCase},
    explore::{ExploreLimits, explore, job},
    needed::NeededLines,
};
use crate::{Executing, edited::edited};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Instant,
};
use unsnarl_core::fixes::{Fix, Trial};
use unsnarl_recorder::{
    permit::{ExecutionInputs, Permit},
    record::Observed,
    target,
    wrapper::rebuild::rebuild,
};
use unsnarl_trace::{OrderMode, Run};

/// Means for building and trying a fix.
pub(super) struct Building<'a> {
    /// The run whose program is built again.
    pub run: &'a Run,
    /// Means for executing the program.
    pub with: &'a Executing<'a>,
    /// The sources as they were recorded.
    pub sources: &'a BTreeMap<String, String>,
    /// Limits of the exploration.
    pub limits: &'a ExploreLimits,
    /// Time at which a compiler has to be done.
    pub end: Instant,
}

impl Building<'_> {
    /// Builds the program with a fix made and explores it; `without` is how many runs of the same search of the program as
    /// it is failed.
    ///
    /// # Errors
    /// It cannot be built or run, or it is not the recorded program's.
    pub fn attempt(
        &self,
        fix: &Fix,
        (failures, needed): (&Failures, &NeededLines),
        without: u64,
    ) -> Result<Trial> {
        let meta = &self.run.meta;
        let directory = Path::new(&meta.directory);
        if meta.mode != OrderMode::Controlled {
            bail!("only runs with a controlled schedule can be explored");
        }
        super::refuse_parent(meta)?;
        let recorded = target::open_recorded(meta, directory)?;
        if recorded.program.build_id() != meta.build_id {
            bail!(
                "{} is another build than the one that was recorded",
                meta.program
            );
        }
        let texts = edited(fix, self.sources)?.into_iter();
        let texts: BTreeMap<PathBuf, String> = texts
            .map(|(file, text)| (directory.join(file), text))
            .collect();
        let folder = tempfile::tempdir()?;
        let program = recorded.program.path();
        let left = self.end.saturating_duration_since(Instant::now());
        let into = (folder.path(), left);
        let program = rebuild(self.with.unsnarl, program, &texts, into)?;
        let target = target::open(program.as_os_str(), directory)
            .context("the edited program cannot be run")?;
        // Whoever may execute the program may execute it with a few lines of the user's own moved.
        let deed = ExecutionInputs::of(meta, recorded.program.path(), recorded.program.build_id());
        crate::permission::permit(deed, &self.with.given.word)?;
        let words = meta.command.iter().skip(1).map(OsString::from);
        let command: Vec<OsString> = std::iter::once(program.clone().into())
            .chain(words)
            .collect();
        let permit = Permit::named(&program, &command, directory);
        let job = job(self.run, command, directory, permit, self.limits);
        let mut case = FixCase::edited(fix, failures.clone(), needed.clone());
        let end = Instant::now() + self.limits.time * 2;
        let mut watch = |seen: &Observed<'_>| {
            case.see(seen);
            case.is_refuted() || Instant::now() > end
        };
        let out = folder.path().join("runs");
        let subject = (&target, &job);
        let searched = explore(
            subject,
            meta.chances,
            self.limits,
            &out,
            self.with.stop,
            &mut watch,
        )?;
        case.end();
        Ok(case.built(&searched, without))
    }
}
