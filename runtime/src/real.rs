//! The library's own functions behind the ones that the runtime defines.

use crate::lookup;
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// `real!("name", fn(A, B) -> C)`: the library's function; `real!("name" @ "VERSION", ...)` with a version, and
/// `real!("name" in c"library.so", ...)` one of a library that may have to be loaded.
macro_rules! real {
    (@slot $name:literal, |$slot:ident, $c_name:ident| $find:expr, fn($($t:ty),* $(,)?) -> $r:ty) => {{
        static SLOT: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
        let ($slot, $c_name) = (&SLOT, NAME);
        // SAFETY: the symbol has this C signature.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C-unwind" fn($($t),*) -> $r>($find)
        }
    }};
    ($name:literal in $library:literal, fn($($t:ty),* $(,)?) -> $r:ty) => {
        $crate::real::real!(@slot $name, |slot, name| $crate::real::find_in(slot, $library, name), fn($($t),*) -> $r)
    };
    ($name:literal @ $version:literal, fn($($t:ty),* $(,)?) -> $r:ty) => {
        $crate::real::real!(@slot $name, |slot, name| $crate::real::find(slot, name, Some($version)), fn($($t),*) -> $r)
    };
    ($name:literal, fn($($t:ty),* $(,)?) -> $r:ty) => {
        $crate::real::real!(@slot $name, |slot, name| $crate::real::find(slot, name, None), fn($($t),*) -> $r)
    };
}
pub(crate) use real;

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

/// Like [`find`], for a function of a library that need not be among those that the program was linked with: a linker may
/// leave it out when the runtime defines all that the program calls of it, and a module that is loaded later brings its own.
pub fn find_in(slot: &AtomicUsize, library: &CStr, name: &CStr) -> usize {
    let known = slot.load(Relaxed);
    if known != 0 {
        return known;
    }
    let mut found = lookup::find(libc::RTLD_NEXT, name, None);
    if found.is_null() {
        let open = real!("dlopen", fn(*const c_char, c_int) -> *mut c_void);
        // SAFETY: the name is a C string; the library is one that the caller of the function needs.
        let handle = unsafe { open(library.as_ptr(), libc::RTLD_LAZY) };
        if !handle.is_null() {
            found = lookup::find(handle, name, None);
        }
    }
    if found.is_null() {
        missing(name);
    }
    slot.store(found as usize, Relaxed);
    found as usize
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
