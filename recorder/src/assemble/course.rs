//! Follows a thread through the program's machine code by its notes, and yields the blocks that it entered.
//!
//! The code itself determines the way; where it depends on data there is a note. Between two notes nothing is to be
//! decided, so such a stretch is read once and kept.

use super::{image::Image, modules::Modules, walk::LogWalk};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use unsnarl_trace::raw::marks::Note;

/// The end of a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StretchEnd {
    /// A conditional jump: targets when taken and when not.
    Branch(u64, u64),
    /// A call: the function and the return address.
    Call(u64, u64),
    /// A call of code without notes that returns to this address.
    Away(u64),
    /// A jump whose target is noted.
    Jump,
    Return,
    /// Control goes to this function or place, which notes that.
    To(u64),
    /// A jump to code without notes.
    Leave,
    /// The code cannot be read, or nothing comes after it.
    Nowhere,
}

struct CodeStretch {
    /// Blocks in the order in which they are entered, by their addresses.
    blocks: Vec<u64>,
    end: StretchEnd,
}

/// The next place of a thread: an address, and `true` if a block begins there.
type NextPlace = (u64, bool);

/// Stretches by their starts.
#[derive(Default)]
pub(super) struct CodeStretches {
    known: FxHashMap<NextPlace, Rc<CodeStretch>>,
}

/// A step of a thread, in its order.
pub(super) enum PassedStep<'c> {
    /// The thread entered the block at this address.
    Block(u64),
    /// The thread's next step of synchronization; the calls around it return to these addresses, the innermost last.
    Step(&'c ThreadCourse),
    /// The notes make no sense from here on.
    Lost,
}

/// The position of a thread.
#[derive(Clone)]
enum ThreadPosition {
    /// In code without notes.
    Elsewhere,
    /// At the end of a stretch.
    End(Rc<CodeStretch>),
}

/// An entry of the stack of returns.
enum ReturnFrame {
    /// A call returns to this.
    Return(u64),
    /// A call of code without notes returns to this.
    Away(u64),
    /// The function was called from code without notes.
    Elsewhere,
    /// An interruption in the middle of a stretch, as by handlers of faults.
    Interrupted(ThreadPosition),
}

/// The position of a thread, with the calls that it is in.
pub(super) struct ThreadCourse {
    at: ThreadPosition,
    frames: Vec<ReturnFrame>,
    /// Returns of `setjmp`: number of frames, address, stack pointer.
    returns: Vec<(usize, u64, u32)>,
}

/// Blocks without a note between them after which a thread counts as being in a loop without notes.
const MOST_SILENT: usize = 100_000;
/// Bound for the instructions of a stretch.
const MOST_INSTRUCTIONS: usize = 1 << 16;

impl ThreadCourse {
    pub fn new() -> ThreadCourse {
        ThreadCourse {
            at: ThreadPosition::Elsewhere,
            frames: Vec::new(),
            returns: Vec::new(),
        }
    }

    /// Return addresses of the calls that the thread is in, the innermost first.
    pub fn callers(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().rev().filter_map(|frame| match frame {
            ReturnFrame::Return(to) | ReturnFrame::Away(to) => Some(*to),
            ReturnFrame::Elsewhere | ReturnFrame::Interrupted(_) => None,
        })
    }

    /// Follows all notes.
    pub fn follow(
        &mut self,
        code: &mut CodeStretches,
        walk: &mut LogWalk<'_>,
        notes: impl Iterator<Item = Note>,
        mut passed: impl FnMut(&mut LogWalk<'_>, PassedStep<'_>),
    ) {
        for note in notes {
            if note == Note::Sync {
                passed(walk, PassedStep::Step(self));
                continue;
            }
            let Some(to) = self.take(&mut walk.memory.modules, note) else {
                return passed(walk, PassedStep::Lost);
            };
            let mut next = to;
            // On to where the next note is needed.
            for _ in 0..MOST_SILENT {
                let Some(start) = next else { break };
                let stretch = code.stretch(&mut walk.memory.modules, start);
                for block in &stretch.blocks {
                    passed(walk, PassedStep::Block(*block));
                }
                self.at = ThreadPosition::End(stretch.clone());
                next = self.go_on(stretch.end);
                if let Some((on, _)) = next
                    && walk.memory.modules.is_noted(on)
                {
                    self.at = to_place(on);
                    next = None;
                }
            }
        }
    }

