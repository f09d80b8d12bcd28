//! Answers by several processes: Ballista's scheduler divides a plan into tasks, and its executors compute them.
//!
//! Nothing here schedules, moves data or repeats what was lost; Ballista does. This module says with which settings. No
//! message is authenticated, so everything listens on the loopback interface unless another one is named.

mod executor;
mod local;
mod scheduler;

pub use executor::ExecutorOptions;
pub use local::LocalOptions;
pub use scheduler::SchedulerOptions;

use anyhow::{Context, Result};
use ballista::{extension::SessionConfigExt, prelude::SessionContextExt};
use datafusion::{
    execution::session_state::SessionStateBuilder,
    prelude::{SessionConfig, SessionContext},
};
use tokio::{
    net::TcpStream,
    runtime::{Builder, Runtime},
};

/// Seconds between two signs of life of an executor.
const HEARTBEAT: u64 = 2;
/// Seconds without one after which an executor counts as lost.
const LOST: u64 = 10;
/// Stack of a thread. Plans are trees that are walked by recursion; Ballista's own programs take as much.
const STACK: usize = 32 << 20;

/// Threads for all that waits.
pub fn runtime() -> Result<Runtime> {
    let mut threads = Builder::new_multi_thread();
    threads.enable_all().thread_stack_size(STACK);
    threads.build().context("cannot start threads")
}

/// A session whose plans the cluster of this scheduler executes, each stage of them in so many parts.
pub async fn client(scheduler: &str, parts: usize) -> Result<SessionContext> {
    // Ballista's own client repeats its attempts for a long time.
    let address = scheduler.strip_prefix("http://").unwrap_or(scheduler);
    let reached = TcpStream::connect(address.trim_end_matches('/')).await;
    reached.with_context(|| {
        format!("cannot reach the scheduler {scheduler}\n  next: start one: unsnarl-fleet local")
    })?;
    // With the adaptive planner of 55.0 answers have not come, even where no executor was lost.
    let config = SessionConfig::new_with_ballista()
        .with_ballista_adaptive_query_planner(false)
        .with_target_partitions(parts);
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .build();
    let url = format!("df://{}", address.trim_end_matches('/'));
    Ok(SessionContext::remote_with_state(&url, state).await?)
}
