//! Cost of orders and of the import of traces, on generated traces of four sizes.

use crate::{
    docs,
    measure::{best, scan},
    synthetic::SplitMix,
    table::PrintedTable,
};
use anyhow::{Result, ensure};
use std::{fmt::Write, time::Duration};
use unsnarl_core::orders::{HappensBefore, Locks, Orders};
use unsnarl_trace::rapid::{self, Format};

/// Number of measurements of which each figure is the best.
const REPEATS: usize = 3;
const SIZES: [usize; 4] = [100_000, 1_000_000, 4_000_000, 10_000_000];
const THREADS: u64 = 8;
/// Number of variables that one thread uses, and of those that all use.
const OWN: u64 = 512;
const SHARED: u64 = 512;
const LOCKS: u64 = 64;

/// Measures all sizes and writes the table into the docs.
pub fn run() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "events",
        "import, million events/s",
        "happens-before",
        "locksets",
        "both",
        "all orders",
        "plain scan",
        "both: times the scan",
    ]);
    for size in SIZES {
        eprintln!("{size} ...");
        table.row(measure(size)?);
    }
    println!("{table}");
    docs::replace("engines/predict.md", "orders", &table.to_string())
}

fn measure(size: usize) -> Result<Vec<String>> {
    let text = trace(size);
    let import = best(REPEATS, || rapid::import(text.as_bytes(), Format::Std))?;
    let run = rapid::import(text.as_bytes(), Format::Std)?.run;
    ensure!(run.events.len() == size, "{} events", run.events.len());
    ensure!(Orders::new(&run).anomalies().is_empty(), "oddities");
    let clocks = best(REPEATS, || HappensBefore::new(&run, &mut Vec::new()))?;
    let locks = best(REPEATS, || Locks::new(&run, &mut Vec::new()))?;
    let all = best(REPEATS, || Orders::new(&run))?;
    let plain = best(REPEATS, || scan(&run))?;
    let rate = |time: Duration| format!("{:.0}", size as f64 / time.as_secs_f64() / 1e6);
    let both = clocks + locks;
    Ok(vec![
        size.to_string(),
        rate(import),
        rate(clocks),
        rate(locks),
        rate(both),
        rate(all),
        rate(plain),
        format!("{:.1}", both.as_secs_f64() / plain.as_secs_f64()),
    ])
}

/// A trace of eight threads that take turns: mostly accesses to variables of their own, one turn in five a
/// section with three accesses to shared ones.
fn trace(size: usize) -> String {
    let mut text = String::with_capacity(size * 20);
    let mut random = SplitMix(3);
    let mut draw = |bound: u64| random.below(bound);
    let mut events = 0;
    let mut line = |text: &mut String, thread: u64, what: &str, number: u64, site: u64| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "T{thread}|{what}{number})|{site}");
        events += 1;
        events < size
    };
    for thread in 1..THREADS {
        line(&mut text, 0, "fork(T", thread, thread);
    }
    loop {
        let thread = draw(THREADS);
        if draw(5) > 0 {
            for _ in 0..draw(8) {
                let what = if draw(4) == 0 { "w(V" } else { "r(V" };
                let variable = thread * OWN + draw(OWN);
                if !line(&mut text, thread, what, variable, 100 + variable % 97) {
                    return text;
                }
            }
            continue;
        }
        let lock = draw(LOCKS);
        if !line(&mut text, thread, "acq(L", lock, 10 + lock) {
            return text;
        }
        for _ in 0..3 {
            let what = if draw(2) == 0 { "w(V" } else { "r(V" };
            let variable = THREADS * OWN + lock + LOCKS * draw(SHARED / LOCKS);
            if !line(&mut text, thread, what, variable, 300 + variable % 97) {
                return text;
            }
        }
        if !line(&mut text, thread, "rel(L", lock, 20 + lock) {
            return text;
        }
    }
}
