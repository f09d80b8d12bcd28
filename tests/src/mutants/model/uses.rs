//! Purpose of a lock, as the sections under locks of its name show it.

use super::{BaseProgram, last_name};
use crate::mutants::syntax::behind;

impl BaseProgram<'_> {
    /// Returns whether sections of a lock with this name free memory.
    pub fn frees_under(&self, lock: &str) -> bool {
        const WORDS: [&str; 8] = [
            "free",
            "delete",
            "erase",
            "clear",
            "pop",
            "reset",
            "realloc",
            "push_back",
        ];
        self.mentioned_under(lock, &WORDS)
    }

    /// Returns whether sections of a lock with this name wait for conditions or signal them.
    pub fn signals_under(&self, lock: &str) -> bool {
        const WORDS: [&str; 6] = [
            "wait",
            "signal",
            "broadcast",
            "notify_one",
            "notify_all",
            "sem_post",
        ];
        self.mentioned_under(lock, &WORDS)
    }

    fn mentioned_under(&self, lock: &str, words: &[&str]) -> bool {
        let name = last_name(lock);
        let reached = self.sections.iter();
        let mut same = reached.filter(|one| last_name(&one.section.acquire.lock) == name);
        same.any(|one| {
            // What a section took out may be freed behind it.
            let next = one.section.release.map(behind);
            let next = next.and_then(|next| next.first().map(|node| node.byte_range()));
            let ranges = one.ranges.iter().cloned().chain(next);
            let mut texts = ranges.filter_map(|range| self.source.text.get(range));
            texts.any(|text| words.iter().any(|word| text.contains(word)))
        })
    }
}
