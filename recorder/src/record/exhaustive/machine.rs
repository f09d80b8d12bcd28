//! A simulated machine with a scheduler like the runtime's, to check the search against an enumeration without
//! reduction.

use super::{
    path::{
        ChosenStep, ExecutedPath, NoticedEffect, PathChoice, PathChoiceKind, SyncOperation, bit,
        options,
    },
    search::BoundedSearch,
};
use std::collections::{BTreeMap, BTreeSet};

/// A step of a scripted thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptStep {
    Read(u8),
    Write(u8),
    Lock(u8),
    Unlock(u8),
    /// Waits on the condition, with the lock of the same number.
    Wait(u8),
    Signal(u8),
    Yield,
    /// A step with two outcomes, one of which writes the variable.
    Toss(u8),
    /// Ends the process if the thread's last read returned another thread's write.
    Check,
    /// Ends the process, once the other threads have had their chance.
    Exit,
}

pub type ModelledProgram = Vec<Vec<ScriptStep>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptWish {
    Nothing,
    Lock(u8),
    Signal(u8),
}

/// The equivalence class of an execution: the order of dependent operations on each object, the values read, and the
/// end.
pub type OrderClass = (BTreeMap<String, Vec<String>>, Vec<Vec<String>>, String);

struct ScriptMachine<'a> {
    program: &'a ModelledProgram,
    prefix: &'a [u16],
    path: ExecutedPath,
    pc: Vec<usize>,
    wish: Vec<ScriptWish>,
    owner: BTreeMap<u8, u16>,
    memory: BTreeMap<u8, String>,
    seen: Vec<Vec<String>>,
    /// Groups of operations whose order does not matter, by object.
    history: BTreeMap<String, Vec<(bool, BTreeSet<String>)>>,
    running: u16,
    end: String,
}

/// Runs the program along the prefix, then without preemption.
pub fn execute(program: &ModelledProgram, prefix: &[u16]) -> (ExecutedPath, OrderClass) {
    let count = program.len();
    let mut machine = ScriptMachine {
        program,
        prefix,
        path: ExecutedPath::default(),
        pc: vec![0; count],
        wish: vec![ScriptWish::Nothing; count],
        owner: BTreeMap::new(),
        memory: BTreeMap::new(),
        seen: vec![Vec::new(); count],
        history: BTreeMap::new(),
        running: 0,
        end: String::new(),
    };
    machine.run();
    machine.finish()
}

