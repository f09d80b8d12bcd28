//! The arguments of `unsnarl test`.

use crate::{
    arguments::{bytes, duration},
    shard::ShardOption,
};
use clap::{Args, ValueEnum};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use unsnarl_lab::load;
use unsnarl_recorder::record::strategy::Strategy;

/// `unsnarl test`
#[derive(Args, Debug)]
pub struct TestArguments {
    /// A build folder of CMake or Meson, whose tests are recorded [default: this folder or ./build, if no program is
    /// named]
    #[arg(long, value_name = "DIR")]
    pub build_dir: Option<PathBuf>,
    /// Schedules to try of each case at most
    #[arg(short = 'n', long = "runs", value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "budget")]
    pub runs: u64,
    /// Time for all cases together, spent where new orders of steps still come: seconds, or with a unit as in 500ms,
    /// 10s, 2m
    #[arg(long, value_name = "T", value_parser = duration)]
    pub budget: Option<Duration>,
    /// Begin with the cases that execute a function whose code has changed since they were recorded last, and with new
    /// ones
    #[arg(long)]
    pub changed: bool,
    /// Time that one case may take: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", value_parser = duration)]
    pub case_time: Option<Duration>,
    /// Time that one run may take: seconds, or with a unit as in 500ms, 10s, 2m
    #[arg(long, value_name = "T", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Cases to record at a time [default: as many as there are cores]
    ///
    /// Cases that do what others could notice (writing files, taking ports, starting other processes) are recorded by
    /// themselves when the others are done.
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,
    /// Format of what is printed for each case
    #[arg(long, value_enum, default_value_t = TestFormat::Text)]
    pub format: TestFormat,
    /// Also write the results as JUnit XML into this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Strategy that chooses the schedules, as for record
    #[arg(long, value_name = "NAME", default_value = "portfolio")]
    pub strategy: Strategy,
    /// Seed of the first run of each case; the same seed gives the same runs [default: a new one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// The part of the cases to record, where several machines share them: I/N, with I from 1 to N; or auto, or auto/N, as
    /// for record
    #[arg(long, value_name = "I/N")]
    pub shard: Option<ShardOption>,
    /// Exit statuses of a run that passes; all others are failures [default: 0]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub expect_exit: Vec<u8>,
    /// Let the program go on when it uses a heap block that it has freed
    #[arg(long)]
    pub allow_use_after_free: bool,
    /// Passing runs to keep at most of each failing case
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub keep_passing: u64,
    /// Folder for the runs of failing cases
    #[arg(long, value_name = "DIR", default_value = load::RUNS)]
    pub out: PathBuf,
    /// Disk space that the folder's runs may take, in bytes, or with a unit as in 500M, 2G
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = bytes)]
    pub max_disk: u64,
    /// The test program and parts of the names of cases (or patterns with * and ?), then after another -- arguments for
    /// the program; with --build-dir only the names
    #[arg(last = true, value_name = "PROG NAMES [-- ARGS]")]
    pub words: Vec<OsString>,
}

/// Format of what is printed for each case.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestFormat {
    /// For reading
    Text,
    /// Test Anything Protocol, version 14
    Tap,
}
