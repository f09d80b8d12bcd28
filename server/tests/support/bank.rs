//! A workspace with a bank account: a source, and runs of it that fail or pass.
//!
//! `withdraw` reads the balance in one critical section and writes it in another; in the failing run
//! `deposit` comes in between.

use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use unsnarl_trace::{Run, SourceRow, script::parse, write::write_run};

/// The source as it was recorded.
pub const SOURCE: &str = "\
#include \"bank.h\"
int balance = 300; static pthread_mutex_t balance_lock = PTHREAD_MUTEX_INITIALIZER;
void *deposit(void *arg) {
    pthread_mutex_lock(&balance_lock);
    int bal = balance;
    balance = bal + 200;
    pthread_mutex_unlock(&balance_lock);
    return 0;
}
void *withdraw(void *arg) {
    pthread_mutex_lock(&balance_lock);
    int bal = balance;
    pthread_mutex_unlock(&balance_lock);
    bal = bal - 50;
    pthread_mutex_lock(&balance_lock);
    balance = bal;
    pthread_mutex_unlock(&balance_lock);
    return 0;
}
int main(void) {
    start(deposit);
    start(withdraw);
    join_all();
    assert(balance == 450);
}
";

/// Lines (from 1) that the failing run is about.
pub const READ: u32 = 12;
/// The other thread's write.
pub const BETWEEN: u32 = 6;
/// The write that loses it.
pub const WRITE: u32 = 16;
/// The assertion.
pub const ASSERTION: u32 = 24;

/// A workspace folder with `bank.c` and no runs.
pub struct BankWorkspace {
    folder: TempDir,
}

impl BankWorkspace {
    /// A new folder with the source.
    pub fn new() -> BankWorkspace {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("bank.c"), SOURCE).unwrap();
        BankWorkspace { folder }
    }

    /// The folder, by its real name.
    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The source.
    pub fn source(&self) -> PathBuf {
        self.path().join("bank.c")
    }

    /// The run folder; it need not exist.
    pub fn runs(&self) -> PathBuf {
        self.path().join(".unsnarl/runs")
    }

    /// Lets a failing run land, as the recorder does it, and returns its file.
    pub fn land_failing(&self, name: &str) -> PathBuf {
        self.land(name, &failing(&self.source()))
    }

    /// Lets a passing run land.
    pub fn land_passing(&self, name: &str) -> PathBuf {
        self.land(name, &passing(&self.source()))
    }

    /// Writes a run beside its place and renames it into it.
    pub fn land(&self, name: &str, run: &Run) -> PathBuf {
        let mut bytes = Vec::new();
        write_run(run, &mut bytes).unwrap();
        self.land_bytes(name, &bytes)
    }

    /// Lets any bytes land as a run file.
    pub fn land_bytes(&self, name: &str, bytes: &[u8]) -> PathBuf {
        land_in(&self.path(), name, bytes)
    }

    /// Lets the failing run land that was recorded in a subfolder.
    pub fn land_failing_below(&self, below: &str, name: &str) -> PathBuf {
        let mut bytes = Vec::new();
        write_run(&failing(&self.source()), &mut bytes).unwrap();
        land_in(&self.path().join(below), name, &bytes)
    }
}

fn land_in(recorded_in: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let runs = recorded_in.join(".unsnarl/runs");
    fs::create_dir_all(&runs).unwrap();
    let (hidden, place) = (
        runs.join(format!(".{name}.tmp")),
        runs.join(format!("{name}.arrow")),
    );
    fs::write(&hidden, bytes).unwrap();
    fs::rename(&hidden, &place).unwrap();
    place
}

/// The run in which the deposit is lost.
pub fn failing(source: &Path) -> Run {
    let failure = format!("main fails @{ASSERTION} assertion `balance == 450` failed");
    run(
        source,
        &[
            START,
            &read_to_withdraw(300),
            &deposit(300),
            &write_withdrawn(250),
            &end(250),
            &failure,
        ],
    )
}

/// A run in which nobody comes in between.
pub fn passing(source: &Path) -> Run {
    run(
        source,
        &[
            START,
            &deposit(300),
            &read_to_withdraw(500),
            &write_withdrawn(450),
            &end(450),
        ],
    )
}

/// A run that does what the passing one does, and fails.
pub fn strange(source: &Path) -> Run {
    let failure = format!("main fails @{ASSERTION} assertion `balance == 450` failed");
    let parts = [
        START,
        &deposit(300),
        &read_to_withdraw(500),
        &write_withdrawn(450),
        &end(450),
        &failure,
    ];
    run(source, &parts)
}

const START: &str = "
    main begin @20 main
    main fork main.1 @21
    main.1 begin @3 deposit
    main fork main.2 @22
    main.2 begin @10 withdraw
";

fn deposit(found: u32) -> String {
    format!(
        "main.1 lock balance_lock @4
         main.1 R balance ={found} @5
         main.1 W balance ={} @{BETWEEN}
         main.1 unlock balance_lock @7",
        found + 200
    )
}

fn read_to_withdraw(found: u32) -> String {
    format!(
        "main.2 lock balance_lock @11
         main.2 R balance ={found} @{READ}
         main.2 unlock balance_lock @13"
    )
}

fn write_withdrawn(left: u32) -> String {
    format!(
        "main.2 lock balance_lock @15
         main.2 W balance ={left} @{WRITE}
         main.2 unlock balance_lock @17"
    )
}

fn end(balance: u32) -> String {
    format!(
        "main.1 end @9
         main.2 end @19
         main join main.1 @23
         main join main.2 @23
         main R balance ={balance} @{ASSERTION}"
    )
}

/// A run of these events on this source, which knows the text of every line that ran.
fn run(source: &Path, parts: &[&str]) -> Run {
    let file = source.display().to_string();
    let mut run = parse(&format!("file {file}\n{}", parts.join("\n"))).unwrap();
    for site in run.meta.sites.iter_mut().filter(|site| site.line > 0) {
        site.text = SOURCE
            .lines()
            .nth(site.line as usize - 1)
            .unwrap()
            .trim()
            .to_owned();
    }
    run.meta.sources = vec![SourceRow {
        file,
        sha256: sha256(SOURCE),
    }];
    run.meta.build_id = "b1".to_owned();
    run
}

/// SHA-256 of a text, as run files write it.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
