//! The order of conflicting events of a run, as a hash: runs with equal hashes are the same run as
//! far as the program can tell (one *Mazurkiewicz trace*), however their independent steps interleave.
//!
//! Two events conflict when one thread does both, or when both use one location or object and one of
//! them changes it. So an order is what each thread does, and for each object its changes in order with
//! the reads between them; which read comes first is nobody's business. Both are hashed in one pass.

use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use unsnarl_trace::{Event, EventKind, Run};

/// What an event does to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    /// Commutes with others of its kind.
    Looks,
    /// Commutes with nothing.
    Changes,
}

/// The objects that events of a run use. Each location is one; each heap block that is freed is another,
/// which all accesses to its parts look at: what comes before the `free` is not what comes after it.
pub(super) struct Objects {
    locations: usize,
    /// By location: the location of the freed block that it is a part of.
    blocks: Vec<Option<u32>>,
}

impl Objects {
    pub fn new(run: &Run) -> Objects {
        let mut freed: FxHashMap<&str, u32> = FxHashMap::default();
        let columns = run.events.kinds().iter().zip(run.events.locations());
        for (_, location) in columns.filter(|(kind, _)| **kind == EventKind::Free as u8) {
            if let Some(name) = run.locations.get(*location as usize) {
                freed.entry(name).or_insert(*location);
            }
        }
        let block = |name: &String| {
            let mut ends = name.match_indices(')');
            ends.find_map(|(at, _)| freed.get(name.get(..=at)?).copied())
        };
        let blocks = match freed.is_empty() {
            true => Vec::new(),
            false => run.locations.iter().map(block).collect(),
        };
        Objects {
            locations: run.locations.len(),
            blocks,
        }
    }

    /// How many there can be.
    pub fn len(&self) -> usize {
        2 * self.locations
    }

    /// The objects that an event uses.
    pub fn of(&self, event: &Event) -> impl Iterator<Item = (usize, Touch)> {
        let location = event.location.index();
        let block = self.blocks.get(location).copied().flatten();
        let block = block.map(|block| self.locations + block as usize);
        let known = location != 0 && location < self.locations;
        let own = touch(event.kind)
            .filter(|_| known)
            .map(|touch| (location, touch));
        let block = match event.kind {
            EventKind::Free => block.map(|block| (block, Touch::Changes)),
            kind if kind.is_access() => block.map(|block| (block, Touch::Looks)),
            _ => None,
        };
        own.into_iter().chain(block)
    }
}

/// What an event does to its location; `None` when it does not use it together with others.
fn touch(kind: EventKind) -> Option<Touch> {
    use EventKind as K;
    match kind {
        K::Read | K::AtomicRead | K::SharedLock | K::SharedUnlock | K::TryLockFailed => {
            Some(Touch::Looks)
        }
        K::OncePass => Some(Touch::Looks),
        K::Write | K::AtomicWrite | K::Rmw | K::Lock | K::Unlock => Some(Touch::Changes),
        K::Wait | K::Wake | K::Signal | K::Broadcast => Some(Touch::Changes),
        K::BarrierArrive | K::BarrierLeave | K::SemWait | K::SemPost => Some(Touch::Changes),
        K::OnceBegin | K::OnceEnd => Some(Touch::Changes),
        // A block has its own object, the others no partner in another thread but the one that they
        // cannot be exchanged with.
        K::Alloc | K::Free | K::Fork | K::Join | K::Begin | K::End | K::Fence => None,
        K::LockWait | K::Yield | K::Branch | K::Blocked | K::Failure => None,
    }
}

/// Says nothing about what the program does: that it had to wait, or was let wait.
fn is_noise(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::LockWait | EventKind::Yield | EventKind::Blocked
    )
}

/// What has been hashed of an object: its changes in order, and the reads since the last one.
#[derive(Clone, Copy, Default)]
struct Chain {
    changes: u64,
    looks: u64,
}

