//! Code lenses: commands about an explanation, above the line where a person would begin to read.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    marks::{FollowedFiles, LineSpot},
    symbols::begins,
};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

/// A command of the server: selects the explanation whose steps are shown. Its argument is the id of an explanation;
/// none is the best one.
pub const SELECT: &str = "unsnarl.select";
/// A command of clients that have it: shows an explanation. Its argument is the id.
pub const SHOW: &str = "unsnarl.showExplanation";
/// A command of clients that have it: goes to the step behind the cursor's.
pub const NEXT_STEP: &str = "unsnarl.nextStep";
/// A command of clients that have it: runs a recorded schedule again. Its argument is the run's name.
pub const REPLAY: &str = "unsnarl.replay";
/// A command of clients that have it: debugs the failing run of an explanation. Its argument is the id.
pub const DEBUG: &str = "unsnarl.debugRun";
/// A command of clients that have it: tries the fix of an explanation. Its argument is the id.
pub const VERIFY: &str = "unsnarl.verify";

/// A command of the server: calls a finding harmless. Its arguments are the id of an explanation and the reason.
pub const SUPPRESS: &str = "unsnarl.suppress";
/// A command of the server: shows what other threads did between two lines. Its arguments are the file's URI and the
/// lines, from 0.
pub const BETWEEN: &str = "unsnarl.between";
/// A command of the server: runs the program again to confirm an explanation. Its argument is the id.
pub const CONFIRM: &str = "unsnarl.confirm";
/// A command of clients that have it: asks for the reason, then calls [`SUPPRESS`]. Its argument is the id.
pub const ASK_SUPPRESS: &str = "unsnarl.askSuppress";

/// A command of clients that have it: lets the user choose among the actions that are not in the menu. Its arguments are
/// the id of an explanation and the actions.
pub const MORE: &str = "unsnarl.more";
/// A command of clients that have it: shows what the fix that was just applied has changed. Its arguments are the fix and
/// the changed places.
pub const FIX_APPLIED: &str = "unsnarl.fixApplied";

/// Something to click.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    /// The title that a person reads.
    pub title: String,
    /// The command's name.
    pub command: &'static str,
    /// Its arguments.
    pub arguments: Vec<Value>,
}

/// The offers of a current file, each with its line, among the commands that the client has.
pub fn lenses(state: &ServerState, path: &Path) -> Vec<(LineSpot, Offer)> {
    if !state.config.code_lens {
        return Vec::new();
    }
    let mut lenses = Vec::new();
    for (root, explained) in state.explained() {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let Some(spot) = begins(explained).find_map(|place| located.spot(place)) else {
            continue;
        };
        if spot.path == path {
            let offers = offers(state, explained).into_iter();
            lenses.extend(offers.map(|offer| (spot.clone(), offer)));
        }
    }
    lenses.sort_by_key(|(spot, _)| spot.line);
    lenses
}

/// The commands that are offered for an explanation.
pub fn offers(state: &ServerState, explained: &Arc<ExplainedFact>) -> Vec<Offer> {
    let explanation = &explained.explanation;
    let id = || vec![json!(explanation.id)];
    let is_selected = state
        .selected()
        .is_some_and(|(_, selected)| Arc::ptr_eq(selected, explained));
    let mut offers = vec![offer("unsnarl: explain", SHOW, id())];
    match is_selected {
        true if !explanation.steps.is_empty() => offers.push(offer("next step", NEXT_STEP, id())),
        true => {}
        false => offers.push(offer("show the steps", SELECT, id())),
    }
    if state.could_confirm(explained) {
        offers.push(offer("confirm by running it again", CONFIRM, id()));
    }
    // The run that the steps are from.
    let own = Some(&explanation.run).filter(|run| !run.is_empty());
    if let Some(run) = own.or(explanation.runs.first()) {
        offers.push(offer("replay", REPLAY, vec![json!(run)]));
        offers.push(offer("debug", DEBUG, id()));
    }
    if !explanation.fixes.is_empty() {
        offers.push(offer("verify the fix", VERIFY, id()));
    }
    let is_ours = |command| [SELECT, CONFIRM].contains(&command);
    offers.retain(|offer| is_ours(offer.command) || state.commands.contains(offer.command));
    offers
}

/// The command that calls a finding harmless; clients that can ask for the reason do.
pub fn suppress(state: &ServerState, explained: &ExplainedFact) -> Offer {
    let asks = state.commands.contains(ASK_SUPPRESS);
    let command = if asks { ASK_SUPPRESS } else { SUPPRESS };
    let id = vec![json!(explained.explanation.id)];
    offer("this is harmless (suppress)", command, id)
}

fn offer(title: &str, command: &'static str, arguments: Vec<Value>) -> Offer {
    Offer {
        title: title.to_owned(),
        command,
        arguments,
    }
}
