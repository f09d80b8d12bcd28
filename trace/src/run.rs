//! A run in memory: columns of small integers beside the tables they point into.

use crate::{
    index::{Id, IndexVec, broken_reference},
    location::Location,
    meta::RunMeta,
    model::{Event, EventId, EventKind, LocationId, PointId, SiteId, StackId, ThreadId, Value},
};
use arrow_buffer::ScalarBuffer;

/// One recorded run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Run {
    /// Program, input, origin and outcome of the run.
    pub meta: RunMeta,
    /// Names of the locations; row 0 is empty and means "none".
    ///
    /// `count`, `acct[3].total`, `worker::calls` (static in a function), `heap(bank.c:22 by main.1 #0)+8`,
    /// `main.1:worker.buf[3]` (stack). The same name is the same location in every run of a corpus.
    pub locations: IndexVec<LocationId, String>,
    /// The events.
    pub events: Events,
    /// Defects of the file, in words; the columns hold what could be read.
    pub damage: Vec<String>,
}

impl Run {
    /// Name of a location; empty for "none", also in a table without rows.
    #[track_caller]
    pub fn location(&self, id: LocationId) -> &str {
        match id {
            LocationId(0) if self.locations.is_empty() => "",
            id => &self.locations[id],
        }
    }

    /// A location, taken apart.
    #[track_caller]
    pub fn location_parts(&self, id: LocationId) -> Location<'_> {
        Location::of(self.location(id))
    }

    /// Name of the block or variable that contains a location.
    #[track_caller]
    pub fn block(&self, id: LocationId) -> &str {
        self.location_parts(id).block()
    }

    /// Name of a location for people.
    #[track_caller]
    pub fn variable(&self, id: LocationId) -> &str {
        Location::variable(self.location(id))
    }

    /// Number of steps of a schedule in which every access is one. A filter that lets others go on at some places only
    /// counts fewer (`meta.steps`), so that limits for schedules without it cannot rest on that alone.
    pub fn length(&self) -> u64 {
        self.meta.steps.max(self.events.len() as u64)
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
        let mut columns = EventColumns::with_capacity(rows.len());
        rows.iter().for_each(|row| columns.push(row));
        columns.finish()
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Returns whether the run has no events.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// One event as a row.
    #[inline]
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

    /// One event of these as a row. [`Events::get`] is for ids from elsewhere.
    #[inline]
    #[track_caller]
    pub fn event(&self, id: EventId) -> Event {
        match self.get(id) {
            Some(event) => event,
            None => broken_reference(EventId::NAME, id.index(), self.len()),
        }
    }

    /// The thread of an event.
    #[inline]
    #[track_caller]
    pub fn thread(&self, id: EventId) -> ThreadId {
        ThreadId(cell(&self.thread, id))
    }

    /// The kind of an event.
    #[inline]
    #[track_caller]
    pub fn kind(&self, id: EventId) -> EventKind {
        let number = cell(&self.kind, id);
        match EventKind::from_u8(number) {
            Some(kind) => kind,
            None => broken_reference("EventKind", number.into(), EventKind::ALL.len()),
        }
    }

    /// The site of an event.
    #[inline]
    #[track_caller]
    pub fn site(&self, id: EventId) -> SiteId {
        SiteId(cell(&self.site, id))
    }

    /// The location of an event.
    #[inline]
    #[track_caller]
    pub fn location(&self, id: EventId) -> LocationId {
        LocationId(cell(&self.location, id))
    }

    /// The bits that an event read or wrote; 0 where none are known.
    #[inline]
    #[track_caller]
    pub fn value_bits(&self, id: EventId) -> u64 {
        cell(&self.value, id)
    }

    /// All events as rows with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, Event)> + '_ {
        (0..self.len() as u32).filter_map(|i| Some((EventId(i), self.get(EventId(i))?)))
    }

    /// The events for whose ids `is_wanted` holds, as rows: the columns that it looks at are all that is read of the others.
    pub fn select(
        &self,
        is_wanted: impl Fn(EventId) -> bool,
    ) -> impl Iterator<Item = (EventId, Event)> + '_ {
        let ids: Vec<EventId> = (0..self.len() as u32)
            .map(EventId)
            .filter(|id| is_wanted(*id))
            .collect();
        ids.into_iter().filter_map(|id| Some((id, self.get(id)?)))
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

