//! A client that speaks LSP over a pipe in memory, for tests of the whole server.

pub mod bank;

use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
        duplex, split,
    },
    task::JoinHandle,
    time::timeout,
};
use unsnarl_server::{SessionEnd, Setup, serve};

/// Time that an expected message may take on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// The client's capabilities; everything by default.
pub fn capabilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "textDocument": { "publishDiagnostics": { "relatedInformation": true } },
    })
}

/// A connected client. [`Client::shutdown`] or [`Client::hang_up`] has to end it: dropping it without, or with
/// messages that nobody looked at, fails the test.
pub struct Client {
    server: JoinHandle<std::io::Result<SessionEnd>>,
    to_server: Option<WriteHalf<DuplexStream>>,
    from_server: BufReader<ReadHalf<DuplexStream>>,
    unread: VecDeque<Value>,
    next_id: i64,
    ended: bool,
    hushed: Option<&'static str>,
}

impl Client {
    /// Starts a server on a workspace folder.
    pub async fn start(folder: &Path) -> Client {
        let params = json!({
            "processId": null,
            "capabilities": capabilities(),
            "workspaceFolders": [{ "uri": uri(folder), "name": "workspace" }],
        });
        Client::start_with(params).await
    }

    /// Starts a server on a workspace folder for a client with these capabilities.
    pub async fn start_able(folder: &Path, capabilities: Value) -> Client {
        let params = json!({ "capabilities": capabilities, "rootUri": uri(folder) });
        Client::start_with(params).await
    }

    /// Starts a server with these parameters of `initialize`.
    pub async fn start_with(params: Value) -> Client {
        Client::set_up(params, Setup::default()).await
    }

    /// Starts a server with these parameters of `initialize` and these tools.
    pub async fn set_up(params: Value, setup: Setup) -> Client {
        Client::introduced(params, setup).await.0
    }

    /// Starts a server in the same way, and also returns its answer to `initialize`.
    pub async fn introduced(params: Value, setup: Setup) -> (Client, Value) {
        let mut params = params;
        // They come when the fixes do; what comes when is asserted of the other marks.
        let fix_marks = &mut params["initializationOptions"]["fixMarks"];
        if fix_marks.is_null() {
            *fix_marks = json!(false);
        }
        let (ours, theirs) = duplex(1 << 20);
        let (input, output) = split(theirs);
        let (from_server, to_server) = split(ours);
        let mut client = Client {
            server: tokio::spawn(serve(input, output, setup)),
            to_server: Some(to_server),
            from_server: BufReader::new(from_server),
            unread: VecDeque::new(),
            next_id: 1,
            ended: false,
            hushed: None,
        };
        let answer = client.request("initialize", params).await;
        client.notify("initialized", json!({})).await;
        (client, answer)
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends a request and waits for its result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let response = self.request_raw(method, params).await;
        assert!(
            response.get("error").is_none(),
            "{method} failed: {response}"
        );
        response["result"].clone()
    }

