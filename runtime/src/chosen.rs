//! Programs that a script starts while it is recorded: the log is for one of them ([`unsnarl_trace::raw::children`]).

use crate::{server::variable, surroundings, sys};
use core::{
    ffi::c_char,
    sync::atomic::{
        AtomicBool,
        Ordering::{AcqRel, Relaxed},
    },
};
use unsnarl_trace::raw::{
    FILE_VARIABLE, Header,
    children::{CHOSEN, LISTED, MOST_OF_PATH, STARTED},
};

/// Returns whether this program may claim the log. Where the recorder asks who there is, the program notes itself.
///
/// # Safety
/// The header of a log that is mapped as a whole.
pub unsafe fn may_claim(header: *const Header) -> bool {
    // SAFETY: the caller's.
    let claimant = unsafe { (*header).claimant };
    if claimant == LISTED {
        // SAFETY: the caller's.
        unsafe { note_once(header) };
    }
    // SAFETY: the caller's.
    claimant == STARTED || claimant == CHOSEN && unsafe { is_chosen(&*header) }
}

/// Returns whether the log is for the program that this process executes.
fn is_chosen(header: &Header) -> bool {
    let mut room = [0; MOST_OF_PATH];
    let chosen = header.chosen.get(..header.chosen_len as usize);
    chosen.is_some_and(|chosen| own_path(&mut room) == chosen)
}

/// Path of the program that this process executes; empty when the kernel does not tell it.
fn own_path(room: &mut [u8; MOST_OF_PATH]) -> &[u8] {
    let link = c"/proc/self/exe".as_ptr() as usize;
    let place = room.as_mut_ptr() as usize;
    let arguments = [libc::AT_FDCWD as usize, link, place, room.len(), 0, 0];
    // SAFETY: a path, and room for the answer.
    let length = unsafe { sys::call(libc::SYS_readlinkat, arguments) };
    let length = usize::try_from(length).unwrap_or(0);
    room.get(..length).unwrap_or(&[])
}

/// Notes this process in the log, unless it has done so: each instrumented object of a program comes here.
///
/// # Safety
/// The header of a log that is mapped as a whole.
unsafe fn note_once(header: *const Header) {
    static HAS_NOTED: AtomicBool = AtomicBool::new(false);
    if HAS_NOTED.swap(true, AcqRel) {
        return;
    }
    let mut room = [0; MOST_OF_PATH];
    let path = own_path(&mut room);
    let process = (sys::process_id() as u32).to_ne_bytes();
    let bytes = (process.len() + path.len() + 1) as u64;
    // SAFETY: the caller's.
    let header = unsafe { &*header };
    // Other processes may do the same at the same time.
    let at = header.input_used.fetch_add(bytes, Relaxed);
    if at + bytes > header.input_cap {
        return;
    }
    let place = (core::ptr::from_ref(header) as u64 + header.input_at + at) as *mut u8;
    // SAFETY: the room was checked and belongs to this process; the zero behind the path is there already.
    unsafe {
        for (i, byte) in process.iter().chain(path).enumerate() {
            place.add(i).write_volatile(*byte);
        }
    }
}

/// Opens the log by its path as the descriptor that the environment names, where the environment was inherited and the
/// descriptor was not: scripting languages and test drivers close what their children need not have.
///
/// # Safety
/// Called from `.preinit_array`, with the environment that the loader passes.
pub unsafe fn recover(log: usize, environment: *const *mut c_char) {
    // SAFETY: the caller's.
    let Some(path) = (unsafe { variable(environment, FILE_VARIABLE) }) else {
        return;
    };
    if surroundings::is_log(log) {
        return;
    }
    let folder = libc::AT_FDCWD as usize;
    let flags = libc::O_RDWR as usize;
    // SAFETY: a C string, and plain numbers.
    unsafe {
        let opened = sys::call(libc::SYS_openat, [folder, path as usize, flags, 0, 0, 0]);
        if opened >= 0 && opened as usize != log {
            sys::call(libc::SYS_dup3, [opened as usize, log, 0, 0, 0, 0]);
            sys::call(libc::SYS_close, [opened as usize, 0, 0, 0, 0, 0]);
        }
    }
}
