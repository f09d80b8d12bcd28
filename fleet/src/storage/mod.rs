//! Object storage: where the runs of many machines lie, named by a URL.
//!
//! An object is written once, whole or not at all, and never again: the names of run files say what is in them, so that
//! whoever comes second with the same run has nothing to transfer. Credentials come from the environment and the machine
//! that the provider knows, never from an option.

mod connect;
mod error;
mod object;

pub use error::StorageError;
pub use object::{ObjectKind, ObjectName};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::{
    Attribute, Attributes, Error, GetResult, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
    client::{HttpError, HttpErrorKind},
    path::Path,
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Attribute with the SHA-256 of an object.
const SHA256: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("sha256"));
/// Attribute with the time at which the file was written, in milliseconds since 1970.
const RECORDED: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("recorded"));

/// Returns whether a place is a URL, and no path.
pub fn is_url(place: &str) -> bool {
    let scheme = place.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|word| word.chars().all(|letter| letter.is_ascii_alphanumeric()))
}

/// The objects below a URL.
#[derive(Clone, Debug)]
pub struct RunStorage {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The URL, without a stroke at its end.
    url: String,
    /// Attributes are kept with objects; files have none.
    keeps_attributes: bool,
}

/// The content of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredContent {
    /// Its bytes.
    pub bytes: Bytes,
    /// Time at which the file was written that was uploaded, or else the object.
    pub recorded: SystemTime,
}

/// The effect of putting an object into its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placed {
    /// It is there now.
    Written,
    /// It was there.
    WasThere,
}

impl RunStorage {
    /// The storage at a URL. Nothing is asked of it yet.
    pub fn open(url: &str) -> Result<RunStorage, StorageError> {
        connect::open(url)
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sizes of the objects that belong to runs. Other ones are passed over.
    pub async fn list(&self) -> Result<BTreeMap<ObjectName, u64>, StorageError> {
        let list = async || {
            let listed = self.objects.list(Some(&self.prefix));
            let listed = listed.try_filter_map(|object| {
                let name = self.name_of(&object.location);
                std::future::ready(Ok(name.map(|name| (name, object.size))))
            });
            listed.try_collect().await
        };
        repeated(list)
            .await
            .map_err(|error| StorageError::at("list", self.url.clone(), error))
    }

    /// Writes an object, unless there is one of this name.
    pub async fn put_if_absent(
        &self,
        name: &ObjectName,
        content: StoredContent,
    ) -> Result<Placed, StorageError> {
        let location = self.location(name);
        let put = async || {
            let options = PutOptions {
                mode: PutMode::Create,
                attributes: self.attributes(&content),
                ..PutOptions::default()
            };
            let bytes = content.bytes.clone().into();
            self.objects.put_opts(&location, bytes, options).await
        };
        match repeated(put).await {
            Ok(_) => Ok(Placed::Written),
            // Some servers answer the condition, and not the request.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Placed::WasThere),
            Err(error) => Err(StorageError::at("write", self.url_of(name), error)),
        }
    }

    /// Reads an object, and checks that it is what its name and its attributes say.
    pub async fn get(&self, name: &ObjectName) -> Result<StoredContent, StorageError> {
        let read = async || {
            let found = self.objects.get(&self.location(name)).await?;
            let (recorded, sum) = (recorded(&found), attribute(&found, &SHA256));
            Ok((found.bytes().await?, recorded, sum))
        };
        let failed = |error| StorageError::at("read", self.url_of(name), error);
        let (bytes, recorded, sum) = repeated(read).await.map_err(failed)?;
        let damaged = |why| StorageError::Damaged {
            object: self.url_of(name),
            why,
        };
        name.check(&bytes).map_err(damaged)?;
        if sum.is_some_and(|sum| sum != hexadecimal(&bytes)) {
            return Err(damaged(
                "its SHA-256 is not the one that it was uploaded with",
            ));
        }
        Ok(StoredContent { bytes, recorded })
    }

    /// URL of an object.
    pub fn url_of(&self, name: &ObjectName) -> String {
        format!("{}/{name}", self.url)
    }

    fn location(&self, name: &ObjectName) -> Path {
        let parts = name.as_str().split('/');
        parts.fold(self.prefix.clone(), |path, part| path.join(part))
    }

    fn name_of(&self, location: &Path) -> Option<ObjectName> {
        let parts: Vec<_> = location.prefix_match(&self.prefix)?.collect();
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        ObjectName::of(&parts.join("/"))
    }

    fn attributes(&self, content: &StoredContent) -> Attributes {
        if !self.keeps_attributes {
            return Attributes::new();
        }
        let since = content.recorded.duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default().as_millis().to_string();
        Attributes::from_iter([(SHA256, hexadecimal(&content.bytes)), (RECORDED, since)])
    }
}

/// Repetitions of a request whose answer broke off. The client repeats requests that were not answered, and goes on with
/// objects that broke off, but not with lists.
const REPETITIONS: u32 = 6;

/// The result of a request that may be made several times.
async fn repeated<T>(request: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
    let mut pause = Duration::from_millis(100);
    for _ in 0..REPETITIONS {
        match request().await {
            Err(Error::Generic { source, .. }) if is_broken_off(&*source) => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            other => return other,
        }
    }
    request().await
}

/// Returns whether the answer was lost on its way.
fn is_broken_off(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|cause| {
        let http = cause.downcast_ref::<HttpError>();
        http.is_some_and(|http| http.kind() != HttpErrorKind::Connect)
    })
}

fn attribute(found: &GetResult, name: &Attribute) -> Option<String> {
    Some(found.attributes.get(name)?.as_ref().to_owned())
}

fn recorded(found: &GetResult) -> SystemTime {
    let since = attribute(found, &RECORDED).and_then(|text| text.parse().ok());
    let since = since.and_then(|since| UNIX_EPOCH.checked_add(Duration::from_millis(since)));
    since.unwrap_or_else(|| found.meta.last_modified.into())
}

/// The SHA-256 as hexadecimal digits.
fn hexadecimal(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}
