//! A run that was made, as the campaign sees it: the digest of its log at once, and the whole run on demand.

use super::{Job, RecordError, RunPlan, UnassembledRun, make};
use crate::{
    assemble::{EndOfRun, ProgramDebugInfo},
    digest::{CampaignPlaces, Digest},
};
use std::{cell::OnceCell, sync::atomic::AtomicBool};
use unsnarl_trace::{
    EncodedRun, OrderMode, Run, RunMeta,
    raw::{End, unlogged},
};

/// A run that was made, and what its log says of itself.
pub(super) struct ReadLog {
    made: UnassembledRun,
    digest: Digest,
    /// Places that it passed over.
    quiet: u32,
}

impl ReadLog {
    /// Runs the program once, and reads what it has logged.
    pub fn make(
        job: &Job,
        program: &ProgramDebugInfo,
        attempt: &RunPlan,
        places: &mut CampaignPlaces,
        stop: &AtomicBool,
    ) -> Result<ReadLog, RecordError> {
        let made = make(job, program, attempt, stop)?;
        let quiet = attempt.quiet.len() as u32;
        Ok(ReadLog {
            digest: made.digest(program, places)?,
            made,
            quiet,
        })
    }
}

/// A run that was made.
pub struct MadeRun<'a> {
    pub(super) made: UnassembledRun,
    /// The end of the run.
    pub(super) ended: EndOfRun,
    pub(super) digest: Digest,
    /// Number of places that it passed over.
    pub(super) quiet: u32,
    /// Decision points that it passed.
    pub(super) steps: u64,
    /// End of the run, as far as the runtime saw it.
    pub(super) end: End,
    /// There was something to choose in it.
    pub(super) chose: bool,
    /// Accesses that have no record, since they repeat others.
    pub(super) left_out: u64,
    program: &'a ProgramDebugInfo,
    /// The assembled run, made on demand.
    run: OnceCell<Run>,
}

impl<'a> MadeRun<'a> {
    /// Dependences of which the log of such a program cannot have a record, as bits of [`unlogged`].
    pub(super) fn of_libraries(&self) -> u32 {
        match self.program.unseen_locks().is_empty() {
            true => 0,
            false => unlogged::LIBRARY,
        }
    }

    /// Looks at a run; `others_end` says whether other runs with the same input have ended.
    pub(super) fn of(
        read: ReadLog,
        program: &'a ProgramDebugInfo,
        others_end: bool,
    ) -> Result<MadeRun<'a>, RecordError> {
        let made = read.made.beside_others_that_end(others_end);
        let log = made.log()?;
        let (steps, end, left_out) = (log.steps(), log.end(), log.left_out());
        let chose = made.mode() != OrderMode::Controlled || log.decisions() > 0;
        Ok(MadeRun {
            ended: made.ended(program)?,
            digest: read.digest,
            quiet: read.quiet,
            steps,
            end,
            chose,
            left_out,
            made,
            program,
            run: OnceCell::new(),
        })
    }

    /// Returns whether the run made the choices of another one and ended as that did.
    pub(super) fn repeats(&self, other: &MadeRun<'_>) -> Result<bool, RecordError> {
        let message =
            |run: &MadeRun<'_>| run.ended.failure.as_ref().map(|failure| failure.1.clone());
        let ends_alike = self.end == other.end
            && self.ended.outcome == other.ended.outcome
            && message(self) == message(other);
        Ok(ends_alike && self.made.log()?.schedule() == other.made.log()?.schedule())
    }

    /// Returns the assembled run.
    pub fn run(&self) -> &Run {
        self.run.get_or_init(|| {
            let run = self.made.whole(self.program, &self.digest, self.quiet);
            // Its log was read before.
            run.unwrap_or_default()
        })
    }

    /// The run, to name what it has shown, or to minimize it.
    pub(super) fn into_run(self) -> Run {
        self.run();
        self.run.into_inner().unwrap_or_default()
    }

    /// Returns whether its file can be made without its columns: nothing in it depends on where it failed.
    pub(super) fn can_be_encoded(&self) -> bool {
        self.ended.failure.is_none() && self.run.get().is_none()
    }

    /// The run's file and the metadata in it.
    pub(super) fn encoded(self) -> Result<(RunMeta, EncodedRun), RecordError> {
        self.made.encoded(self.program, self.digest, self.quiet)
    }
}
