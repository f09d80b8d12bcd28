//! Consent to run programs again: when they are run, and when the user is asked.

use crate::{
    config::MayRun,
    facts::FolderFacts,
    permission::Permissions,
    trust::{OwnRuns, Trust},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

/// The facts that decide whether programs are run.
#[derive(Debug, Default)]
pub struct Consent {
    /// `true` if there is a tool for it, in a workspace that the user trusts.
    pub is_possible: bool,
    /// `true` if the client can ask without getting in the way.
    pub asks: bool,
    /// The setting.
    pub setting: MayRun,
    permissions: Permissions,
    own: OwnRuns,
    /// Questions of this session: folders, with builds that the user has not recorded.
    asked: BTreeMap<PathBuf, BTreeSet<String>>,
}

/// A program that would be executed.
struct ConsentSubject {
    /// Its full path, as shown to the user.
    path: String,
    build: String,
    is_own: bool,
}

impl Consent {
    /// The consent with the user's earlier answers.
    pub fn new(is_possible: bool, permissions: Permissions, own: OwnRuns) -> Consent {
        Consent {
            is_possible,
            permissions,
            own,
            ..Consent::default()
        }
    }

    /// Returns whether programs of this folder may be run.
    pub fn may_run(&self, folder: &Path) -> bool {
        self.is_possible
            && match self.setting {
                MayRun::Always => true,
                MayRun::Never => false,
                MayRun::Ask => self.answer_about(folder) == Some(true),
            }
    }

    /// The answer about this folder, else that about the nearest folder above it: runs may have been recorded in
    /// several folders of a workspace.
    fn answer_about(&self, folder: &Path) -> Option<bool> {
        let mut folders = folder.ancestors();
        folders.find_map(|folder| self.permissions.of(folder))
    }

    /// The programs of this folder that may be executed.
    pub fn trust(&self, folder: &Path) -> Trust {
        let builds = self.permissions.builds(folder).into_iter();
        Trust {
            everything: self.setting == MayRun::Always,
            builds: builds
                .filter_map(|(build, may)| may.then_some(build))
                .collect(),
            own: self.own.clone(),
        }
    }

    /// Allows this build to run, now and as long as the session lasts.
    pub fn allow_now(&mut self, folder: &Path, build: &str) -> Result<(), String> {
        if !self.is_possible {
            return Err(
                "programs are not run here: the workspace is not trusted, or the server was started without the command line tool"
                    .to_owned(),
            );
        }
        if self.setting == MayRun::Never {
            return Err("the setting unsnarl.confirm is never: no program is run".to_owned());
        }
        self.permissions.set_now(folder, true);
        let build = BTreeSet::from([build.to_owned()]);
        self.permissions.set_builds_now(folder, &build, true);
        Ok(())
    }

    /// Stores the user's answer, which counts for later sessions, too. A no to a build that the user has not recorded
    /// leaves the folder's other programs as they were.
    pub fn answer(&mut self, folder: &Path, may: bool) -> io::Result<()> {
        let builds = self.asked.get(folder).cloned().unwrap_or_default();
        if may || self.answer_about(folder).is_none() {
            self.permissions.keep(folder, may)?;
        }
        match builds.is_empty() {
            true => Ok(()),
            false => self.permissions.keep_builds(folder, &builds, may),
        }
    }

    /// The question for the user, once, if there is something to run and nothing was decided about the folder, or
    /// about a build of its programs that the user has not recorded.
    pub fn question(&mut self, folder: &Path, facts: &FolderFacts) -> Option<String> {
        let is_open =
            self.is_possible && self.asks && self.setting == MayRun::Ask && facts.unconfirmed > 0;
        let known = self.answer_about(folder);
        if !is_open || known == Some(false) {
            return None;
        }
        let answered = self.permissions.builds(folder);
        let is_new =
            |subject: &ConsentSubject| !subject.is_own && !answered.contains_key(&subject.build);
        let mut subjects = self.subjects(facts);
        if known.is_some() {
            subjects.retain(is_new);
        }
        let builds = subjects.iter().filter(|one| is_new(one));
        let builds: BTreeSet<String> = builds.map(|one| one.build.clone()).collect();
        let asked = self.asked.get(folder);
        let is_asked = asked.is_some_and(|asked| builds.is_subset(asked));
        if is_asked || known.is_some() && builds.is_empty() {
            return None;
        }
        self.asked.insert(folder.to_owned(), builds.clone());
        Some(words(&subjects, !builds.is_empty()))
    }

    /// The programs that would be executed, each build once.
    fn subjects(&self, facts: &FolderFacts) -> Vec<ConsentSubject> {
        let evidence = facts
            .explained
            .iter()
            .filter_map(|one| one.evidence.as_ref());
        let mut subjects: Vec<ConsentSubject> = Vec::new();
        for run in evidence {
            let meta = &run.meta;
            if subjects.iter().all(|one| one.build != meta.build_id) {
                let path = Path::new(&meta.directory).join(&meta.program);
                let path: PathBuf = path.components().collect();
                subjects.push(ConsentSubject {
                    path: path.display().to_string(),
                    build: meta.build_id.clone(),
                    is_own: self.own.has(meta),
                });
            }
        }
        subjects
    }
}

/// The question in words.
fn words(subjects: &[ConsentSubject], are_others: bool) -> String {
    let paths = subjects.iter().map(|one| one.path.as_str());
    let paths: BTreeSet<&str> = paths.filter(|path| !path.is_empty()).collect();
    let paths: Vec<&str> = paths.into_iter().collect();
    let programs = match paths.is_empty() {
        true => "the program".to_owned(),
        false => paths.join(" and "),
    };
    let others = match are_others {
        true => " You have not recorded this build on this machine.",
        false => "",
    };
    format!(
        "unsnarl has found why runs of {programs} fail.{others} May it run {programs} again, in the background, to confirm that and to try fixes?"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ExplainedFact;
    use std::sync::Arc;
    use unsnarl_core::{Budget, Corpora, RunSummary, explain};
    use unsnarl_trace::{Run, RunMeta, script::parse};

    /// The facts about a lost update by a program of this build.
    fn facts(build: &str) -> FolderFacts {
        let order = "main fork main.1 @1\nmain fork main.2 @1\n";
        let lost = "main.1 R x =0 @5\nmain.2 R x =0 @5\nmain.2 W x =1 @6\nmain.1 W x =1 @6\nmain fails @9 oops\n";
        let whole = "main.1 R x =0 @5\nmain.1 W x =1 @6\nmain.2 R x =1 @5\nmain.2 W x =2 @6\n";
        let run = |steps: &str| {
            let run = parse(&format!("{order}{steps}")).unwrap();
            let meta = RunMeta {
                program: "/w/bin/./prog".to_owned(),
                build_id: build.to_owned(),
                ..run.meta.clone()
            };
            Arc::new(Run { meta, ..run })
        };
        let failed = run(lost);
        let mut corpora = Corpora::default();
        corpora.insert(RunSummary::new("failed", failed.clone()));
        corpora.insert(RunSummary::new("passed", run(whole)));
        let found = corpora
            .iter()
            .flat_map(|corpus| explain(corpus, &Budget::unlimited()).findings);
        let explained = found.map(|one| Arc::new(ExplainedFact::new(one, Some(failed.clone()))));
        let explained: Vec<Arc<ExplainedFact>> = explained.collect();
        assert!(!explained.is_empty());
        FolderFacts {
            unconfirmed: explained.len(),
            explained,
            ..FolderFacts::default()
        }
    }

    fn consent() -> Consent {
        let own = OwnRuns::new(|run| run.build_id.starts_with("own"));
        Consent {
            asks: true,
            ..Consent::new(true, Permissions::default(), own)
        }
    }

    #[test]
    fn another_build_is_asked_about_again_unless_the_user_recorded_it() {
        let here = Path::new("/w");
        let mut consent = consent();
        let first = consent.question(here, &facts("ab")).unwrap();
        assert!(
            first.contains("/w/bin/prog") && first.contains("not recorded"),
            "{first}"
        );
        assert_eq!(consent.question(here, &facts("ab")), None);
        consent.answer(here, true).unwrap();
        let covers = |consent: &Consent, build: &str| {
            let facts = facts(build);
            let run = facts.explained[0].evidence.clone().unwrap();
            consent.may_run(here) && consent.trust(here).covers(&run.meta)
        };
        assert!(covers(&consent, "ab") && covers(&consent, "own 1") && !covers(&consent, "cd"));
        assert_eq!(consent.question(here, &facts("own 1")), None);
        assert!(consent.question(here, &facts("cd")).is_some());
        consent.answer(here, false).unwrap();
        assert!(covers(&consent, "ab") && !covers(&consent, "cd"));
        assert_eq!(consent.question(here, &facts("cd")), None);
    }

    #[test]
    fn a_no_to_the_folder_is_a_no_to_all_of_it() {
        let here = Path::new("/w");
        let mut consent = consent();
        let first = consent.question(here, &facts("own")).unwrap();
        assert!(!first.contains("not recorded"), "{first}");
        consent.answer(here, false).unwrap();
        assert!(!consent.may_run(here));
        assert_eq!(consent.question(here, &facts("ab")), None);
    }
}
