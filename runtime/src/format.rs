//! `sprintf`, `sscanf` and their relatives: the strings that they read and the memory that they fill are
//! accesses of the program. The library does the work; the format tells what it touches.

use crate::{
    access,
    entry::{entry, variadic},
    heap,
    memory::{check_room, length, length_up_to, on_behalf, reads, ready},
    real::real,
    state::Thread,
    strings::written_text,
};
use core::{ffi::c_int, ptr::null_mut};

/// The C library's `va_list`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Arguments {
    /// Offset of the next general register in `saved`, at most 48.
    general: u32,
    /// Offset of the next vector register in `saved`, at most 176.
    vector: u32,
    stack: *const u8,
    saved: *const u8,
}

impl Arguments {
    /// The next integer or pointer.
    ///
    /// # Safety
    /// There is one.
    unsafe fn word(&mut self) -> u64 {
        // SAFETY: the caller's.
        unsafe {
            if self.general < 48 {
                self.general += 8;
                return self
                    .saved
                    .add(self.general as usize - 8)
                    .cast::<u64>()
                    .read();
            }
            self.stack = self.stack.add(8);
            self.stack.sub(8).cast::<u64>().read()
        }
    }

    /// Skips a `double`.
    ///
    /// # Safety
    /// There is one.
    unsafe fn skip_double(&mut self) {
        if self.vector < 176 {
            self.vector += 16;
        } else {
            // SAFETY: the caller's.
            self.stack = unsafe { self.stack.add(8) };
        }
    }

    /// Skips a `long double`.
    ///
    /// # Safety
    /// There is one.
    unsafe fn skip_long_double(&mut self) {
        let aligned = (self.stack as usize + 15) & !15;
        self.stack = (aligned + 16) as *const u8;
    }
}

/// One conversion of a format.
#[derive(Clone, Copy, Default)]
struct Conversion {
    letter: u8,
    /// Bytes of an integer: 4, or as modified by `hh`, `h`, `l` and the like.
    integer: usize,
    /// `L`, or `l` before a fraction.
    is_long: bool,
    is_long_double: bool,
    /// `*` before the letter: arguments of a `printf`, no argument for a `scanf`.
    stars: u32,
    width: Option<usize>,
    precision: Option<usize>,
    /// `true` if the precision is an argument.
    precision_is_argument: bool,
    /// `%1$s`, `%ms`: not followed any further.
    is_odd: bool,
}

/// Reads the conversion behind a `%`; returns it and the rest of the format.
///
/// # Safety
/// `at` points into a format.
unsafe fn conversion(mut at: *const u8) -> (Conversion, *const u8) {
    let mut found = Conversion {
        integer: 4,
        ..Conversion::default()
    };
    let mut in_precision = false;
    loop {
        // SAFETY: the caller's: not past the NUL.
        let byte = unsafe { at.read() };
        at = at.wrapping_add(usize::from(byte != 0));
        match byte {
            b'*' => {
                found.stars += 1;
                found.precision_is_argument |= in_precision;
            }
            b'.' => {
                in_precision = true;
                found.precision = Some(0);
            }
            b'0'..=b'9' => {
                let number = if in_precision {
                    &mut found.precision
                } else {
                    &mut found.width
                };
                let digit = usize::from(byte - b'0');
                *number = Some(number.unwrap_or(0).wrapping_mul(10).wrapping_add(digit));
            }
            b'$' => found.is_odd = true,
            b'h' => found.integer /= 2,
            b'l' | b'j' | b'z' | b't' | b'q' => {
                found.integer = 8;
                found.is_long = true;
            }
            b'L' => {
                found.integer = 8;
                found.is_long_double = true;
            }
            b'-' | b'+' | b' ' | b'#' | b'\'' | b'I' => {}
            letter => {
                found.letter = letter;
                return (found, at);
            }
        }
    }
}

/// Calls `each` for every conversion of a format but `%%`, until it says `false`.
///
/// # Safety
/// `format` is a string.
unsafe fn conversions(format: *const u8, mut each: impl FnMut(&Conversion, *const u8) -> bool) {
    let mut at = format;
    // SAFETY: the caller's: not past the NUL.
    unsafe {
        while at.read() != 0 {
            let byte = at.read();
            at = at.add(1);
            if byte != b'%' {
                continue;
            }
            let (found, rest) = conversion(at);
            at = match found.letter {
                b'[' => behind_set(rest),
                _ => rest,
            };
            let ends = found.letter == 0 || found.is_odd;
            if ends || found.letter != b'%' && !each(&found, at) {
                return;
            }
        }
    }
}

