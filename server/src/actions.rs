//! Code actions about an explanation, offered at the lines that it marks; its fixes at the lines that they are about, too.

use crate::{
    between,
    edits::{self, FileEdits},
    facts::ExplainedFact,
    host::ServerState,
    lens::{MORE, Offer, offers, suppress},
    marks::FollowedFiles,
    paths::Root,
};
use std::{collections::BTreeSet, ops::Range, path::Path, sync::Arc};
use unsnarl_core::fixes::{Fix, TrialVerdict};

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
    /// Lets the user choose among these.
    More(Vec<OfferedAction>),
    /// No effect at present, for this reason.
    Nothing(&'static str),
}

impl OfferedAction {
    /// Returns whether it is about one of these lines (from 0) of a file: edits it, or makes it a part of one step.
    fn is_about(&self, path: &Path, lines: &Range<usize>) -> bool {
        let Doing::Edits(files) = &self.doing else {
            return false;
        };
        let meets = |from: usize, end: usize| from < lines.end && lines.start < end;
        let mut here = files.iter().filter(|file| file.path == path);
        here.any(|file| {
            let mut edits = file.edits.iter();
            edits.any(|edit| meets(edit.from.0, edit.to.0 + 1))
                || file.atomic.iter().any(|step| meets(step.start, step.end))
        })
    }
}

/// Number of entries of an explanation in a menu.
const MOST_ENTRIES: usize = 3;
/// Characters of a headline that tells several explanations apart.
const SHORT: usize = 40;

/// The actions of some lines (from 0) of a current file: those of each explanation that marks one of them, then the fixes
/// of others that are about one.
pub fn actions(state: &ServerState, path: &Path, lines: &Range<usize>) -> Vec<OfferedAction> {
    let is_marked = |(root, explained): &(&Root, &Arc<ExplainedFact>)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        marks(explained, &located, path, lines)
    };
    let (marked, others): (Vec<_>, Vec<_>) = state.selected_first().partition(is_marked);
    let mut actions = Vec::new();
    for (root, explained) in &marked {
        let fixes = fixes(state, root, explained, path);
        let offers = offers(state, explained).into_iter();
        let offers = offers.chain([suppress(state, explained)]);
        let is_one_of_several = marked.len() > 1;
        let offers = offers.map(|offer| action(explained, offer, is_one_of_several));
        actions.extend(entries(state, explained, fixes, offers.collect()));
    }
    for (root, explained) in others {
        let mut fixes = fixes(state, root, explained, path);
        fixes.retain(|fix| fix.is_about(path, lines));
        actions.extend(entries(state, explained, fixes, Vec::new()));
    }
    without_repetition(actions)
}

/// The actions, less those that edit as another one of the same title does: two explanations of one bug may have one fix.
fn without_repetition(actions: Vec<OfferedAction>) -> Vec<OfferedAction> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut actions = actions;
    actions.retain(|action| {
        let edits = matches!(action.doing, Doing::Edits(_));
        !edits || known.insert(action.title.clone())
    });
    actions
}

/// The entries of an explanation in the menu: the best fix and a few commands; the rest is behind the last entry, if the
/// client can show it.
fn entries(
    state: &ServerState,
    explained: &ExplainedFact,
    mut fixes: Vec<OfferedAction>,
    offers: Vec<OfferedAction>,
) -> Vec<OfferedAction> {
    let is_short = fixes.len() + offers.len() <= MOST_ENTRIES;
    if is_short || !state.commands.contains(MORE) {
        fixes.extend(offers);
        return fixes;
    }
    let others = fixes.split_off(fixes.len().min(1));
    let mut entries = fixes;
    let mut rest = offers;
    let shown = rest.len().min(MOST_ENTRIES - 1 - entries.len());
    entries.extend(rest.drain(..shown));
    rest.splice(0..0, others);
    entries.push(OfferedAction {
        title: format!(
            "unsnarl: more ({})",
            shortened(&explained.explanation.headline)
        ),
        explanation: explained.explanation.id.clone(),
        doing: Doing::More(rest),
        preferred: false,
    });
    entries
}

/// The beginning of a headline.
fn shortened(headline: &str) -> String {
    match headline.char_indices().nth(SHORT) {
        None => headline.to_owned(),
        Some((end, _)) => format!("{}…", headline.get(..end).unwrap_or_default().trim_end()),
    }
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

/// The fixes of an explanation; those that cannot be made in the current source have a reason. They are for a menu in
/// the file `path`.
fn fixes(
    state: &ServerState,
    root: &Root,
    explained: &ExplainedFact,
    path: &Path,
) -> Vec<OfferedAction> {
    let fixes = explained.explanation.fixes.iter().enumerate();
    let mut actions: Vec<OfferedAction> = fixes
        .map(|(at, fix)| {
            let edits = edits::of_fix(state, root, explained, fix);
            OfferedAction {
                title: title(fix, elsewhere(edits.as_deref().unwrap_or_default(), path)),
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

/// The name of the file that the edits change, if it is another one.
fn elsewhere<'a>(edits: &'a [FileEdits], path: &Path) -> Option<&'a str> {
    let first = edits.first()?;
    let is_here = edits.iter().any(|file| file.path == path);
    first.path.file_name()?.to_str().filter(|_| !is_here)
}

/// The title of a fix, with the result of trying it in a word or two: the explanation has the whole of it.
fn title(fix: &Fix, file: Option<&str>) -> String {
    let file = file.map_or_else(String::new, |file| format!(" in {file}"));
    let tried = fix.tried.as_ref().map(|trial| (trial.verdict, trial.built));
    let result = match tried {
        None | Some((TrialVerdict::NotTried, _)) => "not tried",
        Some((TrialVerdict::Holds, true)) => "verified",
        Some((TrialVerdict::Holds, false)) => "tried, no failure",
        Some((TrialVerdict::DoesNotHold, _)) => "tried, fails",
    };
    format!("unsnarl: {} ({result}{file})", fix.title)
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
        true => format!(" ({})", shortened(&explained.explanation.headline)),
        false => String::new(),
    };
    OfferedAction {
        title: format!("unsnarl: {doing}{about}"),
        explanation: explained.explanation.id.clone(),
        doing: Doing::Command(offer),
        preferred: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fix_of_two_explanations_is_one_entry() {
        let offered = |title: &str, explanation: &str, doing: Doing| OfferedAction {
            title: title.to_owned(),
            explanation: explanation.to_owned(),
            doing,
            preferred: false,
        };
        let edits = || Doing::Edits(Vec::new());
        let more = || Doing::More(Vec::new());
        let all = vec![
            offered("keep `lock`", "a", edits()),
            offered("more", "a", more()),
            offered("keep `lock`", "b", edits()),
            offered("guard `n`", "b", edits()),
            offered("more", "b", more()),
        ];
        let left = without_repetition(all).into_iter();
        let left: Vec<(String, String)> = left.map(|one| (one.title, one.explanation)).collect();
        let expected = [
            ("keep `lock`", "a"),
            ("more", "a"),
            ("guard `n`", "b"),
            ("more", "b"),
        ];
        assert_eq!(
            left,
            expected.map(|(title, of)| (title.to_owned(), of.to_owned()))
        );
    }
}
