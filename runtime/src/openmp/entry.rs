//! Entry points that are served here when the program is recorded, by libgomp otherwise.

/// Defines functions: each notes where it was called and goes on to `target`, or to the library's
/// function of the same name, with all arguments as they were. `finder` is a name for what chooses.
macro_rules! served {
    ($($name:ident, $finder:ident => $target:path;)*) => {$(
        extern "C" fn $finder(pc: u64) -> usize {
            static SLOT: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
            const NAME: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            };
            if !$crate::openmp::is_ours() {
                return $crate::real::find(&SLOT, NAME, None);
            }
            $crate::openmp::CALL_PC.store(pc, core::sync::atomic::Ordering::Relaxed);
            $target as *const () as usize
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
                find = sym $finder,
            )
        }
    )*};
}
pub(super) use served;
