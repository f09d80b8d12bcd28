//! A project with its files to mutate, and the judgement of one mutant.

use super::{
    super::{
        campaign::unsnarl,
        declaration::{DebianProject, MutatedFiles, RecordedProgram},
        sources::{BuildVariant, SourceTree},
    },
    search,
    tally::RealJudgement,
};
use crate::mutants::store;
use anyhow::{Context, Result, ensure};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};
use unsnarl_e2e::mutants::{
    Base, Mutant,
    judge::{self, Fate, JudgedExplanation},
    names,
};

/// The command that explains a failure. Answers are judged, not speed: beside other work a machine needs more than the default.
const EXPLAIN: [&str; 8] = [
    "explain",
    "--trust",
    "--budget",
    "40s",
    "--run-budget",
    "2m",
    "--format",
    "json",
];

/// A project with its files to mutate, built twice.
pub struct MutatedProject<'p> {
    project: &'p DebianProject,
    files: &'p MutatedFiles,
    programs: Vec<&'p RecordedProgram>,
    recorded: SourceTree<'p>,
    native: SourceTree<'p>,
}

impl<'p> MutatedProject<'p> {
    /// Builds both variants, unless they were built for mutants by the same `unsnarl`, and checks that nothing fails.
    pub fn build(project: &'p DebianProject) -> Result<MutatedProject<'p>> {
        let files = project
            .mutants
            .as_ref()
            .context("no files to mutate are declared")?;
        let is_tried = |one: &&RecordedProgram| {
            files.programs.is_empty() || files.programs.contains(&one.name)
        };
        let mutated = MutatedProject {
            project,
            files,
            programs: project.programs.iter().filter(is_tried).collect(),
            recorded: SourceTree::new(project, BuildVariant::Recorded),
            native: SourceTree::new(project, BuildVariant::Native),
        };
        mutated
            .trees()
            .into_iter()
            .try_for_each(|tree| prepare(tree, files))?;
        mutated.check()?;
        Ok(mutated)
    }

    /// Checks, once, that nothing fails without a mistake.
    fn check(&self) -> Result<()> {
        let checked = self.recorded.path().join(originals()?).join("checked");
        if !checked.exists() {
            eprintln!("{}: without a mistake ...", self.project.name);
            let found = search::by_ci(&self.recorded, &self.programs, search::FIRST)?;
            ensure!(found.is_none(), "fails without a mistake: {found:?}");
            let failing = search::natively(&self.native, &self.programs)?;
            ensure!(failing.is_none(), "fails without a mistake: {failing:?}");
            fs::write(checked, "")?;
        }
        Ok(())
    }

    /// Its name, with the version of the package.
    pub fn name(&self) -> Result<String> {
        Ok(format!(
            "{} {}",
            self.project.name,
            self.recorded.version()?
        ))
    }

    fn trees(&self) -> [&SourceTree<'p>; 2] {
        [&self.recorded, &self.native]
    }

    /// All mutants of the files, with these.
    pub fn mutants(&self) -> Result<Vec<(Base, Mutant)>> {
        let mut mutants = Vec::new();
        for file in &self.files.files {
            let text = fs::read_to_string(self.recorded.path().join(file))?;
            let open = || Base {
                name: format!("{}/{}", self.project.name, file.display()),
                path: file.clone(),
                text: text.clone(),
            };
            let base = Base {
                text: names::known(&text, &self.files.names)?,
                ..open()
            };
            for mut mutant in base.mutants_within(self.files.functions.as_deref())? {
                mutant.text = names::own(&mutant.text, &self.files.names);
                mutants.push((open(), mutant));
            }
        }
        Ok(mutants)
    }

    /// Judges a mutant; then the original text is back.
    pub fn judge(&self, base: &Base, mutant: &Mutant) -> Result<RealJudgement> {
        let judged = self.judge_written(base, mutant);
        let write = |tree: &SourceTree| fs::write(tree.path().join(&base.path), &base.text);
        self.trees().into_iter().try_for_each(write)?;
        judged
    }

    fn judge_written(&self, base: &Base, mutant: &Mutant) -> Result<RealJudgement> {
        let mut judgement = RealJudgement::of(mutant);
        judgement.builds = self.put(&self.recorded, base, mutant)?;
        if !judgement.builds {
            return Ok(judgement);
        }
        judgement.found = search::by_ci(&self.recorded, &self.programs, search::FIRST)?;
        if judgement.found.is_none() {
            judgement.reference = search::by_record(&self.recorded, &self.programs)?;
            if judgement.reference.is_none() && self.put(&self.native, base, mutant)? {
                judgement.reference = search::natively(&self.native, &self.programs)?;
            }
            if judgement.reference.is_some() {
                judgement.found = search::by_ci(&self.recorded, &self.programs, search::WHOLE)?;
            }
        }
        let found = judgement.found.as_ref().map(|found| found.program.as_str());
        if let Some(program) = self
            .programs
            .iter()
            .find(|one| Some(one.name.as_str()) == found)
        {
            (judgement.always, judgement.told) = self.explain(program, base, mutant)?;
        }
        Ok(judgement)
    }

    /// Builds a mutant in a tree; `false` when the compiler refuses it.
    fn put(&self, tree: &SourceTree, base: &Base, mutant: &Mutant) -> Result<bool> {
        fs::write(tree.path().join(&base.path), &mutant.text)?;
        for line in &self.files.build {
            if tree.shell(line, tree.path())?.status != Some(0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Explains the failing runs: `true` if no run passed, and the first explanation.
    fn explain(
        &self,
        program: &RecordedProgram,
        base: &Base,
        mutant: &Mutant,
    ) -> Result<(bool, Option<JudgedExplanation>)> {
        let folder = self.recorded.folder(program);
        let always = !search::has_run(&folder, |name| name.starts_with("passed-"))?;
        let fate = if always {
            Fate::AlwaysFails
        } else {
            Fate::Fails
        };
        let explanations = unsnarl(&folder, &EXPLAIN.map(OsString::from))?.explanations()?;
        let told = explanations
            .first()
            .map(|first| judge::assess(mutant, &base.path, fate, first));
        Ok((always, told))
    }
}

/// Builds a tree and keeps the texts of the files; if that was done already, these are as they were.
fn prepare(tree: &SourceTree, files: &MutatedFiles) -> Result<()> {
    let originals = tree.path().join(originals()?);
    let is_first = !originals.exists();
    if is_first {
        tree.build()?;
        fs::create_dir_all(&originals)?;
    }
    for file in &files.files {
        let name = file.file_name().context("a source has a name")?;
        let (here, kept) = (tree.path().join(file), originals.join(name));
        let (from, to) = if is_first { (here, kept) } else { (kept, here) };
        fs::copy(&from, &to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Folder of a tree with the texts of its mutated files.
fn originals() -> Result<PathBuf> {
    Ok(Path::new(".originals").join(store::build()?))
}
