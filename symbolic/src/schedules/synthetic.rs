//! Synthetic symbolic traces for benchmarks: failing runs of two programs, of any size.
//!
//! *Bank*: threads change accounts under the account's lock and the bank's total under another one; one
//! change of the total is split over two critical sections, and another thread's change interleaves. *Queue*:
//! threads put into and take from a queue, checking in one critical section whether there is an element and
//! taking it in another (the paper's pfscan); at the end two threads find the last element.

use crate::{
    Action, Binary, Bug, CellId, Comparison, ExprId, MemoryObject, SharedCell, StepId, SymbolId,
    SymbolOrigin, SymbolicStep, SymbolicTrace, ThreadTrace, UnknownValue, expr::Values,
};
use unsnarl_trace::{EventId, EventKind, LocationId, SiteId, ThreadId};

/// Synthetic program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyntheticProgram {
    /// A lost update, detected at the end.
    Bank,
    /// Check, then act.
    Queue,
}

/// The trace of a failing run with about this many reads and writes. The same arguments give the same trace.
/// `threads` counts the worker threads, besides the main thread; 2 at least.
pub fn failing(program: SyntheticProgram, accesses: u32, threads: u16, seed: u64) -> SymbolicTrace {
    let threads = threads.max(2);
    let mut maker = Maker {
        builder: TraceBuilder::new(),
        threads,
        random: Xorshift(seed.wrapping_mul(2).wrapping_add(1)),
        accesses,
        plans: Vec::new(),
        held: vec![None; usize::from(threads) * 2],
    };
    match program {
        SyntheticProgram::Bank => maker.bank(),
        SyntheticProgram::Queue => maker.queue(),
    }
    maker.builder.trace
}

/// Pending steps of a thread; the last one is next.
type PendingSteps = Vec<Do>;

#[derive(Clone, Copy)]
enum Do {
    Lock(u32),
    Unlock(u32),
    /// Reads a value, which the path requires to be at least this.
    Read(CellId, u32),
    /// Writes the last value read plus this.
    Write(CellId, i32),
}

struct Maker {
    builder: TraceBuilder,
    threads: u16,
    random: Xorshift,
    accesses: u32,
    plans: Vec<(PendingSteps, Option<ExprId>)>,
    held: Vec<Option<u16>>,
}

impl Maker {
    fn bank(&mut self) {
        let total = self.builder.cell("total", 1000);
        let accounts: Vec<CellId> = (0..self.threads)
            .map(|i| self.builder.cell(&format!("account[{i}]"), 500))
            .collect();
        self.fork();
        let half = self.accesses / 2;
        self.run_until(half, |maker| maker.transaction(&accounts, total));
        self.finish_plans();
        self.lost_update(total);
        self.run_until(self.accesses, |maker| maker.transaction(&accounts, total));
        self.finish_plans();
        let main = ThreadId(0);
        self.join();
        // The run is correct if the total is the sum of all changes.
        let expected = u128::from(self.builder.expected);
        let found = self.builder.read(main, total);
        let expected = self.builder.trace.exprs.number(expected, 32);
        let same = self
            .builder
            .trace
            .exprs
            .compare(Comparison::Eq, found, expected);
        let wrong = self.builder.trace.exprs.not(same);
        self.builder.bug(main, wrong);
    }

    /// A change of an account, usually with one of the total.
    fn transaction(&mut self, accounts: &[CellId], total: CellId) -> PendingSteps {
        let at = self.random.below(accounts.len() as u64);
        let account = accounts.get(at as usize).copied().unwrap_or(total);
        let by = self.random.below(9) as i32 - 4;
        let lock = 1 + at as u32;
        let mut plan = vec![
            Do::Lock(lock),
            Do::Read(account, 4),
            Do::Write(account, by),
            Do::Unlock(lock),
        ];
        if self.random.below(4) > 0 {
            self.builder.expected = self.builder.expected.wrapping_add_signed(by);
            plan.extend([
                Do::Lock(0),
                Do::Read(total, 0),
                Do::Write(total, by),
                Do::Unlock(0),
            ]);
        }
        plan
    }

