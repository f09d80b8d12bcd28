//! Comparison of the search with an enumeration without reduction.

use super::{
    division::Division,
    machine::{ModelledProgram, OrderClass, ScriptStep, enumerate, execute, explore},
    search::BoundedSearch,
};
use crate::shard::Shard;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use std::collections::BTreeSet;

fn plain() -> impl Strategy<Value = Vec<ScriptStep>> {
    let variable = 0u8..2;
    prop_oneof![
        6 => variable.clone().prop_map(|it| vec![ScriptStep::Read(it)]),
        6 => variable.clone().prop_map(|it| vec![ScriptStep::Write(it)]),
        2 => Just(vec![ScriptStep::Yield]),
        1 => variable.clone().prop_map(|it| vec![ScriptStep::Toss(it)]),
        2 => variable.clone().prop_map(|it| vec![ScriptStep::Read(it), ScriptStep::Check]),
        2 => variable.clone().prop_map(|it| vec![ScriptStep::Signal(it)]),
        2 => (variable.clone(), variable.clone()).prop_map(|(lock, it)| vec![ScriptStep::Lock(lock), ScriptStep::Write(it), ScriptStep::Unlock(lock)]),
        2 => (variable.clone(), variable.clone()).prop_map(|(lock, it)| vec![ScriptStep::Lock(lock), ScriptStep::Read(it), ScriptStep::Wait(lock), ScriptStep::Unlock(lock)]),
        1 => variable.clone().prop_map(|it| vec![ScriptStep::Lock(it), ScriptStep::Lock(1 - it), ScriptStep::Unlock(1 - it), ScriptStep::Unlock(it)]),
    ]
}

fn thread() -> impl Strategy<Value = Vec<ScriptStep>> {
    prop::collection::vec(plain(), 1..4)
        .prop_map(|parts| parts.concat().into_iter().take(6).collect())
}

