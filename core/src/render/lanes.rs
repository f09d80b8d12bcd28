//! Lanes of threads: a column for each thread of an explanation, in the order of the fork tree.

use crate::explanation::{Explanation, Step};

/// The threads that take a step or fail, each once, with their display name: `deposit (main.1)`.
pub fn lanes(explanation: &Explanation) -> Vec<(String, String)> {
    let mut threads: Vec<&str> = Vec::new();
    for step in &explanation.steps {
        if !threads.contains(&step.thread.as_str()) {
            threads.push(&step.thread);
        }
    }
    threads.sort_by_key(|name| path(name));
    let named = threads.into_iter();
    named
        .map(|thread| (thread.to_owned(), in_words(explanation, thread)))
        .collect()
}

/// Sort key of a thread's name, by which `main.10` comes after `main.2`.
pub(crate) fn path(name: &str) -> Vec<(u32, String)> {
    let parts = name.split('.');
    parts
        .map(|part| (part.parse().unwrap_or(0), part.to_owned()))
        .collect()
}

fn in_words(explanation: &Explanation, thread: &str) -> String {
    let ending = format!("({thread})");
    let mut sites = explanation.sites.iter();
    sites
        .find(|site| site.thread == thread || site.thread.ends_with(&ending))
        .map_or_else(|| thread.to_owned(), |site| site.thread.clone())
}

/// Returns whether the step is the interference of the other thread.
pub fn intrudes(step: &Step) -> bool {
    matches!(step.note.as_str(), "in between" | "too early")
}
