//! A client of the debug adapter.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value without the key is null"
)]

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};
use unsnarl_e2e::Workspace;

/// An adapter, and what it has told of.
pub struct Client {
    adapter: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    seq: u64,
    events: Vec<Value>,
}

/// A stop of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// `step`, `breakpoint`, ...
    pub reason: String,
    /// `step 1 of 4`, for instance.
    pub description: String,
    /// Number of the thread.
    pub thread: u64,
    /// Its name.
    pub name: String,
    /// Id of the innermost frame that is shown.
    pub frame: u64,
    /// Its function and line.
    pub place: (String, u64),
}

impl Client {
    /// Starts an adapter and launches a run in it, up to where breakpoints can be set.
    pub fn launch(workspace: &Workspace, arguments: Value) -> Result<Client> {
        let mut client = Client::start(workspace, &[])?;
        client.ask("launch", arguments)?;
        client.event(&["initialized"])?;
        Ok(client)
    }

    /// Starts an adapter with more variables in its environment.
    pub fn start(workspace: &Workspace, variables: &[(&str, &str)]) -> Result<Client> {
        let mut adapter = workspace
            .unsnarl_command(&["dap"])?
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = adapter.stdin.take();
        let from = BufReader::new(adapter.stdout.take().context("its output")?);
        let mut client = Client {
            adapter,
            to,
            from,
            seq: 0,
            events: Vec::new(),
        };
        client.ask("initialize", json!({ "adapterID": "unsnarl" }))?;
        Ok(client)
    }

    /// The body of the response to a request.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let response = self.response(command, arguments)?;
        ensure!(response["success"] == true, "{command}: {response}");
        Ok(response["body"].clone())
    }

    /// The message with which a request is refused.
    pub fn refusal(&mut self, command: &str, arguments: Value) -> Result<String> {
        let response = self.response(command, arguments)?;
        ensure!(response["success"] == false, "{command}: {response}");
        Ok(response["message"]
            .as_str()
            .context("a message")?
            .to_owned())
    }

    fn response(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let seq = self.send(command, arguments)?;
        loop {
            let message = self.read()?;
            match message["type"].as_str() {
                Some("event") => self.events.push(message),
                _ if message["request_seq"] == seq => return Ok(message),
                _ => bail!("no request: {message}"),
            }
        }
    }

    /// Sends a request without waiting.
    pub fn send(&mut self, command: &str, arguments: Value) -> Result<u64> {
        self.seq += 1;
        let request = json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments });
        let text = request.to_string();
        let to = self.to.as_mut().context("it was left")?;
        write!(to, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        to.flush()?;
        Ok(self.seq)
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let (_, length) = line.split_once(':').context("the adapter has ended")?;
        let length = length.trim().parse()?;
        self.from.read_line(&mut line)?;
        let mut text = vec![0; length];
        self.from.read_exact(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// The next event of one of these names, and its body.
    pub fn event(&mut self, names: &[&str]) -> Result<Value> {
        loop {
            let is_it = |event: &Value| names.iter().any(|name| event["event"] == *name);
            if let Some(at) = self.events.iter().position(is_it) {
                return Ok(self.events.remove(at));
            }
            let message = self.read()?;
            self.events.push(message);
        }
    }

    /// Moves the program and tells where it then stands.
    pub fn go(&mut self, command: &str, arguments: Value) -> Result<Stop> {
        self.ask(command, arguments)?;
        self.stop()
    }

    /// The next stop.
    pub fn stop(&mut self) -> Result<Stop> {
        let event = self.event(&["stopped", "terminated"])?;
        let body = &event["body"];
        let thread = body["threadId"]
            .as_u64()
            .with_context(|| format!("no stop: {event}"))?;
        let threads = self.ask("threads", Value::Null)?;
        let mut threads = threads["threads"].as_array().into_iter().flatten();
        let own = threads
            .find(|one| one["id"] == thread)
            .context("no such thread")?;
        let name = own["name"].as_str().context("a name")?.to_owned();
        let stack = self.ask("stackTrace", json!({ "threadId": thread }))?;
        let frame = &stack["stackFrames"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(Stop {
            reason: text(&body["reason"]),
            description: text(&body["description"]),
            thread,
            name,
            frame: frame["id"].as_u64().context("a frame")?,
            place: (text(&frame["name"]), frame["line"].as_u64().unwrap_or(0)),
        })
    }

    /// Everything that was shown to the user so far.
    pub fn shown(&self) -> String {
        let outputs = self
            .events
            .iter()
            .filter(|event| event["event"] == "output");
        outputs
            .filter_map(|event| event["body"]["output"].as_str())
            .collect()
    }

    /// Goes without a word.
    pub fn vanish(&mut self) -> Result<()> {
        self.to = None;
        self.ends()
    }

    /// Kills the adapter.
    pub fn kill(&mut self) -> Result<()> {
        Ok(self.adapter.kill()?)
    }

    /// Waits for the end of the adapter.
    pub fn ends(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            if let Some(status) = self.adapter.try_wait()? {
                ensure!(status.success(), "{status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("the adapter goes on")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.adapter.kill();
        let _ = self.adapter.wait();
    }
}
