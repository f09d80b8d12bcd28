//! The interruption that an explanation blames, looked for in any run: two accesses that belong together, and others of
//! another thread between them.

use super::turned::{Blamed, blamed, half};
use crate::{
    explanation::{Explanation, Role, Step},
    facts::{kin, own_part},
};
use rustc_hash::{FxHashMap, FxHashSet};
use unsnarl_trace::{Event, EventKind, LocationId, Run, ThreadId};

/// An access by its line and kind. Accesses of one variable have one number: in a run they are of one location.
struct InterruptedAccess<'a> {
    file: &'a str,
    line: u32,
    /// Kind of the access; that of any write where the explained run never came to it.
    kind: Option<&'a str>,
    variable: usize,
}

/// Accesses of one thread that belong together, and those of another thread that come between.
pub(super) struct Interruption<'a> {
    first: InterruptedAccess<'a>,
    second: InterruptedAccess<'a>,
    between: Vec<InterruptedAccess<'a>>,
    /// The second one comes too late, or never: the others are enough.
    is_half: bool,
    /// `true` if those between have to come in their order.
    is_ordered: bool,
}

/// Accesses of another thread since the first one. In a loop the same line accesses several elements, and each of them may be
/// the variable.
#[derive(Default)]
struct Interrupting {
    /// By their number among those that come between.
    done: FxHashSet<(usize, LocationId)>,
    /// Variables of which all accesses were done on some location.
    whole: FxHashSet<usize>,
}

impl Interrupting {
    fn has_done(&self, at: usize) -> bool {
        self.done.iter().any(|(done, _)| *done == at)
    }
}

/// The last first access of a thread to one of the variables that its line has. What it saw may be used several times, as the
/// length of a list in a loop. Of a variable that is read in several parts, such as a string, it is the one of the first part.
struct OpenStep {
    variable: SeenVariable,
    /// The last part.
    part: LocationId,
    others: FxHashMap<ThreadId, Interrupting>,
}

/// A variable in a run.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SeenVariable {
    /// A location that stands for all of its parts.
    whole: LocationId,
    /// The same number for elements of one array and blocks from one line: the next of them is another visit's.
    kin: usize,
}

/// Variables of a run by their locations: the parts that the C++ library gives one are no variables of their own.
struct SeenVariables<'r> {
    run: &'r Run,
    by_name: FxHashMap<&'r str, LocationId>,
    kin: FxHashMap<String, usize>,
    known: FxHashMap<LocationId, SeenVariable>,
}

