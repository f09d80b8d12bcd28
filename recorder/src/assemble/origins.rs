//! Origin of a step in the user's code, when its program counter is in a header or a library.

use super::{calls::OpenCall, drafts::OriginId, walk::LogWalk};
use std::rc::Rc;
use unsnarl_trace::{PointId, SiteId, StackId, raw::RecordKind};

/// The origin of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The place in the user's code.
    pub site: SiteId,
    /// Call stack of the step.
    pub stack: StackId,
    /// The instruction of the innermost code that has a program model.
    pub point: PointId,
}

/// The source place of a program counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownSite {
    /// Its place in the source.
    pub site: SiteId,
    /// The site is in the user's code.
    pub is_user: bool,
    /// The code is in a function that was inlined.
    pub is_inlined: bool,
    /// Start of the function with machine code that holds it.
    pub function: Option<u64>,
}

/// A step of the user's code within the innermost function that its thread has entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownStep {
    pc: u64,
    /// Entry point and stack of that call.
    entry: u32,
    stack: StackId,
    origin: OriginId,
}

impl KnownStep {
    /// No step: no function has this number.
    pub const NONE: KnownStep = KnownStep {
        pc: 0,
        entry: u32::MAX,
        stack: StackId(0),
        origin: OriginId::NONE,
    };
}

/// Number of program counters that are found without a look into the table.
pub(super) const RECENT: usize = 256;

/// The role of a record: a new step, or the continuation of one. The steps of one call of a library function have one
/// place in the user's code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordRole {
    New,
    Continued,
}

impl RecordRole {
    /// The role of records of this kind.
    pub fn of(kind: RecordKind) -> RecordRole {
        match kind.event().is_some_and(|kind| kind.role().begins_call()) {
            true => RecordRole::New,
            false => RecordRole::Continued,
        }
    }
}

/// Number of steps that are found without a look into the tables.
pub(super) const RECENT_STEPS: usize = 4096;

/// The place of a step among the recent ones: in a recursion the same one comes with many stacks.
#[inline(always)]
fn step_slot(pc: u64, stack: StackId) -> usize {
    let mixed = (pc ^ u64::from(stack.0) << 5).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as usize % RECENT_STEPS
}

/// The place of a program counter among the recent ones.
#[inline(always)]
fn slot(pc: u64) -> usize {
    (pc ^ pc >> 8) as usize % RECENT
}

