//! The list of a program's calls, by what a recording makes of them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use unsnarl_e2e::{TestedCompiler, Workspace, program::compile_with};
use unsnarl_recorder::modelled::RuntimeTable;

const SOURCE: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>

static void *send(void *queue)
{
    long message[2] = {1, 2};
    msgsnd(*(int *)queue, message, sizeof message[1], 0);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    long message[2];
    int queue = msgget(IPC_PRIVATE, 0600);
    pthread_create(&thread, NULL, send, &queue);
    pthread_join(thread, NULL);
    msgrcv(queue, message, sizeof message[1], 0, 0);
    msgctl(queue, IPC_RMID, NULL);
    return abs((int)message[1]) != 2;
}
"#;

/// The list for the program's own file.
fn listed(workspace: &Workspace) -> Result<Value> {
    let words = ["doctor", "--coverage", "./prog", "--format", "json"];
    let said = workspace.unsnarl(&words)?.exits(1)?;
    Ok(serde_json::from_str(&said.stdout)?)
}

fn names<'v>(list: &'v Value, kind: &str) -> Result<Vec<&'v str>> {
    let calls = list.pointer(&format!("/files/0/{kind}"));
    let calls = calls.and_then(Value::as_array).context("no list")?;
    let name = |call: &'v Value| call.as_str().or_else(|| call["name"].as_str());
    Ok(calls.iter().filter_map(name).collect())
}

#[test]
fn calls_that_cannot_be_followed_are_named() -> Result<()> {
    for compiler in [TestedCompiler::Gcc, TestedCompiler::Clang] {
        let workspace = Workspace::new()?;
        workspace.write("prog.c", SOURCE)?;
        compile_with(&workspace, Path::new("prog.c"), "prog", compiler, &["-O2"])?;
        let list = listed(&workspace)?;
        let is_right = list["instrumented"] == true && list["whole"] == false;
        ensure!(is_right, "{list}");
        ensure!(
            names(&list, "not_modelled")? == ["msgrcv", "msgsnd"],
            "{list}"
        );
        let modelled = names(&list, "modelled")?;
        ensure!(
            modelled == ["pthread_create", "pthread_join"],
            "{modelled:?}"
        );
        let passed = names(&list, "passed_through")?;
        ensure!(passed.contains(&"msgget"), "{passed:?}");
        // What only the runtime calls is not the program's.
        ensure!(!passed.contains(&"pthread_atfork"), "{passed:?}");
        let words = ["doctor", "--coverage", "./prog"];
        let said = workspace.unsnarl(&words)?.exits(1)?;
        said.says(&["NOT MODELLED (2): msgrcv msgsnd", "next: harmless where"])?;
    }
    Ok(())
}

/// A program without the runtime calls what it imports.
#[test]
fn a_program_that_was_not_built_for_recording_has_a_list() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("prog.c", SOURCE)?;
    let words = ["-o", "prog", "prog.c", "-pthread"];
    workspace.run("gcc", &words)?.exits(0)?;
    let list = listed(&workspace)?;
    ensure!(list["instrumented"] == false, "{list}");
    let modelled = names(&list, "modelled")?;
    ensure!(
        modelled == ["pthread_create", "pthread_join"],
        "{modelled:?}"
    );
    let words = ["doctor", "--coverage", "./prog.c"];
    let said = workspace.unsnarl(&words)?.exits(2)?;
    said.says(&["no ELF program"])?;
    Ok(())
}

/// Parts of the names of functions that only describe, name or count.
const DESCRIBES: [&str; 20] = [
    "attr",
    "_get",
    "self",
    "equal",
    "_set",
    "key_",
    "cleanup",
    "atfork",
    "exit",
    "kill_other",
    "register_cancel",
    "unwind_next",
    "_init",
    "_destroy",
    "_close",
    "_unlink",
    "_open",
    "_cancel",
    "_error",
    "_return",
];

/// Another version of the C library may have more functions: each has an entry, or is known not to have one.
#[test]
fn every_function_of_a_family_that_synchronizes_is_known() -> Result<()> {
    const FAMILIES: [&str; 8] = [
        "pthread_", "sem_", "mtx_", "cnd_", "thrd_", "mq_", "aio_", "lio_",
    ];
    let table = RuntimeTable::embedded()?;
    let command = "nm -D --defined-only $(gcc -print-file-name=libc.so.6)";
    let workspace = Workspace::new()?;
    let listed = workspace.run("sh", &["-c", command])?.exits(0)?.stdout;
    let mut seen = 0;
    for line in listed.lines() {
        let mut words = line.split_whitespace().skip(1);
        let is_code = words.next().is_some_and(|kind| "TWi".contains(kind));
        let Some((name, _)) = words.next().and_then(|name| name.split_once('@')) else {
            continue;
        };
        let plain = name.trim_start_matches('_');
        let is_meant = is_code && FAMILIES.iter().any(|family| plain.starts_with(family));
        if !is_meant || plain == "thrd_current" {
            continue;
        }
        seen += 1;
        let is_known = table.is_modelled(name) || table.gap(name).is_some();
        let describes = || DESCRIBES.iter().any(|part| plain.contains(part));
        ensure!(is_known || describes(), "{name}");
    }
    ensure!(seen > 100, "{seen} functions");
    Ok(())
}