impl<'r> SeenVariables<'r> {
    fn of(run: &'r Run) -> SeenVariables<'r> {
        SeenVariables {
            run,
            by_name: FxHashMap::default(),
            kin: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    fn at(&mut self, part: LocationId) -> SeenVariable {
        if let Some(known) = self.known.get(&part) {
            return *known;
        }
        let name = own_part(self.run.location(part));
        let next = self.kin.len();
        let seen = SeenVariable {
            whole: *self.by_name.entry(name).or_insert(part),
            kin: *self.kin.entry(kin(name)).or_insert(next),
        };
        self.known.insert(part, seen);
        seen
    }
}

impl<'a> Interruption<'a> {
    /// The one that an explanation blames. None where the steps of two threads overlap in another way.
    pub fn of(explanation: &'a Explanation) -> Option<Interruption<'a>> {
        let is_region = explanation.kind.is_interruption();
        let blamed = blamed(explanation);
        let first = blamed
            .iter()
            .find(|one| one.role == Role::Cause && is_region)?;
        let late = half(explanation);
        let last = blamed.iter().rev().find(|one| one.role == Role::Cause)?;
        let is_between = |one: &&Blamed<'_>| one.role == Role::Interference;
        let between: Vec<&Blamed<'_>> = blamed.iter().filter(is_between).collect();
        let other = &between.first()?.step.thread;
        let is_inside = between.iter().all(|one| {
            one.row > first.row
                && (late.is_some() || one.row < last.row)
                && one.step.thread == *other
        });
        let is_own = last.step.thread == first.step.thread && *other != first.step.thread;
        let ends = late.is_some() || last.row > first.row;
        if !is_inside || !is_own || !ends {
            return None;
        }
        let mut variables: Vec<&str> = Vec::new();
        let mut access = |step: &'a Step| InterruptedAccess::new(step, &mut variables);
        let (first, second) = (access(first.step), access(last.step));
        let between: Vec<InterruptedAccess<'_>> =
            between.into_iter().map(|one| access(one.step)).collect();
        let second = match late {
            Some(absent) => InterruptedAccess {
                file: &absent.place.file,
                line: absent.place.line,
                kind: None,
                // What the last reader needs.
                variable: between.last()?.variable,
            },
            None => second,
        };
        Some(Interruption {
            first,
            second,
            between,
            is_half: late.is_some(),
            is_ordered: false,
        })
    }

    /// The same accesses the other way round, where two variables are accessed in both: those that came between are interrupted.
    /// Neither order is one that the threads have in turns. Of one variable whose update is lost, the update that came between
    /// is lost in place of it. None for an interruption of another form.
    pub fn mirrored(self) -> Option<Interruption<'a>> {
        if let Some(lost) = self.other_is_lost() {
            return Some(lost);
        }
        let [enters, leaves] = <[_; 2]>::try_from(self.between).ok()?;
        let is_same = enters.variable == self.first.variable
            && leaves.variable == self.second.variable
            && enters.variable != leaves.variable;
        is_same.then(|| Interruption {
            first: enters,
            second: leaves,
            between: vec![self.first, self.second],
            is_half: false,
            is_ordered: true,
        })
    }

    /// The update of another line that is lost by the one that lost its own here.
    fn other_is_lost(&self) -> Option<Interruption<'a>> {
        let other = self.between.first()?;
        let is_one = |access: &InterruptedAccess<'_>| {
            access.variable == self.first.variable && access.kind == self.second.kind
        };
        let on_line = |access: &InterruptedAccess<'_>| {
            is_one(access) && (access.file, access.line) == (other.file, other.line)
        };
        let reads_and_writes = self.first.kind == Some(EventKind::Read.name())
            && self.second.kind == Some(EventKind::Write.name());
        let is_update = reads_and_writes && is_one(&self.second) && !self.is_half;
        let is_elsewhere = (other.file, other.line) != (self.second.file, self.second.line);
        let at = |access: &InterruptedAccess<'a>, kind| InterruptedAccess { kind, ..*access };
        (is_update && is_elsewhere && self.between.iter().all(on_line)).then(|| Interruption {
            first: at(other, self.first.kind),
            second: at(other, self.second.kind),
            between: vec![at(&self.second, self.second.kind)],
            is_half: false,
            is_ordered: false,
        })
    }

    /// Returns whether a run has it anywhere, between any two threads. Linear in the run, and in its threads for each access
    /// that comes between.
    pub fn is_in(&self, run: &Run) -> bool {
        let mut open: FxHashMap<ThreadId, Vec<OpenStep>> = FxHashMap::default();
        let mut variables = SeenVariables::of(run);
        // Threads whose last access was on the line of the first one.
        let mut inside: FxHashSet<ThreadId> = FxHashSet::default();
        for (_, event) in run
            .events
            .iter()
            .filter(|(_, event)| event.kind.is_access())
        {
            if (self.second.is_at(run, &event) || self.completes(run, &event))
                && let Some(steps) = open.get_mut(&event.thread)
            {
                let whole = variables.at(event.location).whole;
                if steps.iter().any(|step| self.is_interrupted(step, whole)) {
                    return true;
                }
                if event.kind.writes() {
                    steps.retain(|step| !self.ends(step, whole));
                }
            }
            if self.is_between(&event, &mut variables, &mut open) && self.is_half {
                return true;
            }
            if self.first.is_at(run, &event) {
                let steps = open.entry(event.thread).or_default();
                let variable = variables.at(event.location);
                begin(
                    steps,
                    variable,
                    event.location,
                    inside.contains(&event.thread),
                );
            }
            match self.first.is_on_line(run, &event) {
                true => drop(inside.insert(event.thread)),
                false => drop(inside.remove(&event.thread)),
            }
        }
        false
    }

    /// Returns whether an update writes what its read, the second access, has read of the variable of both: the steps end only
    /// with that, so that whatever comes between its halves still interrupts them.
    fn completes(&self, run: &Run, event: &Event) -> bool {
        self.second.kind == Some(EventKind::Read.name())
            && self.second.variable == self.first.variable
            && event.kind.writes()
            && self.second.is_on_line(run, event)
    }

    /// Returns whether a change at the second access ends a step: of its variable, if both are accesses of one.
    fn ends(&self, step: &OpenStep, changed: LocationId) -> bool {
        self.first.variable != self.second.variable || step.variable.whole == changed
    }

