//! The check that failed, in what a program has printed: test frameworks name its file and line and go on, so that the
//! exit status is all that the process itself tells.

use super::{DrivenBy, FinishedRun};
use crate::assemble::Exit;

/// A check of a test framework, or of the program's own making, that printed where it failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedCheck {
    /// The source file as printed: as the compiler was given it.
    pub file: String,
    /// Line of the check, from 1.
    pub line: u32,
    /// The framework's message: the checked expression, its values, and what the test adds.
    pub text: String,
}

/// Endings of the names of source files.
const ENDINGS: [&str; 11] = [
    "c", "cc", "cpp", "cxx", "c++", "C", "h", "hh", "hpp", "hxx", "inl",
];

impl FailedCheck {
    /// Returns the first failed check that a program printed before it ended with a status other than 0.
    pub(crate) fn of(finished: &FinishedRun) -> Option<FailedCheck> {
        let by_parent = finished.driven.as_ref();
        let by_parent = by_parent.filter(|end| matches!(end.by, DrivenBy::Parent(_)));
        let Exit::Code(1..) = by_parent.map_or(finished.exit, |parent| parent.exit) else {
            return None;
        };
        let streams = [&finished.stdout, &finished.stderr];
        streams
            .into_iter()
            .find_map(|stream| FailedCheck::first_in(&stream.text()))
    }

    /// Returns the first failed check in a program's output. Takes time linear in the text.
    fn first_in(text: &str) -> Option<FailedCheck> {
        let plain = without_colors(text);
        let mut lines = plain.lines();
        while let Some(line) = lines.next() {
            if let Some(found) = FailedCheck::in_line(line) {
                let text = message(&found.text, lines);
                return Some(FailedCheck { text, ..found });
            }
        }
        None
    }

    /// The check of a line, with what follows the place as its text.
    fn in_line(text: &str) -> Option<FailedCheck> {
        let dots = text.match_indices('.').map(|(dot, _)| dot);
        dots.filter_map(|dot| at_ending(text, dot))
            .find(|(before, _, rest)| says_failed(before, rest))
            .map(|(_, check, rest)| FailedCheck {
                text: rest.to_owned(),
                ..check
            })
    }
}

/// Removes the escape sequences that color a text: frameworks write them into pipes, too.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';');
        let rest = end.and_then(|end| part.get(end..)?.strip_prefix('m'));
        plain.push_str(rest.unwrap_or(part));
    }
    plain
}

/// Upper bound for the lines of a message.
const MOST_LINES: usize = 30;

/// Puts a message together of what stands behind the place and of the lines that follow, up to an empty one or the next
/// report of the framework.
fn message<'a>(first: &'a str, following: impl Iterator<Item = &'a str>) -> String {
    const WORDS_WITHOUT_CONTENT: [&str; 4] = ["Failure", "FAILED:", "error: Failure!", ""];
    let first = first.trim_start_matches(':').trim();
    let first = (!WORDS_WITHOUT_CONTENT.contains(&first)).then_some(first);
    let ends = |line: &&str| {
        line.trim().is_empty()
            || ["[", "===", "---", "***"]
                .iter()
                .any(|mark| line.starts_with(mark))
            || FailedCheck::in_line(line).is_some()
    };
    let following = following.take_while(|line| !ends(line));
    let lines: Vec<&str> = first
        .into_iter()
        .chain(following)
        .take(MOST_LINES)
        .collect();
    lines.join("\n")
}

/// Splits a line at `FILE:LINE` or `FILE(LINE)`, whose ending begins with the dot: what stands before it, the place, and
/// what follows.
fn at_ending(text: &str, dot: usize) -> Option<(&str, FailedCheck, &str)> {
    let (name, rest) = text.split_at_checked(dot)?;
    let rest = rest.get(1..)?;
    let end = rest.find([':', '('])?;
    let (ending, rest) = rest.split_at_checked(end)?;
    let rest = rest.get(1..)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (line, rest) = rest.split_at_checked(digits)?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    let begin = name.rfind(|c: char| c.is_whitespace() || "[('\"".contains(c));
    let begin = begin.map_or(0, |at| at + 1);
    let (before, name) = name.split_at_checked(begin)?;
    let file = (!name.is_empty()).then(|| format!("{name}.{ending}"))?;
    let check = FailedCheck {
        file,
        line,
        text: String::new(),
    };
    ENDINGS
        .contains(&ending)
        .then_some((before, check, rest.trim_start_matches(')')))
}

/// Returns whether the texts around a place say that a check failed there, in the words of a framework or of a macro as
/// programs have their own.
fn says_failed(before: &str, rest: &str) -> bool {
    let text = rest.trim_start_matches(':').trim();
    let google_test = text == "Failure";
    let catch = text == "FAILED:";
    let doctest = text.starts_with("ERROR: ") || text.starts_with("FATAL ERROR: ");
    let boost = text.starts_with("error: in \"") || text.starts_with("fatal error: in \"");
    let cmocka = text == "error: Failure!";
    let unity = text.split(':').nth(1) == Some("FAIL");
    let check = text.starts_with("F:");
    let cunit = text.starts_with("- CU_");
    let qt_test = before.trim_end().ends_with("Loc: [") && text == "]";
    let frameworks = [
        google_test,
        catch,
        doctest,
        boost,
        cmocka,
        unity,
        check,
        cunit,
        qt_test,
    ];
    frameworks.contains(&true) || is_own_macro(before, text)
}

