//! Tests on a run and a program made by hand, for every kind of step.

use super::walk;
use crate::{Action, Bug, SymbolicTrace};
use unsnarl_core::Budget;
use unsnarl_trace::{
    Event, EventId, EventKind, Events, Failure as Failed, FailureKind, LocationId, Outcome,
    PointId, PointRow, Run, SiteId, SiteRow, StackId, ThreadId, ThreadRow, Value,
    program::{
        BinaryOp, Block, BlockId, CompareOp, Constant, ConstantId, Function, FunctionId, Global,
        GlobalId, Hash, Instruction, Op, Operand, PlaceId, PointNumber, Program, Type, TypeId,
        TypeKind, Unit, ValueId,
    },
};

const VOID: TypeId = TypeId(0);
const I32: TypeId = TypeId(1);
const POINTER: TypeId = TypeId(2);
const I1: TypeId = TypeId(3);

/// A unit under construction.
#[derive(Default)]
struct UnitBuilder {
    unit: Unit,
}

impl UnitBuilder {
    fn new() -> UnitBuilder {
        let ty = |kind, size| Type {
            kind,
            size,
            align: 1,
        };
        UnitBuilder {
            unit: Unit {
                types: vec![
                    ty(TypeKind::Void, 0),
                    ty(TypeKind::Integer(32), 4),
                    ty(TypeKind::Pointer, 8),
                    ty(TypeKind::Integer(1), 1),
                ],
                ..Unit::default()
            },
        }
    }

    fn constant(&mut self, constant: Constant) -> Operand {
        self.unit.constants.push(constant);
        Operand::Constant(ConstantId(self.unit.constants.len() as u32 - 1))
    }

    fn number(&mut self, bits: u128) -> Operand {
        self.constant(Constant::Integer { ty: I32, bits })
    }

    fn global(&mut self, name: &str, bits: u128) -> Operand {
        self.number(bits);
        let initial = ConstantId(self.unit.constants.len() as u32 - 1);
        self.unit.globals.push(Global {
            name: name.into(),
            display: name.into(),
            ty: I32,
            size: 4,
            initial: Some(initial),
            ..Global::default()
        });
        self.constant(Constant::Global(GlobalId(
            self.unit.globals.len() as u32 - 1,
        )))
    }

    fn declare(&mut self, name: &str) -> Operand {
        self.function(name, 0, Vec::new(), Vec::new())
    }

    /// A function of blocks, each a list of operation, result and type.
    fn function(
        &mut self,
        name: &str,
        values: u32,
        parameters: Vec<TypeId>,
        blocks: Vec<Vec<(Op, Option<u32>, TypeId)>>,
    ) -> Operand {
        let first = self
            .unit
            .functions
            .iter()
            .map(|one| one.instructions.len() as u32);
        let first_point = PointNumber(first.sum::<u32>() + 1);
        let mut function = Function {
            name: name.into(),
            display: name.into(),
            parameters,
            values,
            first_point,
            ..Function::default()
        };
        for block in blocks {
            let from = function.instructions.len() as u32;
            let rows = block.into_iter().map(|(op, result, ty)| Instruction {
                op,
                result: result.map(ValueId),
                ty,
                place: PlaceId(0),
            });
            function.instructions.extend(rows);
            function.blocks.push(Block {
                label: String::new(),
                from,
                to: function.instructions.len() as u32,
            });
        }
        self.unit.functions.push(function);
        self.constant(Constant::Function(FunctionId(
            self.unit.functions.len() as u32 - 1,
        )))
    }
}

fn value(row: u32) -> Operand {
    Operand::Value(ValueId(row))
}

fn call(callee: Operand, arguments: &[Operand]) -> Op {
    Op::Call {
        callee,
        arguments: arguments.to_vec(),
        by_value: Vec::new(),
        normal: None,
        unwind: None,
    }
}

