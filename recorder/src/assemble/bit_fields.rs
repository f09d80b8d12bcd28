//! Stores to bit-fields. A store to one reads the unit that it lies in and writes it back. clang reports both, gcc
//! the write only: the read is inserted here, with the known value of the unit.

use super::{
    places::MemoryRegionId,
    walk::{EventDraft, LogWalk},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{
    EventKind, SiteId,
    raw::{Record, RecordKind, flag},
};

/// Known accesses to units of bit-fields.
#[derive(Default)]
pub(super) struct BitFields {
    /// Draft of the last access by region, offset and size.
    last: FxHashMap<(MemoryRegionId, i64, u64), usize>,
    /// Units that a thread has read and not written since: address, size and site.
    read: FxHashMap<(u16, u64), (u64, SiteId)>,
    /// Places of writes before which a read was reported, in a run that leaves accesses out.
    told: FxHashSet<u64>,
}

impl LogWalk<'_> {
    /// Notes the access whose drafts begin at `first`; returns the number of drafts that were inserted before it.
    pub fn note_bit_field(&mut self, record: &Record, kind: RecordKind, first: usize) -> usize {
        let is_plain = matches!(kind, RecordKind::Read | RecordKind::Write);
        if !self.memory.regions.has_bit_fields {
            return 0;
        }
        let Some(draft) = self.drafts.get(first) else {
            return 0;
        };
        let site = self.drafts.origin(draft.origin).site;
        let is_whole = self.drafts.len() == first + 1;
        if !is_plain || !is_whole || !self.memory.regions.is_within_bits(draft.place, draft.size) {
            return 0;
        }
        let of = (record.thread, record.addr);
        let was_read = match kind {
            RecordKind::Read => self.bit_fields.read.insert(of, (draft.size, site)),
            _ => self.bit_fields.read.remove(&of),
        };
        let unit = (draft.place.region, draft.place.offset, draft.size);
        let before = self.bit_fields.last.get(&unit).copied();
        let line = |site: SiteId| self.sites.rows.get(site.index()).map(|row| row.line);
        let is_told = |(size, of)| size == draft.size && line(of) == line(site);
        // Of a repeated write the recorded part is the last one: what was read before it is not known.
        let is_last = record.flags & flag::LAST_WRITE != 0;
        let was_told = was_read.is_some_and(is_told);
        if was_told && self.leaves_out {
            self.bit_fields.told.insert(record.pc);
        }
        // The read before a write may be left out, too.
        let was_told = was_told || self.bit_fields.told.contains(&record.pc);
        let is_told = kind == RecordKind::Read || is_last || was_told;
        if !is_told {
            let known = before.and_then(|at| self.drafts.get(at));
            let read = EventDraft {
                kind: EventKind::Read,
                value: known.and_then(|known| known.value),
                ..draft
            };
            self.drafts.insert_before_last(&read);
        }
        let added = usize::from(!is_told);
        self.bit_fields.last.insert(unit, first + added);
        added
    }
}
