//! The tables: by operator and half, and a line for each mutant of the development half while it is judged.

use super::is_held_back;
use crate::table::PrintedTable;
use unsnarl_e2e::mutants::{
    Half,
    judge::{Fate, Judgement},
    operators::OPERATORS,
};

/// One line about a mutant, as soon as it is judged; of those that are held back nothing is said.
pub fn tell(judgement: &Judgement) {
    if is_held_back(judgement) {
        return;
    }
    let said = match (&judgement.told, judgement.fate) {
        (_, Fate::Passes) => "passes".to_owned(),
        (_, Fate::DoesNotBuild) => "does not build".to_owned(),
        (None, _) => "NOT EXPLAINED".to_owned(),
        (Some(told), _) => format!(
            "{}, {}: {:?} {:?} {:?} {}",
            word(told.is_region_right, "region", "WRONG REGION"),
            word(told.is_class_right, "class", "WRONG CLASS"),
            told.class,
            told.certainty,
            told.lines,
            told.headline
        ),
    };
    let fix = match (&judgement.fix, &judgement.told) {
        (Some(fix), _) => {
            let holds = word(fix.holds, "holds", "DOES NOT HOLD");
            format!("; fix {holds}: {}", fix.title)
        }
        (None, Some(told)) => format!("; no fix: {}", told.not_fixed.join("; ")),
        (None, None) => String::new(),
    };
    let claims = match judgement.false_claims {
        0 => String::new(),
        number => format!("; {number} FALSE CLAIMS"),
    };
    eprintln!("{}: {said}{fix}{claims}", judgement.id);
}

fn word<'w>(is_right: bool, right: &'w str, wrong: &'w str) -> &'w str {
    if is_right { right } else { wrong }
}

/// The table: the development half by operator, and the totals of both halves.
pub fn table(judged: &[Judgement]) -> PrintedTable {
    let development: Vec<&Judgement> = judged.iter().filter(|one| !is_held_back(one)).collect();
    let held_back: Vec<&Judgement> = judged.iter().filter(|one| is_held_back(one)).collect();
    let mut table = PrintedTable::new(&[
        "operator",
        "mutants",
        "fail",
        "of these always",
        "explained",
        "right region",
        "right class",
        "both",
        "fix offered",
        "fix holds",
        "fix fails",
        "false claims",
    ]);
    for (operator, _) in OPERATORS {
        let of_operator = development.iter().filter(|one| one.operator == operator);
        let of_operator: Vec<&Judgement> = of_operator.copied().collect();
        if !of_operator.is_empty() {
            table.row(row(&format!("`{operator}`"), &of_operator));
        }
    }
    for (half, judged) in [
        (Half::Development, &development),
        (Half::HeldBack, &held_back),
    ] {
        table.row(row(&format!("all, {}", half.word()), judged));
        let by_schedule = judged.iter().filter(|one| one.fate != Fate::AlwaysFails);
        let by_schedule: Vec<&Judgement> = by_schedule.copied().collect();
        let name = format!("of these, those that also pass, {}", half.word());
        table.row(row(&name, &by_schedule));
    }
    table
}

fn row(name: &str, judged: &[&Judgement]) -> Vec<String> {
    let failing: Vec<&Judgement> = judged
        .iter()
        .copied()
        .filter(|one| one.fate.is_failure())
        .collect();
    let share = |is_so: fn(&Judgement) -> bool| {
        let count = failing.iter().filter(|one| is_so(one)).count();
        format!(
            "{count} ({} %)",
            (100 * count).checked_div(failing.len()).unwrap_or(0)
        )
    };
    let told = |is_so: fn(&Judgement) -> bool| failing.iter().filter(|one| is_so(one)).count();
    let claims: u32 = failing.iter().map(|one| one.claims).sum();
    let wrong: u32 = failing.iter().map(|one| one.false_claims).sum();
    vec![
        name.to_owned(),
        judged.len().to_string(),
        failing.len().to_string(),
        told(|one| one.fate == Fate::AlwaysFails).to_string(),
        share(|one| one.told.is_some()),
        share(right_region),
        share(right_class),
        share(|one| right_region(one) && right_class(one)),
        told(|one| one.fix.is_some()).to_string(),
        share(|one| one.fix.as_ref().is_some_and(|fix| fix.holds)),
        told(|one| one.fix.as_ref().is_some_and(|fix| !fix.holds)).to_string(),
        format!("{wrong} of {claims}"),
    ]
}

fn right_region(judgement: &Judgement) -> bool {
    judgement
        .told
        .as_ref()
        .is_some_and(|told| told.is_region_right)
}

fn right_class(judgement: &Judgement) -> bool {
    judgement
        .told
        .as_ref()
        .is_some_and(|told| told.is_class_right)
}
