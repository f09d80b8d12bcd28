//! Code actions about an explanation, offered at the lines that it marks; its fixes at the lines that they edit, too.

use crate::{
    between,
    edits::{self, FileEdits},
    facts::ExplainedFact,
    host::ServerState,
    lens::{Offer, offers, suppress},
    marks::FollowedFiles,
    paths::Root,
};
use std::{ops::Range, path::Path, sync::Arc};
use unsnarl_core::{
    Explanation,
    fixes::{Fix, TrialVerdict},
};

/// An action that a person may choose.
#[derive(Clone, PartialEq, Debug)]
pub struct OfferedAction {
    /// The title that a person reads.
    pub title: String,
    /// Id of the explanation to which it belongs.
    pub explanation: String,
    /// The effect of the action.
    pub doing: Doing,
    /// `true` for the action that a person should think of first.
    pub preferred: bool,
}

/// The effect of an action.
#[derive(Clone, PartialEq, Debug)]
pub enum Doing {
    /// Runs a command.
    Command(Offer),
    /// Edits the source.
    Edits(Vec<FileEdits>),
    /// No effect at present, for this reason.
    Nothing(&'static str),
}

impl OfferedAction {
    /// Returns whether it edits one of these lines (from 0) of a file.
    fn edits(&self, path: &Path, lines: &Range<usize>) -> bool {
        let Doing::Edits(files) = &self.doing else {
            return false;
        };
        let mut edits = files
            .iter()
            .filter(|file| file.path == path)
            .flat_map(|file| &file.edits);
        edits.any(|edit| edit.from.0 < lines.end && lines.start <= edit.to.0)
    }
}

/// The actions of some lines (from 0) of a current file: those of each explanation that marks one of them, then the fixes
/// of others that edit one.
pub fn actions(state: &ServerState, path: &Path, lines: &Range<usize>) -> Vec<OfferedAction> {
    let is_marked = |(root, explained): &(&Root, &Arc<ExplainedFact>)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        marks(explained, &located, path, lines)
    };
    let (marked, others): (Vec<_>, Vec<_>) = state.selected_first().partition(is_marked);
    let mut actions = Vec::new();
    for (root, explained) in &marked {
        actions.extend(fixes(state, root, explained));
        let offers = offers(state, explained).into_iter();
        let offers = offers.chain([suppress(state, explained)]);
        let is_one_of_several = marked.len() > 1;
        actions.extend(offers.map(|offer| action(explained, offer, is_one_of_several)));
    }
    for (root, explained) in others {
        let fixes = fixes(state, root, explained).into_iter();
        actions.extend(fixes.filter(|fix| fix.edits(path, lines)));
    }
    actions
}

/// The question that can be asked about the selected lines.
pub fn question(state: &ServerState, path: &Path, lines: &Range<usize>) -> Option<OfferedAction> {
    let offer = between::question(state, path, lines)?;
    Some(OfferedAction {
        title: offer.title.clone(),
        explanation: String::new(),
        doing: Doing::Command(offer),
        preferred: false,
    })
}

/// The fixes of an explanation; those that cannot be made in the current source have a reason.
fn fixes(state: &ServerState, root: &Root, explained: &ExplainedFact) -> Vec<OfferedAction> {
    let fixes = explained.explanation.fixes.iter().enumerate();
    let mut actions: Vec<OfferedAction> = fixes
        .map(|(at, fix)| {
            let edits = edits::of_fix(state, root, explained, fix);
            OfferedAction {
                title: title(fix, &explained.explanation),
                explanation: explained.explanation.id.clone(),
                preferred: at == 0 && edits.is_ok(),
                doing: edits.map_or_else(Doing::Nothing, Doing::Edits),
            }
        })
        .collect();
    actions.retain(|action| {
        state.edits.disabled_actions || !matches!(action.doing, Doing::Nothing(_))
    });
    actions
}

/// The title of a fix, with the result of trying it, or with the command that tries it.
fn title(fix: &Fix, explanation: &Explanation) -> String {
    let tried = fix.tried.as_ref();
    if let Some(trial) = tried.filter(|trial| trial.verdict != TrialVerdict::NotTried) {
        return format!("unsnarl: {} ({})", fix.title, trial.in_words());
    }
    format!(
        "unsnarl: {} (not tried: unsnarl verify {})",
        fix.title,
        explanation.name_of(fix)
    )
}

fn marks(
    explained: &ExplainedFact,
    located: &FollowedFiles<'_>,
    path: &Path,
    lines: &Range<usize>,
) -> bool {
    let explanation = &explained.explanation;
    let sites = explanation.sites.iter().map(|site| &site.place);
    let mut spots = sites
        .chain(&explanation.failure.site)
        .filter_map(|place| located.spot(place));
    spots.any(|spot| spot.path == path && lines.contains(&spot.line))
}

/// An action with a title that says which tool it belongs to, and which of several explanations it is about.
fn action(explained: &ExplainedFact, offer: Offer, is_one_of_several: bool) -> OfferedAction {
    let doing = offer.title.trim_start_matches("unsnarl: ");
    let about = match is_one_of_several {
        true => format!(" ({})", explained.explanation.headline),
        false => String::new(),
    };
    OfferedAction {
        title: format!("unsnarl: {doing}{about}"),
        explanation: explained.explanation.id.clone(),
        doing: Doing::Command(offer),
        preferred: false,
    }
}
