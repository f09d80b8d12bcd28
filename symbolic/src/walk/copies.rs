//! Calls that copy and fill memory, and accesses inside library functions.

use super::{
    callbacks::begins_again,
    calls::{Did, MadeCall},
    ends::NEAR_NULL,
    machine::{Due, PathMachine},
    thread::AccessChunk,
    value::{Scalar, Val},
    wide::is_wide,
};
use unsnarl_trace::{EventId, EventKind, ThreadId};

/// Mangled prefix of `std::string::compare`.
const STRING_COMPARE: &str = "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compare";

impl PathMachine<'_> {
    /// Models functions that copy, fill and compare memory.
    pub fn memory_call(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        match made.name {
            "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" | "mempcpy" => {
                self.copies(id, made, 2)
            }
            "memset" | "__memset_chk" => self.fills(id, made),
            "strcpy" | "stpcpy" | "strcat" | "strncpy" | "strncat" => self.copies_text(id, made),
            "strlen" | "strnlen" | "strcmp" | "strncmp" | "strcasecmp" | "memcmp" | "bcmp"
            | "strchr" | "strrchr" | "memchr" | "memrchr" | "rawmemchr" | "strstr" | "strpbrk"
            | "strspn" | "strcspn" => self.looks_at_text(id, made),
            name if name.starts_with(STRING_COMPARE) && name.ends_with("EPKc") => {
                self.compares_string(id, made)
            }
            _ => Ok(Did::Strange),
        }
    }

    /// The recorded number of an argument.
    pub fn known(&mut self, id: ThreadId, made: &MadeCall, row: usize) -> Result<u64, String> {
        let argument = made.argument(row).ok_or("a call without arguments")?;
        let bits = self.fixed(id, argument, || format!("an argument of {}", made.name));
        Ok(bits.ok_or("an argument is not known")? as u64)
    }

    /// Number of bytes that a call processes: its argument, or the bytes of its recorded events.
    fn length(&mut self, id: ThreadId, made: &MadeCall, row: usize) -> Result<u64, String> {
        let argument = made.argument(row).ok_or("a call without arguments")?;
        let argument = self.as_known(argument);
        if argument.bits.is_none()
            && let Some(bytes) = self.bytes_told(id)
        {
            self.learn(id, argument, bytes.into());
            return Ok(bytes);
        }
        self.known(id, made, row)
    }

    /// Number of bytes of the next access, which has several events.
    fn bytes_told(&self, id: ThreadId) -> Option<u64> {
        self.row_here(id)?;
        let thread = self.thread(id)?;
        let rows = thread.events.get(thread.used..)?.iter();
        let mut rows = rows.map_while(|event| self.run.events.get(*event));
        let first = rows.next().filter(|row| row.kind.is_access())?;
        let (mut bytes, mut last) = (u64::from(first.size), first.location);
        for row in rows {
            let is_same = (row.kind, row.point) == (first.kind, first.point);
            if !is_same || begins_again([first.location, last].into_iter(), row.location) {
                break;
            }
            bytes += u64::from(row.size);
            last = row.location;
        }
        Some(bytes)
    }

    pub fn place(&mut self, id: ThreadId, made: &MadeCall, row: usize) -> Result<u64, String> {
        let argument = made.argument(row).ok_or("a call without arguments")?;
        self.address(id, argument)
            .ok_or_else(|| "an address is not known".into())
    }

    /// The address of an argument; where it is unknown, that of the thread's next access of this kind.
    fn told_place(
        &mut self,
        id: ThreadId,
        made: &MadeCall,
        row: usize,
        kind: EventKind,
    ) -> Result<u64, String> {
        let argument = made.argument(row).ok_or("a call without arguments")?;
        let argument = self.as_known(argument);
        if argument.bits.is_none() && self.row_here(id).is_some() {
            let thread = self.thread(id).ok_or("no thread")?;
            let next = thread.events.get(thread.used..).unwrap_or_default().iter();
            let mut next = next.map_while(|event| self.run.events.get(*event));
            let told = next.find(|row| row.kind == kind || !row.kind.is_access());
            let told = told.filter(|row| row.kind == kind);
            if let Some(at) = told.and_then(|row| self.resolve(row.location)) {
                self.learn(id, argument, at.into());
                return Ok(at);
            }
        }
        self.place(id, made, row)
    }

    fn copies(&mut self, id: ThreadId, made: &MadeCall, length: usize) -> Result<Did, String> {
        let bytes = self.length(id, made, length)?;
        if bytes == 0 {
            let to = made.argument(0).filter(|_| made.width.is_some());
            return Ok(Did::Value(to.map(Val::from)));
        }
        let to = self.told_place(id, made, 0, EventKind::Write)?;
        let from = self.told_place(id, made, 1, EventKind::Read)?;
        if bytes > 0 && !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        self.copy(id, to, from, bytes)?;
        let result = if made.name == "mempcpy" {
            to + bytes
        } else {
            to
        };
        Ok(Did::Value(
            made.width
                .map(|_| Scalar::address(&mut self.exprs, result).into()),
        ))
    }

    /// `true` if the thread's next event, provided it belongs to this instruction, may be used now.
    pub fn is_its_turn(&self, id: ThreadId) -> bool {
        !matches!(self.due(id), Due::Later | Due::Over)
    }

    pub fn fails_inside(&mut self, id: ThreadId, made: &MadeCall) -> Result<Option<Did>, String> {
        match self.due(id) {
            Due::Now(_, row) if row.kind == EventKind::Failure => {
                self.use_event(id, row.site);
                let pointers = [made.argument(0), made.argument(1)];
                let bad = pointers
                    .into_iter()
                    .flatten()
                    .find(|pointer| pointer.bits.is_some_and(|bits| (bits as u64) < NEAR_NULL));
                match bad.or(made.argument(0)) {
                    Some(bad) => self.bad_address(id, bad),
                    None => self.fails_here(id),
                }
                Ok(Some(self.gone(id)))
            }
            _ => Ok(None),
        }
    }

    /// Copies bytes as the call's events record; bytes without an event are copied as well.
    fn copy(&mut self, id: ThreadId, to: u64, from: u64, bytes: u64) -> Result<(), String> {
        let reads = self.rows_here(id, EventKind::Read, bytes);
        let chunks = match reads.is_empty() {
            true => {
                let by = self.by(id, None);
                self.read((from, bytes), by, &|_, _, _, _| None)
            }
            false => self.read_rows(id, (from, bytes), &reads),
        };
        self.meets_freed(id, from);
        self.meets_freed(id, to);
        if is_wide(bytes) {
            let rows = self.rows_here(id, EventKind::Write, bytes);
            self.copy_wide(id, (to, from, bytes), &chunks, &rows);
        } else {
            self.write_here(id, to, bytes, &chunks);
        }
        Ok(())
    }

    pub fn rows_here(
        &mut self,
        id: ThreadId,
        kind: EventKind,
        bytes: u64,
    ) -> Vec<(EventId, unsnarl_trace::Event)> {
        match self.due(id) {
            Due::Now(..) | Due::Later => self.take_rows(id, kind, bytes),
            _ => Vec::new(),
        }
    }

    /// Writes chunks as the call's events record.
    pub fn write_here(&mut self, id: ThreadId, to: u64, bytes: u64, chunks: &[AccessChunk]) {
        let rows = self.rows_here(id, EventKind::Write, bytes);
        if rows.is_empty() {
            let by = self.by(id, None);
            return self.write((to, bytes), by, chunks);
        }
        let events: Vec<EventId> = rows.iter().map(|(event, _)| *event).collect();
        self.write_rows(id, (to, bytes), chunks, ((to, bytes), &events));
    }

    fn fills(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let bytes = self.length(id, made, 2)?;
        let to = self.place(id, made, 0)?;
        if bytes > 0 && !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        let byte = made
            .argument(1)
            .ok_or("a call without arguments")?
            .resized(&mut self.exprs, 8);
        self.meets_freed(id, to);
        if is_wide(bytes) {
            let rows = self.rows_here(id, EventKind::Write, bytes);
            self.fill_wide(id, (to, bytes), byte, &rows);
        } else {
            let chunks = self.repeated(byte, bytes);
            self.write_here(id, to, bytes, &chunks);
        }
        Ok(Did::Value(
            made.width
                .map(|_| Scalar::address(&mut self.exprs, to).into()),
        ))
    }

    fn repeated(&mut self, byte: Scalar, bytes: u64) -> Vec<AccessChunk> {
        let mut word = byte;
        for _ in 1..8 {
            word = word.above(&mut self.exprs, byte);
        }
        let mut chunks = Vec::new();
        let mut offset = 0;
        while offset < bytes {
            let size = (bytes - offset).min(8) as u8;
            let value = word.resized(&mut self.exprs, size * 8);
            chunks.push(AccessChunk {
                offset,
                size,
                value,
            });
            offset += u64::from(size);
        }
        chunks
    }

    /// The next event, if it is this instruction's.
    pub fn row_here(&self, id: ThreadId) -> Option<unsnarl_trace::Event> {
        match self.due(id) {
            Due::Now(_, row) => Some(row),
            Due::Later => self.peek(id).map(|(_, row)| row),
            _ => None,
        }
    }
}
