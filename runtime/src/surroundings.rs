//! Surroundings that the kernel and the recorder give the program before it begins, made the same in every run: the
//! random numbers from which the loader made the stack's guard and the guard of code pointers, and the variables that
//! determine the place of the stack. Values of other variables come to lie so that reading one is the same accesses,
//! whatever else the shell has set.

use crate::{modules, random, sys};
use core::{
    ffi::{CStr, c_char},
    mem::offset_of,
};
use unsnarl_trace::raw::{FD_VARIABLE, FILLER, Header, MAGIC, VALUE_ALIGNMENT, VERSION};

/// Offsets of both guards from the thread pointer.
const STACK_GUARD: usize = 0x28;
const POINTER_GUARD: usize = 0x30;

/// Puts numbers drawn from the run's seed in place of the kernel's. No function of the program's or a library's
/// is on the stack yet, and nothing is kept that was made with the old ones.
///
/// # Safety
/// Called from `.preinit_array`, with the environment that the loader passes.
pub unsafe fn settle(log: usize, environment: *mut *mut c_char) {
    let Some(seed) = seed(log) else { return };
    let mut guards = [0u64; 2];
    let mut state = seed;
    for guard in &mut guards {
        *guard = random::next(&mut state);
    }
    let [stack, pointer] = guards;
    // The lowest byte is zero, so that no text runs over it.
    let stack = stack & !0xff;
    let base = modules::thread_pointer() as usize;
    // SAFETY: the C library's description of the thread, and sixteen bytes that the kernel has put on the stack.
    unsafe {
        ((base + STACK_GUARD) as *mut u64).write_volatile(stack);
        ((base + POINTER_GUARD) as *mut u64).write_volatile(pointer);
        if let Some(place) = random_bytes(environment) {
            place.write_unaligned([stack, pointer]);
        }
        align_values(environment);
    }
}

/// The seed in the header of a log that is not mapped yet; `None` if it is not a log.
fn seed(log: usize) -> Option<u64> {
    is_log(log).then(|| word(log, offset_of!(Header, input_seed)))?
}

/// Returns whether this is the descriptor of a log that this runtime can fill.
pub fn is_log(descriptor: usize) -> bool {
    let magic = word(descriptor, offset_of!(Header, magic));
    let version = word(descriptor, offset_of!(Header, version));
    magic == Some(MAGIC) && version.is_some_and(|version| version as u32 == VERSION)
}

fn word(log: usize, at: usize) -> Option<u64> {
    let mut word = 0u64;
    let place = &raw mut word as usize;
    // SAFETY: fills the word.
    let got = unsafe { sys::call(libc::SYS_pread64, [log, place, size_of::<u64>(), at, 0, 0]) };
    (got == size_of::<u64>() as isize).then_some(word)
}

/// The kernel's random bytes, which its list of values behind the environment points to.
///
/// # Safety
/// The environment as the kernel has made it.
unsafe fn random_bytes(environment: *const *mut c_char) -> Option<*mut [u64; 2]> {
    // SAFETY: a null pointer ends the environment, AT_NULL the pairs of words behind it.
    unsafe {
        let mut at = environment;
        while !(*at).is_null() {
            at = at.add(1);
        }
        let mut pair = at.add(1).cast::<[usize; 2]>();
        while (*pair)[0] != libc::AT_NULL as usize {
            let [kind, value] = *pair;
            if kind == libc::AT_RANDOM as usize {
                return Some(value as *mut [u64; 2]);
            }
            pair = pair.add(1);
        }
    }
    None
}

/// Moves the variables down into the place of those that fill up the environment, which come first.
///
/// # Safety
/// The environment as the kernel has made it; nobody keeps pointers into it yet.
unsafe fn align_values(environment: *mut *mut c_char) {
    // SAFETY: C strings, which lie in memory as in the array, and a null pointer behind them.
    unsafe {
        let mut free = *environment as usize;
        let has_room = free != 0 && begins_with(*environment, FILLER);
        let (mut from, mut to) = (environment, environment);
        while !(*from).is_null() {
            if !begins_with(*from, FILLER) {
                *to = if has_room { lower(*from, free) } else { *from };
                free = *to as usize + length(*to) + 1;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = core::ptr::null_mut();
    }
}

/// Moves a variable down to the first place from this one on where its value is aligned; to its new place.
///
/// # Safety
/// A C string; what lies between it and `free` is not needed.
unsafe fn lower(entry: *mut c_char, free: usize) -> *mut c_char {
    // SAFETY: a C string.
    let before_value = unsafe { name_length(entry) } + 1;
    let place = (free + before_value).next_multiple_of(VALUE_ALIGNMENT) - before_value;
    if place >= entry as usize {
        return entry;
    }
    let place = place as *mut c_char;
    // Byte by byte: the library's `memmove` may not be called yet.
    // SAFETY: from lower to higher bytes, and downwards.
    unsafe {
        for at in 0..=length(entry) {
            place.add(at).write_volatile(entry.add(at).read_volatile());
        }
    }
    place
}

/// # Safety
/// A C string.
unsafe fn length(text: *const c_char) -> usize {
    // SAFETY: the caller's.
    unsafe { length_to(text, 0) }
}

/// # Safety
/// A C string.
unsafe fn name_length(entry: *const c_char) -> usize {
    // SAFETY: the caller's.
    unsafe { length_to(entry, b'=') }
}

/// The number of bytes before this one, or before the text's end.
///
/// # Safety
/// A C string.
unsafe fn length_to(text: *const c_char, end: u8) -> usize {
    let mut length = 0;
    // SAFETY: no further than the zero at the end.
    unsafe {
        while ![0, end].contains(&(text.add(length).read_volatile() as u8)) {
            length += 1;
        }
    }
    length
}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Takes the recorder's variables out of the environment: children of the program are not recorded, and must not
/// find them.
pub fn hide() {
    // SAFETY: the environment is an array of C strings that a null pointer ends; there is one thread yet.
    unsafe {
        let (mut from, mut to) = (environ, environ);
        while !(*from).is_null() {
            if !is_ours(*from) {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = core::ptr::null_mut();
    }
}

/// # Safety
/// A C string.
unsafe fn is_ours(entry: *const c_char) -> bool {
    // SAFETY: the caller's.
    unsafe { begins_with(entry, FD_VARIABLE) || begins_with(entry, FILLER) }
}

/// # Safety
/// A C string.
unsafe fn begins_with(entry: *const c_char, name: &CStr) -> bool {
    let mut name = name.to_bytes().iter().enumerate();
    // SAFETY: all before it were equal, so that it is no further than the string's end.
    name.all(|(i, byte)| unsafe { *entry.add(i) } as u8 == *byte)
}
