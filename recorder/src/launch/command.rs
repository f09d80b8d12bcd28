//! The command that starts a program, from the beginning or as a server of copies.

use super::{Request, stack};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::Command,
};
use unsnarl_trace::raw::{FD_VARIABLE, FILE_VARIABLE, FILLER, VALUE_ALIGNMENT};

/// The kernel puts arguments and environment above the stack of `main` as one block of bytes; its length
/// is made a multiple of this, so that stack and arguments lie at the same place however long the
/// environment is.
const BLOCK: usize = 32 << 10;

/// The number of pointers to them, which lie on that stack, is made a multiple of this.
const POINTERS: usize = 256;

/// Descriptors by which a program gets its log.
pub struct LogAccess<'fd> {
    /// The one that it inherits.
    pub inherited: BorrowedFd<'fd>,
    /// One of this process, which whoever has not inherited the other opens by its path. It stays open during the run.
    pub own: BorrowedFd<'fd>,
}

/// The program, or its parent, with its arguments in its directory, in a process group of its own; the number of the
/// descriptor that it inherits stands in its environment.
pub fn command(request: &Request, log: &LogAccess<'_>) -> Command {
    let mut command = Command::new(request.started());
    if let Some((name, arguments)) = request.command.split_first() {
        command.arg0(name).args(arguments);
    }
    command.current_dir(&request.directory).process_group(0);
    let number = log.inherited.as_raw_fd();
    let mut given = request.environment.clone();
    if request.parent.is_some() {
        given.insert(file_variable(), Some(path_of(log.own.as_raw_fd())));
        end_with_this_process(&mut command);
    }
    command.env_clear();
    stack::set(&mut command, request.stack);
    command.envs(variables(
        request.started(),
        &request.command,
        &given,
        number,
    ));
    command
}

/// Makes the kernel end a program when this process ends, or the thread that starts it. An instrumented program asks for
/// that itself.
pub fn end_with_this_process(command: &mut Command) {
    let end = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: makes one system call in the child.
    unsafe { command.pre_exec(end) };
}

/// A path of a descriptor of this process.
fn path_of(number: i32) -> OsString {
    format!("/proc/{}/fd/{number}", std::process::id()).into()
}

fn file_variable() -> OsString {
    FILE_VARIABLE.to_string_lossy().into_owned().into()
}

/// Variables that a run is to have other than this process: their value, or `None` for those that are not set.
pub type Given = BTreeMap<OsString, Option<OsString>>;

/// The environment of a run: that of this process with what is given, filled up with variables that begin with
/// [`FILLER`], which the runtime takes away to align the others in their place.
pub fn variables(
    program: &Path,
    command: &[OsString],
    given: &Given,
    descriptor: i32,
) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> = env::vars_os().collect();
    for (name, value) in given {
        match value {
            Some(value) => variables.insert(name.clone(), value.clone()),
            None => variables.remove(name),
        };
    }
    let (own, filler) = (FD_VARIABLE.to_string_lossy(), FILLER.to_string_lossy());
    let is_own = |name: &str| name.starts_with(own.as_ref()) || name.starts_with(filler.as_ref());
    variables.retain(|name, _| !is_own(&name.to_string_lossy()));
    let file = file_variable();
    variables.extend(given.get(&file).cloned().flatten().map(|path| (file, path)));
    variables.insert(own.as_ref().into(), descriptor.to_string().into());
    let room = variables.len() * VALUE_ALIGNMENT;
    let pointers = command.len() + variables.len() + 1;
    for number in 0..pointers.next_multiple_of(POINTERS) - pointers {
        variables.insert(format!("{filler}_{number}").into(), OsString::new());
    }
    variables.insert(filler.as_ref().into(), OsString::new());
    let short = block(program, command, &variables) + room;
    let width = room + short.next_multiple_of(BLOCK) - short;
    variables.insert(filler.as_ref().into(), "-".repeat(width).into());
    variables
}

/// Bytes of arguments, environment and the program's path.
fn block(program: &Path, command: &[OsString], variables: &BTreeMap<OsString, OsString>) -> usize {
    let variables = variables.iter();
    let variables: usize = variables
        .map(|(name, value)| name.len() + "=".len() + ended(value))
        .sum();
    let words: usize = command.iter().map(|word| ended(word)).sum();
    variables + words + ended(program.as_os_str())
}

/// Length with the zero at the end.
fn ended(text: &OsStr) -> usize {
    text.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(given: &Given) -> (usize, usize, OsString) {
        let (program, command) = (Path::new("/bin/prog"), [OsString::from("prog")]);
        let variables = variables(program, &command, given, 7);
        let value = variables.get(OsStr::new("UNSNARL_LOG_FD")).cloned();
        (
            block(program, &command, &variables) % BLOCK,
            (command.len() + variables.len()) % POINTERS,
            value.unwrap_or_default(),
        )
    }

    #[test]
    fn fillers_come_first_and_leave_room_to_align_the_others() {
        let (program, command) = (Path::new("/bin/prog"), [OsString::from("prog")]);
        let filled = |given: &Given| variables(program, &command, given, 7);
        let free = filled(&Given::new())[OsStr::new("!UNSNARL")].len();
        for length in (free.saturating_sub(BLOCK / 8)..free).step_by(61) {
            let given = Given::from([("+".into(), Some("x".repeat(length).into()))]);
            let variables = filled(&given);
            let is_filler = |name: &OsStr| name.to_string_lossy().starts_with("!UNSNARL");
            let fillers = variables.iter().take_while(|(name, _)| is_filler(name));
            let room: usize = fillers
                .map(|(name, value)| name.len() + 1 + ended(value))
                .sum();
            let others = variables.keys().filter(|name| !is_filler(name)).count();
            assert!(room >= others * VALUE_ALIGNMENT, "{room} for {others}");
        }
    }

    #[test]
    fn the_block_has_one_shape_whatever_the_environment_is() {
        for number in [0, 1, 63, 200] {
            let set = |n| (format!("X{n}").into(), Some("value".repeat(n).into()));
            let given: Given = (0..number).map(set).collect();
            let (bytes, pointers, value) = shape(&given);
            assert_eq!((bytes, pointers), (0, 0), "{number} variables");
            assert_eq!(value, "7");
        }
    }

    #[test]
    fn what_is_given_counts() {
        let given = Given::from([("PATH".into(), None), ("MOOD".into(), Some("3".into()))]);
        let (program, command) = (Path::new("/bin/prog"), [OsString::from("prog")]);
        let variables = variables(program, &command, &given, 7);
        assert!(!variables.contains_key(OsStr::new("PATH")));
        assert_eq!(variables.get(OsStr::new("MOOD")), Some(&"3".into()));
    }
}
