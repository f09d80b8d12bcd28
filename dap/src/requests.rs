//! Arguments of the requests that are served.

use serde::Deserialize;
use std::path::PathBuf;

/// Arguments of `launch`: what a debug configuration says.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchArguments {
    /// A run file, or the name of a run as explanations show it.
    pub run: PathBuf,
    /// The project's folder, which the names of runs and the program are relative to; the adapter's own if there is none.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The explanation whose steps are followed; the first one of the run if it is left out.
    #[serde(default)]
    pub explanation: Option<ChosenExplanation>,
    /// Stops at the beginning of `main` instead of the first step.
    #[serde(default)]
    pub stop_on_entry: bool,
    /// File for the program's standard input, if the run had one.
    #[serde(default)]
    pub stdin: Option<PathBuf>,
    /// Executes the program although the user has not recorded it on this machine.
    #[serde(default)]
    pub trust: bool,
}

/// The explanation whose steps are followed.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum ChosenExplanation {
    /// Number from 1, among the explanations of this run.
    Number(usize),
    /// Id, as the editor and `unsnarl explain` have it for all runs together.
    Id(String),
}

/// Arguments of requests about one thread; 0 is the selected one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadArguments {
    /// gdb's number of the thread.
    #[serde(default)]
    pub thread_id: u32,
}

/// Arguments of `stackTrace`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceArguments {
    /// gdb's number of the thread.
    pub thread_id: u32,
    /// Number of inner frames to leave out.
    #[serde(default)]
    pub start_frame: usize,
    /// Number of frames; all if it is 0 or missing.
    #[serde(default)]
    pub levels: usize,
}

/// Arguments of `scopes`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopesArguments {
    /// Id of a frame.
    pub frame_id: usize,
}

/// Arguments of `variables`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariablesArguments {
    /// Id of a scope or variable.
    pub variables_reference: usize,
    /// Index of the first child.
    #[serde(default)]
    pub start: usize,
    /// Number of children; as many as are shown at once if it is 0 or missing.
    #[serde(default)]
    pub count: usize,
}

/// Arguments of `setVariable`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableArguments {
    /// Id of the scope or variable around it.
    pub variables_reference: usize,
    /// Name of the variable.
    pub name: String,
    /// Its new value, an expression.
    pub value: String,
}

/// Arguments of `evaluate`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateArguments {
    /// Expression, or a command of gdb behind `-exec`.
    pub expression: String,
    /// Frame to evaluate it in.
    #[serde(default)]
    pub frame_id: Option<usize>,
    /// `repl`, `hover`, `watch`, ...
    #[serde(default)]
    pub context: Option<String>,
}

/// A source file.
#[derive(Clone, Debug, Deserialize)]
pub struct SourceArgument {
    /// Its path.
    #[serde(default)]
    pub path: String,
}

/// Arguments of `setBreakpoints`.
#[derive(Clone, Debug, Deserialize)]
pub struct SetBreakpointsArguments {
    /// The file.
    pub source: SourceArgument,
    /// All of its breakpoints.
    #[serde(default)]
    pub breakpoints: Vec<LineBreakpoint>,
}

/// A breakpoint at a line.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineBreakpoint {
    /// The line.
    pub line: u32,
    /// Condition, an expression of the program.
    #[serde(default)]
    pub condition: Option<String>,
    /// Number of the hit that stops.
    #[serde(default)]
    pub hit_condition: Option<String>,
}

/// Arguments of `setFunctionBreakpoints`.
#[derive(Clone, Debug, Deserialize)]
pub struct SetFunctionBreakpointsArguments {
    /// All of them.
    pub breakpoints: Vec<FunctionBreakpoint>,
}

/// A breakpoint at a function.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionBreakpoint {
    /// The function.
    pub name: String,
    /// Condition, an expression of the program.
    #[serde(default)]
    pub condition: Option<String>,
    /// Number of the hit that stops.
    #[serde(default)]
    pub hit_condition: Option<String>,
}

/// Arguments of `gotoTargets`.
#[derive(Clone, Debug, Deserialize)]
pub struct GotoTargetsArguments {
    /// The file.
    pub source: SourceArgument,
    /// The line.
    pub line: u32,
}

/// Arguments of `goto`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GotoArguments {
    /// Row of the run file.
    pub target_id: u32,
}

/// Arguments of `unsnarl/gotoEvent`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct GotoEventArguments {
    /// Row of the run file.
    pub event: u32,
}
