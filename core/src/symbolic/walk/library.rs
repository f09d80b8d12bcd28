//! Functions of libraries that programs often call: memory, strings, the heap, ends.

use super::{
    callbacks::begins_again,
    calls::{Did, Made},
    machine::{Due, Machine},
    thread::{Chunk, Todo},
    value::{Scalar, Val},
};
use crate::symbolic::trace::{Bug, StepId};
use unsnarl_trace::{EventId, EventKind, ThreadId};

/// Longest text that is looked at.
const LONGEST_TEXT: u64 = 1 << 16;
/// How the linker's names of `std::string::compare` begin.
const STRING_COMPARE: &str = "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compare";
/// Longest copy.
const LONGEST_COPY: u64 = 1 << 24;
/// Below this no object is: an address is null plus a member's offset.
const NEAR_NULL: u64 = 1 << 16;

impl Machine<'_> {
    /// Functions that make and free blocks of the heap.
    pub fn heap_call(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        let name = made.name;
        let is_new = name.starts_with("_Znw") || name.starts_with("_Zna");
        let makes = is_new
            || matches!(
                name,
                "malloc"
                    | "calloc"
                    | "realloc"
                    | "reallocarray"
                    | "aligned_alloc"
                    | "memalign"
                    | "valloc"
                    | "strdup"
                    | "strndup"
            );
        let is_delete = name.starts_with("_Zdl") || name.starts_with("_Zda");
        if makes {
            return self.makes_block(id, made);
        }
        if name != "free" && name != "cfree" && !is_delete {
            return Ok(Did::Strange);
        }
        let pointer = made.argument(0).ok_or("a call without arguments")?;
        if pointer.bits == Some(0) {
            self.fixed(id, pointer, || "what is freed".into());
            return Ok(Did::Value(None));
        }
        if self.paths.is_some() && matches!(self.due(id), Due::Elsewhere | Due::Over) {
            return Ok(Did::Value(None));
        }
        let row = match self.due(id) {
            Due::Later | Due::Over => return Ok(Did::Wait),
            Due::Elsewhere => return Ok(Did::Strange),
            Due::Now(_, row) => row,
        };
        let at = self.address(id, pointer).ok_or("an address is not known")?;
        if row.kind == EventKind::Failure {
            self.use_event(id, row.site);
            self.freed_twice(id, at);
            return Ok(self.gone(id));
        }
        self.places.insert(row.location, at);
        self.raw(id);
        match row.kind {
            EventKind::Free => Ok(Did::Value(None)),
            _ => Ok(Did::Wait),
        }
    }

    fn makes_block(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        let from = matches!(made.name, "realloc" | "reallocarray" | "strdup" | "strndup")
            .then(|| made.argument(0))
            .flatten();
        let mut base = None;
        if self.paths.is_some() && matches!(self.due(id), Due::Elsewhere) {
            return self.block_of_path(id, made);
        }
        loop {
            let row = match self.due(id) {
                Due::Now(_, row) => row,
                // Its own copying, which nothing comes between.
                Due::Later if base.is_some() => match self.row_here(id) {
                    Some(row) if row.kind.is_access() => row,
                    _ => break,
                },
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere if base.is_some() => break,
                Due::Elsewhere => return Ok(Did::Strange),
            };
            if row.kind == EventKind::Alloc && base.is_some() {
                break;
            }
            self.raw(id);
            if row.kind == EventKind::Alloc {
                let size = if let Some(unsnarl_trace::Value::Bits(size)) = row.value {
                    size
                } else {
                    0
                };
                base = Some(self.resolve(row.location).unwrap_or(0));
                if let (Some(from), Some(to)) = (from.and_then(|from| from.bits), base) {
                    self.copy_block(from as u64, to, size);
                }
                if from.is_none() {
                    break;
                }
            }
        }
        let size = made.argument(if made.name == "calloc" { 1 } else { 0 });
        if let (Some(size), None) = (size, from) {
            self.fixed(id, size, || "size of a block".into());
        }
        Ok(Did::Value(Some(
            Scalar::address(&mut self.exprs, base.unwrap_or(0)).into(),
        )))
    }

    fn copy_block(&mut self, from: u64, to: u64, size: u64) {
        let Some(object) = self.memory.object(from) else {
            return;
        };
        let bytes = object
            .size
            .saturating_sub(from - object.base)
            .min(size)
            .min(LONGEST_COPY);
        let mut offset = 0;
        while offset < bytes {
            let step = (bytes - offset).min(8) as u8;
            if let Some(value) = self.memory.read(&mut self.exprs, from + offset, step) {
                self.memory.write(&mut self.exprs, to + offset, step, value);
            }
            offset += u64::from(step);
        }
    }

    /// Functions that copy, fill and compare.
    pub fn memory_call(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
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

    /// `std::string::compare` with a text: what both hold decides, where it is known.
    fn compares_string(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        let (string, other) = (self.place(id, made, 0)?, self.place(id, made, 1)?);
        let mut word = |at: u64| {
            let word = self.memory.read(&mut self.exprs, at, 8)?;
            Some(self.as_known(word).bits? as u64)
        };
        let (Some(from), Some(length)) = (word(string), word(string.saturating_add(8))) else {
            return Ok(Did::Strange);
        };
        let text: Option<Vec<u8>> = (0..length.min(LONGEST_TEXT))
            .map(|at| {
                let byte = self
                    .memory
                    .read(&mut self.exprs, from.saturating_add(at), 1)?;
                Some(self.as_known(byte).bits? as u8)
            })
            .collect();
        let (Some(text), Ok(other)) = (text, self.text_at(other, LONGEST_TEXT)) else {
            return Ok(Did::Strange);
        };
        let order = match text.cmp(&other) {
            std::cmp::Ordering::Less => 0xffff_ffff,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        };
        let value = Scalar::number(&mut self.exprs, order, made.width.unwrap_or(32));
        Ok(Did::Value(Some(value.into())))
    }

    /// A number that an argument was.
    fn known(&mut self, id: ThreadId, made: &Made, row: usize) -> Result<u64, String> {
        let argument = made.argument(row).ok_or("a call without arguments")?;
        let bits = self.fixed(id, argument, || format!("an argument of {}", made.name));
        Ok(bits.ok_or("an argument is not known")? as u64)
    }

    /// How many bytes a call goes over: its argument, or what the call's events tell of.
    fn length(&mut self, id: ThreadId, made: &Made, row: usize) -> Result<u64, String> {
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

    /// Bytes of the next access, which has several events.
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

    fn place(&mut self, id: ThreadId, made: &Made, row: usize) -> Result<u64, String> {
        let argument = made.argument(row).ok_or("a call without arguments")?;
        self.address(id, argument)
            .ok_or_else(|| "an address is not known".into())
    }

    /// The address of an argument; where it is not known, of the thread's next access of this kind.
    fn told_place(
        &mut self,
        id: ThreadId,
        made: &Made,
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

    fn copies(&mut self, id: ThreadId, made: &Made, length: usize) -> Result<Did, String> {
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

    /// Whether the next event of the thread may be used, if it is this instruction's.
    fn is_its_turn(&self, id: ThreadId) -> bool {
        !matches!(self.due(id), Due::Later | Due::Over)
    }

    fn fails_inside(&mut self, id: ThreadId, made: &Made) -> Result<Option<Did>, String> {
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

    /// Copies bytes as the call's events tell; what they don't tell of is copied all the same.
    fn copy(&mut self, id: ThreadId, to: u64, from: u64, bytes: u64) -> Result<(), String> {
        if bytes > LONGEST_COPY {
            return Err("a copy of this length is not followed".into());
        }
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
        self.write_here(id, to, bytes, &chunks);
        Ok(())
    }

    fn rows_here(
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

    /// Writes chunks as the call's events tell.
    fn write_here(&mut self, id: ThreadId, to: u64, bytes: u64, chunks: &[Chunk]) {
        let rows = self.rows_here(id, EventKind::Write, bytes);
        if rows.is_empty() {
            let by = self.by(id, None);
            return self.write((to, bytes), by, chunks);
        }
        let events: Vec<EventId> = rows.iter().map(|(event, _)| *event).collect();
        self.write_rows(id, (to, bytes), chunks, ((to, bytes), &events));
    }

    fn fills(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        let bytes = self.length(id, made, 2)?;
        let to = self.place(id, made, 0)?;
        if bytes > 0 && !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        if bytes > LONGEST_COPY {
            return Err("a block of this length is not followed".into());
        }
        let byte = made
            .argument(1)
            .ok_or("a call without arguments")?
            .resized(&mut self.exprs, 8);
        let chunks = self.repeated(byte, bytes);
        self.meets_freed(id, to);
        self.write_here(id, to, bytes, &chunks);
        Ok(Did::Value(
            made.width
                .map(|_| Scalar::address(&mut self.exprs, to).into()),
        ))
    }

    fn repeated(&mut self, byte: Scalar, bytes: u64) -> Vec<Chunk> {
        let mut word = byte;
        for _ in 1..8 {
            word = word.above(&mut self.exprs, byte);
        }
        let mut chunks = Vec::new();
        let mut offset = 0;
        while offset < bytes {
            let size = (bytes - offset).min(8) as u8;
            let value = word.resized(&mut self.exprs, size * 8);
            chunks.push(Chunk {
                offset,
                size,
                value,
            });
            offset += u64::from(size);
        }
        chunks
    }

    /// Bytes of a text without its end.
    fn text_at(&mut self, at: u64, most: u64) -> Result<Vec<u8>, String> {
        self.memory
            .text(&mut self.exprs, at, most.min(LONGEST_TEXT))
            .ok_or_else(|| "a text is not known".into())
    }

    fn copies_text(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        if !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        let (to, from) = (self.place(id, made, 0)?, self.place(id, made, 1)?);
        let most = if made.name.starts_with("strn") {
            self.known(id, made, 2)?
        } else {
            LONGEST_TEXT
        };
        let length = self.text_at(from, most)?.len() as u64;
        let behind = match made.name {
            "strcat" | "strncat" => {
                let before = self.text_at(to, LONGEST_TEXT)?.len() as u64;
                let rows = self.rows_here(id, EventKind::Read, before + 1);
                let read = self.read_rows(id, (to, 0), &rows);
                self.fix_all(id, &read, made.name);
                to + before
            }
            _ => to,
        };
        let ends = u64::from(length < most || made.name == "strncat");
        let reads = self.rows_here(id, EventKind::Read, (length + 1).min(most));
        let mut chunks = match reads.is_empty() {
            true => {
                let by = self.by(id, None);
                self.read((from, length), by, &|_, _, _, _| None)
            }
            false => self.read_rows(id, (from, 0), &reads),
        };
        self.fix_all(id, &chunks, made.name);
        chunks.retain(|chunk| chunk.offset < length);
        let zero = Scalar::number(&mut self.exprs, 0, 8);
        let total = if made.name == "strncpy" {
            most
        } else {
            length + ends
        };
        let mut whole = self.cut_at(&chunks, length);
        whole.extend((length..total).map(|offset| Chunk {
            offset,
            size: 1,
            value: zero,
        }));
        self.write_here(id, behind, total, &whole);
        let result = if made.name == "stpcpy" {
            behind + length
        } else {
            to
        };
        Ok(Did::Value(Some(
            Scalar::address(&mut self.exprs, result).into(),
        )))
    }

    fn cut_at(&mut self, chunks: &[Chunk], length: u64) -> Vec<Chunk> {
        let cut = chunks.iter().map(|chunk| {
            let size = (length - chunk.offset).min(chunk.size.into()) as u8;
            let value = match size == chunk.size {
                true => chunk.value,
                false => chunk.value.bytes(&mut self.exprs, 0, size),
            };
            Chunk {
                size,
                value,
                ..*chunk
            }
        });
        cut.collect()
    }

    fn fix_all(&mut self, id: ThreadId, chunks: &[Chunk], name: &str) {
        for chunk in chunks {
            self.fixed(id, chunk.value, || format!("a text that {name} reads"));
        }
    }

    /// Functions that only look: their result is what it was.
    fn looks_at_text(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        if !self.is_its_turn(id) {
            return Ok(Did::Wait);
        }
        if let Some(did) = self.fails_inside(id, made)? {
            return Ok(did);
        }
        let result = self.looked_at(id, made);
        while let Some(row) = self.row_here(id).filter(|row| row.kind == EventKind::Read) {
            let Some(at) = self.resolve(row.location) else {
                self.raw(id);
                continue;
            };
            let rows = self.take_rows(id, EventKind::Read, row.size.into());
            let chunks = self.read_rows(id, (at, 0), &rows);
            self.fix_all(id, &chunks, made.name);
        }
        let width = made.width.unwrap_or(32);
        Ok(Did::Value(Some(match result {
            Ok(bits) => Scalar::number(&mut self.exprs, bits, width).into(),
            Err(_) => self
                .outside(id, format!("result of {}", made.name), width, None)
                .into(),
        })))
    }

    /// The next event, if it is this instruction's.
    fn row_here(&self, id: ThreadId) -> Option<unsnarl_trace::Event> {
        match self.due(id) {
            Due::Now(_, row) => Some(row),
            Due::Later => self.peek(id).map(|(_, row)| row),
            _ => None,
        }
    }

    fn looked_at(&mut self, id: ThreadId, made: &Made) -> Result<u128, String> {
        let a = self.place(id, made, 0)?;
        let order = |a: &[u8], b: &[u8]| match a.cmp(b) {
            std::cmp::Ordering::Less => 0xffff_ffffu128,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        };
        match made.name {
            "strlen" => Ok(self.text_at(a, LONGEST_TEXT)?.len() as u128),
            "strnlen" => {
                let most = self.known(id, made, 1)?;
                Ok(self.text_at(a, most)?.len() as u128)
            }
            "strcmp" | "strncmp" => {
                let b = self.place(id, made, 1)?;
                let most = if made.name == "strncmp" {
                    self.known(id, made, 2)?
                } else {
                    LONGEST_TEXT
                };
                Ok(order(&self.text_at(a, most)?, &self.text_at(b, most)?))
            }
            "memcmp" | "bcmp" => {
                let (b, bytes) = (self.place(id, made, 1)?, self.known(id, made, 2)?);
                let mut bytes_of = |at: u64| -> Result<Vec<u8>, String> {
                    (0..bytes.min(LONGEST_TEXT))
                        .map(|offset| {
                            let byte = self
                                .memory
                                .read(&mut self.exprs, at + offset, 1)
                                .and_then(|byte| byte.bits);
                            byte.map(|byte| byte as u8)
                                .ok_or_else(|| "a byte is not known".into())
                        })
                        .collect()
                };
                Ok(order(&bytes_of(a)?, &bytes_of(b)?))
            }
            "memchr" | "memrchr" | "rawmemchr" => {
                let wanted = self.known(id, made, 1)? as u8;
                let bytes = match made.name {
                    "rawmemchr" => LONGEST_TEXT,
                    _ => self.known(id, made, 2)?.min(LONGEST_TEXT),
                };
                self.found_in(a, bytes, wanted, made.name == "memrchr")
            }
            "strstr" | "strpbrk" => {
                let b = self.place(id, made, 1)?;
                let (text, other) = (
                    self.text_at(a, LONGEST_TEXT)?,
                    self.text_at(b, LONGEST_TEXT)?,
                );
                let found = match made.name {
                    _ if other.is_empty() => (made.name == "strstr").then_some(0),
                    "strstr" => text.windows(other.len()).position(|part| part == other),
                    _ => text.iter().position(|byte| other.contains(byte)),
                };
                Ok(found.map_or(0, |at| u128::from(a) + at as u128))
            }
            "strspn" | "strcspn" => {
                let b = self.place(id, made, 1)?;
                let (text, other) = (
                    self.text_at(a, LONGEST_TEXT)?,
                    self.text_at(b, LONGEST_TEXT)?,
                );
                let goes_on = made.name == "strspn";
                let ends = |byte: &u8| other.contains(byte) != goes_on;
                Ok(text.iter().position(ends).unwrap_or(text.len()) as u128)
            }
            "strchr" | "strrchr" => {
                let wanted = self.known(id, made, 1)? as u8;
                let mut text = self.text_at(a, LONGEST_TEXT)?;
                text.push(0);
                let found = match made.name {
                    "strchr" => text.iter().position(|&byte| byte == wanted),
                    _ => text.iter().rposition(|&byte| byte == wanted),
                };
                Ok(found.map_or(0, |at| u128::from(a) + at as u128))
            }
            _ => Err("not computed".into()),
        }
    }

    /// Where a byte is found first, or last, in so many.
    fn found_in(&mut self, at: u64, bytes: u64, wanted: u8, is_last: bool) -> Result<u128, String> {
        let mut found = 0;
        for place in at..at.saturating_add(bytes) {
            let byte = self.memory.read(&mut self.exprs, place, 1);
            let byte = byte.and_then(|byte| self.as_known(byte).bits);
            if byte.ok_or("a byte is not known")? == u128::from(wanted) {
                found = place.into();
                if !is_last {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Functions that end the program.
    pub fn ends(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        match made.name {
            "__assert_fail"
            | "abort"
            | "_ZSt9terminatev"
            | "__assert_perror_fail"
            | "__stack_chk_fail"
            | "__cxa_pure_virtual"
            | "__assert" => {
                match self.due_inside(id) {
                    Due::Later | Due::Over => return Ok(Did::Wait),
                    Due::Elsewhere => return Ok(Did::Strange),
                    Due::Now(_, row) => {
                        self.raw(id);
                        if row.kind != EventKind::Failure {
                            return Ok(Did::Wait);
                        }
                    }
                }
                self.fails_here(id);
                Ok(self.gone(id))
            }
            "exit" | "_exit" | "_Exit" | "quick_exit" => {
                let status = made.argument(0).ok_or("a call without arguments")?;
                self.exits_with(id, status);
                if let Some(thread) = self.thread_mut(id) {
                    thread.stack.clear();
                }
                self.begin_native(id, [Todo::Exit]);
                Ok(Did::Entered)
            }
            _ => Ok(Did::Strange),
        }
    }

    /// The program's exit status, which is why the run failed unless it is 0.
    pub fn exits_with(&mut self, id: ThreadId, status: Scalar) {
        use unsnarl_trace::FailureKind;
        let is_exit = self
            .run
            .meta
            .failure
            .as_ref()
            .is_some_and(|failure| failure.kind == FailureKind::Exit);
        if !is_exit || status.bits == Some(0) {
            return;
        }
        if status.is_symbolic(&self.exprs) {
            let width = self.exprs.width(status.expr);
            let zero = Scalar::number(&mut self.exprs, 0, width);
            let fails = status
                .compare(&mut self.exprs, crate::symbolic::expr::Compare::Eq, zero)
                .not(&mut self.exprs);
            return self.fails_if(id, fails, "the exit status is always the same");
        }
        self.fails_here(id);
    }

    /// The run ended in an access by this pointer.
    pub fn bad_address(&mut self, id: ThreadId, pointer: Scalar) {
        let Some(bits) = pointer.bits else {
            self.bug = Bug::Unknown("the address of the access that failed is not known\n  next: look at the access itself".into());
            return;
        };
        let at = bits as u64;
        if at >= NEAR_NULL {
            if let Some(freed) = self.freed_at(at) {
                let step = self.last_access(id);
                self.bug = Bug::AfterFree { step, freed };
                return;
            }
            self.bug = Bug::Unknown("an access failed at an address that is not null\n  next: look at where the pointer comes from".into());
            return;
        }
        let condition = self.as_it_was(pointer);
        match condition {
            Some(condition) => self.fails_if(id, condition, "the null pointer does not depend on what threads share\n  next: look at where the pointer comes from"),
            None => self.fails_here(id),
        }
    }

    fn last_access(&self, id: ThreadId) -> StepId {
        let count = self
            .thread(id)
            .map_or(0, |thread| thread.steps.len() as u32);
        StepId {
            thread: id,
            index: count.saturating_sub(1),
        }
    }

    fn freed_at(&self, at: u64) -> Option<StepId> {
        let base = self.memory.object(at)?.base;
        self.freed.get(&base).copied()
    }

    /// Notes an access of a block that was freed: why the run fails later.
    pub fn meets_freed(&mut self, id: ThreadId, at: u64) {
        if !self.memory.is_freed(at) || self.after_free.is_some() {
            return;
        }
        if let Some(freed) = self.freed_at(at) {
            let step = self
                .thread(id)
                .map(|thread| thread.next_step())
                .unwrap_or_default();
            self.after_free = Some((step, freed));
        }
    }

    fn freed_twice(&mut self, id: ThreadId, at: u64) {
        let Some(freed) = self.freed_at(at) else {
            self.bug = Bug::Unknown("a block was freed that is none".into());
            return;
        };
        let site = self.here(id);
        let action = crate::symbolic::trace::Action::Sync {
            kind: EventKind::Free,
            object: self.names.get(&(at, 0)).copied().unwrap_or_default(),
            value: 0,
        };
        let step = self.step(id, None, site, action);
        self.bug = Bug::AfterFree { step, freed };
    }

    /// Functions without effects that matter.
    pub fn small_call(&mut self, id: ThreadId, made: &Made) -> Result<Did, String> {
        let number = |this: &mut Self, bits: u128| -> Val {
            Scalar::number(&mut this.exprs, bits, made.width.unwrap_or(32)).into()
        };
        match made.name {
            "abs" | "labs" | "llabs" => {
                let of = made.argument(0).ok_or("a call without arguments")?;
                Ok(Did::Value(Some(self.absolute(of).into())))
            }
            "__cxa_atexit" | "atexit" => {
                let function = made.argument(0).ok_or("a call without arguments")?;
                let argument = made.arguments.get(1).cloned().into_iter().collect();
                if let Some(thread) = self.threads.first_mut() {
                    thread.at_exit.push((function, argument));
                }
                Ok(Did::Value(Some(number(self, 0))))
            }
            "__cxa_thread_atexit" | "atexit_thread" => Ok(Did::Value(Some(number(self, 0)))),
            "__errno_location" => {
                let place = self.errno(id);
                Ok(Did::Value(Some(
                    Scalar::address(&mut self.exprs, place).into(),
                )))
            }
            _ => Ok(Did::Strange),
        }
    }

    fn errno(&mut self, id: ThreadId) -> u64 {
        let name = format!("{}:errno", self.run.meta.thread(id).name);
        match self.memory.named(&name) {
            Some(object) => object.base,
            None => self.memory.allocate(name, 4, super::memory::Fresh::Unknown),
        }
    }

    /// The absolute value.
    pub fn absolute(&mut self, of: Scalar) -> Scalar {
        use crate::symbolic::expr::{Binary, Compare};
        let width = self.exprs.width(of.expr);
        let zero = Scalar::number(&mut self.exprs, 0, width);
        let is_negative = of.compare(&mut self.exprs, Compare::Slt, zero);
        let negated = zero.binary(&mut self.exprs, Binary::Sub, of);
        is_negative.choose(&mut self.exprs, negated, of)
    }
}
