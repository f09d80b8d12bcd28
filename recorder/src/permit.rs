//! Permission to execute a program: nothing that lies in a folder is executed because it lies there.
//!
//! Run files and schedules name a program, its arguments and the folder that it runs in, and anybody can have written
//! them. A [`Permit`] is what launching demands, and only this module makes one: because the user has named the
//! program, trusts it, or has recorded the same thing before on this machine, as the [`Ledger`] of the user's own files
//! says.

mod ledger;

pub use ledger::{Ledger, LedgerError};

use crate::assemble::MOST;
use crate::launch::{Request, parent::ParentProgram};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use unsnarl_trace::{
    RunMeta,
    files::read_regular,
    input::{EnvironmentVariable, RunInput},
};

/// Everything that decides what an execution does, except the order of threads and the user's own environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionInputs {
    /// The program's file.
    pub program: PathBuf,
    /// SHA-256 of that file as it is now.
    pub build_id: String,
    /// The program that is started in its place, and starts it.
    pub parent: Option<ParentProgram>,
    /// The name that the program, or its parent, is called by, and its arguments.
    pub command: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// Input that is given back to the program as if it came from outside.
    pub input: RunInput,
}

impl ExecutionInputs {
    /// The execution of a recorded run's program, whose file has this hash now.
    pub fn of(meta: &RunMeta, program: &Path, build_id: &str) -> ExecutionInputs {
        ExecutionInputs {
            program: program.to_owned(),
            build_id: build_id.to_owned(),
            parent: parent_of(meta.parent.as_deref()),
            command: meta.command.iter().map(OsString::from).collect(),
            directory: PathBuf::from(&meta.directory),
            input: meta.input.clone(),
        }
    }

    /// The hashes of the files that are executed: the program's, and its parent's if it has one.
    pub fn hashes(&self) -> impl Iterator<Item = &str> {
        let parent = self.parent.iter().map(|parent| parent.sha256.as_str());
        std::iter::once(self.build_id.as_str()).chain(parent)
    }

    /// Encodes the deed as one text that differs for different deeds.
    fn encoded(&self) -> Vec<u8> {
        let mut bytes = b"unsnarl deed 1\0".to_vec();
        let mut add = |part: &[u8]| {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        };
        // `/w/./prog` is `/w/prog`, and `/w/` is `/w`.
        let plain = |path: &Path| path.components().collect::<PathBuf>();
        add(plain(&self.program).as_os_str().as_bytes());
        add(self.build_id.as_bytes());
        // Run files keep paths and arguments as text, so that is what is compared.
        add(plain(&self.directory).to_string_lossy().as_bytes());
        add(&(self.command.len() as u64).to_le_bytes());
        for word in &self.command {
            add(word.to_string_lossy().as_bytes());
        }
        add(&digest(&self.input));
        if let Some(parent) = &self.parent {
            add(plain(&parent.path).as_os_str().as_bytes());
            add(parent.sha256.as_bytes());
        }
        bytes
    }
}

/// The parent program of a recorded run or a schedule as it is now. One that cannot be read has no hash, so that nobody
/// has recorded it.
pub fn parent_of(recorded: Option<&str>) -> Option<ParentProgram> {
    let path = PathBuf::from(recorded?);
    Some(ParentProgram::read(&path).unwrap_or(ParentProgram {
        path,
        sha256: String::new(),
    }))
}

/// Digest of a run's input; empty for a run without input from outside. The seed of random numbers does not count: a
/// recording may draw any numbers, too.
fn digest(input: &RunInput) -> Vec<u8> {
    if is_plain(input) {
        return Vec::new();
    }
    let mut hash = Sha256::new();
    hash.update(&input.bytes.0);
    for variable in variables(input) {
        hash.update(format!("{variable:?}"));
    }
    hash.finalize().to_vec()
}

/// Returns whether nothing came from outside, not even a variable that the program asked for.
fn is_plain(input: &RunInput) -> bool {
    input.bytes.0.is_empty() && variables(input).next().is_none()
}

/// The variables of the environment that decide what the program does: not those of language and time zone.
fn variables(input: &RunInput) -> impl Iterator<Item = &EnvironmentVariable> {
    let variables = input.environment.iter();
    variables.filter(|variable| !EnvironmentVariable::is_looked_up_by_library(&variable.name))
}

/// The user's decision about programs that no command line names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum UserTrust {
    /// No decision: only what the user has recorded is executed.
    #[default]
    Own,
    /// Programs with these hashes are executed as well.
    Builds(BTreeSet<String>),
    /// Every program is executed.
    All,
}

