//! Whether this engine blames what a merged explanation blames. Nothing is executed for that.

use crate::load::Loaded;
use unsnarl_core::{Budget, Explanation, dsp::in_brief, findings::projection_agrees};
use unsnarl_trace::{Mode, Run, program};

/// Explanations that are asked about, and failing runs of each.
const EXPLANATIONS: usize = 4;
const RUNS: usize = 2;

/// Names the engine with those explanations that its projection agrees with. Needs the program model.
pub fn note_agreement(explanations: &mut [Explanation], loaded: &Loaded, budget: &Budget) {
    for explanation in explanations.iter_mut().take(EXPLANATIONS) {
        let names = explanation.runs.iter().take(RUNS);
        let runs = names.filter_map(|name| {
            let mut runs = loaded.runs.iter();
            runs.find(|(known, _)| known == name).map(|(_, run)| &**run)
        });
        let mut controlled = runs.filter(|run| run.meta.mode == Mode::Controlled);
        if controlled.any(|run| agrees(run, explanation, loaded, budget)) {
            let says = "turns these lines round in the nearest order that passes, as far as the program model tells";
            explanation.join("dsp", says.to_owned());
        }
    }
}

fn agrees(run: &Run, explanation: &Explanation, loaded: &Loaded, budget: &Budget) -> bool {
    // No model, no projection: nothing that a reader of an explanation would miss.
    let Ok(models) = program::load(&loaded.folder, &run.meta.build_id) else {
        return false;
    };
    in_brief(run, &models, budget).is_some_and(|dsp| projection_agrees(&dsp, explanation))
}
