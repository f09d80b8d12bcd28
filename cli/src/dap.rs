//! `unsnarl dap`: the runs and explanations for the debug adapter.

use crate::{debugged, permission::Trusting, replay};
use anyhow::{Context, Error, Result, anyhow, bail};
use std::{
    env,
    io::{self, BufReader},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};
use unsnarl_core::{Budget, Explanation, Step};
use unsnarl_dap::{ChosenExplanation, LaunchArguments, Provider, Subject};
use unsnarl_lab::{
    confirm::decisive_steps,
    executable::ExecutionSettings,
    load::{self, load_within},
    permission::UserDecision,
    pipeline::compare,
};
use unsnarl_recorder::{
    launch::Output,
    permit::{Refused, UserTrust},
    replay::{
        ReplayOptions,
        debug::{Debuggee, ProgramOutput, Session},
        registers,
    },
};
use unsnarl_trace::Run;

/// Time for comparing all runs of a folder, to find an explanation by its id.
const COMPARING: Duration = Duration::from_secs(20);
/// Time for measuring where a run is decided.
const DECIDING: Duration = Duration::from_secs(20);

/// Serves one editor over standard input and output.
pub fn run(trusting: Trusting) -> Result<ExitCode> {
    let runs = RecordedRuns {
        trust: trusting.trust(),
        opened: None,
    };
    unsnarl_dap::serve(BufReader::new(io::stdin()), io::stdout().lock(), runs)
        .context("the debug adapter had to give up")?;
    Ok(ExitCode::SUCCESS)
}

/// The runs of the folder that a client names.
struct RecordedRuns {
    trust: UserTrust,
    opened: Option<Opened>,
}

/// The failing run of a session.
struct Opened {
    path: PathBuf,
    name: String,
    run: Arc<Run>,
    explanation: Option<Explanation>,
    note: Option<String>,
}

impl RecordedRuns {
    /// The failing run, which is read and explained once.
    fn opened(&mut self, launch: &LaunchArguments) -> Result<&Opened> {
        if self.opened.is_none() {
            self.opened = Some(open(launch)?);
        }
        self.opened.as_ref().context("it was opened")
    }

    fn word(&self, launch: &LaunchArguments) -> UserDecision {
        let trust = match launch.trust {
            true => UserTrust::All,
            false => self.trust.clone(),
        };
        // Standard input is the client's.
        UserDecision { trust, ask: None }
    }

    fn subject(
        &self,
        launch: &LaunchArguments,
        (name, run): (&str, Arc<Run>),
        steps: &[Step],
    ) -> Result<Subject> {
        let options = ReplayOptions {
            times: 1,
            stdin: launch.stdin.clone(),
            driver: None,
            timeout: None,
            output: Output::Kept,
            branches: false,
            trust: replay::trust(&run, &self.word(launch)).map_err(in_configuration)?,
        };
        let session = Session {
            name: name.to_owned(),
            steps: debugged::steps(steps),
            arguments: Vec::new(),
            output: ProgramOutput::Pipe,
        };
        let debuggee = Debuggee::prepare(&run, &options, &session)?;
        Ok(Subject {
            name: session.name,
            run,
            steps: session.steps,
            point_of_no_return: None,
            debuggee,
            notes: registers::limit().into_iter().collect(),
        })
    }
}

impl Provider for RecordedRuns {
    fn failing(&mut self, launch: &LaunchArguments) -> Result<Subject> {
        let opened = self.opened(launch)?;
        let (name, run) = (opened.name.clone(), opened.run.clone());
        let explanation = opened.explanation.as_ref();
        let steps = explanation.map_or_else(Vec::new, |explanation| explanation.steps.clone());
        let known = explanation.and_then(|explanation| explanation.decisive.last());
        let (known, note) = (known.map(|step| step.event), opened.note.clone());
        let mut subject = self.subject(launch, (&name, run), &steps)?;
        subject.point_of_no_return = known;
        subject.notes.extend(note);
        Ok(subject)
    }