impl UserTrust {
    fn covers(&self, deed: &ExecutionInputs) -> bool {
        match self {
            UserTrust::Own => false,
            UserTrust::Builds(builds) => deed.hashes().all(|hash| builds.contains(hash)),
            UserTrust::All => true,
        }
    }
}

/// A permission to execute the program with this command in this folder.
#[derive(Clone, Debug)]
pub struct Permit {
    program: PathBuf,
    parent: Option<PathBuf>,
    command: Vec<OsString>,
    directory: PathBuf,
    input: Inputs,
    /// The build, if runs of it that are kept count as the user's own.
    vouches_for: Option<String>,
}

/// Inputs that may be given back to the program.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Inputs {
    Any,
    These(RunInput),
}

/// The refusal to execute a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "you have not recorded {}{} on this machine, so it is not executed\n  next: if you trust that program, say --trust",
    program.components().collect::<PathBuf>().display(),
    parent.as_ref().map_or_else(String::new, |parent| format!(" by {} as it is now", parent.display()))
)]
pub struct Refused {
    /// The parent program that would start it.
    pub parent: Option<PathBuf>,
    /// The program's file.
    pub program: PathBuf,
    /// SHA-256 of that file.
    pub build_id: String,
}

impl Permit {
    /// A permit for what the user has named for recording: its runs are the user's own from now on. The second value is
    /// the error if that could not be noted.
    #[must_use]
    pub fn recording(deed: ExecutionInputs) -> (Permit, Option<LedgerError>) {
        let noted = Ledger::open().and_then(|ledger| ledger.add(&deed));
        (Permit::for_any_input(deed), noted.err())
    }

    /// A permit for a program that the user has named on the command line, for this one execution.
    #[must_use]
    pub fn named(program: &Path, command: &[OsString], directory: &Path) -> Permit {
        Permit {
            program: program.to_owned(),
            parent: None,
            command: command.to_vec(),
            directory: directory.to_owned(),
            input: Inputs::Any,
            vouches_for: None,
        }
    }

    /// A permit for a parent program that the user has named on the command line, to learn which programs it starts.
    #[must_use]
    pub fn of_parent(parent: &ParentProgram, command: &[OsString], directory: &Path) -> Permit {
        Permit {
            parent: Some(parent.path.clone()),
            ..Permit::named(&parent.path, command, directory)
        }
    }

    /// A permit for what the user trusts, or has recorded before.
    pub fn ask(deed: ExecutionInputs, trust: &UserTrust) -> Result<Permit, Refused> {
        if trust.covers(&deed) {
            return Ok(Permit::for_any_input(deed));
        }
        if is_own(&deed) {
            return Ok(Permit {
                input: Inputs::These(deed.input.clone()),
                ..Permit::for_any_input(deed)
            });
        }
        Err(Refused {
            parent: deed.parent.map(|parent| parent.path),
            program: deed.program,
            build_id: deed.build_id,
        })
    }

    fn for_any_input(deed: ExecutionInputs) -> Permit {
        Permit {
            parent: deed.parent.map(|parent| parent.path),
            vouches_for: Some(deed.build_id),
            ..Permit::named(&deed.program, &deed.command, &deed.directory)
        }
    }

    /// The same permit for executions of which nothing is kept: none of their runs becomes the user's own.
    #[must_use]
    pub fn keeping_nothing(self) -> Permit {
        Permit {
            vouches_for: None,
            ..self
        }
    }

    /// Returns whether the permit is for this execution.
    pub(crate) fn covers(&self, request: &Request) -> bool {
        let parent = request.parent.as_ref().map(|parent| &parent.path);
        parent == self.parent.as_ref()
            && self.is_for(&request.program, &request.command, &request.directory)
    }

    /// Like [`Permit::covers`], for the separate parts of a deed.
    pub(crate) fn is_for(&self, program: &Path, command: &[OsString], directory: &Path) -> bool {
        self.program == program && self.command == command && self.directory == directory
    }

    /// Returns whether this input may be given back to the program.
    pub(crate) fn allows_input(&self, input: Option<&RunInput>) -> bool {
        match (&self.input, input) {
            (Inputs::Any, _) | (Inputs::These(_), None) => true,
            (Inputs::These(known), Some(input)) => {
                is_plain(input)
                    || known.bytes == input.bytes && variables(known).eq(variables(input))
            }
        }
    }

    /// Notes a run that was made under this permit, and that is kept, as the user's own.
    pub fn vouch(&self, run: &RunMeta) -> Result<(), LedgerError> {
        match &self.vouches_for {
            Some(build_id) => {
                Ledger::open()?.add(&ExecutionInputs::of(run, &self.program, build_id))
            }
            None => Ok(()),
        }
    }
}