/// The part of an event in a column.
#[inline]
#[track_caller]
fn cell<T: Copy>(column: &[T], id: EventId) -> T {
    match column.get(id.index()) {
        Some(part) => *part,
        None => broken_reference(EventId::NAME, id.index(), column.len()),
    }
}

/// The values of an event as the columns hold them.
pub(crate) struct StoredValue {
    pub bits: u64,
    pub pointee: u32,
    pub old: u64,
    /// As [`Events`] has it.
    pub known: u8,
}

impl StoredValue {
    /// Those of `event`.
    #[inline(always)]
    pub(crate) fn of(event: &Event) -> StoredValue {
        let (bits, pointee, is_known) = match event.value {
            Some(Value::Bits(bits)) => (bits, 0, VALUE_KNOWN),
            Some(Value::Address(location)) => (0, location.0, 0),
            None => (0, 0, 0),
        };
        StoredValue {
            bits,
            pointee,
            old: event.old.unwrap_or(0),
            known: is_known | if event.old.is_some() { OLD_KNOWN } else { 0 },
        }
    }
}

/// Event columns that grow row by row: rows are larger than what a processor holds of them at once.
pub struct EventColumns {
    seq: Vec<u64>,
    thread: Vec<u16>,
    kind: Vec<u8>,
    site: Vec<u32>,
    location: Vec<u32>,
    size: Vec<u32>,
    flags: Vec<u16>,
    value: Vec<u64>,
    old: Vec<u64>,
    pointee: Vec<u32>,
    stack: Vec<u32>,
    point: Vec<u32>,
    known: Vec<u8>,
}

impl EventColumns {
    /// Empty columns with room for this many rows.
    pub fn with_capacity(rows: usize) -> EventColumns {
        EventColumns {
            seq: Vec::with_capacity(rows),
            thread: Vec::with_capacity(rows),
            kind: Vec::with_capacity(rows),
            site: Vec::with_capacity(rows),
            location: Vec::with_capacity(rows),
            size: Vec::with_capacity(rows),
            flags: Vec::with_capacity(rows),
            value: Vec::with_capacity(rows),
            old: Vec::with_capacity(rows),
            pointee: Vec::with_capacity(rows),
            stack: Vec::with_capacity(rows),
            point: Vec::with_capacity(rows),
            known: Vec::with_capacity(rows),
        }
    }

    /// Appends a row.
    #[inline(always)]
    pub fn push(&mut self, row: &Event) {
        let stored = StoredValue::of(row);
        self.seq.push(row.seq);
        self.thread.push(row.thread.0);
        self.kind.push(row.kind as u8);
        self.site.push(row.site.0);
        self.location.push(row.location.0);
        self.size.push(row.size);
        self.flags.push(row.flags);
        self.value.push(stored.bits);
        self.old.push(stored.old);
        self.pointee.push(stored.pointee);
        self.stack.push(row.stack.0);
        self.point.push(row.point.0);
        self.known.push(stored.known);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Sets the site of a row, if there is one with this number.
    pub fn set_site(&mut self, row: usize, site: SiteId) {
        if let Some(place) = self.site.get_mut(row) {
            *place = site.0;
        }
    }

    /// The `thread` column.
    pub fn threads(&self) -> &[u16] {
        &self.thread
    }

    /// The `kind` column.
    pub fn kinds(&self) -> &[u8] {
        &self.kind
    }

    /// The `site` column.
    pub fn sites(&self) -> &[u32] {
        &self.site
    }

    /// The `size` column.
    pub fn sizes(&self) -> &[u32] {
        &self.size
    }

    /// The `location` column.
    pub fn locations(&self) -> &[u32] {
        &self.location
    }

    /// The `seq` column.
    pub fn sequence(&self) -> &[u64] {
        &self.seq
    }

    /// The `stack` column.
    pub fn stacks(&self) -> &[u32] {
        &self.stack
    }

    /// The events in these columns.
    pub fn finish(self) -> Events {
        Events {
            seq: self.seq.into(),
            thread: self.thread.into(),
            kind: self.kind.into(),
            site: self.site.into(),
            location: self.location.into(),
            size: self.size.into(),
            flags: self.flags.into(),
            value: self.value.into(),
            old: self.old.into(),
            pointee: self.pointee.into(),
            stack: self.stack.into(),
            point: self.point.into(),
            known: self.known.into(),
        }
    }
}
