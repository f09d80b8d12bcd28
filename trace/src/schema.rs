//! The layout of a run file, shared by its writer and its reader. `docs/run-file.md` describes the same for people.

use crate::{
    meta::{RunMeta, SiteRow},
    model::EventKind,
};
use arrow_schema::{DataType, Field, Schema};
use rustc_hash::FxHashSet;
use std::collections::{HashMap, HashSet};

/// Schema metadata: the version of the format.
pub(crate) const FORMAT_KEY: &str = "unsnarl.format";
/// Schema metadata: the [`RunMeta`] as JSON.
pub(crate) const RUN_KEY: &str = "unsnarl.run";
/// Schema metadata of compressed files: the number of events.
pub(crate) const EVENTS_KEY: &str = "unsnarl.events";

/// Events in a record batch. A file that was cut keeps its whole batches, so they are not large.
pub(crate) const BATCH_ROWS: usize = 16_384;

/// First bytes of every Arrow IPC file, padded to eight bytes; the messages follow.
pub(crate) const HEAD: &[u8; 8] = b"ARROW1\0\0";
/// Last bytes of every complete Arrow IPC file.
pub(crate) const TAIL: &[u8; 6] = b"ARROW1";

/// Bytes of an event in memory.
pub(crate) const BYTES_PER_EVENT: u64 = 50;

/// Returns whether the file of a run with this many events is compressed. Small ones are read far more often than
/// written, and there are thousands of them.
pub(crate) fn is_compressed(events: usize) -> bool {
    events > BATCH_ROWS
}

/// The event columns, in the order in which they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Column {
    Seq,
    Thread,
    Kind,
    Site,
    Location,
    Size,
    Flags,
    Value,
    Old,
    Pointee,
    Stack,
    Point,
}

impl Column {
    pub(crate) const ALL: [Column; 12] = {
        use Column::*;
        [
            Seq, Thread, Kind, Site, Location, Size, Flags, Value, Old, Pointee, Stack, Point,
        ]
    };

    /// Name of the column in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seq => "seq",
            Self::Thread => "thread",
            Self::Kind => "kind",
            Self::Site => "site",
            Self::Location => "location",
            Self::Size => "size",
            Self::Flags => "flags",
            Self::Value => "value",
            Self::Old => "old",
            Self::Pointee => "pointee",
            Self::Stack => "stack",
            Self::Point => "point",
        }
    }

    /// Returns whether every run file must have the column.
    pub(crate) fn required(self) -> bool {
        matches!(
            self,
            Self::Thread | Self::Kind | Self::Site | Self::Location
        )
    }

    fn data_type(self) -> DataType {
        let names_by = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        match self {
            Self::Seq | Self::Value | Self::Old => DataType::UInt64,
            Self::Thread => names_by(DataType::UInt16),
            Self::Kind => names_by(DataType::UInt8),
            Self::Site | Self::Location => names_by(DataType::UInt32),
            Self::Flags => DataType::UInt16,
            Self::Size | Self::Pointee | Self::Stack | Self::Point => DataType::UInt32,
        }
    }

    fn nullable(self) -> bool {
        matches!(self, Self::Value | Self::Old)
    }
}

/// The schema of these columns, with the run's metadata.
pub(crate) fn schema(columns: &[Column], format: u32, meta_json: String, events: usize) -> Schema {
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| Field::new(column.name(), column.data_type(), column.nullable()))
        .collect();
    let mut metadata = HashMap::from([
        (FORMAT_KEY.to_owned(), format.to_string()),
        (RUN_KEY.to_owned(), meta_json),
    ]);
    if is_compressed(events) {
        metadata.insert(EVENTS_KEY.to_owned(), events.to_string());
    }
    Schema::new_with_metadata(fields, metadata)
}

/// Names of the kinds, so placed that a kind's number is its key.
pub(crate) fn kind_names() -> Vec<String> {
    std::iter::once(String::new())
        .chain(
            EventKind::ALL
                .into_iter()
                .map(|kind| kind.name().to_owned()),
        )
        .collect()
}

/// Names of the threads as they stand in the `thread` column.
pub(crate) fn thread_names(meta: &RunMeta) -> Vec<String> {
    unique(meta.threads.iter().map(|row| row.name.clone()))
}

/// Texts of the sites as they stand in the `site` column.
pub(crate) fn site_names(meta: &RunMeta) -> Vec<String> {
    unique(meta.sites.iter().map(site_name))
}

fn site_name(site: &SiteRow) -> String {
    if site.file.is_empty() && site.line == 0 {
        return String::new();
    }
    format!("{}:{}:{}", site.file, site.line, site.column)
}

/// Makes texts unique by appending ` (2)` and so on: data frames refuse a dictionary in which a text occurs twice.
pub(crate) fn unique(texts: impl Iterator<Item = String>) -> Vec<String> {
    let texts: Vec<String> = texts.collect();
    match are_unique(&texts) {
        true => texts,
        false => told_apart(texts),
    }
}

/// Returns whether no text occurs twice: there may be as many as a program has memory.
pub(crate) fn are_unique(texts: &[String]) -> bool {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    seen.reserve(texts.len());
    texts.iter().all(|text| seen.insert(text))
}

fn told_apart(texts: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut names = Vec::new();
    for text in texts {
        let mut name = text.clone();
        while !seen.insert(name.clone()) {
            let count = counts.entry(text.clone()).or_insert(1);
            *count += 1;
            name = format!("{text} ({count})");
        }
        names.push(name);
    }
    names
}

/// The site that a text of the `site` column names, for files whose metadata has no table of sites.
pub(crate) fn parse_site(text: &str) -> SiteRow {
    let unknown = || SiteRow {
        file: text.to_owned(),
        ..SiteRow::default()
    };
    let Some((head, last)) = text.rsplit_once(':') else {
        return unknown();
    };
    let Ok(last) = last.parse::<u32>() else {
        return unknown();
    };
    let with_column = head
        .rsplit_once(':')
        .and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let (file, line, column) = match with_column {
        Some((file, line)) => (file, line, last),
        None => (head, last, 0),
    };
    SiteRow {
        file: file.to_owned(),
        line,
        column,
        ..SiteRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_once() {
        let texts = ["a", "a", "", "a (2)", "a", ""].map(str::to_owned);
        assert_eq!(
            unique(texts.into_iter()),
            ["a", "a (2)", "", "a (2) (2)", "a (3)", " (2)"]
        );
    }

    #[test]
    fn sites_from_text() {
        let parse = |text| {
            let site = parse_site(text);
            (site.file, site.line, site.column)
        };
        assert_eq!(parse("a.c:12:3"), ("a.c".to_owned(), 12, 3));
        assert_eq!(parse("a.c:12"), ("a.c".to_owned(), 12, 0));
        assert_eq!(parse("c:/x.c:12:3"), ("c:/x.c".to_owned(), 12, 3));
        assert_eq!(parse("Main.java|7"), ("Main.java|7".to_owned(), 0, 0));
        assert_eq!(parse("a.c:x"), ("a.c:x".to_owned(), 0, 0));
        assert_eq!(parse(""), (String::new(), 0, 0));
    }
}
