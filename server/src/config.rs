//! The settings, declared once: the editors' settings are generated from [`SETTINGS`].

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// A setting with its documentation.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name below `unsnarl`.
    pub name: &'static str,
    /// Type of its values.
    pub kind: SettingKind,
    /// Its default.
    pub default: &'static str,
    /// Its description for a person.
    pub doc: &'static str,
}

/// The values of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingKind {
    /// A folder below the workspace folder.
    Folder,
    /// `true` or `false`.
    Switch,
    /// A whole number from 1.
    Number,
    /// Paths by paths.
    Paths,
    /// A command of the shell, which clients execute when the user asks for it.
    Command,
    /// One of these words. Only the user gives it, no project.
    Permission(&'static [&'static str]),
}

impl SettingKind {
    /// Its type in JSON schemas.
    pub fn json_type(self) -> &'static str {
        match self {
            Self::Folder | Self::Command | Self::Permission(_) => "string",
            Self::Switch => "boolean",
            Self::Number => "integer",
            Self::Paths => "object",
        }
    }
}

/// The permission to run programs again to confirm explanations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MayRun {
    /// Allowed in folders for which the user has agreed.
    #[default]
    Ask,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// The words for [`MayRun`].
const MAY_RUN: &[&str] = &["ask", "always", "never"];

/// All settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "runsFolder",
        kind: SettingKind::Folder,
        default: ".unsnarl/runs",
        doc: "Folder that run files land in, relative to each workspace folder.",
    },
    Setting {
        name: "sourceMap",
        kind: SettingKind::Paths,
        default: "{}",
        doc: "Places of sources that were recorded elsewhere, in a container for instance: `{ \"/src\": \"/home/me/project\" }` replaces the beginning of paths. A place may be relative to the workspace folder. Without it places are found by the content of sources and programs, and by the ends of paths.",
    },
    Setting {
        name: "stepHints",
        kind: SettingKind::Switch,
        default: "true",
        doc: "Show at the ends of lines what the steps of the selected explanation did: `(2) main.1 writes 500`.",
    },
    Setting {
        name: "invariantHints",
        kind: SettingKind::Switch,
        default: "true",
        doc: "Show at the ends of lines what had to hold from there on for the selected failure to come.",
    },
    Setting {
        name: "fixMarks",
        kind: SettingKind::Switch,
        default: "true",
        doc: "Mark the lines that a fix changes, too, where nothing else marks them.",
    },
    Setting {
        name: "codeLens",
        kind: SettingKind::Switch,
        default: "true",
        doc: "Show above a cause what can be done with its explanation.",
    },
    Setting {
        name: "buildCommand",
        kind: SettingKind::Command,
        default: "",
        doc: "Command that builds the program, such as `make` or `cmake --build build`. Verify builds a copy of the folder with the fix by it, and tries what it made; without it the program is tried as it is, in the schedules that the fix allows.",
    },
    Setting {
        name: "confirm",
        kind: SettingKind::Permission(MAY_RUN),
        default: "ask",
        doc: "Run recorded programs again in the background, to confirm what was found and to try fixes: `always`, `never`, or `ask` once for each workspace folder.",
    },
    Setting {
        name: "memory",
        kind: SettingKind::Number,
        default: "2048",
        doc: "Megabytes that the runs of all folders may take, as estimated from their files; the oldest are left out when it is too little.",
    },
];

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `runsFolder`.
    pub runs_folder: PathBuf,
    /// `sourceMap`.
    pub source_map: Vec<(PathBuf, PathBuf)>,
    /// `stepHints`.
    pub step_hints: bool,
    /// `invariantHints`.
    pub invariant_hints: bool,
    /// `fixMarks`.
    pub fix_marks: bool,
    /// `codeLens`.
    pub code_lens: bool,
    /// `confirm`.
    pub confirm: MayRun,
    /// `memory`, in megabytes.
    pub memory: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            runs_folder: PathBuf::from(".unsnarl/runs"),
            source_map: Vec::new(),
            step_hints: true,
            invariant_hints: true,
            fix_marks: true,
            code_lens: true,
            confirm: MayRun::Ask,
            memory: 2048,
        }
    }
}

impl Config {
    /// Reads settings as clients send them, with or without an `unsnarl` around them. Settings that are unknown or
    /// have a wrong type keep their defaults and are reported in words.
    pub fn from_json(settings: &Value) -> (Config, Vec<String>) {
        let own = settings.get("unsnarl").unwrap_or(settings);
        let (mut config, mut complaints) = (Config::default(), Vec::new());
        for (name, value) in own.as_object().into_iter().flatten() {
            if let Err(complaint) = config.set(name, value) {
                complaints.push(complaint);
            }
        }
        (config, complaints)
    }

