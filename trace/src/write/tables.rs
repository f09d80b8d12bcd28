//! The tables of a run that are dictionaries of its file.

use super::{WriteError, from_arrow};
use crate::{
    meta::RunMeta,
    schema::{self, Column},
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, StringArray, new_empty_array,
    types::{ArrowDictionaryKeyType, UInt8Type, UInt16Type, UInt32Type},
};
use arrow_schema::{ArrowError, SchemaRef};
use std::sync::Arc;

/// The dictionaries of a file.
pub(super) struct DictionaryTables {
    kinds: ArrayRef,
    threads: ArrayRef,
    sites: ArrayRef,
    locations: ArrayRef,
}

impl DictionaryTables {
    /// Those of a run.
    pub fn of(meta: &RunMeta, locations: &[String]) -> DictionaryTables {
        let strings = |names: Vec<String>| Arc::new(StringArray::from(names)) as ArrayRef;
        // Row 0 is always there: events without a site or location point to it.
        let rooted = |names: Vec<String>| match names.is_empty() {
            true => vec![String::new()],
            false => names,
        };
        DictionaryTables {
            kinds: strings(schema::kind_names()),
            threads: strings(schema::thread_names(meta)),
            sites: strings(rooted(schema::site_names(meta))),
            locations: location_names(locations),
        }
    }

    /// Number of rows of the dictionary of a column, if it has one.
    pub fn rows(&self, column: Column) -> Option<usize> {
        let table = match column {
            Column::Kind => &self.kinds,
            Column::Thread => &self.threads,
            Column::Site => &self.sites,
            Column::Location => &self.locations,
            _ => return None,
        };
        Some(table.len())
    }

    /// A batch without rows that has the dictionaries.
    pub fn empty_batch(
        &self,
        schema: &SchemaRef,
        columns: &[Column],
    ) -> Result<RecordBatch, WriteError> {
        let fields = columns.iter().zip(schema.fields());
        let arrays = fields.map(|(column, field)| {
            Ok(match column {
                Column::Kind => empty::<UInt8Type>(&self.kinds)?,
                Column::Thread => empty::<UInt16Type>(&self.threads)?,
                Column::Site => empty::<UInt32Type>(&self.sites)?,
                Column::Location => empty::<UInt32Type>(&self.locations)?,
                _ => new_empty_array(field.data_type()),
            })
        });
        let arrays: Result<Vec<ArrayRef>, ArrowError> = arrays.collect();
        arrays
            .and_then(|arrays| RecordBatch::try_new(schema.clone(), arrays))
            .map_err(from_arrow)
    }
}

/// A column without rows that has this dictionary.
fn empty<K: ArrowDictionaryKeyType>(names: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let keys = PrimitiveArray::<K>::new(Vec::new().into(), None);
    Ok(Arc::new(DictionaryArray::try_new(keys, names.clone())?))
}

/// The dictionary of locations, without a copy of their names where no two are equal.
fn location_names(names: &[String]) -> ArrayRef {
    if names.is_empty() {
        return Arc::new(StringArray::from(vec![String::new()]));
    }
    Arc::new(match schema::are_unique(names) {
        true => StringArray::from_iter_values(names),
        false => StringArray::from(schema::unique(names.iter().cloned())),
    })
}