/// A run of events: thread, kind, location, value, point.
fn run(rows: &[(u16, EventKind, u32, u64, u32)], points: u32) -> Run {
    let events: Vec<Event> = rows
        .iter()
        .enumerate()
        .map(|(seq, &(thread, kind, location, bits, point))| Event {
            seq: seq as u64,
            thread: ThreadId(thread),
            kind,
            site: SiteId(1),
            location: LocationId(location),
            size: if kind.is_access() { 4 } else { 0 },
            flags: 0,
            value: Some(Value::Bits(bits)),
            old: None,
            stack: StackId(0),
            point: PointId(point),
        })
        .collect();
    let mut run = Run {
        locations: ["", "count", "m"].into_iter().map(str::to_owned).collect(),
        events: Events::from_rows(&events),
        ..Run::default()
    };
    let thread = |name: &str| ThreadRow {
        name: name.into(),
        ..ThreadRow::default()
    };
    run.meta.threads = vec![thread("main"), thread("main.1")].into();
    run.meta.sites = vec![SiteRow::default(); 2].into();
    run.meta.units = vec![Hash([7; 32]).to_string()].into();
    run.meta.points = (0..=points)
        .map(|number| PointRow(unsnarl_trace::UnitNameId(0), PointNumber(number)))
        .collect();
    run
}

fn shown(trace: &SymbolicTrace) -> Vec<String> {
    let line = |id| {
        let step = trace.step(id)?;
        let thread = id.thread.0;
        Some(match step.action {
            Action::Read { cell, symbol } => {
                let recorded = trace.symbol(symbol)?.recorded?;
                format!("{thread} reads {} = {recorded}", trace.cell(cell)?.name)
            }
            Action::Write { cell, value } => {
                format!(
                    "{thread} writes {} = {}",
                    trace.cell(cell)?.name,
                    trace.show(value)
                )
            }
            Action::Assume(condition) => format!("{thread} assumes {}", trace.show(condition)),
            Action::Sync { kind, .. } => format!("{thread} {}", kind.name()),
            Action::Release { .. } => format!("{thread} releases"),
        })
    };
    trace.order.iter().filter_map(|id| line(*id)).collect()
}

/// `main` creates a thread that adds 3 to `count` under a lock that it keeps; `main` then asserts `count == 5`.
fn counting() -> (Unit, Run) {
    counting_by(|b| b.number(3))
}

/// The same with a number that the thread adds; its own argument is a null pointer.
fn counting_by(number: impl Fn(&mut UnitBuilder) -> Operand) -> (Unit, Run) {
    use EventKind::*;
    let mut b = UnitBuilder::new();
    let count = b.global("count", 5);
    let lock = b.global("m", 0);
    let (zero, added, five) = (b.number(0), number(&mut b), b.number(5));
    let null = b.constant(Constant::Zero(POINTER));
    let lock_call = b.declare("pthread_mutex_lock");
    let create = b.declare("pthread_create");
    let join = b.declare("pthread_join");
    let read = b.declare("__tsan_read4");
    let write = b.declare("__tsan_write4");
    let fails = b.declare("__assert_fail");
    let load = Op::Load {
        address: count,
        is_atomic: false,
    };
    // Points 1 to 8.
    let add = vec![
        (call(lock_call, &[lock]), Some(1), I32),
        (call(read, &[count]), None, VOID),
        (load.clone(), Some(2), I32),
        (
            Op::Binary {
                op: BinaryOp::Add,
                a: value(2),
                b: added,
            },
            Some(3),
            I32,
        ),
        (call(write, &[count]), None, VOID),
        (
            Op::Store {
                value: value(3),
                address: count,
                is_atomic: false,
            },
            None,
            I32,
        ),
        (Op::Return(Some(null)), None, VOID),
    ];
    let adds = b.function("adds", 4, vec![I32], vec![add]);
    // Points 8 on.
    let place = value(0);
    let begin = vec![
        (
            Op::Alloca {
                ty: POINTER,
                size: 8,
                count: five,
            },
            Some(0),
            POINTER,
        ),
        (call(create, &[place, null, adds, null]), Some(1), I32),
        (
            Op::Load {
                address: place,
                is_atomic: false,
            },
            Some(2),
            POINTER,
        ),
        (call(join, &[value(2), null]), Some(3), I32),
        (call(read, &[count]), None, VOID),
        (load, Some(4), I32),
        (
            Op::Compare {
                op: CompareOp::Eq,
                a: value(4),
                b: five,
                of: I32,
            },
            Some(5),
            I1,
        ),
        (
            Op::Branch {
                condition: value(5),
                yes: BlockId(1),
                no: BlockId(2),
            },
            None,
            VOID,
        ),
    ];
    let passes = vec![(Op::Return(Some(zero)), None, VOID)];
    let fail_block = vec![
        (call(fails, &[]), None, VOID),
        (Op::Unreachable, None, VOID),
    ];
    b.function("main", 6, Vec::new(), vec![begin, passes, fail_block]);
    let rows = [
        (0, Begin, 0, 0, 0),
        (0, Fork, 0, 1, 9),
        (1, Begin, 0, 0, 0),
        (1, Lock, 2, 0, 1),
        (1, Read, 1, 5, 2),
        (1, Write, 1, 8, 5),
        (1, End, 0, 0, 0),
        (0, Join, 0, 1, 11),
        (0, Read, 1, 8, 12),
        (0, Failure, 0, 0, 17),
    ];
    let mut run = run(&rows, 20);
    run.meta.outcome = Outcome::Failed;
    run.meta.failure = Some(Failed {
        kind: FailureKind::Assert,
        message: "count == 5".into(),
        thread: Some(ThreadId(0)),
        site: None,
        event: Some(EventId(9)),
    });
    (b.unit, run)
}

