//! Bodies of responses and events.

use serde::Serialize;

/// A source file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Source {
    /// Its last component.
    pub name: String,
    /// Its path.
    pub path: String,
}

impl Source {
    /// The file at a path.
    pub fn of(path: &str) -> Source {
        let name = path.rsplit('/').next().unwrap_or(path);
        Source {
            name: name.to_owned(),
            path: path.to_owned(),
        }
    }
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ThreadBody {
    /// gdb's number.
    pub id: u32,
    /// unsnarl's name: `main.1`.
    pub name: String,
}

/// A frame of a stack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameBody {
    /// Id for `scopes` and `evaluate`.
    pub id: usize,
    /// Function.
    pub name: String,
    /// Its file, if that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Always 0: gdb knows no columns.
    pub column: u32,
    /// `subtle` for frames without source.
    pub presentation_hint: &'static str,
}

/// A group of variables.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeBody {
    /// Its name for a person.
    pub name: &'static str,
    /// `arguments` or `locals`.
    pub presentation_hint: &'static str,
    /// Id for `variables`.
    pub variables_reference: usize,
    /// Always `false`: it is cheap to read.
    pub expensive: bool,
}

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableBody {
    /// Its name.
    pub name: String,
    /// Its value as text.
    pub value: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Id for `variables`; 0 when it has no children.
    pub variables_reference: usize,
}

/// Value of an expression, or of a variable that was set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueBody {
    /// The value, as the response to `evaluate` calls it.
    pub result: String,
    /// The value, as the response to `setVariable` calls it.
    pub value: String,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Id for `variables`; 0 when it has no children.
    pub variables_reference: usize,
}

/// A breakpoint as it was set.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BreakpointBody {
    /// gdb's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// `true` if the program can stop there.
    pub verified: bool,
    /// Reason why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Line at which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// File in which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A stop of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoppedBody {
    /// `step`, `breakpoint`, `entry`, `goto`, `pause`, `exception`.
    pub reason: &'static str,
    /// The reason for a person, short.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// More about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The current thread.
    pub thread_id: u32,
    /// Always `true`.
    pub all_threads_stopped: bool,
    /// The breakpoints at which it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hit_breakpoint_ids: Vec<u32>,
}

/// A place that `goto` can go to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TargetBody {
    /// Row of the run file.
    pub id: u32,
    /// The event in words.
    pub label: String,
    /// Its line.
    pub line: u32,
}

/// A step of the explanation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepBody {
    /// Number, from 1.
    pub number: usize,
    /// Row of the run file.
    pub event: u32,
    /// Text of the step.
    pub text: String,
    /// The program has come to it, or past it.
    pub done: bool,
}

/// Text to be shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OutputBody {
    /// `console`, `important`, or `stdout` for the program's.
    pub category: &'static str,
    /// The text.
    pub output: String,
}

impl OutputBody {
    /// Text about the debugging.
    pub fn console(output: String) -> OutputBody {
        OutputBody {
            category: "console",
            output,
        }
    }

    /// Text that a person has to read.
    pub fn important(text: &str) -> OutputBody {
        OutputBody {
            category: "important",
            output: format!("{text}\n"),
        }
    }

    /// Output of the program, in either way.
    pub fn program(output: String) -> OutputBody {
        OutputBody {
            category: "stdout",
            output,
        }
    }
}
