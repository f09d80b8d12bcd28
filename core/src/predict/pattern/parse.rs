//! Parser of the user's patterns: TOML, with errors that give the position and the expected input.

use super::{AccessType, Pattern, PatternEvent, Patterns, check};
use crate::predict::{Class, regions::Annotation};
use serde::Deserialize;
use std::{fmt, ops::Range};
use toml::Spanned;

/// Contents of a file of patterns.
///
/// ```
/// let file = unsnarl_core::predict::Patterns::parse(r#"
///     [[pattern]]
///     name = "stale length"
///     E  = "e1 - e2 - e3"          # names of the events; may be left out
///     T  = "t1 - t2 - t1"          # threads
///     SV = "len - len - buffer"    # variables
///     AR = "u1 - u2 - u1"          # atomic regions
///     AT = "r - w - w"             # access types: r or w
///     ## consecutive = true        # two events right after each other, as in a race
///
///     [[region]]                   # what should be atomic
///     function = "withdraw"
///
///     [[region]]
///     lines = "bank.c:40-52"
/// "#)?;
/// assert_eq!(file.patterns.all[0].name, "stale length");
/// assert_eq!(file.regions.len(), 2);
/// # Ok::<(), unsnarl_core::predict::pattern::PatternError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserPatterns {
    /// The patterns, in the order of the file.
    pub patterns: Patterns,
    /// Regions that the user declares atomic.
    pub regions: Vec<Annotation>,
}

/// Error in a file of patterns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Message with the error and the expected input.
    pub message: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for PatternError {}

/// Error message with its byte position.
pub(super) type Wrong = (usize, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    pattern: Vec<PatternTable>,
    #[serde(default)]
    region: Vec<Spanned<RegionTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(non_snake_case, reason = "the paper's names")]
struct PatternTable {
    name: Spanned<String>,
    E: Option<Spanned<String>>,
    T: Spanned<String>,
    SV: Spanned<String>,
    AR: Spanned<String>,
    AT: Spanned<String>,
    #[serde(default)]
    consecutive: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegionTable {
    function: Option<String>,
    lines: Option<Spanned<String>>,
}

/// Parses a file of patterns.
pub(super) fn parse(text: &str) -> Result<UserPatterns, PatternError> {
    let at = |(offset, message)| place(text, offset, message);
    let file: File = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        at((offset, error.message().trim().to_owned()))
    })?;
    let built_in = Patterns::built_in();
    let mut patterns: Vec<Pattern> = Vec::new();
    for table in &file.pattern {
        let name = table.name.get_ref();
        let known = |all: &[Pattern]| all.iter().any(|pattern| &pattern.name == name);
        let start = table.name.span().start;
        if known(&built_in.all) {
            return Err(at((
                start,
                format!("`{name}` is the name of a built-in pattern; expected another"),
            )));
        }
        if known(&patterns) {
            return Err(at((
                start,
                format!("a second pattern is called `{name}`; expected another name"),
            )));
        }
        patterns.push(pattern(text, table).map_err(at)?);
    }
    let regions = file
        .region
        .iter()
        .map(annotation)
        .collect::<Result<_, Wrong>>();
    Ok(UserPatterns {
        patterns: Patterns { all: patterns },
        regions: regions.map_err(at)?,
    })
}

fn place(text: &str, offset: usize, message: String) -> PatternError {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    PatternError {
        line: before.matches('\n').count() + 1,
        column: before.get(start..).unwrap_or("").chars().count() + 1,
        message,
    }
}

/// A label of a sequence with its byte position.
pub(super) type Label<'a> = (&'a str, usize);

/// The sequences of a pattern, of equal length.
pub(super) struct PatternSequences<'a> {
    pub threads: Vec<Label<'a>>,
    pub variables: Vec<Label<'a>>,
    pub regions: Vec<Label<'a>>,
    pub accesses: Vec<Label<'a>>,
    pub consecutive: bool,
}

