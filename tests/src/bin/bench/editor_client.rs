//! A client of the language server that notes the times of messages.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

/// Time after which a message is no longer waited for: no measured operation takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A message with the time at which it came.
type Message = (Instant, Value);

/// A server process with its messages.
pub struct EditorClient {
    server: Child,
    input: ChildStdin,
    inbox: Receiver<Message>,
    next: u64,
    /// Time at which the process was started.
    pub started: Instant,
}

impl EditorClient {
    /// Starts `unsnarl lsp` on a folder.
    pub fn start(folder: &Path) -> Result<EditorClient> {
        let mut command = Command::new(unsnarl_e2e::binary::unsnarl()?);
        command
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let started = Instant::now();
        let mut server = command.spawn().context("cannot start the server")?;
        let input = server.stdin.take().context("the server has no input")?;
        let output = server.stdout.take().context("the server has no output")?;
        let (messages, inbox) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(message)) = read(&mut output) {
                // Nobody listens any more at the end.
                if messages.send((Instant::now(), message)).is_err() {
                    break;
                }
            }
        });
        let mut client = EditorClient {
            server,
            input,
            inbox,
            next: 1,
            started,
        };
        let uri = format!("file://{}", folder.display());
        let able =
            json!({ "textDocument": { "publishDiagnostics": { "relatedInformation": true } } });
        client.ask(
            "initialize",
            json!({ "capabilities": able, "rootUri": uri }),
        )?;
        client.tell("initialized", json!({}))?;
        Ok(client)
    }

    /// Sends a request and waits for the answer. Other messages that come before it are skipped.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if let Some(keys) = message.as_object_mut().filter(|_| !params.is_null()) {
            keys.insert("params".to_owned(), params);
        }
        self.send(&message)?;
        let (_, answer) =
            self.wait(|message| message.get("method").is_none() && message["id"] == id)?;
        match answer.get("error") {
            Some(error) => bail!("{method}: {error}"),
            None => Ok(answer.get("result").cloned().unwrap_or_default()),
        }
    }

    /// Waits for marks, or for their end, of any file; returns the time at which they came.
    pub fn marks(&mut self, some: bool) -> Result<Instant> {
        let (at, _) = self.wait(|message| {
            let marks = message
                .pointer("/params/diagnostics")
                .and_then(Value::as_array);
            message["method"] == "textDocument/publishDiagnostics"
                && marks.is_some_and(|marks| marks.is_empty() != some)
        })?;
        Ok(at)
    }

    /// Requests the status until it satisfies `wanted`.
    pub fn status(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let status = self.ask("unsnarl/status", Value::Null)?;
            if wanted(&status) {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(1));
        }
        bail!("the status never came to be as wanted")
    }

    /// Memory of the server in bytes: now, and at its peak.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server.id()))?;
        let line = |name: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
            Ok(number
                .context("no memory in the status")?
                .trim()
                .parse::<u64>()?
                << 10)
        };
        Ok((line("VmRSS:")?, line("VmHWM:")?))
    }

    /// Ends the server as clients do.
    pub fn end(mut self) -> Result<()> {
        self.ask("shutdown", Value::Null)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "exit" }))?;
        self.server.wait()?;
        Ok(())
    }

    fn tell(&mut self, method: &str, params: Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        self.input.flush()?;
        Ok(())
    }

    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Message> {
        loop {
            let message = self
                .inbox
                .recv_timeout(PATIENCE)
                .context("the server says nothing")?;
            if wanted(&message.1) {
                return Ok(message);
            }
        }
    }
}

fn read(output: &mut BufReader<ChildStdout>) -> Result<Option<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}
