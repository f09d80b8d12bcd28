//! Finds and reads run files.

use anyhow::{Context, Result, bail};
use std::{path::Path, sync::Arc};
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
}

/// Reads the runs at a place: a folder of runs, a project, or one run file.
pub fn load(place: Option<&Path>) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    match place {
        // Where `replay` looks by itself the name is enough.
        None => in_folder(Path::new(RUNS), &mut loaded, |file| file.name.clone())?,
        Some(file) if file.is_file() => read(file, file.display().to_string(), &mut loaded),
        Some(place) => {
            let runs = place.join(RUNS);
            let folder = if runs.is_dir() { runs.as_path() } else { place };
            in_folder(folder, &mut loaded, |file| file.path.display().to_string())?;
        }
    }
    Ok(loaded)
}

fn in_folder(folder: &Path, loaded: &mut Loaded, name: impl Fn(&RunFile) -> String) -> Result<()> {
    let shown = folder.display();
    let files = RunFolder::new(folder)
        .files()
        .with_context(|| format!("cannot read the folder {shown}"))?;
    if files.is_empty() {
        bail!(
            "there are no runs in {shown}\n  next: record some: unsnarl record --until-failing 3 -- ./prog"
        );
    }
    for file in files {
        read(&file.path, name(&file), loaded);
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
