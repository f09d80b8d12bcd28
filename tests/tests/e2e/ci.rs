//! The files for continuous integration in `ci/`: their scripts, taken out of the YAML and run as the services run them.

use anyhow::{Context, Result, ensure};
use saphyr::{LoadableYamlNode, Yaml};
use std::{collections::BTreeMap, env, fs};
use unsnarl_e2e::{Finished, Workspace, binary, project};

/// Two threads that count, `LOCKED` or not.
const PROGRAM: &str = "#include <cassert>
#include <mutex>
#include <thread>
static int hits;
static std::mutex door;
static void visit() {
    if (LOCKED) door.lock();
    hits++;
    if (LOCKED) door.unlock();
}
int main() {
    std::thread first(visit), second(visit);
    first.join();
    second.join();
    assert(hits == 2);
}
";

/// A folder with the program as the one test of a project.
fn checkout(is_locked: bool) -> Result<Workspace> {
    let workspace = Workspace::new()?;
    workspace.write(
        "visits.cpp",
        &PROGRAM.replace("LOCKED", if is_locked { "1" } else { "0" }),
    )?;
    Ok(workspace)
}

const BUILD: &str = "$CXX -g visits.cpp -o visits -pthread";
/// A case that passes is recorded until the budget ends.
const BUDGET: &str = "1s";
const TESTS: &str = "--seed 7 -- ./visits";

fn yaml(file: &str) -> Result<String> {
    fs::read_to_string(project().join("ci").join(file)).with_context(|| format!("no ci/{file}"))
}

/// Runs a script with `unsnarl` on the `PATH`, as a service does.
fn run(
    workspace: &Workspace,
    script: &str,
    variables: &BTreeMap<String, String>,
) -> Result<Finished> {
    let mut command = workspace.command("bash", &["-euo", "pipefail", "-c", script]);
    let own = binary::unsnarl()?.parent().context("a folder")?.to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(own).chain(env::split_paths(&path)))?;
    command.env("PATH", path).envs(variables);
    Finished::of(command)
}

/// A job of GitHub's action.
struct GithubJob<'y> {
    action: &'y Yaml<'y>,
    workspace: Workspace,
    status: String,
}

impl GithubJob<'_> {
    /// The value of an expression of the action: the inputs of this test, or their defaults.
    fn value(&self, text: &str) -> Result<String> {
        let Some(expression) = text
            .strip_prefix("${{ ")
            .and_then(|text| text.strip_suffix(" }}"))
        else {
            return Ok(text.to_owned());
        };
        let input = expression.strip_prefix("inputs.").context("no input")?;
        Ok(match input {
            "build" => BUILD.to_owned(),
            "tests" => TESTS.to_owned(),
            "budget" => BUDGET.to_owned(),
            input => self.action["inputs"][input]["default"]
                .as_str()
                .context("no default")?
                .to_owned(),
        })
    }

    /// Returns whether the service takes a step: `if` is nothing, or one of the conditions that the action has.
    fn takes(&self, step: &Yaml) -> Result<bool> {
        Ok(match step.as_mapping_get("if").and_then(Yaml::as_str) {
            None | Some("inputs.build != ''") => true,
            Some("inputs.package != ''") => false,
            Some("steps.record.outputs.status == '1'") => self.status == "1",
            Some(other) => {
                ensure!(other.ends_with("inputs.code-scanning == 'true'"), "{other}");
                false
            }
        })
    }

    /// Runs the steps until one fails, and returns what they printed with the status of the last one.
    fn run(&mut self) -> Result<(String, Option<i32>)> {
        let mut said = String::new();
        for step in self.action["runs"]["steps"]
            .as_sequence()
            .context("no steps")?
        {
            let script = step.as_mapping_get("run").and_then(Yaml::as_str);
            let Some(script) = script.filter(|_| self.takes(step).unwrap_or(true)) else {
                continue;
            };
            let done = run(&self.workspace, script, &self.variables(step)?)?;
            said.push_str(&format!("{}{}", done.stdout, done.stderr));
            self.read_output()?;
            if done.status != Some(0) {
                return Ok((said, done.status));
            }
        }
        Ok((said, Some(0)))
    }

    fn variables(&self, step: &Yaml) -> Result<BTreeMap<String, String>> {
        let mut variables = BTreeMap::new();
        for name in ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            let file = self.workspace.path().join(name);
            variables.insert(name.to_owned(), file.display().to_string());
        }
        let own = step.as_mapping_get("env").and_then(Yaml::as_mapping);
        for (name, text) in own.into_iter().flatten() {
            let name = name.as_str().context("a name")?;
            let text = text.as_str().context("a text")?;
            variables.insert(name.to_owned(), self.value(text)?);
        }
        Ok(variables)
    }

    fn read_output(&mut self) -> Result<()> {
        let file = self.workspace.path().join("GITHUB_OUTPUT");
        let output = fs::read_to_string(file).unwrap_or_default();
        if let Some(status) = output.lines().find_map(|line| line.strip_prefix("status=")) {
            self.status = status.to_owned();
        }
        Ok(())
    }
}

