//! The program model: programs built with clang keep one, and recorded events know their instruction in it.

use anyhow::{Context, Result, bail, ensure};
use std::{collections::BTreeSet, fs, path::Path};
use unsnarl_e2e::{Finished, TestProgram as Subject, TestedCompiler, Workspace, binary};
use unsnarl_trace::{
    Event, EventKind, Run, flags,
    program::{self, Constant, Instruction, Op, Operand, Program, Unit, UnitId},
    read_run,
};

/// Runs and the model of their build.
struct ModelledRuns {
    runs: Vec<Run>,
    model: Program,
}

fn recorded(workspace: &Workspace) -> Result<ModelledRuns> {
    let mut runs = Vec::new();
    for name in workspace.runs()? {
        runs.push(read_run(&workspace.path().join(workspace.run_path(&name)))?);
    }
    let build = &runs.first().context("no run")?.meta.build_id;
    let folder = workspace.path().join(".unsnarl/runs");
    let model = program::load(&folder, build)?;
    Ok(ModelledRuns { runs, model })
}

/// Compiles a program of ours at a level, and records it.
fn record(name: &str, level: &str) -> Result<ModelledRuns> {
    let workspace = Workspace::new()?;
    let subject = Subject::open(name)?;
    let command = subject.compile_with(&workspace, TestedCompiler::Clang, &[level])?;
    let options = [&["--until-failing", "1"], &*subject.recording()].concat();
    workspace.record(&options, &command)?;
    recorded(&workspace)
}

/// The instruction of an event.
fn instruction<'m>(
    run: &Run,
    model: &'m Program,
    event: &Event,
) -> Result<Option<(UnitId, &'m Unit, &'m Instruction)>> {
    let Some((unit, number)) = run.meta.point(event.point) else {
        return Ok(None);
    };
    let id = model.by_hash(unit).context("a unit that was not kept")?;
    let (_, _, instruction) = model.at(id, number).context("a point beyond the unit")?;
    Ok(Some((id, model.unit(id).context("no unit")?, instruction)))
}

/// The function that an instruction calls, by its linker's name.
fn callee<'u>(unit: &'u Unit, instruction: &Instruction) -> Option<&'u str> {
    let Op::Call { callee, .. } = &instruction.op else {
        return None;
    };
    let Operand::Constant(constant) = callee else {
        return None;
    };
    match unit.constant(*constant)? {
        Constant::Function(id) => Some(unit.function(*id)?.name.as_str()),
        _ => None,
    }
}

/// Bytes of the access that a callback announces: `__tsan_unaligned_write8`, `__tsan_atomic32_load`.
fn announced(callback: &str) -> Option<u32> {
    let name = callback.strip_prefix("__tsan_")?;
    if name.starts_with("vptr_") {
        return Some(8);
    }
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let number: u32 = digits.parse().ok()?;
    Some(if name.starts_with("atomic") {
        number / 8
    } else {
        number
    })
}

/// Checks that every access in the user's code has its instruction: the callback of an access of this size and kind,
/// on this line. Returns the number of accesses.
fn check_accesses(recorded: &ModelledRuns) -> Result<usize> {
    let mut checked = 0;
    for run in &recorded.runs {
        for (id, event) in run
            .events
            .iter()
            .filter(|(_, event)| event.kind.is_access())
        {
            let site = run.meta.site(event.site);
            let found = instruction(run, &recorded.model, &event)?;
            let Some((_, unit, instruction)) = found else {
                ensure!(
                    event.flags & flags::RANGE != 0,
                    "event {id:?} has no point: {event:?} {site:?}"
                );
                continue;
            };
            let callee = callee(unit, instruction).context("not a call")?;
            // Library functions announce what they access for the program; then the call is the instruction.
            let is_callback = callee.starts_with("__tsan_");
            if !is_callback || event.flags & (flags::RANGE | flags::MOVED) != 0 {
                continue;
            }
            let size = announced(callee).with_context(|| format!("{callee} is no access"))?;
            ensure!(event.size <= size, "{callee}: {event:?}");
            let place = unit.place(instruction.place);
            let file = unit.files.get(place.file as usize).context("no file")?;
            // Code of system headers is shown where the user's code calls it.
            if Path::new(file).file_name() == Path::new(&site.file).file_name() {
                ensure!(
                    place.line == site.line && place.column == site.column,
                    "event {id:?}: {callee} at {}:{} is at {site:?}",
                    place.line,
                    place.column
                );
                checked += 1;
            }
        }
    }
    Ok(checked)
}

