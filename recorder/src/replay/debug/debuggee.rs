//! A program that gdb starts, with the log that both share.

use super::{DebugError, Debugged, ProgramOutput, Session, files::write_files, settings::settings};
use crate::replay::{Departure, ReplayError, ReplayOptions, attempt, compare, condensed, prepare};
use crate::{
    assemble::{Exit, ProgramDebugInfo, RawLog, assemble},
    launch::{Excerpt, FinishedRun, LaunchError, command::end_with_this_process},
    log::{Log, LogConfig},
    record::{Job, RecordError, RunPlan, check_input, config, environment, seen, stack},
    wrapper::compiler::in_path,
};
use rustix::{
    fs::{CWD, Mode, mkfifoat},
    io::{FdFlags, fcntl_setfd},
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};
use tempfile::TempDir;
use unsnarl_trace::{FailureKind, Outcome, Run};

/// Pipe for the program's output, in the session's folder.
const OUTPUT: &str = "output";
/// Environment variable with the name of the file that `commands.py` reads.
const VARIABLE: &str = "UNSNARL_DEBUG";

/// A program that is ready to be started by gdb, with the log that both share.
pub struct Debuggee {
    gdb: PathBuf,
    program: ProgramDebugInfo,
    job: Job,
    attempt: RunPlan,
    log: Log,
    folder: TempDir,
    about: OsString,
}

impl Debuggee {
    /// Checks that the run can be repeated, and writes the files for gdb.
    pub fn prepare(
        recorded: &Run,
        options: &ReplayOptions,
        session: &Session,
    ) -> Result<Debuggee, DebugError> {
        if condensed(recorded).is_some() {
            return Err(ReplayError::Condensed("under a debugger").into());
        }
        let (target, job) = prepare(recorded, options)?;
        if let Some(parent) = &job.parent {
            return Err(DebugError::HasParent(parent.name()));
        }
        let gdb = in_path(OsStr::new("gdb")).ok_or(DebugError::NoGdb)?;
        let attempt = attempt(recorded);
        let program = target.program;
        check(&job, &program, &attempt)?;
        let log = shared_log(&job, &program, &attempt)?;
        let folder = tempfile::tempdir().map_err(DebugError::Files)?;
        let output = output(folder.path(), session.output).map_err(DebugError::Files)?;
        let given = environment(&job, &attempt);
        let settings = settings(&job, given, stack(&attempt), (&log, output.as_deref()));
        let about = write_files(folder.path(), recorded, session, settings, &log);
        let about = about.map_err(DebugError::Files)?;
        Ok(Debuggee {
            gdb,
            program,
            job,
            attempt,
            log,
            folder,
            about,
        })
    }

    /// gdb with these arguments besides our own; it loads the script, and has not started the program yet.
    #[must_use]
    pub fn gdb(&self, arguments: &[OsString]) -> Command {
        let mut command = Command::new(&self.gdb);
        command
            .args([OsStr::new("-q"), OsStr::new("-x")])
            .arg(self.folder.path().join("commands.py"))
            .args(arguments)
            .arg(self.program.path())
            .current_dir(&self.job.directory)
            .env(VARIABLE, &self.about);
        command
    }

    /// gdb with its machine interface and the commands of `machine.py`, in a process group of its own. It ends with the
    /// thread that starts it.
    #[must_use]
    pub fn machine(&self) -> Command {
        let script = self.folder.path().join("machine.py").into_os_string();
        let words = ["-nx", "--interpreter=mi3", "-x"].map(OsString::from);
        let mut command = self.gdb(&[&words[..], &[script]].concat());
        command.process_group(0);
        end_with_this_process(&mut command);
        command
    }

    /// The end of the pipe from which the program's output is read; it stays open while the program is started again.
    pub fn output(&self) -> io::Result<File> {
        let pipe = self.folder.path().join(OUTPUT);
        File::options().read(true).write(true).open(pipe)
    }

    /// The result of the execution that the log holds, once gdb has ended.
    pub fn finish(self, recorded: &Run, status: ExitStatus) -> Result<Debugged, DebugError> {
        let raw = RawLog::new(self.log.bytes()).map_err(RecordError::from);
        let raw = raw.map_err(ReplayError::from)?;
        let launch = seen(&self.job, &self.attempt, &unseen()).map_err(ReplayError::from)?;
        let run = assemble(&raw, &self.program, &launch);
        let has_ended = run.meta.outcome != Outcome::CutShort;
        Ok(Debugged {
            status,
            has_run: !raw.is_empty(),
            has_ended,
            difference: difference(recorded, &run, has_ended),
        })
    }
}

/// Makes the pipe for the program's output, if there is one.
fn output(folder: &Path, output: ProgramOutput) -> io::Result<Option<PathBuf>> {
    if output == ProgramOutput::Inherited {
        return Ok(None);
    }
    let pipe = folder.join(OUTPUT);
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR)?;
    Ok(Some(pipe))
}

/// Checks that the user permits the execution, and that the input is the recorded one.
fn check(job: &Job, program: &ProgramDebugInfo, attempt: &RunPlan) -> Result<(), ReplayError> {
    let permitted = job
        .permit
        .is_for(program.path(), &job.command, &job.directory);
    if !permitted {
        return Err(LaunchError::NotPermitted(program.path().to_owned()).into());
    }
    check_input(job, program, attempt)?;
    Ok(())
}

/// A log that gdb and the program inherit.
fn shared_log(
    job: &Job,
    program: &ProgramDebugInfo,
    attempt: &RunPlan,
) -> Result<Log, ReplayError> {
    let config = LogConfig {
        is_debugged: true,
        ..config(job, program.path(), attempt)
    };
    let log = Log::create(&config).map_err(RecordError::Log)?;
    // gdb hands it on to the program.
    fcntl_setfd(log.descriptor(), FdFlags::empty())
        .map_err(|error| RecordError::Log(error.into()))?;
    Ok(log)
}

/// The end of a process that only gdb saw.
fn unseen() -> FinishedRun {
    FinishedRun {
        exit: Exit::Unknown,
        timed_out: false,
        calls: Vec::new(),
        waits_outside: false,
        stopped: false,
        asked: false,
        driven: None,
        stdout: Excerpt::default(),
        stderr: Excerpt::default(),
    }
}

/// The first difference, of steps or of values. A run that was ended on the way is compared as far as it came, and only by
/// its steps: what an address stands for may be known only by what comes later, as the stack of a thread.
fn difference(recorded: &Run, run: &Run, has_ended: bool) -> Option<Departure> {
    let compared = compare(recorded, run);
    // Values come before the step that is another one.
    let value = compared
        .values
        .filter(|_| has_ended)
        .map(|values| values.first);
    let found = value.or(compared.difference)?;
    if found.event >= recorded.events.len() && is_unread_check(recorded, run) {
        return None;
    }
    // The last event of a run that was ended may be a write that has no value yet.
    let is_end = found.event + 1 >= run.events.len();
    (has_ended || !is_end).then_some(found)
}

/// Returns whether the runs may have failed alike: what a test framework printed of a check is known of the recorded run,
/// while gdb's terminal has what the debugged one printed.
fn is_unread_check(recorded: &Run, run: &Run) -> bool {
    let kind = |run: &Run| run.meta.failure.as_ref().map(|failure| failure.kind);
    kind(recorded) == Some(FailureKind::Check) && kind(run) == Some(FailureKind::Exit)
}
