//! Columns of events of which little is known: no values, sizes or stacks.

use crate::{
    model::EventKind,
    run::{Events, VALUE_KNOWN},
};

/// Columns that are being filled.
#[derive(Default)]
pub(super) struct Columns {
    threads: Vec<u16>,
    kinds: Vec<u8>,
    sites: Vec<u32>,
    locations: Vec<u32>,
    /// The few rows that have a value: forks and joins.
    values: Vec<(u32, u64)>,
}

impl Columns {
    /// Room for so many rows.
    pub(super) fn with_room(rows: usize) -> Columns {
        Columns {
            threads: Vec::with_capacity(rows),
            kinds: Vec::with_capacity(rows),
            sites: Vec::with_capacity(rows),
            locations: Vec::with_capacity(rows),
            values: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    #[inline]
    pub(super) fn push(&mut self, thread: u16, kind: EventKind, location: u32, site: u32) {
        self.threads.push(thread);
        self.kinds.push(kind as u8);
        self.sites.push(site);
        self.locations.push(location);
    }

    /// Gives the last row a value.
    pub(super) fn value(&mut self, value: u64) {
        if let Some(row) = self.len().checked_sub(1) {
            self.values.push((row as u32, value));
        }
    }

    pub(super) fn threads(&self) -> &[u16] {
        &self.threads
    }

    pub(super) fn kinds(&self) -> &[u8] {
        &self.kinds
    }

    /// Takes out the rows of these kinds.
    pub(super) fn without(self, kinds: &[EventKind]) -> Columns {
        let keeps: Vec<bool> = self
            .kinds
            .iter()
            .map(|&kind| kinds.iter().all(|&out| kind != out as u8))
            .collect();
        let mut next = 0;
        let mut new_row = |&keep: &bool| {
            let row = next;
            next += u32::from(keep);
            row
        };
        let new_rows: Vec<u32> = keeps.iter().map(&mut new_row).collect();
        let moved = |(row, value): (u32, u64)| {
            let kept = keeps.get(row as usize) == Some(&true);
            let row = new_rows.get(row as usize).copied()?;
            kept.then_some((row, value))
        };
        Columns {
            threads: kept(self.threads, &keeps),
            kinds: kept(self.kinds, &keeps),
            sites: kept(self.sites, &keeps),
            locations: kept(self.locations, &keeps),
            values: self.values.into_iter().filter_map(moved).collect(),
        }
    }

    /// The columns of a run; what is not known is empty.
    pub(super) fn finish(self) -> Events {
        let rows = self.kinds.len();
        let mut known = vec![0u8; rows];
        let mut values = vec![0u64; rows];
        for (row, value) in self.values {
            if let (Some(known), Some(slot)) =
                (known.get_mut(row as usize), values.get_mut(row as usize))
            {
                *known = VALUE_KNOWN;
                *slot = value;
            }
        }
        Events {
            seq: (0..rows as u64).collect::<Vec<_>>().into(),
            thread: self.threads.into(),
            kind: self.kinds.into(),
            site: self.sites.into(),
            location: self.locations.into(),
            size: vec![0; rows].into(),
            flags: vec![0; rows].into(),
            value: values.into(),
            old: vec![0; rows].into(),
            pointee: vec![0; rows].into(),
            stack: vec![0; rows].into(),
            point: vec![0; rows].into(),
            known: known.into(),
        }
    }
}

fn kept<T>(column: Vec<T>, keeps: &[bool]) -> Vec<T> {
    let rows = column.into_iter().zip(keeps);
    rows.filter(|(_, keep)| **keep)
        .map(|(row, _)| row)
        .collect()
}

/// The most rows that ids have numbers for.
pub(super) const MOST_ROWS: usize = u32::MAX as usize;
