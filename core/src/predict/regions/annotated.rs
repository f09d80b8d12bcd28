//! Regions that the user declares atomic.

use super::AtomicRegion;
use unsnarl_trace::{EventId, FrameRow, Run, SiteId, SiteRow, StackId, ThreadId};

/// A function or lines that should be atomic, including everything they call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Annotation {
    /// Calls of a function, by its name as the run has it.
    Function(String),
    /// Lines of a file, whose name may leave out the folders.
    Lines {
        /// The file.
        file: String,
        /// First line.
        first: u32,
        /// Last line.
        last: u32,
    },
}

impl Annotation {
    fn covers(&self, site: &SiteRow) -> bool {
        match self {
            Annotation::Function(name) => site.function == *name,
            Annotation::Lines { file, first, last } => {
                let rest = site.file.strip_suffix(file.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
                    && (*first..=*last).contains(&site.line)
            }
        }
    }
}

/// A thread inside an annotated place.
struct Inside {
    stack: u32,
    first_site: u32,
    region: AtomicRegion,
}

/// For each annotation the stretches in which threads are inside: from an event at a covered place, or below
/// a call from there, to the last consecutive such event. When the first place recurs, a new call or the next
/// iteration of a loop begins.
pub(super) fn stretches(run: &Run, annotations: &[Annotation]) -> Vec<AtomicRegion> {
    annotations
        .iter()
        .flat_map(|annotation| of_one(run, annotation))
        .collect()
}

fn of_one(run: &Run, annotation: &Annotation) -> Vec<AtomicRegion> {
    let covered: Vec<bool> = run
        .meta
        .sites
        .iter()
        .map(|site| annotation.covers(site))
        .collect();
    let is_covered = |site: SiteId| covered.get(site.index()).copied().unwrap_or(false);
    let outermost = outermost(run, is_covered);
    let mut inside: Vec<Option<Inside>> = Vec::new();
    let mut done = Vec::new();
    let events = &run.events;
    let columns = events
        .threads()
        .iter()
        .zip(events.sites().iter().zip(events.stacks()));
    for (row, (&thread, (&site, &stack))) in (0..).map(EventId).zip(columns) {
        if inside.len() <= usize::from(thread) {
            inside.resize_with(usize::from(thread) + 1, || None);
        }
        let Some(slot) = inside.get_mut(usize::from(thread)) else {
            continue;
        };
        let above = outermost.get(stack as usize).copied().flatten();
        let here = above.or(is_covered(SiteId(site)).then_some(stack));
        match (here, &mut *slot) {
            (Some(stack), Some(open)) if open.stack == stack && open.first_site != site => {
                open.region.last = row;
            }
            (here, slot) => {
                let next = here.map(|stack| Inside {
                    stack,
                    first_site: site,
                    region: AtomicRegion {
                        thread: ThreadId(thread),
                        first: row,
                        last: row,
                    },
                });
                done.extend(std::mem::replace(slot, next).map(|open| open.region));
            }
        }
    }
    done.extend(inside.into_iter().flatten().map(|open| open.region));
    done
}

/// For each stack the callers of the outermost call made from a covered place, if there is one.
fn outermost(run: &Run, is_covered: impl Fn(SiteId) -> bool) -> Vec<Option<u32>> {
    let mut outermost: Vec<Option<u32>> = Vec::with_capacity(run.meta.frames.len());
    for (stack, &FrameRow(caller, site)) in run.meta.frames.iter().enumerate() {
        let StackId(caller) = caller;
        let above = outermost.get(caller as usize).copied().flatten();
        let here = (stack != 0 && is_covered(site)).then_some(caller);
        outermost.push(above.or(here));
    }
    outermost
}
