//! Vector clocks: for each thread, the number of its steps that are known.

/// A vector clock: an entry for each thread; missing entries are 0.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    /// The clock that knows nothing, with room for so many threads.
    pub fn of_width(threads: usize) -> VectorClock {
        VectorClock(vec![0; threads])
    }

    /// The entries.
    pub fn entries(&self) -> &[u32] {
        &self.0
    }

    /// The thread's entry.
    pub fn get(&self, thread: u16) -> u32 {
        entry(&self.0, thread)
    }

    /// Raises an entry; returns whether it rose.
    pub fn raise(&mut self, thread: u16, upto: u32) -> bool {
        let at = usize::from(thread);
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        let mine = self.0.get_mut(at).filter(|mine| **mine < upto);
        mine.map(|mine| *mine = upto).is_some()
    }

    /// Raises every entry to the other clock's; returns whether one rose.
    pub fn join(&mut self, other: &[u32]) -> bool {
        let mut rose = false;
        self.learn(other, |_, _| rose = true);
        rose
    }

    /// Raises every entry to the other clock's and calls back for each that rose: its thread and new value.
    pub fn learn(&mut self, other: &[u32], mut rose: impl FnMut(u16, u32)) {
        if self.0.len() < other.len() {
            self.0.resize(other.len(), 0);
        }
        for (thread, (mine, &theirs)) in self.0.iter_mut().zip(other).enumerate() {
            if theirs > *mine {
                *mine = theirs;
                rose(thread as u16, theirs);
            }
        }
    }

    /// Returns whether the clock never learned anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// The thread's entry of a clock.
pub fn entry(clock: &[u32], thread: u16) -> u32 {
    clock.get(usize::from(thread)).copied().unwrap_or(0)
}

/// ClockTable of one width that are kept together, by number.
#[derive(Clone, Default, Debug)]
pub struct ClockTable {
    width: usize,
    entries: Vec<u32>,
}

impl ClockTable {
    /// As many clocks that know nothing.
    pub fn new(width: usize, count: usize) -> ClockTable {
        ClockTable {
            width,
            entries: vec![0; width * count],
        }
    }

    /// Number of entries of each clock.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The clock with this number.
    pub fn get(&self, number: u32) -> &[u32] {
        let start = number as usize * self.width;
        let clock = self.entries.get(start..start + self.width);
        clock.unwrap_or(&[])
    }

    /// One entry of a clock.
    pub fn entry(&self, number: u32, thread: usize) -> u32 {
        let at = number as usize * self.width + thread;
        self.entries.get(at).copied().unwrap_or(0)
    }

    /// Sets one entry of a clock.
    pub fn set(&mut self, number: u32, thread: usize, upto: u32) {
        let at = number as usize * self.width + thread;
        if let Some(entry) = self.entries.get_mut(at) {
            *entry = upto;
        }
    }

    /// Raises every entry of one clock to another's.
    pub fn join(&mut self, into: u32, from: u32) {
        let (into, from) = (into as usize * self.width, from as usize * self.width);
        for at in 0..self.width {
            let theirs = self.entries.get(from + at).copied().unwrap_or(0);
            if let Some(mine) = self.entries.get_mut(into + at) {
                *mine = (*mine).max(theirs);
            }
        }
    }

    /// Adds a clock and returns its number.
    pub fn push(&mut self, clock: &[u32]) -> u32 {
        let number = self.entries.len() / self.width.max(1);
        self.entries.extend_from_slice(clock);
        number as u32
    }

    /// Replaces a clock.
    pub fn replace(&mut self, number: u32, clock: &[u32]) {
        let start = number as usize * self.width;
        if let Some(place) = self.entries.get_mut(start..start + self.width) {
            place.copy_from_slice(clock);
        }
    }
}
