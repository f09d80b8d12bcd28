//! Finds and reads run files.

mod fitting;

use self::fitting::fitting;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};
use unsnarl_core::{
    Budget, Corpora, CorpusKey, Explanation, RunSummary, builds,
    told::{self, TOLD},
};
use unsnarl_trace::{Outcome, Run, RunFile, RunFolder, folder_notes::FolderNotes, read_run};

pub use unsnarl_trace::RUNS;

/// Megabytes that runs may take where nothing else is said.
pub const MEMORY: u64 = 2048;

/// Runs that were not looked at.
#[derive(Clone, Copy, Default)]
pub struct LeftOut {
    /// For want of memory.
    pub memory: usize,
    /// For want of time.
    pub time: usize,
    /// Of so many.
    pub all: usize,
    /// Bytes that all of them would take, as estimated.
    pub needed: u64,
}

/// Run files that were read, and those that could not be.
#[derive(Default)]
pub struct Loaded {
    /// Name (what `replay` takes) and run.
    pub runs: Vec<(String, Arc<Run>)>,
    /// Times of their files, by name, of those that lie in a folder.
    pub written: HashMap<String, SystemTime>,
    /// File and what is wrong with it.
    pub broken: Vec<(String, String)>,
    /// The folder that they lie in.
    pub folder: PathBuf,
    /// Runs that were not looked at.
    pub left_out: LeftOut,
}

impl Loaded {
    /// The explanations of these runs as they were told last.
    #[must_use]
    pub fn told(&self) -> Vec<Explanation> {
        let names = self.runs.iter().map(|(name, _)| name.as_str());
        told_of(&self.folder, &names.collect::<Vec<_>>())
    }

    /// Summaries of the runs. When the time is over the runs that have none are let go; of those that come first, the
    /// shortest failing one and the shortest passing one always get theirs.
    pub fn summarize(&mut self, budget: &Budget) -> Corpora {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|&at| {
            self.runs
                .get(at)
                .map(|(name, run)| (run.events.len(), name.clone()))
        });
        let failing = |at: &usize| {
            let run = self.runs.get(*at);
            run.is_some_and(|(_, run)| run.meta.outcome.is_failure())
        };
        let (failing, others): (Vec<usize>, Vec<usize>) = order.into_iter().partition(failing);
        let mut corpora = Corpora::default();
        let mut done = vec![false; self.runs.len()];
        let size = |at: &usize| {
            self.runs
                .get(*at)
                .map_or(0, |(_, run)| run.events.len() as u64)
        };
        let order = balanced(failing, others, size);
        let at_once = rayon::current_num_threads().max(ALWAYS);
        for (turn, next) in order.chunks(at_once).enumerate() {
            if turn > 0 && budget.stop().is_some() {
                break;
            }
            for (at, summary) in self.summaries(next) {
                corpora.insert(summary);
                if let Some(done) = done.get_mut(at) {
                    *done = true;
                }
            }
        }
        let all = self.runs.len();
        let mut done = done.into_iter();
        self.runs.retain(|_| done.next() == Some(true));
        self.left_out.time = all - self.runs.len();
        corpora
    }

    /// Summaries of some runs, each on a core of its own, in the same order.
    fn summaries(&self, runs: &[usize]) -> Vec<(usize, RunSummary)> {
        let summary = |&at: &usize| {
            let (name, run) = self.runs.get(at)?;
            Some((at, RunSummary::new(name.clone(), run.clone())))
        };
        runs.par_iter().filter_map(summary).collect()
    }

    /// Lets go of the runs of builds of which a newer one was recorded; the number of those that fail.
    pub fn leave_outdated(&mut self) -> usize {
        let keys: Vec<CorpusKey> = self
            .runs
            .iter()
            .map(|(_, run)| CorpusKey::of(run))
            .collect();
        let times = self.runs.iter().map(|(name, _)| self.written.get(name));
        let runs = keys.iter().zip(times);
        let old = builds::outdated(runs.filter_map(|(key, time)| Some((key, *time?))));
        let is_old: Vec<bool> = keys.iter().map(|key| old.contains(key)).collect();
        let (old, new): (Vec<_>, Vec<_>) = std::mem::take(&mut self.runs)
            .into_iter()
            .zip(is_old)
            .partition(|(_, is_old)| *is_old);
        self.runs = new.into_iter().map(|(run, _)| run).collect();
        let failing = old
            .iter()
            .filter(|((_, run), _)| run.meta.outcome.is_failure());
        failing.count()
    }

    /// Takes a file in that was read.
    fn take(&mut self, (file, name): (&Path, String), read: LoadedRun) {
        match read {
            Ok(run) => self.runs.push((name, run)),
            Err(broken) => self.broken.push((file.display().to_string(), broken)),
        }
    }
}

/// Runs that are summarized whatever time there is: one that fails and one that passes.
const ALWAYS: usize = 2;

/// Both, each beginning with its first one, then the next one of those of which less was taken by size, then what is left.
/// Runs of one size come in turn; a long one waits until as much of the others is taken.
fn balanced<T>(a: Vec<T>, b: Vec<T>, size: impl Fn(&T) -> u64) -> Vec<T> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let mut left = [a.into_iter(), b.into_iter()];
    let mut taken = [0_u64, 0];
    loop {
        let [first, second] = &left;
        let at = match (first.as_slice(), second.as_slice()) {
            ([], []) => return all,
            ([], _) => 1,
            (_, []) => 0,
            _ => usize::from(taken[1] < taken[0]),
        };
        let (Some(next), Some(taken)) = (left.get_mut(at), taken.get_mut(at)) else {
            return all;
        };
        let next = next.next();
        *taken += next.as_ref().map_or(0, &size);
        all.extend(next);
    }
}

