//! Test frameworks: how a program of each is recognized, lists its cases and is told to execute one of them.
//!
//! Another one has a file here and a variant of [`TestFramework`]; the compiler asks for the rest. The line in which it
//! reports a failed check is recognized in [`crate::launch::check`], and `xtask/src/setup.rs` installs it for the tests.

mod boost_test;
mod catch2;
mod criterion;
mod doctest;
mod google_test;
mod symbols;

use super::listing::Listing;
use std::{ffi::OsString, path::Path};

/// A framework whose programs can list their cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestFramework {
    /// GoogleTest.
    GoogleTest,
    /// Catch2, version 2 or 3.
    Catch2,
    /// doctest.
    Doctest,
    /// Boost.Test.
    BoostTest,
    /// Criterion, the framework for C.
    Criterion,
}

/// A case in the listing of a framework.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ListedCase {
    /// Its whole name.
    pub name: String,
    /// Its author has disabled it.
    pub is_disabled: bool,
}

impl ListedCase {
    fn enabled(name: impl Into<String>) -> ListedCase {
        ListedCase {
            name: name.into(),
            is_disabled: false,
        }
    }
}

impl TestFramework {
    const ALL: [TestFramework; 5] = [
        TestFramework::GoogleTest,
        TestFramework::Catch2,
        TestFramework::Doctest,
        TestFramework::BoostTest,
        TestFramework::Criterion,
    ];

    /// The framework's name.
    pub fn name(self) -> &'static str {
        match self {
            TestFramework::GoogleTest => "GoogleTest",
            TestFramework::Catch2 => "Catch2",
            TestFramework::Doctest => "doctest",
            TestFramework::BoostTest => "Boost.Test",
            TestFramework::Criterion => "Criterion",
        }
    }

    /// The framework that a program is linked with, by the names of symbols that it has or needs. A program without
    /// symbols is recognized by its texts. Nothing is executed.
    pub(super) fn of(program: &Path) -> Option<TestFramework> {
        let known = symbols::ProgramNames::of(program)?;
        let marked = |has: &dyn Fn(&str) -> bool| {
            let mut all = TestFramework::ALL.into_iter();
            all.find(|framework| framework.marks().iter().any(|mark| has(mark)))
        };
        marked(&|mark| known.has_symbol(mark)).or_else(|| marked(&|mark| known.has_text(mark)))
    }

    /// Parts of names of symbols, and option names, that only programs with this framework contain.
    fn marks(self) -> &'static [&'static str] {
        match self {
            TestFramework::GoogleTest => &google_test::MARKS,
            TestFramework::Catch2 => &catch2::MARKS,
            TestFramework::Doctest => &doctest::MARKS,
            TestFramework::BoostTest => &boost_test::MARKS,
            TestFramework::Criterion => &criterion::MARKS,
        }
    }

    /// Arguments that make the program list its cases: the first ones that it understands count.
    pub(super) fn listing_arguments(self) -> &'static [&'static [&'static str]] {
        match self {
            TestFramework::GoogleTest => &[&google_test::LISTING],
            TestFramework::Catch2 => &catch2::LISTINGS,
            TestFramework::Doctest => &[&doctest::LISTING],
            TestFramework::BoostTest => &[&boost_test::LISTING],
            TestFramework::Criterion => &[&criterion::LISTING],
        }
    }

    /// The cases of a listing; `None` if it is none.
    pub(super) fn parse(self, listing: &Listing) -> Option<Vec<ListedCase>> {
        match self {
            TestFramework::GoogleTest => google_test::parse(&listing.stdout),
            TestFramework::Catch2 => catch2::parse(&listing.stdout),
            TestFramework::Doctest => doctest::parse(&listing.stdout),
            TestFramework::BoostTest => boost_test::parse(&listing.stderr),
            TestFramework::Criterion => criterion::parse(&listing.stdout),
        }
    }

    /// Arguments that make the program execute this case only.
    pub(super) fn selection(self, case: &str) -> Vec<OsString> {
        match self {
            TestFramework::GoogleTest => google_test::selection(case),
            TestFramework::Catch2 => catch2::selection(case),
            TestFramework::Doctest => doctest::selection(case),
            TestFramework::BoostTest => boost_test::selection(case),
            TestFramework::Criterion => criterion::selection(case),
        }
    }

    /// The reason why cases of this framework cannot be recorded, if that is so.
    pub(super) fn obstacle(self) -> Option<&'static str> {
        (self == TestFramework::Criterion).then_some(criterion::OBSTACLE)
    }

    /// Returns whether these arguments of the program select cases, or do something else than executing them.
    pub(super) fn has_selection(self, arguments: &[OsString]) -> bool {
        let texts = || arguments.iter().map(|argument| argument.to_string_lossy());
        match self {
            TestFramework::GoogleTest => texts().any(|text| google_test::selects(&text)),
            TestFramework::Catch2 => texts().any(|text| !text.starts_with('-')),
            TestFramework::Doctest => texts().any(|text| doctest::selects(&text)),
            TestFramework::BoostTest => texts().any(|text| boost_test::selects(&text)),
            TestFramework::Criterion => texts().any(|text| criterion::selects(&text)),
        }
    }
}
