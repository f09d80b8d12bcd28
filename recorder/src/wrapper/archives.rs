//! Objects inside of static libraries, which are linked as members of those.

use object::read::archive::ArchiveFile;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The contents of a library's members by their names.
type Members = BTreeMap<Vec<u8>, Vec<u8>>;

/// The static libraries among the files that are linked.
pub struct LinkedArchives {
    archives: Vec<(PathBuf, Members)>,
}

impl LinkedArchives {
    /// Reads the libraries among these files. A thin one, which only names its members, counts as empty.
    pub fn open(linked: &[PathBuf]) -> LinkedArchives {
        let archives = linked.iter().filter(|file| is_archive(file));
        let archives = archives.filter_map(|file| Some((file.clone(), members(file)?)));
        LinkedArchives {
            archives: archives.collect(),
        }
    }

    /// The library that has this object as a member, as it is now.
    pub fn holding(&self, object: &Path) -> Option<&Path> {
        let name = object.file_name()?.as_encoded_bytes();
        let mut named = self
            .archives
            .iter()
            .filter_map(|(file, members)| Some((file, members.get(name)?)))
            .peekable();
        named.peek()?;
        let content = fs::read(object).ok()?;
        let (file, _) = named.find(|(_, member)| **member == content)?;
        Some(file)
    }
}

/// Returns whether a file is a static library, by its name.
pub fn is_archive(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "a")
}

fn members(file: &Path) -> Option<Members> {
    let content = fs::read(file).ok()?;
    let archive = ArchiveFile::parse(content.as_slice()).ok()?;
    let members = archive.members().filter_map(|member| {
        let member = member.ok()?;
        let data = member.data(content.as_slice()).ok()?;
        Some((member.name().to_vec(), data.to_vec()))
    });
    Some(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_object_is_found_in_its_library() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let long = "a_name_of_more_than_sixteen_bytes.cpp.o";
        for name in ["a.o", long, "b.o"] {
            fs::write(at(name), format!("content of {name}")).unwrap();
        }
        let mut ar = Command::new("ar");
        ar.current_dir(folder.path());
        let made = ar.args(["qcS", "lib.a", "a.o", long]).status().unwrap();
        assert!(made.success());
        let archives = LinkedArchives::open(&[at("b.o"), at("lib.a")]);
        assert_eq!(archives.holding(&at("a.o")), Some(at("lib.a").as_path()));
        assert_eq!(archives.holding(&at(long)), Some(at("lib.a").as_path()));
        assert_eq!(archives.holding(&at("b.o")), None);
        fs::write(at("a.o"), "another content").unwrap();
        assert_eq!(archives.holding(&at("a.o")), None);
    }
}
