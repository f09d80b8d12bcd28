//! Entry functions: each exported symbol hands its return address, the place in the program, to a
//! Rust function as one more argument.

/// The entry at this place, and its name, as one more row of the table that `lookup` searches. The
/// label is a local one: where the program has its own function of this name, the entry is still ours.
macro_rules! listed {
    ($name:ident) => {
        concat!(
            "unsnarl_entry_",
            stringify!($name),
            ":\n.pushsection .rodata.unsnarl_names,\"a\",@progbits\nunsnarl_name_",
            stringify!($name),
            ":\n.asciz \"",
            stringify!($name),
            "\"\n.popsection\n.pushsection unsnarl_entries,\"awR\",@progbits\n.quad unsnarl_name_",
            stringify!($name),
            ", unsnarl_entry_",
            stringify!($name),
            "\n.popsection"
        )
    };
}
pub(crate) use listed;

/// Defines `name` as: put the return address into `register` (the argument after the last), go to `target`.
///
/// The symbols are weak: a program that defines one of them itself, as its own `malloc` or `strlcpy`,
/// keeps its own.
macro_rules! entry {
    ($($name:ident, $register:literal => $target:path;)*) => {$(
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            // A pointer to a member function has its lowest bit clear.
            ".balign 16",
            concat!(".weak ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            $crate::entry::listed!($name),
            ".cfi_startproc",
            concat!("mov ", $register, ", qword ptr [rsp]"),
            "jmp {target}",
            ".cfi_endproc",
            concat!(".size ", stringify!($name), ",.-", stringify!($name)),
            ".popsection",
            target = sym $target,
        );
    )*};
}
pub(crate) use entry;

/// Defines entry points like [`entry`], but once `$all` was called the library's function is called instead, with
/// nothing in between.
macro_rules! entry_or_library {
    ($all:ident; $($name:ident, $slot:ident, $register:literal => $target:path;)*) => {
        $(
            static $slot: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);

            core::arch::global_asm!(
                concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
                concat!(".weak ", stringify!($name)),
                concat!(".type ", stringify!($name), ",@function"),
                concat!(stringify!($name), ":"),
                $crate::entry::listed!($name),
                ".cfi_startproc",
                "mov r11, qword ptr [rip + {slot}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11",
                "2:",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {target}",
                ".cfi_endproc",
                concat!(".size ", stringify!($name), ",.-", stringify!($name)),
                ".popsection",
                slot = sym $slot,
                target = sym $target,
            );
        )*

        /// Lets the library's functions do the work from now on; nothing is recorded any more.
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

/// Defines entry points like [`entry`], for functions of six arguments: the return address is the seventh, on the
/// stack.
macro_rules! entry_on_stack {
    ($($name:ident => $target:path;)*) => {$(
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            concat!(".weak ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            $crate::entry::listed!($name),
            ".cfi_startproc",
            "push qword ptr [rsp]",
            ".cfi_adjust_cfa_offset 8",
            "call {target}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_endproc",
            concat!(".size ", stringify!($name), ",.-", stringify!($name)),
            ".popsection",
            target = sym $target,
        );
    )*};
}
pub(crate) use entry_on_stack;

/// Defines functions that tell `note` where they are called and with what first argument, and go on to the library's,
/// with all arguments as they were: variadic functions, and such as exceptions pass. No frame of ours is left on the
/// stack. `finder` is a name for the function that looks the library's up.
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

        core::arch::global_asm!(
                concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
                concat!(".weak ", stringify!($name)),
                concat!(".type ", stringify!($name), ",@function"),
                concat!(stringify!($name), ":"),
                $crate::entry::listed!($name),
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "mov rsi, rdi",
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
                concat!(".size ", stringify!($name), ",.-", stringify!($name)),
                ".popsection",
                note = sym $note,
                find = sym $finder,
        );
    )*};
}
pub(crate) use passing;

/// Defines variadic functions: puts the arguments behind the `fixed` named ones into a `va_list` and
/// hands `target` the named ones, a pointer to the list, and the return address.
macro_rules! variadic {
    ($($name:ident, $fixed:literal, $list:literal, $pc:literal => $target:path;)*) => {$(
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            concat!(".weak ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            $crate::entry::listed!($name),
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            // Below the frame pointer: the list (24 bytes, and 8 to keep 16 aligned), the registers.
            "sub rsp, 208",
            "mov qword ptr [rsp], rdi",
            "mov qword ptr [rsp + 8], rsi",
            "mov qword ptr [rsp + 16], rdx",
            "mov qword ptr [rsp + 24], rcx",
            "mov qword ptr [rsp + 32], r8",
            "mov qword ptr [rsp + 40], r9",
            "movaps xmmword ptr [rsp + 48], xmm0",
            "movaps xmmword ptr [rsp + 64], xmm1",
            "movaps xmmword ptr [rsp + 80], xmm2",
            "movaps xmmword ptr [rsp + 96], xmm3",
            "movaps xmmword ptr [rsp + 112], xmm4",
            "movaps xmmword ptr [rsp + 128], xmm5",
            "movaps xmmword ptr [rsp + 144], xmm6",
            "movaps xmmword ptr [rsp + 160], xmm7",
            concat!("mov dword ptr [rsp + 176], ", $fixed, " * 8"),
            "mov dword ptr [rsp + 180], 48",
            "lea rax, [rbp + 16]",
            "mov qword ptr [rsp + 184], rax",
            "mov qword ptr [rsp + 192], rsp",
            concat!("lea ", $list, ", [rsp + 176]"),
            concat!("mov ", $pc, ", qword ptr [rbp + 8]"),
            "call {target}",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            concat!(".size ", stringify!($name), ",.-", stringify!($name)),
            ".popsection",
            target = sym $target,
        );
    )*};
}
pub(crate) use variadic;
