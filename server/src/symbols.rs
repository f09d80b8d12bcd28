//! Explanations by name, for those who look for one in the whole workspace.

use crate::{
    facts::ExplainedFact,
    host::ServerState,
    labels::label,
    marks::{FollowedFiles, LineSpot},
};
use unsnarl_core::{Place, Role};

/// An explanation and where a person would begin to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplanationSymbol {
    /// Its first line.
    pub name: String,
    /// The function that it is about, with the folder of the runs if there are several.
    pub function: String,
    /// A line that a person would change, else where it fails.
    pub spot: LineSpot,
}

/// Explanations of which the headline, the class or a function has the letters of the query in this order, whatever
/// their case; all for an empty one. Those that cannot be found in the source of today are left out.
pub fn symbols(state: &ServerState, query: &str) -> Vec<ExplanationSymbol> {
    let found = state.selected_first().filter_map(|(root, explained)| {
        let located = FollowedFiles::new(&state.sources, root, explained);
        let (place, spot) =
            begins(explained).find_map(|place| Some((place, located.spot(place)?)))?;
        let name = explained.explanation.headline.clone();
        has_letters(
            &format!("{} {name} {}", explained.explanation.id, place.function),
            query,
        )
        .then(|| ExplanationSymbol {
            name,
            function: match label(state, &root.path) {
                Some(label) => format!("{} ({label})", place.function),
                None => place.function.clone(),
            },
            spot,
        })
    });
    found.collect()
}

/// The places of an explanation that a person should see first, best first.
pub fn begins(explained: &ExplainedFact) -> impl Iterator<Item = &Place> {
    let explanation = &explained.explanation;
    let causes = explanation
        .sites
        .iter()
        .filter(|site| site.role == Role::Cause);
    causes
        .map(|site| &site.place)
        .chain(&explanation.failure.site)
}

/// Clients filter again: this only has to keep what they may want.
fn has_letters(text: &str, query: &str) -> bool {
    let mut letters = text.chars().flat_map(char::to_lowercase);
    let mut wanted = query
        .chars()
        .flat_map(char::to_lowercase)
        .filter(|letter| !letter.is_whitespace());
    wanted.all(|letter| letters.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::has_letters;

    #[test]
    fn letters_in_order() {
        assert!(has_letters(
            "another thread's update of `Balance` was lost",
            "bal lost"
        ));
        assert!(has_letters("anything", ""));
        assert!(!has_letters("balance", "eb"));
    }
}