#[test]
fn accesses_have_their_instructions() -> Result<()> {
    for name in [
        "bank_account",
        "string_buffer",
        "packed_flags",
        "c11_atomics",
    ] {
        for level in ["-O0", "-O2"] {
            let recorded = record(name, level)?;
            let checked = check_accesses(&recorded).with_context(|| format!("{name} {level}"))?;
            ensure!(checked > 10, "{name} {level}: {checked} accesses");
        }
    }
    Ok(())
}

#[test]
fn accesses_of_templates_and_headers_have_them_too() -> Result<()> {
    for name in ["cpp_cache", "array_list"] {
        let checked = check_accesses(&record(name, "-O0")?).context(name)?;
        ensure!(checked > 10, "{name}: {checked} accesses");
    }
    Ok(())
}

/// The functions that events of a kind call.
fn callees(recorded: &ModelledRuns, kind: EventKind) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for run in &recorded.runs {
        for (_, event) in run.events.iter().filter(|(_, event)| event.kind == kind) {
            let found = instruction(run, &recorded.model, &event)?;
            let (_, unit, instruction) = found.with_context(|| format!("{event:?}"))?;
            names.insert(callee(unit, instruction).unwrap_or("?").to_owned());
        }
    }
    Ok(names)
}

#[test]
fn calls_of_the_library_have_their_instructions() -> Result<()> {
    let recorded = record("bank_account", "-O0")?;
    for (kind, wanted) in [
        (EventKind::Fork, "pthread_create"),
        (EventKind::Join, "pthread_join"),
        (EventKind::Lock, "pthread_mutex_lock"),
        (EventKind::Unlock, "pthread_mutex_unlock"),
        (EventKind::Failure, "__assert_fail"),
    ] {
        let names: Vec<String> = callees(&recorded, kind)?.into_iter().collect();
        ensure!(names == [wanted], "{kind:?}: {names:?}");
    }
    Ok(())
}

const SHARED: &str = "#pragma once
struct Count { int n = 0; void add(int by) { n += by; } };
extern Count counts[2];
void first(); void second(); void third();
";

/// A program of several units: inline functions that are in two of them, an archive, a shared library.
#[test]
fn units_of_archives_and_libraries() -> Result<()> {
    let workspace = Workspace::new()?;
    let cxx = TestedCompiler::Clang.command(true).context("no clang")?;
    workspace.write("shared.h", SHARED)?;
    let unit = |name: &str, index: u32| {
        format!("#include \"shared.h\"\nvoid {name}() {{\n    counts[{index}].add(1);\n}}\n")
    };
    workspace.write("first.cpp", &unit("first", 0))?;
    workspace.write("second.cpp", &unit("second", 1))?;
    workspace.write("third.cpp", &unit("third", 1))?;
    workspace.write(
        "main.cpp",
        "#include \"shared.h\"\n#include <thread>\nCount counts[2];\nint main() {\n    \
         std::thread one([] { first(); second(); });\n    std::thread two([] { third(); });\n    \
         one.join();\n    two.join();\n    return counts[1].n != 2;\n}\n",
    )?;
    let compile = |words: &str| -> Result<Finished> {
        let words: Vec<&str> = ["c++"].into_iter().chain(words.split(' ')).collect();
        let mut command = workspace.unsnarl_command(&words)?;
        command.env("UNSNARL_CXX", cxx);
        Finished::of(command)?.exits(0)
    };
    compile("-c first.cpp -o first.o")?;
    workspace
        .command("ar", &["rcs", "libfirst.a", "first.o"])
        .status()?;
    compile("-shared -fPIC third.cpp -o libthird.so")?;
    compile(
        "-ffunction-sections -Wl,--gc-sections second.cpp main.cpp libfirst.a -pthread -L. -lthird -Wl,-rpath,. -o p",
    )?;
    workspace.record(&["-n", "4"], "./p")?;
    let recorded = recorded(&workspace)?;
    ensure!(check_accesses(&recorded)? > 10, "few accesses");
    let sources = |run: &Run| -> Result<BTreeSet<String>> {
        let mut sources = BTreeSet::new();
        for (_, event) in run.events.iter() {
            let site = run.meta.site(event.site);
            if site.file.ends_with("shared.h")
                && let Some((_, unit, _)) = instruction(run, &recorded.model, &event)?
            {
                sources.insert(unit.source.clone());
            }
        }
        Ok(sources)
    };
    let found = sources(recorded.runs.first().context("no run")?)?;
    ensure!(!found.is_empty(), "no access in the header");
    let all: BTreeSet<&str> = recorded
        .model
        .units()
        .map(|(_, unit)| unit.source.as_str())
        .collect();
    ensure!(
        all == BTreeSet::from(["first.cpp", "main.cpp", "second.cpp", "third.cpp"]),
        "{all:?}"
    );
    Ok(())
}

