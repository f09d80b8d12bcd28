//! GLib within a program: its own code compares and exchanges memory as code with locks does, and most of its functions
//! that programs call come to none of that. The locks that programs use are the recorder's.

use object::{Object as _, ObjectSymbol as _};
use std::path::Path;
use unsnarl_trace::files::read_regular;

use crate::assemble::MOST;

/// Beginning of the name of the library's file.
const LIBRARY: &str = "libglib-2.0.";
/// Beginning of the names of its functions.
const FUNCTION: &str = "g_";

/// Beginnings of the names of functions that order no threads, or whose order is recorded: by the calls that they make of
/// the C library, as for threads and memory, or because they only read and write what they are given.
const PLAIN: [&str; 33] = [
    "g_malloc",
    "g_try_malloc",
    "g_realloc",
    "g_try_realloc",
    "g_free",
    "g_memdup",
    "g_slice_",
    "g_thread_new",
    "g_thread_try_new",
    "g_thread_join",
    "g_thread_self",
    "g_thread_exit",
    "g_thread_yield",
    "g_private_",
    "g_cond_init",
    "g_cond_clear",
    "g_async_queue_new",
    "g_get_monotonic_time",
    "g_get_real_time",
    "g_usleep",
    "g_assert",
    "g_return_if_fail_warning",
    "g_print",
    "g_log",
    "g_warn_message",
    "g_str",
    "g_ascii_",
    "g_list_",
    "g_slist_",
    "g_queue_",
    "g_array_",
    "g_ptr_array_",
    "g_hash_table_",
];

/// Returns whether a library is GLib, and these files call only functions of it that leave nothing unseen.
pub(super) fn is_plain_in<'f>(library: &str, callers: impl Iterator<Item = &'f Path>) -> bool {
    library.starts_with(LIBRARY) && callers.into_iter().all(calls_plain_functions)
}

fn calls_plain_functions(file: &Path) -> bool {
    let Ok(bytes) = read_regular(file, MOST) else {
        return false;
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return false;
    };
    let mut imported = file.dynamic_symbols().filter(|it| it.is_undefined());
    imported.all(|symbol| symbol.name().is_ok_and(is_plain))
}

/// Returns whether a function is another library's, or one of those. Counts of references are changed within the library.
fn is_plain(name: &str) -> bool {
    let counts = name.ends_with("_ref") || name.ends_with("_unref");
    let is_known = || PLAIN.iter().any(|beginning| name.starts_with(beginning));
    !name.starts_with(FUNCTION) || (!counts && is_known())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_with_locks_of_their_own_are_not_plain() {
        for name in ["malloc", "g_malloc0_n", "g_thread_join", "g_list_append"] {
            assert!(is_plain(name), "{name}");
        }
        for name in [
            "g_bit_lock",
            "g_atomic_int_add",
            "g_main_context_iteration",
            "g_thread_pool_push",
            "g_hash_table_unref",
            "g_async_queue_unref",
        ] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
