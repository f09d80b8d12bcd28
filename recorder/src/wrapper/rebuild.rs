//! Builds a program once more with some sources edited, from the notes of its compilation and linking. Nothing of the
//! user's is written: sources, objects and the program lie in a folder of their own.

use super::{
    archives::{self, LinkedArchives},
    arguments::{self, CommandWord},
    mirror::Mirror,
    noted::{self, Noted},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
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
struct EditedSource {
    /// The user's file.
    file: PathBuf,
    /// The edited text.
    copy: PathBuf,
    /// The object that is linked in place of the source's.
    object: Option<RebuiltObject>,
}

/// An object that is made from one source.
struct RebuiltObject {
    known: KnownObject,
    new: PathBuf,
}

/// The linked object that was made from a source before.
#[derive(Clone, PartialEq, Eq)]
enum KnownObject {
    /// It is linked by itself, and the new one takes its place.
    File(PathBuf),
    /// It is in this static library. The new one comes before the library, so that nothing asks for the old one.
    Member(PathBuf),
}

impl KnownObject {
    /// Finds an object among the files that are linked.
    fn of(object: &Path, linked: &[PathBuf], archives: &LinkedArchives) -> Option<KnownObject> {
        if linked.iter().any(|file| file == object) {
            return Some(KnownObject::File(object.to_owned()));
        }
        let archive = archives.holding(object)?;
        Some(KnownObject::Member(archive.to_owned()))
    }
}

/// Builds `program` with these texts in place of the files, in so much `time` at most. The new program lies
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
    let compiler = SelfAsCompiler {
        unsnarl,
        end: Instant::now() + time,
    };
    let link = noted::of(program).ok_or_else(|| RebuildError::NotLinked(program.to_owned()))?;
    let known = |file: &PathBuf| noted::is_source(file) && noted::of(file).is_some();
    if !texts.keys().all(known) {
        return with_headers(&compiler, &link, texts, folder);
    }
    let mut edited = Vec::new();
    for (number, (file, text)) in texts.iter().enumerate() {
        edited.push(write(number, file, text, folder)?);
    }
    let inputs = inputs(&link);
    let archives = LinkedArchives::open(&inputs);
    for one in &mut edited {
        if !inputs.contains(&one.file) {
            compile(&compiler, one, (&inputs, &archives))?;
        }
    }
    let new = folder.join("program");
    let words = replaced(&link, &edited, &new);
    let place = CompilerFolder::beside(&link, &edited);
    compiler.start(&link, words, &place)?;
    Ok(new)
}

/// Builds the program with edited headers: everything that is linked is compiled again, in a mirror of its folders.
fn with_headers(
    compiler: &SelfAsCompiler<'_>,
    link: &Noted,
    texts: &BTreeMap<PathBuf, String>,
    folder: &Path,
) -> Result<PathBuf, RebuildError> {
    let folder = folder.canonicalize()?;
    let texts = texts
        .iter()
        .map(|(file, text)| Ok((file.canonicalize()?, text.clone())));
    let texts: BTreeMap<PathBuf, String> = texts.collect::<io::Result<_>>()?;
    let linked = inputs(link);
    let compiled = compilations(&linked)?;
    let all = || compiled.values().map(|(_, noted)| noted).chain([link]);
    let sources = all().flat_map(inputs).filter(|file| noted::is_source(file));
    let sources: BTreeSet<PathBuf> = sources.collect();
    let folders = sources
        .iter()
        .filter_map(|file| file.parent().map(Path::to_owned));
    let given = all().map(|noted| noted.directory.canonicalize());
    let given: Vec<PathBuf> = given.collect::<io::Result<_>>()?;
    let mirror = Mirror::new(
        folder.join("mirror"),
        &texts,
        &folders.chain(given).collect(),
    )?;
    let mut seen = BTreeSet::new();
    let mut objects = Vec::new();
    for (number, (known, noted)) in compiled.values().enumerate() {
        let new = folder.join(format!("{number}.o"));
        let words = replaced(noted, &[], &new);
        seen.extend(compiler.mirrored(noted, words, (&mirror, &texts))?);
        objects.push(EditedSource {
            file: noted.file.clone(),
            copy: mirror.place(&noted.file),
            object: Some(RebuiltObject {
                known: known.clone(),
                new,
            }),
        });
    }
    let new = folder.join("program");
    let words = replaced(link, &objects, &new);
    seen.extend(compiler.mirrored(link, words, (&mirror, &texts))?);
    match texts
        .keys()
        .find(|file| !sources.contains(*file) && !seen.contains(*file))
    {
        Some(file) => Err(RebuildError::NoObject(file.clone())),
        None => Ok(new),
    }
}