#[test]
fn models_of_gcc_are_lifted_and_nothing_is_complained_of() -> Result<()> {
    let workspace = Workspace::new()?;
    let subject = Subject::open("bank_account")?;
    let command = subject.compile(&workspace, TestedCompiler::Gcc)?;
    let finished = workspace.record(&["-n", "3"], &command)?;
    ensure!(!finished.stderr.contains("model"), "{finished}");
    for name in workspace.runs()? {
        let path = workspace.path().join(workspace.run_path(&name));
        let run = read_run(&path)?;
        let folder = path.parent().context("runs lie in a folder")?;
        let model = program::load(folder, &run.meta.build_id)?;
        let is_known = |point| {
            let (unit, number) = run.meta.point(point)?;
            model.at(model.by_hash(unit)?, number)
        };
        let mut points = run.meta.points.ids().skip(1).peekable();
        ensure!(points.peek().is_some(), "no event has a point");
        ensure!(points.all(|point| is_known(point).is_some()));
    }
    Ok(())
}

/// Commands of clang's own and of `unsnarl cc`, each in a folder of its own, give the same files, the same lists of
/// dependencies, the same words, the same status.
#[test]
fn commands_make_what_clang_makes() -> Result<()> {
    let clang = TestedCompiler::Clang.command(false).context("no clang")?;
    for line in [
        "-c a.c",
        "-c a.c -MD",
        "-c a.c b.c -MMD",
        "-c a.c -MMD -MP -o d/x.o",
        "-c a.c -MMD -MF q -MT t -o x.o",
        "-c a.c -Wp,-MMD,q.d -o x.o",
        "-c -x c text -MMD -o x.o",
        "-c a.c -MMD -o p$q.o",
        "a.c b.c main.c -MMD -o prog",
        "main.c a.c b.c",
        "-shared -fPIC a.c -MMD -o lib.so.1",
        "-r a.c b.c -o ab.o",
        "-S a.c",
        "-S -emit-llvm a.c",
        "-E a.c -o a.i",
        "@words",
        "-c warns.c",
        "-c -Werror warns.c",
        "-c wrong.c",
        "-c wrong.c a.c -MMD",
        "-c wrong_assembly.c -o x.o",
        "-c nowhere.c",
    ] {
        let (theirs, ours) = (sources()?, sources()?);
        let words: Vec<&str> = line.split(' ').collect();
        let direct = Finished::of(theirs.command(clang, &words))?;
        let mut command = ours.unsnarl_command(&[&["cc"], &*words].concat())?;
        command.env("UNSNARL_CC", clang);
        let wrapped = Finished::of(command)?;
        ensure!(
            wrapped.status == direct.status,
            "{line}: {wrapped}\ninstead of {direct}"
        );
        ensure!(
            wrapped.stderr == direct.stderr,
            "{line}: {wrapped}\ninstead of {direct}"
        );
        let (left, right) = (files(ours.path())?, files(theirs.path())?);
        ensure!(left == right, "{line}: {left:?} instead of {right:?}");
    }
    Ok(())
}

fn sources() -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write("h.h", "#define TWO 2\n")?;
    workspace.write("a.c", "#include \"h.h\"\nint a(void) { return TWO; }\n")?;
    workspace.write("text", "#include \"h.h\"\nint a(void) { return TWO; }\n")?;
    workspace.write("b.c", "int b(void) { return 3; }\n")?;
    workspace.write("main.c", "int main(void) { return 0; }\n")?;
    workspace.write("words", "-c a.c -MMD -o \"x y.o\"\n")?;
    workspace.write("warns.c", "#warning once\nint w(void) { return 3; }\n")?;
    workspace.write("wrong.c", "int w(void) { return u; }\n")?;
    workspace.write(
        "wrong_assembly.c",
        "void w(void) { asm(\"nothing known\"); }\n",
    )?;
    fs::create_dir(workspace.path().join("d"))?;
    Ok(workspace)
}

/// Names of the files below a folder; with their content where that is a list of dependencies.
fn files(folder: &Path) -> Result<BTreeSet<(String, String)>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .context("no name")?
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let inner = files(&path)?.into_iter();
            found.extend(inner.map(|(inner, text)| (format!("{name}/{inner}"), text)));
            continue;
        }
        let is_list = name.ends_with(".d") || name == "q";
        let text = if is_list {
            fs::read_to_string(&path)?
        } else {
            String::new()
        };
        found.insert((name, text));
    }
    Ok(found)
}

