//! Results in the Test Anything Protocol, version 14: one line per case, in the order in which they end.

use super::text;
use unsnarl_recorder::suite::{CaseFailure, CaseReport, CaseVerdict};

/// Prints the version and the number of cases.
pub fn begin(cases: usize) {
    outln!("TAP version 14");
    outln!("1..{cases}");
}

/// Prints a case that is done.
pub fn tell(number: usize, name: &str, report: &CaseReport) {
    outln!("{}", line(number, name, &report.verdict));
    if let CaseVerdict::Failed(failure) = &report.verdict {
        diagnostics(failure)
            .iter()
            .for_each(|line| outln!("{line}"));
    }
}

fn line(number: usize, name: &str, verdict: &CaseVerdict) -> String {
    let name = escaped(name);
    match verdict {
        CaseVerdict::Passed => format!("ok {number} - {name}"),
        CaseVerdict::Failed(_) => format!("not ok {number} - {name}"),
        CaseVerdict::Disabled => format!("ok {number} - {name} # SKIP disabled"),
        CaseVerdict::NotRecordable(why) => {
            let why = escaped(why);
            format!("ok {number} - {name} # SKIP cannot be recorded: {why}")
        }
        CaseVerdict::NotRun => format!("ok {number} - {name} # SKIP not run"),
    }
}

/// A text on one line, in which nothing begins a directive.
fn escaped(text: &str) -> String {
    let line: Vec<&str> = text.lines().map(str::trim).collect();
    line.join(" ").replace('\\', "\\\\").replace('#', "\\#")
}

/// The block of YAML below a failing case. Texts are quoted as in JSON, which is YAML.
fn diagnostics(failure: &CaseFailure) -> Vec<String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut lines = vec![
        "  ---".to_owned(),
        format!("  message: {}", quoted(&failure.message)),
        format!("  kind: {}", failure.kind.name()),
    ];
    if let Some(file) = text::file(failure) {
        lines.push(format!("  file: {}", quoted(file)));
        lines.push(format!("  line: {}", failure.line));
    }
    lines.push(format!("  schedule: {}", failure.schedule));
    if let Some(run) = &failure.run {
        lines.push(format!("  run: {}", quoted(&run.to_string_lossy())));
    }
    lines.push("  ...".to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::FailureKind;

    #[test]
    fn a_name_is_no_directive_and_a_message_no_line_of_its_own() {
        let skipped = CaseVerdict::NotRecordable("a\nb".to_owned());
        assert_eq!(
            line(3, "a # SKIP b", &skipped),
            "ok 3 - a \\# SKIP b # SKIP cannot be recorded: a b"
        );
        let failure = CaseFailure {
            kind: FailureKind::Check,
            message: "Expected: \"a\"\n  ...".to_owned(),
            file: Some("q.cpp".to_owned()),
            line: 7,
            schedule: 4,
            run: None,
        };
        let expected = "  ---\n  message: \"Expected: \\\"a\\\"\\n  ...\"\n  kind: check\n  file: \"q.cpp\"\n  line: 7\n  schedule: 4\n  ...";
        assert_eq!(diagnostics(&failure).join("\n"), expected);
    }
}
