//! Saturation of an order graph: from-read edges, and mutual exclusion of critical sections.

use super::{
    graph::{Conflict, Consequence, EdgeReason, PrecedenceGraph},
    problem::{LockedNodes, SectionsOfLock, StepsId, SymbolRead, Write},
};

type NewEdge = (StepsId, StepsId, EdgeReason);

/// The edges that one pass over the choices and critical sections adds; a contradiction where a node would
/// precede itself. Time in proportion to choices and sections, times chains, times a logarithm.
pub(super) fn what_follows(graph: &PrecedenceGraph) -> Result<Vec<NewEdge>, Conflict> {
    let mut new = Vec::new();
    for choice in graph.chosen {
        if let Consequence::Reads(read, write) = choice.what {
            reads(graph, choice.literal, read, write, &mut new)?;
        }
    }
    for lock in &graph.problem.locks {
        sections(graph, lock, &mut new);
    }
    Ok(new)
}

/// Phi_rw: every other write of the cell is before the read's source, or after the read.
fn reads(
    graph: &PrecedenceGraph,
    literal: u32,
    read: SymbolRead,
    write: Option<StepsId>,
    new: &mut Vec<NewEdge>,
) -> Result<(), Conflict> {
    let Some(chains) = graph.problem.writes.get(read.cell.index()) else {
        return Ok(());
    };
    for (chain, writes) in chains.iter().enumerate() {
        before_read(graph, literal, (read.node, write), (chain, writes), new)?;
        after_write(graph, literal, (read.node, write), writes, new);
    }
    Ok(())
}

/// Orders the last write of a chain before the read to be before the read's source.
fn before_read(
    graph: &PrecedenceGraph,
    literal: u32,
    (read, write): (StepsId, Option<StepsId>),
    (chain, writes): (usize, &[Write]),
    new: &mut Vec<NewEdge>,
) -> Result<(), Conflict> {
    let clock = graph.clock(read, chain);
    let count = writes.partition_point(|other| graph.problem.spot(other.node).1 < clock);
    // A read-modify-write does not read what it writes.
    let mut earlier = writes.get(..count).unwrap_or(&[]).iter().rev();
    let Some(other) = earlier.find(|other| other.node != read) else {
        return Ok(());
    };
    match write {
        None => Err(graph.contradiction(&[literal], Some((other.node, read)))),
        Some(write) if other.node == write || graph.is_before(other.node, write) => Ok(()),
        Some(write) => {
            let path = Some((other.node, read));
            let why = EdgeReason::Follows(Some(literal), path, graph.known());
            new.push((other.node, write, why));
            Ok(())
        }
    }
}

/// Orders the first write of a chain after the read's source to be after the read.
fn after_write(
    graph: &PrecedenceGraph,
    literal: u32,
    (read, write): (StepsId, Option<StepsId>),
    writes: &[Write],
    new: &mut Vec<NewEdge>,
) {
    let later = match write {
        None => writes.iter().find(|other| other.node != read),
        Some(write) => {
            let is_not_after = |other: &Write| !graph.is_before(write, other.node);
            let start = writes.partition_point(is_not_after);
            let later = writes.get(start..).unwrap_or(&[]).iter();
            later.into_iter().find(|other| other.node != read)
        }
    };
    if let Some(later) = later
        && !graph.is_before(read, later.node)
    {
        let path = write.map(|write| (write, later.node));
        let why = EdgeReason::Follows(Some(literal), path, graph.known());
        new.push((read, later.node, why));
    }
}

/// Orders a critical section that begins before another one of the lock ends to end before the other begins.
fn sections(graph: &PrecedenceGraph, lock: &SectionsOfLock, new: &mut Vec<NewEdge>) {
    for section in lock.all.iter().flatten() {
        let Some(end) = section.to else {
            continue;
        };
        let others = match section.is_shared {
            true => &lock.exclusive,
            false => &lock.all,
        };
        for others in others {
            if others
                .first()
                .is_some_and(|other| other.thread != section.thread)
            {
                last_before(graph, section, end, others, new);
            }
        }
    }
}

fn last_before(
    graph: &PrecedenceGraph,
    section: &LockedNodes,
    end: StepsId,
    others: &[LockedNodes],
    new: &mut Vec<NewEdge>,
) {
    let count = others.partition_point(|other| graph.is_before(other.from, end));
    let earlier = count.checked_sub(1).and_then(|last| others.get(last));
    if let Some(other) = earlier
        && let Some(to) = other.to
        && !graph.is_before(to, section.from)
    {
        let why = EdgeReason::Follows(None, Some((other.from, end)), graph.known());
        new.push((to, section.from, why));
    }
}
