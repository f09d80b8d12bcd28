//! Stands in for the assembler in builds for path mode: the compiler's text gets its notes
//! ([`super::assembly`]), then the real assembler does the work.

use super::{assembly, compiler};
use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The name under which compilers look for an assembler.
pub const NAME: &str = "as";
/// Tells this stand-in that the code is for a shared library; the real assembler defines a symbol that
/// nobody uses.
pub const SHARED: &str = "unsnarl_shared=1";

/// Options whose argument stands as a word of its own.
const WITH_ARGUMENT: [&str; 5] = ["-o", "-I", "--defsym", "--MD", "--debug-prefix-map"];

/// Assembles.
pub fn run(arguments: &[OsString]) -> io::Result<ExitCode> {
    let itself = std::env::current_exe()?.canonicalize()?;
    let real = real(&itself).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "there is no assembler\n  next: install one (Debian: apt-get install binutils)",
        )
    })?;
    let mut command = Command::new(real);
    let Some((input, text)) = read_input(arguments)? else {
        return status(command.args(arguments));
    };
    let is_shared = arguments.iter().any(|word| word == OsStr::new(SHARED));
    let annotated = assembly::annotate(&text, is_shared);
    if annotated.is_none() && text.contains(".ident") {
        let file = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(".file"));
        let file = file.unwrap_or(" a file").trim();
        eprintln!("unsnarl: warning: the path through {file} cannot be recorded");
    }
    let mut file = tempfile::Builder::new()
        .prefix("unsnarl-")
        .suffix(".s")
        .tempfile()?;
    file.write_all(annotated.unwrap_or(text).as_bytes())?;
    let given = arguments.iter().enumerate();
    command.args(
        given
            .filter(|(at, _)| Some(*at) != input)
            .map(|(_, word)| word),
    );
    status(command.arg(file.path()))
}

fn status(command: &mut Command) -> io::Result<ExitCode> {
    let code = command.status()?.code();
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// The first assembler in the search path that is not this program.
fn real(itself: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let files = std::env::split_paths(&path).map(|folder| folder.join(NAME));
    let mut usable = files.filter(|file| compiler::is_executable(file));
    usable.find(|file| file.canonicalize().is_ok_and(|file| file != itself))
}

/// The text to assemble and which word names it, none for standard input. `None` when there is nothing
/// to assemble, or not one text that can be read: that is the real assembler's to say.
fn read_input(arguments: &[OsString]) -> io::Result<Option<(Option<usize>, String)>> {
    let mut inputs = Vec::new();
    let mut words = arguments.iter().enumerate();
    while let Some((at, word)) = words.next() {
        let text = word.to_string_lossy();
        if matches!(text.as_ref(), "--version" | "--help" | "--target-help")
            || text.starts_with('@')
        {
            return Ok(None);
        }
        if WITH_ARGUMENT.contains(&text.as_ref()) {
            words.next();
        } else if !text.starts_with('-') || matches!(text.as_ref(), "-" | "--") {
            inputs.push((at, word));
        }
    }
    let (at, bytes) = match inputs.as_slice() {
        [(at, file)] if *file != "-" && *file != "--" => match fs::read(file) {
            Ok(bytes) => (Some(*at), bytes),
            Err(_) => return Ok(None),
        },
        [] | [_] => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes)?;
            (inputs.first().map(|(at, _)| *at), bytes)
        }
        _ => return Ok(None),
    };
    // Text in another encoding is a string of the program's at most.
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some((at, text))),
        Err(error) if at.is_none() => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(_) => Ok(None),
    }
}
