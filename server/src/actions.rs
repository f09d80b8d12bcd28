//! What can be done about an explanation, offered at the lines that it marks.

use crate::{
    facts::Explained,
    host::State,
    lens::{Offer, offers},
    marks::Located,
};
use std::{ops::Range, path::Path};

/// Something that a person may choose.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// What a person reads.
    pub title: String,
    /// Id of the explanation that it is about.
    pub explanation: String,
    /// What it does.
    pub offer: Offer,
}

/// The actions of some lines (from 0) of a current file: those of each explanation that marks one of them.
pub fn actions(state: &State, path: &Path, lines: &Range<usize>) -> Vec<Action> {
    let mut actions = Vec::new();
    for (root, explained) in state.selected_first() {
        let located = Located::new(&state.sources, root, explained);
        if marks(explained, &located, path, lines) {
            let offers = offers(state, explained).into_iter();
            actions.extend(offers.map(|offer| action(explained, offer)));
        }
    }
    actions
}

fn marks(explained: &Explained, located: &Located<'_>, path: &Path, lines: &Range<usize>) -> bool {
    let explanation = &explained.explanation;
    let sites = explanation.sites.iter().map(|site| &site.place);
    let mut spots = sites
        .chain(&explanation.failure.site)
        .filter_map(|place| located.spot(place));
    spots.any(|spot| spot.path == path && lines.contains(&spot.line))
}

/// Among the actions of other tools it has to say which explanation it is about.
fn action(explained: &Explained, offer: Offer) -> Action {
    let doing = offer.title.trim_start_matches("unsnarl: ");
    Action {
        title: format!("unsnarl: {doing} ({})", explained.explanation.headline),
        explanation: explained.explanation.id.clone(),
        offer,
    }
}
