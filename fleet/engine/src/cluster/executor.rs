//! An executor of a cluster.

use super::{HEARTBEAT, runtime};
use crate::answer::Limits;
use anyhow::{Context, Result};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use std::{io, net::SocketAddr, sync::Arc};

/// Seconds for the scheduler to come up.
const PATIENCE: u16 = 60;

/// An executor to start.
#[derive(clap::Args, Clone, Debug)]
pub struct ExecutorOptions {
    /// Host and port of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050", value_parser = place)]
    pub scheduler: (String, u16),
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub limits: Limits,
    /// End when standard input is closed
    #[arg(long, hide = true)]
    pub until_closed: bool,
}

/// Splits a host from its port.
fn place(text: &str) -> Result<(String, u16), String> {
    let text = text.strip_prefix("http://").unwrap_or(text);
    let parts = text.trim_end_matches('/').rsplit_once(':');
    let port = parts.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    port.ok_or_else(|| "expected HOST:PORT".to_owned())
}

impl ExecutorOptions {
    /// Executes tasks until the process is ended.
    pub fn serve(&self) -> Result<()> {
        let work = tempfile::tempdir().context("cannot make a temporary folder")?;
        let folder = work.path().to_str();
        let folder = folder.context("the temporary folder's name is not UTF-8")?;
        let config = self.config(folder)?;
        let runtime = runtime()?;
        let ended = runtime.block_on(async {
            tokio::select! {
                ended = start_executor_process(Arc::new(config)) => Ok(ended?),
                ended = closed(), if self.until_closed => ended,
            }
        });
        // A thread may be reading standard input still.
        runtime.shutdown_background();
        ended
    }

    fn config(&self, folder: &str) -> Result<ExecutorProcessConfig> {
        Ok(ExecutorProcessConfig {
            task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
            bind_host: self.listen.ip().to_string(),
            port: self.listen.port(),
            scheduler_host: self.scheduler.0.clone(),
            scheduler_port: self.scheduler.1,
            scheduler_connect_timeout_seconds: PATIENCE,
            vcores: usize::try_from(self.limits.threads)?,
            memory_pool_size: Some(self.limits.memory << 20),
            work_dir: Some(folder.to_owned()),
            executor_heartbeat_interval_seconds: HEARTBEAT,
            ..ExecutorProcessConfig::default()
        })
    }
}

/// Waits until standard input is closed: its other end is held by whoever started this process.
async fn closed() -> Result<()> {
    let read = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
    read.await??;
    Ok(())
}
