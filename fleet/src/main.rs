//! `unsnarl-fleet`: the runs of many machines.

mod arguments;
mod commands;

use arguments::{FleetCommand, FleetCommandLine};
use clap::Parser;
use commands::{asked, fetched, recorded, summarize, sync};
use std::process::ExitCode;

/// Usage, or a part of the runs that could not be had.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let done = match FleetCommandLine::parse().command {
        FleetCommand::Summarize { places } => summarize::run(&places),
        FleetCommand::Sync { from, to } => sync::run(&from, &to),
        FleetCommand::Explain {
            signature: Some(signature),
            asked,
        } => fetched::run_chosen("explain", &signature, &asked),
        FleetCommand::Explain { asked, .. } => fetched::run("explain", &asked),
        FleetCommand::Report(asked) => fetched::run("report", &asked),
        FleetCommand::Record(asked) => recorded::run(&asked),
        FleetCommand::Ask { words } => asked::run(&words),
        FleetCommand::Local { words } => asked::local(&words),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(UNUSABLE)
    })
}
