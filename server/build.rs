//! Tells the linker where the solver is at run time: `symbolic/build.rs` found it.

fn main() -> Result<(), std::env::VarError> {
    println!("cargo::rerun-if-changed=build.rs");
    let rpath = std::env::var("DEP_UNSNARL_SOLVER_RPATH")?;
    println!("cargo::rustc-link-arg=-Wl,-rpath,{rpath}");
    Ok(())
}
