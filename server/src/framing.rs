//! The layer between the streams and the protocol's machinery: malformed messages are answered as JSON-RPC
//! prescribes, and the session goes on.

use std::io;
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt,
        BufReader,
    },
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

/// Bound for the bytes of a message.
const MOST: usize = 1 << 30;

/// Passes messages on and answers malformed ones. Ends with the input.
pub async fn sift(
    input: impl AsyncRead + Unpin,
    mut service: impl AsyncWrite + Unpin,
    answers: UnboundedSender<Vec<u8>>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    while let Some(message) = frame(&mut input).await? {
        match problem(&message) {
            None => write(&mut service, &message).await?,
            Some(error) => {
                let answer = serde_json::to_vec(&Response::from_error(Id::Null, error))?;
                // Nobody reads the answers only when the session has ended.
                let _ = answers.send(answer);
            }
        }
    }
    Ok(())
}

/// Writes the messages of the service, and the answers beside it, message by message. Ends with the service.
pub async fn print(
    service: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    mut answers: UnboundedReceiver<Vec<u8>>,
) -> io::Result<()> {
    let (messages, mut from_service) = tokio::sync::mpsc::unbounded_channel();
    let read = async {
        let mut service = BufReader::new(service);
        while let Some(message) = frame(&mut service).await? {
            // The other half ends after this one.
            let _ = messages.send(message);
        }
        drop(messages);
        io::Result::Ok(())
    };
    let write = async {
        loop {
            let message = tokio::select! {
                message = from_service.recv() => message,
                Some(answer) = answers.recv() => Some(answer),
            };
            match message {
                Some(message) => write(&mut output, &message).await?,
                None => return io::Result::Ok(()),
            }
        }
    };
    tokio::try_join!(read, write).map(|_| ())
}

/// The next message; `None` at the end. Lines that are no header are skipped.
async fn frame(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.take(MOST as u64).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        match (line.trim(), length) {
            ("", Some(length)) => return body(input, length).await.map(Some),
            ("", None) => {}
            (header, _) => length = content_length(header).or(length),
        }
    }
}

fn content_length(header: &str) -> Option<usize> {
    let (name, value) = header.split_once(':')?;
    let length = value.trim().parse().ok().filter(|length| *length <= MOST)?;
    name.trim()
        .eq_ignore_ascii_case("content-length")
        .then_some(length)
}

/// Reads `length` bytes into memory that grows as they come: the length may be a lie.
async fn body(input: &mut (impl AsyncBufRead + Unpin), length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(length as u64).read_to_end(&mut bytes).await?;
    match read == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let head = format!("Content-Length: {}\r\n\r\n", message.len());
    output.write_all(head.as_bytes()).await?;
    output.write_all(message).await?;
    output.flush().await
}

/// The error of a message that is neither a request nor a response.
fn problem(message: &[u8]) -> Option<Error> {
    let is_message = serde_json::from_slice::<Request>(message).is_ok()
        || serde_json::from_slice::<Response>(message).is_ok();
    if is_message {
        return None;
    }
    let (code, words) = match serde_json::from_slice::<serde_json::Value>(message) {
        Err(error) => (
            ErrorCode::ParseError,
            format!("the message is no JSON: {error}"),
        ),
        Ok(_) => (
            ErrorCode::InvalidRequest,
            "the message is no request and no response".to_owned(),
        ),
    };
    Some(Error {
        code,
        message: words.into(),
        data: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sifted(input: &str) -> (String, Vec<String>) {
        let (answers, mut given) = tokio::sync::mpsc::unbounded_channel();
        let mut service = Vec::new();
        sift(input.as_bytes(), &mut service, answers).await.unwrap();
        let mut all = Vec::new();
        while let Some(answer) = given.recv().await {
            all.push(String::from_utf8(answer).unwrap());
        }
        (String::from_utf8(service).unwrap(), all)
    }

    fn framed(message: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{message}", message.len())
    }

    #[tokio::test]
    async fn what_is_no_message_is_answered_and_the_rest_goes_on() {
        let request = framed(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#);
        let response = framed(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        let all = [
            request.clone(),
            framed(r#"{"jsonrpc":"2.0","#),
            framed("[]"),
            "nonsense\r\n".to_owned(),
            response.clone(),
        ];
        let all = all.concat();
        let (passed, answers) = sifted(&all).await;
        assert_eq!(passed, format!("{request}{response}"));
        let codes = answers.iter().map(|answer| {
            let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
            (
                answer["id"].is_null(),
                answer["error"]["code"].as_i64().unwrap(),
            )
        });
        assert_eq!(codes.collect::<Vec<_>>(), [(true, -32700), (true, -32600)]);
    }
}
