//! A run in memory: columns of small integers beside the tables they point into.

use crate::{
    meta::RunMeta,
    model::{Event, EventId, EventKind, LocationId, PointId, SiteId, StackId, ThreadId, Value},
};
use arrow_buffer::ScalarBuffer;

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    /// What it was a run of and how it ended.
    pub meta: RunMeta,
    /// Names of the locations; row 0 is empty and means "none".
    ///
    /// `count`, `acct[3].total`, `worker::calls` (static in a function), `heap(bank.c:22 by main.1 #0)+8`,
    /// `main.1:worker.buf[3]` (stack). The same name is the same location in every run of a corpus.
    pub locations: Vec<String>,
    /// The events.
    pub events: Events,
    /// What was wrong with the file, in words; the columns hold what could be read.
    pub damage: Vec<String>,
}

impl Run {
    /// Name of a location; empty for "none" and for ids that are not in the table.
    pub fn location(&self, id: LocationId) -> &str {
        self.locations.get(id.index()).map_or("", String::as_str)
    }
}

/// Event columns. All have the same length; row `i` is the `i`-th event of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct Events {
    pub(crate) seq: ScalarBuffer<u64>,
    pub(crate) thread: ScalarBuffer<u16>,
    pub(crate) kind: ScalarBuffer<u8>,
    pub(crate) site: ScalarBuffer<u32>,
    pub(crate) location: ScalarBuffer<u32>,
    pub(crate) size: ScalarBuffer<u32>,
    pub(crate) flags: ScalarBuffer<u16>,
    pub(crate) value: ScalarBuffer<u64>,
    pub(crate) old: ScalarBuffer<u64>,
    pub(crate) pointee: ScalarBuffer<u32>,
    pub(crate) stack: ScalarBuffer<u32>,
    pub(crate) point: ScalarBuffer<u32>,
    /// Bit 0: `value` holds bits; bit 1: `old` does.
    pub(crate) known: ScalarBuffer<u8>,
}

impl Default for Events {
    fn default() -> Self {
        Events::from_rows(&[])
    }
}

/// `value` holds plain bits.
pub(crate) const VALUE_KNOWN: u8 = 1;
/// `old` holds bits.
pub(crate) const OLD_KNOWN: u8 = 2;

impl Events {
    /// Columns from rows.
    pub fn from_rows(rows: &[Event]) -> Events {
        let bits = |value: Option<Value>| match value {
            Some(Value::Bits(bits)) => bits,
            _ => 0,
        };
        let pointee = |value: Option<Value>| match value {
            Some(Value::Address(location)) => location.0,
            _ => 0,
        };
        let known = |row: &Event| {
            (if matches!(row.value, Some(Value::Bits(_))) {
                VALUE_KNOWN
            } else {
                0
            }) | (if row.old.is_some() { OLD_KNOWN } else { 0 })
        };
        Events {
            seq: rows.iter().map(|row| row.seq).collect(),
            thread: rows.iter().map(|row| row.thread.0).collect(),
            kind: rows.iter().map(|row| row.kind as u8).collect(),
            site: rows.iter().map(|row| row.site.0).collect(),
            location: rows.iter().map(|row| row.location.0).collect(),
            size: rows.iter().map(|row| row.size).collect(),
            flags: rows.iter().map(|row| row.flags).collect(),
            value: rows.iter().map(|row| bits(row.value)).collect(),
            old: rows.iter().map(|row| row.old.unwrap_or(0)).collect(),
            pointee: rows.iter().map(|row| pointee(row.value)).collect(),
            stack: rows.iter().map(|row| row.stack.0).collect(),
            point: rows.iter().map(|row| row.point.0).collect(),
            known: rows.iter().map(known).collect(),
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// No events.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// One event as a row.
    pub fn get(&self, id: EventId) -> Option<Event> {
        let i = id.index();
        let known = *self.known.get(i)?;
        let pointee = *self.pointee.get(i)?;
        let value = if pointee != 0 {
            Some(Value::Address(LocationId(pointee)))
        } else if known & VALUE_KNOWN != 0 {
            Some(Value::Bits(*self.value.get(i)?))
        } else {
            None
        };
        Some(Event {
            seq: *self.seq.get(i)?,
            thread: ThreadId(*self.thread.get(i)?),
            kind: EventKind::from_u8(*self.kind.get(i)?)?,
            site: SiteId(*self.site.get(i)?),
            location: LocationId(*self.location.get(i)?),
            size: *self.size.get(i)?,
            flags: *self.flags.get(i)?,
            value,
            old: if known & OLD_KNOWN != 0 {
                Some(*self.old.get(i)?)
            } else {
                None
            },
            stack: StackId(*self.stack.get(i)?),
            point: PointId(*self.point.get(i)?),
        })
    }

    /// All events as rows with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, Event)> + '_ {
        (0..self.len() as u32).filter_map(|i| Some((EventId(i), self.get(EventId(i))?)))
    }

    /// The `thread` column: [`ThreadId`]s.
    pub fn threads(&self) -> &[u16] {
        &self.thread
    }

    /// The `kind` column: [`EventKind`] numbers.
    pub fn kinds(&self) -> &[u8] {
        &self.kind
    }

    /// The `site` column: [`SiteId`]s.
    pub fn sites(&self) -> &[u32] {
        &self.site
    }

    /// The `location` column: [`LocationId`]s.
    pub fn locations(&self) -> &[u32] {
        &self.location
    }

    /// The `value` column; 0 where none is known.
    pub fn values(&self) -> &[u64] {
        &self.value
    }

    /// The `seq` column.
    pub fn sequence(&self) -> &[u64] {
        &self.seq
    }

    /// The `size` column.
    pub fn sizes(&self) -> &[u32] {
        &self.size
    }

    /// The `flags` column: bits of [`flags`](crate::model::flags).
    pub fn flags(&self) -> &[u16] {
        &self.flags
    }

    /// The `pointee` column: [`LocationId`]s.
    pub fn pointees(&self) -> &[u32] {
        &self.pointee
    }

    /// The `stack` column: [`StackId`]s.
    pub fn stacks(&self) -> &[u32] {
        &self.stack
    }

    /// The `point` column: [`PointId`]s.
    pub fn points(&self) -> &[u32] {
        &self.point
    }
}
