//! The critical sections that a recorded run would have with a fix applied: one for each time a thread passes
//! through the lines, as edited, beside the sections of the lock that the edit leaves alone.

use super::{Fix, GuardedLines, gaps, mutexes, recorded::RecordedSections, text::change::EMPTY};
use crate::{
    callers::call_sites,
    facts::{self, family},
};
use rustc_hash::FxHashMap;
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};
use unsnarl_trace::{Event, EventId, EventKind, Location, LocationId, Run, SiteId};

/// Statements that an edit makes one critical section.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditRegion {
    /// The lines.
    pub lines: GuardedLines,
    /// `true` if the section begins with a statement that acquires the lock already.
    pub opens: bool,
    /// `true` if an object holds the lock until the end of its scope, and the earlier objects are removed.
    pub is_scoped: bool,
    /// The line on which the object goes that holds the lock, or 0: what is called there is called with the lock held, as
    /// destructors of objects of these lines.
    pub ends: u32,
    /// `true` if the statement that acquires it did so for reading, and now does for writing.
    pub for_writing: bool,
    /// The statements in order.
    pub parts: Vec<RegionStatement>,
}

/// A statement of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionStatement {
    /// Its first line.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// `true` if it contains a loop: its lines may recur within one section.
    pub is_loop: bool,
}

/// A span of a thread's rows in which it holds the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockSpan {
    pub first: u32,
    pub last: u32,
    pub thread: u16,
    /// The lock, where it is one of several of the same name; none when unknown.
    pub lock: Option<u32>,
    /// `true` for reading only.
    pub is_shared: bool,
    /// `true` if the edit makes it.
    pub is_new: bool,
}

/// Self-deadlock of the fixed program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Again {
    /// The lock is held already where the edit acquires it, on this line, since that one.
    Held { line: u32, since: u32 },
    /// The line acquires the lock that the edit holds there.
    Taken { line: u32 },
}

/// The sections, by their start.
#[derive(Default, Debug)]
pub(super) struct LockSections {
    pub spans: Vec<LockSpan>,
    pub again: Option<Again>,
}

/// Number of the lock that a fix declares: all its sections share it.
const NEW: u32 = u32::MAX;

/// Finds the sections of the fix's lock in this run. Linear in the run.
pub(super) fn sections(fix: &Fix, run: &Run) -> LockSections {
    if !fix.gaps.is_empty() {
        return LockSections {
            spans: gaps::sections(fix, run, &RecordedSections::of(fix, run)),
            again: None,
        };
    }
    let regions = regions(fix);
    let mut walk = SectionWalk::new(fix, &regions, run);
    for (row, event) in run.events.iter() {
        walk.step(row, &event);
    }
    walk.finish()
}

/// The regions of the fix; lines that exclude each other are regions of one statement where nothing more is
/// known.
fn regions(fix: &Fix) -> Vec<EditRegion> {
    if !fix.regions.is_empty() {
        return fix.regions.clone();
    }
    let one = |lines: &GuardedLines| EditRegion {
        lines: lines.clone(),
        opens: false,
        is_scoped: false,
        ends: 0,
        for_writing: false,
        parts: vec![RegionStatement {
            first: lines.first,
            last: lines.last,
            is_loop: true,
        }],
    };
    fix.exclusive.iter().map(one).collect()
}

/// Position of a step in a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Hit {
    region: usize,
    part: usize,
    /// Number of frames outside of the region's function: together they identify one call of it.
    depth: usize,
    /// The line of a call that leads into the same regions once more, when they are nested.
    again: Option<u32>,
    /// `true` if it is in a statement that the edit removes.
    is_removed: bool,
    /// `true` if it is in a function that the region calls.
    is_called: bool,
}

/// Position of a step relative to the regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Where {
    /// The debug info does not say where it is.
    Unknown,
    Outside,
    In(Hit),
}

/// An access: site, stack, kind and location.
type AccessIdentity = (u32, u32, u8, u32);

