//! Source packages: fetched with lists of apt's own below the cache, unpacked and built once for each variant.

use super::declaration::{DebianProject, RecordedProgram};
use anyhow::{Context, Result, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use unsnarl_e2e::{Finished, binary, workspace::search_path};

/// The compilers and switches that a project is built with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BuildVariant {
    /// gcc as it is.
    Native,
    /// gcc's own thread sanitizer.
    Sanitized,
    /// `unsnarl cc`.
    Recorded,
}

impl BuildVariant {
    /// All variants, in the order of their costs.
    pub const ALL: [BuildVariant; 3] = [
        BuildVariant::Native,
        BuildVariant::Sanitized,
        BuildVariant::Recorded,
    ];

    fn name(self) -> &'static str {
        match self {
            BuildVariant::Native => "native",
            BuildVariant::Sanitized => "tsan",
            BuildVariant::Recorded => "recorded",
        }
    }

    /// `CC` and `CXX`.
    fn compilers(self) -> Result<[String; 2]> {
        let unsnarl = binary::unsnarl()?.display();
        Ok(match self {
            BuildVariant::Native => ["gcc".to_owned(), "g++".to_owned()],
            BuildVariant::Sanitized => {
                ["gcc", "g++"].map(|compiler| format!("{compiler} -fsanitize=thread"))
            }
            BuildVariant::Recorded => ["cc", "c++"].map(|command| format!("{unsnarl} {command}")),
        })
    }
}

/// A built copy of a project's sources.
pub struct SourceTree<'a> {
    project: &'a DebianProject,
    variant: BuildVariant,
    path: PathBuf,
}

impl<'a> SourceTree<'a> {
    /// The copy of this variant, which need not be there yet.
    pub fn new(project: &'a DebianProject, variant: BuildVariant) -> SourceTree<'a> {
        SourceTree {
            project,
            variant,
            path: cache().join(&project.name).join(variant.name()),
        }
    }

    /// Folder of the sources.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folder that a program runs in.
    pub fn folder(&self, program: &RecordedProgram) -> PathBuf {
        self.path.join(&program.folder)
    }

    /// Unpacks, builds and makes the input of the programs.
    pub fn build(&self) -> Result<()> {
        self.unpack()?;
        self.make()
    }

    /// Fetches and unpacks the sources, with the distribution's own changes.
    pub fn unpack(&self) -> Result<()> {
        self.remove()?;
        let package = fetch(self.project)?;
        install(&self.project.needs)?;
        fs::create_dir_all(self.path.parent().context("a folder has a parent")?)?;
        let mut unpack = Command::new("dpkg-source");
        unpack
            .args(["--no-check", "-x"])
            .arg(package)
            .arg(&self.path);
        Finished::of(unpack)?.exits(0).map(drop)
    }

    /// Builds unpacked sources and makes the input of the programs.
    pub fn make(&self) -> Result<()> {
        eprintln!("{}: {} ...", self.project.name, self.variant.name());
        for line in &self.project.build {
            self.shell(line, &self.path)?.exits(0)?;
        }
        for program in &self.project.programs {
            for line in &program.prepare {
                self.shell(line, &self.folder(program))?.exits(0)?;
            }
        }
        Ok(())
    }

    /// Removes it, if it is there.
    pub fn remove(&self) -> Result<()> {
        match self.path.exists() {
            true => fs::remove_dir_all(&self.path).context(self.path.display().to_string()),
            false => Ok(()),
        }
    }

    /// Version of the package.
    pub fn version(&self) -> Result<String> {
        let mut parse = Command::new("dpkg-parsechangelog");
        parse.args(["-S", "Version"]).current_dir(&self.path);
        Ok(Finished::of(parse)?.exits(0)?.stdout.trim().to_owned())
    }

    /// A program of this copy, not started yet; without address randomization, in every variant alike.
    pub fn command(&self, program: &RecordedProgram) -> Command {
        let mut command = Command::new("setarch");
        command
            .arg("-R")
            .args(&program.command)
            .current_dir(self.folder(program));
        command
    }

    /// Name of its variant.
    pub fn variant(&self) -> &'static str {
        self.variant.name()
    }

