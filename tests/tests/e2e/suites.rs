//! `unsnarl test`: the cases of real test frameworks and of build systems, each recorded by itself.

use anyhow::{Context, Result, ensure};
use std::{fs, path::Path};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, program::compile};

/// Cases of `suite_test.cpp` that fail, with the lines of their checks.
const FAILING: [(&str, u32); 2] = [
    ("Stats.AddsUpWhatThreadsAdd", 59),
    ("Counter.CountsInTwoSteps", 83),
];
/// Its case that hangs.
const HANGING: &str = "Locks.AreTakenInTwoOrders";
/// Its cases that pass.
const PASSING: [&str; 7] = [
    "Stats.BeginsWithNothing",
    "Stats.AddsUp",
    "Stats.AddsUpUnderItsLock",
    "Counter.CountsAtomically",
    "Locks.AreTakenInOneOrder",
    "Some/Threads.CanBeJoined/0",
    "Some/Threads.CanBeJoined/1",
];

/// A workspace with the suite, built to `ut`.
fn suite() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    write_suite(&workspace)?;
    build(&workspace)?;
    Ok(workspace)
}

fn build(workspace: &Workspace) -> Result<()> {
    let words = "c++ -g -pthread suite_test.cpp -lgtest -lgtest_main -o ut";
    unsnarl(workspace, words)?.exits(0)?;
    Ok(())
}

fn write_suite(workspace: &Workspace) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/suite_test.cpp");
    workspace.write("suite_test.cpp", &fs::read_to_string(source)?)?;
    Ok(())
}

fn unsnarl(workspace: &Workspace, words: &str) -> Result<Finished> {
    workspace.unsnarl(&words.split(' ').collect::<Vec<_>>())
}

/// The line about a case.
fn line<'f>(finished: &'f Finished, case: &str) -> Result<&'f str> {
    let is_about = |line: &&str| line.split("  ").nth(1) == Some(case);
    let line = finished.stdout.lines().find(is_about);
    line.with_context(|| format!("no line about {case}:\n{finished}"))
}

#[test]
fn exactly_the_cases_that_can_fail_fail() -> Result<()> {
    let workspace = suite()?;
    let tested = unsnarl(&workspace, "test --seed 7 --junit results.xml -- ./ut")?.exits(1)?;
    for (case, check) in FAILING {
        let line = line(&tested, case)?;
        ensure!(line.starts_with("FAIL"), "{line}");
        ensure!(
            line.contains(&format!("suite_test.cpp:{check}: ")),
            "{line}"
        );
    }
    ensure!(line(&tested, HANGING)?.starts_with("HANG"), "{tested}");
    for case in PASSING {
        ensure!(line(&tested, case)?.starts_with("PASS"), "{tested}");
    }
    ensure!(line(&tested, "Stats.BeginsWithNothing")?.contains("nothing to choose"));
    ensure!(line(&tested, "Stats.DISABLED_IsFast")?.starts_with("SKIP"));
    let counts = "11 cases: 7 passed, 2 failed, 1 hangs, 1 disabled";
    let tested = tested.says(&[
        counts,
        "Which is: 10",
        "an update was lost",
        "next: unsnarl explain",
    ])?;
    let junit = fs::read_to_string(workspace.path().join("results.xml"))?;
    check_junit(&workspace, &junit).with_context(|| format!("{junit}\n{tested}"))
}

/// Reads the XML with a parser that is not ours, and checks what a CI system would show.
fn check_junit(workspace: &Workspace, junit: &str) -> Result<()> {
    const READER: &str = "import sys, xml.etree.ElementTree as tree
suite = tree.parse('results.xml').getroot().find('testsuite')
print(suite.get('name'), suite.get('tests'), suite.get('failures'), suite.get('disabled') or suite.get('skipped'))
for case in suite.iter('testcase'):
    failure = case.find('failure')
    if failure is not None:
        print(case.get('name'), case.get('line'), failure.get('type'), failure.get('message'))
";
    ensure!(junit.starts_with("<?xml"));
    let read = workspace.run("python3", &["-c", READER])?.exits(0)?;
    let failing = FAILING
        .map(|(case, line)| format!("{case} {line} check Expected equality of these values:"));
    let failing: Vec<&str> = failing.iter().map(String::as_str).collect();
    read.says(&["ut 11 3 1", HANGING])?.says(&failing)?;
    Ok(())
}

