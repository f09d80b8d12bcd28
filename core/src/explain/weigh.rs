//! Reasons for the order of explanations.

use crate::{
    diagnosis::Ochiai,
    explanation::{BugKind, Certainty, Explanation},
    facts,
};
use std::{cmp::Reverse, collections::BTreeSet};

/// Number of runs of a likely explanation, per run of a surer one, from which on the surer one does not come
/// first.
const MANY: usize = 10;

/// Orders explanations after their execution, keeping the order of equals: surer ones come first, but not before a likely one
/// that explains many times as many runs, or more runs at all where they take a spurious wakeup, which are rare outside of
/// recorded runs; of equally sure ones those of more runs, and of those the ones with fewer variables.
pub fn in_order(explanations: &mut [Explanation]) {
    let likely = explanations
        .iter()
        .filter(|one| one.certainty == Certainty::Likely);
    let most = likely.map(explained).max().unwrap_or(0);
    explanations.sort_by_key(|one| {
        let times = if one.takes_spurious_wakeup { 1 } else { MANY };
        let is_rare = explained(one) < most && explained(one) * times <= most;
        let is_marginal = one.certainty == Certainty::Confirmed && is_rare;
        let (certainty, is_last) = match is_marginal {
            true => (Certainty::Likely, true),
            false => (one.certainty, false),
        };
        let fewest = variables(one);
        (certainty, is_last, Reverse(explained(one)), fewest)
    });
}

/// The number of variables whose accesses an explanation blames.
fn variables(explanation: &Explanation) -> usize {
    let blamed = explanation.blamed();
    let blamed = blamed.map(|mark| facts::own_part(&mark.location));
    blamed.collect::<BTreeSet<&str>>().len()
}

/// The number of runs that fail as an explanation says.
fn explained(explanation: &Explanation) -> usize {
    explanation.runs.len() - explanation.runs_without.len()
}

/// Sets [`Explanation::rank`] of explanations of one corpus that are ordered, best first: the difference that
/// decides between each and the next one.
pub fn rank_in_words(explanations: &mut [Explanation]) {
    let weights: Vec<Weight> = explanations.iter().map(Weight::of).collect();
    for (at, explanation) in explanations.iter_mut().enumerate() {
        let next = weights.get(at + 1);
        explanation.rank = weights
            .get(at)
            .map_or(String::new(), |own| own.in_words(at + 1, next));
    }
}

/// Criteria for the order of explanations, the most important first.
struct Weight {
    depends_on_order: bool,
    certainty: Certainty,
    runs: usize,
    /// Variables whose accesses are blamed.
    variables: usize,
    engines: usize,
    /// Numbers of different orders, where nothing was executed.
    ochiai: Option<Ochiai>,
}

impl Weight {
    fn of(explanation: &Explanation) -> Weight {
        Weight {
            depends_on_order: explanation.kind != BugKind::Sequential,
            certainty: explanation.certainty,
            runs: explained(explanation),
            variables: variables(explanation),
            engines: explanation.engines.len(),
            ochiai: explanation.ochiai,
        }
    }

    fn in_words(&self, place: usize, next: Option<&Weight>) -> String {
        let runs = match self.runs {
            1 => "1 failing run".to_owned(),
            runs => format!("{runs} failing runs"),
        };
        let engines = match self.engines {
            1 => "1 engine says".to_owned(),
            engines => format!("{engines} engines say"),
        };
        let sure = match self.certainty {
            Certainty::Confirmed => "run again with both orders",
            Certainty::Likely => "likely, not settled by running it",
            Certainty::Possible => "only possible",
        };
        let own = format!("Number {place}: {sure}; explains {runs}; {engines} so.");
        match next.map(|next| self.before(next)) {
            Some(reason) => format!("{own} It stands before the next one because {reason}."),
            None => own,
        }
    }

