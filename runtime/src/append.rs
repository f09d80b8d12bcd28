//! The steps in which a record comes into the log. The program can die, and the recorder look at the log, between any
//! two of them: a record is valid once its kind is written, which comes last.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
    compiler_fence,
};
use unsnarl_trace::raw::Record;

/// Memory for records, and the number of those whose places are taken.
pub trait LogMemory {
    /// Number of records that it has places for.
    fn capacity(&self) -> u64;

    /// The count.
    fn count(&self) -> u64;

    /// Sets the count, which nobody else changes.
    fn set_count(&self, count: u64);

    /// Adds one to the count and returns what it was.
    fn add_to_count(&self) -> u64;

    /// Writes a record that is not valid.
    ///
    /// # Safety
    /// The place is below the capacity, and this thread's alone.
    unsafe fn write(&self, index: u64, record: Record);

    /// Makes the record valid.
    ///
    /// # Safety
    /// As [`LogMemory::write`], which comes before.
    unsafe fn publish(&self, index: u64, kind: u8);
}

/// Appends a record and returns its place; `None` when there is no place left. One that `is_alone` is counted when it is
/// valid; where others append at the same time, the count gives each of them a place.
#[inline(always)]
pub fn append(log: &impl LogMemory, is_alone: bool, record: Record) -> Option<u64> {
    let index = match is_alone {
        true => log.count(),
        false => log.add_to_count(),
    };
    if index >= log.capacity() {
        return None;
    }
    // SAFETY: the place is within the capacity, and the count gives it to nobody else.
    unsafe {
        log.write(index, Record { kind: 0, ..record });
        log.publish(index, record.kind);
    }
    if is_alone {
        log.set_count(index + 1);
    }
    Some(index)
}

/// The log that is shared with the recorder.
pub struct RawLog<'a> {
    /// Its count.
    pub count: &'a AtomicU64,
    /// Its first record.
    pub records: *mut Record,
    /// Number of records that are mapped there.
    pub capacity: u64,
}

