//! The calling conventions of all functions that a file defines or calls, by the linker's name.

use super::{
    abi::{Abi, Returned, Word},
    debug::DebugFacts,
    debug_types::DwarfTypeRows,
};
use rustc_hash::FxHashMap;
use unsnarl_trace::program::Unit;

/// Functions that do not return, also where the debug info does not say so.
const FINAL: [&str; 20] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "__assert_fail",
    "__assert_perror_fail",
    "__assert",
    "__stack_chk_fail",
    "pthread_exit",
    "thrd_exit",
    "longjmp",
    "siglongjmp",
    "_ZSt9terminatev",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_pure_virtual",
    "__cxa_bad_cast",
    "__cxa_throw_bad_array_new_length",
    "_Unwind_Resume",
];

/// Calling conventions.
#[derive(Default)]
pub(super) struct Abis {
    known: FxHashMap<String, Result<Abi, String>>,
}

impl Abis {
    /// The conventions of all prototypes.
    pub fn new(facts: &DebugFacts, types: &DwarfTypeRows, unit: &Unit) -> Abis {
        let of = |(name, prototype): (&String, &_)| (name.clone(), Abi::of(prototype, types, unit));
        Abis {
            known: facts.prototypes.iter().map(of).collect(),
        }
    }

    /// Notes the convention of a function that the file defines, whose name may be that of others in the source.
    pub fn define(&mut self, name: &str, abi: Result<Abi, String>) {
        self.known.insert(name.to_owned(), abi);
    }

    /// The convention of a function; an error if its types are not understood.
    pub fn of(&self, name: &str) -> Result<Abi, String> {
        let abi = match (callback(name), self.known.get(plain(name))) {
            (Some(abi), _) => Ok(abi),
            _ if has_other_parameters(name) => Ok(Abi::unknown()),
            (None, Some(known)) => known.clone(),
            (None, None) => Ok(Abi::unknown()),
        };
        abi.map(|abi| Abi {
            is_final: abi.is_final || is_final(name),
            ..abi
        })
    }
}

/// The name without the linker's version.
fn plain(name: &str) -> &str {
    name.split_once('@').map_or(name, |(plain, _)| plain)
}

/// Returns whether a function never returns.
fn is_final(name: &str) -> bool {
    FINAL.contains(&name) || name.starts_with("_ZSt") && name.contains("__throw_")
}

/// Returns whether the compiler has made a copy of a function with other parameters than its source has.
fn has_other_parameters(name: &str) -> bool {
    let ends = [".isra", ".constprop", ".part"];
    ends.iter().any(|end| name.contains(end))
}

/// The conventions of the instrumentation's callbacks.
fn callback(name: &str) -> Option<Abi> {
    if name.starts_with("__sanitizer_cov_") {
        return Some(Abi::of_integers(0, Returned::Nothing));
    }
    let rest = name.strip_prefix("__tsan_")?;
    if let Some(atomic) = rest.strip_prefix("atomic") {
        let (bits, operation) = atomic.split_once('_')?;
        let Ok(bits) = bits.parse::<u32>() else {
            return Some(Abi::of_integers(1, Returned::Nothing));
        };
        let value = Returned::One(Word::Integer(bits));
        return Some(match operation {
            "load" => Abi::of_integers(2, value),
            "store" => Abi::of_integers(3, Returned::Nothing),
            "compare_exchange_val" => Abi::of_integers(5, value),
            "compare_exchange_strong" | "compare_exchange_weak" => {
                Abi::of_integers(5, Returned::One(Word::Integer(8)))
            }
            _ => Abi::of_integers(3, value),
        });
    }
    let count = match rest {
        "func_exit" | "init" => 0,
        "read_range" | "write_range" | "vptr_update" => 2,
        "memcpy" | "memmove" | "memset" => {
            return Some(Abi::of_integers(3, Returned::One(Word::Integer(64))));
        }
        _ => 1,
    };
    Some(Abi::of_integers(count, Returned::Nothing))
}
