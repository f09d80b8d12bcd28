//! Calls that allocate and free heap blocks.

use super::{
    calls::{Did, MadeCall},
    machine::{Due, PathMachine},
    value::Scalar,
};
use unsnarl_trace::{EventKind, ThreadId};

/// Bound on the length of a copy, in bytes.
const LONGEST_COPY: u64 = 1 << 24;

impl PathMachine<'_> {
    /// Models functions that allocate and free heap blocks.
    pub fn heap_call(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
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

    fn makes_block(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
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
                // The call's own copying, which is uninterrupted.
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
}