    /// Runs a command of the shell with the compilers of this variant.
    pub fn shell(&self, line: &str, folder: &Path) -> Result<Finished> {
        let [cc, cxx] = self.variant.compilers()?;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(folder)
            .env("PATH", search_path())
            .envs([("CC", cc), ("CXX", cxx)])
            .envs([("CFLAGS", "-g -O1"), ("CXXFLAGS", "-g -O1")]);
        for variable in ["MAKEFLAGS", "MAKELEVEL", "LDFLAGS"] {
            shell.env_remove(variable);
        }
        Finished::of(shell)
    }
}

/// Folder of everything that is fetched and built.
fn cache() -> PathBuf {
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let cache = env::var_os("XDG_CACHE_HOME").map_or(home.join(".cache"), PathBuf::from);
    cache.join("unsnarl/real")
}

/// The description file of the project's source package, downloaded if it is not there.
fn fetch(project: &DebianProject) -> Result<PathBuf> {
    let folder = cache().join("packages").join(&project.package);
    if let Some(description) = description(&folder)? {
        return Ok(description);
    }
    fs::create_dir_all(&folder)?;
    let lists = prepare_lists()?;
    apt(&lists, &folder, &["update"])?;
    let source = ["source", "--download-only", "--only-source"];
    let fetched = apt(
        &lists,
        &folder,
        &[&source[..], &[&project.package]].concat(),
    );
    if fetched.is_err() {
        // The description comes first: without the rest it would be taken for a whole package.
        fs::remove_dir_all(&folder)?;
    }
    fetched?;
    description(&folder)?.with_context(|| format!("apt-get left no source in {}", folder.display()))
}

/// Installs what a build needs, if anything of it is missing.
fn install(packages: &[String]) -> Result<()> {
    let mut query = Command::new("dpkg-query");
    query.arg("--show").args(packages);
    if packages.is_empty() || Finished::of(query)?.status == Some(0) {
        return Ok(());
    }
    let mut command = Command::new("apt-get");
    command
        .args(["install", "-y", "--no-install-recommends"])
        .args(packages);
    Finished::of(command)?.exits(0).map(drop)
}

fn description(folder: &Path) -> Result<Option<PathBuf>> {
    if !folder.exists() {
        return Ok(None);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "dsc") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Makes a folder for apt whose lists are those of the machine, of sources instead of binaries: the machine's own stay
/// as they are.
fn prepare_lists() -> Result<PathBuf> {
    let folder = cache().join("apt");
    for part in ["sources.d", "lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let machine = Path::new("/etc/apt");
    let mut files = vec![machine.join("sources.list")];
    if let Ok(entries) = fs::read_dir(machine.join("sources.list.d")) {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    for file in files.iter().filter(|file| file.exists()) {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let name = file.file_name().context("a list has a name")?;
        fs::write(folder.join("sources.d").join(name), of_sources(&text))?;
    }
    Ok(folder)
}

/// A list of apt's in either of its formats, changed to packages of sources.
fn of_sources(list: &str) -> String {
    let line = |line: &str| match (line.strip_prefix("deb "), line.starts_with("Types:")) {
        (Some(rest), _) => format!("deb-src {rest}\n"),
        (None, true) => "Types: deb-src\n".to_owned(),
        (None, false) => format!("{line}\n"),
    };
    list.lines().map(line).collect()
}

fn apt(lists: &Path, folder: &Path, words: &[&str]) -> Result<()> {
    let place = |name: &str, path: &str| format!("{name}={}", lists.join(path).display());
    let mut command = Command::new("apt-get");
    for option in [
        "Dir::Etc::sourcelist=/dev/null".to_owned(),
        place("Dir::Etc::sourceparts", "sources.d"),
        place("Dir::State::lists", "lists"),
        place("Dir::Cache", "cache"),
    ] {
        command.args(["-o", &option]);
    }
    command.args(words).current_dir(folder);
    let finished = Finished::of(command)?;
    ensure!(finished.status == Some(0), "{finished}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_binaries_become_lists_of_sources() {
        let old = "# a\ndeb [trusted=yes] https://example.org/debian stable main\n";
        let new = "# a\ndeb-src [trusted=yes] https://example.org/debian stable main\n";
        assert_eq!(of_sources(old), new);
        let old = "Types: deb\nURIs: https://example.org/debian\n";
        let new = "Types: deb-src\nURIs: https://example.org/debian\n";
        assert_eq!(of_sources(old), new);
    }
}
