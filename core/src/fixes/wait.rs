//! Fixes around waits on condition variables.

use super::{
    FixInput,
    atomic::{self, Changes},
    model::{Fix, FixKind, GuardedLines},
    mutexes,
    seen::{At, RunEvidence, frames},
    signal_inside::is_of_lock,
    text::{
        EditRefusal, function_name,
        hold::{AtomicLines, HoldResult, hold},
        locks::{LockStyle, Mutex, callee, calls, guarded, last_name},
        signals,
        source::{ParsedSource, children, descendants, lines},
    },
};
use crate::{
    callers::parting,
    explanation::{BugKind, Explanation, Role, SiteMark},
    facts::family,
};
use tree_sitter::Node;
use unsnarl_trace::{Event, EventId, EventKind, Run, SiteRow};

/// The wait that began at the wrong time, the signal that came then, and the look before the wait.
struct MissedSignal<'a> {
    wait: &'a SiteMark,
    signal: &'a SiteMark,
    check: Option<&'a SiteMark>,
}

impl MissedSignal<'_> {
    fn of(explanation: &Explanation) -> Result<MissedSignal<'_>, EditRefusal> {
        let step = |role: Role, access: &str| {
            let mut marks = explanation.sites.iter().filter(|mark| mark.role == role);
            marks.find(|mark| mark.access.contains(access))
        };
        let wait =
            step(Role::Cause, "wait").ok_or("there is no wait that began at the wrong time")?;
        let signal =
            step(Role::Interference, "signal").or_else(|| step(Role::Interference, "broadcast"));
        Ok(MissedSignal {
            wait,
            signal: signal.ok_or("there is no signal that came at the wrong time")?,
            check: step(Role::Cause, "read"),
        })
    }

    /// The lack of a program without a look.
    fn lacks(&self) -> String {
        match self.signal.step < self.wait.step {
            true => format!(
                "nothing is checked before the wait of line {}: no critical section helps, it needs a variable that is set \
                 before the signal and looked at, under the same lock, before each wait",
                self.wait.place.line
            ),
            false => "another wait takes the signal: no critical section helps, each kind of waiter needs a condition \
                      variable of its own, or a broadcast"
                .to_owned(),
        }
    }
}

/// The lack of a program that checks nothing before a wait, which no critical section helps.
pub(super) fn without_check(explanation: &Explanation) -> Option<String> {
    let is_missed = explanation.kind == BugKind::LostWakeup;
    let missed = MissedSignal::of(explanation).ok().filter(|_| is_missed)?;
    missed.check.is_none().then(|| missed.lacks())
}
/// Puts the check of the condition and the wait into one critical section, and the signal into one as well.
pub(super) fn signal_under_lock(case: &FixInput<'_>) -> Result<Fix, EditRefusal> {
    let explanation = case.explanation;
    let missed = MissedSignal::of(explanation)?;
    let check = missed.check.ok_or_else(|| missed.lacks())?;
    let (wait, signal) = (missed.wait, missed.signal);
    let row = |at: Option<u32>| {
        at.and_then(|at| explanation.steps.get(at.checked_sub(1)? as usize))
            .map(|step| EventId(step.event))
    };
    let (Some(checked), Some(waited)) = (row(check.step), row(wait.step)) else {
        return Err("the look at the condition is not among the steps".to_owned());
    };
    let (a, b) = parting(case.run, checked, waited)
        .ok_or("the look and the wait are in different functions")?;
    let b = at(case.run.meta.site(b));
    // The wait's predicate does the check.
    let looks = std::iter::once(at(case.run.meta.site(a))).chain(frames(case.run, checked));
    let mut looks = looks.filter(|a| (&a.function, &a.file) == (&b.function, &b.file));
    let a = looks
        .next()
        .ok_or("the look at the condition and the wait are in different functions")?;
    let seen = RunEvidence::of_locks(case.runs);
    let mut regions = Vec::new();
    let mut widened = |at: &At, mutex: &Mutex, kept: &HoldResult| {
        let lines = GuardedLines {
            file: at.file.clone(),
            first: kept.first,
            last: kept.last,
            function: at.function.clone(),
        };
        regions.push(atomic::region(case.files, &lines, mutex, kept));
    };
    let waiting = waits_with(case, &seen, waited, &b)?;
    let mut changes = Changes::new();
    let mut said = Vec::new();
    let around = AtomicLines {
        first: a.line.min(b.line),
        last: a.line.max(b.line),
    };
    // If the two are in one section already, only the signal is outside of it; a wait with a predicate is one
    // step.
    let looks_itself = waiting.style == LockStyle::Guard && around.first == around.last;
    let kept = match looks_itself {
        true => HoldResult::default(),
        false => hold(case.files.get(&a.file)?, &waiting, &around)?,
    };
    if !kept.changes.is_empty() {
        widened(&a, &waiting, &kept);
        said.push(format!(
            "keep `{}` from line {} to line {}",
            waiting.object, kept.first, kept.last
        ));
        changes
            .entry(a.file.clone())
            .or_default()
            .extend(kept.changes);
    }
    let signalled = case.files.get(&signal.place.file)?;
    let mutex = signals_with(case, &seen, (&waiting, &b), waited, signal)?;
    let set = row(signal.step).and_then(|row| set_before(case.run, row, checked));
    let kept = held_for_signal(signalled, &mutex, set, signal.place.line)?;
    if !kept.changes.is_empty() {
        let function = signalled.function(signal.place.line);
        let function = function.and_then(|node| function_name(signalled, node));
        let signals = At {
            file: signal.place.file.clone(),
            function: function.unwrap_or_default().to_owned(),
            line: signal.place.line,
        };
        widened(&signals, &mutex, &kept);
        let at = signal.place.line;
        said.push(match kept.first < at {
            true => format!(
                "hold `{}` from line {} for the signal on line {at}",
                mutex.object, kept.first
            ),
            false => format!("hold `{}` for the signal on line {at}", mutex.object),
        });
        changes
            .entry(signal.place.file.clone())
            .or_default()
            .extend(kept.changes);
    }
    if said.is_empty() {
        return Err("look, wait and signal hold the lock already".to_owned());
    }
    let cost = format!(
        "whoever signals waits while another thread holds `{}`",
        waiting.object
    );
    let edits = case.files.edits(&changes)?;
    Ok(Fix {
        assumes: vec!["the condition is set before the signal is sent".to_owned()],
        regions,
        lock: given_back(case.run, waited),
        ..Fix::edit(FixKind::WidenSection, said.join(", and "), edits, cost)
    })
}

