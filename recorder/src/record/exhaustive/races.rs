//! Dependent steps of different threads that could have come in the other order.
//!
//! All of them, not the last ones only: with a bound, the schedules from which the earlier ones would be
//! found may cost too much.

use super::path::{ExecutedPath, NoticedEffect, SyncOperation, bit, options};
use rustc_hash::FxHashMap;
use unsnarl_order::VectorClock;

/// The object of a deed: dependent deeds have it in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Thing {
    Memory(u64),
    Object(u64),
}

/// The kind of access to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Manner {
    Access { bytes: u8, writes: bool },
    Operation(SyncOperation),
}

impl Manner {
    pub(super) fn depends_on(self, earlier: Manner) -> bool {
        match (self, earlier) {
            (
                Manner::Access { bytes, writes },
                Manner::Access {
                    bytes: theirs,
                    writes: changed,
                },
            ) => bytes & theirs != 0 && (writes || changed),
            (Manner::Operation(this), Manner::Operation(that)) => !that.commutes(this),
            _ => false,
        }
    }
}

/// The object of a deed, and the kind of access.
pub(super) fn parts(deed: &NoticedEffect) -> Option<(Thing, Manner)> {
    match *deed {
        NoticedEffect::Memory {
            granule,
            bytes,
            writes,
        } => Some((Thing::Memory(granule), Manner::Access { bytes, writes })),
        NoticedEffect::Sync { object, operation } => {
            Some((Thing::Object(object), Manner::Operation(operation)))
        }
        NoticedEffect::Enables(_) | NoticedEffect::Follows(_) => None,
    }
}

/// An earlier deed on a thing.
#[derive(Clone, Copy)]
struct Past {
    step: usize,
    thread: u16,
    manner: Manner,
}

struct Races<'a> {
    path: &'a ExecutedPath,
    /// By thread: for each thread, the number of its steps that come before the next step of this one in every order.
    clocks: Vec<VectorClock>,
    /// Number of each step among those of its thread, from 1, and the clock after it.
    ordinals: Vec<u32>,
    after: Vec<VectorClock>,
    /// Steps of each thread.
    steps_of: Vec<Vec<usize>>,
    past: FxHashMap<Thing, Vec<Past>>,
    /// Length of the part of a thing's past that was already examined for the same manner and thread.
    seen: FxHashMap<(Thing, Manner, u16), usize>,
    /// Bit set of the threads to try before each step.
    found: Vec<u64>,
}

/// Every step before which another thread has to be tried, with that thread.
pub fn of(path: &ExecutedPath) -> impl Iterator<Item = (usize, u16)> {
    let count = path.steps.iter().map(|step| usize::from(step.thread) + 1);
    let count = count.max().unwrap_or(0);
    let mut races = Races {
        path,
        clocks: vec![VectorClock::of_width(count); count],
        ordinals: Vec::new(),
        steps_of: vec![Vec::new(); count],
        after: Vec::new(),
        past: FxHashMap::default(),
        seen: FxHashMap::default(),
        found: vec![0; path.steps.len()],
    };
    races.find();
    let found = races.found.into_iter().enumerate();
    found.flat_map(|(step, threads)| options(threads).map(move |thread| (step, thread)))
}

