//! Entry functions: each exported symbol hands its return address, the place in the program, to a
//! Rust function as one more argument.

/// Defines `name` as: put the return address into `register` (the argument after the last), go to `target`.
macro_rules! entry {
    ($($name:ident, $register:literal => $target:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {target}",
                target = sym $target,
            )
        }
    )*};
}
pub(crate) use entry;

/// As [`entry`], but once `$all` was called the library's function is called instead, with nothing
/// in between.
macro_rules! entry_or_library {
    ($all:ident; $($name:ident, $slot:ident, $register:literal => $target:path;)*) => {
        $(
            static $slot: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "mov r11, qword ptr [rip + {slot}]",
                    "test r11, r11",
                    "jz 2f",
                    "jmp r11",
                    "2:",
                    concat!("mov ", $register, ", qword ptr [rsp]"),
                    "jmp {target}",
                    slot = sym $slot,
                    target = sym $target,
                )
            }
        )*

        /// From now on the library's functions do the work and nothing is recorded.
        pub fn $all() {
            $(
                const $slot: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(
                    concat!(stringify!($name), "\0").as_bytes(),
                ) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
                crate::real::find(&self::$slot, $slot, None);
            )*
        }
    };
}
pub(crate) use entry_or_library;

/// Defines functions that tell `note` where they are called and go on to the library's, with all
/// arguments as they were: variadic functions, and such as exceptions pass. No frame of ours is left on
/// the stack. `finder` is a name for the function that looks the library's up.
macro_rules! passing {
    ($note:path; $($name:ident, $finder:ident;)*) => {$(
        extern "C" fn $finder() -> usize {
            static SLOT: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
            const NAME: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            };
            crate::real::find(&SLOT, NAME, None)
        }

        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the names are those of the library")]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "mov rdi, qword ptr [rsp + 56]",
                "call {note}",
                "call {find}",
                "mov r11, rax",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                note = sym $note,
                find = sym $finder,
            )
        }
    )*};
}
pub(crate) use passing;
