//! Builds a program once more with some sources edited, from the notes of its compilation and linking. Nothing of the
//! user's is written: sources, objects and the program lie in a folder of their own.

use super::{
    arguments::{self, Word},
    noted::{self, Noted},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// Time after which a compiler counts as failed.
const LONGEST: Duration = Duration::from_secs(60);

/// Options that write the dependencies of a source, and those of them with an argument.
const DEPENDENCIES: [&str; 4] = ["-MD", "-MMD", "-MP", "-MG"];
const DEPENDENCIES_WITH: [&str; 3] = ["-MF", "-MT", "-MQ"];

/// An error that keeps a program from being built again.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// No note says how the program was linked: this user's compiler wrapper did not link it, or the note is gone.
    #[error("how {} was linked is not known", .0.display())]
    NotLinked(PathBuf),
    /// No linked object was made from the source.
    #[error("how {} gets into the program is not known", .0.display())]
    NoObject(PathBuf),
    /// The compiler reports errors.
    #[error("the edited program cannot be built: {0}")]
    Refused(String),
    /// A file cannot be written, or the compiler not be started.
    #[error("the edited program cannot be built: {0}")]
    Io(#[from] io::Error),
}

/// An edited source.
struct Edited {
    /// The user's file.
    file: PathBuf,
    /// The edited text.
    copy: PathBuf,
    /// The object that is linked in place of the source's.
    object: Option<Object>,
}

/// An object that is made from one source.
struct Object {
    known: PathBuf,
    new: PathBuf,
}

/// Builds `program` with these texts in place of the files, if no step takes longer than `time`. The new program lies
/// in `folder`; `unsnarl` is this program's own file, which stands in for the compiler.
///
/// # Errors
/// Fails if the notes do not tell how, or if the compiler reports errors.
pub fn rebuild(
    unsnarl: &Path,
    program: &Path,
    texts: &BTreeMap<PathBuf, String>,
    (folder, time): (&Path, Duration),
) -> Result<PathBuf, RebuildError> {
    let compiler = Compiler { unsnarl, time };
    let link = noted::of(program).ok_or_else(|| RebuildError::NotLinked(program.to_owned()))?;
    let mut edited = Vec::new();
    for (number, (file, text)) in texts.iter().enumerate() {
        edited.push(write(number, file, text, folder)?);
    }
    let inputs = inputs(&link);
    for one in &mut edited {
        if !inputs.contains(&one.file) {
            compile(&compiler, one, &inputs)?;
        }
    }
    let new = folder.join("program");
    let words = replaced(&link, &edited, &new);
    compiler.start(&link, words, &edited)?;
    Ok(new)
}

fn write(number: usize, file: &Path, text: &str, folder: &Path) -> Result<Edited, RebuildError> {
    let own = folder.join(number.to_string());
    fs::create_dir_all(&own)?;
    let file = file.canonicalize()?;
    let name = file
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let copy = own.join(name);
    fs::write(&copy, text)?;
    Ok(Edited {
        file,
        copy,
        object: None,
    })
}

/// The files that a command is given.
fn inputs(noted: &Noted) -> Vec<PathBuf> {
    let words = words(noted);
    let files = words.iter().filter_map(|word| input(noted, word));
    files.collect()
}

fn words(noted: &Noted) -> Vec<Word> {
    let given = noted.arguments.iter().skip(1).map(OsString::from);
    arguments::read(&given.collect::<Vec<_>>()).words
}

/// The existing file that a word names, if it is an input.
fn input(noted: &Noted, word: &Word) -> Option<PathBuf> {
    let is_option = word.argument.is_some() || word.lossy().starts_with('-');
    let path = noted.directory.join(&word.text);
    path.canonicalize().ok().filter(|_| !is_option)
}

/// Compiles an edited source to an object that takes the place of the one that was linked.
fn compile(
    compiler: &Compiler<'_>,
    edited: &mut Edited,
    linked: &[PathBuf],
) -> Result<(), RebuildError> {
    let unknown = || RebuildError::NoObject(edited.file.clone());
    let noted = noted::of(&edited.file).ok_or_else(unknown)?;
    let words = words(&noted);
    let output = words.iter().find_map(|word| word.value_of("-o"));
    let name = match output {
        Some(name) => PathBuf::from(name),
        None => PathBuf::from(edited.file.file_stem().ok_or_else(unknown)?).with_extension("o"),
    };
    let known = noted.directory.join(name).canonicalize();
    let known = known.ok().filter(|object| linked.contains(object));
    let known = known.ok_or_else(unknown)?;
    let new = edited.copy.with_extension("new.o");
    let words = replaced(&noted, std::slice::from_ref(edited), &new);
    compiler.start(&noted, words, std::slice::from_ref(edited))?;
    edited.object = Some(Object { known, new });
    Ok(())
}

/// The words of a command with other inputs and another output.
fn replaced(noted: &Noted, edited: &[Edited], output: &Path) -> Vec<OsString> {
    let mut all = Vec::new();
    for word in words(noted) {
        let is_other = word.is_one_of(&DEPENDENCIES)
            || DEPENDENCIES_WITH
                .iter()
                .any(|option| word.value_of(option).is_some())
            || word.value_of("-o").is_some();
        if is_other {
            continue;
        }
        match input(noted, &word).and_then(|file| instead(&file, edited)) {
            Some(other) => all.push(other.into_os_string()),
            None => all.extend(word.parts()),
        }
    }
    all.extend(["-o".into(), output.as_os_str().to_owned()]);
    all
}

fn instead(file: &Path, edited: &[Edited]) -> Option<PathBuf> {
    edited.iter().find_map(|one| match &one.object {
        Some(object) if object.known == file => Some(object.new.clone()),
        _ if one.file == file => Some(one.copy.clone()),
        _ => None,
    })
}

/// Unsnarl itself as a compiler.
struct Compiler<'a> {
    unsnarl: &'a Path,
    time: Duration,
}

impl Compiler<'_> {
    /// Starts it in its folder. Headers beside the user's file are found, and debug info names that file.
    fn start(
        &self,
        noted: &Noted,
        words: Vec<OsString>,
        edited: &[Edited],
    ) -> Result<(), RebuildError> {
        let compiler = noted.arguments.first().map_or("cc", String::as_str);
        let time = self.time.min(LONGEST).as_secs_f64();
        let mut command = Command::new("timeout");
        command
            .arg(format!("{time:.3}"))
            .arg(self.unsnarl)
            .arg("cc");
        command.args(compiler.split_whitespace()).args(words);
        for one in edited {
            command.args(as_if_in_place(one));
        }
        command.env(noted::UNNOTED, "1");
        let command = command.current_dir(&noted.directory).stdin(Stdio::null());
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut errors = said.lines().filter(|line| line.contains("error"));
        let first = errors
            .next()
            .or(said.lines().next())
            .unwrap_or("it takes too long");
        Err(RebuildError::Refused(first.to_owned()))
    }
}

/// Options that compile an edited copy as if it lay in the folder of the user's file.
fn as_if_in_place(edited: &Edited) -> Vec<OsString> {
    let (Some(own), Some(new)) = (edited.file.parent(), edited.copy.parent()) else {
        return Vec::new();
    };
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(new);
    map.push("=");
    map.push(own);
    vec!["-iquote".into(), own.into(), map]
}
