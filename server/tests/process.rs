//! The server as a process of its own: how it ends, and with which status.
//!
//! This program starts itself again, with the argument `lsp`, as the server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::{
    env,
    io::{Read, Write},
    process::{Child, Command, ExitCode, Stdio},
    sync::mpsc,
    time::Duration,
};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|other| other == word);
    if has("lsp") {
        return unsnarl_server::serve_stdio(unsnarl_server::Setup::default()).unwrap();
    }
    if has("--list") {
        // Test runners ask for the names of the tests first, and whether some are to be left out.
        if !has("--ignored") {
            println!("process: test");
        }
        return ExitCode::SUCCESS;
    }
    ends_when_its_input_ends();
    ends_by_the_protocol_though_its_input_stays_open(&["shutdown", "exit"], 0);
    ends_by_the_protocol_though_its_input_stays_open(&["exit"], 1);
    println!("process: ok");
    ExitCode::SUCCESS
}

/// A client that crashed: nobody says `exit`.
fn ends_when_its_input_ends() {
    let mut server = start();
    drop(server.stdin.take());
    assert_eq!(status(server), 1);
}

fn ends_by_the_protocol_though_its_input_stays_open(methods: &[&str], expected: i32) {
    let mut server = start();
    for method in methods {
        if *method == "exit" {
            say(&mut server, r#"{"jsonrpc":"2.0","method":"exit"}"#);
        } else {
            say(
                &mut server,
                &format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":2}}"#),
            );
            hear(&mut server);
        }
    }
    let input = server.stdin.take();
    assert_eq!(status(server), expected);
    drop(input);
}

/// A server that is initialized and watches the folder for temporary files.
fn start() -> Child {
    let mut server = Command::new(env::current_exe().unwrap())
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let root = format!("file://{}", env::temp_dir().display());
    let params = format!(r#"{{"capabilities":{{}},"rootUri":"{root}"}}"#);
    say(
        &mut server,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#),
    );
    hear(&mut server);
    say(
        &mut server,
        r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
    );
    server
}

fn say(server: &mut Child, body: &str) {
    let input = server.stdin.as_mut().unwrap();
    write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    input.flush().unwrap();
}

/// Reads one message.
fn hear(server: &mut Child) {
    let output = server.stdout.as_mut().unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .trim()
        .strip_prefix("Content-Length: ")
        .unwrap()
        .parse()
        .unwrap();
    output.read_exact(&mut vec![0; length]).unwrap();
}

/// The status of a process that ends by itself, soon.
fn status(mut server: Child) -> i32 {
    let (sender, ended) = mpsc::channel();
    let id = server.id();
    std::thread::spawn(move || sender.send(server.wait()));
    let status = ended.recv_timeout(Duration::from_secs(30));
    let status = status.unwrap_or_else(|_| panic!("the server {id} did not end"));
    status.unwrap().code().unwrap()
}