    /// The first thread's change of the total, interrupted by the second's.
    fn lost_update(&mut self, total: CellId) {
        self.builder.expected = self.builder.expected.wrapping_add_signed(70 + 30);
        let section = |middle: Do| [Do::Lock(0), middle, Do::Unlock(0)];
        let split = [section(Do::Read(total, 0)), section(Do::Write(total, 70))];
        let whole = vec![
            Do::Lock(0),
            Do::Read(total, 0),
            Do::Write(total, 30),
            Do::Unlock(0),
        ];
        self.plan(1, split[0].to_vec());
        self.finish_plans();
        self.plan(2, whole);
        self.finish_plans();
        self.plan(1, split[1].to_vec());
        self.finish_plans();
    }

    fn queue(&mut self) {
        let filled = self.builder.cell("filled", 3);
        let notes: Vec<CellId> = (0..self.threads)
            .map(|i| self.builder.cell(&format!("note[{i}]"), 0))
            .collect();
        self.fork();
        let mut level = 3;
        self.run_until(self.accesses, |maker| {
            maker.work(&notes, filled, &mut level)
        });
        self.finish_plans();
        // One element left.
        let put = vec![
            Do::Lock(0),
            Do::Read(filled, 0),
            Do::Write(filled, 1 - level),
            Do::Unlock(0),
        ];
        self.plan(1, put);
        self.finish_plans();
        let look = [Do::Lock(0), Do::Read(filled, 1), Do::Unlock(0)];
        for thread in [1, 2] {
            self.plan(thread, look.to_vec());
            self.finish_plans();
        }
        self.plan(
            1,
            vec![
                Do::Lock(0),
                Do::Read(filled, 1),
                Do::Write(filled, -1),
                Do::Unlock(0),
            ],
        );
        self.finish_plans();
        let second = ThreadId(2);
        self.builder.sync(second, EventKind::Lock, 0);
        let found = self.builder.read(second, filled);
        let one = self.builder.trace.exprs.number(1, 32);
        let none = self
            .builder
            .trace
            .exprs
            .compare(Comparison::Slt, found, one);
        self.builder.bug(second, none);
        self.builder.release(second, 0);
    }

    /// Writes a private note, then puts in or takes out an element, which was checked before.
    fn work(&mut self, notes: &[CellId], filled: CellId, level: &mut i32) -> PendingSteps {
        let at = self.random.below(notes.len() as u64);
        let note = notes.get(at as usize).copied().unwrap_or(filled);
        let lock = 1 + at as u32;
        let mut plan = vec![
            Do::Lock(lock),
            Do::Read(note, 0),
            Do::Write(note, 1),
            Do::Unlock(lock),
        ];
        // At most one element per thread can be on its way at a time.
        if *level > i32::from(self.threads) && self.random.below(2) == 0 {
            *level -= 1;
            plan.extend([Do::Lock(0), Do::Read(filled, 1), Do::Unlock(0)]);
            plan.extend([
                Do::Lock(0),
                Do::Read(filled, 1),
                Do::Write(filled, -1),
                Do::Unlock(0),
            ]);
        } else {
            *level += 1;
            plan.extend([
                Do::Lock(0),
                Do::Read(filled, 0),
                Do::Write(filled, 1),
                Do::Unlock(0),
            ]);
        }
        plan
    }

    fn fork(&mut self) {
        for thread in 1..=self.threads {
            self.builder.thread(ThreadId(0), EventKind::Fork, thread);
            self.builder
                .sync(ThreadId(thread), EventKind::Begin, u32::MAX);
        }
        self.plans = vec![(PendingSteps::new(), None); usize::from(self.threads) + 1];
    }

    fn join(&mut self) {
        for thread in 1..=self.threads {
            self.builder.thread(ThreadId(0), EventKind::Join, thread);
        }
    }