impl LogMemory for RawLog<'_> {
    #[inline(always)]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline(always)]
    fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    #[inline(always)]
    fn set_count(&self, count: u64) {
        self.count.store(count, Release);
    }

    #[inline(always)]
    fn add_to_count(&self) -> u64 {
        self.count.fetch_add(1, Acquire)
    }

    #[inline(always)]
    unsafe fn write(&self, index: u64, record: Record) {
        // SAFETY: the caller's.
        unsafe { self.records.add(index as usize).write(record) };
    }

    #[inline(always)]
    unsafe fn publish(&self, index: u64, kind: u8) {
        compiler_fence(Release);
        // SAFETY: the caller's.
        unsafe { (&raw mut (*self.records.add(index as usize)).kind).write_volatile(kind) };
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::{sync::Arc, thread, vec, vec::Vec};

    /// A record whose parts fit together.
    fn record(thread: u16, number: u64) -> Record {
        let pc = u64::from(thread) << 32 | number;
        Record {
            kind: thread as u8 + 1,
            thread,
            pc,
            addr: !pc,
            ..Record::default()
        }
    }

    /// Checks that each thread's records are there once and in its order, as many of them as there are places for.
    fn check(records: &[Record], threads: u16, each: u64) {
        let of = |thread: u16| records.iter().filter(move |record| record.thread == thread);
        for thread in 0..threads {
            assert!(
                (0..each)
                    .map(|number| record(thread, number))
                    .zip(of(thread))
                    .all(|(a, b)| a == *b)
            );
        }
        let all = usize::from(threads) * each as usize;
        assert!(records.len() <= all);
        assert!((0..threads).map(|thread| of(thread).count()).sum::<usize>() == records.len());
    }

    /// The real memory, with real threads: Miri looks for races and accesses outside of it.
    #[test]
    fn threads_append_to_the_real_memory() {
        for capacity in [4, 6, 7] {
            let mut records = vec![Record::default(); capacity];
            let count = AtomicU64::new(0);
            let place = records.as_mut_ptr() as usize;
            thread::scope(|scope| {
                for thread in 0..3 {
                    let count = &count;
                    scope.spawn(move || {
                        let log = RawLog {
                            count,
                            records: core::ptr::with_exposed_provenance_mut(place),
                            capacity: capacity as u64,
                        };
                        let place = |number| append(&log, false, record(thread, number));
                        let places = [place(0), place(1)];
                        assert!(
                            places
                                .iter()
                                .flatten()
                                .all(|place| *place < capacity as u64)
                        );
                    });
                }
            });
            assert_eq!(count.into_inner(), 6);
            records.truncate(6);
            check(&records, 3, 2);
        }
    }

    /// Under Miri nothing switches stacks.
    #[cfg(not(miri))]
    mod schedules {
        use super::*;
        use shuttle::{
            sync::atomic::{AtomicU64, Ordering::SeqCst},
            thread,
        };

        /// Memory of which every word is read and written in a step of its own.
        struct WordMemory {
            count: AtomicU64,
            records: Vec<[AtomicU64; 3]>,
        }

        impl WordMemory {
            fn new(capacity: usize) -> Arc<WordMemory> {
                let records = (0..capacity).map(|_| [0; 3].map(AtomicU64::new)).collect();
                Arc::new(WordMemory {
                    count: AtomicU64::new(0),
                    records,
                })
            }

            /// The record, if it is valid.
            fn valid(&self, index: usize) -> Option<Record> {
                let [kind, pc, addr] = &self.records[index];
                let kind = kind.load(SeqCst) as u8;
                let (pc, addr) = (pc.load(SeqCst), addr.load(SeqCst));
                let thread = (pc >> 32) as u16;
                let record = Record {
                    kind,
                    thread,
                    pc,
                    addr,
                    ..Record::default()
                };
                (kind != 0).then_some(record)
            }

            /// All valid records, each of which is complete.
            fn all(&self) -> Vec<Record> {
                let valid: Vec<Record> = (0..self.records.len())
                    .filter_map(|at| self.valid(at))
                    .collect();
                for one in &valid {
                    assert_eq!(*one, record(one.thread, one.pc & 0xffff_ffff));
                }
                valid
            }
        }

        impl LogMemory for WordMemory {
            fn capacity(&self) -> u64 {
                self.records.len() as u64
            }

            fn count(&self) -> u64 {
                self.count.load(SeqCst)
            }

            fn set_count(&self, count: u64) {
                self.count.store(count, SeqCst);
            }

            fn add_to_count(&self) -> u64 {
                self.count.fetch_add(1, SeqCst)
            }

            unsafe fn write(&self, index: u64, record: Record) {
                let [kind, pc, addr] = &self.records[index as usize];
                kind.store(record.kind.into(), SeqCst);
                pc.store(record.pc, SeqCst);
                addr.store(record.addr, SeqCst);
            }

            unsafe fn publish(&self, index: u64, kind: u8) {
                self.records[index as usize][0].store(kind.into(), SeqCst);
            }
        }

        /// Runs a test under many schedules, half of them drawn by priorities.
        fn under_schedules(test: impl Fn() + Send + Sync + Clone + 'static) {
            shuttle::check_random(test.clone(), 200);
            shuttle::check_pct(test, 200, 3);
        }

        #[test]
        fn whoever_looks_at_any_time_finds_complete_records_only() {
            for capacity in [4, 6] {
                under_schedules(move || {
                    let log = WordMemory::new(capacity);
                    let threads: Vec<_> = (0..3)
                        .map(|number| {
                            let log = log.clone();
                            thread::spawn(move || {
                                let place = |which| append(&*log, false, record(number, which));
                                [place(0), place(1)].into_iter().flatten().count()
                            })
                        })
                        .collect();
                    log.all();
                    let placed = threads.into_iter().map(|thread| thread.join().unwrap());
                    assert_eq!(placed.sum::<usize>(), capacity);
                    let records = log.all();
                    assert_eq!(records.len(), capacity);
                    check(&records, 3, 2);
                });
            }
        }

        #[test]
        fn what_is_counted_by_one_that_is_alone_is_valid() {
            under_schedules(|| {
                let log = WordMemory::new(3);
                let writer = log.clone();
                let writer = thread::spawn(move || {
                    (0..4)
                        .filter_map(|which| append(&*writer, true, record(0, which)))
                        .count()
                });
                let counted = log.count() as usize;
                assert!((0..counted).all(|at| log.valid(at) == Some(record(0, at as u64))));
                assert_eq!(writer.join().unwrap(), 3);
                assert_eq!(log.count(), 3);
                check(&log.all(), 1, 4);
            });
        }
    }
}
