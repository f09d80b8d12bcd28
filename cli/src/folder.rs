//! Folders on the command line. What object storage needs is not linked into this program, so a URL is none.

use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::PathBuf;

/// Advice for commands that read runs.
pub const FETCH: &str = "unsnarl-fleet sync URL DIR, and then this command with that folder";
/// Advice for commands that write runs.
pub const UPLOAD: &str = "this command with a folder, and then unsnarl-fleet sync DIR URL";

/// Takes the path of a folder or a file. Of a URL it says which command of `unsnarl-fleet` takes it: `advice`, with `URL`
/// for its place.
pub fn local(advice: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(move |text| {
        let url = text.to_str().filter(|text| is_url(text));
        match url.map(|url| advice.replace("URL", url)) {
            Some(advice) => Err(format!("a URL is for unsnarl-fleet\n  next: {advice}")),
            None => Ok(PathBuf::from(text)),
        }
    })
}

/// Schemes of URLs of storages.
const SCHEMES: [&str; 5] = ["s3", "s3a", "gs", "az", "file"];

fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| SCHEMES.contains(&scheme))
}
