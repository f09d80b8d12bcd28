//! From a URL to a client of its storage.

use super::{RunStorage, StorageError};
use object_store::{
    ClientConfigKey, ObjectStore, ObjectStoreScheme, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    local::LocalFileSystem,
};
use std::{sync::Arc, time::Duration};
use url::Url;

/// Patience with one request: a large run on a slow line takes long, a server that says nothing is given up.
const PATIENCE: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "10 seconds"),
    (ClientConfigKey::ReadTimeout, "300 seconds"),
    (ClientConfigKey::Timeout, "3600 seconds"),
];

/// Repetitions of a request that failed by chance, with growing pauses.
fn repetitions() -> RetryConfig {
    RetryConfig {
        max_retries: 6,
        retry_timeout: Duration::from_secs(120),
        ..RetryConfig::default()
    }
}

/// The storage at a URL.
pub(super) fn open(text: &str) -> Result<RunStorage, StorageError> {
    let wrong = |why: String| StorageError::Url {
        url: text.to_owned(),
        why,
    };
    let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
    let (scheme, prefix) =
        ObjectStoreScheme::parse(&url).map_err(|error| wrong(error.to_string()))?;
    let objects = client(&scheme, text).ok_or_else(|| wrong("unknown scheme".to_owned()))?;
    Ok(RunStorage {
        objects: objects.map_err(|error| wrong(error.to_string()))?,
        prefix,
        url: text.trim_end_matches('/').to_owned(),
        keeps_attributes: scheme != ObjectStoreScheme::Local,
    })
}

type Client = Result<Arc<dyn ObjectStore>, object_store::Error>;

/// A client with the credentials of the environment; none for schemes that are no storage.
fn client(scheme: &ObjectStoreScheme, url: &str) -> Option<Client> {
    // Fails if there is a provider already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Some(match scheme {
        ObjectStoreScheme::Local => Ok(Arc::new(LocalFileSystem::new())),
        ObjectStoreScheme::AmazonS3 => s3(url),
        ObjectStoreScheme::GoogleCloudStorage => google(url),
        ObjectStoreScheme::MicrosoftAzure => azure(url),
        _ => return None,
    })
}

fn s3(url: &str) -> Client {
    let mut builder = AmazonS3Builder::from_env()
        .with_url(url)
        .with_retry(repetitions());
    for (key, value) in PATIENCE {
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
    }
    Ok(Arc::new(builder.build()?))
}

fn google(url: &str) -> Client {
    let builder = GoogleCloudStorageBuilder::from_env();
    let mut builder = builder.with_url(url).with_retry(repetitions());
    for (key, value) in PATIENCE {
        builder = builder.with_config(GoogleConfigKey::Client(key), value);
    }
    Ok(Arc::new(builder.build()?))
}

fn azure(url: &str) -> Client {
    let builder = MicrosoftAzureBuilder::from_env();
    let mut builder = builder.with_url(url).with_retry(repetitions());
    for (key, value) in PATIENCE {
        builder = builder.with_config(AzureConfigKey::Client(key), value);
    }
    Ok(Arc::new(builder.build()?))
}
