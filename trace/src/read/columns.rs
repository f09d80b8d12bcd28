//! Event columns from record batches.

use super::tables::{Ids, RunTables};
use crate::{
    run::{Events, OLD_KNOWN, VALUE_KNOWN},
    schema::Column,
};
use arrow_array::{
    Array, ArrayRef, PrimitiveArray, RecordBatch,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
        UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Schema};

/// Checks that the schema is that of a run, and returns the reason if it is not.
pub(super) fn check(schema: &Schema) -> Result<(), String> {
    for column in Column::ALL {
        match schema.field_with_name(column.name()) {
            Ok(field) => check_type(column, field.data_type())?,
            Err(_) if column.required() => {
                return Err(format!("it has no column `{}`", column.name()));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

fn check_type(column: Column, found: &DataType) -> Result<(), String> {
    let is_text = |kind: &DataType| {
        matches!(
            kind,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        )
    };
    let (fits, wanted) = match found {
        _ if !column.required() => (found.is_integer(), "whole numbers"),
        DataType::Dictionary(_, values) => (is_text(values), "text"),
        _ => (is_text(found), "text"),
    };
    if fits {
        return Ok(());
    }
    Err(format!(
        "its column `{}` is {found} and not {wanted}",
        column.name()
    ))
}

/// The columns, batch by batch.
#[derive(Default)]
pub(super) struct Chunks {
    chunks: Vec<Events>,
    rows: usize,
    most: Option<u64>,
}

impl Chunks {
    /// An empty set of chunks for a file that claims to hold so many events: no more are read.
    pub(super) fn of_at_most(most: Option<u64>) -> Chunks {
        Chunks {
            most,
            ..Chunks::default()
        }
    }

    /// Number of events so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a batch; on an error only the events before the one that is wrong.
    pub(super) fn add(
        &mut self,
        batch: &RecordBatch,
        tables: &mut RunTables,
    ) -> Result<(), String> {
        if self.rows + batch.num_rows() > u32::MAX as usize {
            return Err("it has more than 4,294,967,295 events".to_owned());
        }
        let rows = (self.rows + batch.num_rows()) as u64;
        if self.most.is_some_and(|most| rows > most) {
            return Err("it has more events than it says".to_owned());
        }
        let (chunk, problem) = Batch {
            batch,
            first_row: self.rows,
        }
        .events(tables)?;
        self.rows += chunk.len();
        self.chunks.push(chunk);
        problem.map_or(Ok(()), Err)
    }

    /// All batches as one: as they lie in the file when there is one batch, copied otherwise.
    pub(super) fn join(mut self) -> Events {
        if self.chunks.len() <= 1 {
            return self.chunks.pop().unwrap_or_default();
        }
        Events {
            seq: self.joined(|chunk| &chunk.seq),
            thread: self.joined(|chunk| &chunk.thread),
            kind: self.joined(|chunk| &chunk.kind),
            site: self.joined(|chunk| &chunk.site),
            location: self.joined(|chunk| &chunk.location),
            size: self.joined(|chunk| &chunk.size),
            flags: self.joined(|chunk| &chunk.flags),
            value: self.joined(|chunk| &chunk.value),
            old: self.joined(|chunk| &chunk.old),
            pointee: self.joined(|chunk| &chunk.pointee),
            stack: self.joined(|chunk| &chunk.stack),
            point: self.joined(|chunk| &chunk.point),
            known: self.joined(|chunk| &chunk.known),
        }
    }

    fn joined<T: ArrowNativeType>(
        &self,
        column: impl Fn(&Events) -> &ScalarBuffer<T>,
    ) -> ScalarBuffer<T> {
        let mut all = Vec::with_capacity(self.rows);
        for chunk in &self.chunks {
            all.extend_from_slice(column(chunk));
        }
        all.into()
    }
}

struct Batch<'a> {
    batch: &'a RecordBatch,
    first_row: usize,
}

impl Batch<'_> {
    /// The events before the first that has a name of no table, and what is wrong with that one.
    fn events(&self, tables: &mut RunTables) -> Result<(Events, Option<String>), String> {
        let thread: Ids<UInt16Type> = tables.threads.ids(self.required(Column::Thread)?)?;
        let kind: Ids<UInt8Type> = tables.kinds.ids(self.required(Column::Kind)?)?;
        let site: Ids<UInt32Type> = tables.sites.ids(self.required(Column::Site)?)?;
        let location: Ids<UInt32Type> = tables.locations.ids(self.required(Column::Location)?)?;
        let (value, value_nulls) = self.bits(Column::Value)?;
        let (old, old_nulls) = self.bits(Column::Old)?;
        let pointee = tables
            .locations
            .translate(self.numbers::<UInt32Type>(Column::Pointee)?);
        let rows = [
            thread.ids.len(),
            kind.ids.len(),
            site.ids.len(),
            location.ids.len(),
        ];
        let rows = rows.into_iter().min().unwrap_or(0);
        let problem = [thread.problem, kind.problem, site.problem, location.problem];
        let events = Events {
            seq: self.sequence()?.slice(0, rows),
            thread: thread.ids.slice(0, rows),
            kind: kind.ids.slice(0, rows),
            site: site.ids.slice(0, rows),
            location: location.ids.slice(0, rows),
            size: self.numbers::<UInt32Type>(Column::Size)?.slice(0, rows),
            flags: self.numbers::<UInt16Type>(Column::Flags)?.slice(0, rows),
            value: value.slice(0, rows),
            old: old.slice(0, rows),
            pointee: pointee.slice(0, rows),
            stack: self.numbers::<UInt32Type>(Column::Stack)?.slice(0, rows),
            point: self.numbers::<UInt32Type>(Column::Point)?.slice(0, rows),
            known: known(value_nulls.as_ref(), old_nulls.as_ref(), rows),
        };
        Ok((events, problem.into_iter().flatten().next()))
    }

    fn required(&self, column: Column) -> Result<&ArrayRef, String> {
        self.batch
            .column_by_name(column.name())
            .ok_or_else(|| format!("the column `{}` is missing", column.name()))
    }

    /// The recorder's numbers, or the row numbers of a file that has none.
    fn sequence(&self) -> Result<ScalarBuffer<u64>, String> {
        match self.batch.column_by_name(Column::Seq.name()) {
            Some(_) => self.numbers::<UInt64Type>(Column::Seq),
            None => Ok((self.first_row as u64..)
                .take(self.batch.num_rows())
                .collect()),
        }
    }

    /// A column of numbers; zeros where it has nulls or is not there.
    fn numbers<T>(&self, column: Column) -> Result<ScalarBuffer<T::Native>, String>
    where
        T: ArrowPrimitiveType,
        T::Native: TryFrom<i128>,
    {
        let Some(array) = self.batch.column_by_name(column.name()) else {
            return Ok(vec![T::Native::default(); self.batch.num_rows()].into());
        };
        let values =
            match array.as_primitive_opt::<T>() {
                Some(array) => array.values().clone(),
                None => converted(array, |number| T::Native::try_from(number).ok()).ok_or_else(
                    || format!("a number in the column `{}` is out of range", column.name()),
                )?,
            };
        Ok(zero_nulls(values, array.nulls()))
    }

    /// Numbers that may be unknown; negative ones keep their bits.
    fn bits(&self, column: Column) -> Result<(ScalarBuffer<u64>, Option<NullBuffer>), String> {
        let Some(array) = self.batch.column_by_name(column.name()) else {
            let rows = self.batch.num_rows();
            return Ok((vec![0; rows].into(), Some(NullBuffer::new_null(rows))));
        };
        let values = match array.as_primitive_opt::<UInt64Type>() {
            Some(array) => array.values().clone(),
            None => converted(array, |number| Some(number as u64))
                .ok_or_else(|| format!("the column `{}` does not hold numbers", column.name()))?,
        };
        Ok((zero_nulls(values, array.nulls()), array.nulls().cloned()))
    }
}

fn known(value: Option<&NullBuffer>, old: Option<&NullBuffer>, rows: usize) -> ScalarBuffer<u8> {
    let bit = |nulls: Option<&NullBuffer>, row, bit| match nulls {
        Some(nulls) if nulls.is_null(row) => 0,
        _ => bit,
    };
    (0..rows)
        .map(|row| bit(value, row, VALUE_KNOWN) | bit(old, row, OLD_KNOWN))
        .collect()
}

/// Replaces the values of nulls by zero: Arrow does not define them, and readers of the columns count on zero.
fn zero_nulls<T: ArrowNativeType>(
    values: ScalarBuffer<T>,
    nulls: Option<&NullBuffer>,
) -> ScalarBuffer<T> {
    let Some(nulls) = nulls else { return values };
    let is_null = |row: usize| nulls.is_null(row);
    let stray = |(row, value): (usize, &T)| is_null(row) && *value != T::default();
    if !values.iter().enumerate().any(stray) {
        return values;
    }
    let keep = |(row, value): (usize, &T)| if is_null(row) { T::default() } else { *value };
    values.iter().enumerate().map(keep).collect()
}

/// A column of another integer type. Nulls convert like the number that stands in their place, or to zero.
fn converted<T>(array: &ArrayRef, to: impl Fn(i128) -> Option<T>) -> Option<ScalarBuffer<T>>
where
    T: ArrowNativeType,
{
    fn each<S, T>(
        array: &PrimitiveArray<S>,
        to: impl Fn(i128) -> Option<T>,
    ) -> Option<ScalarBuffer<T>>
    where
        S: ArrowPrimitiveType<Native: Into<i128>>,
        T: ArrowNativeType,
    {
        array
            .iter()
            .map(|number| number.map_or(Some(T::default()), |number| to(number.into())))
            .collect()
    }
    match array.data_type() {
        DataType::Int8 => each(array.as_primitive_opt::<Int8Type>()?, to),
        DataType::Int16 => each(array.as_primitive_opt::<Int16Type>()?, to),
        DataType::Int32 => each(array.as_primitive_opt::<Int32Type>()?, to),
        DataType::Int64 => each(array.as_primitive_opt::<Int64Type>()?, to),
        DataType::UInt8 => each(array.as_primitive_opt::<UInt8Type>()?, to),
        DataType::UInt16 => each(array.as_primitive_opt::<UInt16Type>()?, to),
        DataType::UInt32 => each(array.as_primitive_opt::<UInt32Type>()?, to),
        DataType::UInt64 => each(array.as_primitive_opt::<UInt64Type>()?, to),
        _ => None,
    }
}
