//! Errors that keep objects from being written or read, with what to do next.

use object_store::Error;
use std::error;

/// An error of the storage.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The URL names no storage.
    #[error(
        "{url} is no place for runs: {why}\n  next: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER"
    )]
    Url {
        /// The URL.
        url: String,
        /// The reason.
        why: String,
    },
    /// The storage did not do what it was asked.
    #[error(
        "cannot {action} {object}: {}\n  next: {}",
        causes(answer),
        advice(answer)
    )]
    Failed {
        /// The verb for it.
        action: &'static str,
        /// URL of the object.
        object: String,
        /// Its answer. The message has all of it that helps, so it is no source of this error.
        answer: Box<Error>,
    },
    /// The object has another content than it should have.
    #[error(
        "{object} is damaged: {why}\n  next: remove it and upload it again from a machine that has it"
    )]
    Damaged {
        /// URL or path of the object.
        object: String,
        /// The reason.
        why: &'static str,
    },
}

impl StorageError {
    /// An answer of the storage to this action on this object.
    pub(super) fn at(action: &'static str, object: String, answer: Error) -> StorageError {
        StorageError::Failed {
            action,
            object,
            answer: Box::new(answer),
        }
    }
}

/// The message of the innermost cause, which says what happened; those around it say which store and which path.
fn causes(error: &Error) -> String {
    let mut last: &dyn error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let text = last.to_string();
    let kind = match error {
        Error::NotFound { .. } => "not found: ",
        Error::PermissionDenied { .. } => "permission denied: ",
        Error::Unauthenticated { .. } => "no valid credentials: ",
        _ => "",
    };
    format!("{kind}{}", without_markup(&text))
}

/// A server's answer in XML without its tags: the status before it, and its message.
fn without_markup(text: &str) -> String {
    let Some((status, markup)) = text.split_once("<?xml") else {
        return text.to_owned();
    };
    let message = markup.split_once("<Message>").map_or("", |(_, rest)| rest);
    let message = message.split('<').next().unwrap_or_default();
    let words: Vec<&str> = status
        .split_whitespace()
        .chain(message.split_whitespace())
        .collect();
    words.join(" ")
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::NotFound { .. } => {
            "see whether the bucket or the folder is there, and is spelled so"
        }
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            "give credentials that may list, read and write there (AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, \
             GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY, or the role of the machine)"
        }
        _ => {
            "see whether the storage is there and can be reached, and repeat the command: what has arrived is not transferred again"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_markup;

    #[test]
    fn an_answer_is_a_sentence() {
        let answer = "404 Not Found: <?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>The bucket\n does not exist</Message></Error>";
        assert_eq!(
            without_markup(answer),
            "404 Not Found: The bucket does not exist"
        );
        assert_eq!(without_markup("Connection refused"), "Connection refused");
    }
}
