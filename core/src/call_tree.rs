//! Calls of functions: which rows of a thread belong to one of them.

use crate::callers::{common_sites, is_update};
use unsnarl_trace::{EventId, FrameRow, Run, StackId};

/// A call of a function, by the calls that lead to it.
#[derive(Clone, Copy)]
struct Call {
    stack: StackId,
    /// The number of calls that lead to it.
    depth: u32,
    /// The call of the function that called it; of the outermost its own.
    caller: u32,
}

/// The calls of functions in one run. A stack tells from where a function was called, but not how often: it was left where
/// the thread did something in another function that a caller called. What the caller does itself is no sign of that, since
/// compilers mix the instructions of inlined functions with those around them.
#[derive(Default)]
pub struct CallTree {
    calls: Vec<Call>,
    /// The call that each row belongs to.
    of: Vec<u32>,
}

impl CallTree {
    /// Finds the calls of a run, in one pass over its rows.
    #[must_use]
    pub fn of(run: &Run) -> CallTree {
        let depths = depths(run);
        let mut tree = CallTree::default();
        // The calls that are open in each thread, outermost first.
        let mut open: Vec<Vec<u32>> = Vec::new();
        let events = &run.events;
        for (thread, stack) in events.threads().iter().zip(events.stacks()) {
            let thread = usize::from(*thread);
            if open.len() <= thread {
                open.resize_with(thread + 1, Vec::new);
            }
            let call = match open.get_mut(thread) {
                Some(open) => tree.enter(run, &depths, open, StackId(*stack)),
                None => 0,
            };
            tree.of.push(call);
        }
        tree
    }

    /// The open call of a stack, which is opened with its callers where it is none.
    fn enter(&mut self, run: &Run, depths: &[u32], open: &mut Vec<u32>, stack: StackId) -> u32 {
        let (mut missing, mut at) = (Vec::new(), stack);
        let known = loop {
            let depth = depth_of(depths, at) as usize;
            let known = open.get(depth).copied();
            if known.is_some_and(|call| self.stack(call) == Some(at)) {
                break depth + 1;
            }
            missing.push(at);
            if at == StackId(0) {
                break 0;
            }
            at = run.meta.frame(at).0;
        };
        if missing.is_empty() {
            return open.get(known - 1).copied().unwrap_or_default();
        }
        open.truncate(known);
        for stack in missing.into_iter().rev() {
            let new = self.calls.len() as u32;
            self.calls.push(Call {
                stack,
                depth: depth_of(depths, stack),
                caller: open.last().copied().unwrap_or(new),
            });
            open.push(new);
        }
        open.last().copied().unwrap_or_default()
    }

    fn call(&self, call: u32) -> Option<Call> {
        self.calls.get(call as usize).copied()
    }

    fn stack(&self, call: u32) -> Option<StackId> {
        Some(self.call(call)?.stack)
    }

    /// Returns whether the second row belongs to another visit of the same lines: to the next iteration of a loop, or to
    /// another call of the innermost function that leads to both.
    #[must_use]
    pub fn comes_again(&self, run: &Run, first: EventId, second: EventId) -> bool {
        common_sites(run, first, second).is_some_and(|(a, b)| {
            let (of_a, of_b) = (run.meta.site(a), run.meta.site(b));
            of_b.line < of_a.line
                || a == b && !is_update(run, first, second)
                || !self.is_one_call(first, second)
        })
    }

    /// Returns whether the innermost function that leads to both rows of a thread was called once for them.
    fn is_one_call(&self, first: EventId, second: EventId) -> bool {
        let of = |row: EventId| self.of.get(row.0 as usize).copied();
        let (Some(mut a), Some(mut b)) = (of(first), of(second)) else {
            return true;
        };
        while let (Some(of_a), Some(of_b)) = (self.call(a), self.call(b)) {
            if of_a.stack == of_b.stack || of_a.depth == 0 && of_b.depth == 0 {
                break;
            }
            let (deep_a, deep_b) = (of_a.depth >= of_b.depth, of_b.depth >= of_a.depth);
            a = if deep_a { of_a.caller } else { a };
            b = if deep_b { of_b.caller } else { b };
        }
        a == b
    }
}

/// The number of calls on each stack.
fn depths(run: &Run) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(run.meta.frames.len());
    for (at, FrameRow(caller, _)) in run.meta.frames.iter().enumerate() {
        let known = depths.get(caller.0 as usize).map_or(0, |depth| depth + 1);
        depths.push(if at == 0 { 0 } else { known });
    }
    depths
}

fn depth_of(depths: &[u32], stack: StackId) -> u32 {
    depths.get(stack.0 as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::script;

    /// Returns whether the last row is of another visit than the first one.
    fn again(steps: &str) -> bool {
        let run = script::parse(steps).expect("a script");
        let last = EventId(run.events.len() as u32 - 1);
        CallTree::of(&run).comes_again(&run, EventId(0), last)
    }

    #[test]
    fn a_loop_comes_again() {
        assert!(again("main.1 W n =1 @10 f\nmain.1 W n =2 @10 f\n"));
        assert!(again("main.1 W n =1 @12 f\nmain.1 W n =2 @10 f\n"));
        assert!(!again("main.1 W n =1 @10 f\nmain.1 W n =2 @12 f\n"));
        assert!(!again("main.1 R n =1 @10 f\nmain.1 W n =2 @10 f\n"));
    }

    /// `rename` finds a name at line 114 and looks for the new one at line 120: of two calls, if its caller made another
    /// call in between.
    #[test]
    fn a_function_that_was_left_is_called_again() {
        let found = "main.1 R n =1 via=114@rename,18@edit @37 find\n";
        let sought = "main.1 R n =0 via=120@rename,18@edit @37 find\n";
        let created = "main.1 R n =1 via=16@edit @77 create\n";
        let own = "main.1 R n =1 @15 edit\n";
        let other = "main.2 R n =1 via=16@edit @77 create\n";
        let inner = "main.1 R n =1 via=117@rename,18@edit @23 drop\n";
        assert!(again(&[found, created, sought].concat()));
        for between in [own, other, inner] {
            assert!(!again(&[found, between, sought].concat()), "{between}");
        }
    }

    #[test]
    fn what_the_callers_of_callers_do_is_seen() {
        let one = "main.1 R n =1 via=5@inner,6@outer,7@run @1 leaf\n";
        let two = "main.1 R n =1 via=8@inner,6@outer,7@run @2 leaf\n";
        let left = "main.1 R n =1 via=9@run @3 elsewhere\n";
        assert!(again(&[one, left, two].concat()));
        let within = "main.1 R n =1 via=6@outer,7@run @4 inner\n";
        assert!(!again(&[one, within, two].concat()));
    }
}
