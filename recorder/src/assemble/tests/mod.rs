//! Runs put together from logs that are written here, over programs that are compiled here.

mod address_space;
mod failures;
mod hostile;
mod locations;
pub(crate) mod log_writer;
pub(crate) mod programs;
mod sites;

use super::{Launch, ProgramDebugInfo, RawLog, assemble};
use log_writer::LogWriter;
use unsnarl_trace::{Run, Value};

fn run_of(log: &LogWriter, program: &ProgramDebugInfo) -> Run {
    let bytes = log.bytes();
    assemble(&RawLog::new(&bytes).unwrap(), program, &Launch::default())
}

/// Events as lines: thread, kind, location, value.
fn shown(run: &Run) -> String {
    let line = |event: &unsnarl_trace::Event| {
        let value = match event.value {
            None => String::new(),
            Some(Value::Bits(bits)) => format!(" = {bits}"),
            Some(Value::Address(location)) => format!(" = &{}", run.location(location)),
        };
        let thread = &run.meta.thread(event.thread).name;
        let location = run.location(event.location);
        format!("{thread} {} {location}{value}\n", event.kind.name())
    };
    run.events.iter().map(|(_, event)| line(&event)).collect()
}
