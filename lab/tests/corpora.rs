//! Golden corpora: recorded runs of the programs under `tests/programs` are explained, without a compiler and
//! without executing anything, and the explanations are compared with the text beside them.
//!
//! `cargo xtask corpora` records them again; `cargo xtask corpora --answers` writes the texts.

use expect_test::expect_file;
use libtest_mimic::{Arguments, Trial};
use std::{
    error::Error,
    fs::{self, File},
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
};
use unsnarl_core::{Budget, render};
use unsnarl_lab::{
    load,
    pipeline::{self, BuildFinding},
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for entry in fs::read_dir(tests().join("programs"))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let name = entry.file_name().to_string_lossy().into_owned();
            trials.push(Trial::test(name.clone(), move || Ok(is_explained(&name)?)));
        }
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// Compares the explanation of a program's corpus with the text beside it.
fn is_explained(name: &str) -> Result<(), Box<dyn Error>> {
    let corpus = tests().join("corpora").join(name);
    let file = corpus.with_extension("tar.zst");
    let packed = File::open(&file).map_err(|error| {
        format!(
            "{}: {error}; `cargo xtask corpora {name}` records it",
            file.display()
        )
    })?;
    let unpacked = tempfile::tempdir()?;
    tar::Archive::new(zstd::Decoder::new(packed)?).unpack(unpacked.path())?;
    let text = explained(unpacked.path())?;
    let expected = expect_file![corpus.with_extension("txt")];
    panic::catch_unwind(|| expected.assert_eq(&text)).map_err(|_| {
        "it is explained in other words: `cargo xtask corpora --answers` accepts them".into()
    })
}

/// The explanation of the runs in a folder.
fn explained(runs: &Path) -> Result<String, Box<dyn Error>> {
    let mut loaded = load::load(Some(runs))?;
    if let Some((file, problem)) = loaded.broken.first() {
        return Err(format!("{file}: {problem}").into());
    }
    for (name, _) in &mut loaded.runs {
        // The folder is another one each time.
        let file = Path::new(name).file_name().unwrap_or_default();
        *name = file.to_string_lossy().into_owned();
    }
    let budget = Budget::unlimited();
    let corpora = loaded.summarize(&budget);
    let findings = pipeline::compare(&corpora, &loaded, &budget);
    Ok(findings.iter().map(told).collect())
}

/// All that is said of the runs of one build.
fn told(finding: &BuildFinding<'_>) -> String {
    let explanations = finding.explanations.iter();
    let mut text: String = explanations
        .map(|explanation| {
            format!(
                "{}{}\n",
                render::text(explanation),
                render::why(explanation, render::TextWidth::USUAL)
            )
        })
        .collect();
    if !finding.unexplained.is_empty() {
        text.push_str(&render::unexplained(
            finding.corpus,
            &finding.unexplained,
            finding.stopped,
        ));
    } else if finding.explanations.is_empty() {
        text.push_str(&render::nothing_failed(finding.corpus));
    }
    text
}
