//! Comparison of answers with what the headers of programs say.

use crate::answers::TimedAnswer;
use anyhow::{Result, ensure};
use std::fmt;
use unsnarl_core::{Explanation, Role};
use unsnarl_e2e::{Expectation, TestProgram};

/// The difference between an answer and what the program's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judged {
    /// Class and lines are right.
    Right,
    /// Another class is told.
    WrongClass,
    /// The class is right, but a line is missing, or one too many is blamed.
    WrongLines,
    /// The program fails, and nothing is told.
    Nothing,
    /// No recorded run failed.
    NeverFails,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judged::Right => "right",
            Judged::WrongClass => "wrong class",
            Judged::WrongLines => "wrong lines",
            Judged::Nothing => "nothing told",
            Judged::NeverFails => "never fails",
        })
    }
}

impl TimedAnswer {
    /// Index of the explanation that counts: the first one, and of a program with two bugs the first right one.
    pub fn told(&self, program: &TestProgram, expectation: &Expectation) -> Option<usize> {
        let rank = expectation.rank(&self.explanations, &program.source);
        let first = (!self.explanations.is_empty()).then_some(0);
        match &program.second {
            Some(_) => rank.map(|rank| rank - 1).or(first),
            None => first,
        }
    }

    /// Compares the explanation that counts with an expectation.
    pub fn judge(&self, program: &TestProgram, expectation: &Expectation) -> Judged {
        let told = self.told(program, expectation);
        let Some(told) = told.and_then(|told| self.explanations.get(told)) else {
            return if self.fails {
                Judged::Nothing
            } else {
                Judged::NeverFails
            };
        };
        match expectation.check(told, &program.source) {
            Ok(()) => Judged::Right,
            Err(_) if expectation.kinds.contains(&told.kind) => Judged::WrongLines,
            Err(_) => Judged::WrongClass,
        }
    }
}

/// The expectations about a program: one for each bug.
pub fn expectations(program: &TestProgram) -> Vec<&Expectation> {
    let both = [Some(&program.expectation), program.second.as_ref()];
    both.into_iter().flatten().collect()
}

/// The programs that have a bug of several threads: those of these names, all when there are none.
pub fn with_bug(names: &[String]) -> Result<Vec<TestProgram>> {
    let all = TestProgram::names()?;
    let names = if names.is_empty() { &all } else { names };
    let programs: Result<Vec<TestProgram>> =
        names.iter().map(|name| TestProgram::open(name)).collect();
    let mut programs = programs?;
    programs.retain(|program| !program.expectation.parts.is_empty());
    ensure!(!programs.is_empty(), "none of these programs has a bug");
    Ok(programs)
}

/// Class and blamed lines of an explanation, in short: `deadlock at 30, 31`.
pub fn in_short(told: Option<&Explanation>) -> String {
    let Some(told) = told else {
        return "nothing".to_owned();
    };
    let blamed = |role: Role| role.is_blamed();
    let sites = told.sites.iter().filter(|site| blamed(site.role));
    let mut lines: Vec<u32> = sites.map(|site| site.place.line).collect();
    lines.sort_unstable();
    lines.dedup();
    let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
    format!("{} at {}", told.kind.word(), lines.join(", "))
}
