//! `unsnarl test` on a generated suite of 100 cases of GoogleTest, beside the same suite built without unsnarl: run once,
//! and repeated as often as each case has schedules.

use crate::{docs, measure};
use anyhow::Result;
use std::{fmt::Write, time::Duration};
use unsnarl_e2e::Workspace;

/// Cases of the suite.
const CASES: usize = 100;
/// Schedules of each case.
const SCHEDULES: u64 = 100;

/// Bodies of the two threads of a case, used in turn. None of them can fail.
const BODIES: [(&str, &str); 4] = [
    (
        "std::atomic<int> n{0};",
        "for (int i = 0; i < 10; i++) n++;",
    ),
    (
        "std::mutex m; int n = 0;",
        "for (int i = 0; i < 10; i++) { std::lock_guard<std::mutex> hold(m); n++; }",
    ),
    (
        "std::mutex m; std::vector<int> v; struct { std::vector<int> &v; operator int() { return v.size(); } } n{v};",
        "for (int i = 0; i < 10; i++) { std::lock_guard<std::mutex> hold(m); v.push_back(i); }",
    ),
    (
        "std::atomic<int> n{0}; thread_local int own;",
        "own = 0; for (int i = 0; i < 10; i++) own++; n += own;",
    ),
];

/// Measures, and writes the table into docs/testing.md.
pub fn run() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("suite.cpp", &source()?)?;
    let words = [
        "-g",
        "-O1",
        "-pthread",
        "suite.cpp",
        "-lgtest",
        "-lgtest_main",
        "-o",
    ];
    let built = [&words[..], &["plain"]].concat();
    workspace.run("g++", &built)?.exits(0)?;
    let built = [&["c++"], &words[..], &["recorded"]].concat();
    workspace.unsnarl(&built)?.exits(0)?;
    let repeat = format!("--gtest_repeat={SCHEDULES}");
    let runs = SCHEDULES.to_string();
    let plain = |arguments: &[&str]| workspace.run("./plain", arguments)?.exits(0);
    let test = |jobs: &str| {
        let words = [
            "test",
            "--seed",
            "1",
            "-n",
            &runs,
            "-j",
            jobs,
            "--",
            "./recorded",
        ];
        workspace.unsnarl(&words)?.exits(0)
    };
    let once = cost(|| plain(&[]))?;
    let repeated = cost(|| plain(&[&repeat]))?;
    let recorded = cost(|| test("1"))?;
    let two = cost(|| test("2"))?;
    docs::replace(
        "testing.md",
        "suites",
        &table(&[
            ("run once".to_owned(), once),
            (format!("`{repeat}`"), repeated),
            (format!("`unsnarl test -n {runs} -j 1`"), recorded),
            (format!("`unsnarl test -n {runs} -j 2`"), two),
        ])?,
    )
}

/// Processor time of all processes, the least of three rounds.
fn cost<T>(mut act: impl FnMut() -> Result<T>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        let before = measure::of_children()?;
        act()?;
        least = least.min(measure::of_children()?.saturating_sub(before));
    }
    Ok(least)
}

/// Ratios to the first row, and to the second one.
fn table(rows: &[(String, Duration)]) -> Result<String> {
    let [(_, once), (_, repeated), ..] = rows else {
        anyhow::bail!("two rows to compare with")
    };
    let mut text = format!(
        "Processor time of all processes for {CASES} cases with two threads each, times a single run of the suite and \
         times {SCHEDULES} repetitions of it:\n\n| | times once | times repeated |\n|---|---|---|\n"
    );
    let ratio = |time: &Duration, to: &Duration| time.as_secs_f64() / to.as_secs_f64();
    for (name, time) in rows {
        let (once, repeated) = (ratio(time, once), ratio(time, repeated));
        writeln!(text, "| {name} | {once:.0} | {repeated:.2} |")?;
    }
    Ok(text)
}

fn source() -> Result<String> {
    let mut text = "#include <atomic>\n#include <gtest/gtest.h>\n#include <mutex>\n#include <thread>\n#include <vector>\n".to_owned();
    for case in 0..CASES {
        let Some((data, body)) = BODIES.get(case % BODIES.len()) else {
            continue;
        };
        write!(
            text,
            "TEST(Generated, Case{case})\n{{\n    {data}\n    auto act = [&] {{ {body} }};\n    std::thread first(act), second(act);\n    \
             first.join();\n    second.join();\n    EXPECT_EQ(int(n), 20);\n}}\n"
        )?;
    }
    Ok(text)
}