impl ScriptMachine<'_> {
    fn live(&self, thread: u16) -> bool {
        self.pc[thread as usize] < self.program[thread as usize].len()
    }

    fn threads(&self) -> impl Iterator<Item = u16> + use<> {
        0..self.program.len() as u16
    }

    fn enabled(&self, thread: u16) -> bool {
        self.live(thread)
            && match self.wish[thread as usize] {
                ScriptWish::Nothing => true,
                ScriptWish::Lock(lock) => !self.owner.contains_key(&lock),
                ScriptWish::Signal(_) => false,
            }
    }

    fn run(&mut self) {
        while self.end.is_empty() {
            let live = self.threads().filter(|&it| self.live(it)).count();
            if live == 0 {
                self.end = "done".into();
            } else if live > 1 || !self.enabled(self.running) || self.path.steps.is_empty() {
                self.decide();
            }
            if self.end.is_empty() {
                self.step();
            }
        }
    }

    fn decide(&mut self) {
        let candidates = self.threads().filter(|&it| self.enabled(it));
        let candidates = candidates.fold(0, |bits, it| bits | bit(it));
        if candidates == 0 {
            self.end = "deadlock".into();
            return;
        }
        let here = self.pc[self.running as usize];
        let next = self.program[self.running as usize].get(here);
        let gives_way = matches!(next, Some(ScriptStep::Yield | ScriptStep::Exit))
            && self.wish[self.running as usize] == ScriptWish::Nothing;
        let chosen = self.choose(PathChoiceKind::Thread, candidates, gives_way);
        self.running = chosen;
        let thread = chosen;
        let choice = self.path.choices.len() - 1;
        let deeds = Vec::new();
        self.path.steps.push(ChosenStep {
            choice,
            thread,
            deeds,
        });
    }

    fn choose(&mut self, kind: PathChoiceKind, candidates: u64, gives_way: bool) -> u16 {
        let running = self.running;
        let at = self.path.choices.len();
        let usual = || {
            let others = match kind {
                PathChoiceKind::Thread => candidates & !self.departing(),
                PathChoiceKind::Waiter | PathChoiceKind::Outcome | PathChoiceKind::Value => {
                    candidates
                }
            };
            let candidates = if others == 0 { candidates } else { others };
            let stays =
                kind == PathChoiceKind::Thread && !gives_way && candidates & bit(running) != 0;
            let later =
                options(candidates).find(|&it| kind == PathChoiceKind::Thread && it > running);
            let first = options(candidates).next().unwrap();
            if stays {
                running
            } else {
                later.unwrap_or(first)
            }
        };
        let chosen = self.prefix.get(at).copied().unwrap_or_else(usual);
        assert_ne!(
            candidates & bit(chosen),
            0,
            "a prefix that cannot be followed"
        );
        let choice = PathChoice {
            kind,
            candidates,
            running,
            gives_way,
            chosen,
        };
        self.path.choices.push(choice);
        chosen
    }

    /// Threads whose next step ends the process, as a bit set.
    fn departing(&self) -> u64 {
        self.threads()
            .filter(|&it| {
                self.program[it as usize].get(self.pc[it as usize]) == Some(&ScriptStep::Exit)
            })
            .fold(0, |bits, it| bits | bit(it))
    }

    fn deed(&mut self, deed: NoticedEffect) {
        self.path.steps.last_mut().unwrap().deeds.push(deed);
    }

    fn memory_deed(&mut self, variable: u8, writes: bool) {
        let granule = u64::from(variable);
        self.deed(NoticedEffect::Memory {
            granule,
            bytes: 1,
            writes,
        });
        self.note(format!("v{variable}"), writes);
    }

    fn sync_deed(&mut self, object: u64, operation: SyncOperation, name: String) {
        self.deed(NoticedEffect::Sync { object, operation });
        self.note(name, true);
    }

    fn note(&mut self, object: String, writes: bool) {
        let what = format!("{}.{}", self.running, self.pc[self.running as usize]);
        let groups = self.history.entry(object).or_default();
        match groups.last_mut() {
            Some((false, group)) if !writes => drop(group.insert(what)),
            _ => groups.push((writes, BTreeSet::from([what]))),
        }
    }

    fn write(&mut self, variable: u8) {
        self.memory_deed(variable, true);
        let value = format!("{}.{}", self.running, self.pc[self.running as usize]);
        self.memory.insert(variable, value);
    }

    fn take(&mut self, lock: u8) {
        self.owner.insert(lock, self.running);
        self.sync_deed(lock.into(), SyncOperation::Lock, format!("l{lock}"));
    }

    fn step(&mut self) {
        let me = self.running as usize;
        if let ScriptWish::Lock(lock) = self.wish[me] {
            self.wish[me] = ScriptWish::Nothing;
            self.take(lock);
            self.pc[me] += 1;
            return;
        }
        match self.program[me][self.pc[me]] {
            ScriptStep::Read(variable) => {
                self.memory_deed(variable, false);
                let value = self.memory.get(&variable).cloned().unwrap_or_default();
                self.seen[me].push(value);
            }
            ScriptStep::Write(variable) => self.write(variable),
            ScriptStep::Lock(lock) if self.owner.contains_key(&lock) => {
                self.wish[me] = ScriptWish::Lock(lock);
                return;
            }
            ScriptStep::Lock(lock) => self.take(lock),
            ScriptStep::Unlock(lock) => {
                self.owner.remove(&lock);
                self.sync_deed(lock.into(), SyncOperation::Unlock, format!("l{lock}"));
            }
            ScriptStep::Wait(number) => {
                self.sync_deed(
                    100 + u64::from(number),
                    SyncOperation::Other,
                    format!("c{number}"),
                );
                self.owner.remove(&number);
                self.sync_deed(number.into(), SyncOperation::Unlock, format!("l{number}"));
                self.wish[me] = ScriptWish::Signal(number);
                return;
            }
            ScriptStep::Signal(number) => self.signal(number),
            ScriptStep::Yield => {}
            ScriptStep::Exit => {
                self.end = "exit".into();
                self.path.ends_by_itself = true;
            }
            ScriptStep::Toss(variable) => {
                if self.choose(PathChoiceKind::Outcome, 0b11, false) == 1 {
                    self.write(variable);
                }
            }
            ScriptStep::Check => {
                let last = self.seen[me].last();
                if last
                    .is_some_and(|value| !value.is_empty() && !value.starts_with(&format!("{me}.")))
                {
                    self.end = format!("{me} stops at {} {:?}", self.pc[me], self.seen[me]);
                }
            }
        }
        self.pc[me] += 1;
    }

    fn signal(&mut self, number: u8) {
        self.sync_deed(
            100 + u64::from(number),
            SyncOperation::Other,
            format!("c{number}"),
        );
        let waits = |it: &u16| self.wish[*it as usize] == ScriptWish::Signal(number);
        let waiters = self
            .threads()
            .filter(waits)
            .fold(0, |bits, it| bits | bit(it));
        let woken = match waiters.count_ones() {
            0 => return,
            1 => waiters.trailing_zeros() as u16,
            _ => self.choose(PathChoiceKind::Waiter, waiters, false),
        };
        self.wish[woken as usize] = ScriptWish::Lock(number);
        self.deed(NoticedEffect::Enables(woken));
    }

    fn finish(mut self) -> (ExecutedPath, OrderClass) {
        for thread in self.threads() {
            let operation = match self.wish[thread as usize] {
                ScriptWish::Lock(_) => SyncOperation::Lock,
                ScriptWish::Signal(_) => SyncOperation::Other,
                ScriptWish::Nothing => continue,
            };
            let object = match self.wish[thread as usize] {
                ScriptWish::Lock(lock) => u64::from(lock),
                ScriptWish::Signal(number) => 100 + u64::from(number),
                ScriptWish::Nothing => continue,
            };
            self.path
                .pending
                .push((thread, NoticedEffect::Sync { object, operation }));
        }
        let stopped = self.end.contains("stops") || self.end == "exit";
        let flat = |groups: Vec<(bool, BTreeSet<String>)>| {
            groups
                .into_iter()
                .map(|(_, group)| format!("{group:?}"))
                .collect()
        };
        let history = self
            .history
            .into_iter()
            .map(|(object, groups)| (object, flat(groups)))
            .collect();
        // What the others had done when one thread ended the process is not what it is about.
        let class = match stopped {
            true => (BTreeMap::new(), Vec::new(), self.end),
            false => (history, self.seen, self.end),
        };
        (self.path, class)
    }
}

