//! Messages of the Debug Adapter Protocol, and their framing.
//!
//! The crates with its types do not serve here: `dap` is an alpha release whose requests are a closed enumeration, so
//! that it refuses a message with a request of our own; `debug_types` and `dap-types` have had no release for years. An
//! adapter uses a small part of the protocol: `requests.rs` and `bodies.rs` hold it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

/// Bytes that a message of a client may have.
const LONGEST: usize = 64 << 20;

/// A request of the client.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Request {
    /// Number of the message, which the response names.
    pub seq: i64,
    /// Name of the request.
    pub command: String,
    /// Its arguments, as they came.
    #[serde(default)]
    pub arguments: Value,
}

#[derive(Serialize)]
struct Response<'a> {
    seq: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    request_seq: i64,
    success: bool,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    body: Value,
}

#[derive(Serialize)]
struct Event<'a> {
    seq: i64,
    #[serde(rename = "type")]
    kind: &'static str,
    event: &'a str,
    #[serde(skip_serializing_if = "Value::is_null")]
    body: Value,
}

/// Reads the next request; none at the end of the input. A message that is no request is passed over.
pub fn read(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    loop {
        let Some(length) = content_length(input)? else {
            return Ok(None);
        };
        let mut content = vec![0; length];
        input.read_exact(&mut content)?;
        let message: Value = serde_json::from_slice(&content)?;
        if message.get("type").and_then(Value::as_str) == Some("request") {
            return Ok(Some(serde_json::from_value(message)?));
        }
    }
}

/// The length that a header says; none at the end of the input.
fn content_length(input: &mut impl BufRead) -> io::Result<Option<usize>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        // A header line is short, whatever comes instead.
        if input.by_ref().take(4096).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => return Err(invalid("a line of the header has no colon")),
        }
    }
    match length {
        Some(length) if length <= LONGEST => Ok(Some(length)),
        Some(_) => Err(invalid("a message is too long")),
        None => Err(invalid("a header has no Content-Length")),
    }
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// The way to the client.
pub struct Outgoing<W> {
    to: W,
    seq: i64,
}

impl<W: Write> Outgoing<W> {
    /// Messages are written there.
    pub fn new(to: W) -> Outgoing<W> {
        Outgoing { to, seq: 0 }
    }

    /// Answers a request.
    pub fn respond(&mut self, to: &Request, body: impl Serialize) -> io::Result<()> {
        let body = serde_json::to_value(body)?;
        self.response(to, None, body)
    }

    /// Refuses a request, with a message for a person.
    pub fn refuse(&mut self, to: &Request, message: &str) -> io::Result<()> {
        // In the format braces stand for variables.
        let error = serde_json::json!({"id": 1, "format": "{message}", "variables": {"message": message}, "showUser": true});
        self.response(to, Some(message), serde_json::json!({ "error": error }))
    }

    /// Tells of an event.
    pub fn event(&mut self, event: &str, body: impl Serialize) -> io::Result<()> {
        let seq = self.next();
        let body = serde_json::to_value(body)?;
        self.write(&Event {
            seq,
            kind: "event",
            event,
            body,
        })
    }

    fn response(&mut self, to: &Request, message: Option<&str>, body: Value) -> io::Result<()> {
        let seq = self.next();
        self.write(&Response {
            seq,
            kind: "response",
            request_seq: to.seq,
            success: message.is_none(),
            command: &to.command,
            message,
            body,
        })
    }

    fn next(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    fn write(&mut self, message: &impl Serialize) -> io::Result<()> {
        let content = serde_json::to_vec(message)?;
        write!(self.to, "Content-Length: {}\r\n\r\n", content.len())?;
        self.to.write_all(&content)?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(content: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{content}", content.len())
    }

    #[test]
    fn requests_one_after_the_other() {
        let first = framed(r#"{"seq":1,"type":"request","command":"threads"}"#);
        let other = framed(r#"{"seq":2,"type":"response","request_seq":1,"success":true}"#);
        let second =
            framed(r#"{"seq":3,"type":"request","command":"next","arguments":{"threadId":1}}"#);
        let mut input = io::Cursor::new(first + &other + &second);
        let all: Vec<Request> = std::iter::from_fn(|| read(&mut input).unwrap()).collect();
        let names: Vec<&str> = all.iter().map(|request| request.command.as_str()).collect();
        assert_eq!(names, ["threads", "next"]);
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for text in [
            "hello\r\n\r\n",
            "Content-Length: x\r\n\r\n",
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: 4\r\n\r\n{}",
            "Content-Length: 2\r\n\r\nab",
        ] {
            assert!(read(&mut io::Cursor::new(text)).is_err(), "{text}");
        }
        assert_eq!(read(&mut io::Cursor::new("")).unwrap(), None);
    }
}
