//! Looks at a program before its first run: what cannot be recorded is refused with the next step.

use crate::{
    assemble::{Instrumented, ProgramDebugInfo, ProgramError},
    build_command,
    wrapper::build::BuildKind,
    wrapper::compiler::{in_path, is_executable},
};
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};
use unsnarl_trace::{RunMeta, files::open_regular};

/// A program that can be recorded.
pub struct Target {
    /// Its file and debug info.
    pub program: ProgramDebugInfo,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// An error that keeps a program from being recorded.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The program does not exist, or is not in the search path.
    #[error("there is no program {name}{}", hint.as_deref().unwrap_or("\n  next: check the name; relative names start at the current folder"))]
    NotFound {
        /// The name as given.
        name: String,
        /// A better name.
        hint: Option<String>,
    },
    /// A file that nobody may execute.
    #[error("{0} is not executable\n  next: name the program that was built, or chmod +x it")]
    NotExecutable(String),
    /// A folder.
    #[error("{0} is a folder\n  next: name the program in it")]
    Folder(String),
    /// A shell script or the like.
    #[error(
        "{0} is a script, not a program\n  next: name the program that it starts (libtool keeps it under .libs/), or let the script start it: unsnarl record -- {0}"
    )]
    Script(String),
    /// The file is not for this machine, is damaged, or cannot be read.
    #[error("{0}\n  next: build it again with `unsnarl cc`")]
    Unreadable(#[from] ProgramError),
    /// Linked with the compiler's own runtime.
    #[error(
        "{0} already holds libtsan, the compiler's own thread sanitizer, which excludes the recorder's\n  \
         next: build it with `unsnarl cc` (as in CC=\"unsnarl cc\" make) and without -fsanitize=thread at the link"
    )]
    Libtsan(String),
    /// Built for path mode, but to be recorded otherwise.
    #[error(
        "{0} was built for --strategy path: its memory accesses cannot be recorded\n  \
         next: record it with --strategy path, or build it again with `unsnarl cc` (without --path and {variable}=path)",
        variable = crate::wrapper::build::VARIABLE
    )]
    ForPath(String),
    /// The program was not built for path mode, but is to be recorded in it.
    #[error(
        "{0} was not built for --strategy path\n  \
         next: build it with `unsnarl cc --path` (as in CC=\"unsnarl cc --path\" make, or with {variable}=path in the environment), \
         or record it with another strategy",
        variable = crate::wrapper::build::VARIABLE
    )]
    NotForPath(String),
    /// The program is not instrumented.
    #[error(
        "{name} was not built for recording\n  next: build it with `unsnarl cc` (as in {example}), then record again"
    )]
    NotInstrumented {
        /// The program.
        name: String,
        /// A command that builds it.
        example: String,
    },
}

/// Finds the program that a command names and checks that it can be recorded, by any strategy but `path`.
pub fn open(name: &OsStr, directory: &Path) -> Result<Target, TargetError> {
    open_built_for(BuildKind::Exact, name, directory)
}

/// Opens a program like [`open`], to repeat a recorded run. If the program is another build, its current sources are
/// used.
pub fn open_recorded(recorded: &RunMeta, directory: &Path) -> Result<Target, TargetError> {
    let mut target = open(recorded.program.as_ref(), directory)?;
    if target.program.build_id() == recorded.build_id {
        target.program.recall(recorded);
    }
    Ok(target)
}

/// Opens a program like [`open`], for the strategies that the kind of build serves.
pub fn open_built_for(
    build: BuildKind,
    name: &OsStr,
    directory: &Path,
) -> Result<Target, TargetError> {
    let shown = name.to_string_lossy().into_owned();
    let path = find(name, directory)?;
    if is_script(&path) {
        return Err(TargetError::Script(shown));
    }
    let program = ProgramDebugInfo::open(&path)?;
    match program.is_instrumented() {
        Instrumented::ByUnsnarl if build == BuildKind::Exact => {}
        Instrumented::ForPath if build == BuildKind::Path => {}
        Instrumented::ByUnsnarl => return Err(TargetError::NotForPath(shown)),
        Instrumented::ForPath => return Err(TargetError::ForPath(shown)),
        Instrumented::ByLibtsan => return Err(TargetError::Libtsan(shown)),
        Instrumented::No => {
            return Err(TargetError::NotInstrumented {
                name: shown,
                example: build_command::for_recording(&path, directory),
            });
        }
    }
    let mut warnings = Vec::new();
    if !program.has_debug_info() {
        warnings.push(format!(
            "{shown} has no debug info: sites will have no lines and variables no names\n  \
             next: build it with -g (`unsnarl cc` adds it) and don't strip it"
        ));
    }
    Ok(Target { program, warnings })
}

/// The program's file by an absolute path.
pub(crate) fn find(name: &OsStr, directory: &Path) -> Result<PathBuf, TargetError> {
    let shown = name.to_string_lossy().into_owned();
    let here = directory.join(name);
    if !shown.contains('/') {
        return in_path(name).ok_or_else(|| TargetError::NotFound {
            hint: is_executable(&here)
                .then(|| format!(" in PATH\n  next: say ./{shown} to mean the one in this folder")),
            name: shown,
        });
    }
    match fs::metadata(&here) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(TargetError::NotFound {
            name: shown,
            hint: None,
        }),
        Err(cause) => Err(ProgramError::Read { path: here, cause }.into()),
        Ok(status) if status.is_dir() => Err(TargetError::Folder(shown)),
        Ok(_) if is_executable(&here) => Ok(here),
        Ok(_) => Err(TargetError::NotExecutable(shown)),
    }
}

fn is_script(path: &Path) -> bool {
    use io::Read;
    let mut start = [0; 2];
    open_regular(path)
        .and_then(|(mut file, _)| file.read_exact(&mut start))
        .is_ok()
        && start == *b"#!"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, directory: &Path) -> TargetError {
        open(OsStr::new(name), directory).err().expect("refused")
    }

    #[test]
    fn what_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, mode: u32| {
            use std::os::unix::fs::PermissionsExt;
            let file = folder.path().join(name);
            fs::write(&file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        };
        write("text", 0o644);
        write("unsnarl-script", 0o755);
        assert!(matches!(
            refusal("./nothing", folder.path()),
            TargetError::NotFound { .. }
        ));
        fs::create_dir(folder.path().join("built")).unwrap();
        assert!(matches!(
            refusal("./built", folder.path()),
            TargetError::Folder(_)
        ));
        assert!(matches!(
            refusal("./text", folder.path()),
            TargetError::NotExecutable(_)
        ));
        assert!(matches!(
            refusal("./unsnarl-script", folder.path()),
            TargetError::Script(_)
        ));
        assert!(matches!(
            refusal("/bin/ls", folder.path()),
            TargetError::NotInstrumented { .. }
        ));
        let hint = refusal("unsnarl-script", folder.path()).to_string();
        assert!(hint.contains("./unsnarl-script"), "{hint}");
    }
}
