//! Checks the dependencies of the crates, and the functions that `core` calls.
//!
//! The analysis knows no files, processes, sockets or editors, one crate of it knows the solver, and the runtime in the
//! user's program stays tiny: a dependency that breaks that is refused here, not found out later.

use crate::{
    language, measure, prose,
    shell::{self, cargo},
};
use anyhow::{Context, Result, bail};
use std::{collections::BTreeSet, fs, path::Path};

/// Crates below `unsnarl-core`, and at most below `unsnarl-order`, with their purpose. Any other one needs a reason and a line here.
const CORE: &[&str] = &[
    // Its own: data types, JSON, errors, hashing, parallel loops.
    "unsnarl-order unsnarl-trace serde serde_core serde_derive serde_json itoa memchr ryu zmij thiserror",
    "thiserror-impl rustc-hash rayon rayon-core crossbeam-deque crossbeam-epoch crossbeam-utils either",
    "smallvec",
    // The syntax of C and C++, for fixes: parsers of texts that are given to them.
    "tree-sitter tree-sitter-c tree-sitter-cpp tree-sitter-language streaming-iterator regex regex-automata",
    "regex-syntax aho-corasick",
    // Pages of HTML, checked when they are compiled.
    "maud maud_macros proc-macro2-diagnostics yansi",
    // Derive macros, at build time.
    "proc-macro2 quote syn unicode-ident",
    // The run file: Arrow, its bodies compressed by LZ4, and the map of the file.
    "lz4_flex twox-hash",
    "arrow-array arrow-buffer arrow-cmp arrow-data arrow-ipc arrow-schema arrow-select flatbuffers bitflags",
    "bytes half hashbrown ahash num num-bigint num-complex num-integer num-iter num-rational num-traits",
    "chrono iana-time-zone memmap2 libc libm cfg-if once_cell getrandom zerocopy zerocopy-derive",
    "foldhash equivalent allocator-api2 autocfg version_check rustc_version semver crunchy",
    // The user's patterns: TOML, read only.
    "toml toml_datetime toml_parser serde_spanned winnow",
    // Program models as bytes.
    "postcard cobs",
    // Names of run files: SHA-256.
    "sha2 digest block-buffer crypto-common generic-array typenum cpufeatures",
    // The kind and the owner of the files that unsnarl-trace opens.
    "rustix linux-raw-sys errno",
];

/// Crates below `unsnarl-symbolic`, beside those below core.
const SYMBOLIC: &[&str] = &[
    "unsnarl-symbolic unsnarl-core",
    // The solver's bindings, and what loads the library itself when it is needed.
    "z3 z3-sys log unsnarl-solver libloading",
];

/// Crates below `unsnarl-runtime`.
const RUNTIME: &[&str] = &["unsnarl-runtime unsnarl-trace libc"];

/// Crates for fleets, which the `unsnarl` that people install does without.
const FLEET: [&str; 5] = [
    "unsnarl-fleet",
    "parquet",
    "object_store",
    "datafusion",
    "ballista",
];

/// Runs all gates.
pub fn run() -> Result<()> {
    dependencies("unsnarl-order", &[CORE])?;
    dependencies("unsnarl-core", &[&["unsnarl-core"], CORE])?;
    dependencies("unsnarl-symbolic", &[SYMBOLIC, CORE])?;
    dependencies("unsnarl-runtime", &[RUNTIME])?;
    solver()?;
    fleet()?;
    ban_list_works()?;
    language::check()?;
    type_names()?;
    prose::check()?;
    eprintln!(
        "gate: order, core, symbolic and runtime depend on nothing else, symbolic alone calls the solver, unsnarl links nothing of a fleet, core's ban list \
         works, doc comments say what items are, type names are unique within their crate, no text is read back"
    );
    Ok(())
}

