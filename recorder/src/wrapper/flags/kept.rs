//! Filter of the user's words: those that stay and those that are dropped.

use super::lists::{DROPPED, DROPPED_LINKER};
use crate::wrapper::arguments::{self, CommandWord, CompilerCommand, LastStage};
use std::ffi::OsString;

/// The user's words without those that are dropped.
pub(super) fn kept(command: &CompilerCommand) -> Vec<OsString> {
    let mut words = Vec::new();
    for word in &command.words {
        if let Some(text) = keep(word) {
            words.push(text);
            words.extend(word.argument.clone());
        }
    }
    words
}

fn keep(word: &CommandWord) -> Option<OsString> {
    let text = word.lossy();
    if DROPPED.iter().any(|(option, _)| word.is(option)) || is_separate(word, "-l", "tsan") {
        return None;
    }
    if word.is("-Xlinker")
        && word
            .linker_words()
            .iter()
            .any(|word| is_dropped_linker(word))
    {
        return None;
    }
    if let Some(map) = text.strip_prefix("-ffile-prefix-map=") {
        // Of its two effects, the one on `__FILE__` stays.
        return Some(format!("-fmacro-prefix-map={map}").into());
    }
    if text.starts_with("-fsanitize=") {
        let others: Vec<String> = sanitizers(&text)
            .into_iter()
            .filter(|name| name != "thread")
            .collect();
        return (!others.is_empty()).then(|| format!("-fsanitize={}", others.join(",")).into());
    }
    if text.starts_with("-Wl,") {
        let words: Vec<String> = word
            .linker_words()
            .into_iter()
            .filter(|word| !is_dropped_linker(word))
            .collect();
        return (!words.is_empty()).then(|| format!("-Wl,{}", words.join(",")).into());
    }
    Some(word.text.clone())
}

fn is_separate(word: &CommandWord, option: &str, argument: &str) -> bool {
    word.is(option) && word.argument.as_deref() == Some(argument.as_ref())
}

fn is_dropped_linker(word: &str) -> bool {
    DROPPED_LINKER.contains(&word) || word.starts_with("--compress-debug-sections")
}

/// The names in `-fsanitize=a,b`.
pub(super) fn sanitizers(text: &str) -> Vec<String> {
    let names = text.strip_prefix("-fsanitize=").unwrap_or_default();
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Words of a linking command that change the result and are dropped: worth a note.
pub fn left_out(given: &[OsString]) -> Vec<String> {
    const NOTED: [&str; 4] = ["-flto", "-flto=*", "-gsplit-dwarf*", "-gz*"];
    let command = arguments::read(given);
    if command.stage != LastStage::Link {
        return Vec::new();
    }
    let noted = command.words.iter().filter(|word| word.is_one_of(&NOTED));
    noted.map(CommandWord::lossy).collect()
}