impl LogWalk<'_> {
    /// Site of the call that returns to `pc`, if that is in user code.
    pub fn user_site(&mut self, pc: u64) -> Option<SiteId> {
        let known = self.site(pc).filter(|known| known.is_user);
        known.map(|known| known.site)
    }

    /// The source place of the call that returns to `pc`.
    fn site(&mut self, pc: u64) -> Option<KnownSite> {
        let slot = slot(pc);
        match self.recent_sites.get(slot) {
            Some((known, site)) if *known == pc => return *site,
            _ => {}
        }
        let site = match self.site_ids.get(&pc) {
            Some(known) => *known,
            None => self.new_site(pc),
        };
        if let Some(recent) = self.recent_sites.get_mut(slot) {
            *recent = (pc, site);
        }
        site
    }

    fn new_site(&mut self, pc: u64) -> Option<KnownSite> {
        let point = match pc {
            0 => None,
            pc => self.memory.modules.point(pc),
        };
        let found = point.map(|point| KnownSite {
            site: self.sites.id(point.user.as_ref().unwrap_or(&point.any)),
            is_user: point.user.is_some(),
            is_inlined: !point.inlined.is_empty(),
            function: point.function,
        });
        self.site_ids.insert(pc, found);
        found
    }

    /// A stack with the calls that were inlined at `pc`.
    pub fn with_inlined(&mut self, stack: StackId, pc: u64) -> StackId {
        if !self.site(pc).is_some_and(|known| known.is_inlined) {
            return stack;
        }
        let inlined = match self.inlined.get(&pc) {
            Some(known) => Rc::clone(known),
            None => self.new_inlined(pc),
        };
        let calls = inlined.iter();
        calls.fold(stack, |stack, site| self.stacks.id(stack, *site))
    }

    /// Sites of the calls that were inlined at `pc`.
    fn new_inlined(&mut self, pc: u64) -> Rc<[SiteId]> {
        let point = self.memory.modules.point(pc);
        let calls = point.iter().flat_map(|point| &point.inlined);
        let sites: Rc<[SiteId]> = calls.map(|call| self.sites.id(call)).collect();
        self.inlined.insert(pc, Rc::clone(&sites));
        sites
    }

    /// Start of the function with machine code that holds the call that returns to `pc`.
    pub fn function_of(&mut self, pc: u64) -> Option<u64> {
        self.site(pc).and_then(|known| known.function)
    }

    /// Notes the program counter of a thread in its innermost function.
    pub fn seen_at(&mut self, thread: usize, pc: u64) {
        let function = self.function_of(pc);
        let Some(top) = self
            .calls
            .get_mut(thread)
            .and_then(|calls| calls.frames.last_mut())
        else {
            return;
        };
        let code = self.entries.get(top.entry).and_then(|entry| entry.code);
        if function.is_some() && function == code {
            top.last_pc = pc;
        }
    }

    /// Number of the origin of a step at `pc`.
    #[inline(always)]
    pub fn origin_id(&mut self, thread: usize, pc: u64, step: RecordRole) -> OriginId {
        let calls = self.calls.get_mut(thread);
        let top = calls.and_then(|calls| calls.frames.last_mut());
        if let Some(top) = top
            && let Some(known) = self.recent_steps.get(step_slot(pc, top.stack))
            && known.pc == pc
            && known.entry == top.entry
            && known.stack == top.stack
        {
            top.last_pc = pc;
            return known.origin;
        }
        self.new_origin_id(thread, pc, step)
    }

    fn new_origin_id(&mut self, thread: usize, pc: u64, step: RecordRole) -> OriginId {
        let origin = self.origin(thread, pc, step);
        let origin = self.drafts.origin_id(origin);
        let site = self.site(pc).filter(|known| known.is_user);
        let calls = self.calls.get(thread);
        let top = calls.and_then(|calls| calls.frames.last());
        let Some((top, function)) = top.zip(site.and_then(|known| known.function)) else {
            return origin;
        };
        let code = self.entries.get(top.entry).and_then(|entry| entry.code);
        if let Some(known) = self
            .recent_steps
            .get_mut(step_slot(pc, top.stack))
            .filter(|_| code == Some(function))
        {
            *known = KnownStep {
                pc,
                entry: top.entry,
                stack: top.stack,
                origin,
            };
        }
        origin
    }

    /// Number of the origin of a thread's first step: the start routine itself is no instruction.
    pub fn origin_of_start(&mut self, thread: usize, pc: u64) -> OriginId {
        let origin = Origin {
            point: PointId(0),
            ..self.origin(thread, pc, RecordRole::of(RecordKind::Begin))
        };
        self.drafts.origin_id(origin)
    }

    /// The place in the user's code for a step at `pc`, with its stack and its instruction.
    pub fn origin(&mut self, thread: usize, pc: u64, step: RecordRole) -> Origin {
        let (site, stack, call) = self.place(thread, pc, step);
        let point = Some(self.point(pc)).filter(|point| !point.is_unknown());
        Origin {
            site,
            stack,
            point: point.unwrap_or_else(|| call.map_or(PointId(0), |call| self.point(call))),
        }
    }

    /// Site and stack for a step at `pc`, and the call in the innermost instrumented code that led to it, if that is
    /// not this code itself.
    fn place(
        &mut self,
        thread: usize,
        pc: u64,
        step: RecordRole,
    ) -> (SiteId, StackId, Option<u64>) {
        let top = self
            .calls
            .get(thread)
            .and_then(|calls| calls.frames.last().copied());
        let stack = top.map_or(StackId(0), |top| top.stack);
        let Some(KnownSite {
            site,
            is_user,
            function,
            ..
        }) = self.site(pc)
        else {
            // Not in any module, as when a wild pointer was called.
            let found = top.and_then(|top| self.walk_out(thread, top, (pc, step), None));
            return found.unwrap_or((SiteId(0), stack, None));
        };
        if is_user {
            self.return_to(thread, function);
            self.seen_at(thread, pc);
            let top = self.calls.get(thread).and_then(|calls| calls.frames.last());
            let stack = top.map_or(StackId(0), |top| top.stack);
            return (site, self.with_inlined(stack, pc), None);
        }
        top.and_then(|top| self.walk_out(thread, top, (pc, step), function))
            .unwrap_or((site, stack, None))
    }

    /// Removes frames that a thread has left without notice, as by `longjmp`: it is seen in a function further out.
    fn return_to(&mut self, thread: usize, function: Option<u64>) {
        let Some(calls) = self.calls.get_mut(thread) else {
            return;
        };
        let entries = &self.entries;
        let code = |frame: &OpenCall| entries.get(frame.entry).and_then(|entry| entry.code);
        if function.is_none() || calls.frames.last().is_none_or(|top| code(top) == function) {
            return;
        }
        if let Some(at) = calls
            .frames
            .iter()
            .rposition(|frame| code(frame) == function)
        {
            while calls.frames.len() > at + 1 {
                calls.leave();
            }
        }
    }

    /// Walks from system code to the call in the user's code that led there.
    fn walk_out(
        &mut self,
        thread: usize,
        top: OpenCall,
        (pc, step): (u64, RecordRole),
        function: Option<u64>,
    ) -> Option<(SiteId, StackId, Option<u64>)> {
        const MAX_STEPS: usize = 64;
        let code = self.entries.get(top.entry).and_then(|entry| entry.code);
        let mut call = None;
        if function.is_none() || function != code {
            // In a function that is not instrumented, called from the innermost one that is.
            let near;
            (near, call) = self.called_library(thread, top, pc, step);
            if let Some(site) = self.user_site(near) {
                return Some((site, self.with_inlined(top.stack, near), call));
            }
        }
        let depth = self.calls.get(thread)?.frames.len();
        for i in (0..depth).rev().take(MAX_STEPS) {
            let frames = &self.calls.get(thread)?.frames;
            let ret = frames.get(i)?.ret;
            let caller = i.checked_sub(1).and_then(|i| frames.get(i));
            let stack = caller.map_or(StackId(0), |caller| caller.stack);
            if let Some(site) = self.user_site(ret) {
                return Some((site, self.with_inlined(stack, ret), call));
            }
        }
        None
    }

    /// Address at which the innermost instrumented function called the library function of `pc`: the next such call
    /// in its code, or else the place where it was last seen; with that call, if it is known.
    fn called_library(
        &mut self,
        thread: usize,
        top: OpenCall,
        pc: u64,
        step: RecordRole,
    ) -> (u64, Option<u64>) {
        if step == RecordRole::Continued && top.library_pc == pc {
            return (top.last_pc, top.library_call);
        }
        let entry_pc = self.entries.get(top.entry).map_or(0, |entry| entry.pc);
        let near = if top.last_pc == 0 {
            entry_pc
        } else {
            top.last_pc
        };
        let key = (pc, near);
        let modules = &mut self.memory.modules;
        let call = self.library_calls.entry(key);
        let call = *call.or_insert_with(|| modules.call_into(pc, near));
        let frame = self
            .calls
            .get_mut(thread)
            .and_then(|calls| calls.frames.last_mut());
        if let Some(frame) = frame {
            (frame.library_pc, frame.library_call) = (pc, call);
        }
        let of_user = call.filter(|call| self.user_site(*call).is_some());
        if let Some(call) = of_user {
            self.seen_at(thread, call);
        }
        (of_user.unwrap_or(top.last_pc), call)
    }
}