/// Refuses a crate below `package` that is in none of these lists.
fn dependencies(package: &str, allowed: &[&[&str]]) -> Result<()> {
    let tree = [
        "tree",
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let tree = shell::output(cargo(&tree))?;
    let allowed: BTreeSet<&str> = allowed
        .iter()
        .flat_map(|list| list.iter())
        .flat_map(|line| line.split(' '))
        .collect();
    let found: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let strange: Vec<&str> = found
        .difference(&allowed)
        .copied()
        .filter(|name| !name.is_empty())
        .collect();
    if strange.is_empty() {
        return Ok(());
    }
    bail!(
        "{package} depends on {}, which xtask/src/gate.rs does not allow: do without, \
         or add it there with the reason (`cargo tree -p {package} -i {}` says who brings it)",
        strange.join(", "),
        strange.first().unwrap_or(&"")
    )
}

/// Refuses crates for fleets below the `unsnarl` that people install.
fn fleet() -> Result<()> {
    let tree = "tree --package unsnarl --edges normal --prefix none --format {p}";
    let tree = shell::output(cargo(&tree.split(' ').collect::<Vec<_>>()))?;
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let found: BTreeSet<&str> = names.filter(|name| FLEET.contains(name)).collect();
    match found.first() {
        None => Ok(()),
        Some(name) => bail!("unsnarl depends on {name}, which is for unsnarl-fleet only"),
    }
}

/// Refuses a crate that calls the solver by itself: `unsnarl-symbolic` alone does.
fn solver() -> Result<()> {
    let tree = [
        "tree",
        "--workspace",
        "--invert",
        "z3",
        "--depth",
        "1",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let tree = shell::output(cargo(&tree))?;
    let users = tree.lines().filter_map(|line| line.split(' ').next());
    let users: BTreeSet<&str> = users.filter(|name| !name.is_empty()).collect();
    if users == ["unsnarl-symbolic", "z3"].into() {
        return Ok(());
    }
    let users: Vec<&str> = users.into_iter().collect();
    bail!(
        "the solver has other users than unsnarl-symbolic: {}",
        users.join(", ")
    )
}

/// Refuses a type whose name has another type in the same crate: a reader who searches for the name should find one.
fn type_names() -> Result<()> {
    let shared = measure::shared_type_names()?;
    if shared.is_empty() {
        return Ok(());
    }
    let list = shared.iter().map(|(name, files)| {
        let files: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        format!("  {name}: {}", files.join(", "))
    });
    let list: Vec<String> = list.collect();
    bail!(
        "type names with several definitions in one crate; give each a name of its own:\n{}",
        list.join("\n")
    )
}

/// Uses that `core` must not contain; one line of Rust each.
const BANNED: &[&str] = &[
    "let _ = std::fs::read::<&str>;",
    "let _ = std::fs::read_to_string::<&str>;",
    "let _ = std::fs::write::<&str, &str>;",
    "let _ = std::fs::read_dir::<&str>;",
    "let _ = std::path::Path::exists;",
    "let _ = std::path::Path::canonicalize;",
    "let _ = std::env::var::<&str>;",
    "let _ = std::env::var_os::<&str>;",
    "let _ = std::env::args;",
    "let _ = std::env::current_dir;",
    "let _ = std::process::exit;",
    "let _ = std::io::stdin;",
    "let _ = std::io::stdout;",
    "let _ = std::time::SystemTime::now;",
    "let _: Option<std::fs::File> = None;",
    "let _: Option<std::fs::OpenOptions> = None;",
    "let _: Option<std::process::Command> = None;",
    "let _: Option<std::net::TcpStream> = None;",
    "let _: Option<std::net::TcpListener> = None;",
    "let _: Option<std::net::UdpSocket> = None;",
    "println!();",
    "eprintln!();",
];

/// Checks that `core/clippy.toml` refuses all of these: an entry with a slip of the pen would ban nothing.
fn ban_list_works() -> Result<()> {
    let core = shell::project().join("core");
    let probe = shell::target()?.join("gate");
    write_probe(&probe)?;
    let mut clippy = cargo(&["clippy", "--quiet", "--message-format", "short"]);
    clippy
        .current_dir(&probe)
        .env("CLIPPY_CONF_DIR", &core)
        .env("CARGO_TERM_COLOR", "never");
    let output = clippy.output()?;
    let messages = String::from_utf8(output.stderr)?;
    if !output.status.success() || messages.contains("does not refer to") {
        bail!("core/clippy.toml is wrong:\n{messages}");
    }
    let refused = |line: usize| messages.contains(&format!("src/lib.rs:{line}:"));
    let missed = BANNED
        .iter()
        .zip(FIRST_LINE..)
        .find(|(_, line)| !refused(*line));
    match missed {
        None => Ok(()),
        Some((used, _)) => bail!("core/clippy.toml does not ban what `{used}` uses"),
    }
}

/// The line of the probe on which the first use stands.
const FIRST_LINE: usize = 3;

/// A crate that uses what is banned. It is rewritten each time, so that clippy looks at it again.
fn write_probe(folder: &Path) -> Result<()> {
    let manifest =
        "[package]\nname = \"gate\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let source = format!(
        "//! Uses what core must not use.\npub fn uses() {{\n{}\n}}\n",
        BANNED.join("\n")
    );
    fs::create_dir_all(folder.join("src")).context("the target folder cannot be written")?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(fs::write(folder.join("src/lib.rs"), source)?)
}