    /// Notes an access for all the steps that it comes between; returns whether it was the last one for any of them.
    fn is_between(
        &self,
        event: &Event,
        variables: &mut SeenVariables<'_>,
        open: &mut FxHashMap<ThreadId, Vec<OpenStep>>,
    ) -> bool {
        let numbered = self.between.iter().enumerate();
        let at: Vec<usize> = numbered
            .filter(|(_, access)| access.is_at(variables.run, event))
            .map(|(at, _)| at)
            .collect();
        if at.is_empty() {
            return false;
        }
        let mut is_whole = false;
        let location = variables.at(event.location).whole;
        let others = open
            .iter_mut()
            .filter(|(thread, _)| **thread != event.thread);
        for step in others.flat_map(|(_, steps)| steps) {
            let by = step.others.entry(event.thread).or_default();
            let comes_next =
                |at: &usize| !self.is_ordered || *at == 0 || by.has_done(at.saturating_sub(1));
            let next: Vec<usize> = at.iter().copied().filter(comes_next).collect();
            by.done.extend(next.into_iter().map(|at| (at, location)));
            let accesses = at.iter().filter_map(|at| self.between.get(*at));
            let variables = accesses.map(|access| access.variable);
            let whole = variables.filter(|variable| self.is_done(*variable, location, &by.done));
            by.whole.extend(whole);
            is_whole |= self.is_whole(step.variable.whole, None, by);
        }
        is_whole
    }

    /// Returns whether another thread did all of it, where the second access is at this location.
    fn is_interrupted(&self, step: &OpenStep, location: LocationId) -> bool {
        let mut others = step.others.values();
        others.any(|by| self.is_whole(step.variable.whole, Some(location), by))
    }

    /// Returns whether each variable has a location on which all of its accesses were done: that of the first access and that
    /// of the second one, where they are of it.
    fn is_whole(&self, first: LocationId, second: Option<LocationId>, by: &Interrupting) -> bool {
        self.between.iter().all(|access| {
            let variable = access.variable;
            let of_first = (variable == self.first.variable).then_some(first);
            let of_second = second.filter(|_| variable == self.second.variable);
            match of_first.or(of_second) {
                Some(location) => {
                    of_second.is_none_or(|second| second == location)
                        && self.is_done(variable, location, &by.done)
                }
                None => by.whole.contains(&variable),
            }
        })
    }

    /// Returns whether all accesses of a variable that come between were done on a location.
    fn is_done(
        &self,
        variable: usize,
        location: LocationId,
        done: &FxHashSet<(usize, LocationId)>,
    ) -> bool {
        let own = self.between.iter().enumerate();
        let mut own = own.filter(|(_, access)| access.variable == variable);
        own.all(|(at, _)| done.contains(&(at, location)))
    }
}

/// Begins a step of a thread in the place of the one on the same variable, or on another element of it; unless it is only
/// another part of what it accesses within the line.
fn begin(steps: &mut Vec<OpenStep>, variable: SeenVariable, part: LocationId, is_inside: bool) {
    let known = steps
        .iter_mut()
        .find(|step| step.variable.kin == variable.kin);
    if let Some(step) = known
        && is_inside
        && step.variable == variable
        && step.part != part
    {
        step.part = part;
        return;
    }
    steps.retain(|step| step.variable.kin != variable.kin);
    steps.push(OpenStep {
        variable,
        part,
        others: FxHashMap::default(),
    });
}

impl<'a> InterruptedAccess<'a> {
    fn new(step: &'a Step, variables: &mut Vec<&'a str>) -> InterruptedAccess<'a> {
        let name = own_part(&step.location);
        let known = variables.iter().position(|other| *other == name);
        let variable = known.unwrap_or_else(|| {
            variables.push(name);
            variables.len() - 1
        });
        InterruptedAccess {
            file: &step.place.file,
            line: step.place.line,
            kind: Some(&step.access),
            variable,
        }
    }

    fn is_on_line(&self, run: &Run, event: &Event) -> bool {
        let site = run.meta.site(event.site);
        site.line == self.line && site.file == self.file
    }

    fn is_at(&self, run: &Run, event: &Event) -> bool {
        let is_it = match self.kind {
            Some(kind) => event.kind.name() == kind,
            None => event.kind.writes(),
        };
        is_it && self.is_on_line(run, event)
    }
}

#[cfg(test)]
mod tests {
    use super::{InterruptedAccess, Interruption};
    use crate::fixture::run;

    const BEGIN: &str = "main fork main.1 @1\nmain fork main.2 @2\n";