    /// Sends a request and waits for the whole response.
    pub async fn request_raw(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message).await;
        self.take(
            |message| message.get("method").is_none() && message["id"] == id,
            method,
        )
        .await
    }

    /// Waits for a notification or a request of the server.
    pub async fn expect(&mut self, method: &str) -> Value {
        self.take(|message| message["method"] == method, method)
            .await
    }

    /// Answers a request of the server with null.
    pub async fn answer(&mut self, request: &Value) {
        self.answer_with(request, Value::Null).await;
    }

    /// Answers a request of the server.
    pub async fn answer_with(&mut self, request: &Value, result: Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        self.send(answer).await;
    }

    /// Waits for the next diagnostics of a file.
    pub async fn diagnostics(&mut self, file: &Path) -> Vec<Value> {
        let (method, uri) = ("textDocument/publishDiagnostics", uri(file));
        let wanted =
            |message: &Value| message["method"] == method && message["params"]["uri"] == uri;
        let message = self.take(wanted, &format!("diagnostics of {uri}")).await;
        message["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// The last diagnostics of a file that have come and that nobody looked at; earlier ones are skipped.
    pub fn last_diagnostics(&mut self, file: &Path) -> Option<Vec<Value>> {
        let (method, uri) = ("textDocument/publishDiagnostics", uri(file));
        let of_file =
            |message: &Value| message["method"] == method && message["params"]["uri"] == uri;
        let last = self.unread.iter().rfind(|message| of_file(message));
        let of = |message: &Value| message["params"]["diagnostics"].as_array().unwrap().clone();
        let last = last.map(of);
        self.unread.retain(|message| !of_file(message));
        last
    }

    /// Ignores messages of this kind from now on.
    pub fn hush(&mut self, method: &'static str) {
        self.hushed = Some(method);
        self.unread.retain(|message| message["method"] != method);
    }

    /// Waits for a line of the log.
    pub async fn logged(&mut self) -> String {
        let message = self.expect("window/logMessage").await;
        message["params"]["message"].as_str().unwrap().to_owned()
    }

    /// Requests the status until it satisfies `wanted`.
    pub async fn status(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + DEADLINE;
        loop {
            let status = self.request("unsnarl/status", Value::Null).await;
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < until, "the status stayed {status}");
            tokio::task::yield_now().await;
        }
    }

    /// The hover at a line (from 1), as one text.
    pub async fn hover(&mut self, file: &Path, line: u32) -> Option<String> {
        let position = json!({ "line": line - 1, "character": 6 });
        let params = json!({ "textDocument": { "uri": uri(file) }, "position": position });
        let hover = self.request("textDocument/hover", params).await;
        Some(hover["contents"]["value"].as_str()?.to_owned())
    }

    /// Opens a document.
    pub async fn open(&mut self, file: &Path, text: &str) {
        let document = json!({ "uri": uri(file), "languageId": "c", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))
            .await;
    }

    /// Replaces a range of lines (from 0) of an open document by a text of whole lines.
    pub async fn edit(
        &mut self,
        file: &Path,
        version: i32,
        lines: std::ops::Range<u32>,
        text: &str,
    ) {
        let range = json!({
            "start": { "line": lines.start, "character": 0 },
            "end": { "line": lines.end, "character": 0 },
        });
        let params = json!({
            "textDocument": { "uri": uri(file), "version": version },
            "contentChanges": [{ "range": range, "text": text }],
        });
        self.notify("textDocument/didChange", params).await;
    }

    /// Says `shutdown` and `exit` as clients do, and waits until the server has ended.
    pub async fn shutdown(mut self) {
        assert_eq!(self.request("shutdown", Value::Null).await, Value::Null);
        self.exit_after_shutdown().await;
    }

    /// Says `exit` after a `shutdown`.
    pub async fn exit_after_shutdown(mut self) {
        self.send(json!({ "jsonrpc": "2.0", "method": "exit" }))
            .await;
        assert_eq!(self.end().await, SessionEnd::Orderly);
    }

    /// Says `exit` without `shutdown`.
    pub async fn exit_at_once(mut self) {
        self.send(json!({ "jsonrpc": "2.0", "method": "exit" }))
            .await;
        assert_eq!(self.end().await, SessionEnd::Abrupt);
    }

    /// Closes the server's input without a word, as a client that crashes.
    pub async fn hang_up(mut self) {
        self.to_server.as_mut().unwrap().shutdown().await.unwrap();
        assert_eq!(self.end().await, SessionEnd::Abrupt);
    }

    async fn end(&mut self) -> SessionEnd {
        let server = std::mem::replace(
            &mut self.server,
            tokio::spawn(async { Ok(SessionEnd::Abrupt) }),
        );
        let ending = timeout(DEADLINE, server)
            .await
            .expect("the server did not end")
            .unwrap()
            .unwrap();
        self.to_server = None;
        while let Some(message) = read(&mut self.from_server).await {
            self.keep(message);
        }
        self.ended = true;
        ending
    }

    async fn send(&mut self, message: Value) {
        let body = message.to_string();
        let writer = self.to_server.as_mut().unwrap();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        writer.write_all(frame.as_bytes()).await.unwrap();
    }

    async fn take(&mut self, wanted: impl Fn(&Value) -> bool, what: &str) -> Value {
        let find = |unread: &VecDeque<Value>| unread.iter().position(&wanted);
        let deadline = tokio::time::Instant::now() + DEADLINE;
        loop {
            if let Some(message) = find(&self.unread).and_then(|at| self.unread.remove(at)) {
                return message;
            }
            let message = tokio::time::timeout_at(deadline, read(&mut self.from_server)).await;
            let message =
                message.unwrap_or_else(|_| panic!("no {what}; unread: {:#?}", self.unread));
            let message = message.unwrap_or_else(|| panic!("the server ended before {what}"));
            self.keep(message);
        }
    }

    fn keep(&mut self, message: Value) {
        if self.hushed.is_none_or(|method| message["method"] != method) {
            self.unread.push_back(message);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(
                self.ended,
                "the test ended neither with shutdown nor with hang_up"
            );
            assert!(
                self.unread.is_empty(),
                "nobody looked at {:#?}",
                self.unread
            );
        }
    }
}

async fn read(input: &mut BufReader<ReadHalf<DuplexStream>>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", value)) => length = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

/// A file's name in the protocol, for paths that need no escaping.
pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
