//! Tables whose rows are named by typed ids, and the one panic for an id that names no row.
//!
//! Ids are checked where they come into being: by the reader of run files, by the recorder, by an engine that makes
//! them. From there on an id without a row is a defect of unsnarl and no property of the run, so indexing answers it
//! by a panic. The message says which table of which run is broken, and a request of the server fails alone.

use serde::{Deserialize, Serialize};
use std::{
    cell::RefCell,
    fmt,
    marker::PhantomData,
    ops::{Index, IndexMut},
};

/// An id of a row.
pub trait Id: Copy + fmt::Debug {
    /// Name of the type.
    const NAME: &'static str;

    /// Number of the row.
    fn number(self) -> usize;

    /// The id of a row; `None` if there are fewer ids.
    fn of_number(number: usize) -> Option<Self>;
}

/// A table whose rows are named by `I`.
#[derive(Serialize, Deserialize)]
#[serde(
    transparent,
    bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>")
)]
pub struct IndexVec<I, T> {
    rows: Vec<T>,
    #[serde(skip)]
    id: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IndexVec<I, T> {
    /// A table without rows.
    pub const fn new() -> IndexVec<I, T> {
        IndexVec {
            rows: Vec::new(),
            id: PhantomData,
        }
    }

    /// A table with this many equal rows.
    pub fn filled(row: T, rows: usize) -> IndexVec<I, T>
    where
        T: Clone,
    {
        vec![row; rows].into()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends a row. Panics if there is no id for it.
    #[track_caller]
    pub fn push(&mut self, row: T) -> I {
        let number = self.rows.len();
        self.rows.push(row);
        I::of_number(number).unwrap_or_else(|| broken_reference(I::NAME, number, number))
    }

    /// The row of an id from outside the program, which may name none. Indexing is for all others.
    pub fn checked(&self, id: I) -> Option<&T> {
        self.rows.get(id.number())
    }

    /// The row of an id from outside the program, to be changed.
    pub fn checked_mut(&mut self, id: I) -> Option<&mut T> {
        self.rows.get_mut(id.number())
    }

    /// Removes the rows from this number on.
    pub fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
    }

    /// The ids of the rows.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        let id = |number| {
            I::of_number(number).unwrap_or_else(|| broken_reference(I::NAME, number, number))
        };
        (0..self.rows.len()).map(id)
    }

    /// The rows with their ids.
    pub fn iter_enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.ids().zip(&self.rows)
    }

    /// The rows.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// The rows, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// The rows as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.rows
    }

    /// The rows without their ids.
    pub fn into_vec(self) -> Vec<T> {
        self.rows
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, id: I) -> &T {
        match self.rows.get(id.number()) {
            Some(row) => row,
            None => broken_reference(I::NAME, id.number(), self.rows.len()),
        }
    }
}

impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, id: I) -> &mut T {
        let rows = self.rows.len();
        match self.rows.get_mut(id.number()) {
            Some(row) => row,
            None => broken_reference(I::NAME, id.number(), rows),
        }
    }
}

impl<I, T> Default for IndexVec<I, T> {
    fn default() -> IndexVec<I, T> {
        Vec::new().into()
    }
}

impl<I, T: Clone> Clone for IndexVec<I, T> {
    fn clone(&self) -> IndexVec<I, T> {
        self.rows.clone().into()
    }
}

impl<I, T: PartialEq> PartialEq for IndexVec<I, T> {
    fn eq(&self, other: &IndexVec<I, T>) -> bool {
        self.rows == other.rows
    }
}

impl<I, T: Eq> Eq for IndexVec<I, T> {}

impl<I, T: fmt::Debug> fmt::Debug for IndexVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(rows: Vec<T>) -> IndexVec<I, T> {
        let id = PhantomData;
        IndexVec { rows, id }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> IndexVec<I, T> {
        Vec::from_iter(rows).into()
    }
}

impl<I, T> Extend<T> for IndexVec<I, T> {
    fn extend<R: IntoIterator<Item = T>>(&mut self, rows: R) {
        self.rows.extend(rows);
    }
}

