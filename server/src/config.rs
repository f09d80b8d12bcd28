//! The settings, declared once: what editors show is made from [`SETTINGS`].

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// A setting, for those who document it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name below `unsnarl`.
    pub name: &'static str,
    /// What it is when nobody sets it.
    pub default: &'static str,
    /// What it does, for a person.
    pub doc: &'static str,
}

/// All settings.
pub const SETTINGS: &[Setting] = &[Setting {
    name: "runsFolder",
    default: ".unsnarl/runs",
    doc: "Folder that run files land in, relative to each workspace folder.",
}];

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `runsFolder`.
    pub runs_folder: PathBuf,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            runs_folder: PathBuf::from(".unsnarl/runs"),
        }
    }
}

impl Config {
    /// Reads settings as clients send them, with or without an `unsnarl` around them. What is unknown or
    /// of the wrong kind is left at its default and told in words.
    pub fn from_json(settings: &Value) -> (Config, Vec<String>) {
        let own = settings.get("unsnarl").unwrap_or(settings);
        let (mut config, mut complaints) = (Config::default(), Vec::new());
        for (name, value) in own.as_object().into_iter().flatten() {
            match (name.as_str(), value) {
                ("runsFolder", Value::String(path)) if stays_inside(Path::new(path)) => {
                    config.runs_folder = PathBuf::from(path);
                }
                ("runsFolder", other) => complaints.push(format!(
                    "the setting unsnarl.runsFolder is {other}, but has to be a path below the workspace \
                     folder, such as \".unsnarl/runs\"; using that"
                )),
                (unknown, _) => complaints.push(format!(
                    "there is no setting unsnarl.{unknown}; there are: {}",
                    SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")
                )),
            }
        }
        (config, complaints)
    }
}

/// A path that names something below the folder that it is joined to.
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
        ] {
            let (config, complaints) = read(bad);
            assert_eq!((config, complaints.len()), (Config::default(), 1));
        }
    }

    #[test]
    fn declared_defaults_are_the_defaults() {
        let [runs] = SETTINGS else {
            panic!("one setting")
        };
        assert_eq!(Path::new(runs.default), Config::default().runs_folder);
    }
}
