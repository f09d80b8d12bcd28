//! Errors in the log of Ballista.

use log::{LevelFilter, Log, Metadata, Record};

/// A log of errors on standard error.
struct ProblemLog;

impl Log for ProblemLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Error
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("error: {}: {}", record.target(), record.args());
        }
    }

    fn flush(&self) {}
}

/// Has errors of all threads told on standard error.
pub fn tell() {
    // There is no other log in this program.
    if log::set_logger(&ProblemLog).is_ok() {
        log::set_max_level(LevelFilter::Error);
    }
}