/// The position behind the `]` of a set of bytes.
///
/// # Safety
/// `at` points into a format, behind the `[`.
unsafe fn behind_set(mut at: *const u8) -> *const u8 {
    // SAFETY: the caller's: not past the NUL.
    unsafe {
        at = at.add(usize::from(at.read() == b'^'));
        at = at.add(usize::from(at.read() == b']'));
        while at.read() != 0 && at.read() != b']' {
            at = at.add(1);
        }
        at.add(usize::from(at.read() != 0))
    }
}

/// Logs the strings that a `printf` with this format reads.
///
/// # Safety
/// Format and arguments are the program's.
pub unsafe fn printed(this: Option<&Thread>, format: *const u8, arguments: Arguments, pc: u64) {
    let each = |found: &Conversion, precision: Option<usize>, word: u64| {
        if found.letter == b's' && !found.is_long && word != 0 {
            let (text, most) = (word as *const u8, precision.unwrap_or(usize::MAX));
            // SAFETY: the arguments are as the format says.
            unsafe {
                let bytes = length_up_to(text, most).saturating_add(1).min(most);
                reads(this, text, bytes, pc);
            }
        }
    };
    // SAFETY: the caller's.
    on_behalf(this, pc, || unsafe { words(format, arguments, each) });
}

/// Returns whether a `printf` with this format touches memory other than its arguments.
///
/// # Safety
/// `format` is the program's.
pub unsafe fn touches_memory(format: *const u8) -> bool {
    let mut touches = false;
    let each = |found: &Conversion, _: *const u8| {
        touches |= matches!(found.letter, b's' | b'n');
        !touches
    };
    // SAFETY: the caller's.
    unsafe { conversions(format, each) };
    touches
}

/// Logs the counts that a `printf` with this format has written.
///
/// # Safety
/// Format and arguments are the program's.
pub unsafe fn counted(this: Option<&Thread>, format: *const u8, arguments: Arguments, pc: u64) {
    let Some(this) = this else { return };
    let each = |found: &Conversion, _, word: u64| {
        if found.letter == b'n' && word != 0 {
            access::log_written(this, word as *const u8, found.integer, pc);
        }
    };
    // SAFETY: the caller's.
    unsafe { words(format, arguments, each) };
}

/// Calls `each` for every conversion of a `printf` that takes a word, with its precision and the word.
///
/// # Safety
/// Format and arguments are the program's.
unsafe fn words(
    format: *const u8,
    mut arguments: Arguments,
    mut use_word: impl FnMut(&Conversion, Option<usize>, u64),
) {
    let each = |found: &Conversion, _: *const u8| {
        // SAFETY: the arguments are as the format says.
        unsafe {
            let mut star = 0;
            for _ in 0..found.stars {
                star = arguments.word();
            }
            let precision = match found.precision_is_argument {
                true => usize::try_from(star.cast_signed() as i32).ok(),
                false => found.precision,
            };
            match found.letter {
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if found.is_long_double => {
                    arguments.skip_long_double();
                }
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => arguments.skip_double(),
                b'm' => {}
                _ => use_word(found, precision, arguments.word()),
            }
        }
        true
    };
    // SAFETY: the caller's.
    unsafe { conversions(format, each) };
}

type Formatter = unsafe extern "C-unwind" fn(*mut u8, usize, *const u8, *mut Arguments) -> c_int;

fn formatter() -> Formatter {
    real!(
        "vsnprintf",
        fn(*mut u8, usize, *const u8, *mut Arguments) -> c_int
    )
}

unsafe extern "C-unwind" fn on_vsnprintf(
    to: *mut u8,
    room: usize,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    let this = ready(true, pc);
    // SAFETY: the program's own call.
    unsafe {
        let given = *arguments;
        printed(this, format, given, pc);
        let put = formatter();
        let bytes = on_behalf(this, pc, || put(to, room, format, arguments));
        counted(this, format, given, pc);
        let all = usize::try_from(bytes).map_or(0, |bytes| bytes + 1);
        if let (Some(this), 1..) = (this, all.min(room)) {
            access::log_written(this, to, all.min(room), pc);
        }
        bytes
    }
}

unsafe extern "C-unwind" fn on_vsprintf(
    to: *mut u8,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    const ALL: usize = c_int::MAX as usize;
    // SAFETY: the program's own call.
    unsafe { on_vsnprintf(to, ALL, format, arguments, pc) }
}

