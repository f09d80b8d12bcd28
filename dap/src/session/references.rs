//! The ids by which the client names frames and variables, until the program moves.

use super::Failure;
use std::collections::BTreeMap;

/// A frame of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameKey {
    thread: u32,
    level: u32,
}

impl FrameKey {
    /// The options of a command about it.
    pub fn options(self) -> String {
        format!("--thread {} --frame {}", self.thread, self.level)
    }
}

/// Something that has variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holder {
    /// The arguments or the other variables of a function.
    Scope {
        /// The frame.
        frame: FrameKey,
        /// Its arguments, not its locals.
        arguments: bool,
    },
    /// A variable object of gdb's.
    Object(String),
}

/// The ids that the client knows.
#[derive(Default)]
pub struct References {
    frames: Vec<FrameKey>,
    holders: Vec<Holder>,
    /// Variable objects that are not children of others.
    pub roots: Vec<String>,
    /// Variable objects by holder and name.
    pub names: BTreeMap<(usize, String), String>,
}

impl References {
    /// Id of a frame.
    pub fn frame(&mut self, thread: u32, level: u32) -> usize {
        self.frames.push(FrameKey { thread, level });
        self.frames.len()
    }

    /// The frame of an id.
    pub fn known_frame(&self, id: usize) -> Result<FrameKey, Failure> {
        let frame = id.checked_sub(1).and_then(|at| self.frames.get(at));
        frame.copied().ok_or_else(outdated)
    }

    /// Id of a holder.
    pub fn hold(&mut self, holder: Holder) -> usize {
        self.holders.push(holder);
        self.holders.len()
    }

    /// The holder of an id.
    pub fn holder(&self, id: usize) -> Result<Holder, Failure> {
        let holder = id.checked_sub(1).and_then(|at| self.holders.get(at));
        holder.cloned().ok_or_else(outdated)
    }
}

/// Refusal of an id of a stop before this one.
pub fn outdated() -> Failure {
    Failure::Senseless("the program has moved since".to_owned())
}
