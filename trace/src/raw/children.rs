//! Claimants of the log where the recorder starts a script or another program that is not instrumented, and a child of
//! that is the program to record.
//!
//! The children inherit the log by its descriptor, or find it by its path ([`super::FILE_VARIABLE`]) when somebody between
//! has closed that. Those that may not claim it run as without a recorder.

/// The program that the recorder has started claims the log.
pub const STARTED: u32 = 0;
/// The first process whose program is [`chosen`](super::Header::chosen) claims the log.
pub const CHOSEN: u32 = 1;
/// Nobody claims the log: each instrumented program notes itself among the inputs, as its process number (`u32`), its
/// path and a zero. [`input_used`](super::Header::input_used) counts the bytes, those without room included.
pub const LISTED: u32 = 2;

/// Most bytes of a program's path.
pub const MOST_OF_PATH: usize = 4096;

/// Parses the notes of [`LISTED`]: processes with their programs, in the order of their starts.
pub fn listed(notes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = notes;
    core::iter::from_fn(move || {
        let (process, behind) = rest.split_first_chunk()?;
        let end = behind.iter().position(|byte| *byte == 0)?;
        let (path, behind) = behind.split_at_checked(end)?;
        rest = behind.get(1..)?;
        Some((u32::from_ne_bytes(*process), path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_far_as_they_are_whole() {
        let mut notes = Vec::new();
        for (process, path) in [(7u32, &b"/bin/a\0"[..]), (8, b"/bin/b\0"), (9, b"/bin/cut")] {
            notes.extend(process.to_ne_bytes());
            notes.extend(path);
        }
        let read: Vec<_> = listed(&notes).collect();
        assert_eq!(read, [(7, &b"/bin/a"[..]), (8, b"/bin/b")]);
    }
}