    fn plan(&mut self, thread: u16, mut steps: PendingSteps) {
        steps.reverse();
        if let Some((plan, _)) = self.plans.get_mut(usize::from(thread)) {
            *plan = steps;
        }
    }

    /// Runs random threads, each for some steps in a row.
    fn run_until(&mut self, accesses: u32, mut next: impl FnMut(&mut Maker) -> PendingSteps) {
        while self.builder.accesses < accesses {
            let thread = 1 + self.random.below(u64::from(self.threads)) as u16;
            let is_idle = self
                .plans
                .get(usize::from(thread))
                .is_some_and(|(plan, _)| plan.is_empty());
            if is_idle {
                let plan = next(self);
                self.plan(thread, plan);
            }
            for _ in 0..1 + self.random.below(6) {
                self.step(thread);
            }
        }
    }

    fn finish_plans(&mut self) {
        while self.plans.iter().any(|(plan, _)| !plan.is_empty()) {
            for thread in 1..=self.threads {
                self.step(thread);
            }
        }
    }

    fn step(&mut self, thread: u16) {
        let Some((plan, read)) = self.plans.get_mut(usize::from(thread)) else {
            return;
        };
        let who = ThreadId(thread);
        match plan.pop() {
            None => {}
            Some(Do::Lock(lock)) => match self.held.get_mut(lock as usize) {
                Some(Some(_)) | None => plan.push(Do::Lock(lock)),
                Some(free) => {
                    *free = Some(thread);
                    self.builder.sync(who, EventKind::Lock, lock);
                }
            },
            Some(Do::Unlock(lock)) => {
                if let Some(held) = self.held.get_mut(lock as usize) {
                    *held = None;
                }
                self.builder.sync(who, EventKind::Unlock, lock);
            }
            Some(Do::Read(cell, needs)) => {
                let found = self.builder.read(who, cell);
                *read = Some(found);
                let least = self.builder.trace.exprs.number(u128::from(needs), 32);
                let enough = self
                    .builder
                    .trace
                    .exprs
                    .compare(Comparison::Sle, least, found);
                self.builder.assume(who, enough);
            }
            Some(Do::Write(cell, by)) => {
                let exprs = &mut self.builder.trace.exprs;
                let by = exprs.number(u128::from(by as u32), 32);
                let value = read.map_or(by, |read| exprs.binary(Binary::Add, read, by));
                self.builder.write(who, cell, value);
            }
        }
    }
}

/// Makes a trace step by step, in execution order.
pub(crate) struct TraceBuilder {
    pub trace: SymbolicTrace,
    memory: Vec<u128>,
    known: Values,
    events: u32,
    pub accesses: u32,
    expected: u32,
}

impl TraceBuilder {
    pub fn new() -> TraceBuilder {
        let trace = SymbolicTrace {
            bug: Bug::Unknown("nothing has failed yet".into()),
            ..SymbolicTrace::default()
        };
        TraceBuilder {
            trace,
            memory: Vec::new(),
            known: Values::new(),
            events: 0,
            accesses: 0,
            expected: 1000,
        }
    }

    /// Adds a cell of 32 bits.
    pub fn cell(&mut self, name: &str, initial: u32) -> CellId {
        let number = self.trace.cells.len() as u32;
        let base = (u64::from(number) + 1) << 32;
        self.trace.objects.push(MemoryObject {
            name: name.to_owned(),
            base,
            size: 4,
        });
        self.trace.cells.push(SharedCell {
            name: name.to_owned(),
            location: LocationId(1000 + number),
            address: base,
            size: 4,
            initial: Some(u128::from(initial)),
        });
        self.memory.push(u128::from(initial));
        CellId(number)
    }

    fn event(&mut self) -> Option<EventId> {
        self.events += 1;
        Some(EventId(self.events))
    }

