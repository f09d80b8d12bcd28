//! `--shard`: the part of a campaign or a suite that this machine records.

use crate::message;
use anyhow::{Context, Result};
use std::{env, fs, str::FromStr};
use unsnarl_recorder::{
    launch::Given,
    shard::{Shard, ShardError, TakenShard, VariablesError, from_variables},
};

/// The shard that the command line asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShardOption {
    /// This one.
    Named(Shard),
    /// The one that the environment tells, of so many if that is given.
    Auto(Option<u64>),
}

impl FromStr for ShardOption {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<ShardOption, ShardError> {
        let (name, count) = match text.split_once('/') {
            Some((name, count)) => (name, Some(count.parse())),
            None => (text, None),
        };
        match (name, count) {
            ("auto", None) => Ok(ShardOption::Auto(None)),
            ("auto", Some(Ok(count @ 1..))) => Ok(ShardOption::Auto(Some(count))),
            ("auto", Some(_)) => Err(ShardError(text.to_owned())),
            _ => text.parse().map(ShardOption::Named),
        }
    }
}

/// A shard, and the variables that told it.
pub struct ChosenShard {
    /// The shard.
    pub shard: Shard,
    /// Variables that the program does not get to see: it would divide its own work once more, and its runs would depend
    /// on the machine.
    pub hidden: Given,
}

/// The shard to record; tells what it was taken from, unless the user has named it.
pub fn choose(option: ShardOption) -> Result<ChosenShard> {
    let count = match option {
        ShardOption::Named(shard) => {
            return Ok(ChosenShard {
                shard,
                hidden: Given::new(),
            });
        }
        ShardOption::Auto(count) => count,
    };
    let taken = from_variables(count, &|name| env::var(name).ok()).map_err(with_next)?;
    let variables = taken.sources.iter().flat_map(|source| &source.variables);
    let hidden = variables.map(|name| (name.into(), None)).collect();
    tell(&taken);
    make_status_files(&taken)?;
    Ok(ChosenShard {
        shard: taken.shard,
        hidden,
    })
}

fn with_next(error: VariablesError) -> anyhow::Error {
    let next = match error {
        VariablesError::NoCount(_) => "say how many there are, as in --shard auto/8",
        _ => "name the shard, as in --shard 1/4",
    };
    anyhow::anyhow!("{error}\n  next: {next}")
}

fn tell(taken: &TakenShard) {
    let sources = taken.sources.iter();
    let sources =
        sources.map(|source| format!("{} ({})", source.variables.join(", "), source.name));
    message::note(&format!(
        "this is shard {}, by {}",
        taken.shard,
        sources.collect::<Vec<_>>().join(" and ")
    ));
}

/// Tells the runner of tests that this command records its shard only, as its protocol asks for: the file exists.
fn make_status_files(taken: &TakenShard) -> Result<()> {
    taken.status_files.iter().try_for_each(|file| {
        let open = fs::OpenOptions::new().create(true).append(true).open(file);
        let made = open.map(|_| ());
        made.with_context(|| format!("cannot write {file}, by which shards are reported"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!("auto".parse(), Ok(ShardOption::Auto(None)));
        assert_eq!("auto/8".parse(), Ok(ShardOption::Auto(Some(8))));
        assert_eq!(
            "2/3".parse(),
            Ok(ShardOption::Named("2/3".parse().unwrap()))
        );
        for bad in ["auto/", "auto/0", "automatic", "4/3"] {
            assert!(bad.parse::<ShardOption>().is_err());
        }
    }
}