#[test]
fn a_failing_case_has_runs_of_its_own_that_explain_it() -> Result<()> {
    let workspace = suite()?;
    unsnarl(
        &workspace,
        "test --seed 7 -j 1 -- ./ut Counter. Stats.AddsUp",
    )?
    .exits(1)?;
    let explanations = workspace
        .unsnarl(&["explain", "--no-run", "--format", "json"])?
        .explanations()?;
    let lines: Vec<u32> = explanations
        .iter()
        .filter_map(|one| Some(one.failure.site.as_ref()?.line))
        .collect();
    for (case, check) in FAILING {
        ensure!(lines.contains(&check), "{case}: {lines:?}");
    }
    let failing = workspace.runs_that("failed")?;
    let first = failing.first().context("no failing run")?;
    let replayed = workspace
        .unsnarl(&["replay", &workspace.run_path(first)])?
        .exits(0)?;
    replayed.says(&["same"])?;
    Ok(())
}

#[test]
fn tap_has_a_line_for_each_case_and_the_values_of_the_check() -> Result<()> {
    let workspace = suite()?;
    let tested = unsnarl(&workspace, "test --seed 7 --format tap -- ./ut")?.exits(1)?;
    let lines: Vec<&str> = tested.stdout.lines().collect();
    ensure!(lines.starts_with(&["TAP version 14", "1..11"]), "{tested}");
    let is = |begin: &str| lines.iter().filter(|line| line.starts_with(begin)).count();
    ensure!((is("ok "), is("not ok ")) == (8, 3), "{tested}");
    let skipped = lines
        .iter()
        .any(|line| line.ends_with("Stats.DISABLED_IsFast # SKIP disabled"));
    ensure!(skipped, "{tested}");
    ensure!(tested.stdout.contains("  line: 59\n"), "{tested}");
    ensure!(tested.stdout.contains("Which is: 10"), "{tested}");
    Ok(())
}

/// The lines about cases, sorted and without their times.
fn case_lines(tested: &Finished) -> Vec<String> {
    let plain = |line: &str| line.rsplit_once(", ").map(|(line, _)| line.to_owned());
    let mut lines: Vec<String> = tested.stdout.lines().filter_map(plain).collect();
    lines.sort();
    lines
}

#[test]
fn the_same_seed_gives_the_same_results_however_many_are_recorded_at_a_time() -> Result<()> {
    let workspace = suite()?;
    let counts = |jobs: &str| -> Result<Vec<String>> {
        let words = format!("test --seed 11 -n 40 --out runs{jobs} -j {jobs} -- ./ut");
        let tested = unsnarl(&workspace, &words)?;
        Ok(case_lines(&tested))
    };
    let (one, two) = (counts("1")?, counts("2")?);
    ensure!(one == two && one.len() > 8, "{one:#?}\n{two:#?}");
    check_shards(&workspace)
}

/// Each case is recorded in one of the shards, as it is in the whole; a program that would divide the cases once more is
/// kept from it.
fn check_shards(workspace: &Workspace) -> Result<()> {
    let words = "test --seed 11 -n 5 -- ./ut Begins UnderItsLock Atomically One Some/";
    let whole = case_lines(&unsnarl(workspace, words)?.exits(0)?);
    let shard = |number: usize| -> Result<Vec<String>> {
        let words = words.replace("--seed", "--shard auto --seed");
        let words: Vec<&str> = words.split(' ').collect();
        let mut command = workspace.unsnarl_command(&words)?;
        command.env("GTEST_TOTAL_SHARDS", "3");
        command.env("GTEST_SHARD_INDEX", number.to_string());
        let tested = Finished::of(command)?;
        ensure!(tested.stderr.contains("(GoogleTest)"), "{tested}");
        Ok(case_lines(&tested))
    };
    let parts = [shard(0)?, shard(1)?, shard(2)?];
    ensure!(parts.iter().all(|part| part.len() >= 2), "{parts:#?}");
    let mut all = parts.concat();
    all.sort();
    ensure!(all == whole, "{all:#?}\n{whole:#?}");
    Ok(())
}

#[test]
fn what_passes_and_what_does_not_exist() -> Result<()> {
    let workspace = suite()?;
    let passed = unsnarl(&workspace, "test -n 5 -- ./ut Stats.Begins Locks.*One*")?.exits(0)?;
    passed.says(&["2 cases: 2 passed"])?;
    ensure!(
        workspace.runs()?.is_empty(),
        "runs of passing cases were kept"
    );
    unsnarl(&workspace, "test -- ./ut Queue.")?
        .exits(2)?
        .says(&["no test case has Queue."])?;
    unsnarl(&workspace, "test -- ./ut --gtest_color=no")?
        .exits(2)?
        .says(&["behind another --"])?;
    unsnarl(
        &workspace,
        "test -n 5 -- ./ut Stats.Begins -- --gtest_brief=1",
    )?
    .exits(0)?;
    unsnarl(&workspace, "test -- /bin/true")?
        .exits(2)?
        .says(&["was not built for recording"])?;
    unsnarl(&workspace, "test")?
        .exits(2)?
        .says(&["name a test program"])?;
    Ok(())
}

