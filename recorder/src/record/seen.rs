//! A run that was made, as the campaign sees it: the digest of its log at once, and the whole run on demand.

use super::{Made, RecordError};
use crate::{
    assemble::{EndOfRun, Program, RawLog},
    digest::{Digest, Places},
};
use std::cell::OnceCell;
use unsnarl_trace::{Mode, Run};

/// A run that was made.
pub struct Seen<'a> {
    pub(super) made: &'a Made,
    pub(super) log: RawLog<'a>,
    /// The end of the run.
    pub(super) ended: EndOfRun,
    pub(super) digest: Digest,
    /// Number of places that it passed over.
    pub(super) quiet: u32,
    program: &'a Program,
    /// The assembled run, made on demand.
    run: OnceCell<Run>,
}

impl<'a> Seen<'a> {
    /// Reads the log of a run.
    pub(super) fn of(
        made: &'a Made,
        program: &'a Program,
        places: &mut Places,
        quiet: u32,
    ) -> Result<Seen<'a>, RecordError> {
        let log = made.log()?;
        let mut digest = Digest::of(&log, program, places);
        if made.mode() == Mode::Path {
            // The steps of path mode have no order of their own.
            digest.order.clear();
        }
        Ok(Seen {
            ended: made.ended(program)?,
            made,
            log,
            digest,
            quiet,
            program,
            run: OnceCell::new(),
        })
    }

    /// Returns the assembled run.
    pub fn run(&self) -> &Run {
        self.run.get_or_init(|| {
            let mut run = self.made.run_of(&self.log, self.program);
            run.meta.order.clone_from(&self.digest.order);
            run.meta.quiet_places = self.quiet;
            run
        })
    }

    /// The run, to keep.
    pub(super) fn into_run(self) -> Run {
        self.run();
        self.run.into_inner().unwrap_or_default()
    }
}