fn program(unit: Unit) -> Program {
    Program::new(vec![(Hash([7; 32]), unit)])
}

#[test]
fn threads_are_followed_in_the_recorded_order() {
    let (unit, run) = counting();
    let walked = walk(&run, &program(unit), &Budget::unlimited());
    let trace = &walked.trace;
    assert_eq!(walked.followed, (2, 2), "{:?}", trace.gaps);
    let expected = [
        "0 begin",
        "0 fork",
        "1 begin",
        "1 lock",
        "1 reads count = 5",
        "1 writes count = count + 3",
        "1 end",
        "0 join",
        "0 reads count = 8",
        "0 assumes true",
        "0 assumes count != 5",
        "1 releases",
    ];
    assert_eq!(shown(trace), expected);
    let Bug::Condition { step, condition } = trace.bug else {
        panic!("{:?}", trace.bug);
    };
    assert_eq!(trace.show(condition), "count != 5");
    assert_eq!(step.index, 5);
    assert_eq!(trace.cells[0].initial, Some(5));
}

#[test]
fn a_function_takes_the_low_part_of_a_register() {
    let (unit, run) = counting_by(|_| value(0));
    let walked = walk(&run, &program(unit), &Budget::unlimited());
    let written = shown(&walked.trace);
    assert!(
        written.contains(&"1 writes count = count".to_owned()),
        "{written:?}"
    );
}

#[test]
fn a_thread_whose_events_are_others_is_not_followed() {
    let (mut unit, run) = counting();
    // The model has no store where the run has a write.
    let adds = unit.functions.iter_mut().find(|one| one.name == "adds");
    adds.unwrap().instructions.swap_remove(4);
    let walked = walk(&run, &program(unit), &Budget::unlimited());
    assert!(walked.followed.0 < 2);
    let gap = &walked.trace.gaps[0];
    assert!(gap.contains("main.1 could not be followed"), "{gap}");
    // The value written is known nevertheless.
    let lines = shown(&walked.trace);
    assert!(
        lines.contains(&"1 writes count = 8".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn without_a_model_values_are_known() {
    let (_, run) = counting();
    let walked = walk(&run, &Program::default(), &Budget::unlimited());
    let lines = shown(&walked.trace);
    assert!(
        lines.contains(&"1 writes count = 8".to_owned()),
        "{lines:?}"
    );
    assert!(matches!(walked.trace.bug, Bug::Unknown(_)));
    assert!(walked.trace.gaps[0].contains("no program model"));
}

#[test]
fn a_walk_that_is_cancelled_says_so() {
    let (unit, run) = counting();
    let budget = Budget::unlimited();
    budget.cancel();
    let walked = walk(&run, &program(unit), &budget);
    assert_eq!(walked.stopped, unsnarl_core::StopReason::Cancelled);
}
