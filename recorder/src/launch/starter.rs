//! Ways to start a program: anew, or as a copy of one that was started before.

use super::{
    Company, Given, LaunchError, Process, Request, addresses,
    command::{LogAccess, command},
    gate::Gate,
    server::{NoServer, Server},
    spawning,
};
use crate::log::{Log, LogConfig, Memories};
use rustix::{
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::Pid,
};
use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

/// Starts the runs of a campaign. Clones share one server and the memory of the logs.
#[derive(Clone, Debug, Default)]
pub struct Starter {
    way: Arc<Mutex<RunStart>>,
    memories: Memories,
    /// Its runs are made beside others: they are copies behind a gate, or not made at all.
    is_beside_others: bool,
    /// Runs of a campaign that may be made at a time; 0 stands for one.
    crew: usize,
    company: Arc<Company>,
    environment: Arc<Given>,
}

/// The way in which the next run begins.
#[derive(Debug, Default)]
enum RunStart {
    /// Anew; those after it, perhaps, as copies.
    #[default]
    First,
    /// As a copy, once there is a server.
    Copy,
    /// As a copy.
    Served(Server),
    /// Anew, as all others.
    Anew(Option<NoServer>),
}

impl Starter {
    /// A starter that starts every run anew.
    pub fn anew() -> Starter {
        Starter {
            way: Arc::new(Mutex::new(RunStart::Anew(None))),
            ..Starter::default()
        }
    }

    /// One that lets a campaign make so many runs at a time.
    pub fn with_crew(size: usize) -> Starter {
        Starter {
            crew: size,
            ..Starter::default()
        }
    }

    /// The same with company for each run.
    pub fn with_company(self, company: Company) -> Starter {
        Starter {
            company: Arc::new(company),
            ..self
        }
    }

    /// The same with these environment variables for each run.
    pub fn with_environment(self, environment: Given) -> Starter {
        Starter {
            environment: Arc::new(environment),
            ..self
        }
    }

    /// Environment variables of the runs that differ from those of this process.
    pub fn environment(&self) -> &Given {
        &self.environment
    }

    /// One for another program, with which it shares the memory of the logs.
    pub fn for_another(&self) -> Starter {
        Starter {
            way: Arc::default(),
            ..self.clone()
        }
    }

    /// Ends the process that is copied for each run, until another run begins.
    pub fn rest(&self) {
        let mut way = self.way();
        if let RunStart::Served(_) = &*way {
            *way = RunStart::Copy;
        }
    }

    /// Returns the settings of the driver and of the conditions for ending the program.
    pub fn company(&self) -> &Company {
        &self.company
    }

    /// Runs of a campaign that may be made at a time.
    pub fn crew(&self) -> usize {
        self.crew.max(1)
    }

    /// One for runs that are made beside those of others, with which it shares the memory of the logs.
    pub fn beside(others: &Starter) -> Starter {
        Starter {
            way: Arc::new(Mutex::new(RunStart::Copy)),
            memories: others.memories.clone(),
            is_beside_others: true,
            crew: 0,
            company: others.company.clone(),
            environment: others.environment.clone(),
        }
    }

    /// A log for the next run.
    pub fn log(&self, config: &LogConfig) -> io::Result<Log> {
        self.memories.log(config)
    }

    /// The reason for which runs are started anew although they were to be copies.
    pub fn obstacle(&self) -> Option<String> {
        match &*self.way() {
            RunStart::Anew(why) => why.as_ref().map(NoServer::to_string),
            _ => None,
        }
    }

