//! Ways to call the compiler: from standard input, in steps, with options of every build system. The resulting
//! programs are recorded like the plain build.

use anyhow::{Result, ensure};
use unsnarl_e2e::{Finished, TestedCompiler, Workspace};

const RACE: &str = "#include <assert.h>
#include <pthread.h>
static int count;
static void *add(void *arg)
{
    count++;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(count == 2);
    return 0;
}
";

/// A folder with `race.c` and a compiler.
struct Build {
    workspace: Workspace,
    compiler: &'static str,
}

impl Build {
    /// A build for each compiler of this machine.
    fn all() -> Result<Vec<Build>> {
        let compilers =
            [TestedCompiler::Gcc, TestedCompiler::Clang].map(|compiler| compiler.command(false));
        let each = compilers.into_iter().flatten().map(|compiler| {
            let workspace = Workspace::new()?;
            workspace.write("race.c", RACE)?;
            Ok(Build {
                workspace,
                compiler,
            })
        });
        each.collect()
    }

    /// Runs a line of the shell, in which `$CC` is `unsnarl cc`.
    fn shell(&self, line: &str) -> Result<Finished> {
        let unsnarl = unsnarl_e2e::binary::unsnarl()?.display();
        let mut command = self.workspace.command("sh", &["-e", "-c", line]);
        command
            .env("CC", format!("{unsnarl} cc"))
            .env("UNSNARL_CC", self.compiler);
        Finished::of(command)?.exits(0)
    }

    /// Checks that the program fails in some order, and that the line to blame is named.
    fn is_recorded(&self, file: &str) -> Result<()> {
        let workspace = &self.workspace;
        workspace
            .record(&["-n", "500", "--until-failing", "1"], "./race")?
            .exits(1)?;
        let explained = workspace.unsnarl(&["explain"])?.exits(1)?;
        explained.says(&["count", &format!("{file}:6")])?;
        std::fs::remove_dir_all(workspace.path().join(".unsnarl"))?;
        Ok(())
    }
}

#[test]
fn in_steps_and_from_standard_input() -> Result<()> {
    for build in Build::all()? {
        for (line, file) in [
            ("$CC -x c - -o race -pthread < race.c", "<stdin>"),
            (
                "$CC -E race.c -o race.i; $CC -Werror -c race.i -o race.o; $CC race.o -o race -pthread",
                "race.c",
            ),
            (
                "$CC -S race.c -o race.s; $CC -c race.s -o race.o; $CC race.o -o race -pthread",
                "race.c",
            ),
            (
                "$CC -c race.c -o one.o; $CC -r one.o -o two.o; $CC two.o -o race -pthread",
                "race.c",
            ),
            ("$CC -pipe race.c -o race -pthread", "race.c"),
            ("$CC -save-temps race.c -o race -pthread", "race.c"),
            ("$CC -no-pie -fno-pie race.c -o race -pthread", "race.c"),
        ] {
            build.shell(line)?;
            build.is_recorded(file)?;
        }
        let rules = build.shell("$CC -M race.c; test ! -e race.d")?;
        ensure!(rules.stdout.starts_with("race.o: race.c"), "{rules}");
    }
    Ok(())
}

#[test]
fn what_is_left_out_is_told() -> Result<()> {
    for build in Build::all()? {
        for option in ["-flto -O2", "-gsplit-dwarf", "-gz"] {
            let word = option.split(' ').next().unwrap_or_default();
            let said = build.shell(&format!("$CC {option} race.c -o race -pthread"))?;
            said.says(&["left out for recording", word])?;
            build.is_recorded("race.c")?;
        }
        let unsnarl = ["cc", "-static-pie", "race.c", "-o", "race"];
        let refused = build.workspace.unsnarl(&unsnarl)?;
        ensure!(refused.status != Some(0), "{refused}");
        refused.says(&["-static-pie", "next:"])?;
    }
    Ok(())
}

#[test]
fn a_compiler_cache_in_front_and_behind() -> Result<()> {
    for build in Build::all()? {
        if build.shell("command -v ccache").is_err() {
            println!("skipped: no ccache here");
            return Ok(());
        }
        let cache = build.workspace.path().join("cache");
        let line = format!(
            "export CCACHE_DIR={}; for i in 1 2; do ccache $CC -c race.c -o race.o; \
             $CC race.o -o race -pthread; done",
            cache.display()
        );
        build.shell(&line)?;
        build.is_recorded("race.c")?;
    }
    Ok(())
}

/// A source that is named from the folder of the build, and a program that is recorded in another one.
#[test]
fn recorded_outside_of_the_folder_of_the_build() -> Result<()> {
    for build in Build::all()? {
        let folders = "mkdir -p src build elsewhere && mv race.c src/ && cd build";
        build.shell(&format!(
            "{folders} && $CC -g ../src/race.c -o ../elsewhere/prog -pthread"
        ))?;
        let mut record = build.workspace.unsnarl_command(&[
            "record", "-n", "60", "--seed", "1", "--", "./prog", "", "a b",
        ])?;
        record.current_dir(build.workspace.path().join("elsewhere"));
        let said = Finished::of(record)?.exits(1)?;
        ensure!(!said.stderr.contains("cannot be read"), "{said}");
        let mut explain = build.workspace.unsnarl_command(&["explain"])?;
        explain.current_dir(build.workspace.path().join("elsewhere"));
        let said = Finished::of(explain)?;
        said.says(&["assert(count == 2)", "count++"])?;
    }
    Ok(())
}

/// The printed next step has the words that were given.
#[test]
fn the_next_step_keeps_the_words() -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write("quiet.c", "int main(void) { return 0; }\n")?;
    workspace.write("in put", "x")?;
    workspace
        .unsnarl(&["cc", "-g", "quiet.c", "-o", "quiet"])?
        .exits(0)?;
    let words = [
        "record", "-n", "2", "--stdin", "in put", "--", "./quiet", "", "a b", "it's",
    ];
    let said = workspace.unsnarl(&words)?.exits(0)?;
    said.says(&[r"-n 20 --stdin 'in put' -- ./quiet '' 'a b' 'it'\''s'"])?;
    Ok(())
}
