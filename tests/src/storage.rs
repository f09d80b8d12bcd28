//! A real server of object storage on this machine, and a line to it that breaks.

use crate::{binary, workspace::Workspace};
use anyhow::{Context, Result, ensure};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// The bucket of the server.
pub const BUCKET: &str = "bucket";

/// A signature, which the server does not check.
const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=id/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// The server, which ends with the value.
pub struct StorageServer {
    process: Child,
    address: SocketAddr,
}

impl StorageServer {
    /// Starts it at a port that is free, with an empty bucket.
    pub fn start() -> Result<StorageServer> {
        let mut command = Command::new(binary::python()?);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]);
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        let process = command.spawn().context("cannot start moto")?;
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut server = StorageServer {
            process,
            address: any,
        };
        server.address = server.announced()?;
        server.put("", b"")?;
        Ok(server)
    }

    /// The address that it prints. The rest of what it says is thrown away, so that it never waits for a reader.
    fn announced(&mut self) -> Result<SocketAddr> {
        let stderr = self.process.stderr.take().context("no messages")?;
        let mut lines = BufReader::new(stderr).lines();
        for line in &mut lines {
            let line = line?;
            if let Some((_, address)) = line.split_once("Running on http://") {
                let digits = |c: &char| c.is_ascii_digit() || matches!(c, '.' | ':');
                let address: String = address.chars().take_while(digits).collect();
                thread::spawn(move || lines.for_each(drop));
                return Ok(address.parse()?);
            }
        }
        anyhow::bail!("the server has not started: run `cargo xtask setup`, which installs moto")
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Writes an object past all checks; none of the empty name makes the bucket.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        let head = format!(
            "PUT /{BUCKET}/{name} HTTP/1.0\r\nHost: localhost\r\nAuthorization: {SIGNED}\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        stream.write_all(&[head.as_bytes(), content].concat())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.contains(" 200 "), "{answer}");
        Ok(())
    }
}

impl Drop for StorageServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `unsnarl-fleet` with a storage at this address, not started yet.
pub fn fleet_at(workspace: &Workspace, address: SocketAddr, words: &[&str]) -> Result<Command> {
    let mut command = workspace.fleet_command(words)?;
    command
        .env("AWS_ACCESS_KEY_ID", "id")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ENDPOINT_URL", format!("http://{address}"));
    Ok(command)
}

/// Starts a line to the server that is cut after so many bytes in one direction, as many times as it is said; returns its
/// address. It lasts as long as the test.
pub fn breaking_line(to: SocketAddr, after: u64, times: u64) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let cuts = Arc::new(AtomicU64::new(times));
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(to) else {
                return;
            };
            connect(&client, &server, after, &cuts);
        }
    });
    Ok(address)
}

/// Copies both ways until one of them is cut or ends.
fn connect(client: &TcpStream, server: &TcpStream, after: u64, cuts: &Arc<AtomicU64>) {
    for (from, to) in [(client, server), (server, client)] {
        let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else {
            return;
        };
        let cuts = Arc::clone(cuts);
        thread::spawn(move || {
            let copied = io::copy(&mut (&from).take(after), &mut &to);
            let is_cut = copied.is_ok_and(|copied| copied == after)
                && cuts
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                        left.checked_sub(1)
                    })
                    .is_ok();
            if !is_cut {
                let _ = io::copy(&mut &from, &mut &to);
            }
            let end = if is_cut {
                Shutdown::Both
            } else {
                Shutdown::Write
            };
            let _ = (from.shutdown(Shutdown::Read), to.shutdown(end));
            if is_cut {
                let _ = from.shutdown(Shutdown::Both);
            }
        });
    }
}
