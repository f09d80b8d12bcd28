//! The program model of real programs: the compiler's text is understood to the last line, and its names are those of
//! recorded runs.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use unsnarl_e2e::{TestProgram, TestedCompiler, Workspace, program::compile_with};
use unsnarl_recorder::program::condense;
use unsnarl_trace::{
    Run,
    program::{self, Constant, ConstantId, DebugPlace, Op, Operand, Unit},
    read_run,
};

/// The wrapper's flags for clang, as far as they change the text.
const FLAGS: [&str; 9] = [
    "-S",
    "-emit-llvm",
    "-g",
    "-w",
    "-fsanitize=thread",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
    "-o",
    "text.ll",
];

/// Checks all programs and the runtime's exercises, at this level.
fn all_text_is_understood(level: &str) -> Result<()> {
    let mut sources = Vec::new();
    for name in TestProgram::names()? {
        sources.push(TestProgram::open(&name)?.source);
    }
    for name in ["names.c", "names.cpp", "exact.c", "wide_atomics.c"] {
        sources.push(runtime_folder().join(name));
    }
    for source in sources {
        let unit = unit_of(&source, level).with_context(|| source.display().to_string())?;
        ensure!(
            unit.problems.is_empty(),
            "{}: {:?}",
            source.display(),
            unit.problems
        );
        let main = unit
            .functions
            .iter()
            .find(|function| function.name == "main");
        let main = main.with_context(|| source.display().to_string())?;
        ensure!(
            !main.instructions.is_empty(),
            "{} has no code",
            source.display()
        );
    }
    Ok(())
}

fn unit_of(source: &Path, level: &str) -> Result<Unit> {
    let is_cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let clang = TestedCompiler::Clang
        .command(is_cpp)
        .context("clang is missing")?;
    let workspace = Workspace::new()?;
    let source = source.to_string_lossy();
    workspace
        .run(clang, &[&FLAGS, [level, &source].as_slice()].concat())?
        .exits(0)?;
    let text = std::fs::read_to_string(workspace.path().join("text.ll"))?;
    Ok(condense(&text)?)
}

fn runtime_folder() -> std::path::PathBuf {
    unsnarl_e2e::project().join("tests/runtime")
}

#[test]
fn all_text_is_understood_without_optimization() -> Result<()> {
    all_text_is_understood("-O0")
}

#[test]
fn all_text_is_understood_with_some_optimization() -> Result<()> {
    all_text_is_understood("-O1")
}

#[test]
fn all_text_is_understood_with_more_optimization() -> Result<()> {
    all_text_is_understood("-O2")
}

/// Places of an instruction in the model, from within outwards.
fn places(unit: &Unit, first: program::PlaceId) -> Vec<&DebugPlace> {
    let mut found = Vec::new();
    let mut at = first;
    while at.0 != 0 && found.len() < 100 {
        found.push(unit.place(at));
        at = unit.place(at).inlined_at;
    }
    found
}

/// The global variable that an address is in.
fn global(unit: &Unit, mut id: ConstantId) -> Option<&program::Global> {
    loop {
        match unit.constant(id)? {
            Constant::Offset { base, .. } => id = *base,
            Constant::Global(global) => return unit.global(*global),
            _ => return None,
        }
    }
}

/// The address that a callback for reads and writes gets.
fn accessed(unit: &Unit, op: &Op) -> Option<Operand> {
    let Op::Call {
        callee, arguments, ..
    } = op
    else {
        return None;
    };
    let Operand::Constant(callee) = callee else {
        return None;
    };
    let Some(Constant::Function(callee)) = unit.constant(*callee) else {
        return None;
    };
    let name = &unit.function(*callee)?.name;
    let is_access = name.starts_with("__tsan_read") || name.starts_with("__tsan_write");
    arguments.first().copied().filter(|_| is_access)
}

/// Returns whether a function is a constructor, a destructor or an assignment, by its name with its class.
fn is_special(function: &str) -> bool {
    let mut names = function.rsplit("::");
    match (names.next(), names.next()) {
        (Some(own), class) => own == "operator=" || own.starts_with('~') || class == Some(own),
        _ => false,
    }
}

/// Compares the model's description of an event's instruction with the run: returns the number of compared events,
/// and the number of these with the address of a variable.
fn compare(run: &Run, program: &program::Program) -> Result<(usize, usize)> {
    let (mut events, mut variables) = (0, 0);
    for (_, event) in run.events.iter() {
        let Some((unit, point)) = run.meta.point(event.point) else {
            continue;
        };
        let unit = program.by_hash(unit).and_then(|unit| program.unit(unit));
        let unit = unit.context("a unit of the run is not in the model")?;
        let (_, instruction) = unit.at(point).context("a point is not in its unit")?;
        let site = run.meta.site(event.site);
        let is_there = |place: &&DebugPlace| {
            let here = (
                unit.file(place),
                place.line,
                place.column,
                unit.function_name(place),
            );
            here == (&site.file, site.line, site.column, &site.function)
        };
        let all = places(unit, instruction.place);
        // For code of the C++ library, and for members that the compiler has written, the run tells who called it.
        let is_called = |place: &&DebugPlace| {
            unit.file(place).starts_with("/usr/") || is_special(unit.function_name(place))
        };
        if all.iter().all(is_called) && !all.iter().any(is_there) {
            continue;
        }
        let told = |place: &&DebugPlace| format!("{place:?} in `{}`", unit.function_name(place));
        let told = || all.iter().map(told).collect::<Vec<_>>().join(", ");
        ensure!(
            all.iter().any(is_there),
            "{site:?} is {} in the model",
            told()
        );
        events += 1;
        let Some(Operand::Constant(address)) = accessed(unit, &instruction.op) else {
            continue;
        };
        if let Some(global) = global(unit, address).filter(|global| !global.display.is_empty()) {
            let location = run.location(event.location);
            let rest = location.strip_prefix(global.display.as_str());
            let is_part = rest
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '@', '+', ' ']));
            ensure!(is_part, "`{location}` is `{}` in the model", global.display);
            variables += 1;
        }
    }
    Ok((events, variables))
}

fn names_agree(source: &str, level: &str) -> Result<()> {
    let workspace = Workspace::new()?;
    workspace.write(
        source,
        &std::fs::read_to_string(runtime_folder().join(source))?,
    )?;
    compile_with(
        &workspace,
        Path::new(source),
        "names",
        TestedCompiler::Clang,
        &[level],
    )?;
    let options = ["-n", "1", "--strategy", "sequential"];
    workspace.record(&options, "./names")?.exits(0)?;
    let runs = workspace.runs()?;
    let run = runs.first().context("no run was kept")?;
    let run = read_run(&workspace.path().join(workspace.run_path(run)))?;
    let folder = workspace.path().join(unsnarl_e2e::workspace::RUNS);
    let program = program::load(&folder, &run.meta.build_id)?;
    let (events, variables) = compare(&run, &program)?;
    ensure!(events > 30, "only {events} events have a point");
    ensure!(variables > 5, "only {variables} of them are at a variable");
    Ok(())
}

#[test]
fn things_are_called_as_in_runs_of_c() -> Result<()> {
    names_agree("names.c", "-O0")?;
    names_agree("names.c", "-O1")
}

#[test]
fn things_are_called_as_in_runs_of_cpp() -> Result<()> {
    names_agree("names.cpp", "-O0")?;
    names_agree("names.cpp", "-O1")
}
