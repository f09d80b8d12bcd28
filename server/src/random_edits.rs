//! Random edits of real sources: a mark stays on its own token or disappears.

use crate::{
    document::OpenDocument,
    encoding::Encoding,
    follow::{LineMap, Recorded},
    from_proto::ClientEdits,
    sources::Found,
    text::Text,
};
use proptest::prelude::*;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use tower_lsp::lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use unsnarl_core::Place;

/// The sources of the programs that unsnarl is tested with.
static SOURCES: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs");
    let mut files: Vec<PathBuf> = fs::read_dir(programs)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).into_iter().flatten())
        .map(|file| file.unwrap().path())
        .filter(|file| {
            matches!(
                file.extension().and_then(|it| it.to_str()),
                Some("c" | "cpp")
            )
        })
        .collect();
    files.sort();
    assert!(files.len() >= 60, "{files:?}");
    let read = |file: PathBuf| (file.clone(), fs::read_to_string(file).unwrap());
    files.into_iter().map(read).collect()
});

/// A character that remembers its position in the recorded text.
#[derive(Clone, Copy)]
struct Tagged {
    char: char,
    origin: Option<usize>,
    is_copy: bool,
}

/// A document as the server follows it, with the true origin of each of its characters.
struct Edited {
    document: OpenDocument,
    truth: Vec<Tagged>,
}

impl Edited {
    fn new(text: &str) -> Edited {
        let own = |(at, char)| Tagged {
            char,
            origin: Some(at),
            is_copy: false,
        };
        Edited {
            document: OpenDocument::new(0, text),
            truth: text.char_indices().map(own).collect(),
        }
    }

    /// The characters of a line and its break.
    fn line(&self, line: usize) -> std::ops::Range<usize> {
        let ends = self
            .truth
            .iter()
            .enumerate()
            .filter(|(_, it)| it.char == '\n');
        let mut starts: Vec<usize> = std::iter::once(0)
            .chain(ends.map(|(at, _)| at + 1))
            .collect();
        starts.push(self.truth.len());
        let line = line % (starts.len() - 1);
        starts[line]..starts[line + 1]
    }

    fn position(&self, at: usize) -> Position {
        let before = &self.truth[..at];
        let start = before
            .iter()
            .rposition(|it| it.char == '\n')
            .map_or(0, |at| at + 1);
        let breaks = before.iter().filter(|it| it.char == '\n').count();
        let units: usize = before[start..].iter().map(|it| it.char.len_utf16()).sum();
        Position::new(breaks as u32, units as u32)
    }

    fn replace(&mut self, range: std::ops::Range<usize>, new: Vec<Tagged>) {
        let change = TextDocumentContentChangeEvent {
            range: Some(Range::new(
                self.position(range.start),
                self.position(range.end),
            )),
            range_length: None,
            text: new.iter().map(|it| it.char).collect(),
        };
        let version = self.document.version + 1;
        self.document
            .change(version, &ClientEdits(vec![change]), Encoding::Utf16);
        self.truth.splice(range, new);
        let text: String = self.truth.iter().map(|it| it.char).collect();
        assert_eq!(self.document.text.content(), text);
    }

    /// A line with its break, if the text has it only once.
    fn unique(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let line = self.line(line);
        let text: String = self.truth[line.clone()].iter().map(|it| it.char).collect();
        let same = |other: &&str| other.trim() == text.trim();
        let is_unique = self.document.text.lines().filter(same).count() == 1;
        (is_unique && text.ends_with('\n')).then_some(line)
    }

    fn edit(&mut self, edit: &RandomEdit) {
        match *edit {
            RandomEdit::Insert(at) => {
                let at = self.line(at).start;
                self.replace(at..at, typed("added();\n"));
            }
            RandomEdit::Delete(at, lines) => {
                let range = self.line(at).start..self.line(at + lines).end;
                if range.start < range.end {
                    self.replace(range, Vec::new());
                }
            }
            RandomEdit::Type(at, within) => {
                let line = self.line(at);
                let at = line.start + within % line.len().max(1);
                self.replace(at..at, typed("\u{e9}"));
            }
            RandomEdit::Indent(at) => {
                let at = self.line(at).start;
                self.replace(at..at, typed("   "));
            }
            RandomEdit::Split(at, within) => {
                let line = self.line(at);
                let at = line.start + within % line.len().max(1);
                self.replace(at..at, typed("\n"));
            }
            RandomEdit::Save => self.document.saved(),
            RandomEdit::Copy(from, to) => {
                if let Some(line) = self.unique(from) {
                    let copy = copied(&self.truth[line]);
                    self.paste(copy, to);
                }
            }
            RandomEdit::Move(from, to) => {
                if let Some(line) = self.unique(from) {
                    let copy = copied(&self.truth[line.clone()]);
                    self.replace(line, Vec::new());
                    self.paste(copy, to);
                }
            }
        }
    }

    fn paste(&mut self, copy: Vec<Tagged>, to: usize) {
        let to = self.line(to).start;
        self.replace(to..to, copy);
    }
}

fn typed(text: &str) -> Vec<Tagged> {
    let new = |char| Tagged {
        char,
        origin: None,
        is_copy: false,
    };
    text.chars().map(new).collect()
}

fn copied(line: &[Tagged]) -> Vec<Tagged> {
    line.iter()
        .map(|it| Tagged {
            is_copy: true,
            ..*it
        })
        .collect()
}