/// The labels of `t1 - t2 - t1`, with their positions in the file.
fn labels(text: &str, span: Range<usize>) -> Vec<Label<'_>> {
    let inside = text.get(span.clone()).unwrap_or("");
    let separates = |c: char| c.is_whitespace() || matches!(c, '-' | ',' | '"' | '\'');
    let mut labels = Vec::new();
    let mut start = None;
    for (at, c) in inside.char_indices().chain([(inside.len(), ' ')]) {
        match (start, separates(c)) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                labels.push((inside.get(from..at).unwrap_or(""), span.start + from));
                start = None;
            }
            _ => {}
        }
    }
    labels
}

fn pattern(text: &str, table: &PatternTable) -> Result<Pattern, Wrong> {
    let name = table.name.get_ref();
    if name.trim().is_empty() {
        return Err((
            table.name.span().start,
            "the name is empty; expected one".to_owned(),
        ));
    }
    let of = |value: &Spanned<String>| labels(text, value.span());
    let sequences = PatternSequences {
        threads: of(&table.T),
        variables: of(&table.SV),
        regions: of(&table.AR),
        accesses: of(&table.AT),
        consecutive: table.consecutive,
    };
    let events = table.E.as_ref();
    let count = sequences.threads.len();
    let others = [
        ("SV", &table.SV, sequences.variables.len()),
        ("AR", &table.AR, sequences.regions.len()),
        ("AT", &table.AT, sequences.accesses.len()),
    ];
    let events = events.map(|value| ("E", value, of(value).len()));
    for (what, value, length) in events.into_iter().chain(others) {
        if length != count {
            let message =
                format!("{what} has {length} elements and T has {count}; expected as many");
            return Err((value.span().start, message));
        }
    }
    check::check(&sequences, table.T.span().start)?;
    Ok(Pattern {
        name: name.clone(),
        class: Class::User,
        steps: steps(&sequences)?,
        consecutive: table.consecutive,
    })
}

fn steps(sequences: &PatternSequences<'_>) -> Result<Vec<PatternEvent>, Wrong> {
    let columns = sequences.threads.iter().zip(&sequences.variables);
    let columns = columns.zip(sequences.regions.iter().zip(&sequences.accesses));
    let step = |((thread, variable), (region, access)): ((_, _), (_, &Label<'_>))| {
        Ok(PatternEvent {
            thread: number(&sequences.threads, thread),
            variable: number(&sequences.variables, variable),
            region: number(&sequences.regions, region),
            access: access_type(access)?,
        })
    };
    columns.map(step).collect()
}

/// The number of a label: equal labels have equal numbers; there are fewer than 256 (`check`).
fn number(all: &[Label<'_>], label: &Label<'_>) -> u8 {
    let at = all.iter().position(|other| other.0 == label.0);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
}

/// Access type for `r` and `w`.
pub(super) fn access_type(&(word, at): &Label<'_>) -> Result<AccessType, Wrong> {
    match word {
        "r" | "R" | "read" => Ok(AccessType::Read),
        "w" | "W" | "write" => Ok(AccessType::Write),
        _ => Err((
            at,
            format!("`{word}` is no access type; expected `r` or `w`"),
        )),
    }
}

fn annotation(table: &Spanned<RegionTable>) -> Result<Annotation, Wrong> {
    let region = table.get_ref();
    match (&region.function, &region.lines) {
        (Some(function), None) if !function.is_empty() => {
            Ok(Annotation::Function(function.clone()))
        }
        (None, Some(lines)) => range(lines.get_ref()).ok_or_else(|| {
            let message = format!(
                "`{}` are no lines; expected `FILE:FIRST-LAST`, as in `bank.c:40-52`",
                lines.get_ref()
            );
            (lines.span().start, message)
        }),
        _ => Err((
            table.span().start,
            "a region has either `function = \"NAME\"` or `lines = \"FILE:FIRST-LAST\"`".to_owned(),
        )),
    }
}

fn range(text: &str) -> Option<Annotation> {
    let (file, lines) = text.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (!file.is_empty() && 0 < first && first <= last).then(|| Annotation::Lines {
        file: file.to_owned(),
        first,
        last,
    })
}
