//! `unsnarl cc` in the place of the compiler of a build that knows nothing of it.

use anyhow::{Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace, binary};

const COUNTER_H: &str = "#ifndef COUNTER_H\n#define COUNTER_H\nvoid counter_add(int n);\nint counter_value(void);\n#endif\n";

const COUNTER_C: &str = r#"#include "counter.h"

static int value;

void counter_add(int n)
{
    value += n;
}

int counter_value(void)
{
    return value;
}
"#;

const MAIN_C: &str = r#"#include "counter.h"
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static void *count(void *arg)
{
    counter_add(1);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(counter_value() == 2);
    return 0;
}
"#;

const MAKEFILE: &str = "CFLAGS = -O1 -Wall -MMD -Iinclude
LDLIBS = -pthread

app: src/main.o libcounter.a
\t$(CC) -o $@ $^ $(LDLIBS)

libcounter.a: src/counter.o
\t$(AR) rcs $@ $^

-include src/main.d src/counter.d
";

fn project() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("include/counter.h", COUNTER_H)?;
    workspace.write("src/counter.c", COUNTER_C)?;
    workspace.write("src/main.c", MAIN_C)?;
    workspace.write("Makefile", MAKEFILE)?;
    Ok(workspace)
}

/// The lost update in the library is found and named.
fn is_recorded_and_explained(workspace: &Workspace) -> Result<()> {
    workspace
        .record(&["-n", "500", "--until-failing", "3"], "./app")?
        .exits(1)?;
    let (finished, explanations) = workspace.explain()?;
    let finished = finished.exits(1)?;
    let named = explanations
        .iter()
        .take(1)
        .flat_map(|explanation| &explanation.sites)
        .any(|site| site.place.file.ends_with("src/counter.c") && site.place.line == 7);
    ensure!(named, "counter.c:7 is not named first:\n{finished}");
    Ok(())
}

#[test]
fn make_with_a_static_library() -> Result<()> {
    let workspace = project()?;
    let cc = format!("CC={} cc", binary::unsnarl()?.display());
    workspace.run("make", &[cc.as_str()])?.exits(0)?;
    ensure!(
        workspace.path().join("src/main.d").is_file(),
        "-MMD made no dependency file"
    );
    is_recorded_and_explained(&workspace)
}

#[test]
fn a_shared_library_is_recorded_too() -> Result<()> {
    let workspace = project()?;
    let library = [
        "cc",
        "-g",
        "-shared",
        "-fPIC",
        "-Iinclude",
        "src/counter.c",
        "-o",
        "libcounter.so",
    ];
    workspace.unsnarl(&library)?.exits(0)?;
    let app = [
        "cc",
        "-g",
        "-Iinclude",
        "src/main.c",
        "-o",
        "app",
        "-L.",
        "-lcounter",
        "-Wl,-rpath,$ORIGIN",
        "-pthread",
    ];
    workspace.unsnarl(&app)?.exits(0)?;
    is_recorded_and_explained(&workspace)
}

#[test]
fn one_command_with_many_files_and_a_response_file() -> Result<()> {
    let workspace = project()?;
    workspace.write(
        "files",
        "src/main.c src/counter.c -Iinclude -o app -pthread\n",
    )?;
    workspace.unsnarl(&["cc", "-O1", "@files"])?.exits(0)?;
    is_recorded_and_explained(&workspace)
}

#[test]
fn what_makes_no_code_is_passed_on() -> Result<()> {
    let workspace = project()?;
    let plain = workspace
        .run("gcc", &["-E", "-Iinclude", "src/counter.c"])?
        .exits(0)?;
    let ours = workspace
        .unsnarl(&["cc", "-E", "-Iinclude", "src/counter.c"])?
        .exits(0)?;
    ensure!(plain.stdout == ours.stdout, "-E differs:\n{plain}\n{ours}");
    let plain = workspace
        .run("gcc", &["-MM", "-Iinclude", "src/main.c"])?
        .exits(0)?;
    let ours = workspace
        .unsnarl(&["cc", "-MM", "-Iinclude", "src/main.c"])?
        .exits(0)?;
    ensure!(plain.stdout == ours.stdout, "-MM differs:\n{plain}\n{ours}");
    workspace
        .unsnarl(&["cc", "--version"])?
        .exits(0)?
        .says(&["Free Software Foundation"])?;
    Ok(())
}

#[test]
fn the_compilers_errors_and_status_come_through() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("wrong.c", "int main(void) { return undeclared; }\n")?;
    workspace
        .unsnarl(&["cc", "-c", "wrong.c"])?
        .exits(1)?
        .says(&["wrong.c:1", "undeclared"])?;
    Ok(())
}

#[test]
fn a_recorded_program_runs_as_usual_without_the_recorder() -> Result<()> {
    let workspace = project()?;
    workspace.write(
        "hello.c",
        "#include <stdio.h>\nint main(int n, char **v) { printf(\"%d %s\\n\", n, v[1]); return 7; }\n",
    )?;
    workspace
        .unsnarl(&["cc", "-g", "hello.c", "-o", "hello"])?
        .exits(0)?;
    let finished = workspace.run("./hello", &["there"])?.exits(7)?;
    ensure!(
        finished.stdout == "2 there\n" && finished.stderr.is_empty(),
        "{finished}"
    );
    Ok(())
}

