//! The library's own functions behind the ones that the runtime defines.

use crate::lookup;
use core::{
    ffi::CStr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Address of the next definition of `name` after the program's, looked up once.
///
/// `version` picks one of several: condition variables exist in an old and a new form.
pub fn find(slot: &AtomicUsize, name: &CStr, version: Option<&CStr>) -> usize {
    let known = slot.load(Relaxed);
    if known != 0 {
        return known;
    }
    let found = lookup::find(libc::RTLD_NEXT, name, version) as usize;
    if found == 0 {
        missing(name);
    }
    slot.store(found, Relaxed);
    found
}

/// A function that the program calls and no library defines: there is no way to go on.
fn missing(name: &CStr) -> ! {
    let prefix = b"unsnarl: no shared library defines ";
    let next = b"\n  next: link the C and C++ libraries as shared ones\n";
    // SAFETY: writes byte strings to standard error and ends the process.
    unsafe {
        libc::write(2, prefix.as_ptr().cast(), prefix.len());
        libc::write(2, name.as_ptr().cast(), name.to_bytes().len());
        libc::write(2, next.as_ptr().cast(), next.len());
        libc::_exit(98)
    }
}

/// `real!("name", fn(A, B) -> C)`: the library's function; `real!("name" @ "VERSION", ...)` with a version.
macro_rules! real {
    (@slot $name:literal, $version:expr, fn($($t:ty),* $(,)?) -> $r:ty) => {{
        static SLOT: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
        // SAFETY: the symbol has this C signature.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($t),*) -> $r>(
                $crate::real::find(&SLOT, NAME, $version),
            )
        }
    }};
    ($name:literal @ $version:literal, fn($($t:ty),* $(,)?) -> $r:ty) => {
        real!(@slot $name, Some($version), fn($($t),*) -> $r)
    };
    ($name:literal, fn($($t:ty),* $(,)?) -> $r:ty) => {
        real!(@slot $name, None, fn($($t),*) -> $r)
    };
}
pub(crate) use real;
