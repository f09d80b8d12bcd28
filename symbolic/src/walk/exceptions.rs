//! C++ exceptions: throwing them, and unwinding to the handler.

use super::{
    calls::{Did, MadeCall},
    intrinsics::type_number,
    machine::{Due, InstructionResult, PathMachine},
    memory::Fresh,
    thread::{Activity, Thrown},
    value::{Scalar, Val},
};
use unsnarl_trace::{
    EventKind, ThreadId,
    program::{Op, Operand},
};

/// Bound on the length of a chain of base classes.
const DEEPEST: u32 = 16;

impl PathMachine<'_> {
    pub fn exception_call(&mut self, id: ThreadId, made: &MadeCall) -> Result<Did, String> {
        match made.name {
            "__cxa_allocate_exception" => {
                let size = made.argument(0).and_then(|size| size.bits).unwrap_or(64);
                self.passes_inside(id)?;
                let object = self
                    .memory
                    .allocate("an exception".into(), size as u64, Fresh::Zero);
                Ok(Did::Value(Some(
                    Scalar::address(&mut self.exprs, object).into(),
                )))
            }
            "__cxa_throw" => {
                let (object, class) = made
                    .argument(0)
                    .zip(made.argument(1))
                    .ok_or("a call without arguments")?;
                let class = class.bits.ok_or("an exception without a type")? as u64;
                self.throws(id, Thrown { object, class })
            }
            "__cxa_rethrow" => {
                let caught = self
                    .thread(id)
                    .and_then(|thread| thread.caught.last().copied());
                match caught {
                    Some(thrown) => self.throws(id, thrown),
                    None => Ok(Did::Strange),
                }
            }
            "__cxa_begin_catch" => {
                let thrown = self.frame(id).and_then(|frame| frame.thrown);
                if let (Some(thread), Some(thrown)) = (self.thread_mut(id), thrown) {
                    thread.caught.push(thrown);
                }
                Ok(Did::Value(made.arguments.first().cloned()))
            }
            "__cxa_end_catch" => {
                self.passes_inside(id)?;
                if let Some(thread) = self.thread_mut(id) {
                    thread.caught.pop();
                }
                Ok(Did::Value(None))
            }
            "__cxa_free_exception" => Ok(Did::Value(None)),
            "__cxa_get_exception_ptr" => Ok(Did::Value(made.arguments.first().cloned())),
            "__clang_call_terminate" => Ok(Did::Strange),
            _ => Ok(Did::Strange),
        }
    }

    /// Uses the events of the library while it throws.
    fn passes_inside(&mut self, id: ThreadId) -> Result<(), String> {
        while let Due::Now(_, row) = self.due_inside(id) {
            if row.kind == EventKind::Failure {
                break;
            }
            self.raw(id);
        }
        Ok(())
    }

    fn throws(&mut self, id: ThreadId, thrown: Thrown) -> Result<Did, String> {
        // An exception that nobody catches is a failure at this call.
        match self.due_inside(id) {
            Due::Now(_, row) if row.kind == EventKind::Failure => {
                self.raw(id);
                self.fails_here(id);
                return Ok(self.gone(id));
            }
            Due::Later
                if self
                    .peek(id)
                    .is_some_and(|(_, row)| row.kind == EventKind::Failure) =>
            {
                return Ok(Did::Wait);
            }
            _ => {}
        }
        self.unwind(id, thrown)?;
        Ok(Did::Entered)
    }

    /// Leaves functions until one has a cleanup or a handler.
    fn unwind(&mut self, id: ThreadId, thrown: Thrown) -> Result<(), String> {
        loop {
            match self.thread(id).and_then(|thread| thread.stack.last()) {
                Some(Activity::Code(_)) => {}
                _ => return Err("an exception left all functions of the program".into()),
            }
            if let Some(Op::Call {
                unwind: Some(to), ..
            }) = self.instruction(id).map(|instruction| &instruction.op)
                && self.stops_at(id, *to, thrown)
            {
                let to = *to;
                self.jump(id, to)?;
                if let Some(frame) = self.frame_mut(id) {
                    frame.thrown = Some(thrown);
                }
                return Ok(());
            }
            if let Some(thread) = self.thread_mut(id) {
                thread.stack.pop();
            }
        }
    }

    /// `true` if the landing pad at a block handles the exception or cleans up.
    fn stops_at(
        &mut self,
        id: ThreadId,
        to: unsnarl_trace::program::BlockId,
        thrown: Thrown,
    ) -> bool {
        let Some((_, function)) = self.code(id) else {
            return false;
        };
        let pad = function
            .block(to)
            .iter()
            .find_map(|instruction| match &instruction.op {
                Op::LandingPad {
                    is_cleanup,
                    catches,
                } => Some((*is_cleanup, catches)),
                _ => None,
            });
        let Some((is_cleanup, catches)) = pad else {
            return false;
        };
        is_cleanup || self.catching(id, catches, thrown).is_some()
    }

    /// The type by which the exception is caught; 0 for a catch-all.
    fn catching(&mut self, id: ThreadId, catches: &[Operand], thrown: Thrown) -> Option<u64> {
        catches.iter().find_map(|&class| {
            let class = self.scalar(id, class).ok()?.bits? as u64;
            (class == 0 || self.is_a(thrown.class, class)).then_some(class)
        })
    }

    /// `true` if a class is another one or derived from it, according to the type information in memory.
    fn is_a(&mut self, mut class: u64, wanted: u64) -> bool {
        for _ in 0..DEEPEST {
            if class == wanted {
                return true;
            }
            if self.library_base(class, wanted) {
                return true;
            }
            // A class with one base has its description in the third word.
            let base = self
                .memory
                .read(&mut self.exprs, class.saturating_add(16), 8);
            match base.and_then(|base| base.bits) {
                Some(base) if base != 0 => class = base as u64,
                _ => return false,
            }
        }
        false
    }

    /// `true` for the hierarchy of the standard library's own exceptions.
    fn library_base(&self, class: u64, wanted: u64) -> bool {
        let name = |at: u64| {
            self.memory
                .object(at)
                .map(|object| object.name.as_str())
                .unwrap_or_default()
        };
        let (class, wanted) = (name(class), name(wanted));
        let is_library =
            |name: &str| name.contains("_ZTISt") || name.contains("typeinfo for std::");
        is_library(class)
            && (wanted.contains("_ZTISt9exception")
                || wanted.contains("typeinfo for std::exception"))
    }

    pub fn landing_pad(&mut self, id: ThreadId, catches: &[Operand]) -> Result<Val, String> {
        let thrown = self
            .frame(id)
            .and_then(|frame| frame.thrown)
            .ok_or("a landing pad without an exception")?;
        let selector = match self.catching(id, catches, thrown) {
            Some(0) => 1,
            Some(class) => type_number(class),
            None => 0,
        };
        let selector = Scalar::number(&mut self.exprs, selector, 32);
        Ok(Val::list(vec![thrown.object.into(), selector.into()]))
    }

    pub fn resume(&mut self, id: ThreadId) -> Result<InstructionResult, String> {
        let thrown = self
            .frame(id)
            .and_then(|frame| frame.thrown)
            .ok_or("unwinding without an exception")?;
        if let Some(thread) = self.thread_mut(id) {
            thread.stack.pop();
        }
        self.unwind(id, thrown)?;
        Ok(InstructionResult::On)
    }
}
