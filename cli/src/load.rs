//! Finds and reads run files.

use anyhow::{Context, Result, bail};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use unsnarl_trace::{Run, RunFile, RunFolder, read_run};

/// Where runs land unless something else is said.
pub const RUNS: &str = ".unsnarl/runs";

/// Run files that were read, and those that could not be.
#[derive(Default)]
pub struct Loaded {
    /// Name (what `replay` takes) and run.
    pub runs: Vec<(String, Arc<Run>)>,
    /// File and what is wrong with it.
    pub broken: Vec<(String, String)>,
    /// The folder that they lie in.
    pub folder: PathBuf,
}

/// Reads the runs at a place: a folder of runs, a project, or one run file.
pub fn load(place: Option<&Path>) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    match place {
        Some(file) if file.is_file() => {
            loaded.folder = file.parent().unwrap_or(Path::new("")).to_owned();
            read(file, file.display().to_string(), &mut loaded);
        }
        place => in_folder(place, &mut loaded, |_| {})?,
    }
    Ok(loaded)
}

/// The same for a folder of runs or a project, those that were written last first.
pub fn load_newest_first(place: Option<&Path>) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    in_folder(place, &mut loaded, |files| {
        files.sort_by(|a, b| b.modified.cmp(&a.modified).then(a.name.cmp(&b.name)));
    })?;
    Ok(loaded)
}

fn in_folder(
    place: Option<&Path>,
    loaded: &mut Loaded,
    arrange: impl Fn(&mut Vec<RunFile>),
) -> Result<()> {
    let runs = place.unwrap_or(Path::new("")).join(RUNS);
    let folder = match place {
        Some(place) if !runs.is_dir() => place,
        _ => &runs,
    };
    let shown = folder.display();
    let mut files = RunFolder::new(folder)
        .files()
        .with_context(|| format!("cannot read the folder {shown}"))?;
    if files.is_empty() {
        bail!(
            "there are no runs in {shown}\n  next: record some: unsnarl record --until-failing 3 -- ./prog"
        );
    }
    loaded.folder = folder.to_owned();
    arrange(&mut files);
    for file in files {
        // Where `replay` looks by itself the name is enough.
        let name = match place {
            None => file.name.clone(),
            Some(_) => file.path.display().to_string(),
        };
        read(&file.path, name, loaded);
    }
    Ok(())
}

fn read(file: &Path, name: String, loaded: &mut Loaded) {
    let broken = match read_run(file) {
        Ok(run) if run.damage.is_empty() => return loaded.runs.push((name, Arc::new(run))),
        Ok(run) => run.damage.join("; "),
        Err(error) => error.to_string(),
    };
    loaded.broken.push((file.display().to_string(), broken));
}
