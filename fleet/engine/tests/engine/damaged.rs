//! Hundreds of summaries, some damaged, all of them in two places.

use crate::{ask, corpus::many, packed};
use clap::ValueEnum;
use std::{fs, path::PathBuf};
use unsnarl_fleet_engine::queries::Query;

/// Every hundredth summary is damaged in one of its two places, each time in another way: cut off, overwritten in the middle,
/// no Parquet at all, or empty.
#[test]
fn a_hundredth_damaged_and_everything_twice_is_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, one, two] = ["whole", "one", "two"].map(|name| folder.path().join(name));
    let mut damaged = Vec::new();
    for (number, run) in many(400, 60).iter().enumerate() {
        run.write(&whole, 7);
        let copies = [run.write(&one, 7), run.write(&two, 7)];
        if number % 100 == 50 {
            let path = copies[number / 100 % 2].clone();
            damage(&path, number / 100);
            damaged.push(path);
        }
    }
    damaged.sort();
    let (alone, of_whole) = packed(std::slice::from_ref(&whole), &whole);
    let (both, of_both) = packed(&[two, one], folder.path());
    let broken: Vec<PathBuf> = both.broken.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(broken, damaged);
    assert_eq!((alone.runs, alone.broken.len()), (400, 0));
    assert_eq!((both.runs, both.again), (400, 396));
    for query in Query::value_variants() {
        assert_eq!(ask(*query, &of_both), ask(*query, &of_whole), "{query:?}");
    }
}

fn damage(path: &PathBuf, way: usize) {
    let mut bytes = fs::read(path).unwrap();
    let half = bytes.len() / 2;
    match way {
        0 => bytes.truncate(half),
        1 => bytes[4..half].fill(0x55),
        2 => bytes = b"not a table".to_vec(),
        _ => bytes.clear(),
    }
    fs::write(path, bytes).unwrap();
}