#[test]
fn a_budget_ends_with_the_last_open_case_or_with_its_time() -> Result<()> {
    let workspace = suite()?;
    let words = "test --seed 7 --budget 10m -j 2 -- ./ut TwoSteps Begins";
    let tested = unsnarl(&workspace, words)?.exits(1)?;
    ensure!(
        line(&tested, "Counter.CountsInTwoSteps")?.starts_with("FAIL"),
        "{tested}"
    );
    ensure!(
        line(&tested, "Stats.BeginsWithNothing")?.contains("nothing to choose"),
        "{tested}"
    );
    let words = "test --seed 7 --budget 1ms -j 1 -- ./ut TwoSteps";
    unsnarl(&workspace, words)?.exits(2)?.says(&["1 not run"])?;
    Ok(())
}

/// A program that opens a file for writing is recorded by itself, when the others are done.
#[test]
fn what_is_left_of_a_budget_is_for_cases_that_are_recorded_alone() -> Result<()> {
    let workspace = Workspace::new()?;
    let source = "#include <fcntl.h>
#include <pthread.h>
static volatile int n;
static void *add(void *arg) { n++; n++; n++; return arg; }
int main(void)
{
    pthread_t threads[2];
    int file = open(\"made\", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return file < 0;
}
";
    workspace.write("alone.c", source)?;
    let name = Path::new("alone.c");
    compile(&workspace, name, "alone", TestedCompiler::Gcc)?;
    let schedules = |words: &str| -> Result<u64> {
        let tested = unsnarl(&workspace, words)?.exits(0)?;
        let said = tested.stdout.split(" schedules").next();
        let count = said.and_then(|said| said.rsplit(' ').next());
        Ok(count.context("no count")?.replace(',', "").parse()?)
    };
    let given = schedules("test --seed 7 -- ./alone")?;
    let more = schedules("test --seed 7 --budget 8s -- ./alone")?;
    ensure!(given == 100 && more > 120, "{given} and {more} schedules");
    Ok(())
}

#[test]
fn cases_whose_functions_have_changed_come_first() -> Result<()> {
    let workspace = suite()?;
    let words = "test --seed 7 -n 3 -j 1 --changed -- ./ut AddsUp Joined/0 InOneOrder Begins";
    let first_lines = |finished: &Finished| -> Vec<String> {
        let names = finished
            .stdout
            .lines()
            .filter_map(|line| line.split("  ").nth(1));
        names.map(str::to_owned).collect()
    };
    let all = unsnarl(&workspace, words)?.says(&["6 of 6 cases are new"])?;
    let same = unsnarl(&workspace, words)?.says(&["0 of 6 cases are new"])?;
    ensure!(first_lines(&all) == first_lines(&same), "{all}\n{same}");
    // Everything behind the function lies elsewhere afterwards, which is no change.
    let source = fs::read_to_string(workspace.path().join("suite_test.cpp"))?;
    let changed = source.replace(
        "        total_ += n;",
        "        if (n < 100)\n            total_ += n;",
    );
    ensure!(changed != source);
    workspace.write("suite_test.cpp", &changed)?;
    build(&workspace)?;
    let tested = unsnarl(&workspace, words)?.says(&["1 of 6 cases are new"])?;
    let first = first_lines(&tested);
    ensure!(
        first
            .first()
            .is_some_and(|name| name == "Stats.AddsUpUnderItsLock"),
        "{tested}"
    );
    Ok(())
}

/// The one header that compiles soon.
const DOCTEST: &str = "<doctest/doctest.h>";

/// For other frameworks: the name of a case that loses an update, the values that its check prints, the header, and the
/// program.
const OTHERS: [(&str, &str, &str, &str); 3] = [
    (
        "counts, and [adds]",
        "1 == 2",
        "<catch2/catch.hpp>",
        "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n@\nTEST_CASE(\"counts, and [adds]\", \"[q]\")\n{\n    CHECK(count() == 2);\n}\nTEST_CASE(\"stays\") { CHECK(1 == 1); }\n",
    ),
    (
        "counts, and adds",
        "1 == 2",
        DOCTEST,
        "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n@\nTEST_CASE(\"counts, and adds\")\n{\n    CHECK(count() == 2);\n}\nTEST_CASE(\"stays\") { CHECK(1 == 1); }\n",
    ),
    (
        "queue/counts",
        "[1 != 2]",
        "<boost/test/included/unit_test.hpp>",
        "#define BOOST_TEST_MODULE queue tests\n#include <boost/test/included/unit_test.hpp>\n@\nBOOST_AUTO_TEST_SUITE(queue)\nBOOST_AUTO_TEST_CASE(counts) { BOOST_TEST(count() == 2); }\nBOOST_AUTO_TEST_SUITE_END()\nBOOST_AUTO_TEST_CASE(stays) { BOOST_TEST(1 == 1); }\n",
    ),
];

/// A counter that two threads count in two steps.
const COUNT: &str = "#include <atomic>
#include <thread>
static int count()
{
    std::atomic<int> counter{0};
    auto add = [&] { counter.store(counter.load() + 1); };
    std::thread first(add), second(add);
    first.join();
    second.join();
    return counter;
}";

#[test]
fn other_frameworks_are_listed_and_their_cases_selected() -> Result<()> {
    let mut quick = OTHERS.iter().filter(|(_, _, header, _)| *header == DOCTEST);
    quick.try_for_each(is_selected)
}

/// Frameworks whose headers take long to compile.
mod matrix {
    use super::*;

    #[test]
    fn frameworks_in_headers_are_listed_and_their_cases_selected() -> Result<()> {
        OTHERS.iter().try_for_each(is_selected)
    }
}

/// The cases of a framework are listed, selected one by one, and judged by the framework's own words.
fn is_selected((case, values, header, text): &(&str, &str, &str, &str)) -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("header.cpp", &format!("#include {header}\n"))?;
    // The set-up installs what the distribution offers.
    if workspace.run("g++", &["-E", "header.cpp"])?.status != Some(0) {
        return Ok(());
    }
    workspace.write("t.cpp", &text.replace('@', COUNT))?;
    let build = ["c++", "-g", "-pthread", "t.cpp", "-o", "ut"];
    workspace.unsnarl(&build)?.exits(0)?;
    let tested = unsnarl(&workspace, "test --seed 3 -- ./ut")?.exits(1)?;
    let failed = line(&tested, case)?;
    ensure!(
        failed.starts_with("FAIL") && failed.contains("t.cpp:"),
        "{tested}"
    );
    ensure!(line(&tested, "stays")?.starts_with("PASS"), "{tested}");
    tested.says(&[values, "2 cases: 1 passed, 1 failed"])?;
    Ok(())
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.14)
project(suite CXX)
enable_testing()
find_package(GTest REQUIRED)
add_executable(ut suite_test.cpp)
target_link_libraries(ut GTest::gtest GTest::gtest_main)
include(GoogleTest)
gtest_discover_tests(ut TEST_FILTER Counter.*)
add_test(NAME locks COMMAND ut --gtest_filter=Locks.AreTakenInOneOrder)
add_test(NAME inverted COMMAND ut)
set_tests_properties(inverted PROPERTIES WILL_FAIL ON)
add_test(NAME other COMMAND ${CMAKE_COMMAND} --version)
";