impl<'t, I, T> IntoIterator for &'t IndexVec<I, T> {
    type Item = &'t T;
    type IntoIter = std::slice::Iter<'t, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

thread_local! {
    /// The run that this thread works on.
    static RUN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The time in which a thread works on one run: the message of a broken reference names the run.
#[must_use = "the run is named while this lives"]
pub struct RunScope {
    around: Option<String>,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl RunScope {
    /// Begins work on a run.
    pub fn enter(run: impl Into<String>) -> RunScope {
        RunScope {
            around: RUN.replace(Some(run.into())),
            thread: PhantomData,
        }
    }
}

impl Drop for RunScope {
    fn drop(&mut self) {
        RUN.set(self.around.take());
    }
}

/// Reports that an id names no row: the one panic of tables. Nothing that a file or a person says leads here.
#[cold]
#[inline(never)]
#[track_caller]
#[allow(
    clippy::panic,
    reason = "a broken invariant is a defect to report, and no row that could stand for the missing one is right"
)]
pub(crate) fn broken_reference(id: &str, number: usize, rows: usize) -> ! {
    let run = RUN.with_borrow(Clone::clone);
    let run = run.map_or(String::new(), |run| format!(" of the run {run}"));
    panic!(
        "{id} {number} names no row of a table{run} that has {rows}; this is a defect of unsnarl, please report it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SiteId, ThreadId};
    use proptest::prelude::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The message of the panic in `work`.
    fn broken<R>(work: impl FnOnce() -> R) -> Option<String> {
        let caught = catch_unwind(AssertUnwindSafe(|| drop(work())));
        let payload = caught.err()?;
        Some(payload.downcast_ref::<String>().unwrap().clone())
    }

    #[test]
    fn a_broken_reference_names_id_table_and_run() {
        let table: IndexVec<SiteId, u8> = vec![1, 2].into();
        let alone = broken(|| table[SiteId(2)]).unwrap();
        assert_eq!(
            alone,
            "SiteId 2 names no row of a table that has 2; this is a defect of unsnarl, please report it"
        );
        let named = {
            let _outer = RunScope::enter("bank-1");
            drop(RunScope::enter("bank-2"));
            broken(|| table[SiteId(9)]).unwrap()
        };
        assert!(
            named.starts_with("SiteId 9 names no row of a table of the run bank-1 that has 2"),
            "{named}"
        );
        // The scope ends also by a panic.
        broken(|| {
            let _scope = RunScope::enter("bank-3");
            table[SiteId(9)]
        });
        assert_eq!(broken(|| table[SiteId(2)]), Some(alone));
    }

    #[test]
    fn a_row_without_an_id_is_refused() {
        let mut full: IndexVec<ThreadId, ()> = IndexVec::filled((), usize::from(u16::MAX));
        assert_eq!(full.push(()), ThreadId(u16::MAX));
        assert!(broken(|| full.push(())).is_some());
    }

    #[test]
    fn a_table_is_stored_as_a_sequence() {
        let table: IndexVec<SiteId, u8> = vec![1, 2].into();
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(text, "[1,2]");
        let read: IndexVec<SiteId, u8> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, table);
    }

    proptest! {
        #[test]
        fn a_table_is_a_vector(rows in prop::collection::vec(any::<u8>(), 0..20), asked in 0u16..24, row: u8) {
            let mut table = IndexVec::<ThreadId, u8>::new();
            for row in &rows {
                let id = table.push(*row);
                prop_assert_eq!(table[id], *row);
            }
            prop_assert_eq!(table.as_slice(), &rows);
            prop_assert_eq!(table.len(), rows.len());
            prop_assert_eq!(table.is_empty(), rows.is_empty());
            let ids: Vec<_> = table.ids().collect();
            prop_assert_eq!(&ids, &(0..rows.len() as u16).map(ThreadId).collect::<Vec<_>>());
            let pairs: Vec<_> = table.iter_enumerated().map(|(id, row)| (id, *row)).collect();
            prop_assert_eq!(pairs, ids.into_iter().zip(rows.iter().copied()).collect::<Vec<_>>());

            let (id, expected) = (ThreadId(asked), rows.get(usize::from(asked)).copied());
            prop_assert_eq!(table.checked(id).copied(), expected);
            let indexed = broken(|| table[id]);
            prop_assert_eq!(indexed.is_none(), expected.is_some());
            if let Some(place) = table.checked_mut(id) {
                *place = row;
                prop_assert_eq!(table[id], row);
                table[id] = row.wrapping_add(1);
                prop_assert_eq!(table[id], row.wrapping_add(1));
            }
            prop_assert_eq!(table.into_iter().count(), rows.len());
        }
    }
}
