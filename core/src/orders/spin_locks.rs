//! Locks of the program's own: words that a thread sets by an atomic update, that others ask for again and again meanwhile,
//! and that the same thread sets back.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{
    Event, EventId, EventKind, LocationId, Run, ThreadId, Value, kinds::EventRole, model::flags,
};

/// Use of a word so far.
#[derive(Default)]
struct WordUse {
    /// The value of the free word, once it was taken.
    free: Option<u64>,
    holder: Option<ThreadId>,
    /// It was given back.
    is_given_back: bool,
    /// It was used as no lock is.
    otherwise: bool,
}

/// The words (locations) that this run uses as locks. Each is taken by an update while it is free, by one thread at a time,
/// and given back by a store of the former value by the thread that took it. Whoever finds it taken, or looks at it, asks
/// again before it changes anything else: it goes on by nothing that the word has told. Linear in the run.
pub(super) fn spin_locks(run: &Run) -> FxHashSet<u32> {
    let updated = updated(run);
    if updated.is_empty() {
        return updated;
    }
    let mut pass = WordPass {
        words: FxHashMap::default(),
        asks: FxHashMap::default(),
    };
    let (kinds, locations) = (run.events.kinds(), run.events.locations());
    for (row, (kind, location)) in kinds.iter().zip(locations).enumerate() {
        let is_of_word = *kind <= EventKind::Rmw as u8 && updated.contains(location);
        if is_of_word || !pass.asks.is_empty() {
            let event = run.events.event(EventId(row as u32));
            pass.go_on(&event);
            if is_of_word {
                pass.step(&event);
            }
        }
    }
    let words = pass.words.into_iter();
    let locks = words.filter(|(_, word)| word.is_given_back && !word.otherwise);
    locks.map(|(word, _)| word.0).collect()
}

/// Locations that are updated atomically.
fn updated(run: &Run) -> FxHashSet<u32> {
    let (kinds, locations) = (run.events.kinds(), run.events.locations());
    let rows = kinds.iter().zip(locations);
    let updates = rows.filter(|(kind, location)| **kind == EventKind::Rmw as u8 && **location != 0);
    updates.map(|(_, location)| *location).collect()
}

struct WordPass {
    words: FxHashMap<LocationId, WordUse>,
    /// The word that a thread has asked for in vain.
    asks: FxHashMap<ThreadId, LocationId>,
}

impl WordPass {
    /// Notes a thread that goes on without the word for which it has asked. What it keeps on its own stack is no matter: the
    /// operands of an atomic operation may lie there, and the time to wait.
    fn go_on(&mut self, event: &Event) {
        let is_own = event.flags & flags::OWN_STACK != 0;
        let is_idle = match event.kind.role() {
            EventRole::Access => is_own || !event.kind.writes(),
            EventRole::Fence | EventRole::GiveWay => true,
            EventRole::Local => event.kind != EventKind::Failure,
            _ => false,
        };
        let asks = self.asks.get(&event.thread).copied();
        if let Some(word) = asks.filter(|word| !is_idle && *word != event.location) {
            self.asks.remove(&event.thread);
            self.words.entry(word).or_default().otherwise = true;
        }
    }

    fn step(&mut self, event: &Event) {
        let word = self.words.entry(event.location).or_default();
        if !event.kind.writes() || event.is_update_in_vain() {
            if let Some(other) = self.asks.insert(event.thread, event.location)
                && other != event.location
            {
                self.words.entry(other).or_default().otherwise = true;
            }
            return;
        }
        // A thread that asks for what it holds waits for ever, or it is no lock.
        let asked = self.asks.remove(&event.thread) == Some(event.location);
        word.otherwise |= asked && word.holder == Some(event.thread);
        match (event.kind, event.value) {
            (EventKind::Rmw, _) => word.take(event.thread, event.old),
            (_, Some(Value::Bits(bits))) => word.store(event.thread, Some(bits)),
            _ => word.store(event.thread, None),
        }
    }
}

