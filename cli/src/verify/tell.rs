//! What is said of a fix that was tried.

use super::{build::Built, choose::Chosen, diff, explore::Explored};
use crate::message;

/// The fix.
pub fn title(chosen: &Chosen) {
    anstream::println!("fix: {}", chosen.fix.title);
}

/// What it costs and takes for granted.
pub fn cost(chosen: &Chosen) {
    anstream::println!("cost: {}", chosen.fix.cost);
    for assumed in &chosen.fix.assumes {
        anstream::println!("assumes: {assumed}");
    }
}

/// The fix as a constraint; whether it holds.
pub fn constrained(chosen: &Chosen, explored: &Explored) -> bool {
    if let Some(why) = &explored.first {
        anstream::println!("does not hold: a schedule that it allows fails all the same: {why}");
        return false;
    }
    if explored.allowed == 0 {
        anstream::println!("does not hold: it allows none of {}", bound(explored));
        return false;
    }
    let failing = match explored.failing {
        0 => "none fails".to_owned(),
        1 => "the one that fails is impossible with it".to_owned(),
        failing => format!("the {failing} that fail are impossible with it"),
    };
    anstream::println!(
        "holds on the program as it is: of {}, {failing}, and the {} that stay possible pass",
        bound(explored),
        explored.allowed
    );
    if let Some(line) = explored.waits {
        message::note(&format!(
            "line {line} waits for others while the lock is held: only building it tells whether they need that lock"
        ));
    }
    anstream::println!(
        "next: unsnarl verify {} --build \"make\" (the command that builds the program)",
        chosen.name()
    );
    true
}

/// The fix as an edit; whether it holds.
pub fn fixed(explored: &Explored, built: &Built) -> bool {
    let Some(why) = &explored.first else {
        anstream::println!("holds: no failure and no deadlock in {}", bound(explored));
        return true;
    };
    anstream::println!("does not hold: {why}");
    let folder = diff::relative(&built.root.display().to_string());
    match explored.file.as_ref().and_then(|file| file.file_stem()) {
        Some(run) => anstream::println!(
            "  the schedule: unsnarl replay {} (in {folder}, where the edited copy is)",
            run.to_string_lossy()
        ),
        None => anstream::println!("  the edited copy is in {folder}"),
    }
    false
}

/// `412 schedules with up to 2 preemptions (all there are)`
fn bound(explored: &Explored) -> String {
    let preemptions = match explored.bound {
        0 => "no preemption".to_owned(),
        1 => "up to 1 preemption".to_owned(),
        bound => format!("up to {bound} preemptions"),
    };
    let whole = match (explored.is_whole, &explored.progress) {
        (true, Some(progress))
            if progress.is_complete && progress.unlogged == 0 && progress.strayed == 0 =>
        {
            "more preemptions would show no other order"
        }
        (true, Some(progress)) if progress.unsearchable.is_none() => "all there are",
        _ => "the search stopped at its limit",
    };
    let random = match explored.random {
        0 => String::new(),
        random => format!(" and {random} random ones"),
    };
    let schedules = match explored.schedules {
        1 => "1 schedule".to_owned(),
        several => format!("{several} schedules"),
    };
    format!("{schedules} with {preemptions} ({whole}){random}")
}