impl Races<'_> {
    fn find(&mut self) {
        for (index, step) in self.path.steps.iter().enumerate() {
            let ordinal = self.tick(step.thread);
            self.ordinals.push(ordinal);
            if let Some(steps) = self.steps_of.get_mut(usize::from(step.thread)) {
                steps.push(index);
            }
            self.go_through(index, step.thread, &step.deeds);
        }
        for (thread, deed) in &self.path.pending {
            let clock = self.clock(*thread);
            for race in self.look(*thread, &clock, deed) {
                self.note(race, *thread, &clock);
            }
        }
        self.look_at_end();
    }

    fn go_through(&mut self, index: usize, thread: u16, deeds: &[NoticedEffect]) {
        // What made the step possible comes before it in every order.
        for deed in deeds {
            if let NoticedEffect::Follows(other) = *deed {
                self.join(thread, &self.clock(other));
            }
        }
        // What only the step itself depends on could have come after it.
        let before = self.clock(thread);
        let looked = deeds.iter().map(|deed| self.look(thread, &before, deed));
        let races: Vec<Vec<usize>> = looked.collect();
        for deed in deeds {
            self.order(thread, deed);
        }
        let after = self.clock(thread);
        self.after.push(after.clone());
        for race in races.into_iter().flatten() {
            self.note(race, thread, &after);
        }
        for (thing, manner) in deeds.iter().filter_map(parts) {
            let past = self.past.entry(thing).or_default();
            past.push(Past {
                step: index,
                thread,
                manner,
            });
        }
    }

    /// Examines the end of the run. A failure keeps the others from going on: each of them could have come before. At
    /// an end of the process of its own accord all others have gone first already, in the run that met that choice.
    fn look_at_end(&mut self) {
        if self.path.ends_by_itself {
            return;
        }
        let last = self.path.steps.last();
        let choice = last.and_then(|last| self.path.choices.get(last.choice));
        if let (Some(choice), Some(found)) = (choice, self.found.last_mut()) {
            *found |= choice.candidates & !bit(choice.chosen);
        }
    }

    /// The thread's clock; empty for one that never ran.
    fn clock(&self, thread: u16) -> VectorClock {
        self.clocks
            .get(usize::from(thread))
            .cloned()
            .unwrap_or_default()
    }

    fn tick(&mut self, thread: u16) -> u32 {
        let Some(clock) = self.clocks.get_mut(usize::from(thread)) else {
            return 0;
        };
        let count = clock.get(thread) + 1;
        clock.raise(thread, count);
        count
    }

    /// Orders the steps in `clock` before all that the thread does from now on.
    fn join(&mut self, thread: u16, clock: &VectorClock) {
        if let Some(mine) = self.clocks.get_mut(usize::from(thread)) {
            mine.join(clock.entries());
        }
    }

    /// The part of the thing's past that the thread has not looked through in this manner.
    fn unseen(&self, thread: u16, deed: &NoticedEffect) -> impl Iterator<Item = Past> + '_ {
        let parts = parts(deed);
        let past = parts.and_then(|(thing, manner)| {
            let seen = self.seen.get(&(thing, manner, thread)).copied();
            self.past.get(&thing)?.get(seen.unwrap_or(0)..)
        });
        past.into_iter().flatten().copied().filter(move |past| {
            past.thread != thread && parts.is_some_and(|(_, manner)| manner.depends_on(past.manner))
        })
    }

    /// The steps that `deed` depends on and that are not ordered before it for another reason.
    fn look(&self, thread: u16, before: &VectorClock, deed: &NoticedEffect) -> Vec<usize> {
        let reversible = |past: &Past| {
            let ordinal = self.ordinals.get(past.step).copied().unwrap_or(0);
            ordinal > before.get(past.thread)
                && (!makes_way(past, deed) || self.could_go_on(thread, past.step))
        };
        let steps = self.unseen(thread, deed).filter(reversible);
        steps.map(|past| past.step).collect()
    }

    /// Notes the threads to try before `race`. To come before it, the thread needs the steps that its own step
    /// depends on since then (`after`), unless these depend on `race` themselves: the thread that begins them has to
    /// be tried.
    fn note(&mut self, race: usize, thread: u16, after: &VectorClock) {
        let theirs = self.path.steps.get(race).map(|step| step.thread);
        let threads = (0..).zip(&self.steps_of);
        let needed = threads.filter(|(other, steps)| {
            let first = first_after(steps, race);
            first.is_some_and(|(step, ordinal)| {
                *other != thread
                    && Some(*other) != theirs
                    && after.get(*other) >= ordinal
                    && self.is_free_since(race, step, *other)
            })
        });
        let mut begin = needed.fold(0, |bits, (other, _)| bits | bit(other));
        let own = self.steps_of.get(usize::from(thread));
        let own = own.and_then(|steps| first_after(steps, race));
        if own.is_none_or(|(step, _)| self.is_free_since(race, step, thread)) || begin == 0 {
            begin |= bit(thread);
        }
        if let Some(found) = self.found.get_mut(race) {
            *found |= begin;
        }
    }

    /// Returns whether `step` depends on no step of other threads from `race` on.
    fn is_free_since(&self, race: usize, step: usize, thread: u16) -> bool {
        let known = self.after.get(step).map_or(&[][..], VectorClock::entries);
        let others = known.iter().zip(&self.steps_of).enumerate();
        others
            .filter(|(other, _)| *other != usize::from(thread))
            .all(|(_, (known, steps))| *known as usize <= steps.partition_point(|it| *it < race))
    }

    /// Returns whether the thread could have gone on before this step.
    fn could_go_on(&self, thread: u16, step: usize) -> bool {
        let step = self.path.steps.get(step);
        let choice = step.and_then(|step| self.path.choices.get(step.choice));
        choice.is_some_and(|choice| choice.candidates & bit(thread) != 0)
    }

    /// Orders the steps that `deed` depends on before whatever the thread does from now on.
    fn order(&mut self, thread: u16, deed: &NoticedEffect) {
        if let NoticedEffect::Enables(other) = *deed {
            self.join(other, &self.clock(thread));
        }
        let steps: Vec<usize> = self.unseen(thread, deed).map(|past| past.step).collect();
        for step in steps {
            if let Some(theirs) = self.after.get(step).cloned() {
                self.join(thread, &theirs);
            }
        }
        if let Some((thing, manner)) = parts(deed) {
            let count = self.past.get(&thing).map_or(0, Vec::len);
            self.seen.insert((thing, manner, thread), count);
        }
    }
}

/// The first of these steps after `race`, with its number among them.
fn first_after(steps: &[usize], race: usize) -> Option<(usize, u32)> {
    let before = steps.partition_point(|step| *step <= race);
    let step = steps.get(before)?;
    Some((*step, before as u32 + 1))
}

/// Returns whether an earlier deed made way for this one: a lock that was given back is what the thread has waited
/// for. A thread that had not come to the lock yet could have met it while it was held all the same: then it waits,
/// and leaving it costs nothing.
fn makes_way(past: &Past, deed: &NoticedEffect) -> bool {
    match (past.manner, deed) {
        (Manner::Operation(earlier), NoticedEffect::Sync { operation, .. }) => {
            earlier.makes_way_for(*operation)
        }
        _ => false,
    }
}
