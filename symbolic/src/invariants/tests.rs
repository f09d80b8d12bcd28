//! Tests on the paper's examples, and properties of explanations.

mod figures;
mod path;
mod random;
mod refused;
mod sizes;
mod usual;
mod waits;

use super::*;
use crate::{SymbolId, SymbolicTrace, dsp::fixture::fixture};
use path::path;
use unsnarl_trace::Run;

/// The slice as sentences, with the invariants that begin after each statement; checked.
fn shown((trace, run): (SymbolicTrace, Run), level: Option<Level>) -> String {
    let options = InvariantOptions {
        level,
        ..InvariantOptions::default()
    };
    let budget = Budget::unlimited();
    let explained = explain(&trace, &run, &trace.order, &options, &budget).unwrap();
    assert_eq!(check(&explained, &budget), []);
    assert_eq!(explained.minimality, Minimality::Proved);
    let mut lines = vec![explained.level.to_string()];
    for &row in &explained.slice {
        lines.push(explained.did(row));
        for reach in explained.begins_at(row + 1) {
            lines.push(format!("    {}", explained.say(reach)));
        }
    }
    lines.join("\n")
}

fn told(text: &str, level: Option<Level>) -> String {
    let fixture = fixture(text);
    shown((fixture.trace, fixture.run), level)
}

/// Figures 1 and 2: the third deposit is lost. `a` stands for the source's array.
const BANK: &str = r#"
    file bank.c
    start main.1 deposit
    start main.2 withdraw
    init balance = 0
    main fork main.1 @90
    main fork main.2 @91
    main.1 R balance -> b1 @67
    main.1 W balance = b1 + 100 @74
    main.1 R balance -> b2 @67
    main.1 W balance = b2 + 200 @74
    main.2 R balance -> c1 @100
    main.2 W balance = c1 - 50 @107
    main.2 R balance -> c2 @100
    main.1 R balance -> b3 @67
    main.1 W balance = b3 + 300 @74
    main.2 W balance = c2 - 60 @107
    main join main.1 @95
    main join main.2 @96
    main R balance -> end @120
    main bug end != 490 @120
"#;

