//! Parts of a text that are not understood, and their report.

use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The reason for which a piece of the text is not understood.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Trouble(Cow<'static, str>);

/// The result of parsing.
pub(super) type Parse<T> = Result<T, Trouble>;

impl Trouble {
    /// Trouble with an entity that unsnarl does not know.
    pub fn unknown(what: &str) -> Trouble {
        Trouble(format!("{what} is not understood").into())
    }

    /// Trouble with a text that does not continue as expected.
    pub fn expected(what: &str) -> Trouble {
        Trouble(format!("{what} was expected").into())
    }

    /// Trouble in these words.
    pub fn new(words: &'static str) -> Trouble {
        Trouble(words.into())
    }
}

/// All reasons for which parts were not understood, each once, with the first place and the number of occurrences.
#[derive(Default)]
pub(super) struct ModelProblems {
    found: Vec<(Trouble, String, usize)>,
    known: FxHashMap<Trouble, usize>,
}

impl ModelProblems {
    /// Notes a trouble; its place is asked for only when the trouble is new.
    pub fn add(&mut self, trouble: Trouble, place: impl FnOnce() -> String) {
        match self
            .known
            .get(&trouble)
            .and_then(|at| self.found.get_mut(*at))
        {
            Some((_, _, count)) => *count += 1,
            None => {
                self.known.insert(trouble.clone(), self.found.len());
                self.found.push((trouble, place(), 1));
            }
        }
    }

    /// One line for each reason.
    pub fn lines(self) -> Vec<String> {
        let line = |(Trouble(why), place, count)| match count {
            1 => format!("{place}: {why}"),
            _ => format!("{place}: {why} ({count} times)"),
        };
        self.found.into_iter().map(line).collect()
    }
}

/// The beginning of a text, for a message.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 100;
    let mut words = text.split_whitespace();
    let mut short = words.next().unwrap_or_default().to_owned();
    for word in words {
        if short.len() + word.len() > LONGEST {
            return format!("{short} ...");
        }
        short.push(' ');
        short.push_str(word);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once() {
        let mut problems = ModelProblems::default();
        for place in ["here", "there", "somewhere"] {
            problems.add(Trouble::unknown("`callbr`"), || place.to_owned());
        }
        problems.add(Trouble::new("a loop of aliases"), || "@a".to_owned());
        assert_eq!(
            problems.lines(),
            [
                "here: `callbr` is not understood (3 times)",
                "@a: a loop of aliases"
            ]
        );
    }
}
