//! Places in the code of one run, for whoever does not put the run together.

use super::{modules::Modules, program::ProgramDebugInfo, raw_log::RawLog};
use unsnarl_trace::SiteRow;

/// The code that a run could come to.
pub(crate) struct ReachableCode<'a> {
    modules: Modules<'a>,
}

impl<'a> ReachableCode<'a> {
    /// The modules of a run.
    pub fn of(log: &RawLog<'_>, program: &'a ProgramDebugInfo) -> ReachableCode<'a> {
        ReachableCode {
            modules: Modules::new(log, program),
        }
    }

    /// The file that the call which returns to `pc` stands in, and where in it.
    pub fn in_file(&mut self, pc: u64) -> Option<(String, u64)> {
        let at = self
            .modules
            .locate(pc.wrapping_sub(1))
            .filter(|_| pc != 0)?;
        Some((at.image.path.clone(), at.address))
    }

    /// The place in the source of the call that returns to `pc`, and whether it is the user's.
    pub fn site(&mut self, pc: u64) -> Option<(SiteRow, bool)> {
        let point = self.modules.point(pc)?;
        let site = point.user.as_ref().unwrap_or(&point.any);
        Some((site.clone(), point.user.is_some()))
    }
}