impl WordUse {
    fn take(&mut self, thread: ThreadId, old: Option<u64>) {
        let is_free = self.holder.is_none() && self.free.is_none_or(|free| old == Some(free));
        self.otherwise |= !is_free || old.is_none();
        self.free = old;
        self.holder = Some(thread);
    }

    fn store(&mut self, thread: ThreadId, value: Option<u64>) {
        let is_first = self.free.is_none();
        let gives_back = self.holder == Some(thread) && value.is_some() && value == self.free;
        self.otherwise |= !is_first && !gives_back;
        self.is_given_back |= gives_back;
        self.holder = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    /// Names of the words that are locks.
    fn locks(steps: &str) -> Vec<String> {
        let forks = "main fork main.1 @1 main\nmain fork main.2 @2 main\n";
        let run = run(&format!("{forks}{steps}"));
        let mut names: Vec<String> = spin_locks(&run)
            .into_iter()
            .map(|word| run.location(LocationId(word)).to_owned())
            .collect();
        names.sort();
        names
    }

    const ONE: &str = "
        main.1 rmw word 0->1 @10 take
        main.1 W data =5 @20 first";

    const OTHER: &str = "
        main.1 atomic-write word =0 @12 give
        main.2 rmw word 0->1 @10 take
        main.2 atomic-write word =0 @12 give
        main.2 end @30 second";

    #[test]
    fn who_finds_it_taken_asks_again() {
        let told = |between: &str| locks(&format!("{ONE}\n{between}\n{OTHER}"));
        assert_eq!(told(""), ["word"]);
        assert_eq!(told("main.2 rmw word 1->1 @10 take"), ["word"]);
        let operands = "main.2 rmw word 1->1 @10 take\nmain.2 W wanted =1 own-stack @10 take";
        assert_eq!(told(operands), ["word"]);
        let tests_first = "main.2 atomic-read word =1 @9 take\nmain.2 R turns =3 @11 take";
        assert_eq!(told(tests_first), ["word"]);
    }

    #[test]
    fn who_goes_on_without_it_has_looked_at_data() {
        let told = |between: &str| locks(&format!("{ONE}\n{between}\n{OTHER}"));
        let other = "main.2 rmw word 1->1 @10 take\nmain.2 W skipped =1 @40 second";
        assert!(told(other).is_empty(), "it did something else");
        let last = format!("{ONE}\n{OTHER}\nmain rmw word 0->1 @10 take");
        let ends = "main.1 rmw word 1->1 @50 first\nmain.1 end @51 first";
        assert!(
            locks(&format!("{last}\n{ends}")).is_empty(),
            "it never got it"
        );
    }

    #[test]
    fn who_asks_for_its_own_lock_does_so_for_ever() {
        let taken = format!("{ONE}\n{OTHER}\nmain rmw word 0->1 @10 take\n");
        let asks = "main rmw word 1->1 @10 take\n".repeat(3);
        assert_eq!(locks(&format!("{taken}{asks}")), ["word"]);
        let goes_on = "main atomic-write word =0 @12 give";
        assert!(locks(&format!("{taken}{asks}{goes_on}")).is_empty());
    }

    #[test]
    fn what_is_not_taken_and_given_back_in_turn_is_no_lock() {
        assert!(locks(ONE).is_empty(), "never given back");
        let by_other = "main.2 atomic-write word =0 @12 give";
        assert!(locks(&format!("{ONE}\n{by_other}")).is_empty());
        let counted = "main.2 rmw word 1->2 @10 take";
        assert!(locks(&format!("{ONE}\n{counted}\n{OTHER}")).is_empty());
        let own_look = "main.1 atomic-read word =1 @21 first";
        assert!(locks(&format!("{ONE}\n{own_look}\n{OTHER}")).is_empty());
    }
}