fn programs() -> impl Strategy<Value = ModelledProgram> {
    prop::collection::vec(thread(), 2..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn the_search_misses_nothing_within_the_bound(program in programs(), bound in 0u32..4) {
        let (all, _) = enumerate(&program, bound);
        let (found, _) = explore(&program, bound);
        prop_assert_eq!(all.difference(&found).next(), None);
    }

    #[test]
    fn no_failure_before_the_end_of_the_process_is_missed(
        mut program in programs(), last in 0usize..4, bound in 0u32..3,
    ) {
        let ending = last % program.len();
        program[ending].push(ScriptStep::Exit);
        let (all, _) = enumerate(&program, bound);
        let (found, _) = explore(&program, bound);
        prop_assert_eq!(all.difference(&found).find(|(_, _, end)| end != "exit"), None);
    }

    #[test]
    fn complete_means_that_no_bound_shows_more(
        program in prop::collection::vec(thread().prop_map(|ops| ops.into_iter().take(3).collect()), 2..4),
        bound in 0u32..4,
    ) {
        let (found, is_cut) = explore_and_tell(&program, bound);
        if !is_cut {
            prop_assert_eq!(enumerate(&program, 20).0, found);
        }
    }
}

/// Schedules that a shard has explored, and what they show.
#[derive(Default)]
struct ExploredPart {
    schedules: Vec<Vec<u16>>,
    classes: BTreeSet<OrderClass>,
    made: usize,
}

fn explore_part(program: &ModelledProgram, bound: u32, shard: Shard) -> ExploredPart {
    let (mut search, mut division) = (BoundedSearch::new(bound), Division::new());
    let mut part = ExploredPart::default();
    while !search.is_done {
        let (path, class) = execute(program, &search.prefix());
        part.made += 1;
        if division.is_own(shard) {
            let chosen = path.choices.iter().map(|choice| choice.chosen);
            part.schedules.push(chosen.collect());
            part.classes.insert(class);
        }
        division.learn(&mut search, &path, shard);
    }
    assert_eq!(search.explored as usize, part.schedules.len());
    part
}

fn explore_parts(program: &ModelledProgram, bound: u32, count: u64) -> Vec<ExploredPart> {
    let shards = (0..count).filter_map(|index| Shard::at(index, count));
    shards
        .map(|shard| explore_part(program, bound, shard))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn the_shards_together_miss_nothing(program in programs(), bound in 0u32..4, count in 1u64..5) {
        let parts = explore_parts(&program, bound, count);
        let (all, _) = enumerate(&program, bound);
        let found = parts.iter().flat_map(|part| &part.classes).cloned().collect();
        prop_assert_eq!(all.difference(&found).next(), None);
    }

    #[test]
    fn each_schedule_belongs_to_one_shard(program in programs(), bound in 0u32..4, count in 2u64..5) {
        let whole: BTreeSet<_> = explore_parts(&program, bound, 1).remove(0).schedules.into_iter().collect();
        let parts = explore_parts(&program, bound, count);
        let schedules: Vec<_> = parts.iter().flat_map(|part| &part.schedules).cloned().collect();
        let different: BTreeSet<_> = schedules.iter().cloned().collect();
        prop_assert_eq!(different.len(), schedules.len());
        prop_assert_eq!(different, whole);
    }
}

/// Shares of the work: of a large tree no shard has much more than its part.
#[test]
fn shares_are_even() {
    use ScriptStep::{Lock, Read, Unlock, Write};
    let thread = vec![
        Lock(0),
        Write(0),
        Unlock(0),
        Read(1),
        Write(1),
        Read(0),
        Write(0),
    ];
    let program = vec![thread; 3];
    let (_, whole) = explore(&program, 3);
    let parts = explore_parts(&program, 3, 4);
    let own: Vec<usize> = parts.iter().map(|part| part.schedules.len()).collect();
    let made: Vec<usize> = parts.iter().map(|part| part.made).collect();
    assert_eq!((whole, own), (2475, vec![441, 605, 688, 741]));
    assert_eq!(made, [442, 607, 689, 743]);
}

fn explore_and_tell(program: &ModelledProgram, bound: u32) -> (BTreeSet<OrderClass>, bool) {
    let mut search = BoundedSearch::new(bound);
    let mut classes = BTreeSet::new();
    while !search.is_done {
        let (path, class) = execute(program, &search.prefix());
        classes.insert(class);
        search.learn(&path);
    }
    (classes, search.is_cut)
}

/// Programs of which simpler rules for what to try missed some orders.
#[test]
fn hard_ones() {
    use ScriptStep::{Lock, Read, Unlock, Wait, Write, Yield};
    let lock_waits = vec![
        vec![Write(0), Lock(1), Lock(0), Unlock(0), Unlock(1)],
        vec![Read(0), Lock(0), Write(0), Unlock(0), Read(0)],
        vec![Lock(0), Write(0), Unlock(0), Lock(1), Read(0), Wait(1)],
    ];
    let earlier_race = vec![
        vec![Read(1), Lock(0), Write(0), Unlock(0)],
        vec![Write(1), Write(0)],
        vec![Read(0), Lock(0), Write(1), Unlock(0), Lock(0), Write(0)],
    ];
    let yields = vec![
        vec![Yield, Read(0)],
        vec![Read(1)],
        vec![Yield, Yield, Lock(0), Write(0), Unlock(0)],
    ];
    let paid_yield = vec![
        vec![Lock(1), Write(0), Unlock(1), Read(1)],
        vec![Write(1), Yield, Write(1)],
        vec![Read(0), Lock(1), Write(0), Unlock(1)],
    ];
    for program in [lock_waits, earlier_race, yields, paid_yield] {
        nothing_is_missed(program);
    }
}

fn nothing_is_missed(program: ModelledProgram) {
    for bound in 0..4 {
        let (all, _) = enumerate(&program, bound);
        assert_eq!(
            explore(&program, bound).0,
            all,
            "bound {bound}: {program:?}"
        );
    }
}

/// Programs of which simpler rules for what sleeps missed some orders.
#[test]
fn light_sleepers() {
    use ScriptStep::{Lock, Read, Signal, Toss, Unlock, Wait, Write, Yield};
    // What begins the reversed order is the third thread, which nobody races with.
    let third = vec![
        vec![Read(0), Write(1)],
        vec![Write(1), Write(1)],
        vec![Write(0)],
    ];
    // An attempt leaves no trace, but depends on who holds the lock.
    let attempt = vec![
        vec![Write(0), Lock(0)],
        vec![Read(0), Lock(0)],
        vec![Lock(0), Read(0)],
    ];
    let signal = vec![
        vec![Lock(1), Wait(1)],
        vec![Lock(1), Wait(1)],
        vec![Signal(1)],
    ];
    // What the run chooses by itself is asleep.
    let by_itself = vec![
        vec![Yield, Yield, Write(0)],
        vec![Lock(0)],
        vec![Read(0), Lock(0)],
    ];
    // Runs that are passed over would have asked for what costs less.
    let dearer = vec![
        vec![Lock(1), Write(0)],
        vec![Lock(1), Unlock(1), Lock(1)],
        vec![Signal(0), Yield, Read(0)],
    ];
    let began = vec![
        vec![Yield],
        vec![Write(1), Yield, Toss(0)],
        vec![Read(1), Toss(0)],
    ];
    for program in [third, attempt, signal, by_itself, dearer, began] {
        nothing_is_missed(program);
    }
}

/// Steps of a thread after the end of the process, before which it need not be preempted.
#[test]
fn a_thread_fails_before_the_process_ends() {
    let program = vec![
        vec![ScriptStep::Write(0), ScriptStep::Exit],
        vec![
            ScriptStep::Write(1),
            ScriptStep::Yield,
            ScriptStep::Read(0),
            ScriptStep::Check,
        ],
    ];
    let (found, count) = explore(&program, 0);
    assert!(found.iter().any(|(_, _, end)| end.contains("1 stops")));
    assert_eq!(count, 1);
}

/// Reduction: steps that belong together take few schedules, compared with the enumeration.
#[test]
fn reduction() {
    let writers: ModelledProgram = vec![
        vec![
            ScriptStep::Write(0),
            ScriptStep::Write(1),
            ScriptStep::Read(2),
            ScriptStep::Read(3)
        ];
        3
    ];
    let strangers: ModelledProgram = (0..3).map(|it| vec![ScriptStep::Write(it); 5]).collect();
    let mut sizes = Vec::new();
    for (program, bound) in [(&writers, 2), (&writers, 3), (&strangers, 3)] {
        let (all, schedules) = enumerate(program, bound);
        let (found, explored) = explore(program, bound);
        assert_eq!(found, all);
        sizes.push((all.len(), schedules, explored));
    }
    assert_eq!(sizes, [(28, 174, 30), (36, 852, 42), (1, 1810, 1)]);
}

/// The reported interval nearly always holds the real share, and is not too wide.
#[test]
fn the_explored_share() {
    let mut runner = TestRunner::deterministic();
    let (mut told, mut right, mut width) = (0.0, 0.0, 0.0);
    for index in 0..300 {
        let program = programs().new_tree(&mut runner).unwrap().current();
        let bound = 1 + index % 3;
        let (_, all) = explore(&program, bound);
        if all < 30 {
            continue;
        }
        let mut search = BoundedSearch::new(bound);
        while !search.is_done {
            search.learn(&execute(&program, &search.prefix()).0);
            let real = search.explored as f64 / all as f64;
            let share = search.share();
            told += 1.0;
            right += f64::from(share.low - 0.01 <= real && real <= share.high + 0.01);
            width += share.high - share.low;
        }
        assert_eq!(search.share().low, 1.0);
    }
    assert!(told > 1000.0 && right / told > 0.9, "{right} of {told}");
    assert!(width / told < 0.6, "{width} of {told}");
}
