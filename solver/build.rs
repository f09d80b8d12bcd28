//! Lets a build without this workspace's `.cargo/config.toml`, such as one by `cargo install --git`, link without libz3: the
//! build script of z3-sys then asks the linker for it, and finds an empty archive here.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("libz3.a"), "!<arch>\n")?;
    println!("cargo::rustc-link-search=native={}", out.display());
    Ok(())
}