    fn access(line: u32, kind: Option<&str>, variable: usize) -> InterruptedAccess<'_> {
        InterruptedAccess {
            file: "test.c",
            line,
            kind,
            variable,
        }
    }

    fn has(interruption: &Interruption<'_>, parts: &[&str]) -> bool {
        interruption.is_in(&run(&[&[BEGIN], parts].concat().concat()))
    }

    const LOOK: &str = "main.1 R slot[3].name =1 @10\n";
    const EVICT: &str = "main.2 R slot[3].refs =0 @30\nmain.2 W slot[3].name =0 @31\n";
    const TAKE: &str = "main.1 W slot[3].refs =1 @20\n";

    /// A slot that is evicted between the look at it and its use.
    fn evicted() -> Interruption<'static> {
        Interruption {
            first: access(10, Some("read"), 0),
            second: access(20, Some("write"), 1),
            between: vec![access(31, Some("write"), 0), access(30, Some("read"), 1)],
            is_half: false,
            is_ordered: false,
        }
    }

    #[test]
    fn all_of_it_has_to_come_between() {
        assert!(has(&evicted(), &[LOOK, EVICT, TAKE]));
        assert!(!has(&evicted(), &[EVICT, LOOK, TAKE]));
        assert!(!has(&evicted(), &[LOOK, TAKE, EVICT]));
        let read = "main.2 R slot[3].refs =0 @30\n";
        assert!(!has(&evicted(), &[LOOK, read, TAKE]));
    }

    #[test]
    fn an_update_at_the_end_ends_with_its_write() {
        let append = Interruption {
            first: access(10, Some("read"), 0),
            second: access(12, Some("read"), 0),
            between: vec![access(12, Some("write"), 0)],
            is_half: false,
            is_ordered: false,
        };
        let place = "main.1 R count =0 @10\n";
        let (read, write) = ("main.1 R count =0 @12\n", "main.1 W count =1 @12\n");
        let other = "main.2 R count =0 @12\nmain.2 W count =1 @12\n";
        assert!(has(&append, &[place, other, read, write]));
        assert!(has(&append, &[place, read, other, write]));
        assert!(!has(&append, &[place, read, write, other]));
    }

    #[test]
    fn others_may_write_the_variables_in_between() {
        let again = "main.2 W slot[3].name =9 @51\nmain.2 W slot[3].refs =0 @52\n";
        assert!(has(&evicted(), &[LOOK, EVICT, again, TAKE]));
    }

    #[test]
    fn accesses_of_one_variable_are_of_one_location() {
        let other = EVICT.replace("slot[3].name", "slot[4].name");
        assert!(!has(&evicted(), &[LOOK, &other, TAKE]));
        let other = EVICT.replace("slot[3].refs", "slot[4].refs");
        assert!(!has(&evicted(), &[LOOK, &other, TAKE]));
    }

    /// The other thread's lines come for one element after the other.
    #[test]
    fn any_element_may_be_the_variable() {
        let other = "main.2 R slot[2].refs =0 @30\n";
        assert!(has(&evicted(), &[LOOK, other, EVICT, TAKE]));
        let last = TAKE.replace("slot[3].refs", "slot[2].refs");
        assert!(has(&evicted(), &[LOOK, other, EVICT, &last]));
        assert!(!has(&evicted(), &[LOOK, EVICT, &last]));
    }

    #[test]
    fn the_second_access_may_come_in_a_loop() {
        let looked = |kind| Interruption {
            second: access(20, Some(kind), 1),
            ..evicted()
        };
        let read = TAKE.replace(" W ", " R ");
        assert!(has(&looked("read"), &[LOOK, &read, EVICT, &read]));
        assert!(!has(&looked("write"), &[LOOK, TAKE, EVICT, TAKE]));
    }

    /// One line updates a count with the lock held, another one without it.
    #[test]
    fn either_of_two_updates_may_be_the_lost_one() {
        let lost = Interruption {
            first: access(28, Some("read"), 0),
            second: access(28, Some("write"), 0),
            between: vec![access(35, Some("write"), 0)],
            is_half: false,
            is_ordered: false,
        };
        let reads = |by: &str, line: u32| format!("main.{by} R n =1 @{line}\n");
        let writes = |by: &str, line: u32| format!("main.{by} W n =2 @{line}\n");
        let own = [
            reads("1", 28),
            reads("2", 35),
            writes("2", 35),
            writes("1", 28),
        ]
        .concat();
        let other = [
            reads("2", 35),
            reads("1", 28),
            writes("1", 28),
            writes("2", 35),
        ]
        .concat();
        let none = [
            reads("1", 28),
            writes("1", 28),
            reads("2", 35),
            writes("2", 35),
        ]
        .concat();
        assert!(has(&lost, &[&own]) && !has(&lost, &[&other]));
        let mirrored = lost.mirrored().unwrap();
        assert!(has(&mirrored, &[&other]));
        assert!(!has(&mirrored, &[&own]) && !has(&mirrored, &[&none]));
    }

    #[test]
    fn two_variables_may_be_seen_half_changed_from_either_side() {
        let torn = || Interruption {
            first: access(12, Some("read"), 0),
            second: access(14, Some("read"), 1),
            between: vec![access(37, Some("write"), 0), access(39, Some("write"), 1)],
            is_half: false,
            is_ordered: false,
        };
        let mirrored = torn().mirrored().unwrap();
        let (host, port) = ("main.1 R host =1 @12\n", "main.1 R port =1 @14\n");
        let (name, number) = ("main.2 W host =2 @37\n", "main.2 W port =2 @39\n");
        let one = [host, name, number, port];
        let other = [name, host, port, number];
        assert!(has(&torn(), &one) && !has(&torn(), &other));
        assert!(has(&mirrored, &other) && !has(&mirrored, &one));
        assert!(!has(&mirrored, &[name, number, host, port]));
        let one_variable = Interruption {
            second: access(14, Some("read"), 0),
            ..torn()
        };
        assert!(one_variable.mirrored().is_none());
    }

    /// A string is copied length first: the letters come after those of another one.
    #[test]
    fn a_variable_in_parts_may_change_within_its_line() {
        let torn = Interruption {
            first: access(12, Some("read"), 0),
            second: access(14, Some("read"), 1),
            between: vec![access(37, Some("write"), 0), access(39, Some("write"), 1)],
            is_half: false,
            is_ordered: false,
        };
        let (length, letters) = (
            "main.1 R name._M_string_length =1 @12\n",
            "main.1 R name._M_local_buf =1 @12\n",
        );
        let own = "main.1 R copy._M_string_length =0 own-stack @12\n";
        let set = "main.2 W name._M_local_buf =2 @37\nmain.2 W port =2 @39\n";
        let port = "main.1 R port =2 @14\n";
        assert!(has(&torn, &[length, own, set, letters, port]));
        assert!(!has(&torn, &[set, length, letters, port]));
        assert!(!has(&torn, &[length, set, length, port]), "another visit");
    }

    /// The line of the first access reads another variable as well, and that of the second one writes another.
    #[test]
    fn other_variables_of_the_lines_do_not_matter() {
        let charged = Interruption {
            first: access(6, Some("read"), 0),
            second: access(12, Some("write"), 0),
            between: vec![access(12, Some("write"), 0)],
            is_half: false,
            is_ordered: false,
        };
        let fits = "main.1 R used[2] =0 @6\nmain.1 R limit =100 @6\n";
        let (other, own) = (
            "main.2 W used[2] =70 @12\n",
            "main.1 W main.1:f-72 =1 @12\nmain.1 W used[2] =130 @12\n",
        );
        assert!(has(&charged, &[fits, other, own]));
        assert!(!has(&charged, &[other, fits, own]));
        let another = "main.1 R used[3] =0 @6\n";
        assert!(!has(&charged, &[fits, other, another, own]));
    }

    #[test]
    fn only_the_last_first_access_counts() {
        let next = "main.1 R slot[4].name =1 @10\n";
        assert!(!has(&evicted(), &[LOOK, EVICT, next, TAKE]));
    }

    /// The change that is not seen comes late in the second round.
    #[test]
    fn what_comes_late_may_have_come_in_a_round_before() {
        let torn = Interruption {
            first: access(16, Some("write"), 0),
            second: access(6, None, 1),
            between: vec![access(20, Some("read"), 0), access(24, Some("read"), 1)],
            is_half: true,
            is_ordered: false,
        };
        let (len, top) = ("main.1 W len =1 @16\n", "main.1 W top =1 @6\n");
        let look = "main.2 R len =1 @20\nmain.2 R top =1 @24\n";
        assert!(has(&torn, &[len, look]));
        assert!(has(&torn, &[len, top, len, look]));
        assert!(has(&torn, &[len, look, top]));
        assert!(!has(&torn, &[len, top, look, len]));
    }
}
