//! Loops of a run: the loop, and its iteration, that contains each row.
//!
//! LOCON finds loops by dominators in the program's control flow and keeps a stack of entries and iterations
//! for each thread. Three sources could serve here. Branch events name exactly the block that was entered,
//! but ordinary runs have none: they are recorded when a run is replayed with them. Debug info names lines,
//! not loops, and a run from another tool has none. Every run has the sequence of places (call stack, site,
//! kind) that a thread passed, and a place can recur on the same call stack only by a loop. So loops are
//! found in the trace: the place that repeats is the *entry*, the rows between two visits are the *body*, and
//! each visit begins an *iteration*; leaving the body ends the loop. The scheme is LOCON's, nested loops
//! included, but based on the executed rather than the possible paths.
//!
//! Two things are invisible to it: a loop that accesses nothing but the data of one expression (the same
//! place directly again on another location is taken for one expression, or a walk over data), and the
//! difference between a loop and a function that runs again where call stacks were not recorded.

use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{EventKind, Run, SiteId, StackId};

/// Bound on the nesting; deeper nests are taken for one loop of this depth, since the source never nests
/// loops so deep, only branches that look like loops do.
const DEEPEST: usize = 6;

/// Marks a node that was not found yet.
const NONE: u32 = u32::MAX;

/// An iteration of a loop, or a whole thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LoopNode {
    /// The enclosing iteration; the node itself for a thread.
    parent: u32,
    /// Number of the loop's entry place; 0 for a thread.
    entry: u32,
    /// Iteration number from 1; 0 for a thread.
    iteration: u32,
    depth: u32,
}

/// Loop iteration that contains a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Iteration {
    /// Call stack of the loop's entry.
    pub stack: StackId,
    /// Site of the loop's entry.
    pub entry: SiteId,
    /// Iteration number from 1.
    pub number: u32,
}

/// The loops of a run.
#[derive(Debug, Default)]
pub struct Loops {
    nodes: Vec<LoopNode>,
    /// The innermost iteration of each row.
    of_row: Vec<u32>,
    /// Places by number; 0 is none.
    places: Vec<LoopPlace>,
}

/// Call stack, site and kind.
type LoopPlace = (u32, u32, u8);

impl Loops {
    /// Finds the loops of every thread in two passes over the rows.
    pub fn new(run: &Run) -> Loops {
        let (steps, places) = steps(run);
        let mut loops = Loops {
            nodes: Vec::new(),
            of_row: vec![NONE; run.events.len()],
            places,
        };
        let enter = |steps: &Vec<LoopStep>| loops.enter(steps, &Bodies::of(steps));
        let whole: Vec<u32> = steps.iter().map(enter).collect();
        // A row that is no step is in no loop.
        for (innermost, &thread) in loops.of_row.iter_mut().zip(run.events.threads()) {
            if *innermost == NONE {
                *innermost = whole.get(usize::from(thread)).copied().unwrap_or(0);
            }
        }
        loops
    }

    /// The innermost loop that a row is in; none outside of loops.
    pub fn innermost(&self, row: usize) -> Option<Iteration> {
        let node = self.node(*self.of_row.get(row)?)?;
        let (stack, entry, _) = *self.places.get(node.entry as usize)?;
        (node.iteration > 0).then_some(Iteration {
            stack: StackId(stack),
            entry: SiteId(entry),
            number: node.iteration,
        })
    }

    /// The iterations around a row from the inside out, the thread last, each with the entry of the loop
    /// inside it that contains the row; 0 for none.
    pub fn around(&self, row: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let innermost = self.of_row.get(row).copied();
        let mut next = innermost.map(|node| (node, 0));
        std::iter::from_fn(move || {
            let (at, within) = next?;
            let node = self.node(at)?;
            next = (node.parent != at).then_some((node.parent, node.entry));
            Some((at, within))
        })
    }