fn github(is_locked: bool) -> Result<(String, Option<i32>, Workspace)> {
    let text = yaml("github/action.yml")?;
    let documents = Yaml::load_from_str(&text)?;
    let mut job = GithubJob {
        action: documents.first().context("no document")?,
        workspace: checkout(is_locked)?,
        status: String::new(),
    };
    let (said, status) = job.run()?;
    Ok((said, status, job.workspace))
}

#[test]
fn the_action_for_github_annotates_the_line_of_a_failing_test() -> Result<()> {
    let (said, status, workspace) = github(false)?;
    ensure!(status == Some(1), "{said}");
    ensure!(
        said.contains("::error file=visits.cpp,line=8,title=unsnarl%2C "),
        "{said}"
    );
    let summary = fs::read_to_string(workspace.path().join("GITHUB_STEP_SUMMARY"))?;
    ensure!(summary.contains("hits"), "{summary}");
    ensure!(workspace.path().join("unsnarl.sarif").exists());
    Ok(())
}

#[test]
fn the_action_for_github_passes_with_the_test() -> Result<()> {
    let (said, status, _) = github(true)?;
    ensure!(status == Some(0) && !said.contains("::error"), "{said}");
    Ok(())
}

/// Runs the scripts of GitLab's template in one shell, as its runner does.
fn gitlab(is_locked: bool) -> Result<(Finished, Workspace)> {
    let text = yaml("gitlab/unsnarl.yml")?;
    let documents = Yaml::load_from_str(&text)?;
    let job = &documents.first().context("no document")?[".unsnarl"];
    let mut variables = BTreeMap::new();
    for (name, text) in job["variables"].as_mapping().context("no variables")? {
        let name = name.as_str().context("a name")?;
        variables.insert(
            name.to_owned(),
            text.as_str().unwrap_or_default().to_owned(),
        );
    }
    variables.insert("UNSNARL_CI_BUILD".to_owned(), BUILD.to_owned());
    variables.insert("UNSNARL_CI_BUDGET".to_owned(), BUDGET.to_owned());
    variables.insert("UNSNARL_CI_TESTS".to_owned(), TESTS.to_owned());
    let parts = ["before_script", "script"].map(|part| job[part].as_sequence());
    let lines = parts
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(Yaml::as_str);
    let workspace = checkout(is_locked)?;
    let done = run(
        &workspace,
        &lines.collect::<Vec<_>>().join("\n"),
        &variables,
    )?;
    Ok((done, workspace))
}

#[test]
fn the_template_for_gitlab_reports_the_line_of_a_failing_test() -> Result<()> {
    let (done, workspace) = gitlab(false)?;
    done.exits(1)?;
    let report = fs::read_to_string(workspace.path().join("unsnarl-quality.json"))?;
    let report: serde_json::Value = serde_json::from_str(&report)?;
    let place = &report[0]["location"];
    ensure!(
        place["path"] == "visits.cpp" && place["lines"]["begin"] == 8,
        "{report:#}"
    );
    ensure!(report[0]["fingerprint"].is_string(), "{report:#}");
    ensure!(workspace.path().join("unsnarl-results.xml").exists());
    Ok(())
}

#[test]
fn the_template_for_gitlab_passes_with_the_test() -> Result<()> {
    gitlab(true)?.0.exits(0)?;
    Ok(())
}