/// The compilations of the linked objects, by themselves and in static libraries. What else such a library has is another
/// compiler's, and includes no header of the user's.
fn compilations(
    linked: &[PathBuf],
) -> Result<BTreeMap<PathBuf, (KnownObject, Noted)>, RebuildError> {
    let archives = LinkedArchives::open(linked);
    let mut found: BTreeMap<PathBuf, (KnownObject, Noted)> = BTreeMap::new();
    for noted in noted::all() {
        let Some(object) = object(&noted) else {
            continue;
        };
        let Some(known) = KnownObject::of(&object, linked, &archives) else {
            continue;
        };
        // Two sources cannot both have made it.
        if found.insert(object.clone(), (known, noted)).is_some() {
            return Err(RebuildError::NoObject(object));
        }
    }
    let is_known = |file: &PathBuf| {
        noted::is_source(file) || archives::is_archive(file) || found.contains_key(file)
    };
    match linked.iter().find(|file| !is_known(file)) {
        Some(file) => Err(RebuildError::NoObject(file.clone())),
        None => Ok(found),
    }
}

/// The object that a compilation made of its source, if both are there.
fn object(noted: &Noted) -> Option<PathBuf> {
    let words = words(noted);
    let output = words.iter().find_map(|word| word.value_of("-o"));
    let name = match output {
        Some(name) => PathBuf::from(name),
        None => PathBuf::from(noted.file.file_stem()?).with_extension("o"),
    };
    let is_there = noted::is_source(&noted.file) && noted.file.exists();
    let object = noted.directory.join(name).canonicalize().ok();
    object.filter(|_| is_there)
}

