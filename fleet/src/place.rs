//! Files that are there as a whole or not at all.

use std::{
    fs::{FileTimes, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::SystemTime,
};

/// Puts a file into its place as a whole, with this time of its last modification.
pub(crate) fn place(path: &Path, bytes: &[u8], modified: Option<SystemTime>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != "");
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    let own = file.as_file();
    own.set_permissions(Permissions::from_mode(0o644))?;
    if let Some(modified) = modified {
        own.set_times(FileTimes::new().set_modified(modified))?;
    }
    file.persist(path)?;
    Ok(())
}