    /// Returns whether two rows of one thread are in the same iteration of every loop around both.
    pub fn are_together(&self, a: usize, b: usize) -> bool {
        self.around(a).any(|(node, within)| {
            self.around(b).any(|(other, inside)| {
                node == other && (within == 0 || inside == 0 || within != inside)
            })
        })
    }

    /// Number of iterations and threads: an exclusive bound of the numbers that [`Loops::around`] gives.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    fn node(&self, at: u32) -> Option<LoopNode> {
        self.nodes.get(at as usize).copied()
    }

    fn add(&mut self, node: LoopNode) -> u32 {
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// Second pass: enters and leaves the loops of one thread. Returns the node of the thread.
    fn enter(&mut self, steps: &[LoopStep], bodies: &Bodies) -> u32 {
        let thread = LoopNode {
            parent: self.nodes.len() as u32,
            entry: 0,
            iteration: 0,
            depth: 0,
        };
        let thread = self.add(thread);
        let mut top = thread;
        for step in steps {
            if !step.again {
                top = self.leave(top, step.place, bodies);
                top = self.begin(top, step.place, bodies);
            }
            if let Some(slot) = self.of_row.get_mut(step.row as usize) {
                *slot = top;
            }
        }
        thread
    }

    /// Leaves the loops that do not contain the place.
    fn leave(&self, mut top: u32, place: u32, bodies: &Bodies) -> u32 {
        while let Some(node) = self.node(top).filter(|node| node.iteration > 0)
            && !bodies.body.contains(&(node.entry, place))
        {
            top = node.parent;
        }
        top
    }

    /// Enters the loop that the place begins, or its next iteration.
    fn begin(&mut self, top: u32, place: u32, bodies: &Bodies) -> u32 {
        if !bodies.entries.contains(&place) {
            return top;
        }
        let mut at = top;
        while let Some(node) = self.node(at).filter(|node| node.iteration > 0) {
            if node.entry == place {
                let iteration = node.iteration + 1;
                return self.add(LoopNode { iteration, ..node });
            }
            at = node.parent;
        }
        let depth = self.node(top).map_or(0, |node| node.depth) + 1;
        if depth as usize > DEEPEST {
            return top;
        }
        self.add(LoopNode {
            parent: top,
            entry: place,
            iteration: 1,
            depth,
        })
    }
}

/// A row of a thread.
#[derive(Clone, Copy)]
struct LoopStep {
    row: u32,
    place: u32,
    /// `true` if it belongs to the preceding step: another piece of one access, or the same place on another
    /// location.
    again: bool,
}

/// The rows of each thread, with the numbers of their places.
fn steps(run: &Run) -> (Vec<Vec<LoopStep>>, Vec<LoopPlace>) {
    let events = &run.events;
    let mut numbers: FxHashMap<LoopPlace, u32> = FxHashMap::default();
    let mut places = vec![(0, 0, 0)];
    let mut steps: Vec<Vec<LoopStep>> = Vec::new();
    let mut before: Vec<(u32, u32)> = Vec::new();
    let columns = events.threads().iter().zip(events.kinds());
    let columns = columns.zip(events.sites()).zip(events.stacks());
    let rows = columns.zip(events.locations()).enumerate();
    for (row, ((((&thread, &kind), &site), &stack), &location)) in rows {
        let thread = usize::from(thread);
        if steps.len() <= thread {
            steps.resize_with(thread + 1, Vec::new);
            before.resize(thread + 1, (0, 0));
        }
        if site == 0 || kind == EventKind::Branch as u8 {
            continue;
        }
        let place = *numbers.entry((stack, site, kind)).or_insert_with(|| {
            places.push((stack, site, kind));
            places.len() as u32 - 1
        });
        let (Some(steps), Some(before)) = (steps.get_mut(thread), before.get_mut(thread)) else {
            continue;
        };
        let again = before.0 == place && before.1 != location;
        *before = (place, location);
        steps.push(LoopStep {
            row: row as u32,
            place,
            again,
        });
    }
    (steps, places)
}