unsafe extern "C-unwind" fn on_vsnprintf_checked(
    to: *mut u8,
    room: usize,
    _flag: c_int,
    size: usize,
    format: *const u8,
    arguments: *mut Arguments,
) -> c_int {
    check_room(room, size);
    // Its six arguments leave no register for the place; where the arguments were saved it stands above.
    // SAFETY: the program's own call; `arguments` stands in the frame that the entry made.
    unsafe {
        let pc = (*arguments).stack.sub(8).cast::<u64>().read();
        on_vsnprintf(to, room, format, arguments, pc)
    }
}

unsafe extern "C-unwind" fn on_vsprintf_checked(
    to: *mut u8,
    _flag: c_int,
    size: usize,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let mut copy = *arguments;
        let put = formatter();
        let bytes = put(null_mut(), 0, format, &raw mut copy);
        check_room(usize::try_from(bytes).map_or(0, |bytes| bytes + 1), size);
        on_vsprintf(to, format, arguments, pc)
    }
}

unsafe extern "C-unwind" fn on_vasprintf(
    place: *mut *mut u8,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let mut copy = *arguments;
        let put = formatter();
        let bytes = put(null_mut(), 0, format, &raw mut copy);
        let Ok(all) = usize::try_from(bytes) else {
            return bytes;
        };
        let block = heap::allocate(all + 1, pc).cast::<u8>();
        if block.is_null() {
            return -1;
        }
        access::write(place.cast(), pc, 8, 0);
        place.write_volatile(block);
        on_vsnprintf(block, all + 1, format, arguments, pc)
    }
}

unsafe extern "C-unwind" fn on_vsscanf(
    text: *const u8,
    format: *const u8,
    arguments: *mut Arguments,
    pc: u64,
) -> c_int {
    let this = ready(true, pc);
    let scan = real!("vsscanf", fn(*const u8, *const u8, *mut Arguments) -> c_int);
    // SAFETY: the program's own call.
    unsafe {
        let targets = *arguments;
        let bytes = on_behalf(this, pc, || length(text)) + 1;
        reads(this, text, bytes, pc);
        let assigned = on_behalf(this, pc, || scan(text, format, arguments));
        scanned(this, format, targets, assigned, pc);
        assigned
    }
}

/// Logs the values that a `scanf` with this format has assigned.
///
/// # Safety
/// Format and arguments are the program's.
pub unsafe fn scanned(
    this: Option<&Thread>,
    format: *const u8,
    mut targets: Arguments,
    assigned: c_int,
    pc: u64,
) {
    let Some(this) = this else { return };
    let mut left = assigned;
    let each = |found: &Conversion, _: *const u8| {
        if found.stars != 0 {
            return true;
        }
        if left <= 0 && found.letter != b'n' {
            return false;
        }
        left -= c_int::from(found.letter != b'n');
        // SAFETY: the arguments are as the format says.
        unsafe {
            let target = targets.word() as *const u8;
            match found.letter {
                b's' | b'[' if !found.is_long => written_text(Some(this), target, pc),
                b's' | b'[' | b'S' | b'C' => {}
                _ => access::log_written(this, target, target_bytes(found), pc),
            }
        }
        true
    };
    // SAFETY: the caller's.
    unsafe { conversions(format, each) };
}

/// Bytes that a conversion of a `scanf` writes.
fn target_bytes(found: &Conversion) -> usize {
    match found.letter {
        b'c' => found.width.unwrap_or(1),
        b'p' => 8,
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if found.is_long_double => 16,
        _ => found.integer,
    }
}

variadic! {
    sprintf, 2, "rdx", "rcx" => on_vsprintf;
    snprintf, 3, "rcx", "r8" => on_vsnprintf;
    asprintf, 2, "rdx", "rcx" => on_vasprintf;
    sscanf, 2, "rdx", "rcx" => on_vsscanf;
    __isoc99_sscanf, 2, "rdx", "rcx" => on_vsscanf;
    __isoc23_sscanf, 2, "rdx", "rcx" => on_vsscanf;
    __sprintf_chk, 4, "r8", "r9" => on_vsprintf_checked;
    __snprintf_chk, 5, "r9", "rax" => on_vsnprintf_checked;
}

entry! {
    vsprintf, "rcx" => on_vsprintf;
    vsnprintf, "r8" => on_vsnprintf;
    vasprintf, "rcx" => on_vasprintf;
    vsscanf, "rcx" => on_vsscanf;
    __isoc99_vsscanf, "rcx" => on_vsscanf;
    __isoc23_vsscanf, "rcx" => on_vsscanf;
    __vsprintf_chk, "r9" => on_vsprintf_checked;
}
