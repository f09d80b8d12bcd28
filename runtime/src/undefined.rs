//! Reports of UBSan, the undefined behavior sanitizer: one that ends the program is the run's failure.
//!
//! UBSan calls [`__ubsan_on_report`] for each report, and a callback when it ends the process, which it does by a
//! system call of its own.

use crate::{
    failure,
    state::{header, recording, unrecorded},
};
use core::{
    arch::{asm, global_asm},
    ffi::{c_char, c_uint},
    ptr::null,
    sync::atomic::Ordering::Relaxed,
};
use unsnarl_trace::raw::End;

// Programs without UBSan have neither.
global_asm!(
    ".weak __ubsan_get_current_report_data",
    ".weak __sanitizer_set_death_callback",
);

type ReportData = unsafe extern "C" fn(
    kind: *mut *const c_char,
    message: *mut *const c_char,
    file: *mut *const c_char,
    line: *mut c_uint,
    column: *mut c_uint,
    address: *mut *const c_char,
);
type SetDeathCallback = unsafe extern "C" fn(unsafe extern "C" fn());

/// The address of a function that the program may have.
macro_rules! address_of {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: reads the address from the table that the linker makes.
        unsafe {
            asm!(
                concat!("mov {0}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, preserves_flags, readonly),
            );
        }
        address
    }};
}

/// UBSan reports: notes what, in case that it ends the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ubsan_on_report() {
    let (data, set) = (
        address_of!("__ubsan_get_current_report_data"),
        address_of!("__sanitizer_set_death_callback"),
    );
    if data == 0 || set == 0 || recording().is_none() {
        return;
    }
    // SAFETY: UBSan's own functions of these types; the first may be called here.
    unsafe {
        note_report(core::mem::transmute::<usize, ReportData>(data));
        core::mem::transmute::<usize, SetDeathCallback>(set)(on_death);
    }
}

/// # Safety
/// A report is being made.
unsafe fn note_report(data: ReportData) {
    let (mut kind, mut message, mut file, mut address) = (null(), null(), null(), null());
    let (mut line, mut column) = (0, 0);
    // SAFETY: the caller's; what comes back are C strings or null.
    unsafe {
        data(
            &mut kind,
            &mut message,
            &mut file,
            &mut line,
            &mut column,
            &mut address,
        );
        failure::write_message(&[failure::bytes(message), failure::bytes(file)]);
    }
    header().fail_line.store(line, Relaxed);
}

/// UBSan ends the process.
unsafe extern "C" fn on_death() {
    if let Some(this) = recording() {
        unrecorded(this, || failure::note_last(this, End::UndefinedBehavior));
    }
}
