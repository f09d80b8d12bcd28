//! Permission to execute a program that a run or a schedule names: `unsnarl_recorder::permit` decides, and the user may
//! be asked about what it refuses.

use anyhow::Result;
use std::io;
use unsnarl_recorder::permit::{ExecutionInputs, Permit, UserTrust};

/// A question to the user whether to execute something.
pub type PermissionQuestion = fn(&ExecutionInputs) -> io::Result<bool>;

/// The user's word about programs that others may have recorded.
#[derive(Clone, Debug)]
pub struct UserDecision {
    /// Trust that the user has stated.
    pub trust: UserTrust,
    /// Function that asks the user, where that is possible.
    pub ask: Option<PermissionQuestion>,
}

/// The permission to execute something, and the trust that it rests on.
///
/// # Errors
/// It is refused, or the user cannot be asked.
pub fn permit(deed: ExecutionInputs, word: &UserDecision) -> Result<(Permit, UserTrust)> {
    let refused = match Permit::ask(deed.clone(), &word.trust) {
        Ok(permit) => return Ok((permit, word.trust.clone())),
        Err(refused) => refused,
    };
    let is_allowed = match word.ask {
        Some(ask) => ask(&deed)?,
        None => false,
    };
    if !is_allowed {
        return Err(refused.into());
    }
    let trust = UserTrust::Builds(deed.hashes().map(str::to_owned).collect());
    Ok((Permit::ask(deed, &trust)?, trust))
}