/// Bodies of the loops of a thread.
#[derive(Default)]
struct Bodies {
    entries: FxHashSet<u32>,
    /// Pairs of entry and place.
    body: FxHashSet<(u32, u32)>,
}

impl Bodies {
    /// First pass: keeps the places of the current iteration; a place that recurs begins the next one.
    fn of(steps: &[LoopStep]) -> Bodies {
        let mut bodies = Bodies::default();
        let mut path: Vec<(u32, usize)> = Vec::new();
        let mut on_path: FxHashMap<u32, usize> = FxHashMap::default();
        for (now, step) in steps.iter().enumerate().filter(|(_, step)| !step.again) {
            let Some(&at) = on_path.get(&step.place) else {
                on_path.insert(step.place, path.len());
                path.push((step.place, now));
                continue;
            };
            for (place, _) in path.drain(at + 1..) {
                on_path.remove(&place);
            }
            if let Some((_, since)) = path.last_mut() {
                let body = steps.get(*since..now).unwrap_or(&[]);
                *since = now;
                bodies.entries.insert(step.place);
                let places = body.iter().map(|inside| (step.place, inside.place));
                bodies.body.extend(places);
            }
        }
        bodies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    /// For each row: `entry line:iteration`, from the outside in.
    fn loops(text: &str) -> String {
        let run = run(text);
        let loops = Loops::new(&run);
        let of_row = |row: usize| {
            let mut around: Vec<String> = Vec::new();
            let mut at = loops.of_row[row];
            while loops.nodes[at as usize].iteration > 0 {
                let node = loops.nodes[at as usize];
                let (_, site, _) = loops.places[node.entry as usize];
                let line = run.meta.site(SiteId(site)).line;
                around.insert(0, format!("{line}:{}", node.iteration));
                at = node.parent;
            }
            around.join("/")
        };
        let rows: Vec<String> = (0..run.events.len()).map(of_row).collect();
        rows.join(" ")
    }

    #[test]
    fn straight_code_has_none() {
        assert_eq!(loops("main W a @1\nmain W b @2\nmain.1 W a @1"), "  ");
    }

    #[test]
    fn iterations_are_counted_from_the_first() {
        let twice = "main R a @1\nmain W b @2\n".repeat(2);
        assert_eq!(loops(&format!("{twice}main R c @9")), "1:1 1:1 1:2 1:2 ");
    }

    #[test]
    fn inner_loops_begin_anew_in_every_outer_one() {
        let outer = "main R a @1\nmain R b @2\nmain R b @2\n";
        assert_eq!(
            loops(&outer.repeat(2)),
            "1:1 1:1/2:1 1:1/2:2 1:2 1:2/2:1 1:2/2:2"
        );
    }

    #[test]
    fn one_expression_on_two_locations_is_no_loop() {
        assert_eq!(loops("main R a @1\nmain R b @1\nmain W c @2"), "  ");
    }

    #[test]
    fn calls_from_two_places_are_no_loop() {
        let text = "main W a via=8@main @1 f\nmain W a via=9@main @1 f";
        assert_eq!(loops(text), " ");
        assert_eq!(
            loops("main W a via=8@main @1 f\n".repeat(2).trim()),
            "1:1 1:2"
        );
    }

    #[test]
    fn rows_are_together_in_one_iteration_only() {
        // Outer loop at 1 with an inner one at 2, and a row behind it.
        let text = "main R a @1\nmain R b @2\nmain R b @2\nmain W c @3\n".repeat(2);
        let loops = Loops::new(&run(&text));
        for (a, b, together) in [
            (0, 1, true),
            (0, 2, true),
            (1, 2, false),
            (1, 3, true),
            (0, 4, false),
            (3, 5, false),
            (5, 7, true),
            (5, 5, true),
        ] {
            assert_eq!(loops.are_together(a, b), together, "{a} {b}");
            assert_eq!(loops.are_together(b, a), together, "{b} {a}");
        }
        assert_eq!(loops.innermost(6).unwrap().number, 2);
        assert!(Loops::new(&run("main R a @1")).innermost(0).is_none());
    }
}
