//! When programs are run again, and when the user is asked about that.

use crate::{config::MayRun, facts::FolderFacts, permission::Permissions};
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

/// What decides whether programs are run.
#[derive(Debug, Default)]
pub struct Consent {
    /// There is a tool that can, in a workspace that the user trusts.
    pub is_possible: bool,
    /// The client can ask without getting in the way.
    pub asks: bool,
    /// The setting.
    pub setting: MayRun,
    permissions: Permissions,
    /// Folders of which the user was asked in this session.
    asked: BTreeSet<PathBuf>,
}

impl Consent {
    /// With what the user has said before.
    pub fn new(is_possible: bool, permissions: Permissions) -> Consent {
        Consent {
            is_possible,
            permissions,
            ..Consent::default()
        }
    }

    /// May programs of this folder be run?
    pub fn may_run(&self, folder: &Path) -> bool {
        self.is_possible
            && match self.setting {
                MayRun::Always => true,
                MayRun::Never => false,
                MayRun::Ask => self.permissions.of(folder) == Some(true),
            }
    }

    /// The user wants it run, now and as long as the session lasts.
    pub fn allow_now(&mut self, folder: &Path) -> Result<(), String> {
        if !self.is_possible {
            return Err(
                "programs are not run here: the workspace is not trusted, or the server was started without the command line tool"
                    .to_owned(),
            );
        }
        if self.setting == MayRun::Never {
            return Err("the setting unsnarl.confirm is never: no program is run".to_owned());
        }
        self.permissions.set_now(folder, true);
        Ok(())
    }

    /// The user's answer, which counts for later sessions, too.
    pub fn answer(&mut self, folder: &Path, may: bool) -> io::Result<()> {
        self.permissions.keep(folder, may)
    }

    /// What to ask the user, once, when there is something to run and nothing was said about the folder.
    pub fn question(&mut self, folder: &Path, facts: &FolderFacts) -> Option<String> {
        let is_open = self.is_possible
            && self.asks
            && self.setting == MayRun::Ask
            && facts.unconfirmed > 0
            && self.permissions.of(folder).is_none();
        if !is_open || !self.asked.insert(folder.to_owned()) {
            return None;
        }
        let program = program(facts).unwrap_or_else(|| "the program".to_owned());
        Some(format!(
            "unsnarl has found why runs of {program} fail. May it run {program} again, in the background, to confirm that and to try fixes?"
        ))
    }
}

/// The name of the first program that would be run.
fn program(facts: &FolderFacts) -> Option<String> {
    let mut evidence = facts
        .explained
        .iter()
        .filter_map(|one| one.evidence.as_ref());
    let name = Path::new(&evidence.next()?.meta.program).file_name()?;
    Some(name.to_string_lossy().into_owned())
}