#[derive(Clone, Debug)]
enum RandomEdit {
    Insert(usize),
    Delete(usize, usize),
    Type(usize, usize),
    Indent(usize),
    Split(usize, usize),
    Save,
    Copy(usize, usize),
    Move(usize, usize),
}

/// An edit that a comparison of content alone can follow: new text comes, old text goes.
fn simple() -> impl Strategy<Value = RandomEdit> {
    prop_oneof![
        any::<usize>().prop_map(|at| RandomEdit::Insert(at / 2)),
        (any::<usize>(), 0usize..6).prop_map(|(at, lines)| RandomEdit::Delete(at / 2, lines)),
        any::<(usize, usize)>().prop_map(|(at, within)| RandomEdit::Type(at / 2, within)),
        any::<usize>().prop_map(|at| RandomEdit::Indent(at / 2)),
        any::<(usize, usize)>().prop_map(|(at, within)| RandomEdit::Split(at / 2, within)),
    ]
}

fn any_edit() -> impl Strategy<Value = RandomEdit> {
    prop_oneof![
        3 => simple(),
        1 => Just(RandomEdit::Save),
        2 => any::<(usize, usize)>().prop_map(|(from, to)| RandomEdit::Copy(from / 2, to / 2)),
        2 => any::<(usize, usize)>().prop_map(|(from, to)| RandomEdit::Move(from / 2, to / 2)),
    ]
}

/// A place for each name in the text, as debug info could give it.
fn places(text: &str) -> Vec<(Place, usize)> {
    let split = Text::new(text);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut places = Vec::new();
    for (at, line) in split.lines().enumerate() {
        for (column, c) in line.char_indices() {
            if is_name(c) && !line[..column].ends_with(is_name) {
                let place = Place {
                    line: at as u32 + 1,
                    column: column as u32 + 1,
                    text: line.trim().to_owned(),
                    ..Place::default()
                };
                places.push((place, split.line_start(at).unwrap() + column));
            }
        }
    }
    places
}

/// Checks that each shown place is on its own token; returns their number.
fn shown(path: &Path, text: &str, edited: &Edited, by_edits: bool) -> Result<usize, TestCaseError> {
    let baseline = Text::new(text);
    let current = &edited.document.text;
    let followed = edited.document.followed(&baseline).filter(|_| by_edits);
    let found = Found {
        path: path.to_owned(),
        lines: LineMap::new(&Recorded::default(), Some(&baseline), followed, current),
        recorded: Some(baseline.clone()),
    };
    let mut bytes = Vec::new();
    for tagged in &edited.truth {
        bytes.extend(std::iter::repeat_n(*tagged, tagged.char.len_utf8()));
    }
    let mut shown = 0;
    for (place, token) in places(text) {
        let Some(spot) = found.spot(current, &place) else {
            continue;
        };
        shown += 1;
        let start = current.line_start(spot.line).unwrap();
        let marked = &bytes[start + spot.part.start..start + spot.part.end];
        let line = &bytes[start..start + spot.source.len()];
        let own = |it: &&Tagged| it.origin == Some(token);
        // In comments there is no expression, and of the line its code is marked.
        let is_own = marked.iter().find(own).or_else(|| line.iter().find(own));
        prop_assert!(is_own.is_some(), "{place:?} is shown at {spot:?}");
        let original_stays = edited.truth.iter().any(|it| own(&it) && !it.is_copy);
        prop_assert!(
            !(is_own.is_some_and(|it| it.is_copy) && original_stays),
            "{place:?} is shown at a copy, {spot:?}"
        );
    }
    Ok(shown)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn by_edits(file in any::<prop::sample::Index>(), edits in prop::collection::vec(any_edit(), 0..10)) {
        let (path, text) = file.get(&SOURCES);
        let mut edited = Edited::new(text);
        edits.iter().for_each(|edit| edited.edit(edit));
        shown(path, text, &edited, true)?;
    }

    #[test]
    fn by_content(file in any::<prop::sample::Index>(), edits in prop::collection::vec(simple(), 0..10)) {
        let (path, text) = file.get(&SOURCES);
        let mut edited = Edited::new(text);
        edits.iter().for_each(|edit| edited.edit(edit));
        shown(path, text, &edited, false)?;
    }
}

/// A single edit moves the lines that it does not touch. Showing nothing would satisfy the other properties, too.
#[test]
fn one_edit_moves_what_it_does_not_touch() {
    for (path, text) in SOURCES.iter() {
        let mut edited = Edited::new(text);
        edited.edit(&RandomEdit::Insert(3));
        let all = places(text).len();
        for by_edits in [true, false] {
            let shown = shown(path, text, &edited, by_edits).unwrap();
            assert!(
                shown * 10 >= all * 9,
                "{}: {shown} of {all}",
                path.display()
            );
        }
    }
}

/// Text that was cut and pasted back is found again.
#[test]
fn what_is_undone_is_found_again() {
    let text = "a();\nb();\nc();\n";
    let mut edited = Edited::new(text);
    let line = edited.line(1);
    let cut = copied(&edited.truth[line.clone()]);
    edited.replace(line.clone(), Vec::new());
    assert_eq!(shown(Path::new("a.c"), text, &edited, true).unwrap(), 2);
    edited.replace(line.start..line.start, cut);
    assert_eq!(shown(Path::new("a.c"), text, &edited, true).unwrap(), 3);
}
