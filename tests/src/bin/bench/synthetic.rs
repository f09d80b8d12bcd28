//! Building blocks of synthetic runs.

use unsnarl_trace::{
    Event, EventKind, Events, LocationId, PointId, Run, SiteId, SiteRow, StackId, ThreadId,
};

/// A random generator with the same numbers everywhere (splitmix64).
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next number below `bound`; the smallest one when there is none.
    pub fn below<T>(&mut self, bound: T) -> T
    where
        T: TryInto<u64> + TryFrom<u64> + Default,
    {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = bound.try_into().unwrap_or(1).max(1);
        T::try_from((x ^ x >> 31) % bound).unwrap_or_default()
    }
}

/// An access of four bytes, or a step of synchronization.
pub fn event(thread: u16, kind: EventKind, location: u32, site: u32) -> Event {
    Event {
        seq: 0,
        thread: ThreadId(thread),
        kind,
        site: SiteId(site),
        location: LocationId(location),
        size: 4,
        flags: 0,
        value: None,
        old: None,
        stack: StackId(0),
        point: PointId(0),
    }
}

/// The run of these events, in this order. A site's number is its line; `function` names the function of a line.
pub fn from_rows(mut rows: Vec<Event>, function: impl Fn(u32) -> String) -> Run {
    for (seq, row) in rows.iter_mut().enumerate() {
        row.seq = seq as u64;
    }
    let sites = rows.iter().map(|row| row.site.0).max().unwrap_or(0);
    let locations = rows.iter().map(|row| row.location.0).max().unwrap_or(0);
    let site = |line| SiteRow {
        file: "bench.c".to_owned(),
        line,
        function: function(line),
        ..SiteRow::default()
    };
    let mut run = Run {
        locations: (0..=locations).map(|i| format!("v{i}")).collect(),
        events: Events::from_rows(&rows),
        ..Run::default()
    };
    run.meta.sites = (0..=sites).map(site).collect();
    run
}