    /// The place at which a stretch goes on that needs no note.
    fn go_on(&mut self, end: StretchEnd) -> Option<NextPlace> {
        match end {
            StretchEnd::Call(to, back) => {
                self.frames.push(ReturnFrame::Return(back));
                Some((to, true))
            }
            StretchEnd::Away(back) => {
                self.frames.push(ReturnFrame::Away(back));
                self.at = ThreadPosition::Elsewhere;
                None
            }
            StretchEnd::Return | StretchEnd::Leave => match self.frames.pop() {
                Some(ReturnFrame::Return(to)) => Some((to, false)),
                Some(ReturnFrame::Interrupted(at)) => {
                    self.at = at;
                    None
                }
                _ => {
                    self.at = ThreadPosition::Elsewhere;
                    None
                }
            },
            _ => None,
        }
    }

    /// The place at which the thread goes on after this note, if that is code with notes; `None` if the note cannot
    /// stand here.
    fn take(&mut self, modules: &mut Modules<'_>, note: Note) -> Option<Option<NextPlace>> {
        let end = match &self.at {
            ThreadPosition::End(stretch) => Some(stretch.end),
            ThreadPosition::Elsewhere => None,
        };
        match (note, end) {
            (Note::Branch(taken), Some(StretchEnd::Branch(target, next))) => {
                Some(self.target(modules, if taken { target } else { next }))
            }
            (Note::Entered(lower), end) => {
                let function =
                    modules.landmark(lower, |image, at| image.landmarks.announced.contains(&at))?;
                match end {
                    Some(StretchEnd::To(to)) if to == function => {}
                    None => self.frames.push(ReturnFrame::Elsewhere),
                    Some(_) => self.frames.push(ReturnFrame::Interrupted(self.at.clone())),
                }
                Some(Some((function, true)))
            }
            (Note::Returned, None) => match self.frames.pop() {
                Some(ReturnFrame::Away(back)) => Some(Some((back, false))),
                _ => None,
            },
            (Note::Jumped(lower), Some(StretchEnd::Jump)) => {
                let target = modules.landmark(lower, |image, at| image.landmarks.holds(at));
                match target {
                    Some(target) => Some(self.target(modules, target)),
                    None => Some(self.go_on(StretchEnd::Leave)),
                }
            }
            (Note::Here(lower, stack), end) => {
                let at = modules.landmark(lower, |image, at| image.landmarks.here.contains(&at))?;
                self.come(modules, at, stack, end)?;
                Some(Some((at, true)))
            }
            _ => None,
        }
    }

    /// The place that a jump leads to, if that is code with notes; a function without notes returns in place of this
    /// one.
    fn target(&mut self, modules: &mut Modules<'_>, target: u64) -> Option<NextPlace> {
        let at = modules.locate(target)?;
        if !at.image.landmarks.holds(at.address) {
            return self.go_on(StretchEnd::Leave);
        }
        if at.image.landmarks.is_noted(at.address) {
            self.at = to_place(target);
            return None;
        }
        Some((target, true))
    }

    /// Moves control to this place: from the code before, from `setjmp`, by `longjmp` or an exception.
    fn come(
        &mut self,
        modules: &mut Modules<'_>,
        at: u64,
        stack: u32,
        end: Option<StretchEnd>,
    ) -> Option<()> {
        if end == Some(StretchEnd::To(at)) {
            return Some(());
        }
        if matches!(self.frames.last(), Some(ReturnFrame::Away(back)) if *back == at)
            && end.is_none()
        {
            self.frames.pop();
            self.returns.push((self.frames.len(), at, stack));
            return Some(());
        }
        let known = self.returns.iter().rev();
        let jump = known.copied().find(|(frames, place, pointer)| {
            *place == at && *pointer == stack && *frames <= self.frames.len()
        });
        if let Some((frames, ..)) = jump {
            self.frames.truncate(frames);
            self.returns.retain(|(depth, ..)| *depth <= frames);
            return Some(());
        }
        let handles = |frame: &ReturnFrame| match frame {
            ReturnFrame::Return(back) | ReturnFrame::Away(back) => {
                modules.handler(*back) == Some(at)
            }
            ReturnFrame::Elsewhere | ReturnFrame::Interrupted(_) => false,
        };
        let frame = self.frames.iter().rposition(handles)?;
        self.frames.truncate(frame);
        Some(())
    }
}

