//! Calls of functions, as far as a run shows them: there are no events for entry and return, but each event
//! has its function and the calls that led there.

use rustc_hash::FxHashMap;
use unsnarl_trace::{IndexVec, Run, StackId};

/// The open calls of each thread while its events are walked in order.
///
/// Two calls in a row from the same place look the same, and so does a loop: when the first site of a call
/// comes again, a new one is taken to begin.
pub(super) struct CallsInProgress<'a> {
    run: &'a Run,
    /// Number of each site's function.
    functions: Vec<u32>,
    depths: IndexVec<StackId, u32>,
    open: Vec<Vec<TracedCall>>,
    count: u32,
}

#[derive(Clone, Copy)]
struct TracedCall {
    stack: u32,
    function: u32,
    first_site: u32,
    number: u32,
}

impl<'a> CallsInProgress<'a> {
    pub fn new(run: &'a Run) -> CallsInProgress<'a> {
        let mut numbers: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        let sites = run.meta.sites.iter();
        let functions = sites.map(|site| {
            let next = numbers.len() as u32;
            *numbers.entry((&site.file, &site.function)).or_insert(next)
        });
        let functions = functions.collect();
        let mut depths: IndexVec<StackId, u32> = IndexVec::new();
        for (stack, frame) in run.meta.frames.iter_enumerated() {
            let is_root = stack == StackId(0);
            depths.push(if is_root { 0 } else { depths[frame.0] + 1 });
        }
        CallsInProgress {
            run,
            functions,
            depths,
            open: Vec::new(),
            count: 0,
        }
    }

    /// The call that contains the next event of the thread; numbers are never reused.
    pub fn of(&mut self, thread: u16, site: u32, stack: u32) -> u32 {
        let function = self
            .functions
            .get(site as usize)
            .copied()
            .unwrap_or(u32::MAX);
        if self.open.len() <= usize::from(thread) {
            self.open.resize_with(usize::from(thread) + 1, Vec::new);
        }
        let Some(open) = self.open.get_mut(usize::from(thread)) else {
            return 0;
        };
        let goes_on = |call: &&TracedCall| {
            call.stack == stack && call.function == function && call.first_site != site
        };
        if let Some(call) = open.last().filter(goes_on) {
            return call.number;
        }
        let mut open = std::mem::take(open);
        while open
            .last()
            .is_some_and(|call| self.over(call, stack, function))
        {
            open.pop();
        }
        let number = match open.last().filter(goes_on) {
            Some(call) => call.number,
            None => {
                open.pop_if(|call| call.stack == stack);
                self.count += 1;
                open.push(TracedCall {
                    stack,
                    function,
                    first_site: site,
                    number: self.count,
                });
                self.count
            }
        };
        if let Some(slot) = self.open.get_mut(usize::from(thread)) {
            *slot = open;
        }
        number
    }

    /// Returns whether a call is over: an event with this stack in this function cannot be in it or in its
    /// callees.
    fn over(&self, call: &TracedCall, stack: u32, function: u32) -> bool {
        if call.stack == stack {
            return call.function != function;
        }
        let depth = |stack: u32| match stack {
            0 => 0,
            stack => self.depths[StackId(stack)],
        };
        let mut at = stack;
        while depth(at) > depth(call.stack) {
            at = self.run.meta.frame(StackId(at)).0.0;
        }
        at != call.stack
    }
}
