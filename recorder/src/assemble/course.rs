//! Follows a thread through the program's machine code by its notes, and yields the blocks that it entered.
//!
//! The code itself determines the way; where it depends on data there is a note. Between two notes nothing is to be
//! decided, so such a stretch is read once and kept.

use super::{image::Image, modules::Modules, walk::Walk};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use unsnarl_trace::raw::marks::Note;

/// The end of a stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
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

struct Stretch {
    /// Blocks in the order in which they are entered, by their addresses.
    blocks: Vec<u64>,
    end: End,
}

/// The next place of a thread: an address, and `true` if a block begins there.
type Next = (u64, bool);

/// Stretches by their starts.
#[derive(Default)]
pub(super) struct Code {
    known: FxHashMap<Next, Rc<Stretch>>,
}

/// A step of a thread, in its order.
pub(super) enum Passed<'c> {
    /// The thread entered the block at this address.
    Block(u64),
    /// The thread's next step of synchronization; the calls around it return to these addresses, the innermost last.
    Step(&'c Course),
    /// The notes make no sense from here on.
    Lost,
}

/// The position of a thread.
#[derive(Clone)]
enum At {
    /// In code without notes.
    Elsewhere,
    /// At the end of a stretch.
    End(Rc<Stretch>),
}

/// An entry of the stack of returns.
enum Frame {
    /// A call returns to this.
    Return(u64),
    /// A call of code without notes returns to this.
    Away(u64),
    /// The function was called from code without notes.
    Elsewhere,
    /// An interruption in the middle of a stretch, as by handlers of faults.
    Interrupted(At),
}

/// The position of a thread, with the calls that it is in.
pub(super) struct Course {
    at: At,
    frames: Vec<Frame>,
    /// Returns of `setjmp`: number of frames, address, stack pointer.
    returns: Vec<(usize, u64, u32)>,
}

/// Blocks without a note between them after which a thread counts as being in a loop without notes.
const MOST_SILENT: usize = 100_000;
/// Bound for the instructions of a stretch.
const MOST_INSTRUCTIONS: usize = 1 << 16;

impl Course {
    pub fn new() -> Course {
        Course {
            at: At::Elsewhere,
            frames: Vec::new(),
            returns: Vec::new(),
        }
    }

    /// Return addresses of the calls that the thread is in, the innermost first.
    pub fn callers(&self) -> impl Iterator<Item = u64> {
        self.frames.iter().rev().filter_map(|frame| match frame {
            Frame::Return(to) | Frame::Away(to) => Some(*to),
            Frame::Elsewhere | Frame::Interrupted(_) => None,
        })
    }

