//! Shadow call stacks: the functions in which each thread is, from the entries and exits in the log.

use super::{
    cfi::CfaAt,
    dwarf::{FrameBase, FrameVariable},
    image::Image,
    modules::Modules,
    names,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use unsnarl_trace::{FrameRow, SiteId, StackId};

/// A function as seen at the callback on its entry.
pub(super) struct EntryPoint {
    /// Return address of the callback on entry.
    pub pc: u64,
    pub name: String,
    /// Start of the machine code, by the file's own addresses.
    pub code: Option<u64>,
    /// The source of the function is the user's.
    pub is_user: bool,
    pub image: Option<Arc<Image>>,
    function: Option<u32>,
    rule: Option<CfaAt>,
    frame_base: FrameBase,
}

impl EntryPoint {
    fn unknown() -> EntryPoint {
        EntryPoint {
            pc: 0,
            name: "?".to_owned(),
            code: None,
            is_user: false,
            image: None,
            function: None,
            rule: None,
            frame_base: FrameBase::Cfa,
        }
    }

    fn at(modules: &mut Modules<'_>, pc: u64) -> EntryPoint {
        let point = modules.point(pc);
        let Some(at) = modules.locate(pc.wrapping_sub(1)) else {
            return EntryPoint::unknown();
        };
        let function = at.image.function(at.address);
        let symbol = at.image.code_symbol(at.address);
        let lambda = symbol
            .map(|(symbol, _)| symbol.name())
            .filter(|name| names::is_lambda(name));
        let name = match (lambda, function, symbol) {
            (Some(lambda), ..) => names::lambda(lambda),
            (_, Some((_, function)), _) => function.name.clone(),
            (.., Some((symbol, _))) => symbol.name().to_owned(),
            _ => "?".to_owned(),
        };
        EntryPoint {
            pc,
            name,
            code: point.as_ref().and_then(|point| point.function),
            is_user: point.is_some_and(|point| point.is_user_function),
            function: function.map(|(index, _)| index),
            rule: at.image.cfa_rule(at.address),
            frame_base: function.map_or(FrameBase::Cfa, |(_, function)| function.frame_base),
            image: Some(at.image),
        }
    }

    /// The lambda that a library's template runs in a new thread, which optimized code has no function of its own for.
    pub fn lambda(&self) -> Option<String> {
        let image = self.image.as_ref()?;
        let (symbol, _) = image.code_symbol(self.code?)?;
        names::lambda_within(symbol.name())
    }

    /// The canonical frame address, and the address from which frame variables count.
    fn bases(&self, sp: u64, fp: u64) -> (u64, u64) {
        let cfa = match self.rule {
            Some(CfaAt::StackPointer(offset)) => sp.wrapping_add_signed(offset),
            Some(CfaAt::FramePointer(offset)) => fp.wrapping_add_signed(offset),
            // As with a frame pointer, if there seems to be one.
            None if fp >= sp && fp - sp < 1 << 20 => fp.saturating_add(16),
            None => sp,
        };
        let base = match self.frame_base {
            FrameBase::Cfa => cfa,
            FrameBase::FramePointer(offset) => fp.wrapping_add_signed(offset),
            FrameBase::StackPointer(offset) => sp.wrapping_add_signed(offset),
        };
        (cfa, base)
    }

    fn variables(&self) -> &[FrameVariable] {
        match (&self.image, self.function) {
            (Some(image), Some(function)) => image.variables(function),
            _ => &[],
        }
    }

    /// The variable at an offset from the frame base, with its index.
    pub fn variable(&self, offset: i64) -> Option<(u32, &FrameVariable)> {
        let holds = |variable: &FrameVariable| {
            let into = offset
                .checked_sub(variable.offset)
                .and_then(|n| u64::try_from(n).ok());
            into.is_some_and(|into| into < variable.size)
        };
        (0u32..)
            .zip(self.variables())
            .find(|(_, variable)| holds(variable))
    }

    /// Offset of the next variable behind an offset.
    pub fn next_variable(&self, offset: i64) -> Option<i64> {
        let begins = self.variables().iter().map(|variable| variable.offset);
        begins.filter(|begin| *begin > offset).min()
    }
}

/// A call in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCall {
    /// Index of the [`EntryPoint`].
    pub entry: u32,
    /// Stack pointer at the callback on entry: the frame lies above it.
    pub sp: u64,
    /// Canonical frame address: the frame lies below it.
    pub cfa: u64,
    /// Address from which frame variables count.
    pub base: u64,
    pub stack: StackId,
    /// Return address into the caller.
    pub ret: u64,
    /// Program counter in this function at which the thread was last seen.
    pub last_pc: u64,
    /// Program counter in a called library at which the thread was last seen.
    pub library_pc: u64,
    /// The call of the library in which it was seen there, if it is known.
    pub library_call: Option<u64>,
    /// Number of outer calls of the same function in which the thread already was.
    pub occurrence: u32,
    /// Number of the call among those of the thread.
    pub number: u64,
    /// The block that it entered last, when blocks are recorded.
    pub block: u64,
}