/// All classes within the bound, found without reduction, with the number of schedules.
pub fn enumerate(program: &ModelledProgram, bound: u32) -> (BTreeSet<OrderClass>, u64) {
    let mut classes = BTreeSet::new();
    let mut count = 0;
    let mut prefixes = vec![Vec::new()];
    while let Some(prefix) = prefixes.pop() {
        let (path, class) = execute(program, &prefix);
        classes.insert(class);
        count += 1;
        let mut spent = 0;
        for (at, choice) in path.choices.iter().enumerate() {
            for option in options(choice.candidates) {
                if at >= prefix.len()
                    && option != choice.chosen
                    && spent + choice.cost(option) <= bound
                {
                    let chosen = path.choices[..at].iter().map(|choice| choice.chosen);
                    prefixes.push(chosen.chain([option]).collect());
                }
            }
            spent += choice.cost(choice.chosen);
        }
    }
    (classes, count)
}

/// All classes that the search finds, with the number of schedules.
pub fn explore(program: &ModelledProgram, bound: u32) -> (BTreeSet<OrderClass>, u64) {
    let mut search = BoundedSearch::new(bound);
    let mut classes = BTreeSet::new();
    while !search.is_done {
        let (path, class) = execute(program, &search.prefix());
        classes.insert(class);
        search.learn(&path);
    }
    assert_eq!(search.strayed, 0);
    (classes, search.explored)
}
