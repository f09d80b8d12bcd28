//! The paper's examples, and what must stay true of explanations.

use super::*;
use crate::dsp::fixture::fixture;

/// The slice as sentences, with the values that begin to hold behind each statement.
fn told(text: &str, level: Option<Level>) -> String {
    let fixture = fixture(text);
    let options = Options {
        level,
        ..Options::default()
    };
    let order = fixture.trace.order.clone();
    let explained = explain(
        &fixture.trace,
        &fixture.run,
        &order,
        &options,
        &Budget::unlimited(),
    );
    let explained = explained.unwrap();
    assert_eq!(check(&explained, &Budget::unlimited()), []);
    let mut lines = vec![explained.level.to_string()];
    for &row in &explained.slice {
        lines.push(explained.did(row));
        for reach in explained.begins_at(row + 1) {
            lines.push(format!("    {}", explained.say(&reach.fact)));
        }
    }
    lines.join("\n")
}

/// Figures 1 and 2: the third deposit is lost. `a` is what the source has in its array.
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
            main.1: balance read at line 67 == 0
        main.1 stored balance = 100
            balance == 100
        main.1 read balance = 100
            main.1: balance read at line 67 == 100
        main.1 stored balance = 300
            balance == 300
        main.2 read balance = 300
            main.2: balance read at line 100 == 300
        main.2 stored balance = 250
            0 <= balance <= 250
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
            main.2 stored balance at line 107 after main.1 read it at line 67
            main.2 stored balance at line 107 after main.1 read it at line 67
        main.2 read balance = 250
            main.2: 0 <= balance read at line 100 <= 250
        main.1 stored balance = 550
            main.1 stored balance at line 74 after main.2 read it at line 100
            main.1 stored balance at line 74 after main.2 read it at line 100
        main.2 stored balance = 190
            balance <= 190
            main.2 overwrote balance at line 107 after main.1 stored it at line 74
        main read balance = 190
            main: balance read at line 120 <= 190
        main failed: balance read at line 120 != 490"#]]
    .assert_eq(&told(BANK, Some(Level::HS)));
}
