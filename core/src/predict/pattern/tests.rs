//! Tests of pattern files: their meaning and their errors.

use super::*;
use crate::predict::Annotation;
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let told = Patterns::parse(text)
        .map(|_| "fine".to_owned())
        .unwrap_or_else(|error| error.to_string());
    expected.assert_eq(&told);
}

/// A pattern with one sequence replaced.
fn with(key: &str, value: &str) -> String {
    let sequences = [
        ("T", "t1 - t2 - t1"),
        ("SV", "s1 - s1 - s1"),
        ("AR", "u1 - u2 - u1"),
        ("AT", "r - w - r"),
    ];
    let lines = sequences.map(|(k, v)| format!("{k} = \"{}\"\n", if k == key { value } else { v }));
    format!("[[pattern]]\nname = \"mine\"\n{}", lines.concat())
}

#[test]
fn a_file_of_patterns_and_regions() {
    let text = with("", "")
        + "[[region]]\nfunction = \"add\"\n[[region]]\nlines = \"a.c:3-4\"\n[[region]]\nlines = \"a.c:7\"\n";
    let file = Patterns::parse(&text).unwrap();
    let triple = Patterns::atomicity().all.remove(0);
    assert_eq!(file.patterns.all.len(), 1);
    assert_eq!(file.patterns.all[0].class, Class::User);
    assert_eq!(file.patterns.all[0].steps, triple.steps);
    let lines = |first, last| Annotation::Lines {
        file: "a.c".to_owned(),
        first,
        last,
    };
    assert_eq!(
        file.regions,
        [
            Annotation::Function("add".to_owned()),
            lines(3, 4),
            lines(7, 7)
        ]
    );
    assert_eq!(Patterns::parse("").unwrap(), UserPatterns::default());
}

#[test]
fn contradictions_are_told_with_their_place() {
    check(&with("", ""), expect!["fine"]);
    check(
        &with("T", "t1 - t2"),
        expect!["line 4, column 6: SV has 3 elements and T has 2; expected as many"],
    );
    check(
        &with("T", "t1 - t1 - t1"),
        expect![
            "line 5, column 17: thread t1 comes back to region u1 after region u2: this can never match; expected a new region"
        ],
    );
    check(
        &with("AR", "u1 - u1 - u1"),
        expect![
            "line 5, column 7: region u1 has events of thread t2 and of thread t1; a region is one thread's"
        ],
    );
    check(
        &with("AR", "u1 - u2"),
        expect!["line 5, column 6: AR has 2 elements and T has 3; expected as many"],
    );
    check(
        &with("AT", "r - x - r"),
        expect!["line 6, column 11: `x` is no access type; expected `r` or `w`"],
    );
    check(
        &with("AT", "r - r - r"),
        expect![
            "line 3, column 5: no variable is written by one thread and accessed by another: every order gives the same"
        ],
    );
    check(
        &with("SV", "s1 - s2 - s1"),
        expect![
            "line 3, column 5: no variable is written by one thread and accessed by another: every order gives the same"
        ],
    );
    check(
        &(with("", "") + "E = \"e1 - e2\"\n"),
        expect!["line 7, column 5: E has 2 elements and T has 3; expected as many"],
    );
    check(
        &(with("", "") + "consecutive = true\n"),
        expect!["line 3, column 5: `consecutive` is for two events and there are 3"],
    );
    check(
        &(with("", "") + &with("", "")),
        expect!["line 8, column 8: a second pattern is called `mine`; expected another name"],
    );
    check(
        &with("", "").replace("mine", "r-w"),
        expect!["line 2, column 8: `r-w` is the name of a built-in pattern; expected another"],
    );
    check(
        &with("", "").replace("mine", ""),
        expect!["line 2, column 8: the name is empty; expected one"],
    );
    check(
        &with("", "").replace("AT", "TA"),
        expect![
            "line 6, column 1: unknown field `TA`, expected one of `name`, `E`, `T`, `SV`, `AR`, `AT`, `consecutive`"
        ],
    );
    check(
        &with("", "").replace("AT =", "AT "),
        expect!["line 6, column 5: key with no value, expected `=`"],
    );
    check(
        "[[pattern]]\nname = \"back\"\nT = \"t1 t1 t2 t1\"\nSV = \"x x x x\"\nAR = \"u1 u2 u3 u1\"\nAT = \"r w w r\"",
        expect![
            "line 5, column 16: thread t1 comes back to region u1 after region u2: this can never match; expected a new region"
        ],
    );
    check(
        "[[pattern]]\nname = \"near\"\nT = \"t1 t2\"\nSV = \"x y\"\nAR = \"u1 u2\"\nAT = \"r w\"\nconsecutive = true",
        expect![
            "line 4, column 9: consecutive events are accesses of one variable; expected the same twice"
        ],
    );
    check(
        "[[pattern]]\nname = \"one\"\nT = \"t1\"\nSV = \"x\"\nAR = \"u1\"\nAT = \"r\"",
        expect!["line 3, column 5: the pattern has 1 events; expected 2 to 255"],
    );
    check(
        "[[region]]\nlines = \"a.c:9-3\"",
        expect![
            "line 2, column 9: `a.c:9-3` are no lines; expected `FILE:FIRST-LAST`, as in `bank.c:40-52`"
        ],
    );
    check(
        "[[region]]\nlines = \"a.c:9\"\nfunction = \"f\"",
        expect![[
            r#"line 1, column 1: a region has either `function = "NAME"` or `lines = "FILE:FIRST-LAST"`"#
        ]],
    );
}