/// A region that a thread is in.
struct OpenSection {
    hit: Hit,
    callers: Vec<SiteId>,
    /// The part in which this round began: another round begins there, too.
    from: usize,
    /// Start of the section, while the lock is held.
    since: Option<u32>,
    /// The last row in the region.
    last: u32,
    lock: Option<u32>,
    /// Number of times that the thread has taken the lock again meanwhile, where it may.
    nested: u32,
    is_shared: bool,
    /// Accesses of this iteration, with the last step of each.
    seen: BTreeMap<AccessIdentity, u32>,
    /// The first of them.
    first: Option<AccessIdentity>,
    /// Number of the step: it is another one at another line or call, and after a write.
    step: u32,
    /// Line and call of the last access.
    at: (u32, u32),
    /// Locations of accesses, to distinguish several locks.
    data: BTreeSet<u32>,
}

struct SectionWalk<'a> {
    run: &'a Run,
    regions: &'a [EditRegion],
    family: Option<String>,
    is_recursive: bool,
    /// Locks of the family, by location.
    own: BTreeSet<u32>,
    removed: BTreeSet<(&'a str, u32)>,
    recorded: RecordedSections,
    known: FxHashMap<(u32, u32), Where>,
    open: BTreeMap<u16, OpenSection>,
    /// Rows at which recorded sections start that are parts of regions.
    taken_over: BTreeSet<u32>,
    /// Rows by thread, computed on first use.
    rows: OnceCell<BTreeMap<u16, Vec<u32>>>,
    found: LockSections,
}

