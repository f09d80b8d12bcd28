//! Variables of the environment that the program looks up: noted with what was found, so that a replay in another
//! shell begins with the same ones. What nobody asks for is not noted.

use crate::{
    entry::entry,
    input::{self, Answer, Parts, part},
    memory::length,
    real::real,
    state::{Thread, controlled, recording},
};
use core::{
    ffi::{c_char, c_void},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use unsnarl_trace::raw::Call;

unsafe extern "C" {
    /// The kernel's texts lie above.
    static __libc_stack_end: *const c_void;
}

/// Names that were noted, as hashes. Beyond these a name may be noted more than once.
static NOTED: [AtomicU64; 512] = [const { AtomicU64::new(0) }; 512];

/// Notes what the library has found, unless the program has put it there itself.
///
/// # Safety
/// Texts; the value may be null.
unsafe fn note(this: &Thread, name: *const c_char, value: *const c_char) {
    // SAFETY: set by the loader before the program starts.
    let is_own = !value.is_null() && (value as usize) < unsafe { __libc_stack_end } as usize;
    if name.is_null() || is_own {
        return;
    }
    // SAFETY: texts.
    unsafe {
        let name_length = length(name.cast());
        if !is_new(core::slice::from_raw_parts(name.cast(), name_length)) {
            return;
        }
        let found = !value.is_null();
        let value_length = if found { length(value.cast()) } else { 0 };
        let parts = [
            part(name.cast_mut().cast(), name_length),
            part(c"=".as_ptr().cast_mut().cast(), usize::from(found)),
            part(value.cast_mut().cast(), value_length),
        ];
        let answer = Answer {
            result: i64::from(found),
            error: 0,
            bytes: name_length + usize::from(found) + value_length,
        };
        input::note(
            this,
            Call::Environment,
            answer,
            Parts::new(parts.as_ptr(), parts.len()),
        );
    }
}

fn is_new(name: &[u8]) -> bool {
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = hash | 1;
    let (before, after) = NOTED.split_at(hash as usize % NOTED.len());
    for place in after.iter().chain(before) {
        match place.load(Relaxed) {
            0 => {
                place.store(hash, Relaxed);
                return true;
            }
            known if known == hash => return false,
            _ => {}
        }
    }
    true
}

macro_rules! lookups {
    ($($function:ident, $name:literal;)*) => {$(
        unsafe extern "C" fn $function(name: *const c_char, _pc: u64) -> *mut c_char {
            let library = real!($name, fn(*const c_char) -> *mut c_char);
            // SAFETY: the program's own call.
            unsafe {
                let value = library(name);
                if let Some(this) = recording().filter(|_| controlled()) {
                    note(this, name, value);
                }
                value
            }
        }
    )*};
}

lookups! {
    on_getenv, "getenv";
    on_secure_getenv, "secure_getenv";
}

entry! {
    getenv, "rsi" => on_getenv;
    secure_getenv, "rsi" => on_secure_getenv;
}