/// Returns whether the user has recorded this before on this machine.
#[must_use]
pub fn is_own(deed: &ExecutionInputs) -> bool {
    Ledger::open().is_ok_and(|ledger| ledger.has(deed))
}

/// Returns whether the user has recorded such a run of the program as it is now. A program that cannot be read is
/// nobody's own.
#[must_use]
pub fn is_own_run(meta: &RunMeta) -> bool {
    let found = crate::target::find(OsStr::new(&meta.program), Path::new(&meta.directory));
    let hashed = found.ok().and_then(|program| {
        let bytes = read_regular(&program, MOST).ok()?;
        Some((program, crate::assemble::hash_of(&bytes)))
    });
    hashed
        .is_some_and(|(program, build_id)| is_own(&ExecutionInputs::of(meta, &program, &build_id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unsnarl_trace::input::Bytes;

    fn deed() -> ExecutionInputs {
        ExecutionInputs {
            program: "/w/prog".into(),
            build_id: "ab".into(),
            parent: None,
            command: vec!["./prog".into(), "1".into()],
            directory: "/w".into(),
            input: RunInput::default(),
        }
    }

    fn script(sha256: &str) -> ParentProgram {
        ParentProgram {
            path: "/w/test.sh".into(),
            sha256: sha256.to_owned(),
        }
    }

    #[test]
    fn a_script_is_trusted_by_its_own_hash() {
        let deed = ExecutionInputs {
            parent: Some(script("12")),
            ..deed()
        };
        let trusting = |hashes: &[&str]| {
            UserTrust::Builds(hashes.iter().copied().map(str::to_owned).collect())
        };
        let refused = Permit::ask(deed.clone(), &trusting(&["ab"])).unwrap_err();
        assert!(refused.to_string().contains("by /w/test.sh"), "{refused}");
        assert!(Permit::ask(deed, &trusting(&["ab", "12"])).is_ok());
    }

    #[test]
    fn every_part_of_a_deed_counts() {
        let other = |change: &dyn Fn(&mut ExecutionInputs)| {
            let mut other = deed();
            change(&mut other);
            other.encoded()
        };
        let all = [
            deed().encoded(),
            other(&|it| it.program = "/w/other".into()),
            other(&|it| it.build_id = "cd".into()),
            other(&|it| it.command = vec!["./prog1".into()]),
            other(&|it| it.command = vec!["./prog".into(), "2".into()]),
            other(&|it| it.directory = "/".into()),
            other(&|it| it.input.bytes = Bytes(vec![1])),
            other(&|it| it.parent = Some(script("12"))),
            other(&|it| it.parent = Some(script("34"))),
        ];
        let different: BTreeSet<&Vec<u8>> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let same = other(&|it| {
            it.program = "/w/./prog".into();
            it.directory = "/w/".into();
        });
        assert_eq!(same, deed().encoded());
    }

    #[test]
    fn what_was_recorded_or_is_trusted_may_run() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path().join("state")).unwrap();
        assert!(!ledger.has(&deed()));
        ledger.add(&deed()).unwrap();
        assert!(ledger.has(&deed()));
        let mut other = deed();
        other.build_id = "cd".into();
        assert!(!ledger.has(&other));
        let builds = UserTrust::Builds(BTreeSet::from(["cd".to_owned()]));
        assert!(Permit::ask(other.clone(), &builds).is_ok());
        assert!(Permit::ask(other.clone(), &UserTrust::All).is_ok());
        let refused = Permit::ask(other, &UserTrust::Own).unwrap_err().to_string();
        assert!(
            refused.contains("/w/prog") && refused.contains("--trust"),
            "{refused}"
        );
    }

    #[test]
    fn a_permit_is_for_one_command_in_one_folder() {
        let deed = deed();
        let permit = Permit::ask(deed.clone(), &UserTrust::All).unwrap();
        assert!(permit.is_for(&deed.program, &deed.command, &deed.directory));
        assert!(!permit.is_for(Path::new("/w/other"), &deed.command, &deed.directory));
        assert!(!permit.is_for(&deed.program, &[], &deed.directory));
        assert!(!permit.is_for(&deed.program, &deed.command, Path::new("/")));
    }

    #[test]
    fn other_input_needs_another_word() {
        let known = RunInput {
            bytes: Bytes(vec![1]),
            ..RunInput::default()
        };
        let other = RunInput {
            bytes: Bytes(vec![2]),
            ..RunInput::default()
        };
        let permit = Permit {
            input: Inputs::These(known.clone()),
            ..Permit::for_any_input(deed())
        };
        assert!(permit.allows_input(None) && permit.allows_input(Some(&known)));
        assert!(!permit.allows_input(Some(&other)));
    }
}