/// Line of the signalling function at which it set what the waiting thread looks at, if it did so last before the signal.
fn set_before(run: &Run, signal: EventId, checked: EventId) -> Option<u32> {
    let (signals, checks) = (run.events.get(signal)?, run.events.get(checked)?);
    let at = |site| run.meta.site(site);
    let of_check = at(checks.site).line;
    let is_looked_at = |location| {
        let mut rows = run.events.iter();
        rows.any(|(_, event)| {
            event.location == location
                && event.thread == checks.thread
                && event.kind.reads()
                && at(event.site).line == of_check
        })
    };
    let own = (0..signal.0).rev().map(EventId);
    let mut own = own.filter_map(|row| run.events.get(row));
    let is_step = |event: &Event| {
        event.thread == signals.thread && (event.kind.is_access() || is_of_lock(event.kind))
    };
    let last = own.find(is_step)?;
    let (set, told) = (at(last.site), at(signals.site));
    let is_there = (&set.file, &set.function) == (&told.file, &told.function);
    (last.kind.writes() && is_there && set.line < told.line && is_looked_at(last.location))
        .then_some(set.line)
}

/// Holds the mutex for the signal, and for the line that sets what it stands for where that is possible: else who reads it under
/// the lock races with it.
fn held_for_signal(
    source: &ParsedSource,
    mutex: &Mutex,
    set: Option<u32>,
    signal: u32,
) -> Result<HoldResult, EditRefusal> {
    let from = |first| {
        hold(
            source,
            mutex,
            &AtomicLines {
                first,
                last: signal,
            },
        )
    };
    set.and_then(|set| from(set).ok())
        .map_or_else(|| from(signal), Ok)
}

/// The mutex of a wait, as the waiting function names it.
fn waits_with(
    case: &FixInput<'_>,
    seen: &RunEvidence,
    waited: EventId,
    at: &At,
) -> Result<Mutex, EditRefusal> {
    let source = case.files.get(&at.file)?;
    let named = given_back(case.run, waited)
        .and_then(|lock| mutexes::in_function(source, &at.file, at.line, &lock, seen).ok());
    named.map_or_else(|| mutex_of(source, at.line), Ok)
}

/// The same mutex, as the signalling function names it: it lies beside the condition, or has the same name
/// everywhere.
fn signals_with(
    case: &FixInput<'_>,
    seen: &RunEvidence,
    (waiting, at): (&Mutex, &At),
    waited: EventId,
    signal: &SiteMark,
) -> Result<Mutex, EditRefusal> {
    let (file, line) = (&signal.place.file, signal.place.line);
    let source = case.files.get(file)?;
    let field = last_name(waiting.name());
    let signalled = condition(source, line);
    let beside = signalled.and_then(|condition| Some(format!("{}{field}", owner(&condition)?)));
    let named = || {
        let lock = given_back(case.run, waited)?;
        mutexes::in_function(source, file, line, &lock, seen).ok()
    };
    let of = |object: String| Mutex {
        object,
        style: waiting.style,
    };
    // The name in the runs may be that of the one object there is, which the function knows by a pointer.
    if let Some(object) = beside.as_ref().filter(|_| lie_beside(case, waiting, at)) {
        return Ok(of(object.clone()));
    }
    Ok(named().unwrap_or_else(|| of(beside.unwrap_or_else(|| waiting.object.clone()))))
}

