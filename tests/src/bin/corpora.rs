//! Records the golden corpora: a few runs of each program under `tests/programs` as data, which the tests explain without
//! a compiler and without executing anything.
//!
//! `corpora [NAMES]` writes `tests/corpora/NAME.tar.zst`; all programs when none is named.

use anyhow::{Context, Result, ensure};
use std::{env, fs, path::Path};
use unsnarl_e2e::{TestProgram, Workspace, build::build_of, project, workspace::RUNS};

/// Schedules that are tried for failures.
const TRIED: &str = "2000";
/// Failing runs of a corpus.
const FAILING: &str = "3";
/// Passing runs of a corpus that has failing ones.
const PASSING: &str = "6";
/// Level of compression: the files are written seldom and read often.
const LEVEL: i32 = 19;
/// Binary logarithm of the distance over which equal parts of runs are found.
const WINDOW: u32 = 26;

fn main() -> Result<()> {
    let mut names: Vec<String> = env::args().skip(1).collect();
    if names.is_empty() {
        names = TestProgram::names()?;
    }
    for name in names {
        let (runs, bytes) = pack(&name).with_context(|| format!("program {name}"))?;
        println!("{name}: {runs} runs, {bytes} bytes");
    }
    Ok(())
}

/// Compiles and records a program, and packs its runs; returns their number and the size of the file.
fn pack(name: &str) -> Result<(usize, u64)> {
    let program = TestProgram::open(name)?;
    // The runs hold the path: one that is the same on every machine keeps the file as it is.
    let workspace = Workspace::emptied(&Path::new("/tmp/unsnarl-corpora").join(name))?;
    let (compiler, level) = build_of(name);
    let command = program.compile_with(&workspace, compiler, &[level])?;
    let count = match program.has_bug(compiler, level) && !program.expectation.kinds.is_empty() {
        true => ["-n", TRIED, "--until-failing", FAILING],
        false => ["-n", PASSING, "--jobs", "1"],
    };
    let options = [
        &count[..],
        &["--keep-passing", PASSING],
        &program.recording(),
    ]
    .concat();
    let recorded = workspace.record(&options, &command)?;
    ensure!(matches!(recorded.status, Some(0 | 1)), "{recorded}");
    let file = project()
        .join("tests/corpora")
        .join(name)
        .with_extension("tar.zst");
    let runs = workspace.runs()?;
    write(&workspace.path().join(RUNS), &runs, &file)?;
    fs::remove_dir_all(workspace.path())?;
    Ok((runs.len(), fs::metadata(&file)?.len()))
}

/// Writes the files as one, in the order of their names, without what differs from machine to machine.
fn write(folder: &Path, names: &[String], file: &Path) -> Result<()> {
    let mut packed = zstd::Encoder::new(fs::File::create(file)?, LEVEL)?;
    packed.window_log(WINDOW)?;
    let mut archive = tar::Builder::new(packed);
    for name in names {
        let bytes = fs::read(folder.join(name))?;
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, name, bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}