/// The hash of a run's order of conflicting events, 16 hexadecimal digits. Does not depend on how
/// threads and locations are numbered.
pub fn order_hash(run: &Run) -> String {
    let names: Vec<u64> = run.locations.iter().map(|name| text(name)).collect();
    let sites: Vec<u64> = run.meta.sites.iter().map(site).collect();
    let threads: Vec<u64> = run.meta.threads.iter().map(|row| text(&row.name)).collect();
    let at = |table: &[u64], index: usize| table.get(index).copied().unwrap_or(0);
    let objects = Objects::new(run);
    let mut chains = vec![Chain::default(); objects.len()];
    let mut paths = vec![0u64; threads.len().max(1)];
    for (_, event) in run.events.iter().filter(|(_, event)| !is_noise(event.kind)) {
        let Some(path) = paths.get_mut(event.thread.index()) else {
            continue;
        };
        let what = u64::from(event.size) << 8 | event.kind as u64;
        *path = mix(*path, mix(at(&sites, event.site.index()), what));
        *path = mix(*path, at(&names, event.location.index()));
        let id = mix(at(&threads, event.thread.index()), *path);
        for (object, touch) in objects.of(&event) {
            let Some(chain) = chains.get_mut(object) else {
                continue;
            };
            match touch {
                Touch::Looks => chain.looks = chain.looks.wrapping_add(mix(id, 1)),
                Touch::Changes => {
                    chain.changes = mix(mix(chain.changes, chain.looks), id);
                    chain.looks = 0;
                }
            }
        }
    }
    let paths = paths
        .iter()
        .zip(&threads)
        .map(|(path, name)| mix(*name, *path));
    let ends = chains.iter().enumerate().map(|(object, chain)| {
        let name = at(&names, object % objects.locations.max(1));
        match (chain.changes, chain.looks) {
            (0, 0) => 0,
            (changes, looks) => mix(mix(name, changes), looks),
        }
    });
    let sum = paths.chain(ends).fold(0u64, u64::wrapping_add);
    let mut hash = String::with_capacity(16);
    // Writing to a `String` cannot fail.
    let _ = write!(hash, "{:016x}", mix(sum, 2));
    hash
}

/// One multiplication to 128 bits, folded: every bit of either side reaches every bit of the result.
fn mix(a: u64, b: u64) -> u64 {
    let wide = u128::from(a ^ 0x9E37_79B9_7F4A_7C15) * u128::from(b ^ 0xD1B5_4A32_D192_ED03);
    let folded = (wide >> 64) as u64 ^ wide as u64;
    (folded ^ a.rotate_left(23)).wrapping_mul(0xA24B_AED4_963E_E407) ^ (folded >> 31)
}

fn text(text: &str) -> u64 {
    text.bytes()
        .fold(text.len() as u64, |hash, byte| mix(hash, u64::from(byte)))
}