/// Returns whether the words are those of a macro such as `CHECK failed: n == 2`.
fn is_own_macro(before: &str, after: &str) -> bool {
    const CHECKS: [&str; 5] = ["check", "assert", "expect", "require", "test"];
    let text = format!("{before} {after}").to_ascii_lowercase();
    text.contains("fail") && CHECKS.iter().any(|check| text.contains(check))
}

#[cfg(test)]
mod tests {
    use super::FailedCheck;

    fn first(text: &str) -> Option<(String, u32)> {
        FailedCheck::first_in(text).map(|check| (check.file, check.line))
    }

    #[test]
    fn the_check_of_each_framework_is_found() {
        let printed = [
            "[ RUN      ] Queue.Empty\n/src/a b/../queue_test.cpp:7: Failure\nExpected equality",
            "queue_test.cpp:7: FAILED:\n  REQUIRE( n == 2 )\nwith expansion:\n  1 == 2",
            "queue_test.cpp:7: ERROR: CHECK( n == 2 ) is NOT correct!\n  values: CHECK( 1 == 2 )",
            "queue_test.cpp(7): error: in \"queue/empty\": check n == 2 has failed [1 != 2]",
            "queue_test.cpp(7): \x1b[1;31;49merror: in \"queue/empty\": check n == 2 has failed [1 != 2]\x1b[0;39;49m",
            "[  ERROR   ] --- 0x1 != 0x2\n[   LINE   ] --- queue_test.cpp:7: error: Failure!",
            "queue_test.cpp:7:test_empty:FAIL: Expected 2 Was 1",
            "queue_test.cpp:7:F:core:test_empty:0: Assertion 'n == 2' failed: n == 1, 2 == 2",
            "    1. queue_test.cpp:7  - CU_ASSERT_EQUAL(n,2)",
            "FAIL!  : TestQueue::empty() Compared values are not the same\n   Loc: [queue_test.cpp(7)]",
            "[----] queue_test.cpp:7: Assertion Failed\n[----]   The expression n == 2 is false.",
            "CHECK failed at queue_test.cpp:7: n == 2",
            "queue_test.cpp:7: test failed: n == 2",
        ];
        for text in printed {
            let (file, line) = first(text).unwrap_or_default();
            assert!(file.ends_with("queue_test.cpp"), "{text}: {file}");
            assert_eq!(line, 7, "{text}");
        }
    }

    #[test]
    fn what_is_merely_logged_is_no_check() {
        let logged = [
            "",
            "all checks failed",
            "queue.cpp:7: connected to 127.0.0.1:80",
            "server.log:7: test failed",
            "queue.cpp:7:3: runtime error: signed integer overflow",
            "queue.cpp:0: test failed",
            "queue.cpp:99999999999: test failed",
            ".c:7: test failed",
            "queue.cpp:",
            "queue.cpp:7",
            "é.cpp(",
        ];
        for text in logged {
            assert_eq!(first(text), None, "{text}");
        }
    }

    #[test]
    fn the_message_is_the_frameworks_own() {
        let message = |text: &str| FailedCheck::first_in(text).map(|check| check.text);
        let printed = [
            (
                "[ RUN      ] Queue.Empty\nq.cpp:7: Failure\nExpected equality of these values:\n  n\n    Which is: 1\n  2\nextra\n[  FAILED  ] Queue.Empty (0 ms)",
                "Expected equality of these values:\n  n\n    Which is: 1\n  2\nextra",
            ),
            (
                "q.cpp:7: Failure\nValue of: n == 3\n  Actual: false\nExpected: true\nq.cpp:8: Failure\nFailed",
                "Value of: n == 3\n  Actual: false\nExpected: true",
            ),
            (
                "q.cpp:7: FAILED:\n  CHECK( n == 2 )\nwith expansion:\n  1 == 2\n\n------",
                "  CHECK( n == 2 )\nwith expansion:\n  1 == 2",
            ),
            (
                "q.cpp:7: ERROR: CHECK( n == 2 ) is NOT correct!\n  values: CHECK( 1 == 2 )\n\n====",
                "ERROR: CHECK( n == 2 ) is NOT correct!\n  values: CHECK( 1 == 2 )",
            ),
            (
                "q.cpp(7): \x1b[1;31;49merror: in \"q/empty\": check n == 2 has failed [1 != 2]\x1b[0;39;49m\nq.cpp(8): error: in \"q/full\": x",
                "error: in \"q/empty\": check n == 2 has failed [1 != 2]",
            ),
        ];
        for (text, expected) in printed {
            assert_eq!(message(text).as_deref(), Some(expected), "{text}");
        }
        let endless = format!("q.cpp:7: Failure\n{}", "line\n".repeat(1000));
        let endless = message(&endless).unwrap_or_default();
        assert_eq!(endless.lines().count(), super::MOST_LINES);
    }

    #[test]
    fn the_first_of_several_is_told() {
        let text = "a.c:1: connected\nb.c:2: Failure\nc.c:3: Failure\n";
        assert_eq!(first(text), Some(("b.c".to_owned(), 2)));
    }
}