    fn way(&self) -> MutexGuard<'_, RunStart> {
        // The way is whole at any time.
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the program. `serves` says whether it can make copies of itself.
    pub(super) fn start(
        &self,
        request: &Request,
        serves: bool,
        log: &Log,
        stop: &AtomicBool,
    ) -> Result<Process, LaunchError> {
        if request.parent.is_some() {
            return anew(request, log);
        }
        let mut way = self.way();
        if let RunStart::Served(server) = &*way
            && !server.is_for(request)
        {
            *way = RunStart::Copy;
        }
        if let RunStart::Copy = *way {
            *way = match self.server(request, stop) {
                Ok(server) => RunStart::Served(server),
                Err(why) => RunStart::Anew(Some(why)),
            };
        }
        match &mut *way {
            RunStart::Served(server) => match copied(server, request, log, stop) {
                Ok(process) => return Ok(process),
                Err(NotCopied::Input(error)) => return Err(error),
                // Somebody has ended it, and may not do so again.
                Err(NotCopied::Server(NoServer::Ended)) if server.has_served() => {
                    *way = RunStart::Copy;
                }
                Err(NotCopied::Server(why)) => *way = RunStart::Anew(Some(why)),
            },
            RunStart::First if serves => *way = RunStart::Copy,
            _ => {}
        }
        if self.is_beside_others {
            let why = match &*way {
                RunStart::Anew(Some(why)) => why,
                _ => &NoServer::Ended,
            };
            let why = format!("the program cannot be copied: {why}");
            return Err(LaunchError::Alone(why));
        }
        drop(way);
        anew(request, log)
    }

    fn server(&self, request: &Request, stop: &AtomicBool) -> Result<Server, NoServer> {
        let mut server = Server::start(request, stop)?;
        if self.is_beside_others {
            server.put_behind_gate(stop)?;
        }
        Ok(server)
    }

    /// The gate that runs are behind, if they are.
    pub(super) fn gate(&self) -> Option<Arc<Gate>> {
        match &*self.way() {
            RunStart::Served(server) => server.gate(),
            _ => None,
        }
    }
}

/// An error that keeps a run from beginning as a copy.
enum NotCopied {
    /// The run would not begin in another way either.
    Input(LaunchError),
    Server(NoServer),
}

impl<T: Into<NoServer>> From<T> for NotCopied {
    fn from(error: T) -> NotCopied {
        NotCopied::Server(error.into())
    }
}

fn copied(
    server: &mut Server,
    request: &Request,
    log: &Log,
    stop: &AtomicBool,
) -> Result<Process, NotCopied> {
    let input = match &request.stdin {
        Some(path) => {
            File::open(path).map_err(|error| NotCopied::Input(super::unreadable(path)(error)))?
        }
        None => File::open("/dev/null")?,
    };
    let (stdout, output) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, errors) = pipe_with(PipeFlags::CLOEXEC)?;
    let descriptors = [
        input.as_fd(),
        output.as_fd(),
        errors.as_fd(),
        log.descriptor(),
    ];
    let pid = server.copy(descriptors, request.timeout, stop)?;
    Ok(Process {
        pid,
        stdout: Some(stdout),
        stderr: Some(stderr),
    })
}

/// The log's descriptor with a number that no script is likely to give to a file of its own; `None` where the log is
/// for the program that is started, or the limit on descriptors is too low.
fn high_number(request: &Request, log: &Log) -> Option<OwnedFd> {
    const FIRST: i32 = 700;
    request.parent.as_ref()?;
    fcntl_dupfd_cloexec(log.descriptor(), FIRST).ok()
}

fn anew(request: &Request, log: &Log) -> Result<Process, LaunchError> {
    let stdin = match &request.stdin {
        Some(path) => Stdio::from(File::open(path).map_err(super::unreadable(path))?),
        None => Stdio::null(),
    };
    let high = high_number(request, log);
    let inherited = high.as_ref().map_or(log.descriptor(), AsFd::as_fd);
    let access = LogAccess {
        inherited,
        own: log.descriptor(),
    };
    let mut command = command(request, &access);
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let watch = |error| LaunchError::Watch(io::Error::from(error));
    let child = spawning(|| {
        fcntl_setfd(inherited, FdFlags::empty()).map_err(watch)?;
        let child = addresses::fixed(|| command.spawn());
        fcntl_setfd(inherited, FdFlags::CLOEXEC).map_err(watch)?;
        Ok::<_, LaunchError>(child)
    })?;
    let child = child.map_err(|error| LaunchError::Start {
        program: request.started().display().to_string(),
        error,
    })?;
    Ok(Process {
        pid: Pid::from_child(&child),
        stdout: child.stdout.map(OwnedFd::from),
        stderr: child.stderr.map(OwnedFd::from),
    })
}