/// The explanations of some runs of a folder as they were told last.
#[must_use]
pub fn told_of(folder: &Path, names: &[&str]) -> Vec<Explanation> {
    let note = FolderNotes::of(TOLD).map(|notes| notes.read(folder));
    told::all(&note.unwrap_or_default(), names)
}

/// Keeps explanations of the runs of a folder with their fixes as they are told, so that [`Loaded::told`] has them.
///
/// # Errors
/// The user has no folder for them, or it cannot be written.
pub fn keep_told(folder: &Path, now: Vec<Explanation>) -> Result<()> {
    let notes = FolderNotes::of(TOLD)?;
    let note = told::added(&notes.read(folder), now)?;
    Ok(notes.write(folder, &note)?)
}

/// Reads the runs at a place: a folder of runs, a project, or one run file with the passing runs beside it.
pub fn load(place: Option<&Path>) -> Result<Loaded> {
    load_chosen(place, |files, _| files)
}

/// The same, but no more runs than so many megabytes hold: of each program the shortest failing and the shortest passing
/// ones, about as much of the ones as of the others. What is left out is counted. Which runs these are depends on the files only.
pub fn load_within(place: Option<&Path>, megabytes: u64) -> Result<Loaded> {
    let room = megabytes.saturating_mul(1 << 20);
    load_chosen(place, |files, left_out| fitting(files, room, left_out))
}

/// The passing runs of a folder of runs or a project, those that were written last first, no more than fit into the
/// memory that runs may take.
pub fn load_newest_passing(place: Option<&Path>) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    in_folder(place, &mut loaded, |mut files, left_out| {
        files.sort_by(|a, b| b.modified.cmp(&a.modified).then(a.name.cmp(&b.name)));
        let passed = |file: &RunFile| fitting::outcome(file).is_none_or(|it| it == Outcome::Passed);
        left_out.all = files.len();
        files.retain(passed);
        fitting::first(files, MEMORY << 20, left_out)
    })?;
    Ok(loaded)
}

fn load_chosen(
    place: Option<&Path>,
    choose: impl FnOnce(Vec<RunFile>, &mut LeftOut) -> Vec<RunFile>,
) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    match place {
        Some(file) if file.is_file() => {
            loaded.folder = file.parent().unwrap_or(Path::new("")).to_owned();
            loaded.take((file, file.display().to_string()), read(file));
            take_passing_beside(file, &mut loaded, choose);
        }
        place => in_folder(place, &mut loaded, choose)?,
    }
    Ok(loaded)
}

/// Reads the passing runs of the folder that a run lies in, to compare it with.
fn take_passing_beside(
    one: &Path,
    loaded: &mut Loaded,
    choose: impl FnOnce(Vec<RunFile>, &mut LeftOut) -> Vec<RunFile>,
) {
    // A file that lies anywhere else has nothing beside it.
    let folder = one.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = RunFolder::new(folder.unwrap_or(Path::new(".")));
    let mut files = folder.files().unwrap_or_default();
    files.retain(|file| {
        file.path.file_name() != one.file_name()
            && fitting::outcome(file).is_some_and(|outcome| outcome == Outcome::Passed)
    });
    let files = choose(files, &mut loaded.left_out);
    let runs: Vec<LoadedRun> = files.par_iter().map(|file| read(&file.path)).collect();
    let key = |run: &Run| CorpusKey::of(run);
    let own = loaded.runs.first().map(|(_, run)| key(run));
    // Those of other programs and builds show nothing of it.
    let is_other = |read: &LoadedRun| read.as_ref().is_ok_and(|run| Some(key(run)) != own);
    for (file, read) in files.iter().zip(runs).filter(|(_, read)| !is_other(read)) {
        loaded.take((&file.path, file.path.display().to_string()), read);
    }
}

fn in_folder(
    place: Option<&Path>,
    loaded: &mut Loaded,
    choose: impl FnOnce(Vec<RunFile>, &mut LeftOut) -> Vec<RunFile>,
) -> Result<()> {
    let own = || RunFolder::of_project(Path::new(""));
    let runs = place.map_or_else(own, RunFolder::at);
    let folder = runs.path();
    let shown = folder.display();
    let files = runs
        .files()
        .with_context(|| format!("cannot read the folder {shown}"))?;
    if files.is_empty() {
        bail!(
            "there are no runs in {shown}\n  next: record some: unsnarl record --until-failing 3 -- ./prog"
        );
    }
    loaded.folder = folder.to_owned();
    let files = choose(files, &mut loaded.left_out);
    let runs: Vec<LoadedRun> = files.par_iter().map(|file| read(&file.path)).collect();
    for (file, read) in files.iter().zip(runs) {
        // Where `replay` looks by itself the name is enough.
        let name = match place {
            None => file.name.clone(),
            Some(_) => file.path.display().to_string(),
        };
        loaded.written.insert(name.clone(), file.modified);
        loaded.take((&file.path, name), read);
    }
    Ok(())
}

/// A run, or what is wrong with its file.
type LoadedRun = std::result::Result<Arc<Run>, String>;

fn read(file: &Path) -> LoadedRun {
    match read_run(file) {
        Ok(run) if run.damage.is_empty() => Ok(Arc::new(run)),
        Ok(run) => Err(run.damage.join("; ")),
        Err(error) => Err(error.to_string()),
    }
}