    fn push(&mut self, thread: ThreadId, event: Option<EventId>, action: Action) -> StepId {
        let threads = &mut self.trace.threads;
        while threads.len() <= thread.index() {
            threads.push(ThreadTrace::default());
        }
        let steps = threads
            .get_mut(thread.index())
            .map(|trace| &mut trace.steps);
        let index = steps.as_ref().map_or(0, |steps| steps.len()) as u32;
        let site = SiteId(0);
        if let Some(steps) = steps {
            steps.push(SymbolicStep {
                event,
                site,
                action,
            });
        }
        let id = StepId { thread, index };
        self.trace.order.push(id);
        id
    }

    /// Reads a cell; returns the symbol.
    pub fn read(&mut self, thread: ThreadId, cell: CellId) -> ExprId {
        let event = self.event();
        self.read_as(thread, cell, event)
    }

    fn read_as(&mut self, thread: ThreadId, cell: CellId, event: Option<EventId>) -> ExprId {
        self.accesses += 1;
        let symbol = SymbolId(self.trace.symbols.len() as u32);
        let step = self.push(thread, event, Action::Read { cell, symbol });
        let name = self
            .trace
            .cell(cell)
            .map_or_else(String::new, |cell| cell.name.clone());
        self.trace.symbols.push(UnknownValue {
            width: 32,
            recorded: self.memory.get(cell.index()).copied(),
            origin: SymbolOrigin::Read(step),
            name,
        });
        self.trace.exprs.symbol(symbol, 32)
    }

    pub fn write(&mut self, thread: ThreadId, cell: CellId, value: ExprId) -> StepId {
        let event = self.event();
        self.write_as(thread, cell, value, event)
    }

    fn write_as(
        &mut self,
        thread: ThreadId,
        cell: CellId,
        value: ExprId,
        event: Option<EventId>,
    ) -> StepId {
        self.accesses += 1;
        let written = self.value(value);
        if let Some(content) = self.memory.get_mut(cell.index()) {
            *content = written;
        }
        self.push(thread, event, Action::Write { cell, value })
    }

    /// Adds a number to a cell atomically.
    #[cfg(test)]
    pub fn add(&mut self, thread: ThreadId, cell: CellId, by: u32) -> ExprId {
        let event = self.event();
        let found = self.read_as(thread, cell, event);
        let by = self.trace.exprs.number(u128::from(by), 32);
        let sum = self.trace.exprs.binary(Binary::Add, found, by);
        self.write_as(thread, cell, sum, event);
        found
    }

    /// Value of an expression in the run so far.
    pub fn value(&mut self, of: ExprId) -> u128 {
        let symbols = &self.trace.symbols;
        let symbol = |id: SymbolId| symbols.get(id.index())?.recorded;
        self.trace
            .exprs
            .value(of, &mut self.known, &symbol)
            .unwrap_or(0)
    }

    pub fn assume(&mut self, thread: ThreadId, condition: ExprId) {
        self.push(thread, None, Action::Assume(condition));
    }

    pub fn bug(&mut self, thread: ThreadId, condition: ExprId) {
        let step = self.push(thread, None, Action::Assume(condition));
        self.trace.bug = Bug::Condition { step, condition };
    }

    pub fn sync(&mut self, thread: ThreadId, kind: EventKind, object: u32) -> StepId {
        let event = self.event();
        let object = LocationId(object);
        self.push(
            thread,
            event,
            Action::Sync {
                kind,
                object,
                value: 0,
            },
        )
    }

    pub fn thread(&mut self, thread: ThreadId, kind: EventKind, other: u16) {
        let (event, object) = (self.event(), LocationId(u32::MAX));
        let value = u64::from(other);
        self.push(
            thread,
            event,
            Action::Sync {
                kind,
                object,
                value,
            },
        );
    }

    pub fn release(&mut self, thread: ThreadId, lock: u32) {
        let (object, is_shared) = (LocationId(lock), false);
        self.push(thread, None, Action::Release { object, is_shared });
    }
}

/// Marsaglia's xorshift.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit.max(1)
    }
}