/// The calls that one thread is in, outermost first.
#[derive(Default)]
pub(super) struct Calls {
    pub frames: Vec<OpenCall>,
    /// Live calls by entry point.
    live: Vec<u32>,
    /// Number of calls so far.
    count: u64,
}

/// Bound for the depth of calls; deeper ones are not noted: no real program has them.
const MAX_DEPTH: usize = 1 << 20;

impl Calls {
    /// Enters a function; the caller's side is filled in by [`Walk::called_from`](super::walk::Walk).
    pub fn enter(&mut self, points: &[EntryPoint], entry: u32, sp: u64, fp: u64) {
        // Frames below this one were left without notice, as by `longjmp`.
        while self.frames.last().is_some_and(|frame| frame.sp <= sp) {
            self.leave();
        }
        if self.frames.len() >= MAX_DEPTH {
            return;
        }
        let Some(point) = points.get(entry as usize) else {
            return;
        };
        let (cfa, base) = point.bases(sp, fp);
        if self.live.len() <= entry as usize {
            self.live.resize(entry as usize + 1, 0);
        }
        let live = self.live.get_mut(entry as usize);
        let occurrence = live.map_or(0, |live| std::mem::replace(live, *live + 1));
        let stack = self.frames.last().map_or(StackId(0), |caller| caller.stack);
        let frame = OpenCall {
            entry,
            sp,
            cfa,
            base,
            stack,
            ret: 0,
            last_pc: 0,
            library_pc: 0,
            library_call: None,
            occurrence,
            number: self.count,
            block: 0,
        };
        self.count += 1;
        self.frames.push(frame);
    }

    /// Returns whether the call of this number goes on.
    pub fn is_in(&self, number: u64) -> bool {
        let found = self
            .frames
            .binary_search_by_key(&number, |frame| frame.number);
        found.is_ok()
    }

    /// Leaves the innermost function.
    pub fn leave(&mut self) -> Option<OpenCall> {
        let frame = self.frames.pop()?;
        if let Some(live) = self.live.get_mut(frame.entry as usize) {
            *live = live.saturating_sub(1);
        }
        Some(frame)
    }

    /// The innermost frame that holds an address of this stack.
    pub fn frame_at(&self, address: u64) -> Option<&OpenCall> {
        let below = self.frames.partition_point(|frame| frame.sp > address);
        let frame = self.frames.get(below);
        match frame {
            Some(frame) if address < frame.cfa => Some(frame),
            // Between two frames: memory that the outer one took after its entry.
            _ => self.frames.get(below.checked_sub(1)?),
        }
    }
}

/// Entry points of a run by program counter.
#[derive(Default)]
pub(super) struct EntryPoints {
    pub list: Vec<EntryPoint>,
    ids: FxHashMap<u64, u32>,
}

impl EntryPoints {
    pub fn id(&mut self, modules: &mut Modules<'_>, pc: u64) -> u32 {
        *self.ids.entry(pc).or_insert_with(|| {
            self.list.push(EntryPoint::at(modules, pc));
            self.list.len() as u32 - 1
        })
    }

    pub fn get(&self, id: u32) -> Option<&EntryPoint> {
        self.list.get(id as usize)
    }
}

/// The tree of call stacks of a run; row 0 is the root.
pub(super) struct StackTable {
    pub rows: Vec<FrameRow>,
    ids: FxHashMap<(StackId, SiteId), StackId>,
    /// Calls were left out because the table was full.
    pub is_cut: bool,
}

/// Bound for the rows of the table.
const MAX_STACKS: usize = 65_536;

impl Default for StackTable {
    fn default() -> StackTable {
        StackTable {
            rows: vec![FrameRow::default()],
            ids: FxHashMap::default(),
            is_cut: false,
        }
    }
}

impl StackTable {
    /// The stack of a function called at `site` by one with stack `caller`; when the table is full,
    /// the caller's.
    pub fn id(&mut self, caller: StackId, site: SiteId) -> StackId {
        if let Some(id) = self.ids.get(&(caller, site)) {
            return *id;
        }
        if self.rows.len() >= MAX_STACKS {
            self.is_cut = true;
            return caller;
        }
        let id = StackId(self.rows.len() as u32);
        self.rows.push(FrameRow(caller, site));
        self.ids.insert((caller, site), id);
        id
    }
}
