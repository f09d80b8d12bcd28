//! Mutation of valid inputs, for the targets in `tests/targets.rs`.
//!
//! A target gets a few valid samples and a function that has to survive everything that is made of them. In the tests it
//! runs for a short while on the same inputs each time; `cargo xtask fuzz` runs it for long, on other inputs, with the
//! engines of bolero.

mod mutation;

pub use bolero;
pub use mutation::Mutations;

use bolero::{
    ValueGenerator,
    generator::bolero_generator::driver::{ByteSliceDriver, Options},
};
use std::{
    fmt::Write,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

/// Environment variable that selects bolero's engines instead of [`smoke`].
pub const LONG: &str = "UNSNARL_FUZZ_LONG";

/// Time for each target in the tests.
const SMOKE: Duration = Duration::from_secs(3);

/// Random bytes from which one input is made.
const NOISE: usize = 256;

/// Longest part of a failing input that is printed.
const SHOWN: usize = 4096;

/// Runs a target: `check!(SAMPLES, |input: &Vec<u8>| ...)`.
#[macro_export]
macro_rules! check {
    ($samples:expr, $target:expr) => {{
        let mutations = $crate::Mutations::of($samples);
        if std::env::var_os($crate::LONG).is_some() {
            $crate::bolero::check!()
                .with_generator(mutations)
                .for_each($target);
        } else {
            $crate::smoke(&mutations, $target);
        }
    }};
}

/// Runs a target for a short while. The inputs are the same in every run, only their number depends on the machine.
pub fn smoke(mutations: &Mutations, mut target: impl FnMut(&Vec<u8>)) {
    let start = Instant::now();
    let mut number = 0u64;
    while start.elapsed() < SMOKE {
        let noise = noise(number);
        let mut driver = ByteSliceDriver::new(&noise, &Options::default());
        if let Some(input) = mutations.generate(&mut driver)
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input)))
        {
            eprintln!("input {number} is b\"{}\"", escaped(&input));
            resume_unwind(panic);
        }
        number += 1;
    }
    eprintln!("{number} inputs");
}

/// The random bytes of an input, by SplitMix64.
fn noise(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x2545_f491_4f6c_dd1d);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..NOISE / 8).flat_map(|_| next().to_le_bytes()).collect()
}

/// The input as the contents of a Rust literal, up to a bound that is said.
fn escaped(input: &[u8]) -> String {
    let shown = input.get(..SHOWN).unwrap_or(input);
    let mut text = shown.escape_ascii().to_string();
    if shown.len() < input.len() {
        // Writing to a string cannot fail.
        let _ = write!(text, " and {} bytes more", input.len() - shown.len());
    }
    text
}
