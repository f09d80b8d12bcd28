//! The questions: SQL files beside this one.

use anyhow::{Context, Result};
use clap::ValueEnum;
use datafusion::common::ScalarValue;

/// A question about the runs of a fleet. A *test* is a program of one build with its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Query {
    /// Access pairs of each test, with the numbers of passing and of failing runs that have them
    Pairs,
    /// Procedure I: pairs that failing runs have and no passing run of the test
    ProcedureOne,
    /// Procedure II: pairs that all passing runs have, or all those with a pair that the failing run has, and failing
    /// runs lack
    ProcedureTwo,
    /// Procedure III: two pairs of a failing run that passing runs have, but never together (with --signature)
    ProcedureThree,
    /// Ways to fail, with the runs of each build
    Signatures,
    /// Numbers of runs, order classes, pairs, orders and lines of each test
    Coverage,
    /// The runs to explain: failing ones with the least to suspect, and the passing ones nearest to them
    Choose,
}

/// Restrictions of a question.
#[derive(clap::Args, Clone, Debug)]
pub struct QueryArguments {
    /// Only failing runs with this signature (procedures and choose)
    #[arg(long, value_name = "ID")]
    pub signature: Option<String>,
    /// Failing runs of each way to fail and test (choose)
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub failing: u32,
    /// Passing runs of each test (choose)
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub passing: u32,
}

impl Query {
    /// Its SQL, in which `$signature` and others stand for the arguments.
    pub fn sql(self) -> &'static str {
        match self {
            Query::Pairs => include_str!("queries/pairs.sql"),
            Query::ProcedureOne => include_str!("queries/procedure_one.sql"),
            Query::ProcedureTwo => include_str!("queries/procedure_two.sql"),
            Query::ProcedureThree => include_str!("queries/procedure_three.sql"),
            Query::Signatures => include_str!("queries/signatures.sql"),
            Query::Coverage => include_str!("queries/coverage.sql"),
            Query::Choose => include_str!("queries/choose.sql"),
        }
    }
}

impl QueryArguments {
    /// The values of the arguments that a question has.
    pub fn values(&self, query: Query) -> Result<Vec<(&'static str, ScalarValue)>> {
        // Every failing run has a signature that begins with nothing.
        let signature = match (&self.signature, query) {
            (None, Query::ProcedureThree) => {
                return Err(anyhow::anyhow!("procedure-three compares pairs with pairs")).context(
                    "name a way to fail with --signature: unsnarl-fleet ask signatures lists them",
                );
            }
            (signature, _) => signature.clone().unwrap_or_default(),
        };
        let signature = ("signature", ScalarValue::from(format!("{signature}%")));
        let numbers = [("failing", self.failing), ("passing", self.passing)];
        let numbers = numbers.map(|(name, number)| (name, ScalarValue::from(i64::from(number))));
        Ok(match query {
            Query::Pairs | Query::Signatures | Query::Coverage => Vec::new(),
            Query::Choose => [vec![signature], numbers.to_vec()].concat(),
            _ => vec![signature],
        })
    }
}
