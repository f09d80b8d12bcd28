//! `dlsym`, `dlvsym` and `dlerror`, called by the program itself. The program must not get past the runtime to a
//! function of the C library that the runtime stands in for: a thread that waited in the library would keep the turn.

use crate::{
    entry::listed,
    modules,
    state::{Mode, SHARED, this_thread, unrecorded},
};
use core::{
    arch::{asm, global_asm},
    ffi::{CStr, c_char, c_void},
};

// The library's own. Their old versions are named so that they are not taken for the ones below,
// which are seen by the program's own objects only: everything else looks up as it did.
global_asm!(
    ".symver unsnarl_dlsym, dlsym@GLIBC_2.2.5",
    ".symver unsnarl_dlvsym, dlvsym@GLIBC_2.2.5",
    ".symver unsnarl_dlerror, dlerror@GLIBC_2.2.5",
    ".pushsection .text.unsnarl_find,\"ax\",@progbits",
    "unsnarl_find: jmp qword ptr [rip + unsnarl_dlsym@GOTPCREL]",
    "unsnarl_find_version: jmp qword ptr [rip + unsnarl_dlvsym@GOTPCREL]",
    "unsnarl_error: jmp qword ptr [rip + unsnarl_dlerror@GOTPCREL]",
    ".globl unsnarl_error",
    ".hidden unsnarl_error",
    ".globl unsnarl_find",
    ".hidden unsnarl_find",
    ".globl unsnarl_find_version",
    ".hidden unsnarl_find_version",
    ".popsection",
);

unsafe extern "C" {
    fn unsnarl_find(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn unsnarl_find_version(
        handle: *mut c_void,
        name: *const c_char,
        version: *const c_char,
    ) -> *mut c_void;
}

/// Address of a symbol, or null.
pub fn find(handle: *mut c_void, name: &CStr, version: Option<&CStr>) -> *mut c_void {
    // SAFETY: names are NUL-terminated.
    unsafe {
        match version {
            Some(version) => unsnarl_find_version(handle, name.as_ptr(), version.as_ptr()),
            None => unsnarl_find(handle, name.as_ptr()),
        }
    }
}

/// A row of the table of entries.
#[repr(C)]
struct Row {
    name: *const c_char,
    entry: *mut c_void,
}

unsafe extern "C" {
    #[link_name = "__start_unsnarl_entries"]
    static FIRST: Row;
    #[link_name = "__stop_unsnarl_entries"]
    static END: Row;
}

fn is_same(a: *const c_char, b: &CStr) -> bool {
    let wanted = b.to_bytes_with_nul().iter();
    // SAFETY: names in the table are NUL-terminated, and the comparison ends at the first difference.
    (0..)
        .zip(wanted)
        .all(|(i, byte)| unsafe { *a.add(i) } as u8 == *byte)
}

/// The entry of this name.
fn entry(name: &CStr) -> Option<*mut c_void> {
    let mut row = &raw const FIRST;
    while row < &raw const END {
        // SAFETY: the linker puts the rows one behind the other between the two marks.
        unsafe {
            if is_same((*row).name, name) {
                return Some((*row).entry);
            }
            row = row.add(1);
        }
    }
    None
}

/// The function that the program gets in place of the one that the library has found: the runtime's entry, if the
/// found one is of the C library and has an entry.
fn in_place_of(found: *mut c_void, name: *const c_char) -> *mut c_void {
    if found.is_null() || SHARED.mode.get() == Mode::Off || !modules::is_system(found as u64) {
        return found;
    }
    // SAFETY: a name that was looked up is a C string.
    entry(unsafe { CStr::from_ptr(name) }).unwrap_or(found)
}

/// Makes a look-up as the program's own code does; nothing of it is recorded.
fn look_up(name: *const c_char, call: impl Fn() -> *mut c_void) -> *mut c_void {
    let call = || {
        let found = call();
        keep_error(found);
        in_place_of(found, name)
    };
    match this_thread() {
        Some(this) => unrecorded(this, call),
        None => call(),
    }
}

// The calling thread's error of the loader: a block of [`ERROR`] bytes, or null.
global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type unsnarl_loader_error,@object",
    ".size unsnarl_loader_error,8",
    "unsnarl_loader_error:",
    ".zero 8",
    ".popsection",
);

/// Size of a kept error: a byte that is set until the program has asked for the error, and the text.
const ERROR: usize = 512;

fn error_place() -> *mut *mut u8 {
    let place: *mut *mut u8;
    // SAFETY: computes the address of the thread-local word above.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + unsnarl_loader_error@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) place,
            options(nostack, readonly),
        );
    }
    place
}

/// Keeps the reason of a failed look-up, which the runtime's own next look-up would clear.
pub fn keep_error(found: *mut c_void) {
    if !found.is_null() {
        return;
    }
    // SAFETY: the block belongs to the thread; the library's text is a C string.
    unsafe {
        let place = error_place();
        if (*place).is_null() {
            *place = __libc_malloc(ERROR).cast();
        }
        let (block, text) = (*place, dlerror());
        if block.is_null() || text.is_null() {
            return;
        }
        block.write_volatile(1);
        for i in 0..ERROR - 1 {
            let byte = if i == ERROR - 2 {
                0
            } else {
                *text.add(i) as u8
            };
            block.add(1 + i).write_volatile(byte);
            if byte == 0 {
                break;
            }
        }
    }
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    #[link_name = "unsnarl_error"]
    fn dlerror() -> *const c_char;
}

unsafe extern "C" fn on_dlerror() -> *const c_char {
    // SAFETY: as above.
    unsafe {
        let block = *error_place();
        if !block.is_null() && block.replace(0) == 1 {
            return block.add(1).cast();
        }
        dlerror()
    }
}

unsafe extern "C" fn on_dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the program's own call.
    look_up(name, || unsafe { unsnarl_find(handle, name) })
}

unsafe extern "C" fn on_dlvsym(
    handle: *mut c_void,
    name: *const c_char,
    version: *const c_char,
) -> *mut c_void {
    // SAFETY: the program's own call.
    look_up(name, || unsafe {
        unsnarl_find_version(handle, name, version)
    })
}

macro_rules! hidden {
    ($($name:ident => $target:path;)*) => {$(
        global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            concat!(".weak ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            listed!($name),
            "jmp {target}",
            concat!(".size ", stringify!($name), ",.-", stringify!($name)),
            ".popsection",
            target = sym $target,
        );
    )*};
}

hidden! {
    dlsym => on_dlsym;
    dlvsym => on_dlvsym;
    dlerror => on_dlerror;
}
