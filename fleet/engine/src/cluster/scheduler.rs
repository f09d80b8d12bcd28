//! The scheduler of a cluster.

use super::{HEARTBEAT, LOST, runtime};
use anyhow::{Context, Result};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_scheduler::{
    cluster::BallistaCluster,
    config::SchedulerConfig,
    scheduler_process::{create_scheduler, start_grpc_service_with_listener},
    scheduler_server::SchedulerServer,
};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;

/// A scheduler to start.
#[derive(clap::Args, Clone, Debug)]
pub struct SchedulerOptions {
    /// Address and port to listen on. Whoever reaches it can read all files that the executors can read
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50050")]
    pub listen: SocketAddr,
}

/// Ballista's scheduler, with plans as DataFusion writes them down.
pub(super) type FleetScheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

impl SchedulerOptions {
    /// Schedules until the process is ended.
    pub fn serve(&self) -> Result<()> {
        runtime()?.block_on(async {
            let (listener, scheduler) = start(self.listen, 1).await?;
            println!("scheduler: http://{}", listener.local_addr()?);
            Ok(start_grpc_service_with_listener(listener, scheduler).await?)
        })
    }
}

/// A scheduler, which is ready when it has so many executors, and where it listens.
pub(super) async fn start(
    listen: SocketAddr,
    executors: usize,
) -> Result<(TcpListener, FleetScheduler)> {
    let listener = TcpListener::bind(listen);
    let listener = listener.await;
    let listener = listener.with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    let config = SchedulerConfig {
        // Where tasks are sent to executors, 55.0 forgets threads of those that live on when another one is lost, and an answer
        // may wait for ever.
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        external_host: address.ip().to_string(),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        executor_timeout_seconds: LOST,
        expire_dead_executor_interval_seconds: HEARTBEAT,
        no_executors_grace_period_seconds: 3 * LOST,
        min_ready_executors: executors,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler = create_scheduler(cluster, Arc::new(config)).await?;
    Ok((listener, scheduler))
}
