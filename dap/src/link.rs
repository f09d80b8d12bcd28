//! Everything that reaches a session, in one queue: requests of the client, lines of gdb, output of the program.

use crate::{
    mi::MiRecord,
    protocol::{self, Outgoing, Request},
};
use std::{
    collections::VecDeque,
    io::{self, BufRead, Write},
    sync::mpsc::{Receiver, Sender},
    thread,
};

/// Something that happens.
pub enum Input {
    /// A request of the client.
    Client(Request),
    /// The client has closed its side, or sends what is no message.
    ClientGone(io::Result<()>),
    /// A line of the gdb of this generation.
    Gdb(u32, MiRecord),
    /// The gdb of this generation has ended.
    GdbEnded(u32),
    /// Output of the program.
    Program(String),
}

/// The connection to the client.
pub struct Link<W> {
    /// The way to the client.
    pub out: Outgoing<W>,
    /// The queue.
    pub inputs: Receiver<Input>,
    /// Its other end, for the threads of gdb.
    pub sender: Sender<Input>,
    /// Requests that came while gdb was busy.
    pub waiting: VecDeque<Request>,
    /// The client has gone.
    pub is_gone: bool,
}

impl<W: Write> Link<W> {
    /// A connection whose requests come from a thread of their own.
    pub fn new(input: impl BufRead + Send + 'static, output: W) -> Link<W> {
        let (sender, inputs) = std::sync::mpsc::channel();
        let to = sender.clone();
        thread::spawn(move || forward(input, &to));
        Link {
            out: Outgoing::new(output),
            inputs,
            sender,
            waiting: VecDeque::new(),
            is_gone: false,
        }
    }
}

fn forward(mut input: impl BufRead, to: &Sender<Input>) {
    let end = loop {
        match protocol::read(&mut input) {
            Ok(Some(request)) => {
                if to.send(Input::Client(request)).is_err() {
                    return;
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // A session that has ended does not wait for it.
    let _ = to.send(Input::ClientGone(end));
}
