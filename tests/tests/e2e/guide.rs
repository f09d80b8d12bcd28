//! Check that what the pages of the guide tell a reader to do works, and prints what they show.

use anyhow::{Context, Result};
use unsnarl_e2e::WalkedPage;

/// Variable that makes the tests write what is printed into the pages instead of comparing it.
const UPDATE: &str = "UPDATE_EXPECT";

macro_rules! pages {
    ($($name:ident: $page:literal)*) => {
        $(
            #[test]
            fn $name() -> Result<()> {
                let page = WalkedPage::open($page)?;
                let update = std::env::var_os(UPDATE).is_some();
                page.walk(update).with_context(|| format!("docs/{}", $page))
            }
        )*

        #[test]
        fn every_page_is_walked() -> Result<()> {
            let walked = [$($page),*];
            let folder = unsnarl_e2e::project().join("docs/guide");
            for entry in std::fs::read_dir(folder)? {
                let name = format!("guide/{}", entry?.file_name().to_string_lossy());
                let is_walked = walked.contains(&name.as_str()) || !name.ends_with(".md");
                anyhow::ensure!(is_walked, "docs/{name} is missing in this file");
            }
            Ok(())
        }
    };
}

pages! {
    first_bug: "guide/first-bug.md"
    googletest: "guide/googletest.md"
    cmake: "guide/cmake.md"
    reading: "guide/reading.md"
    fixing: "guide/fixing.md"
    continuous_integration: "ci.md"
    lock_free: "guide/lock-free.md"
    big_programs: "guide/big-programs.md"
    how_it_works: "guide/how-it-works.md"
    comparison: "guide/comparison.md"
}
