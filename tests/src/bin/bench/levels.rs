//! Correctness of the first explanation of each bug of `tests/programs` at every level of optimization.

use crate::{
    answers::{AnswerKey, KeptAnswers, PLAIN},
    docs,
    judged::{Judged, expectations, in_short, with_bug},
    table::PrintedTable,
};
use anyhow::Result;
use unsnarl_e2e::{TestProgram, TestedCompiler};

/// The compilers that are measured.
const COMPILERS: [TestedCompiler; 2] = [TestedCompiler::Gcc, TestedCompiler::Clang];
/// Levels of optimization.
const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];

/// Judges the programs of these names, all that have a bug when there are none; the numbers go into the docs then.
pub fn run(names: &[String]) -> Result<()> {
    let programs = with_bug(names)?;
    let mut answers = KeptAnswers::open()?;
    let builds = COMPILERS.map(|compiler| LEVELS.map(|level| MeasuredBuild::new(compiler, level)));
    let mut builds: Vec<MeasuredBuild> = builds.into_iter().flatten().collect();
    for build in &mut builds {
        for program in &programs {
            build.add(program, &mut answers)?;
        }
    }
    let text = in_words(&builds);
    println!("{text}");
    match names.is_empty() {
        true => docs::replace("explain.md", "builds", &text),
        false => Ok(()),
    }
}

/// A compiler with a level of optimization, and the verdicts on its programs.
struct MeasuredBuild {
    compiler: TestedCompiler,
    level: &'static str,
    judged: Vec<Judged>,
    /// Programs that the compiler leaves the bug out of, and that never failed.
    without: usize,
    /// The answers that are not right.
    wrong: Vec<String>,
}

impl MeasuredBuild {
    fn new(compiler: TestedCompiler, level: &'static str) -> MeasuredBuild {
        MeasuredBuild {
            compiler,
            level,
            judged: Vec::new(),
            without: 0,
            wrong: Vec::new(),
        }
    }

    fn add(&mut self, program: &TestProgram, answers: &mut KeptAnswers) -> Result<()> {
        let question = AnswerKey {
            compiler: self.compiler,
            level: self.level,
            ..PLAIN
        };
        let answer = answers.get(program, &question)?;
        if !answer.fails && !program.has_bug(self.compiler, self.level) {
            self.without += 1;
            return Ok(());
        }
        for expectation in expectations(program) {
            let judged = answer.judge(program, expectation);
            self.judged.push(judged);
            if judged != Judged::Right {
                let told = answer.told(program, expectation);
                let told = told.and_then(|told| answer.explanations.get(told));
                let told = told.map_or(String::new(), |told| format!(": {}", in_short(Some(told))));
                self.wrong
                    .push(format!("`{}` ({judged}{told})", program.name));
            }
        }
        Ok(())
    }

    fn row(&self) -> Vec<String> {
        let number = |wanted: Judged| {
            let counted = self.judged.iter().filter(|judged| **judged == wanted);
            counted.count().to_string()
        };
        let columns = [
            Judged::Right,
            Judged::WrongClass,
            Judged::WrongLines,
            Judged::Nothing,
            Judged::NeverFails,
        ];
        let mut row = vec![self.to_string(), self.judged.len().to_string()];
        row.extend(columns.map(number));
        row.push(self.without.to_string());
        row
    }
}

impl std::fmt::Display for MeasuredBuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.compiler.in_words(), self.level)
    }
}

fn in_words(builds: &[MeasuredBuild]) -> String {
    let mut table = PrintedTable::new(&[
        "build",
        "bugs",
        "right",
        "wrong class",
        "wrong lines",
        "nothing told",
        "never fails",
        "without the bug",
    ]);
    builds.iter().for_each(|build| table.row(build.row()));
    let wrong = builds.iter().filter(|build| !build.wrong.is_empty());
    let wrong: Vec<String> = wrong
        .map(|build| format!("- {build}: {}.", build.wrong.join(", ")))
        .collect();
    let not_right = match wrong.is_empty() {
        true => "All are right.".to_owned(),
        false => format!(
            "Not right, with the lines that are blamed:\n\n{}",
            wrong.join("\n")
        ),
    };
    format!("{table}\n{not_right}")
}