/// The position of a thread that is about to come to this place.
fn to_place(place: u64) -> ThreadPosition {
    ThreadPosition::End(Rc::new(CodeStretch {
        blocks: Vec::new(),
        end: StretchEnd::To(place),
    }))
}

impl CodeStretches {
    fn stretch(&mut self, modules: &mut Modules<'_>, start: NextPlace) -> Rc<CodeStretch> {
        if let Some(known) = self.known.get(&start) {
            return known.clone();
        }
        let stretch = Rc::new(read(modules, start).unwrap_or(CodeStretch {
            blocks: Vec::new(),
            end: StretchEnd::Nowhere,
        }));
        self.known.insert(start, stretch.clone());
        stretch
    }
}

fn read(modules: &mut Modules<'_>, (start, begins): NextPlace) -> Option<CodeStretch> {
    let at = modules.locate(start)?;
    let bias = start.wrapping_sub(at.address);
    let mut reader = CourseReader {
        image: &at.image,
        bias,
        blocks: Vec::new(),
        seen: FxHashSet::default(),
        left: MOST_INSTRUCTIONS,
    };
    let end = reader.read((at.address, begins));
    Some(CodeStretch {
        blocks: reader.blocks,
        end,
    })
}

struct CourseReader<'i> {
    image: &'i Image,
    bias: u64,
    blocks: Vec<u64>,
    seen: FxHashSet<u64>,
    left: usize,
}

impl CourseReader<'_> {
    fn read(&mut self, start: NextPlace) -> StretchEnd {
        let mut next = start;
        loop {
            match self.straight(next) {
                Ok(target) => next = target,
                Err(end) => return end,
            }
        }
    }

    /// Reads up to a jump that is always taken, and returns its target, or else the end of the stretch.
    fn straight(&mut self, (start, begins): NextPlace) -> Result<NextPlace, StretchEnd> {
        let marks = &self.image.landmarks;
        if !self.seen.insert(start) {
            return Err(StretchEnd::Nowhere);
        }
        if begins {
            self.block(start);
        }
        let code = self.image.code_at(start).ok_or(StretchEnd::Nowhere)?;
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() && self.left > 0 {
            let ip = decoder.ip();
            if ip != start {
                if marks.is_noted(ip) {
                    return Err(StretchEnd::To(ip.wrapping_add(self.bias)));
                }
                if marks.leaders.contains(&ip) {
                    self.block(ip);
                }
            }
            if let Some(end) = marks.pieces.get(&ip).filter(|end| **end > ip) {
                return Ok((*end, marks.leaders.contains(end)));
            }
            self.left -= 1;
            decoder.decode_out(&mut instruction);
            match instruction.flow_control() {
                FlowControl::Next => {}
                FlowControl::ConditionalBranch => {
                    // Others are ours, for when the memory is full.
                    if marks.branches.contains(&ip) {
                        let to = |at: u64| at.wrapping_add(self.bias);
                        let target = instruction.near_branch_target();
                        return Err(StretchEnd::Branch(to(target), to(instruction.next_ip())));
                    }
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    if let Some(end) = self.call(&instruction) {
                        return Err(end);
                    }
                }
                _ if marks.jumps.contains(&ip) => return Err(StretchEnd::Jump),
                FlowControl::UnconditionalBranch => {
                    let target = instruction.near_branch_target();
                    if !marks.holds(target) {
                        return Err(StretchEnd::Leave);
                    }
                    if marks.is_noted(target) {
                        return Err(StretchEnd::To(target.wrapping_add(self.bias)));
                    }
                    return Ok((target, true));
                }
                FlowControl::Return => return Err(StretchEnd::Return),
                _ => return Err(StretchEnd::Nowhere),
            }
        }
        Err(StretchEnd::Nowhere)
    }

    fn block(&mut self, address: u64) {
        self.blocks.push(address.wrapping_add(self.bias));
    }

    /// The end of a stretch at a call; `None` for calls that are known not to return to code with notes.
    fn call(&self, call: &Instruction) -> Option<StretchEnd> {
        let marks = &self.image.landmarks;
        let back = call.next_ip();
        let to = |at: u64| at.wrapping_add(self.bias);
        if marks.returns.contains(&back) || marks.here.contains(&back) {
            return Some(StretchEnd::Away(to(back)));
        }
        let target = call.near_branch_target();
        let is_direct = call.flow_control() == FlowControl::Call && marks.is_function(target);
        is_direct.then(|| StretchEnd::Call(to(target), to(back)))
    }
}
