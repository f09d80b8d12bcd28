//! The solver's effort for an order that fails, by the number of accesses: with the recorded order to stay close to,
//! and without any order; on generated traces, so that they have every size.

use crate::{docs, table::PrintedTable};
use anyhow::Result;
use std::time::{Duration, Instant};
use unsnarl_core::Budget;
use unsnarl_symbolic::{
    StepId, SymbolicTrace,
    schedules::{
        ConstraintCounts, ScheduleAnswer, SolverOptions, SolverVerdict, alternate, root_cause,
        synthesize,
        synthetic::{SyntheticProgram, failing},
    },
};

/// Reads and writes.
const SIZES: [u32; 4] = [100, 400, 1200, 5000];
/// Threads that work.
const THREADS: u16 = 4;
/// Time for a question: nobody waits longer.
const MOST: Duration = Duration::from_secs(60);

/// Measures and writes the table into the docs.
pub fn solver() -> Result<()> {
    let mut table = PrintedTable::new(&[
        "trace",
        "accesses",
        "constraints",
        "fails, from the recorded order, s",
        "fails, from the paths alone, s",
        "root cause, s",
        "orders in it",
        "passes, last of these turned round, s",
    ]);
    for program in [SyntheticProgram::Bank, SyntheticProgram::Queue] {
        for accesses in SIZES {
            eprintln!("{program:?}, {accesses} accesses ...");
            table.row(row(program, accesses));
        }
    }
    println!("{table}");
    docs::replace(super::PAGE, "solver", &table.to_string())
}

fn row(program: SyntheticProgram, accesses: u32) -> Vec<String> {
    let trace = failing(program, accesses, THREADS, 1);
    let options = SolverOptions::default();
    let (from_order, counts) = timed(|budget| synthesize(&trace, &options, budget));
    let mut unordered = trace.clone();
    unordered.order.clear();
    let (from_paths, _) = timed(|budget| synthesize(&unordered, &options, budget));
    let mut cause = None;
    let (explained, _) = timed(|budget| {
        let answer = root_cause(&trace, &trace.order, &options, budget);
        if let SolverVerdict::Found(found) = &answer.verdict {
            cause = Some(found.clone());
        }
        answer
    });
    let orders = match &cause {
        None => "-".to_owned(),
        Some(cause) if cause.is_minimal => cause.orders.len().to_string(),
        Some(cause) => format!("{}, perhaps fewer", cause.orders.len()),
    };
    let last = cause.as_ref().and_then(|cause| cause.orders.last());
    let passes = last.map_or("-".to_owned(), |last| {
        turned(&trace, (last.before, last.after), &options)
    });
    vec![
        format!("{program:?}").to_lowercase(),
        counts.accesses.to_string(),
        (counts.path + counts.bug + counts.sync + counts.rw + counts.mo).to_string(),
        from_order,
        from_paths,
        explained,
        orders,
        passes,
    ]
}

fn turned(trace: &SymbolicTrace, pair: (StepId, StepId), options: &SolverOptions) -> String {
    timed(|budget| alternate(trace, &trace.order, pair, options, budget)).0
}

/// The seconds, or the reason for which there is no answer.
fn timed<T>(ask: impl FnOnce(&Budget) -> ScheduleAnswer<T>) -> (String, ConstraintCounts) {
    let budget = Budget::lasting(MOST);
    let begin = Instant::now();
    let answer = ask(&budget);
    let seconds = format!("{:.2}", begin.elapsed().as_secs_f64());
    eprintln!("  {seconds} s, {:?}", answer.counts);
    let said = match answer.verdict {
        SolverVerdict::Found(_) => seconds,
        SolverVerdict::Impossible => format!("{seconds}, there is none"),
        SolverVerdict::Unknown(why) => format!("not in {seconds}: {why}"),
    };
    (said, answer.counts)
}
