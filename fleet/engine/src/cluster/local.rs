//! A cluster on one machine: a scheduler in this process, and executors in processes of their own.

use super::runtime;
use super::scheduler::{self, FleetScheduler};
use crate::answer::Limits;
use anyhow::{Context, Result, bail};
use ballista_scheduler::scheduler_process::start_grpc_service_with_listener;
use std::{
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::time::sleep;

/// A cluster on one machine to start.
#[derive(clap::Args, Clone, Debug)]
pub struct LocalOptions {
    /// Port of the scheduler on the loopback interface; 0 for any
    #[arg(long, value_name = "PORT", default_value_t = 50050)]
    pub port: u16,
    /// Executors, each with this memory and these threads
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub executors: u16,
    #[command(flatten)]
    pub limits: Limits,
}

impl LocalOptions {
    /// Runs until the process is ended, or no executor is left.
    pub fn serve(&self) -> Result<()> {
        runtime()?.block_on(async {
            let at = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
            let (listener, scheduler) = scheduler::start(at, usize::from(self.executors)).await?;
            let address = listener.local_addr()?;
            let serving = start_grpc_service_with_listener(listener, scheduler.clone());
            let mut executors = LocalExecutors::default();
            for _ in 0..self.executors {
                executors.start(address, self.limits)?;
            }
            tokio::select! {
                served = serving => Ok(served?),
                watched = executors.watch(&scheduler, address) => watched,
                interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
            }
        })
    }
}

/// The processes of executors. They end with this one, since it holds their standard input.
#[derive(Default)]
struct LocalExecutors {
    running: Vec<Child>,
}

impl LocalExecutors {
    fn start(&mut self, scheduler: SocketAddr, limits: Limits) -> Result<()> {
        let mut executor = Command::new(std::env::current_exe()?);
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        executor
            .args(["executor", "--until-closed", "--scheduler"])
            .arg(scheduler.to_string())
            .args(["--listen", &listen.to_string()])
            .args(["--memory", &limits.memory.to_string()])
            .args(["--threads", &limits.threads.to_string()])
            .stdin(Stdio::piped());
        let executor = executor.spawn().context("cannot start an executor")?;
        println!("executor: process {}", executor.id());
        self.running.push(executor);
        Ok(())
    }

    /// Says when the cluster is ready, and names each executor that has ended.
    async fn watch(&mut self, scheduler: &FleetScheduler, address: SocketAddr) -> Result<()> {
        let mut is_told = false;
        loop {
            self.look()?;
            if scheduler.is_ready() && !is_told {
                // At once: who reads only the first line may close the pipe.
                let text = format!(
                    "scheduler: http://{address}\nnext: unsnarl-fleet ask --scheduler http://{address} pairs .unsnarl/runs\n"
                );
                io::stdout().write_all(text.as_bytes())?;
                is_told = true;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    fn look(&mut self) -> Result<()> {
        let mut running = Vec::new();
        for mut executor in self.running.drain(..) {
            match executor.try_wait()? {
                None => running.push(executor),
                Some(status) => eprintln!(
                    "error: the executor of process {} has ended ({status}); what it had a part in is computed again",
                    executor.id()
                ),
            }
        }
        self.running = running;
        if self.running.is_empty() {
            bail!("no executor is left");
        }
        Ok(())
    }
}

impl Drop for LocalExecutors {
    fn drop(&mut self) {
        for mut executor in self.running.drain(..) {
            // It ends by itself once its standard input is closed; waiting keeps its folder from outliving us.
            drop(executor.stdin.take());
            if let Err(error) = executor.wait() {
                eprintln!("error: cannot wait for an executor: {error}");
            }
        }
    }
}

/// A port that nobody listens on.
fn free_port() -> Result<u16> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(free.local_addr()?.port())
}
