//! Progress of long work, on standard error where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{io::IsTerminal, time::Duration};

/// A bar of so many steps, in this form; nothing is drawn where standard error is no terminal.
pub fn bar(steps: u64, template: &str) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr_with_hz(10),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Work of which nobody knows how long it takes, drawn until this is dropped.
pub struct Working(ProgressBar);

impl Working {
    /// Says what is done, with the time that it has taken.
    pub fn on(what: &'static str) -> Working {
        const EVERY: Duration = Duration::from_millis(100);
        let spinner = bar(0, "{spinner} {msg}, {elapsed}");
        spinner.set_message(what);
        spinner.enable_steady_tick(EVERY);
        Working(spinner)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
