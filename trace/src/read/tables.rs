//! Translation from the names in a file's dictionaries to the ids of the run's tables.
//!
//! Files that unsnarl wrote have the same order in both, and their keys are used as they are. Other
//! tools order their dictionaries as they like; their keys are translated by name.

use crate::{
    index::{Id, IndexVec},
    meta::{RunMeta, SiteRow, ThreadRow},
    model::{EventKind, LocationId, ThreadId},
    schema,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray,
    cast::AsArray,
    types::{ArrowDictionaryKeyType, ArrowPrimitiveType},
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use std::collections::HashMap;

/// The tables of the run that is being read.
pub(super) struct RunTables {
    meta: RunMeta,
    pub(super) threads: TranslatedTable,
    pub(super) kinds: TranslatedTable,
    pub(super) sites: TranslatedTable,
    pub(super) locations: TranslatedTable,
}

impl RunTables {
    pub(super) fn new(mut meta: RunMeta) -> RunTables {
        if meta.sites.is_empty() {
            meta.sites.push(SiteRow::default());
        }
        let kinds = EventKind::ALL.map(|kind| (kind.name().to_owned(), kind as u32));
        RunTables {
            threads: TranslatedTable::growing("thread", schema::thread_names(&meta), 1 << 16),
            kinds: TranslatedTable::closed("kind", kinds.into()),
            sites: TranslatedTable::growing("site", schema::site_names(&meta), u32::MAX).or_none(),
            locations: TranslatedTable::growing("location", vec![String::new()], u32::MAX)
                .or_none(),
            meta,
        }
    }

    /// The metadata with rows for all that the columns name, and the names of the locations.
    pub(super) fn finish(self) -> (RunMeta, IndexVec<LocationId, String>) {
        let mut meta = self.meta;
        let sites = self.sites.names.iter().skip(meta.sites.len());
        let sites: Vec<_> = sites.map(|name| schema::parse_site(name)).collect();
        meta.sites.extend(sites);
        for name in self.threads.names.iter().skip(meta.threads.len()) {
            let row = thread_row(&meta.threads, name);
            meta.threads.push(row);
        }
        (meta, self.locations.names.into())
    }
}

/// Row of a thread of which only the name is known: the name tells the parent.
fn thread_row(threads: &IndexVec<ThreadId, ThreadRow>, name: &str) -> ThreadRow {
    let parent = name.rsplit_once('.').and_then(|(parent, _)| {
        let parent = threads.iter().position(|row| row.name == parent)?;
        ThreadId::of_number(parent)
    });
    ThreadRow {
        name: name.to_owned(),
        parent,
        ..ThreadRow::default()
    }
}

/// One table by name, and how the keys of the present dictionary translate to its rows.
pub(super) struct TranslatedTable {
    column: &'static str,
    names: Vec<String>,
    ids: HashMap<String, u32>,
    /// Number of rows above which a table is refused.
    limit: u32,
    /// The row that null stands for; without it null is refused.
    null: Option<u32>,
    dictionary: Option<ArrayRef>,
    translation: Vec<Option<u32>>,
}

/// The column's ids, up to the first event that has none.
pub(super) struct Ids<T: ArrowPrimitiveType> {
    pub(super) ids: ScalarBuffer<T::Native>,
    pub(super) problem: Option<String>,
}

impl TranslatedTable {
    fn growing(column: &'static str, names: Vec<String>, limit: u32) -> TranslatedTable {
        let ids = names.iter().cloned().zip(0..).collect();
        let (dictionary, translation) = (None, Vec::new());
        TranslatedTable {
            column,
            names,
            ids,
            limit,
            null: None,
            dictionary,
            translation,
        }
    }

    fn closed(column: &'static str, ids: HashMap<String, u32>) -> TranslatedTable {
        TranslatedTable {
            ids,
            ..TranslatedTable::growing(column, Vec::new(), 0)
        }
    }

    /// Makes null stand for row 0.
    fn or_none(self) -> TranslatedTable {
        TranslatedTable {
            null: Some(0),
            ..self
        }
    }

    /// The ids in a column of names.
    pub(super) fn ids<K>(&mut self, column: &ArrayRef) -> Result<Ids<K>, String>
    where
        K: ArrowDictionaryKeyType,
        K::Native: TryFrom<u32>,
    {
        if let Some(array) = column.as_any().downcast_ref::<DictionaryArray<K>>() {
            self.turn_to(array.values())?;
            if array.null_count() == 0 && self.keys_are_ids() {
                return Ok(self.as_they_are(array.keys().values()));
            }
        }
        let (keys, nulls) = match column.as_any_dictionary_opt() {
            // Arrow would index the empty dictionary of a column that is all null.
            Some(array) if array.values().is_empty() => {
                (vec![0; column.len()], column.logical_nulls())
            }
            Some(array) => {
                self.turn_to(array.values())?;
                (array.normalized_keys(), column.nulls().cloned())
            }
            None => {
                self.turn_to(column)?;
                ((0..column.len()).collect(), column.nulls().cloned())
            }
        };
        Ok(self.translated(&keys, nulls.as_ref()))
    }

    /// Ids of this table that another column holds as keys of the same dictionary.
    pub(super) fn translate(&self, keys: ScalarBuffer<u32>) -> ScalarBuffer<u32> {
        if self.keys_are_ids() {
            return keys;
        }
        // 0 is "none" here, whatever the dictionary begins with.
        let id = |key: &u32| {
            if *key == 0 {
                None
            } else {
                self.id_of_key(*key as usize)
            }
        };
        keys.iter().map(|key| id(key).unwrap_or(0)).collect()
    }

    /// Sets up the translation for this dictionary.
    fn turn_to(&mut self, dictionary: &ArrayRef) -> Result<(), String> {
        // Each batch wraps the same dictionary anew; its buffers tell that it is the same.
        let is_same = |known: &ArrayRef| known.to_data().ptr_eq(&dictionary.to_data());
        if self.dictionary.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let names = strings(dictionary)
            .ok_or_else(|| format!("the column `{}` does not hold text", self.column))?;
        self.translation = names.into_iter().map(|name| self.id(name)).collect();
        self.dictionary = Some(dictionary.clone());
        Ok(())
    }

    /// The row with this name, a new one when there is room.
    fn id(&mut self, name: Option<&str>) -> Option<u32> {
        let Some(name) = name else { return self.null };
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = u32::try_from(self.names.len())
            .ok()
            .filter(|id| *id < self.limit)?;
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        Some(id)
    }

    fn id_of_key(&self, key: usize) -> Option<u32> {
        self.translation.get(key).copied().flatten()
    }

    fn keys_are_ids(&self) -> bool {
        (0u32..)
            .zip(&self.translation)
            .all(|(key, id)| id.is_none_or(|id| id == key))
    }

    /// Ids for keys that are ids already, except for those that have none.
    fn as_they_are<K>(&self, keys: &ScalarBuffer<K::Native>) -> Ids<K>
    where
        K: ArrowDictionaryKeyType,
    {
        use arrow_buffer::ArrowNativeType;
        let all_known = self.translation.iter().all(Option::is_some);
        let unknown = |key: &K::Native| self.id_of_key(key.as_usize()).is_none();
        match keys.iter().position(unknown).filter(|_| !all_known) {
            None => Ids {
                ids: keys.clone(),
                problem: None,
            },
            Some(row) => {
                let key = keys.get(row).map(|key| key.as_usize());
                Ids {
                    ids: keys.slice(0, row),
                    problem: Some(self.unknown(key)),
                }
            }
        }
    }

    fn translated<K>(&self, keys: &[usize], nulls: Option<&NullBuffer>) -> Ids<K>
    where
        K: ArrowDictionaryKeyType,
        K::Native: TryFrom<u32>,
    {
        let mut ids = Vec::with_capacity(keys.len());
        for (row, key) in keys.iter().enumerate() {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            let id = if is_null {
                self.null
            } else {
                self.id_of_key(*key)
            };
            match id.and_then(|id| K::Native::try_from(id).ok()) {
                Some(id) => ids.push(id),
                None => {
                    let problem = self.unknown((!is_null).then_some(*key));
                    return Ids {
                        ids: ids.into(),
                        problem: Some(problem),
                    };
                }
            }
        }
        Ids {
            ids: ids.into(),
            problem: None,
        }
    }

    fn unknown(&self, key: Option<usize>) -> String {
        let name = self
            .dictionary
            .as_ref()
            .zip(key)
            .and_then(|(dictionary, key)| {
                strings(dictionary)?
                    .get(key)
                    .copied()
                    .flatten()
                    .map(str::to_owned)
            });
        match name {
            Some(name) => format!(
                "an event's {} `{name}` is not known to this version",
                self.column
            ),
            None => format!("an event has no {}", self.column),
        }
    }
}

/// The texts of an array of strings.
fn strings(array: &ArrayRef) -> Option<Vec<Option<&str>>> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string_opt::<i32>()?.iter().collect()),
        DataType::LargeUtf8 => Some(array.as_string_opt::<i64>()?.iter().collect()),
        DataType::Utf8View => Some(array.as_string_view_opt()?.iter().collect()),
        _ => None,
    }
}
