//! Company of each run from outside: a driver that is started when the program waits for somebody, and the conditions
//! under which a program that would go on for ever is asked to end.

use super::{OutputStream, has_ended, wait_for};
use crate::{assemble::Exit, log::Log};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use unsnarl_trace::Criteria;

/// Settings of the driver and of the conditions for ending the program, the same for each run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Company {
    /// A command for the shell that uses the program: it is started when the program waits for somebody outside, and
    /// the program is asked to end (`SIGTERM`) when it has ended. Its exit status says whether the run failed.
    pub driver: Option<OsString>,
    /// Time after which the program is asked to end.
    pub time: Option<Duration>,
    /// Text in the program's output upon which it is asked to end.
    pub text: Option<Vec<u8>>,
}

impl Company {
    /// A driver for each run, if there is one.
    #[must_use]
    pub fn of_driver(driver: Option<OsString>) -> Company {
        Company {
            driver,
            ..Company::default()
        }
    }
}

/// A driver or a parent program that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// The process that has ended.
    pub by: DrivenBy,
    /// Exit status or signal.
    pub exit: Exit,
    /// The last line that it has printed.
    pub line: String,
}

/// The process outside of the recorded program whose end counts as the run's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DrivenBy {
    /// The driver.
    Driver,
    /// The parent program of this name.
    Parent(String),
}

impl Driven {
    /// Describes the failure of the driver or parent; `None` if it ended well. Exit statuses of a parent are judged as
    /// those of a program are.
    pub fn failure(&self, criteria: &Criteria) -> Option<String> {
        let (who, is_good) = match (&self.by, self.exit) {
            (DrivenBy::Driver, exit) => ("the driver", exit == Exit::Code(0)),
            (DrivenBy::Parent(name), Exit::Code(status)) => {
                (name.as_str(), criteria.expects(status))
            }
            (DrivenBy::Parent(name), _) => (name.as_str(), false),
        };
        let how = match self.exit {
            _ if is_good => return None,
            Exit::Code(status) => format!("{who} ended with exit status {status}"),
            Exit::Signal(signal) => format!("{who} was ended by signal {signal}"),
            Exit::Unknown => format!("{who} ended, and nobody knows how"),
        };
        Some(match self.line.as_str() {
            "" => how,
            line => format!("{how}: {line}"),
        })
    }
}

/// The company of one run.
pub(super) struct Companion<'a> {
    company: &'a Company,
    folder: &'a Path,
    begin: Instant,
    driver: Driver,
    /// Time at which the program was asked to end.
    pub asked: Option<Instant>,
}

enum Driver {
    /// It waits for the program to be ready, or there is none.
    Waits,
    Runs(Box<RunningCompany>),
    Ended(Driven),
}

struct RunningCompany {
    pid: Pid,
    stdout: OutputStream,
    stderr: OutputStream,
}

/// A program that does not wait for anybody by then has another way to be ready.
const LONGEST_START: Duration = Duration::from_secs(1);
/// Time between two looks at a driver.
const BETWEEN: Duration = Duration::from_millis(2);

impl<'a> Companion<'a> {
    pub fn new(company: &'a Company, folder: &'a Path) -> Companion<'a> {
        Companion {
            company,
            folder,
            begin: Instant::now(),
            driver: Driver::Waits,
            asked: None,
        }
    }

    /// Returns whether a driver is at work.
    pub fn is_busy(&self) -> bool {
        matches!(self.driver, Driver::Runs(_))
    }

    /// Returns the time until the companion has to act or look again, `usual` at most.
    pub fn patience(&self, usual: Duration) -> Duration {
        let left = self.company.time.filter(|_| self.asked.is_none());
        let left = left.map(|time| time.saturating_sub(self.begin.elapsed()));
        let is_waited_for = self.is_busy() || self.is_to_start();
        let between = is_waited_for.then_some(BETWEEN);
        left.into_iter().chain(between).fold(usual, Duration::min)
    }

    fn is_to_start(&self) -> bool {
        self.company.driver.is_some() && matches!(self.driver, Driver::Waits)
    }

    /// Does what it is time for. `program` is the process that was started, which is asked to end unless another one
    /// has claimed the log. `has_ended` and `has_printed` say whether the program has ended, and whether it has
    /// printed the text.
    pub fn act(
        &mut self,
        program: Pid,
        log: &Log,
        has_ended: bool,
        has_printed: bool,
    ) -> io::Result<()> {
        let is_ready = log.waits_outside() || self.begin.elapsed() >= LONGEST_START;
        if let Some(command) = self.company.driver.as_ref().filter(|_| self.is_to_start())
            && is_ready
            && !has_ended
        {
            self.driver = Driver::Runs(Box::new(RunningCompany::start(command, self.folder)?));
        }
        if let Driver::Runs(driver) = &mut self.driver
            && let Some(ended) = driver.look()?
        {
            self.driver = Driver::Ended(ended);
        }
        let is_driven = matches!(self.driver, Driver::Ended(_));
        let is_over = self
            .company
            .time
            .is_some_and(|time| self.begin.elapsed() >= time);
        if (is_driven || is_over || has_printed) && self.asked.is_none() && !has_ended {
            self.asked = Some(Instant::now());
            // It may end at the same time.
            let _ = kill_process(log.process().unwrap_or(program), Signal::TERM);
        }
        Ok(())
    }

    /// Ends a driver that is still there; how it has ended, if it has by itself.
    pub fn leave(self) -> io::Result<Option<Driven>> {
        match self.driver {
            Driver::Waits => Ok(None),
            Driver::Ended(driven) => Ok(Some(driven)),
            Driver::Runs(driver) => {
                driver.end()?;
                Ok(None)
            }
        }
    }
}

impl RunningCompany {
    fn start(driver: &OsString, folder: &Path) -> io::Result<RunningCompany> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(driver).current_dir(folder);
        command.process_group(0);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = super::spawning(|| command.spawn())?;
        let pipe = |pipe: OwnedFd| OutputStream::new(Some(pipe), None);
        Ok(RunningCompany {
            pid: Pid::from_child(&child),
            stdout: pipe(child.stdout.ok_or(io::ErrorKind::BrokenPipe)?.into())?,
            stderr: pipe(child.stderr.ok_or(io::ErrorKind::BrokenPipe)?.into())?,
        })
    }

    /// Checks whether the driver has ended, and returns how; `None` while it runs.
    fn look(&mut self) -> io::Result<Option<Driven>> {
        let has_ended = has_ended(self.pid)?;
        self.stdout.drain();
        self.stderr.drain();
        if !has_ended {
            return Ok(None);
        }
        Ok(Some(Driven {
            by: DrivenBy::Driver,
            exit: self.end()?,
            line: super::last_line(&self.stdout, &self.stderr),
        }))
    }

    /// Ends it with all that it has started.
    fn end(&self) -> io::Result<Exit> {
        // Nobody may be left in the group, which is as good.
        let _ = kill_process_group(self.pid, Signal::KILL);
        wait_for(self.pid).map(super::exit)
    }
}
