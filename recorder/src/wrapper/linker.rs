//! Options for the linker, however they are spelled: `-Wl,A,B`, `-Xlinker A`, `-z A`.

use super::arguments::{self, CommandWord};
use std::ffi::OsString;

/// The word that makes the linker take static libraries only, if one does and no later word turns that off.
pub fn ends_static(words: &[CommandWord]) -> Option<String> {
    let mut modes = words
        .iter()
        .flat_map(CommandWord::linker_words)
        .filter_map(|word| match word.as_str() {
            "-Bstatic" | "-static" | "-dn" | "-non_shared" => Some(Some(word)),
            "-Bdynamic" | "-dy" | "-call_shared" => Some(None),
            _ => None,
        });
    modes.next_back().flatten()
}

/// The command line of a shared library without `-z defs` and `--no-undefined`: the callbacks come
/// from the program that loads the library, so they are undefined on purpose. (`-z undefs` behind
/// them would do too, but not every linker knows it.)
pub fn without_ban_on_undefined(words: Vec<OsString>) -> Vec<OsString> {
    let words = arguments::read(&words).words;
    let said: Vec<(usize, String)> = words
        .iter()
        .enumerate()
        .flat_map(|(at, word)| said(word).into_iter().map(move |text| (at, text)))
        .collect();
    let banned = banned(&said);
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let own = || (0..).zip(&said).filter(|(_, (of, _))| *of == at);
        if !own().any(|(place, _)| banned.contains(&place)) {
            kept.extend(
                [Some(word.text.clone()), word.argument.clone()]
                    .into_iter()
                    .flatten(),
            );
            continue;
        }
        let rest = own().filter(|(place, _)| !banned.contains(place));
        let rest: Vec<&str> = rest.map(|(_, (_, text))| text.as_str()).collect();
        if !rest.is_empty() {
            kept.push(format!("-Wl,{}", rest.join(",")).into());
        }
    }
    kept
}

/// The linker's words in one word, the driver's own `-z` included.
fn said(word: &CommandWord) -> Vec<String> {
    match word.value_of("-z") {
        Some(value) => vec!["-z".to_owned(), value],
        None => word.linker_words(),
    }
}

/// Positions of the words that forbid undefined symbols.
fn banned(said: &[(usize, String)]) -> Vec<usize> {
    let mut places = Vec::new();
    for (place, (_, text)) in said.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| said.get(before));
        if text == "defs" && before.is_some_and(|(_, text)| text == "-z") {
            places.extend([place - 1, place]);
        } else if matches!(text.as_str(), "--no-undefined" | "-no-undefined" | "-zdefs") {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn undefined_symbols_are_allowed_in_every_spelling() {
        for (line, left) in [
            ("-shared x.o -Wl,-z,defs -o x.so", "-shared x.o -o x.so"),
            ("-shared -Wl,-z -Wl,defs x.o", "-shared x.o"),
            ("-shared -z defs x.o -z now", "-shared x.o -z now"),
            ("-shared -zdefs x.o", "-shared x.o"),
            ("-shared -Xlinker -z -Xlinker defs x.o", "-shared x.o"),
            (
                "-shared -Wl,-O1,--no-undefined,-z,relro,-z,defs x.o",
                "-shared -Wl,-O1,-z,relro x.o",
            ),
            (
                "-shared -Wl,-soname,defs x.o",
                "-shared -Wl,-soname,defs x.o",
            ),
        ] {
            assert_eq!(without_ban_on_undefined(words(line)), words(left), "{line}");
        }
    }

    #[test]
    fn the_last_mode_counts() {
        let ends = |line: &str| ends_static(&arguments::read(&words(line)).words);
        assert_eq!(ends("x.o -Wl,-Bstatic -la"), Some("-Bstatic".to_owned()));
        assert_eq!(ends("x.o -Wl,-Bstatic -la -Wl,-Bdynamic -lb"), None);
        assert_eq!(ends("x.o -Xlinker -static"), Some("-static".to_owned()));
        assert_eq!(ends("x.o"), None);
    }
}