fn write(
    number: usize,
    file: &Path,
    text: &str,
    folder: &Path,
) -> Result<EditedSource, RebuildError> {
    let own = folder.join(number.to_string());
    fs::create_dir_all(&own)?;
    let file = file.canonicalize()?;
    let name = file
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let copy = own.join(name);
    fs::write(&copy, text)?;
    Ok(EditedSource {
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

fn words(noted: &Noted) -> Vec<CommandWord> {
    let given = noted.arguments.iter().skip(1).map(OsString::from);
    arguments::read(&given.collect::<Vec<_>>()).words
}

/// The existing file that a word names, if it is an input.
fn input(noted: &Noted, word: &CommandWord) -> Option<PathBuf> {
    let is_option = word.argument.is_some() || word.lossy().starts_with('-');
    let path = noted.directory.join(&word.text);
    path.canonicalize().ok().filter(|_| !is_option)
}

/// Compiles an edited source to an object that takes the place of the one that was linked.
fn compile(
    compiler: &SelfAsCompiler<'_>,
    edited: &mut EditedSource,
    (linked, archives): (&[PathBuf], &LinkedArchives),
) -> Result<(), RebuildError> {
    let unknown = || RebuildError::NoObject(edited.file.clone());
    let noted = noted::of(&edited.file).ok_or_else(unknown)?;
    let known = object(&noted).and_then(|object| KnownObject::of(&object, linked, archives));
    let known = known.ok_or_else(unknown)?;
    let new = edited.copy.with_extension("new.o");
    let words = replaced(&noted, std::slice::from_ref(edited), &new);
    let place = CompilerFolder::beside(&noted, std::slice::from_ref(edited));
    compiler.start(&noted, words, &place)?;
    edited.object = Some(RebuiltObject { known, new });
    Ok(())
}

/// The words of a command with other inputs and another output.
fn replaced(noted: &Noted, edited: &[EditedSource], output: &Path) -> Vec<OsString> {
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
        let file = input(noted, &word);
        all.extend(file.iter().flat_map(|file| members(file, edited)));
        match file.and_then(|file| instead(&file, edited)) {
            Some(other) => all.push(other.into_os_string()),
            None => all.extend(word.parts()),
        }
    }
    all.extend(["-o".into(), output.as_os_str().to_owned()]);
    all
}

/// The new objects that come before a static library.
fn members(archive: &Path, edited: &[EditedSource]) -> Vec<OsString> {
    let known = KnownObject::Member(archive.to_owned());
    let objects = edited.iter().filter_map(|one| one.object.as_ref());
    let objects = objects.filter(|object| object.known == known);
    objects.map(|object| object.new.clone().into()).collect()
}

fn instead(file: &Path, edited: &[EditedSource]) -> Option<PathBuf> {
    edited.iter().find_map(|one| match &one.object {
        Some(object) if object.known == KnownObject::File(file.to_owned()) => {
            Some(object.new.clone())
        }
        _ if one.file == file => Some(one.copy.clone()),
        _ => None,
    })
}

/// Unsnarl itself as a compiler.
struct SelfAsCompiler<'a> {
    unsnarl: &'a Path,
    /// Time at which it has to be done.
    end: Instant,
}

/// The folder in which a compiler is started, and the options that make it the user's for what is compiled.
struct CompilerFolder {
    directory: PathBuf,
    options: Vec<OsString>,
}

impl CompilerFolder {
    /// The user's own folder: headers beside the user's file are found, and debug info names that file.
    fn beside(noted: &Noted, edited: &[EditedSource]) -> CompilerFolder {
        CompilerFolder {
            directory: noted.directory.clone(),
            options: edited.iter().flat_map(as_if_in_place).collect(),
        }
    }
}

impl SelfAsCompiler<'_> {
    /// Starts it; returns what it prints for people.
    fn start(
        &self,
        noted: &Noted,
        words: Vec<OsString>,
        place: &CompilerFolder,
    ) -> Result<String, RebuildError> {
        let compiler = noted.arguments.first().map_or("cc", String::as_str);
        let left = self.end.saturating_duration_since(Instant::now());
        // No time at all would mean no limit.
        let time = left.clamp(Duration::from_millis(1), LONGEST).as_secs_f64();
        let mut command = Command::new("timeout");
        command
            .arg(format!("{time:.3}"))
            .arg(self.unsnarl)
            .arg("cc");
        command.args(compiler.split_whitespace()).args(words);
        command.args(&place.options);
        command.env(noted::UNNOTED, "1");
        let command = command.current_dir(&place.directory).stdin(Stdio::null());
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        // Lines with points name headers.
        let mut lines = said.lines().filter(|line| !line.starts_with('.'));
        let first = lines.clone().find(|line| line.contains("error"));
        let first = first.or(lines.next()).unwrap_or("it takes too long");
        Err(RebuildError::Refused(first.to_owned()))
    }

    /// Starts it in a mirror; returns the user's files whose edited texts it included.
    fn mirrored(
        &self,
        noted: &Noted,
        words: Vec<OsString>,
        (mirror, texts): (&Mirror, &BTreeMap<PathBuf, String>),
    ) -> Result<BTreeSet<PathBuf>, RebuildError> {
        let mut map = OsString::from("-ffile-prefix-map=");
        map.push(&mirror.folder);
        map.push("=");
        map.push(&mirror.root);
        let place = CompilerFolder {
            directory: mirror.place(&noted.directory.canonicalize()?),
            options: vec!["-H".into(), map],
        };
        let words = words.iter().map(|word| mirror.word(word)).collect();
        let said = self.start(noted, words, &place)?;
        let mut seen = BTreeSet::new();
        for line in said.lines() {
            let other = |why: &str| Err(RebuildError::Refused(format!("{why}: {line}")));
            // A precompiled header holds what was included when it was made.
            if line.starts_with("! ") {
                return other("a precompiled header is used");
            }
            let named = line.trim_start_matches('.').strip_prefix(' ');
            let Some(named) = named.filter(|_| line.starts_with('.')) else {
                continue;
            };
            let Ok(file) = place.directory.join(named).canonicalize() else {
                continue;
            };
            if texts.contains_key(&file) {
                return other("the edited header is not the one that is included");
            }
            if let Ok(rest) = file.strip_prefix(&mirror.folder) {
                seen.insert(mirror.root.join(rest));
            }
        }
        Ok(seen)
    }
}

/// Options that compile an edited copy as if it lay in the folder of the user's file.
fn as_if_in_place(edited: &EditedSource) -> Vec<OsString> {
    let (Some(own), Some(new)) = (edited.file.parent(), edited.copy.parent()) else {
        return Vec::new();
    };
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(new);
    map.push("=");
    map.push(own);
    vec!["-iquote".into(), own.into(), map]
}
