//! The command line as scripts see it: exit statuses, what is said where, and what stays in the folder.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Command, Output, Stdio},
};

const BANK: &str = "#include <assert.h>
#include <pthread.h>
static long balance = 300;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void add(long amount)
{
    pthread_mutex_lock(&lock);
    long seen = balance;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    balance = seen + amount;
    pthread_mutex_unlock(&lock);
}
static void *deposit(void *arg) { add(200); return arg; }
static void *withdraw(void *arg) { add(-50); return arg; }
int main(void)
{
    pthread_t first, second;
    pthread_create(&first, 0, deposit, 0);
    pthread_create(&second, 0, withdraw, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    assert(balance == 450);
    return 0;
}
";

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> TestFolder {
        TestFolder(tempfile::tempdir().unwrap())
    }

    /// A folder with `bank`, built for recording.
    fn with_bank() -> TestFolder {
        let folder = TestFolder::new();
        folder.build("bank", BANK);
        folder
    }

    fn build(&self, name: &str, source: &str) {
        let file = format!("{name}.c");
        fs::write(self.path().join(&file), source).unwrap();
        self.check(0, &["cc", "-g", "-O1", &file, "-o", name, "-pthread"]);
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unsnarl"));
        command
            .args(words)
            .current_dir(self.path())
            .env("NO_COLOR", "1")
            .env_remove("UNSNARL_CC");
        command
    }

    /// Runs a command to its end, which must have this status; returns its standard output and standard error.
    #[track_caller]
    fn check(&self, status: i32, words: &[&str]) -> (String, String) {
        let Output {
            status: got,
            stdout,
            stderr,
        } = self.command(words).output().unwrap();
        let texts = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(
            got.code(),
            Some(status),
            "{words:?}\n{}\n{}",
            texts[0],
            texts[1]
        );
        texts.into()
    }

    fn runs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().join(".unsnarl/runs"))
            .into_iter()
            .flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn record_explain_replay() {
    let folder = TestFolder::with_bank();
    let (_, said) = folder.check(
        1,
        &[
            "record",
            "--until-failing",
            "2",
            "--seed",
            "1",
            "--",
            "./bank",
        ],
    );
    assert!(
        said.contains("failed") && said.contains("next: unsnarl explain"),
        "{said}"
    );
    let (text, _) = folder.check(1, &["explain"]);
    assert!(
        text.starts_with("error:") && text.contains("balance"),
        "{text}"
    );
    let failing = folder
        .runs()
        .into_iter()
        .find(|run| run.starts_with("failed-"))
        .unwrap();
    for name in [
        failing.as_str(),
        failing.trim_end_matches(".arrow"),
        &format!(".unsnarl/runs/{failing}"),
    ] {
        let (text, _) = folder.check(0, &["replay", name, "-n", "5"]);
        assert!(text.contains("the same run 5 of 5 times"), "{text}");
    }
}

