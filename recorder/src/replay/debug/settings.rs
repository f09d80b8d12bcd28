//! The commands that make gdb start the program as it was recorded.

use crate::{
    launch::{Given, command::variables, stack as limits},
    log::Log,
    record::Job,
};
use std::{os::fd::AsRawFd, path::Path};
use unsnarl_trace::shell;

/// Commands that make gdb start the program as it was recorded, under the recorded name: so everything has the
/// address that it has without gdb.
pub fn settings(
    job: &Job,
    mut given: Given,
    limit: Option<u64>,
    (log, output): (&Log, Option<&Path>),
) -> Vec<String> {
    let input = match &job.stdin {
        Some(path) => shell::word(path),
        None => "/dev/null".to_owned(),
    };
    // The wrapper gets the program's path and calls it by the name that was recorded.
    let limit = limit.map_or(String::new(), |limit| {
        format!("ulimit -S -s {}; ", limits::in_words(limit))
    });
    let output = output.map_or(String::new(), |pipe| {
        format!(" >{} 2>&1", shell::word(pipe))
    });
    let command = shell::command(&job.command);
    let call = format!("{limit}exec {command} <{input}{output}");
    // The shell corrects it.
    given.insert("PWD".into(), Some(job.directory.clone().into()));
    let name = job.command.first().cloned().unwrap_or_default();
    let number = log.descriptor().as_raw_fd();
    let variables = variables(Path::new(&name), &job.command, &given, number);
    let set = variables.iter().filter_map(|(name, value)| {
        let pair = format!("{} = {}", name.to_string_lossy(), value.to_string_lossy());
        // A command of gdb is one line.
        (!pair.contains('\n')).then(|| format!("set environment {pair}"))
    });
    let fixed = [
        "set pagination off".to_owned(),
        "set print inferior-events off".to_owned(),
        "set print thread-events off".to_owned(),
        "set startup-with-shell on".to_owned(),
        "set disable-randomization on".to_owned(),
        "set schedule-multiple off".to_owned(),
        format!("set exec-wrapper /bin/sh -c {}", shell::word(&call)),
        "unset environment".to_owned(),
    ];
    fixed.into_iter().chain(set).collect()
}