#[test]
fn figure_2_the_lost_deposit_shows_with_its_hazards() {
    expect_test::expect![[r#"
        ds+hs
        main.1 read balance = 0
            main.1: balance <= 0
        main.1 stored balance = 100
            balance <= 100
        main.1 read balance = 100
            main.1: balance <= 100
        main.1 stored balance = 300
            balance <= 300
        main.2 read balance = 300
            main.2: balance <= 300
        main.2 stored balance = 250
            balance <= 250
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
            main.2 stored balance at line 107 after main.1 read it at line 67
            main.2 stored balance at line 107 after main.1 read it at line 67
        main.2 read balance = 250
            main.2 read balance <= 250 at line 100
        main.1 stored balance = 550
            main.1 stored balance at line 74 after main.2 read it at line 100
            main.1 stored balance at line 74 after main.2 read it at line 100
        main.2 stored balance = 190
            balance <= 190
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
        main read balance = 190
            main: balance <= 190
        main failed: balance != 490"#]]
    .assert_eq(&told(BANK, Some(Level::HS)));
}

/// The bank example with private variables; only the relevant parts of the first deposits are left.
const BANK_IN_WORDS: &str = r#"
    shared balance = 0
    main fork main.1 @90
    main fork main.2 @91
    main.1 lock l @66
    main.1 bal := balance @67
    main.1 unlock l @68
    main.1 [ bal <= 900 @70
    main.1 bal := bal + 300 @71
    main.1 ]
    main.1 lock l @73
    main.1 balance = bal @74
    main.1 unlock l @75
    main.2 lock l @99
    main.2 bal := balance @100
    main.2 unlock l @101
    main.1 lock l @66
    main.1 bal := balance @67
    main.1 unlock l @68
    main.1 [ bal <= 900 @70
    main.1 bal := bal + 200 @71
    main.1 ]
    main.1 lock l @73
    main.1 balance = bal @74
    main.1 unlock l @75
    main.2 [ bal >= 50 @103
    main.2 bal := bal - 50 @104
    main.2 ]
    main.2 lock l @106
    main.2 balance = bal @107
    main.2 unlock l @108
    main join main.1 @95
    main join main.2 @96
    main fails balance != 450 @120
"#;

#[test]
fn the_flow_of_data_alone_leaves_the_lost_deposit_out() {
    expect_test::expect![[r#"
        ds
        main.1 read balance = 0
            main.1: balance <= 0
        main.1 set bal = 0
            main.1: bal <= 0
        main.1 set bal = 300
            main.1: bal <= 300
        main.1 stored balance = 300
            balance <= 300
        main.2 read balance = 300
            main.2: balance <= 300
        main.2 set bal = 300
            main.2: bal <= 300
        main.2 set bal = 250
            main.2: bal <= 250
        main.2 stored balance = 250
            balance <= 250
        main read balance = 250
            main: balance <= 250
        main failed: balance != 450"#]]
    .assert_eq(&shown(path(BANK_IN_WORDS), Some(Level::DS)));
}

#[test]
fn the_lightest_level_has_the_lost_deposit() {
    expect_test::expect![[r#"
        ds+hs
        main.1 read balance = 0
            main.1: balance <= 0
        main.1 set bal = 0
            main.1: bal <= 0
        main.1 set bal = 300
            main.1: bal <= 300
        main.1 stored balance = 300
            balance <= 300
        main.2 read balance = 300
            main.2: balance <= 300
        main.2 set bal = 300
            main.2: bal <= 300
        main.2 set bal = 250
            main.2: bal <= 250
        main.1 stored balance = 500
            main.1 stored balance at line 74 after main.2 read it at line 100
        main.2 stored balance = 250
            balance <= 250
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
            main.2 stored balance at line 107 after main.1 read it at line 67
        main read balance = 250
            main: balance <= 250
        main failed: balance != 450"#]]
    .assert_eq(&shown(path(BANK_IN_WORDS), None));
}

#[test]
fn with_control_locks_and_branches_are_explained() {
    expect_test::expect![[r#"
        ds+cs+hs
        main.1 took l
            main.1 took l at line 66
        main.1 read balance = 0
            main.1: -250 <= balance <= 0
        main.1 set bal = 0
            main.1: -250 <= bal <= 0
        main.1 gave l back
            l is free
        main.1 went on with bal <= 900
            main.1 found bal <= 900 at line 70
        main.1 set bal = 300
            main.1: 50 <= bal <= 300
        main.1 took l
            main.1 took l at line 73
        main.1 stored balance = 300
            50 <= balance <= 300
        main.1 gave l back
            l is free
        main.2 took l
            main.2 took l at line 99
        main.2 read balance = 300
            main.2: 50 <= balance <= 300
        main.2 set bal = 300
            main.2: 50 <= bal <= 300
        main.2 went on with bal >= 50
            main.2 found bal >= 50 at line 103
            main.2: bal <= 300
        main.2 set bal = 250
            main.2: bal <= 250
        main.1 stored balance = 500
            main.1 stored balance at line 74 after main.2 read it at line 100
        main.1 gave l back
            l is free
        main.2 took l
            main.2 took l at line 106
        main.2 stored balance = 250
            balance <= 250
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
            main.2 stored balance at line 107 after main.1 read it at line 67
        main read balance = 250
            main: balance <= 250
        main failed: balance != 450"#]]
    .assert_eq(&shown(path(BANK_IN_WORDS), Some(Level::ALL)));
}

/// The rows of the slice and the description of the failure, without names, which are not tested here.
fn rows(text: &str, level: Level) -> (Vec<String>, usize) {
    let (trace, run) = path(text);
    let options = InvariantOptions {
        level: Some(level),
        ..InvariantOptions::default()
    };
    let budget = Budget::unlimited();
    let explained = explain(&trace, &run, &trace.order, &options, &budget).unwrap();
    assert_eq!(check(&explained, &budget), []);
    let failure = explained.statements.len() - 1;
    let told = explained.slice.iter().filter(|row| **row != failure);
    let kinds = told.map(|row| {
        let statement = &explained.statements[*row];
        format!(
            "{} {:?} {}",
            statement.thread.0, statement.kind, statement.place.line
        )
    });
    (kinds.collect(), explained.at(failure).count())
}

#[test]
fn a_deadlock_is_the_locks_that_are_held() {
    let text = "
        shared x = 1
        main fork main.1 @1
        main.1 lock a @10
        main.1 x = 2 @11
        main.1 unlock a @12
        main lock a @2
        main.1 lock bb @13
        main blocked bb @3
        main.1 blocked a @14
        main.1 deadlocks
    ";
    let (kinds, conjuncts) = rows(text, Level::DS);
    assert_eq!(kinds, ["0 Lock 2", "1 Lock 13"]);
    assert_eq!(conjuncts, 2);
}

#[test]
fn a_use_after_free_is_the_free_and_the_pointer() {
    let text = "
        shared p = 1
        main fork main.1 @1
        main.1 q := p @10
        main free block @2
        main p = 0 @3
        main.1 [ q == 1 @11
        main.1 uses p @11
    ";
    let (kinds, conjuncts) = rows(text, Level::DS);
    assert_eq!(kinds, ["1 Read 10", "1 Assign 10", "0 Free 2"]);
    assert_eq!(conjuncts, 2);
}

#[test]
fn without_a_model_values_and_hazards_are_told() {
    let mut fixture = fixture(BANK);
    for thread in &mut fixture.trace.threads {
        for step in &mut thread.steps {
            if let crate::Action::Write { value, .. } = &mut step.action {
                let values = &mut crate::expr::Values::new();
                let symbols = &fixture.trace.symbols;
                let was = |symbol: SymbolId| symbols[symbol.index()].recorded;
                let bits = fixture.trace.exprs.value(*value, values, &was).unwrap();
                *value = fixture.trace.exprs.number(bits, 32);
            }
        }
    }
    fixture.trace.bug = crate::Bug::Unknown("there is no program model".into());
    let (trace, run) = (fixture.trace, fixture.run);
    let order = trace.order.clone();
    let explained = explain(
        &trace,
        &run,
        &order,
        &InvariantOptions::default(),
        &Budget::unlimited(),
    );
    let explained = explained.unwrap();
    assert!(explained.is_concrete);
    assert_eq!(explained.level, Level::HS);
    assert_eq!(check(&explained, &Budget::unlimited()), []);
    let kinds = explained.slice.iter().map(|row| {
        let statement = &explained.statements[*row];
        (statement.thread.0, statement.place.line, statement.recorded)
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(
        kinds,
        [
            (1, 74, Some(550)),
            (2, 107, Some(190)),
            (0, 120, Some(190)),
            (0, 120, None)
        ]
    );
}

/// Sums of variables keep bounds over several of them.
#[test]
fn bounds_come_through_sums_of_variables() {
    let text = "
        shared balance = 100
        main put := balance @1
        main amount := put + 100 @2
        main put := put + amount @3
        main put := put + amount @4
        main fails put != 450 @5
    ";
    expect_test::expect![[r#"
        ds
        main read balance = 100
            main: balance >= 100
        main set put = 100
            main: put >= 100
        main set amount = 200
            main: put >= 100
            main: amount >= 200
        main set put = 300
            main: amount >= 200
            main: put >= 300
        main set put = 500
            main: put >= 500
        main failed: put != 450"#]]
    .assert_eq(&shown(path(text), Some(Level::DS)));
}

/// The option for all writes of Formula 7 adds those beyond the nearest of each thread.
#[test]
fn all_writes_of_formula_7_can_be_asked_for() {
    let fixture = fixture(BANK);
    let slices = [false, true].map(|every_write| {
        let options = InvariantOptions {
            level: Some(Level::HS),
            every_write,
        };
        let (trace, budget) = (&fixture.trace, Budget::unlimited());
        let explained = explain(trace, &fixture.run, &trace.order, &options, &budget).unwrap();
        assert_eq!(check(&explained, &budget), []);
        let is_order = |reach: &&Reach| matches!(reach.fact, Fact::Order { .. });
        let orders = explained.invariants.iter().filter(is_order).count();
        (explained.slice, orders)
    });
    let [(nearest, few), (all, many)] = slices;
    assert!(nearest.iter().all(|row| all.contains(row)));
    assert!(few < many, "{few} {many}");
}

/// What was worked out whole is known, so that asking again takes no time; what was cut short is not.
#[test]
fn a_path_that_was_explained_is_not_worked_out_again() {
    let fixture = fixture(
        r"
        main W x = 1 @3
        main R x -> seen @4
        main bug seen == 1 @5
        ",
    );
    let (trace, run) = (fixture.trace, fixture.run);
    let path = prepare(&trace, &run, &trace.order).unwrap();
    let (options, over) = (
        InvariantOptions::default(),
        Budget::lasting(std::time::Duration::ZERO),
    );
    assert!(path.explain(&options, &over).is_err());
    let found = path.explain(&options, &Budget::unlimited()).unwrap();
    let again = path.explain(&options, &over).unwrap();
    assert_eq!(again.invariants, found.invariants);
}