    fn before(&self, next: &Weight) -> String {
        let (runs, others) = (self.runs, next.runs);
        if self.depends_on_order != next.depends_on_order {
            "that one does not depend on the order".to_owned()
        } else if let (Some(own), Some(other)) = (self.ochiai, next.ochiai)
            && own.compare(other).is_gt()
        {
            let (own, other) = (own.value(), other.value());
            format!("more of the different orders that have it fail ({own:.2}, {other:.2})")
        } else if self.certainty < next.certainty {
            "it is surer".to_owned()
        } else if runs > others {
            format!("it explains more runs ({runs}, {others})")
        } else if self.variables < next.variables {
            let (own, others) = (self.variables, next.variables);
            format!("it takes fewer variables ({own}, {others})")
        } else if self.engines > next.engines {
            let (engines, others) = (self.engines, next.engines);
            format!("more engines say so ({engines}, {others})")
        } else {
            "it was told by more of the runs that were looked at, or with less that had to be assumed"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, explain, fixture::corpus};

    #[test]
    fn one_run_does_not_stand_before_many() {
        let of = |certainty: Certainty, runs: usize| {
            let mut one = told();
            one.certainty = certainty;
            one.runs = vec![String::new(); runs];
            one
        };
        let mut all = [
            of(Certainty::Likely, 50),
            of(Certainty::Confirmed, 1),
            of(Certainty::Confirmed, 9),
        ];
        in_order(&mut all);
        assert_eq!(all.clone().map(|one| one.runs.len()), [9, 50, 1]);
        rank_in_words(&mut all);
        let [_, many, _] = all.map(|one| one.rank);
        assert!(many.contains("it explains more runs (50, 1)"), "{many}");
    }

    #[test]
    fn a_spurious_wakeup_does_not_stand_before_what_fails_more_often() {
        let of = |certainty: Certainty, takes_spurious_wakeup: bool, runs: usize| {
            let mut one = told();
            (one.certainty, one.takes_spurious_wakeup) = (certainty, takes_spurious_wakeup);
            one.runs = vec![String::new(); runs];
            one
        };
        let first = |other: usize| {
            let mut both = [
                of(Certainty::Likely, false, other),
                of(Certainty::Confirmed, true, 2),
            ];
            in_order(&mut both);
            both[0].runs.len()
        };
        assert_eq!([first(1), first(2), first(5)], [2, 2, 5]);
    }

    /// Two stories of one bug that are as sure: the one of a single variable is the clearer one.
    #[test]
    fn fewer_variables_come_first() {
        let mut more = told();
        let mut mark = more
            .sites
            .iter()
            .find(|mark| mark.role.is_blamed())
            .unwrap()
            .clone();
        mark.location = "q".to_owned();
        more.sites.push(mark);
        let mut both = [more, told()];
        in_order(&mut both);
        assert_eq!([0, 1].map(|at| variables(&both[at])), [1, 2]);
        rank_in_words(&mut both);
        let reason = "because it takes fewer variables (1, 2).";
        assert!(both[0].rank.ends_with(reason), "{}", both[0].rank);
    }

    fn told() -> Explanation {
        let failing = "main fork main.1 @1\nmain.1 R p =0 @20 use\nmain.1 fails @20";
        let fine = "main fork main.1 @1\nmain W p =5 @7\nmain.1 R p =5 @20 use";
        let found = explain(&corpus(&[fine; 6], &[failing]), &Budget::unlimited());
        found.findings.first().unwrap().clone()
    }

    #[test]
    fn the_first_difference_decides() {
        let one = told();
        let mut more = one.clone();
        more.runs.push("another".to_owned());
        let mut sure = one.clone();
        sure.certainty = Certainty::Confirmed;
        let mut all = [sure, more, one];
        rank_in_words(&mut all);
        let ranks = all.map(|one| one.rank);
        assert!(ranks[0].ends_with("because it is surer."), "{}", ranks[0]);
        assert!(
            ranks[1].contains("it explains more runs (2, 1)"),
            "{}",
            ranks[1]
        );
        assert!(ranks[2].starts_with("Number 3: likely"), "{}", ranks[2]);
    }
}