const OPENMP: &str = r#"#include <assert.h>

int sum;

int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 8; i++)
        sum += i;
    assert(sum == 28);
    return 0;
}
"#;

#[test]
fn a_race_in_an_openmp_loop_is_explained() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("loop.c", OPENMP)?;
    let compile = ["cc", "-O1", "-fopenmp", "loop.c", "-o", "app"];
    workspace.unsnarl(&compile)?.exits(0)?;
    workspace
        .record(&["-n", "300", "--until-failing", "2"], "./app")?
        .exits(1)?;
    let (finished, explanations) = workspace.explain()?;
    let finished = finished.exits(1)?;
    let first = explanations.first();
    let told = first.is_some_and(|first| {
        first.headline.contains("`sum` was lost")
            && first.sites.iter().any(|site| site.place.line == 9)
    });
    ensure!(told, "the lost update of `sum` is not told:\n{finished}");
    let mut plain = workspace.command("./app", &[] as &[&str]);
    plain.env("OMP_NUM_THREADS", "1");
    Finished::of(plain)?.exits(0)?;
    Ok(())
}

#[test]
fn openmp_by_clang_is_refused_with_the_next_step() -> Result<()> {
    let Some(clang) = TestedCompiler::Clang.command(false) else {
        return Ok(());
    };
    let workspace = Workspace::new()?;
    workspace.write("loop.c", OPENMP)?;
    workspace
        .unsnarl(&["cc", clang, "-fopenmp", "-c", "loop.c"])?
        .exits(1)?
        .says(&["OpenMP", "build with gcc"])?;
    Ok(())
}

#[test]
fn links_are_compilers_of_one_word() -> Result<()> {
    let workspace = project()?;
    for name in ["unsnarl-cc", "unsnarl-c++"] {
        std::os::unix::fs::symlink(binary::unsnarl()?, workspace.path().join(name))?;
    }
    workspace
        .run("./unsnarl-c++", &["--version"])?
        .exits(0)?
        .says(&["g++"])?;
    workspace.run("make", &["CC=./unsnarl-cc"])?.exits(0)?;
    is_recorded_and_explained(&workspace)?;
    let mut wrong = workspace.command("./unsnarl-cc", &["-c", "src/counter.c"]);
    wrong.env("UNSNARL_CC", workspace.path().join("unsnarl-cc"));
    Finished::of(wrong)?
        .exits(1)?
        .says(&["UNSNARL_CC names unsnarl itself"])?;
    Ok(())
}

#[test]
fn a_compiler_may_be_named_in_front() -> Result<()> {
    let workspace = project()?;
    let cc = format!("CC={} cc gcc", binary::unsnarl()?.display());
    workspace.run("make", &[cc.as_str()])?.exits(0)?;
    is_recorded_and_explained(&workspace)
}

#[test]
fn every_linker_that_is_here() -> Result<()> {
    for linker in ["bfd", "gold", "lld", "mold"] {
        let there = Workspace::new()?.run("sh", &["-c", &format!("command -v ld.{linker}")])?;
        if there.status != Some(0) {
            continue;
        }
        let workspace = project()?;
        let fuse = format!("-fuse-ld={linker}");
        let library = "cc -g -fPIC -shared -Iinclude -Wl,-z,defs,--no-undefined src/counter.c -o libcounter.so";
        let app = "cc -g -Iinclude -Wl,--gc-sections -Wl,--as-needed src/main.c -o app -L. -lcounter -Wl,-rpath,$ORIGIN -pthread";
        for line in [library, app] {
            let mut words: Vec<&str> = line.split(' ').collect();
            words.push(&fuse);
            workspace.unsnarl(&words)?.exits(0)?;
        }
        is_recorded_and_explained(&workspace)?;
    }
    Ok(())
}

#[test]
fn options_that_would_undo_ours() -> Result<()> {
    let workspace = project()?;
    let line = "cc -g0 -s -O2 -fomit-frame-pointer -fno-sanitize=all -D_FORTIFY_SOURCE=2 -flto -fwhole-program -gz -save-temps -pipe -ffile-prefix-map=/=/elsewhere/ -Iinclude";
    for (source, object) in [("src/counter.c", "c.o"), ("src/main.c", "m.o")] {
        let words: Vec<&str> = line
            .split(' ')
            .chain(["-c", source, "-o", object])
            .collect();
        workspace.unsnarl(&words)?.exits(0)?;
    }
    let link = ["cc", "-flto", "-s", "c.o", "m.o", "-o", "app", "-pthread"];
    workspace.unsnarl(&link)?.exits(0)?;
    is_recorded_and_explained(&workspace)
}

#[test]
fn source_text_from_standard_input() -> Result<()> {
    let workspace = project()?;
    let unsnarl = binary::unsnarl()?.display();
    let script = format!(
        "cat src/main.c src/counter.c | {unsnarl} cc -Iinclude -g -x c - -o app -pthread -save-temps"
    );
    workspace.run("sh", &["-c", &script])?.exits(0)?;
    workspace
        .record(&["-n", "200", "--until-failing", "1"], "./app")?
        .exits(1)?;
    Ok(())
}
