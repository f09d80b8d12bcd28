//! Surroundings that the kernel and the recorder give the program before it begins, made the same in every run: the
//! random numbers from which the loader made the stack's guard and the guard of code pointers, and the variables that
//! determine the place of the stack.

use crate::{modules, random, sys};
use core::{ffi::c_char, mem::offset_of};
use unsnarl_trace::raw::{FD_VARIABLE, Header, MAGIC, VERSION};

/// Offsets of both guards from the thread pointer.
const STACK_GUARD: usize = 0x28;
const POINTER_GUARD: usize = 0x30;

/// Puts numbers drawn from the run's seed in place of the kernel's. No function of the program's or a library's
/// is on the stack yet, and nothing is kept that was made with the old ones.
///
/// # Safety
/// Called from `.preinit_array`, with the environment that the loader passes.
pub unsafe fn settle(log: usize, environment: *const *const c_char) {
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
unsafe fn random_bytes(environment: *const *const c_char) -> Option<*mut [u64; 2]> {
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
    let mut name = FD_VARIABLE.to_bytes().iter().enumerate();
    // SAFETY: all before it were equal, so that it is no further than the string's end.
    name.all(|(i, byte)| unsafe { *entry.add(i) } as u8 == *byte)
}
