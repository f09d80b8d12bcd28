//! Synthetic inputs for mining: traces as threads with critical sections make them, and plain sequences.

use crate::synthetic::SplitMix;
use unsnarl_core::{
    mining::{EventIdentity, MiningInput, Trace},
    pairs::AccessClass,
};
use unsnarl_trace::EventId;

/// Places at which threads are interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// Between critical sections.
    BetweenSections,
    /// Anywhere.
    Anywhere,
}

/// Traces of two threads that pass through the same sections round after round. Sections 0 and 1 were
/// meant as one: a trace fails when the other thread runs its section 1 in between.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Failing traces.
    pub failing: usize,
    /// Passing traces.
    pub passing: usize,
    /// Events of a trace.
    pub length: usize,
    /// Different sections.
    pub sections: usize,
    /// Events of a section.
    pub events: usize,
    /// Context switches of a trace.
    pub switches: usize,
    /// Places of the switches.
    pub interrupted: Interrupted,
}

/// A trace and whether it fails.
pub type Labelled = (Trace, bool);

impl Shape {
    /// The traces, the same in every run of the benchmark.
    pub fn traces(&self) -> Vec<Labelled> {
        let kinds = self.kinds();
        let (mut failing, mut passing) = (0, 0);
        let mut random = SplitMix(7);
        let mut traces = Vec::new();
        while failing < self.failing || passing < self.passing {
            let fails = failing < self.failing && (passing == self.passing || random.below(2) == 0);
            let events = self.schedule(&mut random, fails);
            traces.push((compact(&events, &kinds), fails));
            *if fails { &mut failing } else { &mut passing } += 1;
        }
        traces
    }

    fn of_thread(&self) -> usize {
        self.length / 2
    }

    /// All events: thread, section, place in the section.
    fn kinds(&self) -> Vec<EventIdentity> {
        let per_thread = self.sections * self.events;
        let kind = |id: usize| {
            let (thread, place) = (id / per_thread, id % per_thread);
            EventIdentity {
                key: id as u64,
                thread: thread as u64,
                location: (place / 2) as u64,
                line: place as u64,
                access: match place % 2 {
                    0 => AccessClass::Read,
                    _ => AccessClass::Write,
                },
                first: EventId(0),
            }
        };
        (0..2 * per_thread).map(kind).collect()
    }

    /// Cuts one thread's work into turns and deals them out. A trace fails by cuts at the end of section 0.
    fn schedule(&self, random: &mut SplitMix, fails: bool) -> Vec<usize> {
        let unit = match self.interrupted {
            Interrupted::BetweenSections => self.events,
            Interrupted::Anywhere => 1,
        };
        let round = self.sections * self.events;
        let atomic = |at: usize| (1..=self.events).contains(&(at % round));
        let mut cuts = [Vec::new(), Vec::new()];
        for n in 0..self.switches {
            let at = random.below(self.of_thread() / unit) * unit;
            let [first, second] = &mut cuts;
            if !atomic(at) {
                if n % 2 == 0 { first } else { second }.push(at);
            }
        }
        let middle = self.of_thread() / round / 2 * round;
        let from = if fails { self.events } else { 0 };
        cuts[0].push(middle + from);
        cuts[1].extend([middle, middle + 2 * self.events]);
        self.deal(cuts)
    }

    fn deal(&self, mut cuts: [Vec<usize>; 2]) -> Vec<usize> {
        let per_thread = self.sections * self.events;
        // Both threads have reached the middle round before the first is interrupted there.
        let middle = cuts[1].iter().rev().nth(1).copied().unwrap_or(0);
        let last = cuts[0].last().copied().unwrap_or(0);
        let mut events = Vec::with_capacity(self.length);
        // How far each thread is.
        let (mut first, mut second) = (0, 0);
        let mut turn = |thread: usize, to: usize, at: &mut usize| {
            events.extend((*at..to).map(|i| thread * per_thread + i % per_thread));
            *at = (*at).max(to);
        };
        let mut wild: Vec<usize> = cuts[0]
            .iter()
            .copied()
            .filter(|cut| *cut < middle)
            .collect();
        wild.sort_unstable();
        cuts[1].sort_unstable();
        let mut other = cuts[1].iter().copied().filter(|cut| *cut < middle);
        for cut in wild {
            turn(0, cut, &mut first);
            if let Some(cut) = other.next() {
                turn(1, cut, &mut second);
            }
        }
        turn(1, middle, &mut second);
        turn(0, last, &mut first);
        turn(1, self.of_thread(), &mut second);
        turn(0, self.of_thread(), &mut first);
        events
    }
}

/// The trace with only the kinds that occur in it.
fn compact(events: &[usize], kinds: &[EventIdentity]) -> Trace {
    let mut numbers = vec![None; kinds.len()];
    let mut trace = Trace::default();
    for &event in events {
        let Some(slot) = numbers.get_mut(event) else {
            continue;
        };
        let id = *slot.get_or_insert_with(|| {
            trace.kinds.extend(kinds.get(event).copied());
            trace.kinds.len() as u32 - 1
        });
        trace.events.push(id);
    }
    trace
}

/// The traces in the engine's form.
pub fn inputs(traces: &[Labelled]) -> Vec<MiningInput<'_>> {
    traces
        .iter()
        .map(|(trace, failing)| MiningInput {
            trace,
            failing: *failing,
        })
        .collect()
}

/// Similar sequences: one template, of which each leaves out and exchanges some items.
pub struct Alike {
    /// Number of sequences.
    pub count: usize,
    /// Length of the template.
    pub template: usize,
    /// Different items.
    pub items: usize,
    /// Items left out, in percent.
    pub dropped: usize,
    /// Exchanges of items that are near each other, in percent of the length.
    pub exchanged: usize,
}

impl Alike {
    /// The sequences, the same in every run of the benchmark.
    pub fn sequences(&self) -> Vec<Vec<u32>> {
        let mut random = SplitMix(11);
        let item = |_| random.below(self.items) as u32;
        let template: Vec<u32> = (0..self.template).map(item).collect();
        (0..self.count)
            .map(|_| self.one(&template, &mut random))
            .collect()
    }

    fn one(&self, template: &[u32], random: &mut SplitMix) -> Vec<u32> {
        let mut items: Vec<u32> = template.to_vec();
        items.retain(|_| random.below(100) >= self.dropped);
        for _ in 0..items.len() * self.exchanged / 100 {
            let at = random.below(items.len());
            let other = (at + 1 + random.below(6)).min(items.len() - 1);
            items.swap(at, other);
        }
        items
    }
}
