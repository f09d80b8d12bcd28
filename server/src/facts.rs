//! Results of the analysis of one workspace folder.

use crate::{follow::Recorded, paths::Root, suppressed, unexplained::UnexplainedFailure};
use rustc_hash::FxHashMap;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use unsnarl_core::{Explanation, Orders, Place, suppressions::Suppressions};
use unsnarl_trace::{Run, SiteRow};

/// The result of one analysis of one folder.
#[derive(Clone, Debug, Default)]
pub struct FolderFacts {
    /// Run files that were read.
    pub runs: usize,
    /// Number of failing runs among them.
    pub failing: usize,
    /// Run files that cannot be used, each with the reason.
    pub broken: BTreeMap<PathBuf, String>,
    /// The reason for which the run folder cannot be read, if it exists and cannot.
    pub unreadable: Option<String>,
    /// Explanations of the failures, the best first.
    pub explained: Vec<Arc<ExplainedFact>>,
    /// Failures that no explanation is about.
    pub unexplained: Vec<Arc<UnexplainedFailure>>,
    /// Number of failing runs of outdated builds, of which nothing is shown.
    pub outdated: usize,
    /// Number of explanations of recorded runs that were not run again.
    pub unconfirmed: usize,
    /// `true` if the analysis ended before it had examined everything.
    pub out_of_time: bool,
    /// Number of older run files that are left out for lack of memory.
    pub left_out: usize,
    /// Memory that the runs take, in bytes, as estimated from their files.
    pub memory: u64,
}

impl FolderFacts {
    /// Returns whether hints and lenses of both are the same, which do not depend on fixes.
    pub fn shows_the_same(&self, other: &FolderFacts) -> bool {
        let shown = |facts: &FolderFacts| -> Vec<Explanation> {
            let all = facts.explained.iter().map(|one| Explanation {
                fixes: Vec::new(),
                not_fixed: Vec::new(),
                ..one.explanation.clone()
            });
            all.collect()
        };
        shown(self) == shown(other)
    }

    /// Number of failing runs without an explanation.
    pub fn unexplained_runs(&self) -> usize {
        self.unexplained.iter().map(|one| one.kept.runs.len()).sum()
    }
}

/// An explanation with the run that shows it.
#[derive(Debug)]
pub struct ExplainedFact {
    /// The explanation.
    pub explanation: Explanation,
    /// The failing run, as long as its file could be read.
    pub evidence: Option<Arc<Run>>,
    /// Names of the passing runs of the same program on the same input.
    pub passing: Arc<[String]>,
    recorded: FxHashMap<String, Recorded>,
    orders: OnceLock<Orders>,
}

impl ExplainedFact {
    /// Collects the known facts about the sources that the explanation mentions.
    pub fn new(explanation: Explanation, evidence: Option<Arc<Run>>) -> ExplainedFact {
        let mut recorded = FxHashMap::default();
        let edited = explanation.fixes.iter().flat_map(|fix| &fix.edits);
        for file in places(&explanation)
            .map(|place| place.file.clone())
            .chain(edited.map(|edit| edit.file.clone()))
            .filter(|file| !file.is_empty())
        {
            recorded.entry(file).or_insert_with_key(|file| {
                let places: Vec<&Place> = places(&explanation).collect();
                recorded_file(&places, evidence.as_deref(), file)
            });
        }
        ExplainedFact {
            explanation,
            evidence,
            passing: Arc::default(),
            recorded,
            orders: OnceLock::new(),
        }
    }

    /// The same explanation with the passing runs beside it.
    pub fn beside(self, passing: Arc<[String]>) -> ExplainedFact {
        ExplainedFact { passing, ..self }
    }

    /// The failing run and its orders, which are worked out at the first call.
    pub fn orders(&self) -> Option<(&Run, &Orders)> {
        let run = self.evidence.as_deref()?;
        Some((run, self.orders.get_or_init(|| Orders::new(run))))
    }

    /// The files that the explanation mentions, with the recorded facts about each.
    pub fn files(&self) -> impl Iterator<Item = (&String, &Recorded)> {
        self.recorded.iter()
    }
}

/// Every place that an explanation mentions.
pub fn places(explanation: &Explanation) -> impl Iterator<Item = &Place> {
    let sites = explanation.sites.iter().map(|mark| &mark.place);
    sites
        .chain(explanation.steps.iter().map(|step| &step.place))
        .chain(explanation.absent.iter().map(|absent| &absent.place))
        .chain(&explanation.failure.site)
}

/// The recorded facts about a file that has these places.
pub fn recorded_file(places: &[&Place], run: Option<&Run>, file: &str) -> Recorded {
    let sources = run.map_or(&[][..], |run| &run.meta.sources);
    let sites = run.map_or(&[][..], |run| run.meta.sites.as_slice());
    let of_site = |site: &SiteRow| (site.line, site.text.clone());
    let of_place = |place: &Place| (place.line, place.text.clone());
    let lines: BTreeMap<u32, String> = sites
        .iter()
        .filter(|site| site.file == file)
        .map(of_site)
        .chain(
            places
                .iter()
                .filter(|place| place.file == file)
                .map(|place| of_place(place)),
        )
        .filter(|(line, text)| *line > 0 && !text.is_empty())
        .collect();
    let directory = run.map_or("", |run| run.meta.directory.as_str());
    Recorded {
        origin: Path::new(directory).join(file),
        sha256: sources
            .iter()
            .find(|source| source.file == file)
            .map(|source| source.sha256.clone()),
        lines: lines.into_iter().collect(),
    }
}

/// A folder of the workspace with the known facts about it.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder.
    pub root: Root,
    /// Result of the last analysis; `None` before the first has ended.
    pub facts: Option<Arc<FolderFacts>>,
    /// Suppressions of the project, or the reason for which they cannot be read.
    pub suppressions: Result<Suppressions, String>,
    /// The explanations that are not suppressed, best first.
    pub shown: Vec<Arc<ExplainedFact>>,
    /// `true` for a folder of the workspace, `false` for one that was found because runs were recorded in it.
    pub is_of_workspace: bool,
}

impl Folder {
    /// A folder about which nothing is known yet.
    pub fn new(path: PathBuf, is_of_workspace: bool) -> Folder {
        let suppressions = suppressed::read(&path);
        Folder {
            root: Root::new(path),
            facts: None,
            suppressions,
            shown: Vec::new(),
            is_of_workspace,
        }
    }

    /// Reads the suppressions anew.
    pub fn read_suppressions(&mut self) {
        self.suppressions = suppressed::read(&self.root.path);
        self.choose_shown();
    }

    /// Takes over the result of an analysis.
    pub fn learn(&mut self, facts: Arc<FolderFacts>) {
        self.facts = Some(facts);
        self.choose_shown();
    }

    fn choose_shown(&mut self) {
        let all = self.facts.iter().flat_map(|facts| &facts.explained);
        let shown = all.filter(|one| self.harmless_because(one).is_none());
        self.shown = shown.cloned().collect();
    }

    /// Explanations that are suppressed, each with the reason.
    pub fn suppressed(&self) -> impl Iterator<Item = (&Arc<ExplainedFact>, &str)> {
        let all = self.facts.iter().flat_map(|facts| &facts.explained);
        all.filter_map(|one| Some((one, self.harmless_because(one)?)))
    }

    fn harmless_because(&self, explained: &ExplainedFact) -> Option<&str> {
        let suppressions = self.suppressions.as_ref().ok()?;
        suppressions.reason(&explained.explanation)
    }
}