fn site(row: &unsnarl_trace::SiteRow) -> u64 {
    let place = u64::from(row.line) << 32 | u64::from(row.column);
    mix(mix(text(&row.file), text(&row.function)), place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use unsnarl_trace::{
        EventId, Events, LocationId, PointId, RunMeta, SiteId, SiteRow, StackId, ThreadId,
        ThreadRow,
    };

    /// Kinds of the small traces: reads, writes, a lock, and what is passed over.
    const KINDS: [EventKind; 7] = [
        EventKind::Read,
        EventKind::Write,
        EventKind::Lock,
        EventKind::Unlock,
        EventKind::SharedLock,
        EventKind::Yield,
        EventKind::Free,
    ];
    const NAMES: [&str; 4] = [
        "",
        "x",
        "heap(a.c:1 by main #0)",
        "heap(a.c:1 by main #0)+8",
    ];

    type Step = (u16, usize, u32, u32);

    fn run(steps: &[Step]) -> Run {
        let row = |(thread, kind, location, site): &Step| Event {
            seq: 0,
            thread: ThreadId(*thread),
            kind: KINDS[*kind],
            site: SiteId(*site),
            location: LocationId(*location),
            size: 4,
            flags: 0,
            value: None,
            old: None,
            stack: StackId(0),
            point: PointId(0),
        };
        let rows: Vec<Event> = steps.iter().map(row).collect();
        let site = |line| SiteRow {
            line,
            ..SiteRow::default()
        };
        Run {
            meta: RunMeta {
                threads: ["main", "main.1", "main.2"]
                    .map(|name| ThreadRow {
                        name: name.into(),
                        ..ThreadRow::default()
                    })
                    .to_vec(),
                sites: (0..3).map(site).collect(),
                ..RunMeta::default()
            },
            locations: NAMES.map(str::to_owned).to_vec(),
            events: Events::from_rows(&rows),
            damage: Vec::new(),
        }
    }

    /// Who does what, and which conflicting events come before which, written down in full.
    #[derive(PartialEq, Eq, Debug)]
    struct Naive {
        paths: Vec<Vec<(EventKind, u32, u32)>>,
        before: BTreeSet<((u16, usize), (u16, usize))>,
    }

    fn conflict(a: &Event, b: &Event) -> bool {
        let block = |event: &Event| event.location.0 >= 2;
        let freed = |event: &Event| event.kind == EventKind::Free;
        if freed(a) || freed(b) {
            // A block that is freed and a part of it, or the two frees.
            let of_block =
                |e: &Event| e.location.0 == 2 && freed(e) || block(e) && e.kind.is_access();
            return of_block(a) && of_block(b) && (freed(a) || freed(b));
        }
        let looks = |event: &Event| matches!(event.kind, EventKind::Read | EventKind::SharedLock);
        a.location == b.location && a.location.0 != 0 && !(looks(a) && looks(b))
    }

    fn naive(run: &Run) -> Naive {
        let events: Vec<Event> = run.events.iter().map(|(_, event)| event).collect();
        let events: Vec<&Event> = events
            .iter()
            .filter(|event| !is_noise(event.kind))
            .collect();
        let mut paths = vec![Vec::new(); 3];
        let mut named = Vec::new();
        for event in events {
            let path: &mut Vec<_> = &mut paths[event.thread.index()];
            named.push(((event.thread.0, path.len()), event));
            path.push((event.kind, event.location.0, event.site.0));
        }
        let mut before = BTreeSet::new();
        for (i, (a, first)) in named.iter().enumerate() {
            for (b, second) in named.iter().skip(i + 1) {
                if a.0 != b.0 && conflict(first, second) {
                    before.insert((*a, *b));
                }
            }
        }
        Naive { paths, before }
    }

    /// Frees only the block itself.
    fn sound(step: &Step) -> Step {
        match KINDS[step.1] {
            EventKind::Free => (step.0, step.1, 2, step.3),
            _ => *step,
        }
    }

    proptest! {
        /// Exchanges neighbours of a trace here and there: about half of the results are the same order.
        #[test]
        fn equal_hashes_for_equal_orders_only(
            steps in proptest::collection::vec((0u16..3, 0..KINDS.len(), 0u32..4, 0u32..3), 1..14),
            swaps in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
        ) {
            let steps: Vec<Step> = steps.iter().map(sound).collect();
            let mut other = steps.clone();
            for swap in swaps {
                let at = swap.index(other.len());
                if at > 0 && other[at].0 != other[at - 1].0 {
                    other.swap(at, at - 1);
                }
            }
            let (one, two) = (run(&steps), run(&other));
            prop_assert_eq!(order_hash(&one) == order_hash(&two), naive(&one) == naive(&two));
        }
    }

    #[test]
    fn reads_commute_and_writes_do_not() {
        let hash = |steps: &[Step]| order_hash(&run(steps));
        assert_eq!(
            hash(&[(0, 0, 1, 1), (1, 0, 1, 1)]),
            hash(&[(1, 0, 1, 1), (0, 0, 1, 1)])
        );
        assert_ne!(
            hash(&[(0, 1, 1, 1), (1, 0, 1, 1)]),
            hash(&[(1, 0, 1, 1), (0, 1, 1, 1)])
        );
        assert_ne!(hash(&[(0, 1, 1, 1)]), hash(&[(1, 1, 1, 1)]));
    }

    #[test]
    fn a_use_after_free_is_another_order() {
        let hash = |steps: &[Step]| order_hash(&run(steps));
        assert_ne!(
            hash(&[(0, 6, 2, 1), (1, 0, 3, 1)]),
            hash(&[(1, 0, 3, 1), (0, 6, 2, 1)])
        );
    }

    #[test]
    fn an_empty_run_has_a_hash() {
        assert_eq!(order_hash(&run(&[])).len(), 16);
        assert!(run(&[]).events.get(EventId(0)).is_none());
    }
}
