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
