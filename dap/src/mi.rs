//! Lines of gdb's machine interface, as data.
//!
//! The one crate for it, `gdbmi`, calls itself work in progress, has had no release since its first ones, and keeps its
//! parser to itself. The grammar is small.

mod reader;
#[cfg(test)]
mod tests;

use self::reader::Reader;
use std::fmt::Write;

/// One line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MiRecord {
    /// Answer to the command with this token.
    Answer {
        /// Number before the command.
        token: Option<u64>,
        /// `done`, `running`, `error`, `exit`, ...
        class: String,
        /// Content of the answer.
        results: Results,
    },
    /// Change of the program's state: `running`, `stopped`.
    Execution {
        /// Name of the change.
        class: String,
        /// Details of the change.
        results: Results,
    },
    /// Other news: threads, libraries, breakpoints.
    Notice {
        /// Name of the notice.
        class: String,
        /// Details of the notice.
        results: Results,
    },
    /// Text for the console.
    Console(String),
    /// Text of gdb's log: echoes of commands, and messages of errors.
    Log(String),
    /// Prompt or empty line.
    Prompt,
    /// Line that is none of the machine interface.
    Foreign(String),
}

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MiValue {
    /// String constant.
    Text(String),
    /// Values by names.
    Tuple(Results),
    /// Values in order. The names in front of them are left out: they are all the same.
    List(Vec<MiValue>),
}

impl MiValue {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            MiValue::Text(text) => Some(text),
            MiValue::Tuple(_) | MiValue::List(_) => None,
        }
    }
}

/// Values by names, in gdb's order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Results(pub Vec<(String, MiValue)>);

impl Results {
    fn get(&self, name: &str) -> Option<&MiValue> {
        let mut all = self.0.iter();
        all.find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Text of this name; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(MiValue::text).unwrap_or_default()
    }

    /// Number of this name, if there is one.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).parse().ok()
    }

    /// Tuple of this name, if there is one.
    pub fn tuple(&self, name: &str) -> Option<&Results> {
        match self.get(name)? {
            MiValue::Tuple(results) => Some(results),
            _ => None,
        }
    }

    /// Members of the list of this name; none if there is no list.
    pub fn list(&self, name: &str) -> &[MiValue] {
        match self.get(name) {
            Some(MiValue::List(values)) => values,
            _ => &[],
        }
    }

    /// Tuples of the list of this name.
    pub fn tuples(&self, name: &str) -> impl Iterator<Item = &Results> {
        self.list(name).iter().filter_map(|value| match value {
            MiValue::Tuple(results) => Some(results),
            _ => None,
        })
    }
}

/// Reads one line, without its end.
pub fn parse(line: &str) -> MiRecord {
    if line.is_empty() || line.trim_end() == "(gdb)" {
        return MiRecord::Prompt;
    }
    record(line).unwrap_or_else(|| MiRecord::Foreign(line.to_owned()))
}

fn record(line: &str) -> Option<MiRecord> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (token, rest) = line.split_at_checked(digits)?;
    let mut characters = rest.chars();
    let sign = characters.next()?;
    let mut reader = Reader(characters.as_str());
    match sign {
        '~' | '@' => reader.only_string().map(MiRecord::Console),
        '&' => reader.only_string().map(MiRecord::Log),
        '^' => reader.class().map(|(class, results)| MiRecord::Answer {
            token: token.parse().ok(),
            class,
            results,
        }),
        '*' => (reader.class()).map(|(class, results)| MiRecord::Execution { class, results }),
        '=' | '+' => (reader.class()).map(|(class, results)| MiRecord::Notice { class, results }),
        _ => None,
    }
}

/// A parameter of a command, as a C string.
pub fn quoted(parameter: &str) -> String {
    let mut text = String::from("\"");
    for byte in parameter.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => write!(text, "\\{byte:03o}").unwrap_or_default(),
        }
    }
    text.push('"');
    text
}