/// Source text on standard input, also when the model has to be done without.
#[test]
fn text_on_standard_input() -> Result<()> {
    let workspace = Workspace::new()?;
    let source = workspace.write("in.c", "int main(void) { return 0; }\n")?;
    for clang in [TestedCompiler::Clang, TestedCompiler::Clang14] {
        let Some(clang) = clang.command(false) else {
            bail!("no clang");
        };
        let mut command = workspace.unsnarl_command(&["cc", "-x", "c", "-", "-o", "p"])?;
        command
            .env("UNSNARL_CC", clang)
            .stdin(fs::File::open(&source)?);
        Finished::of(command)?.exits(0)?;
        workspace.run("./p", &[] as &[&str])?.exits(0)?;
    }
    Ok(())
}

#[test]
fn an_old_clang_is_said_and_serves() -> Result<()> {
    let workspace = Workspace::new()?;
    let subject = Subject::open("bank_account")?;
    let command = subject.compile(&workspace, TestedCompiler::Clang14)?;
    workspace.record(&["-n", "3"], &command)?;
    // The model is that of the machine code.
    ensure!(workspace.path().join(".unsnarl/models").exists());
    let clang = TestedCompiler::Clang14
        .command(false)
        .context("no clang-14")?;
    let compile = |model: &str| -> Result<Finished> {
        let mut command = workspace.unsnarl_command(&["cc", "-c", "bank_account.c"])?;
        command.env("UNSNARL_CC", clang).env("UNSNARL_MODEL", model);
        Finished::of(command)
    };
    let said = compile("on")?.exits(0)?;
    ensure!(said.stderr.contains("no program model is kept"), "{said}");
    ensure!(said.stderr.lines().count() == 1, "{said}");
    let silent = compile("off")?.exits(0)?;
    ensure!(silent.stderr.is_empty(), "{silent}");
    compile("no")?
        .exits(1)?
        .says(&["UNSNARL_MODEL", "`no`", "next:"])?;
    Ok(())
}

/// `make -j` with lists of dependencies: a header that changes builds again what depends on it, and the
/// models are those of the new objects.
#[test]
fn make_with_lists_of_dependencies() -> Result<()> {
    let workspace = sources()?;
    let clang = TestedCompiler::Clang.command(false).context("no clang")?;
    workspace.write(
        "Makefile",
        "CFLAGS = -MMD\nprog: main.o a.o b.o\n\t$(CC) $^ -o $@\n-include main.d a.d b.d\n",
    )?;
    let unsnarl = format!("CC={} cc", binary::unsnarl()?.display());
    let make = || -> Result<Finished> {
        let mut command = workspace.command("make", &["-j4", &unsnarl]);
        command.env("UNSNARL_CC", clang);
        Finished::of(command)?.exits(0)
    };
    make()?;
    ensure!(make()?.stdout.contains("up to date"));
    let path = workspace.path().join("h.h");
    let later = fs::metadata(workspace.path().join("prog"))?.modified()?
        + std::time::Duration::from_secs(2);
    fs::File::options()
        .write(true)
        .open(path)?
        .set_modified(later)?;
    let again = make()?.stdout;
    ensure!(again.contains("a.c") && !again.contains("b.c"), "{again}");
    Ok(())
}

/// Blocks of paths in path mode know their instructions, those that begin functions included.
#[test]
fn blocks_of_paths_have_their_instructions() -> Result<()> {
    let workspace = Workspace::new()?;
    let clang = TestedCompiler::Clang.command(false).context("no clang")?;
    let subject = Subject::open("bank_account")?;
    fs::copy(&subject.source, workspace.path().join("bank.c"))?;
    let words = ["cc", "--path", "-O0", "bank.c", "-pthread", "-o", "bank"];
    let mut command = workspace.unsnarl_command(&words)?;
    command.env("UNSNARL_CC", clang);
    let finished = Finished::of(command)?.exits(0)?;
    ensure!(finished.stderr.is_empty(), "{finished}");
    workspace.record(&["-n", "2", "--strategy", "path"], "./bank")?;
    let recorded = recorded(&workspace)?;
    for run in &recorded.runs {
        ensure!(run.meta.blocks.len() > 5, "{:?}", run.meta.blocks);
        for block in &run.meta.blocks {
            let (unit, number) = run
                .meta
                .point(block.point)
                .with_context(|| format!("{block:?}"))?;
            let id = recorded
                .model
                .by_hash(unit)
                .context("a unit that was not kept")?;
            let (function, _, _) = recorded.model.at(id, number).context("no such point")?;
            let function = recorded
                .model
                .function(id, function)
                .context("no function")?;
            let site = run.meta.site(block.site);
            ensure!(
                function.display == site.function,
                "{site:?}: {}",
                function.display
            );
        }
    }
    Ok(())
}
