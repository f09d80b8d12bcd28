//! The engine on made-up summaries: its answers, what spoils none, and the same answers by a cluster on this machine.

mod answers;
mod cluster;
mod corpus;
mod damaged;
mod page;

use std::path::{Path, PathBuf};
use unsnarl_fleet_engine::{
    answer::{self, AnswerEngine, AnswerFormat, Limits},
    pack::{Packed, into_file},
    queries::{Query, QueryArguments},
};

fn packed(places: &[PathBuf], folder: &Path) -> (Packed, PathBuf) {
    let file = folder.join("packed.file");
    (into_file(places, &file).unwrap(), file)
}

/// The answer about the failing runs of all tests, which have one signature.
fn ask(query: Query, file: &Path) -> String {
    let arguments = QueryArguments {
        signature: Some("5167".to_owned()),
        failing: 1,
        passing: 2,
    };
    let engine = AnswerEngine::Embedded(Limits {
        memory: 256,
        threads: 2,
    });
    answer::to(query, &arguments, &engine, file, AnswerFormat::Json).unwrap()
}
