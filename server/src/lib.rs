//! The language server of unsnarl: it watches the run folders of a workspace, explains failing runs in
//! the background and shows the explanations on the source as it is now.
//!
//! One thread owns the state ([`host`]) and handles one [`event`] at a time; another analyses ([`worker`]); the
//! protocol's handlers are async, translate ([`from_proto`], [`to_proto`]) and hand over. The server runs the user's
//! program again only where the user has allowed that ([`permission`]), and in a process of its own ([`confirmer`]).
//! Into the workspace it writes what it keeps below `.unsnarl` and, when the user says that a finding is harmless, the
//! file of suppressions.

mod actions;
mod align;
mod applied;
mod backend;
mod beside;
mod between;
mod cache;
mod chain;
mod compiling;
pub mod config;
mod confirmer;
mod confirming;
mod consent;
mod deeper;
mod document;
mod edits;
mod encoding;
mod event;
mod extensions;
mod facts;
mod fix_marks;
mod fixing;
mod follow;
mod framing;
mod from_proto;
mod guard;
mod highlights;
mod hints;
mod host;
mod hover;
mod jumps;
mod labels;
mod lens;
mod main_loop;
mod manual;
mod marks;
mod moved;
mod op_queue;
mod origins;
mod outgoing;
mod outline;
mod parent;
mod paths;
mod permission;
mod places;
mod pull;
#[cfg(test)]
mod random_edits;
mod runs;
mod schedule;
mod sources;
mod suppressed;
mod symbols;
mod text;
mod to_proto;
mod trust;
mod unexplained;
mod watch;
mod words;
mod worker;

use crate::{backend::Backend, event::HostEvent};
pub use compiling::Compiling;
use confirmer::Confirmer;
pub use follow::current_lines;
use guard::GuardedService;
use permission::Permissions;
use std::{
    io,
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};
use tower_lsp::{LspService, Server};
pub use trust::OwnRuns;
use worker::Tools;

/// Tools of a server besides its client.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The command line tool, which runs programs again; without it nothing is confirmed.
    pub unsnarl: Option<PathBuf>,
    /// File in which the user's answers are kept about the folders whose programs may be run; without it they are for
    /// the session.
    pub permissions: Option<PathBuf>,
    /// The runs that the user has recorded; the programs of others are executed only when the user has been asked.
    pub own: OwnRuns,
    /// Filter of edits that compile.
    pub compiling: Compiling,
}

impl Setup {
    /// The set-up with this binary as the tool, and with the answers among the user's own files.
    pub fn of(unsnarl: PathBuf, own: OwnRuns) -> Setup {
        Setup {
            own,
            unsnarl: Some(unsnarl),
            permissions: permission::file(),
            compiling: Compiling::default(),
        }
    }
}

/// Serves one editor over the process's standard input and output until it says `exit` or closes them.
///
/// The status is what the protocol asks for: 0 when `shutdown` came before the end, 1 otherwise.
pub fn serve_stdio(setup: Setup) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ending = runtime.block_on(serve(tokio::io::stdin(), tokio::io::stdout(), setup));
    // Reading standard input cannot be interrupted: don't wait for the thread that does it.
    runtime.shutdown_background();
    Ok(ending?.exit_code())
}

/// Serves one client over any pair of streams. Everything that was started has ended when it returns.
pub async fn serve<I, O>(input: I, output: O, setup: Setup) -> io::Result<SessionEnd>
where
    I: tokio::io::AsyncRead + Unpin,
    O: tokio::io::AsyncWrite,
{
    let (events, inbox) = mpsc::channel();
    let (outgoing, messages) = tokio::sync::mpsc::unbounded_channel();
    let main = {
        let events = events.clone();
        let thread = std::thread::Builder::new().name("unsnarl-main".to_owned());
        let tools = Tools {
            confirmer: setup.unsnarl.map(Confirmer::new),
            compiling: setup.compiling,
        };
        let user = (Permissions::kept_in(setup.permissions), setup.own);
        thread.spawn(move || main_loop::run(&events, &inbox, outgoing, tools, user))?
    };
    let shut_down = Arc::new(AtomicBool::new(false));
    let (orphaned, is_orphaned) = tokio::sync::oneshot::channel();
    let backend = Backend::new(events.clone(), shut_down.clone(), orphaned);
    let mut client = None;
    let service = LspService::build(|own| {
        client = Some(own);
        backend
    });
    let (service, socket) = service
        .custom_method("unsnarl/explanations", Backend::explanations)
        .custom_method("unsnarl/texts", Backend::texts)
        .custom_method("unsnarl/status", Backend::status)
        .custom_method("unsnarl/jumps", Backend::jumps)
        .custom_method("unsnarl/select", Backend::select)
        .custom_method("unsnarl/schedule", Backend::schedule)
        .finish();
    let sender =
        client.map(|client| tokio::spawn(outgoing::send_all(client, messages, events.clone())));
    let session = session(input, output, service, socket);
    tokio::select! {
        () = session => {}
        // Dropped unsent where nobody watches the parent.
        Ok(()) = is_orphaned => {}
    }
    // The loop may have ended already, after `shutdown`.
    let _ = events.send(HostEvent::Stop);
    let ended = tokio::task::spawn_blocking(move || main.join()).await;
    if let Some(sender) = sender {
        sender.abort();
    }
    match ended {
        Ok(Ok(())) if shut_down.load(Ordering::Relaxed) => Ok(SessionEnd::Orderly),
        _ => Ok(SessionEnd::Abrupt),
    }
}

/// Serves until the input ends or the client says `exit`.
async fn session<I, O>(
    input: I,
    output: O,
    service: LspService<Backend>,
    socket: tower_lsp::ClientSocket,
) where
    I: tokio::io::AsyncRead + Unpin,
    O: tokio::io::AsyncWrite,
{
    let (answers, answered) = tokio::sync::mpsc::unbounded_channel();
    let (to_service, service_input) = tokio::io::duplex(PIPE);
    let (service_output, from_service) = tokio::io::duplex(PIPE);
    let mut output = std::pin::pin!(output);
    let serve = Server::new(service_input, service_output, socket).serve(GuardedService(service));
    let print = framing::print(from_service, &mut output, answered);
    let sift = async {
        // A broken stream is the end of the input.
        let _ = framing::sift(input, to_service, answers).await;
        // The session ends when what was read before has been answered.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = async { tokio::join!(serve, print) } => {}
        () = sift => {}
    }
}

/// Size of the buffers between the streams and the service.
const PIPE: usize = 64 << 10;

/// The end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionEnd {
    /// `shutdown`, then `exit`.
    Orderly,
    /// `exit` or the end of input without `shutdown`.
    Abrupt,
}

impl SessionEnd {
    /// The status of the process that the protocol asks for.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Orderly => ExitCode::SUCCESS,
            Self::Abrupt => ExitCode::FAILURE,
        }
    }
}
