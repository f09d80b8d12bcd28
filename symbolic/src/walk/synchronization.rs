//! Calls that synchronize, and threads that start and end.

use super::{
    calls::{Did, MadeCall},
    machine::{Due, PathMachine},
    memory::Fresh,
    thread::{AccessChunk, Activity, BranchState, Todo},
    value::{Scalar, Val},
};
use unsnarl_trace::{EventId, EventKind, SiteId, ThreadId, Value, kinds::LibraryFunction};

/// `EBUSY`, `ETIMEDOUT`.
const BUSY: u128 = 16;
const TIMED_OUT: u128 = 110;

/// Value of the event of a wait on a condition whose time was over.
const TIMED_OUT_WAIT: u64 = 1;

impl PathMachine<'_> {
    fn int(&mut self, number: u128) -> Val {
        Scalar::number(&mut self.exprs, number, 32).into()
    }

    pub fn synchronization(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let name = made.name;
        if let Some(function) = LibraryFunction::named(name) {
            return match function.ends {
                [] => self.only_prepares(id, made),
                ends => self.until(id, made, ends),
            };
        }
        match name {
            "pthread_once" | "call_once" => self.once(id, made),
            "pthread_create" | "thrd_create" => self.create(id, made),
            "pthread_join" | "thrd_join" => self.join_thread(id, made),
            "pthread_self" | "thrd_current" => {
                let handle = self.handle(id);
                Ok(Did::Value(Some(
                    Scalar::address(&mut self.exprs, handle).into(),
                )))
            }
            "pthread_equal" => {
                let (a, b) = made
                    .argument(0)
                    .zip(made.argument(1))
                    .ok_or("a call without arguments")?;
                let equal = a.compare(&mut self.exprs, crate::expr::Comparison::Eq, b);
                Ok(Did::Value(Some(equal.resized(&mut self.exprs, 32).into())))
            }
            "pthread_exit" | "thrd_exit" => self.thread_exits(id, made),
            "sched_yield" | "thrd_yield" | "usleep" | "sleep" | "nanosleep" | "pthread_yield"
            | "thrd_sleep" | "clock_nanosleep" => self.gives_way(id, made),
            "pthread_attr_init"
            | "pthread_attr_destroy"
            | "pthread_attr_setstacksize"
            | "pthread_attr_setdetachstate"
            | "pthread_detach"
            | "thrd_detach"
            | "pthread_setname_np" => self.only_prepares(id, made),
            _ if name.starts_with("_ZNSt6thread") => self.cpp_thread(id, made),
            _ => Ok(Did::Strange),
        }
    }

    /// Uses the call's events up to one of these kinds, which determines the result.
    fn until(&mut self, id: ThreadId, made: &MadeCall, ends: &[EventKind]) -> Result<Did, String> {
        loop {
            let (event, row) = match self.due(id) {
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere => return Ok(Did::Strange),
                Due::Now(event, row) => (event, row),
            };
            if let (Some(pointer), false) = (
                made.argument(0).and_then(|pointer| pointer.bits),
                row.kind.is_access(),
            ) && !matches!(
                row.kind,
                EventKind::Unlock | EventKind::Lock | EventKind::LockWait
            ) | !made.name.contains("cond_") & !made.name.contains("cnd_")
            {
                self.places.insert(row.location, pointer as u64);
            }
            if row.kind == EventKind::Failure {
                self.use_event(id, row.site);
                self.fails_here(id);
                return Ok(self.gone(id));
            }
            self.raw(id);
            if row.kind == EventKind::BarrierLeave {
                let last = if self.was_last(event, id) {
                    0xffff_ffff
                } else {
                    0
                };
                let result = self.outside(id, format!("result of {}", made.name), 32, Some(last));
                return Ok(Did::Value(Some(result.into())));
            }
            // The object may have been freed: then the call ends with the failure.
            if ends.contains(&row.kind) && !self.fails_next(id, row.site) {
                return Ok(Did::Value(self.result_of(made, row.kind, row.value)));
            }
        }
    }

    /// Returns whether the thread's next event is a failure at this site.
    fn fails_next(&self, id: ThreadId, site: SiteId) -> bool {
        let next = self.peek(id);
        next.is_some_and(|(_, row)| row.kind == EventKind::Failure && row.site == site)
    }

    /// `true` if the thread that leaves a barrier arrived last: no arrival comes between its own and the
    /// first departure.
    fn was_last(&self, leaves: EventId, id: ThreadId) -> bool {
        let row = self.run.events.event(leaves);
        let earlier = self.thread(id).map_or(&[][..], |thread| {
            thread.events.get(..thread.used).unwrap_or(&[])
        });
        let kind = |event: EventId| {
            self.run
                .events
                .get(event)
                .filter(|other| other.location == row.location)
                .map(|other| other.kind)
        };
        let came = earlier
            .iter()
            .rev()
            .find(|event| kind(**event) == Some(EventKind::BarrierArrive));
        let after = came.map_or(leaves.0, |came| came.0 + 1)..=leaves.0;
        let next = after
            .filter_map(|event| kind(EventId(event)))
            .find(|kind| matches!(kind, EventKind::BarrierArrive | EventKind::BarrierLeave));
        next == Some(EventKind::BarrierLeave)
    }

    fn result_of(&mut self, made: &MadeCall, kind: EventKind, value: Option<Value>) -> Option<Val> {
        made.width?;
        let is_c11 = made.name.starts_with("mtx_") || made.name.starts_with("cnd_");
        if made.name.starts_with("g_") {
            let is_false = matches!(
                (kind, value),
                (EventKind::TryLockFailed | EventKind::OncePass, _)
                    | (EventKind::Wake, Some(Value::Bits(TIMED_OUT_WAIT)))
            );
            return Some(self.int(u128::from(!is_false)));
        }
        let number = match (kind, value) {
            (EventKind::TryLockFailed, _) if made.name.starts_with("sem_") => 0xffff_ffff,
            (EventKind::TryLockFailed, _) if is_c11 && made.name.contains("timed") => 4,
            (EventKind::TryLockFailed, _) if is_c11 => 1,
            (EventKind::TryLockFailed, _)
                if made.name.contains("timed") || made.name.contains("clock") =>
            {
                TIMED_OUT
            }
            (EventKind::TryLockFailed, _) => BUSY,
            (EventKind::Wake, Some(Value::Bits(TIMED_OUT_WAIT))) if is_c11 => 4,
            (EventKind::Wake, Some(Value::Bits(TIMED_OUT_WAIT))) => TIMED_OUT,
            (EventKind::OnceBegin, _) => 1,
            _ => 0,
        };
        Some(self.int(number))
    }

    fn gives_way(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        loop {
            match self.due(id) {
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere => break,
                Due::Now(_, row) => {
                    self.raw(id);
                    if row.kind == EventKind::Yield {
                        break;
                    }
                }
            }
        }
        Ok(Did::Value(made.width.map(|width| {
            Scalar::number(&mut self.exprs, 0, width).into()
        })))
    }

    /// Models calls that only initialize objects, whose writes are irrelevant.
    fn only_prepares(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        loop {
            match self.due(id) {
                Due::Now(..) => self.raw(id),
                Due::Later => return Ok(Did::Wait),
                Due::Elsewhere | Due::Over => break,
            }
        }
        Ok(Did::Value(made.width.map(|width| {
            Scalar::number(&mut self.exprs, 0, width).into()
        })))
    }

    fn once(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let routine = made.argument(1).ok_or("a call without arguments")?;
        let row = match self.due(id) {
            Due::Later | Due::Over => return Ok(Did::Wait),
            Due::Elsewhere => return Ok(Did::Strange),
            Due::Now(_, row) => row,
        };
        self.raw(id);
        match row.kind {
            EventKind::OncePass => Ok(Did::Value(made.width.map(|_| self.int(0)))),
            EventKind::OnceBegin => {
                let result = made.width.map(|_| self.int(0));
                self.begin_native(
                    id,
                    [
                        Todo::Call(routine, Vec::new()),
                        Todo::OnceEnd,
                        Todo::Return(result),
                    ],
                );
                Ok(Did::Entered)
            }
            _ => Ok(Did::Wait),
        }
    }

    /// The number that identifies a thread in memory.
    pub fn handle(&mut self, id: ThreadId) -> u64 {
        if let Some(&handle) = self.handles.get(&id) {
            return handle;
        }
        let name = format!("{}'s handle", self.run.meta.thread(id).name);
        let handle = self.memory.allocate(name, 8, Fresh::Unknown);
        self.handles.insert(id, handle);
        handle
    }

    fn create(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let is_c11 = made.name == "thrd_create";
        let (start, argument) = if is_c11 { (1, 2) } else { (2, 3) };
        let place = made.argument(0).ok_or("a call without arguments")?;
        let start = made.argument(start).ok_or("a call without arguments")?;
        let argument = made
            .arguments
            .get(argument)
            .cloned()
            .ok_or("a call without arguments")?;
        if let Some(child) = self.untold_child(id) {
            self.begins(child, [Todo::Call(start, vec![argument]), Todo::End]);
            self.handle_written(id, place, child);
            return Ok(Did::Value(made.width.map(|_| self.int(0))));
        }
        loop {
            let (_, row) = match self.due(id) {
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere => return Ok(Did::Strange),
                Due::Now(event, row) => (event, row),
            };
            self.raw(id);
            if row.kind == EventKind::Fork {
                let Some(Value::Bits(child)) = row.value else {
                    return Err("a thread without a number was created".into());
                };
                let child = ThreadId(child as u16);
                self.address(id, start);
                self.begins(child, [Todo::Call(start, vec![argument]), Todo::End]);
                self.handle_written(id, place, child);
                return Ok(Did::Value(made.width.map(|_| self.int(0))));
            }
        }
    }

    pub fn begins(&mut self, child: ThreadId, todo: impl Into<std::collections::VecDeque<Todo>>) {
        if let Some(thread) = self.thread_mut(child) {
            thread.begin = todo.into();
        }
    }

    /// Writes the new thread's handle to where the creator asked for it.
    fn handle_written(&mut self, id: ThreadId, place: Scalar, child: ThreadId) {
        let handle = self.handle(child);
        let value = Scalar::address(&mut self.exprs, handle);
        let chunk = AccessChunk {
            offset: 0,
            size: 8,
            value,
        };
        let Some(at) = self.address(id, place) else {
            return;
        };
        let next = self.peek(id).filter(|(_, row)| {
            row.kind == EventKind::Write
                && row.size == 8
                && row.flags & unsnarl_trace::model::flags::RANGE == 0
        });
        let by = match next {
            Some((event, row)) if matches!(self.due_inside(id), Due::Now(..) | Due::Later) => {
                self.use_event(id, row.site);
                if let Some(Value::Address(location)) = row.value {
                    self.places.insert(location, handle);
                }
                self.by(id, Some(event))
            }
            _ => self.by(id, None),
        };
        self.write((at, 8), by, &[chunk]);
    }

    fn join_thread(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let handle = made.argument(0).ok_or("a call without arguments")?;
        let row = match self.due(id) {
            Due::Later | Due::Over => return Ok(Did::Wait),
            Due::Elsewhere => return Ok(Did::Strange),
            Due::Now(_, row) => row,
        };
        if row.kind == EventKind::Join && handle.bits.is_some() {
            self.fixed(id, handle, || "which thread is joined".into());
        }
        self.raw(id);
        if let (EventKind::Join, Some(Value::Bits(child))) = (row.kind, row.value) {
            self.result_written(id, made, ThreadId(child as u16))?;
        }
        match row.kind {
            EventKind::Join => Ok(Did::Value(made.width.map(|_| self.int(0)))),
            _ => Ok(Did::Wait),
        }
    }

    /// Writes the joined thread's result to where the call asked for it.
    fn result_written(
        &mut self,
        id: ThreadId,
        made: &MadeCall,
        child: ThreadId,
    ) -> Result<(), String> {
        let place = made.argument(1).filter(|place| place.bits != Some(0));
        let Some(place) = place else {
            return Ok(());
        };
        let at = self.address(id, place).ok_or("an address is not known")?;
        let size = if made.name.starts_with("thrd") { 4 } else { 8 };
        let result = self.thread(child).and_then(|thread| thread.result);
        let value = match result {
            Some(result) => result.resized(&mut self.exprs, size * 8),
            None => self.outside(id, "a thread's result".into(), size * 8, None),
        };
        let by = self.by(id, None);
        self.write(
            (at, size.into()),
            by,
            &[AccessChunk {
                offset: 0,
                size,
                value,
            }],
        );
        Ok(())
    }

    fn thread_exits(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        if let Some(thread) = self.thread_mut(id) {
            thread.result = made.argument(0);
            thread.stack.clear();
            thread.stack.push(Activity::Native([Todo::End].into()));
        }
        Ok(Did::Entered)
    }

    /// Models `std::thread`, which creates and joins threads inside the library.
    fn cpp_thread(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        let is_start = made.name.starts_with("_ZNSt6thread15_M_start_thread");
        let is_join = made.name == "_ZNSt6thread4joinEv";
        let is_detach = made.name == "_ZNSt6thread6detachEv";
        if !is_start && !is_join && !is_detach {
            return Ok(Did::Strange);
        }
        let this = made.argument(0).ok_or("a call without arguments")?;
        while self.frame(id).is_some_and(|frame| frame.stage == 0) {
            let row = match self.due_inside(id) {
                Due::Later | Due::Over => return Ok(Did::Wait),
                Due::Elsewhere if is_detach => break,
                Due::Elsewhere => return Ok(Did::Strange),
                Due::Now(_, row) => row,
            };
            self.raw(id);
            match (row.kind, row.value) {
                (EventKind::Fork, Some(Value::Bits(child))) if is_start => {
                    self.cpp_thread_begins(id, made, ThreadId(child as u16))?;
                    self.handle_written(id, this, ThreadId(child as u16));
                    return Ok(Did::Value(None));
                }
                (EventKind::Join, _) if is_join => {
                    if let Some(frame) = self.frame_mut(id) {
                        frame.stage = 1;
                    }
                }
                _ => {}
            }
        }
        // The thread's number becomes zero; the run records that where the variable is shared.
        let at = self.address(id, this).ok_or("an address is not known")?;
        let event = match self.due_inside(id) {
            Due::Later => return Ok(Did::Wait),
            Due::Now(event, row) if row.kind == EventKind::Write => {
                self.use_event(id, row.site);
                Some(event)
            }
            _ => None,
        };
        let by = self.by(id, event);
        let value = Scalar::address(&mut self.exprs, 0);
        let chunk = AccessChunk {
            offset: 0,
            size: 8,
            value,
        };
        self.write((at, 8), by, &[chunk]);
        Ok(Did::Value(None))
    }

    /// Enters a thread of `std::thread`: the library calls the state's `_M_run` and then deletes it.
    fn cpp_thread_begins(
        &mut self,
        id: ThreadId,
        made: &MadeCall,
        child: ThreadId,
    ) -> Result<(), String> {
        let pointer = made.argument(1).ok_or("a call without arguments")?;
        let at = self.address(id, pointer).ok_or("an address is not known")?;
        let state = self
            .memory
            .read(&mut self.exprs, at, 8)
            .ok_or("a thread without a state")?;
        let state_at = state.bits.ok_or("a thread without a state")? as u64;
        let table = self
            .memory
            .read(&mut self.exprs, state_at, 8)
            .and_then(|table| table.bits);
        let table = table.ok_or("a thread's state without functions")? as u64;
        let mut function = |slot: u64| self.memory.read(&mut self.exprs, table + 8 * slot, 8);
        let (run, delete) = function(2)
            .zip(function(1))
            .ok_or("a thread's state without functions")?;
        let known = Scalar::address(&mut self.exprs, state_at);
        self.begins(
            child,
            [
                Todo::Call(run, vec![known.into()]),
                Todo::Call(delete, vec![known.into()]),
                Todo::End,
            ],
        );
        let by = self.by(id, None);
        let value = Scalar::address(&mut self.exprs, 0);
        self.write(
            (at, 8),
            by,
            &[AccessChunk {
                offset: 0,
                size: 8,
                value,
            }],
        );
        Ok(())
    }

    /// Starts the thread with its first event.
    pub fn born(&mut self, id: ThreadId) {
        let begin = self
            .thread_mut(id)
            .map(|thread| std::mem::take(&mut thread.begin))
            .unwrap_or_default();
        let begin = match begin.is_empty() {
            true => self.begin_by_name(id).unwrap_or_default().into(),
            false => begin,
        };
        if begin.is_empty() {
            self.lose(id, "nobody knows which function it begins with");
            return;
        }
        if let Some(thread) = self.thread_mut(id) {
            thread.state = BranchState::Followed;
            thread.stack.push(Activity::Native(begin));
        }
    }
}
