//! Predictable pairs (LOCON, Section 4.1 and Figure 3).
//!
//! A pair is predictable by another when the other's presence implies its own: with `h1` before `h2` in
//! one thread and `t2` before `t1` in the other, `h2 -> t2` forces `h1 -> t1`. If the inner pair were the bug, its
//! reverse would be harmless and some passing run would show the outer pair; so the inner one goes.

use unsnarl_trace::EventId;

/// An occurrence of a pair: rows and threads of head and tail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Row of the head.
    pub head: EventId,
    /// Thread of the head.
    pub head_thread: u16,
    /// Row of the tail.
    pub tail: EventId,
    /// Thread of the tail.
    pub tail_thread: u16,
}

/// For each occurrence: is there another one that it makes predictable? Those are the ones to drop.
pub fn implies_another(occurrences: &[Occurrence]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..occurrences.len()).collect();
    let at = |i: &usize| occurrences.get(*i).copied();
    order.sort_by_key(|i| {
        at(i).map(|o| {
            (
                o.head_thread,
                o.tail_thread,
                o.head,
                std::cmp::Reverse(o.tail),
            )
        })
    });
    let mut drop = vec![false; occurrences.len()];
    let mut widest: Option<Occurrence> = None;
    for i in &order {
        let Some(now) = at(i) else { continue };
        let same =
            |o: &Occurrence| o.head_thread == now.head_thread && o.tail_thread == now.tail_thread;
        match widest.filter(same) {
            Some(outer)
                if outer.tail > now.tail || outer.tail == now.tail && outer.head < now.head =>
            {
                if let Some(drop) = drop.get_mut(*i) {
                    *drop = true;
                }
            }
            Some(outer) if outer.tail == now.tail => {}
            _ => widest = Some(now),
        }
    }
    drop
}