#[test]
fn json_is_versioned_and_names_runs_that_replay_takes() {
    let folder = TestFolder::with_bank();
    folder.check(
        1,
        &[
            "record",
            "--until-failing",
            "1",
            "--seed",
            "1",
            "--out",
            "out",
            "--",
            "./bank",
        ],
    );
    let (text, _) = folder.check(1, &["explain", "out", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["version"], 1);
    let explanation = &document["explanations"][0];
    for key in [
        "id",
        "kind",
        "headline",
        "runs",
        "failure",
        "sites",
        "edges",
        "region",
        "invariants",
        "engines",
        "confirmed",
        "corpus",
    ] {
        assert!(
            explanation.get(key).is_some(),
            "{key} is missing in {explanation}"
        );
    }
    let run = explanation["runs"][0].as_str().unwrap();
    folder.check(0, &["replay", run]);
}

#[test]
fn the_documented_keys_are_the_printed_ones() {
    let folder = TestFolder::with_bank();
    folder.check(
        1,
        &[
            "record",
            "--until-failing",
            "1",
            "--seed",
            "1",
            "--",
            "./bank",
        ],
    );
    let (text, _) = folder.check(1, &["explain", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let page = include_str!("../../docs/explain-json.md");
    for object in [
        &document,
        &document["explanations"][0],
        &document["corpora"][0],
        &document["explanations"][0]["sites"][0],
    ] {
        for key in object.as_object().unwrap().keys() {
            assert!(
                page.contains(&format!("`{key}`")) || page.contains(&format!(" {key},")),
                "`{key}` is not in the page"
            );
        }
    }
}

#[test]
fn nothing_failed_is_status_0() {
    let folder = TestFolder::new();
    folder.build("fine", "int main(void) { return 0; }\n");
    folder.check(0, &["record", "-n", "3", "--", "./fine"]);
    let (text, _) = folder.check(0, &["explain"]);
    assert!(text.contains("Nothing failed"), "{text}");
}

#[test]
fn passing_runs_that_are_not_kept_still_count() {
    let folder = TestFolder::new();
    folder.build("fine", "int main(void) { return 0; }\n");
    let words = [
        "record",
        "-n",
        "20",
        "--keep-passing",
        "5",
        "--seed",
        "1",
        "--",
        "./fine",
    ];
    let (_, said) = folder.check(0, &words);
    assert!(
        said.contains("20 runs: 20 passed")
            && said.contains("15 of the passing runs were not kept"),
        "{said}"
    );
    assert_eq!(folder.runs().len(), 5);
}

#[test]
fn usage_and_what_cannot_be_recorded_is_status_2() {
    let folder = TestFolder::new();
    fs::write(
        folder.path().join("plain.c"),
        "int main(void) { return 0; }\n",
    )
    .unwrap();
    assert!(
        Command::new("gcc")
            .args(["plain.c", "-o", "plain"])
            .current_dir(folder.path())
            .status()
            .unwrap()
            .success()
    );
    for words in [
        &["record"][..],
        &["record", "-n", "0", "--", "./plain"],
        &["record", "--timeout", "never", "--", "./plain"],
        &["record", "--", "./plain"],
        &["record", "--", "./nothing"],
        &["record", "--", "plain"],
        &["explain"],
        &["explain", "nowhere"],
        &["replay", "nowhere"],
        &["nonsense"],
    ] {
        let (_, said) = folder.check(2, words);
        assert!(!said.is_empty(), "{words:?}");
    }
    assert!(
        folder
            .check(2, &["record", "--", "plain"])
            .1
            .contains("./plain")
    );
    assert!(folder.runs().is_empty());
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let folder = TestFolder::with_bank();
    let contents = |out: &str| {
        folder
            .command(&[
                "record", "-n", "16", "--seed", "3", "--out", out, "--", "./bank",
            ])
            .output()
            .unwrap();
        // The models of the build lie in a folder among the runs.
        let runs = folder.path().join(out);
        let folders = [runs.join("models"), runs];
        let mut files: Vec<_> = folders
            .iter()
            .flat_map(|folder| fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| {
                (
                    path.file_name().unwrap().to_owned(),
                    fs::read(path).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    };
    let first = contents("one");
    assert!(first.len() > 5);
    assert!(first == contents("two"));
}

#[test]
fn two_recordings_at_once_share_a_folder() {
    let folder = TestFolder::with_bank();
    let start = |seed: &str| {
        let words = ["record", "-n", "40", "--seed", seed, "--", "./bank"];
        folder
            .command(&words)
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    for mut recording in [start("1"), start("1"), start("1000")] {
        assert!(
            recording
                .wait()
                .unwrap()
                .code()
                .is_some_and(|code| code < 2)
        );
    }
    assert!(
        folder.runs().iter().all(|run| run.ends_with(".arrow")),
        "{:?}",
        folder.runs()
    );
    let (_, said) = folder.check(1, &["explain"]);
    assert!(!said.contains("left out"), "{said}");
}

/// An interrupted recording keeps its runs. The program's output shows that it runs; only then is the recording
/// interrupted.
#[test]
fn an_interruption_keeps_what_was_recorded() {
    let folder = TestFolder::new();
    folder.build(
        "slow",
        "#include <stdio.h>\n#include <unistd.h>\n#include <sys/stat.h>\nint main(void) { struct stat s;\n\
         if (stat(\".unsnarl/runs\", &s)) return 0;\nputs(\"here\"); fflush(stdout); for (;;) pause(); }\n",
    );
    let words = [
        "record",
        "-n",
        "5",
        "--show-output",
        "--timeout",
        "10m",
        "--seed",
        "1",
        "--",
        "./slow",
    ];
    let mut recording = folder
        .command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut here = [0; 5];
    recording
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut here)
        .unwrap();
    let interrupted = Command::new("kill")
        .args(["-INT", &recording.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    let ended = recording.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(
        said.contains("stopped") && said.contains("1 run: 1 passed"),
        "{said}"
    );
    assert_eq!(folder.runs().len(), 1);
}

#[test]
fn a_replay_that_leaves_the_schedule_says_where() {
    let folder = TestFolder::new();
    folder.build(
        "moody",
        "#include <unistd.h>\nvolatile int mood;\nint main(void) {\n\
         mood = unlink(\"mood\") == 0 ? 7 : 3;\nreturn mood == 7; }\n",
    );
    folder.check(0, &["record", "-n", "1", "--seed", "1", "--", "./moody"]);
    let run = folder.runs().remove(0);
    folder.check(0, &["replay", &run]);
    fs::write(folder.path().join("mood"), "").unwrap();
    let (text, _) = folder.check(1, &["replay", &run]);
    assert!(
        text.contains("recorded") && text.contains("mood = 3") && text.contains("mood = 7"),
        "{text}"
    );
}

#[test]
fn a_file_that_was_not_there_is_not_there_in_a_replay() {
    let folder = TestFolder::new();
    folder.build(
        "reader",
        "#include <stdio.h>\nint main(void) { return fopen(\"mood\", \"r\") != NULL; }\n",
    );
    folder.check(0, &["record", "-n", "1", "--seed", "1", "--", "./reader"]);
    let run = folder.runs().remove(0);
    fs::write(folder.path().join("mood"), "").unwrap();
    let (text, problems) = folder.check(0, &["replay", &run]);
    let said = format!("{text}{problems}");
    assert!(
        said.contains("other input than recorded at reader.c:2"),
        "{said}"
    );
}

#[test]
fn standard_input_is_part_of_the_run() {
    let folder = TestFolder::new();
    folder.build(
        "reads",
        "#include <stdio.h>\nint main(void) { return getchar() == 'y'; }\n",
    );
    fs::write(folder.path().join("yes"), "y").unwrap();
    folder.check(0, &["record", "-n", "1", "--seed", "1", "--", "./reads"]);
    folder.check(
        1,
        &[
            "record", "-n", "1", "--seed", "1", "--stdin", "yes", "--", "./reads",
        ],
    );
    let failing = folder
        .runs()
        .into_iter()
        .find(|run| run.starts_with("failed"))
        .unwrap();
    assert!(folder.check(2, &["replay", &failing]).1.contains("--stdin"));
    folder.check(0, &["replay", &failing, "--stdin", "yes"]);
}

#[test]
fn compilers_questions_pass_through() {
    let folder = TestFolder::new();
    assert!(
        folder
            .check(0, &["cc", "--version"])
            .0
            .contains("Free Software Foundation")
    );
    let (_, said) = folder.check(1, &["cc", "-static", "x.c"]);
    assert!(said.contains("-static") && said.contains("next:"), "{said}");
    let (_, said) = folder.check(1, &["cc", "missing.c"]);
    assert!(said.contains("missing.c"), "{said}");
}

/// Checks as configure scripts make them: link a function that may or may not exist, run what was linked.
#[test]
fn configure_style_checks() {
    let folder = TestFolder::new();
    let conftest = |body: &str| fs::write(folder.path().join("conftest.c"), body).unwrap();
    for (function, status) in [
        ("pthread_create", 0),
        ("malloc", 0),
        ("memset", 0),
        ("no_such_function", 1),
    ] {
        conftest(&format!(
            "char {function}();\nint main() {{ return {function}(); }}\n"
        ));
        folder.check(
            status,
            &[
                "cc",
                "-o",
                "conftest",
                "-g",
                "-O2",
                "conftest.c",
                "-lpthread",
            ],
        );
    }
    conftest("int main(void) { return 0; }\n");
    folder.check(0, &["cc", "conftest.c"]);
    assert!(
        Command::new(folder.path().join("a.out"))
            .status()
            .unwrap()
            .success()
    );
    folder.check(0, &["cc", "-c", "-Werror", "-Wall", "conftest.c"]);
}

#[test]
fn doctor_knows_this_machine() {
    let folder = TestFolder::new();
    let (text, _) = folder.check(0, &["doctor"]);
    assert!(
        text.contains("C compiler") && text.contains("Neovim"),
        "{text}"
    );
}

/// Another tool's trace: read, explained as far as it goes, and written again.
#[test]
fn traces_of_rapid_are_imported_and_exported() {
    let folder = TestFolder::new();
    let trace = "T2|fork(T1)|0\nT1|w(V1.total)|347\nT1|acq(L1)|348\nT2|rel(L1)|12\nT2|join(T9)|13\nT2|r(V1.total)\nT2|r(V1.total)|14\n";
    fs::write(folder.path().join("bank.std"), trace).unwrap();
    let (text, told) = folder.check(0, &["import", "bank.std", "--from", "std"]);
    assert!(
        text.starts_with("6 events of 3 threads: .unsnarl/runs/passed-imported-"),
        "{text}"
    );
    for said in [
        "line 6, `T2|r(V1.total)`: expected three fields",
        "event 4 (T2): a lock is released by a thread that does not hold it",
        "event 5 (T2): a thread is joined that was never created",
    ] {
        assert!(told.contains(said), "{told}");
    }
    let (text, told) = folder.check(0, &["explain"]);
    assert!(
        text.contains("Nothing failed, as far as imported traces tell"),
        "{text}"
    );
    assert!(told.contains("no values, no sources"), "{told}");
    let run = folder.runs()[0].clone();
    let (text, _) = folder.check(
        0,
        &["export", run.strip_suffix(".arrow").unwrap(), "--to", "std"],
    );
    assert_eq!(text, trace.replace("T2|r(V1.total)\n", ""));

    fs::write(
        folder.path().join("bank.csv"),
        "w(x),\nstart(T1),\n,sync(x)\n",
    )
    .unwrap();
    let (text, _) = folder.check(
        0,
        &["import", "bank.csv", "--from", "csv", "--out", "other"],
    );
    assert!(text.starts_with("3 events of 2 threads: other/"), "{text}");
    folder.check(0, &["explain", "other"]);
    let (_, told) = folder.check(2, &["import", "bank.csv", "--from", "std"]);
    assert!(
        told.contains("is no STD trace") && told.contains("line 1, `w(x),`"),
        "{told}"
    );
    folder.check(2, &["import", "nowhere.std", "--from", "std"]);
}
