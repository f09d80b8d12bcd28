//! Results as JUnit XML, which CI systems read.

use super::{Results, text};
use anyhow::Result;
use quick_junit::{NonSuccessKind, Report, TestCase as JunitCase, TestCaseStatus, TestSuite};
use std::fs::File;
use unsnarl_recorder::suite::{CaseFailure, CaseReport, CaseVerdict, TestCase};

/// Writes the results: a test suite for each program, in the order of the cases.
pub fn write(results: &Results<'_>, file: File) -> Result<()> {
    let mut report = Report::new("unsnarl");
    report.set_time(results.time);
    let mut suites: Vec<TestSuite> = Vec::new();
    for (case, told) in results.cases() {
        let known = suites
            .iter()
            .position(|suite| suite.name.as_str() == case.suite);
        let at = known.unwrap_or_else(|| {
            suites.push(TestSuite::new(case.suite.as_str()));
            suites.len() - 1
        });
        if let Some(suite) = suites.get_mut(at) {
            suite.add_test_case(junit_case(case, told));
        }
    }
    report.add_test_suites(suites);
    Ok(report.serialize(file)?)
}

fn junit_case(case: &TestCase, told: &CaseReport) -> JunitCase {
    let mut junit = JunitCase::new(case.name.as_str(), status(&told.verdict));
    junit.set_classname(case.suite.as_str());
    junit.set_time(told.time);
    if let CaseVerdict::Failed(failure) = &told.verdict {
        set_place(&mut junit, failure);
    }
    junit
}

fn set_place(junit: &mut JunitCase, failure: &CaseFailure) {
    if let Some(file) = text::file(failure) {
        junit.extra.insert("file".into(), file.into());
        let line = failure.line.to_string();
        junit.extra.insert("line".into(), line.into());
    }
    if let Some(run) = &failure.run {
        junit.set_system_out(format!("unsnarl replay {}", run.display()));
    }
}

fn status(verdict: &CaseVerdict) -> TestCaseStatus {
    let skipped = |why: &str| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(why);
        status
    };
    match verdict {
        CaseVerdict::Passed => TestCaseStatus::success(),
        CaseVerdict::Failed(failure) => failed(failure),
        CaseVerdict::Disabled => skipped("disabled"),
        CaseVerdict::NotRecordable(why) => skipped(&format!("cannot be recorded: {why}")),
        CaseVerdict::NotRun => skipped("not run"),
    }
}

/// The failure: its first line as the message, all of them as the text.
fn failed(failure: &CaseFailure) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let first = failure.message.lines().next().unwrap_or_default();
    status.set_message(first);
    status.set_type(failure.kind.name());
    let place = text::place(failure).unwrap_or_default();
    status.set_description(format!("{place}\n{}", failure.message));
    status
}
