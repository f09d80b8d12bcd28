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