impl<'a> SectionWalk<'a> {
    fn new(fix: &'a Fix, regions: &'a [EditRegion], run: &'a Run) -> SectionWalk<'a> {
        let recorded = RecordedSections::of(fix, run);
        SectionWalk {
            run,
            regions,
            family: fix.lock.as_deref().map(family),
            is_recursive: fix.is_recursive,
            own: recorded.locks(),
            removed: removed(fix),
            recorded,
            known: FxHashMap::default(),
            open: BTreeMap::new(),
            taken_over: BTreeSet::new(),
            rows: OnceCell::new(),
            found: LockSections::default(),
        }
    }

    fn step(&mut self, row: EventId, event: &Event) {
        let key = (event.site.0, event.stack.0);
        let at = match self.known.get(&key) {
            Some(at) => *at,
            None => {
                let at = self.locate(row);
                self.known.insert(key, at);
                at
            }
        };
        let thread = event.thread.0;
        match at {
            _ if event.kind == EventKind::End => self.close(thread, false),
            // The position of a thread at the end of the run is no step.
            _ if event.kind == EventKind::Blocked => {}
            Where::Unknown => {}
            // Of optimized code the debug info may lose a call that was inlined: who still holds the lock has not left.
            Where::Outside if self.still_holds(thread, row) => {}
            Where::Outside => self.close(thread, false),
            Where::In(hit) => self.inside(row, event, hit),
        }
    }

    /// Returns whether a thread is in lines that begin with a lock that it has held ever since.
    fn still_holds(&self, thread: u16, row: EventId) -> bool {
        let Some(open) = self.open.get(&thread) else {
            return false;
        };
        let region = self.regions.get(open.hit.region);
        let opens = region.is_some_and(|region| region.opens);
        let mut held = self.recorded.around(thread, open.lock, row.0);
        opens && open.lock.is_some() && held.any(|span| Some(span.first) == open.since)
    }

    fn locate(&self, row: EventId) -> Where {
        let mut found: Option<Hit> = None;
        let mut is_known = false;
        let sites = call_sites(self.run, row);
        // What is at the end itself may be an older object that releases the same lock.
        let is_new = self.family.is_none();
        let own = sites.len().saturating_sub(1);
        for (depth, site) in sites.into_iter().enumerate() {
            let site = self.run.meta.site(site);
            is_known |= site.line != 0;
            let is_it = |region: &&EditRegion| {
                let lines = &region.lines;
                lines.file == site.file
                    && lines.function == site.function
                    && ((lines.first..=lines.last).contains(&site.line)
                        || site.line == region.ends && (is_new || depth < own))
            };
            let Some((region, at)) = self.regions.iter().enumerate().find(|(_, at)| is_it(at))
            else {
                continue;
            };
            match &mut found {
                Some(hit) => hit.again = hit.again.or(Some(site.line)),
                None => {
                    let holds =
                        |part: &RegionStatement| (part.first..=part.last).contains(&site.line);
                    let last = match site.line == at.ends {
                        true => at.parts.len().saturating_sub(1),
                        false => 0,
                    };
                    let is_removed = self.removed.contains(&(site.file.as_str(), site.line));
                    found = Some(Hit {
                        region,
                        part: at.parts.iter().position(holds).unwrap_or(last),
                        depth,
                        again: None,
                        is_removed,
                        is_called: depth < own,
                    });
                }
            }
        }
        match found {
            Some(hit) => Where::In(hit),
            None if is_known => Where::Outside,
            None => Where::Unknown,
        }
    }

    fn inside(&mut self, row: EventId, event: &Event, hit: Hit) {
        let thread = event.thread.0;
        let mut callers = call_sites(self.run, row);
        callers.truncate(hit.depth);
        let key = self.key(event);
        let goes_on = self.open.get(&thread).is_some_and(|open| {
            open.hit.region == hit.region
                && open.callers == callers
                && !self.is_next(open, hit, key, row)
        });
        if !goes_on {
            self.close(thread, false);
            // A thread that waits for another lock has not entered the region.
            let opens = self
                .regions
                .get(hit.region)
                .is_some_and(|region| region.opens);
            if event.kind == EventKind::LockWait && !opens {
                return;
            }
            self.begin(row, event, hit, callers, opens);
        }
        self.within(row, event, hit, key);
    }

    /// The key of an event whose recurrence shows that a loop around the region has started another
    /// iteration: accesses and locks. Repetitions by a library within one statement recur as well.
    fn key(&self, event: &Event) -> Option<AccessIdentity> {
        let takes = event.kind.role().acquires_lock();
        let is_plain = (takes || event.kind.is_access()) && !self.is_unwritten(event.location);
        is_plain.then_some((
            event.site.0,
            event.stack.0,
            event.kind as u8,
            event.location.0,
        ))
    }

    /// Returns whether the thread has started another iteration, at the beginning of the lines.
    fn is_next(
        &self,
        open: &OpenSection,
        hit: Hit,
        key: Option<AccessIdentity>,
        row: EventId,
    ) -> bool {
        let region = self.regions.get(hit.region);
        let part = region.and_then(|region| region.parts.get(hit.part));
        // If the lines begin with the lock, an iteration begins there.
        let begins_anywhere = region.is_some_and(|region| !region.opens);
        let is_once = begins_anywhere && part.is_some_and(|part| !part.is_loop);
        // A function that is called has loops of its own: only where the first of all comes again is it called again.
        let is_countable = |key: &AccessIdentity| !hit.is_called || open.first == Some(*key);
        let comes_again = key
            .filter(is_countable)
            .is_some_and(|key| self.comes_again(open, key));
        hit.part < open.hit.part
            || hit.part == open.hit.part
                && hit.part == open.from
                && is_once
                && comes_again
                && key.is_some_and(|key| self.begins_round(open, key, row))
    }

    /// Returns whether a location is none of the source's own: functions of libraries, and compilers, use such memory as they
    /// please; names that begin with two underscores are theirs, and so are pointers to tables of virtual functions.
    fn is_unwritten(&self, location: LocationId) -> bool {
        let name = self.run.location(location);
        let is_reserved =
            name.contains("_M_") || name.starts_with("__") || name.ends_with("._vptr");
        Location::of(name).is_slot() || is_reserved || !facts::is_named(name)
    }

    /// Returns whether an access recurs that belongs to another step. What one step reads twice, as functions of libraries
    /// do, is no iteration.
    fn comes_again(&self, open: &OpenSection, key: AccessIdentity) -> bool {
        let (site, stack, kind, _) = key;
        let is_read = kind == EventKind::Read as u8;
        let is_here = open.at == (self.run.meta.site(SiteId(site)).line, stack);
        let last = open.seen.get(&key);
        last.is_some_and(|step| !is_read || !is_here || *step < open.step)
    }

    /// Returns whether a recurring read after a write of the same statement starts an iteration: it does when
    /// it is written again next, since `++done == n` reads the value it has written.
    fn begins_round(&self, open: &OpenSection, key: AccessIdentity, row: EventId) -> bool {
        let (_, stack, kind, location) = key;
        let is_written = |other: &AccessIdentity| {
            let write = (stack, EventKind::Write as u8, location);
            (other.1, other.2, other.3) == write
        };
        if kind == EventKind::Write as u8 || !open.seen.keys().any(is_written) {
            return true;
        }
        let own = self.run.events.get(row).map(|event| event.thread.0);
        let rows = own.and_then(|thread| self.rows.get_or_init(|| rows(self.run)).get(&thread));
        let later = rows.into_iter().flat_map(|rows| {
            let from = rows.partition_point(|at| *at <= row.0);
            rows.iter().skip(from)
        });
        let mut keys = later
            .filter_map(|at| self.run.events.get(EventId(*at)))
            .filter_map(|event| self.key(&event));
        let next = keys.find(|next| *next == key || is_written(next));
        next.is_some_and(|next| is_written(&next))
    }

    fn begin(&mut self, row: EventId, event: &Event, hit: Hit, callers: Vec<SiteId>, opens: bool) {
        let thread = event.thread.0;
        self.open.insert(
            thread,
            OpenSection {
                hit,
                callers,
                from: hit.part,
                since: (!opens).then_some(row.0),
                last: row.0,
                lock: None,
                nested: 0,
                is_shared: false,
                seen: BTreeMap::new(),
                first: None,
                step: 0,
                at: (0, 0),
                data: BTreeSet::new(),
            },
        );
    }

    /// Checks whether the lock is held where the edit acquires it, since a statement that stays.
    fn held_already(&mut self, new: &LockSpan) {
        let row = EventId(new.first);
        let own = self.recorded.around(new.thread, new.lock, row.0);
        let held = own
            .filter(|span| !self.is_removed(EventId(span.first)))
            .min_by_key(|span| span.first);
        if let Some(since) = held.map(|span| self.line(EventId(span.first)))
            && self.found.again.is_none()
            && !self.is_recursive
        {
            self.found.again = Some(Again::Held {
                line: self.line(row),
                since,
            });
        }
    }

    fn is_removed(&self, row: EventId) -> bool {
        call_sites(self.run, row).into_iter().any(|site| {
            let site = self.run.meta.site(site);
            self.removed.contains(&(site.file.as_str(), site.line))
        })
    }

    fn within(&mut self, row: EventId, event: &Event, hit: Hit, key: Option<AccessIdentity>) {
        let is_own = self.own.contains(&event.location.0) && self.family.is_some();
        let is_unwritten = self.is_unwritten(event.location);
        let Some(open) = self.open.get_mut(&event.thread.0) else {
            return;
        };
        open.hit.part = hit.part;
        open.last = row.0;
        if event.kind.is_access() && open.since.is_some() {
            open.data.insert(event.location.0);
        }
        let at = (self.run.meta.site(event.site).line, event.stack.0);
        if open.at != at || event.kind.writes() && !is_unwritten {
            (open.at, open.step) = (at, open.step + 1);
        }
        open.seen.extend(key.map(|key| (key, open.step)));
        open.first = open.first.or(key);
        if let Some(line) = hit.again.filter(|_| !self.is_recursive) {
            self.found.again.get_or_insert(Again::Taken { line });
        }
        if !is_own {
            return;
        }
        let takes = event.kind.role().acquires_lock();
        let gives = event.kind.role().releases_lock();
        let open_lock = open.lock.is_none_or(|lock| lock == event.location.0);
        if takes {
            self.taken_over.insert(row.0);
            open.lock.get_or_insert(event.location.0);
        }
        let region = self.regions.get(hit.region);
        let is_scoped = region.is_some_and(|region| region.is_scoped);
        let for_writing = region.is_some_and(|region| region.for_writing);
        if hit.is_removed || !open_lock || gives && is_scoped && self.began_removed(row) {
            return;
        }
        let Some(open) = self.open.get_mut(&event.thread.0) else {
            return;
        };
        match (takes, gives, open.since) {
            (true, _, Some(_)) if self.is_recursive => open.nested += 1,
            (_, true, Some(_)) if open.nested > 0 => open.nested -= 1,
            (true, _, None) => {
                open.since = Some(row.0);
                open.is_shared = event.kind == EventKind::SharedLock && !for_writing;
            }
            (true, _, Some(_)) => {
                let line = self.run.meta.site(event.site).line;
                let outer = call_sites(self.run, row).get(hit.depth).copied();
                let line = outer.map_or(line, |site| self.run.meta.site(site).line);
                self.found.again.get_or_insert(Again::Taken { line });
            }
            // An exit that releases the lock itself, or a wait.
            (_, true, Some(_)) => self.give(event.thread.0, row.0),
            _ => {}
        }
    }

    /// Returns whether a section ends at this row whose acquiring statement the edit removes.
    fn began_removed(&self, row: EventId) -> bool {
        let mut ending = self.recorded.ending(row.0);
        ending.any(|span| self.is_removed(EventId(span.first)))
    }

    /// Ends the section; the thread stays in the lines.
    fn give(&mut self, thread: u16, at: u32) {
        let Some(open) = self.open.get_mut(&thread) else {
            return;
        };
        let Some(first) = open.since.take() else {
            return;
        };
        let span = LockSpan {
            first,
            last: at,
            thread,
            lock: None,
            is_shared: open.is_shared,
            is_new: true,
        };
        let (lock, data) = (open.lock, open.data.clone());
        let lock = self.instance(lock, &data);
        let span = LockSpan { lock, ..span };
        self.held_already(&span);
        self.found.spans.push(span);
    }

    /// Ends the region of a thread that has left the lines; or the run ends before it does (`is_over`).
    fn close(&mut self, thread: u16, is_over: bool) {
        let Some(last) = self.open.get(&thread).map(|open| open.last) else {
            return;
        };
        let end = self.run.events.len() as u32;
        self.give(thread, if is_over { end } else { last });
        self.open.remove(&thread);
    }

    /// The lock that a region acquires, where the program has several of the name: the one acquired in the
    /// run, or the one of the data that it uses.
    fn instance(&self, lock: Option<u32>, data: &BTreeSet<u32>) -> Option<u32> {
        if self.family.is_none() {
            return Some(NEW);
        }
        if lock.is_some() {
            return lock;
        }
        let name = |id: &u32| self.run.variable(LocationId(*id));
        let mut all = self.own.iter();
        match (all.next(), all.next()) {
            (Some(only), None) if family(name(only)) == name(only) => return Some(*only),
            _ => {}
        }
        let guards = |lock: &&u32| {
            let mut used = data.iter().map(name);
            used.any(|data| mutexes::guards(name(lock), data) && family(name(lock)) != name(lock))
        };
        self.own.iter().find(guards).copied()
    }

    fn line(&self, row: EventId) -> u32 {
        let event = self.run.events.get(row);
        event.map_or(0, |event| self.run.meta.site(event.site).line)
    }

    fn finish(mut self) -> LockSections {
        let threads: Vec<u16> = self.open.keys().copied().collect();
        for thread in threads {
            self.close(thread, true);
        }
        let stay: Vec<LockSpan> = self
            .recorded
            .spans()
            .iter()
            .filter(|span| {
                !self.taken_over.contains(&span.first) && !self.is_removed(EventId(span.first))
            })
            .copied()
            .collect();
        let mut found = self.found;
        found.spans.extend(stay);
        found.spans.sort_by_key(|span| (span.first, span.last));
        found
    }
}

fn rows(run: &Run) -> BTreeMap<u16, Vec<u32>> {
    let mut rows: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
    for (row, thread) in (0..).zip(run.events.threads()) {
        rows.entry(*thread).or_default().push(row);
    }
    rows
}

/// Lines of statements that the edit removes.
fn removed(fix: &Fix) -> BTreeSet<(&str, u32)> {
    let gone = fix
        .edits
        .iter()
        .filter(|edit| edit.start < edit.end && matches!(edit.text.trim(), "" | EMPTY));
    gone.flat_map(|edit| {
        let last = match edit.to.column {
            1 => edit.to.line.saturating_sub(1),
            _ => edit.to.line,
        };
        (edit.from.line..=last.max(edit.from.line)).map(|line| (edit.file.as_str(), line))
    })
    .collect()
}
