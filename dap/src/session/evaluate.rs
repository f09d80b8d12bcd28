//! Expressions of the program, and commands of gdb.

use super::{Reply, Served, Session, body};
use crate::{bodies::ValueBody, mi::quoted, requests::EvaluateArguments, subject::Provider};
use std::io::Write;

/// Words before a command of gdb, as other adapters have them.
const COMMAND: &str = "-exec";

impl<P: Provider, W: Write> Session<P, W> {
    pub(super) fn evaluate(&mut self, of: &EvaluateArguments) -> Served {
        let is_console = of.context.as_deref() == Some("repl");
        let text = of.expression.trim();
        if let Some(command) = text.strip_prefix(COMMAND).filter(|_| is_console) {
            return self.command(command.trim());
        }
        let options = match of.frame_id {
            Some(id) => self.active()?.references.known_frame(id)?.options(),
            None => String::new(),
        };
        let (object, results) = self.create(text, &options)?;
        let value = results.text("value").to_owned();
        let variables_reference = self.reference(&object, &results);
        body(ValueBody {
            result: value.clone(),
            value,
            type_name: results.text("type").to_owned(),
            variables_reference,
        })
    }

    /// Executes a command of gdb. One that moves the program is told of as a movement.
    fn command(&mut self, command: &str) -> Served {
        let active = self.active.as_mut().ok_or_else(super::nothing_runs)?;
        active.driver.captured = Some(String::new());
        active.driver.has_run = false;
        let asked = format!("-interpreter-exec console {}", quoted(command));
        let done = self.ask(&asked).and_then(|_| self.look());
        let active = self.active.as_mut().ok_or_else(super::nothing_runs)?;
        let text = active.driver.captured.take().unwrap_or_default();
        done?;
        let value = ValueBody {
            result: text.trim_end().to_owned(),
            value: String::new(),
            type_name: String::new(),
            variables_reference: 0,
        };
        if !active.driver.has_run {
            return body(value);
        }
        let value = serde_json::to_value(value).map_err(std::io::Error::from)?;
        self.forget_references()?;
        Ok(Reply::Moved(value))
    }
}
