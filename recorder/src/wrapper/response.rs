//! Response files: `@FILE` on a command line stands for the words in the file.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

/// Response files inside response files: a file that names itself must not loop.
const MAX_DEPTH: u32 = 16;

/// The command line with its response files expanded. As the compilers do it, a file that cannot be
/// read leaves the word as it stands.
pub fn expand(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words = Vec::new();
    for argument in arguments {
        expand_word(argument, 0, &mut words);
    }
    words
}

fn expand_word(word: OsString, depth: u32, words: &mut Vec<OsString>) {
    let content = match word.as_bytes().strip_prefix(b"@") {
        Some(file) if depth < MAX_DEPTH => fs::read(Path::new(OsStr::from_bytes(file))).ok(),
        _ => None,
    };
    match content {
        Some(content) => split(&content)
            .into_iter()
            .for_each(|word| expand_word(word, depth + 1, words)),
        None => words.push(word),
    }
}

/// Words in the compilers' quoting: blanks separate; `'`, `"` and `\` quote.
fn split(content: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// The content of a response file that stands for these words.
pub fn quote(words: &[OsString]) -> Vec<u8> {
    let mut content = Vec::new();
    for word in words {
        content.push(b'"');
        for byte in word.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                content.push(b'\\');
            }
            content.push(*byte);
        }
        content.extend(b"\"\n");
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quoting_as_the_compilers_do_it() {
        let words = split(b" -c  'a b.c'\n-DX=\\\"y\\\" \"q 'r\" '' x\\ y ");
        assert_eq!(words, ["-c", "a b.c", "-DX=\"y\"", "q 'r", "", "x y"]);
    }

    #[test]
    fn files_in_files_and_missing_ones() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        let outer = folder.path().join("outer");
        fs::write(&inner, format!("-b @{}", inner.display())).unwrap();
        fs::write(&outer, format!("-a @{} @nowhere", inner.display())).unwrap();
        let words = expand([
            OsString::from(format!("@{}", outer.display())),
            "z.c".into(),
        ]);
        assert_eq!(
            words.iter().filter(|word| *word == "-b").count(),
            15,
            "ends where files nest too deep"
        );
        assert_eq!(words.first().unwrap(), "-a");
        assert_eq!(&words[words.len() - 2..], ["@nowhere", "z.c"]);
    }

    proptest! {
        #[test]
        fn quote_and_split_agree(words in proptest::collection::vec("[ -~\n]{0,8}", 0..6)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            prop_assert_eq!(split(&quote(&words)), words);
        }
    }
}
