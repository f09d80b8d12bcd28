//! Builds the guide: the pages under `docs` as a book, by mdBook from the wheels of the set-up.

use crate::{
    setup,
    shell::{self, command, run as shell_run},
};
use anyhow::{Result, bail};

/// Builds the book into `book` in the target folder. Nothing is installed for it: without mdBook the set-up comes first.
pub fn run() -> Result<()> {
    let mdbook = setup::mdbook()?;
    if !mdbook.exists() {
        bail!("mdBook is missing: run `cargo xtask setup`");
    }
    let (docs, book) = (shell::project().join("docs"), shell::target()?.join("book"));
    let mut build = command(mdbook, &["build", "--dest-dir"]);
    build.arg(&book).arg(docs);
    shell_run(build)?;
    eprintln!("the guide: {}", book.join("index.html").display());
    Ok(())
}