    fn passing(&mut self, launch: &LaunchArguments) -> Result<Subject> {
        let opened = self.opened(launch)?;
        let explanation = opened.explanation.as_ref();
        let explanation = explanation.context(
            "the run is not explained, so no step of it could be found in a passing run",
        )?;
        let found = debugged::passing(&opened.path, &opened.run, explanation);
        let (passing, run) = found.context("no passing run beside this one takes its steps in another order\n  next: record more runs")?;
        self.subject(launch, (&passing.run, Arc::new(run)), &passing.steps)
    }

    fn point_of_no_return(&mut self, launch: &LaunchArguments) -> Result<u32> {
        let given = ExecutionSettings {
            stdin: launch.stdin.clone(),
            driver: None,
            timeout: None,
            word: self.word(launch),
        };
        let opened = self.opened(launch)?;
        let stop = AtomicBool::new(false);
        let steps = decisive_steps(&opened.run, &opened.name, &given, (DECIDING, &stop))?;
        let last = steps.last();
        last.map(|step| step.event)
            .context("no step of this run decides it: continuations fail equally often from the start to the end, or there was too little time")
    }
}

/// A refusal to execute, with the word of debug configurations for what the command line calls `--trust`.
fn in_configuration(error: Error) -> Error {
    match error.downcast_ref::<Refused>() {
        Some(_) => anyhow!("{error}, or \"trust\": true in the debug configuration"),
        None => error,
    }
}

/// Reads and explains the run that a client asks for.
fn open(launch: &LaunchArguments) -> Result<Opened> {
    if let Some(folder) = &launch.cwd {
        env::set_current_dir(folder)
            .with_context(|| format!("cannot use the folder {}", folder.display()))?;
    }
    let path = replay::find(&launch.run)?;
    let run = Arc::new(replay::whole(&path)?);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.into_owned();
    let (explanation, note) = chosen(launch.explanation.as_ref(), (&path, &name, &run))?;
    Ok(Opened {
        path,
        name,
        run,
        explanation,
        note,
    })
}

/// The explanation that a client asks for, with a remark where it is another one.
fn chosen(
    choice: Option<&ChosenExplanation>,
    (path, name, run): (&Path, &str, &Arc<Run>),
) -> Result<(Option<Explanation>, Option<String>)> {
    if let Some(ChosenExplanation::Id(id)) = choice
        && let Some(explanation) = of_all_runs(path, id, name)
    {
        return Ok((Some(explanation), None));
    }
    let mut all = debugged::explanations(path, name, run);
    let note = |id: &String| {
        format!(
            "the explanation {id} is not found any more among the runs beside this one: the steps are those of the first one of this run"
        )
    };
    match choice {
        Some(ChosenExplanation::Number(number)) if *number == 0 || *number > all.len() => bail!(
            "this run has no explanation number {number}: the last one is number {}\n  next: leave it out for the first one",
            all.len()
        ),
        Some(ChosenExplanation::Number(number)) => Ok((Some(all.swap_remove(number - 1)), None)),
        Some(ChosenExplanation::Id(id)) => Ok((all.into_iter().next(), Some(note(id)))),
        None => Ok((all.into_iter().next(), None)),
    }
}

/// The explanation with an id, made from all runs in the folder of the run, if its steps are of this run.
fn of_all_runs(path: &Path, id: &str, name: &str) -> Option<Explanation> {
    let budget = Budget::lasting(COMPARING);
    let folder = path
        .parent()
        .filter(|folder| *folder != Path::new(load::RUNS));
    let mut loaded = load_within(folder, load::MEMORY).ok()?;
    let corpora = loaded.summarize(&budget);
    let findings = compare(&corpora, &loaded, &budget);
    let mut all = findings
        .into_iter()
        .flat_map(|finding| finding.explanations);
    // Outside of the usual folder, names of runs are paths.
    let is_of = |run: &str| run == name || Path::new(run).file_stem() == path.file_stem();
    all.find(|explanation| explanation.id == id && is_of(&explanation.run))
}