    /// Memory that the runs of all folders may take, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.saturating_mul(1 << 20)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let switch = || {
            value.as_bool().ok_or_else(|| {
                format!("the setting unsnarl.{name} is {value}, but has to be true or false")
            })
        };
        match name {
            "runsFolder" => self.runs_folder = folder(value)?,
            "sourceMap" => self.source_map = source_map(value)?,
            "stepHints" => self.step_hints = switch()?,
            "invariantHints" => self.invariant_hints = switch()?,
            "fixMarks" => self.fix_marks = switch()?,
            "codeLens" => self.code_lens = switch()?,
            // Clients read it, when the user asks them to verify a fix.
            "buildCommand" => command(value)?,
            "confirm" => self.confirm = may_run(value)?,
            "memory" => self.memory = number(name, value)?,
            unknown => {
                let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
                return Err(format!(
                    "there is no setting unsnarl.{unknown}; there are: {}",
                    names.join(", ")
                ));
            }
        }
        Ok(())
    }
}

fn command(value: &Value) -> Result<(), String> {
    let is_text = value.is_string().then_some(());
    is_text.ok_or_else(|| {
        format!(
            "the setting unsnarl.buildCommand is {value}, but has to be a command, such as \"make\""
        )
    })
}

fn may_run(value: &Value) -> Result<MayRun, String> {
    match value.as_str() {
        Some("ask") => Ok(MayRun::Ask),
        Some("always") => Ok(MayRun::Always),
        Some("never") => Ok(MayRun::Never),
        _ => Err(format!(
            "the setting unsnarl.confirm is {value}, but has to be one of: {}",
            MAY_RUN.join(", ")
        )),
    }
}

fn number(name: &str, value: &Value) -> Result<u64, String> {
    let number = value.as_u64().filter(|number| *number > 0);
    number.ok_or_else(|| {
        format!("the setting unsnarl.{name} is {value}, but has to be a whole number from 1")
    })
}

fn source_map(value: &Value) -> Result<Vec<(PathBuf, PathBuf)>, String> {
    let pair = |(from, to): (&String, &Value)| {
        let from = Path::new(from);
        let to = to.as_str().filter(|_| from.is_absolute())?;
        Some((from.to_owned(), PathBuf::from(to)))
    };
    let pairs = value
        .as_object()
        .and_then(|all| all.iter().map(pair).collect());
    pairs.ok_or_else(|| {
        format!(
            "the setting unsnarl.sourceMap is {value}, but has to give each beginning of a recorded \
             path, from /, its place, such as {{ \"/src\": \"/home/me/project\" }}"
        )
    })
}

fn folder(value: &Value) -> Result<PathBuf, String> {
    let path = value.as_str().map(Path::new);
    match path.filter(|path| stays_inside(path)) {
        Some(path) => Ok(path.to_owned()),
        None => Err(format!(
            "the setting unsnarl.runsFolder is {value}, but has to be a path below the workspace \
             folder, such as \".unsnarl/runs\"; using that"
        )),
    }
}

/// Returns whether a path stays below the folder that it is joined to.
fn stays_inside(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings() {
        let read = |value: Value| Config::from_json(&value);
        assert_eq!(read(Value::Null), (Config::default(), vec![]));
        assert_eq!(
            read(json!({"unsnarl": {"runsFolder": "out/runs"}}))
                .0
                .runs_folder,
            Path::new("out/runs")
        );
        assert_eq!(
            read(json!({"runsFolder": "x"})).0.runs_folder,
            Path::new("x")
        );
        for bad in [
            json!({"runsFolder": 3}),
            json!({"runsFolder": "../x"}),
            json!({"runsFolder": "/x"}),
            json!({"a": 1}),
            json!({"sourceMap": {"/src": 1}}),
            json!({"sourceMap": {"src": "/w"}}),
            json!({"stepHints": "no"}),
            json!({"memory": 0}),
            json!({"confirm": "yes"}),
        ] {
            let (config, complaints) = read(bad);
            assert_eq!((config, complaints.len()), (Config::default(), 1));
        }
    }

    #[test]
    fn declared_defaults_are_the_defaults() {
        for setting in SETTINGS {
            let value = match setting.kind {
                SettingKind::Folder | SettingKind::Command | SettingKind::Permission(_) => {
                    json!(setting.default)
                }
                SettingKind::Switch | SettingKind::Number | SettingKind::Paths => {
                    serde_json::from_str(setting.default).unwrap()
                }
            };
            let (config, complaints) = read(setting.name, &value);
            assert_eq!(
                (config, complaints),
                (Config::default(), vec![]),
                "{}",
                setting.name
            );
        }
    }

    #[test]
    fn every_switch_switches() {
        for setting in SETTINGS
            .iter()
            .filter(|setting| setting.kind == SettingKind::Switch)
        {
            let other = json!(setting.default != "true");
            assert_ne!(
                read(setting.name, &other).0,
                Config::default(),
                "{}",
                setting.name
            );
        }
    }

    #[test]
    fn every_word_of_a_permission_is_one() {
        for word in MAY_RUN {
            assert!(read("confirm", &json!(word)).1.is_empty(), "{word}");
        }
    }

    fn read(name: &str, value: &Value) -> (Config, Vec<String>) {
        Config::from_json(&json!({ name: value }))
    }
}