    /// Follows all notes.
    pub fn follow(
        &mut self,
        code: &mut Code,
        walk: &mut Walk<'_>,
        notes: impl Iterator<Item = Note>,
        mut passed: impl FnMut(&mut Walk<'_>, Passed<'_>),
    ) {
        for note in notes {
            if note == Note::Sync {
                passed(walk, Passed::Step(self));
                continue;
            }
            let Some(to) = self.take(&mut walk.memory.modules, note) else {
                return passed(walk, Passed::Lost);
            };
            let mut next = to;
            // On to where the next note is needed.
            for _ in 0..MOST_SILENT {
                let Some(start) = next else { break };
                let stretch = code.stretch(&mut walk.memory.modules, start);
                for block in &stretch.blocks {
                    passed(walk, Passed::Block(*block));
                }
                self.at = At::End(stretch.clone());
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
    fn go_on(&mut self, end: End) -> Option<Next> {
        match end {
            End::Call(to, back) => {
                self.frames.push(Frame::Return(back));
                Some((to, true))
            }
            End::Away(back) => {
                self.frames.push(Frame::Away(back));
                self.at = At::Elsewhere;
                None
            }
            End::Return | End::Leave => match self.frames.pop() {
                Some(Frame::Return(to)) => Some((to, false)),
                Some(Frame::Interrupted(at)) => {
                    self.at = at;
                    None
                }
                _ => {
                    self.at = At::Elsewhere;
                    None
                }
            },
            _ => None,
        }
    }

    /// The place at which the thread goes on after this note, if that is code with notes; `None` if the note cannot
    /// stand here.
    fn take(&mut self, modules: &mut Modules<'_>, note: Note) -> Option<Option<Next>> {
        let end = match &self.at {
            At::End(stretch) => Some(stretch.end),
            At::Elsewhere => None,
        };
        match (note, end) {
            (Note::Branch(taken), Some(End::Branch(target, next))) => {
                Some(self.target(modules, if taken { target } else { next }))
            }
            (Note::Entered(lower), end) => {
                let function =
                    modules.landmark(lower, |image, at| image.landmarks.announced.contains(&at))?;
                match end {
                    Some(End::To(to)) if to == function => {}
                    None => self.frames.push(Frame::Elsewhere),
                    Some(_) => self.frames.push(Frame::Interrupted(self.at.clone())),
                }
                Some(Some((function, true)))
            }
            (Note::Returned, None) => match self.frames.pop() {
                Some(Frame::Away(back)) => Some(Some((back, false))),
                _ => None,
            },
            (Note::Jumped(lower), Some(End::Jump)) => {
                let target = modules.landmark(lower, |image, at| image.landmarks.holds(at));
                match target {
                    Some(target) => Some(self.target(modules, target)),
                    None => Some(self.go_on(End::Leave)),
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
    fn target(&mut self, modules: &mut Modules<'_>, target: u64) -> Option<Next> {
        let at = modules.locate(target)?;
        if !at.image.landmarks.holds(at.address) {
            return self.go_on(End::Leave);
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
        end: Option<End>,
    ) -> Option<()> {
        if end == Some(End::To(at)) {
            return Some(());
        }
        if matches!(self.frames.last(), Some(Frame::Away(back)) if *back == at) && end.is_none() {
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
        let handles = |frame: &Frame| match frame {
            Frame::Return(back) | Frame::Away(back) => modules.handler(*back) == Some(at),
            Frame::Elsewhere | Frame::Interrupted(_) => false,
        };
        let frame = self.frames.iter().rposition(handles)?;
        self.frames.truncate(frame);
        Some(())
    }
}

/// The position of a thread that is about to come to this place.
fn to_place(place: u64) -> At {
    At::End(Rc::new(Stretch {
        blocks: Vec::new(),
        end: End::To(place),
    }))
}

impl Code {
    fn stretch(&mut self, modules: &mut Modules<'_>, start: Next) -> Rc<Stretch> {
        if let Some(known) = self.known.get(&start) {
            return known.clone();
        }
        let stretch = Rc::new(read(modules, start).unwrap_or(Stretch {
            blocks: Vec::new(),
            end: End::Nowhere,
        }));
        self.known.insert(start, stretch.clone());
        stretch
    }
}

fn read(modules: &mut Modules<'_>, (start, begins): Next) -> Option<Stretch> {
    let at = modules.locate(start)?;
    let bias = start.wrapping_sub(at.address);
    let mut reader = Reader {
        image: &at.image,
        bias,
        blocks: Vec::new(),
        seen: FxHashSet::default(),
        left: MOST_INSTRUCTIONS,
    };
    let end = reader.read((at.address, begins));
    Some(Stretch {
        blocks: reader.blocks,
        end,
    })
}

struct Reader<'i> {
    image: &'i Image,
    bias: u64,
    blocks: Vec<u64>,
    seen: FxHashSet<u64>,
    left: usize,
}

impl Reader<'_> {
    fn read(&mut self, start: Next) -> End {
        let mut next = start;
        loop {
            match self.straight(next) {
                Ok(target) => next = target,
                Err(end) => return end,
            }
        }
    }

    /// Reads up to a jump that is always taken, and returns its target, or else the end of the stretch.
    fn straight(&mut self, (start, begins): Next) -> Result<Next, End> {
        let marks = &self.image.landmarks;
        if !self.seen.insert(start) {
            return Err(End::Nowhere);
        }
        if begins {
            self.block(start);
        }
        let code = self.image.code_at(start).ok_or(End::Nowhere)?;
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() && self.left > 0 {
            let ip = decoder.ip();
            if ip != start {
                if marks.is_noted(ip) {
                    return Err(End::To(ip.wrapping_add(self.bias)));
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
                        return Err(End::Branch(to(target), to(instruction.next_ip())));
                    }
                }
                FlowControl::Call | FlowControl::IndirectCall => {
                    if let Some(end) = self.call(&instruction) {
                        return Err(end);
                    }
                }
                _ if marks.jumps.contains(&ip) => return Err(End::Jump),
                FlowControl::UnconditionalBranch => {
                    let target = instruction.near_branch_target();
                    if !marks.holds(target) {
                        return Err(End::Leave);
                    }
                    if marks.is_noted(target) {
                        return Err(End::To(target.wrapping_add(self.bias)));
                    }
                    return Ok((target, true));
                }
                FlowControl::Return => return Err(End::Return),
                _ => return Err(End::Nowhere),
            }
        }
        Err(End::Nowhere)
    }

    fn block(&mut self, address: u64) {
        self.blocks.push(address.wrapping_add(self.bias));
    }

    /// The end of a stretch at a call; `None` for calls that are known not to return to code with notes.
    fn call(&self, call: &Instruction) -> Option<End> {
        let marks = &self.image.landmarks;
        let back = call.next_ip();
        let to = |at: u64| at.wrapping_add(self.bias);
        if marks.returns.contains(&back) || marks.here.contains(&back) {
            return Some(End::Away(to(back)));
        }
        let target = call.near_branch_target();
        let is_direct = call.flow_control() == FlowControl::Call && marks.is_function(target);
        is_direct.then(|| End::Call(to(target), to(back)))
    }
}
