//! The runs of a folder that nothing is lost with: passing ones of an order that another run of their program has.
//!
//! Kept are all runs that failed, one run of each order of conflicting operations, runs that somebody names, and whatever
//! cannot be read: nobody knows what it shows.

use rayon::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};
use unsnarl_core::CorpusKey;
use unsnarl_trace::{RunFile, RunFolder, read::read_meta, read_run};

/// The reason for which a run is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeepReason {
    /// It failed.
    Failed,
    /// Somebody names it.
    Named,
    /// No run that is kept has its order, or its order is not known.
    Order,
}

/// The files of a folder, divided.
#[derive(Debug, Default)]
pub struct PrunePlan {
    /// Numbers of the runs that are kept.
    pub kept: BTreeMap<KeepReason, usize>,
    /// Runs that can go, by name.
    pub removable: Vec<RunFile>,
    /// Files that cannot be read as a whole, by name, with the reasons. They are kept.
    pub broken: Vec<(RunFile, String)>,
}

/// Runs that are the same run as far as their program can tell.
type OrderClass = (CorpusKey, String);

/// Divides the runs of a folder; `named` are the names of runs that are kept whatever they show.
pub fn plan(folder: &RunFolder, named: &BTreeSet<String>) -> io::Result<PrunePlan> {
    let mut plan = PrunePlan::default();
    let mut classes: BTreeMap<OrderClass, Vec<RunFile>> = BTreeMap::new();
    for file in folder.files()? {
        match read_meta(&file.path) {
            Err(error) => plan.broken.push((file, error.to_string())),
            Ok(meta) if meta.outcome.is_failure() => plan.keep(KeepReason::Failed),
            Ok(meta) if meta.order.is_empty() => plan.keep(KeepReason::Order),
            Ok(meta) => {
                let class = (CorpusKey::of_meta(&meta), meta.order);
                classes.entry(class).or_default().push(file);
            }
        }
    }
    classes
        .into_values()
        .for_each(|files| plan.divide(files, named));
    plan.removable.sort();
    plan.broken.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(plan)
}

impl PrunePlan {
    /// Bytes of the runs that can go.
    pub fn bytes(&self) -> u64 {
        self.removable.iter().map(|file| file.len).sum()
    }

    fn keep(&mut self, reason: KeepReason) {
        *self.kept.entry(reason).or_default() += 1;
    }

    /// Divides the runs of one order: beside those that are named, the smallest stays.
    fn divide(&mut self, files: Vec<RunFile>, named: &BTreeSet<String>) {
        if files.len() == 1 {
            return self.keep(KeepReason::Order);
        }
        let (mut kept, mut others) = (0, Vec::new());
        for (file, run) in read_all(files) {
            match run {
                Err(why) => self.broken.push((file, why)),
                Ok(()) if named.contains(&file.name) => kept += 1,
                Ok(()) => others.push(file),
            }
        }
        (0..kept).for_each(|_| self.keep(KeepReason::Named));
        others.sort_by(|a, b| (a.len, &a.name).cmp(&(b.len, &b.name)));
        let stays = usize::from(kept == 0).min(others.len());
        (0..stays).for_each(|_| self.keep(KeepReason::Order));
        self.removable.extend(others.split_off(stays));
    }
}

/// Reads each file as a whole: its first bytes, which say what it is about, tell nothing about the rest.
fn read_all(files: Vec<RunFile>) -> Vec<(RunFile, Result<(), String>)> {
    let read = |file: RunFile| {
        let whole = match read_run(&file.path) {
            Ok(run) => run.damage.into_iter().next().map_or(Ok(()), Err),
            Err(error) => Err(error.to_string()),
        };
        (file, whole)
    };
    files.into_par_iter().map(read).collect()
}

/// The names in a text that are names of runs of the folder.
pub fn names_in(text: &str, files: &[RunFile]) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let words: BTreeSet<&str> = text.split(|letter| !is_of_name(letter)).collect();
    let named = files
        .iter()
        .filter(|file| words.contains(file.name.as_str()));
    named.map(|file| file.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use unsnarl_trace::script;

    /// A folder with runs of these orders and ends, by seeds from 1.
    fn folder(runs: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (seed, (order, end)) in (1..).zip(runs) {
            let mut run = script::parse(&format!("seed {seed}\nmain W x =1 @1\n{end}")).unwrap();
            run.meta.order = (*order).to_owned();
            RunFolder::new(folder.path()).store(&run).unwrap();
        }
        folder
    }

    const FAILS: &str = "main fails @2 assertion\n";

    fn planned(folder: &tempfile::TempDir, named: &[&str]) -> PrunePlan {
        let named = named.iter().map(|name| (*name).to_owned()).collect();
        plan(&RunFolder::new(folder.path()), &named).unwrap()
    }

    fn count(plan: &PrunePlan, reason: KeepReason) -> usize {
        plan.kept.get(&reason).copied().unwrap_or(0)
    }

    #[test]
    fn failing_runs_and_one_of_each_order_stay() {
        let folder = folder(&[
            ("a", ""),
            ("a", ""),
            ("a", FAILS),
            ("b", ""),
            ("b", FAILS),
            ("a", ""),
            ("", ""),
            ("", ""),
        ]);
        let plan = planned(&folder, &[]);
        assert_eq!(count(&plan, KeepReason::Failed), 2);
        assert_eq!(count(&plan, KeepReason::Order), 4);
        assert_eq!(plan.removable.len(), 2);
        assert_eq!(
            plan.bytes(),
            plan.removable.iter().map(|file| file.len).sum::<u64>()
        );
    }

    #[test]
    fn a_named_run_stays_for_its_order() {
        let folder = folder(&[("a", ""), ("a", ""), ("a", "")]);
        let gone = planned(&folder, &[]).removable;
        let named = gone.first().unwrap().name.clone();
        let plan = planned(&folder, &[&named]);
        assert_eq!(
            (
                count(&plan, KeepReason::Named),
                count(&plan, KeepReason::Order)
            ),
            (1, 0)
        );
        assert!(plan.removable.len() == 2 && plan.removable.iter().all(|file| file.name != named));
    }

    #[test]
    fn what_cannot_be_read_stays_and_stands_for_no_other() {
        let folder = folder(&[("a", ""), ("a", "")]);
        for file in RunFolder::new(folder.path())
            .files()
            .unwrap()
            .iter()
            .take(1)
        {
            let bytes = fs::read(&file.path).unwrap();
            fs::write(&file.path, bytes.get(..bytes.len() / 2).unwrap()).unwrap();
        }
        fs::write(folder.path().join("passed-x.arrow"), "no run").unwrap();
        let plan = planned(&folder, &[]);
        assert_eq!((plan.broken.len(), plan.removable.len()), (2, 0));
    }

    #[test]
    fn names_are_found_in_scripts() {
        let folder = folder(&[("a", ""), ("b", "")]);
        let files = RunFolder::new(folder.path()).files().unwrap();
        let name = &files.first().unwrap().name;
        let script = format!("unsnarl replay \"runs/{name}.arrow\" || exit 1");
        assert_eq!(names_in(&script, &files), [name.clone()].into());
        assert_eq!(names_in("nothing", &files), BTreeSet::new());
    }
}