#[test]
fn the_tests_of_a_cmake_folder() -> Result<()> {
    let workspace = Workspace::new()?;
    write_suite(&workspace)?;
    workspace.write("CMakeLists.txt", CMAKE)?;
    let configure = ["-B", "build", "-DCMAKE_BUILD_TYPE=Debug"];
    workspace.build("cmake", &configure)?.exits(0)?;
    workspace.build("cmake", &["--build", "build"])?.exits(0)?;
    let tested = unsnarl(&workspace, "test --seed 7")?.exits(1)?;
    ensure!(
        line(&tested, "ut: Counter.CountsInTwoSteps")?.starts_with("FAIL"),
        "{tested}"
    );
    ensure!(
        line(&tested, "ut: Counter.CountsAtomically")?.starts_with("PASS"),
        "{tested}"
    );
    ensure!(line(&tested, "ut: locks")?.starts_with("PASS"), "{tested}");
    for (case, why) in [
        ("ut: inverted", "WILL_FAIL"),
        ("cmake: other", "was not built for recording"),
    ] {
        let line = line(&tested, case)?;
        ensure!(line.starts_with("NONE") && line.contains(why), "{tested}");
    }
    Ok(())
}

const MESON: &str = "project('suite', 'cpp')
ut = executable('ut', 'suite_test.cpp', dependencies: dependency('gtest_main'))
test('all', ut)
test('one', ut, args: ['--gtest_filter=Stats.AddsUp'], env: {'MOOD': 'good'})
";

#[test]
fn the_tests_of_a_meson_folder() -> Result<()> {
    let workspace = Workspace::new()?;
    write_suite(&workspace)?;
    workspace.write("meson.build", MESON)?;
    workspace.build("meson", &["setup", "b"])?.exits(0)?;
    workspace
        .build("meson", &["compile", "-C", "b"])?
        .exits(0)?;
    let words = "test --seed 7 --build-dir b -- Counter. one";
    let tested = unsnarl(&workspace, words)?.exits(1)?;
    ensure!(
        line(&tested, "all: Counter.CountsInTwoSteps")?.starts_with("FAIL"),
        "{tested}"
    );
    ensure!(line(&tested, "ut: one")?.starts_with("PASS"), "{tested}");
    Ok(())
}