/// Returns whether the waiting function names the mutex and the condition as members of one object.
fn lie_beside(case: &FixInput<'_>, waiting: &Mutex, at: &At) -> bool {
    let source = case.files.get(&at.file).ok();
    let condition = source.and_then(|source| {
        let wait = signals::call_on(source, at.line).ok()?;
        signals::of_call(source, wait.call)
    });
    let condition = condition.unwrap_or_default();
    let of_condition = owner(condition.trim_start_matches('&'));
    of_condition.is_some() && of_condition == owner(waiting.name())
}

/// The object that a member is named of: `queue->` of `queue->full`.
fn owner(member: &str) -> Option<&str> {
    member.get(..=member.rfind(['.', '>'])?)
}

/// The lock that a wait releases, as the runs name it.
fn given_back(run: &Run, waited: EventId) -> Option<String> {
    let waits = run.events.get(waited)?;
    let mut later =
        (waited.0 + 1..).map_while(|row| run.events.get(EventId(row)).map(|it| (row, it)));
    let (row, next) = later.find(|(_, event)| event.thread == waits.thread)?;
    let lock = || family(&mutexes::lock_name(run, EventId(row)));
    (next.kind == EventKind::Unlock).then(lock)
}

fn at(site: &SiteRow) -> At {
    At {
        file: site.file.clone(),
        function: site.function.clone(),
        line: site.line,
    }
}

/// The mutex that the wait on a line releases.
fn mutex_of(source: &ParsedSource, line: u32) -> Result<Mutex, EditRefusal> {
    let unseen = || format!("the mutex of the wait on line {line} is not seen");
    let mut around = source.function(line);
    // A predicate on the same line is a function of its own, within the call.
    let (function, call) = loop {
        let node = around.ok_or_else(unseen)?;
        let mut waits = calls(node)
            .filter(|call| callee(source, *call).contains("wait") && lines(*call).contains(&line));
        match waits.next() {
            Some(call) if matches!(node.kind(), "function_definition" | "lambda_expression") => {
                break (node, call);
            }
            _ => around = node.parent(),
        }
    };
    let arguments = call
        .child_by_field_name("arguments")
        .map(children)
        .unwrap_or_default();
    let style = match callee(source, call) {
        name if name.starts_with("pthread") => LockStyle::Pthread,
        name if name.starts_with("cnd") => LockStyle::C11,
        name if name.starts_with("g_cond") => LockStyle::Glib,
        _ => {
            let lock = arguments.first().map(|node| source.str(*node));
            return lock
                .and_then(|lock| held_by(source, function, lock))
                .ok_or_else(unseen);
        }
    };
    let mutex = arguments
        .get(1)
        .map(|node| source.str(*node))
        .ok_or_else(unseen)?;
    let object = mutex
        .strip_prefix('&')
        .map_or_else(|| format!("*{mutex}"), str::to_owned);
    Ok(Mutex { object, style })
}

/// The mutex held by the guard object of this name.
fn held_by(source: &ParsedSource, function: Node<'_>, lock: &str) -> Option<Mutex> {
    let mut all = descendants(function).into_iter();
    let held = all.find_map(|node| guarded(source, node).filter(|(_, name)| *name == lock));
    let object = held.and_then(|(held, _)| held.first().copied())?;
    Some(Mutex {
        object: object.to_owned(),
        style: LockStyle::Guard,
    })
}

/// The condition variable that is signalled on a line.
fn condition(source: &ParsedSource, line: u32) -> Option<String> {
    let function = source.function(line)?;
    let mut signals = calls(function).filter(|call| {
        let name = callee(source, *call);
        let signals = ["signal", "broadcast", "notify"];
        signals.iter().any(|word| name.contains(word)) && lines(*call).contains(&line)
    });
    let call = signals.next()?;
    let owner = call.child_by_field_name("function")?;
    if let Some(condition) = owner.child_by_field_name("argument") {
        return Some(source.str(condition).to_owned());
    }
    let arguments = call.child_by_field_name("arguments").map(children)?;
    Some(
        source
            .str(*arguments.first()?)
            .trim_start_matches('&')
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATCH: &str = "class Latch {\npublic:\n    void wait()\n    {\n        std::unique_lock<std::mutex> lock(mutex_);\n        zero_.wait(lock, [this] { return count_.load() == 0; });\n    }\n    void down() { zero_.notify_all(); }\n    std::mutex mutex_;\n    std::condition_variable zero_;\n};\n";

    #[test]
    fn a_wait_gives_back_the_mutex_of_its_lock_object() {
        let source = ParsedSource::parse("a.cpp", LATCH).unwrap();
        let mutex = mutex_of(&source, 6).unwrap();
        assert_eq!(
            (mutex.object.as_str(), mutex.style),
            ("mutex_", LockStyle::Guard)
        );
        assert_eq!(condition(&source, 8).as_deref(), Some("zero_"));
    }
}
