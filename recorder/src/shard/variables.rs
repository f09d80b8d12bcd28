//! The shard that the environment tells: variables that services and runners of tests set for one of several parallel jobs.

use super::Shard;

/// A convention for variables.
struct Convention {
    /// Its name for people.
    name: &'static str,
    /// Variable with the index.
    index: &'static str,
    /// Number of the first index; a variable that holds it, for arrays that begin anywhere.
    first: First,
    /// Variable with the number of shards, if there is one.
    count: Option<&'static str>,
    /// Variable with the name of a file to make, which tells the runner that the test knows of shards.
    status_file: Option<&'static str>,
}

/// The index of the first shard.
enum First {
    Number(u64),
    Variables {
        first: &'static str,
        step: &'static str,
    },
}

const fn counted(
    name: &'static str,
    index: &'static str,
    first: u64,
    count: &'static str,
) -> Convention {
    Convention {
        name,
        index,
        first: First::Number(first),
        count: Some(count),
        status_file: None,
    }
}

/// The conventions, runners of tests before services, since they run within these.
const CONVENTIONS: [Convention; 8] = [
    Convention {
        status_file: Some("TEST_SHARD_STATUS_FILE"),
        ..counted("Bazel", "TEST_SHARD_INDEX", 0, "TEST_TOTAL_SHARDS")
    },
    Convention {
        status_file: Some("GTEST_SHARD_STATUS_FILE"),
        ..counted("GoogleTest", "GTEST_SHARD_INDEX", 0, "GTEST_TOTAL_SHARDS")
    },
    counted("GitLab", "CI_NODE_INDEX", 1, "CI_NODE_TOTAL"),
    counted("CircleCI", "CIRCLE_NODE_INDEX", 0, "CIRCLE_NODE_TOTAL"),
    counted(
        "Buildkite",
        "BUILDKITE_PARALLEL_JOB",
        0,
        "BUILDKITE_PARALLEL_JOB_COUNT",
    ),
    counted(
        "Azure Pipelines",
        "SYSTEM_JOBPOSITIONINPHASE",
        1,
        "SYSTEM_TOTALJOBSINPHASE",
    ),
    Convention {
        first: First::Variables {
            first: "SLURM_ARRAY_TASK_MIN",
            step: "SLURM_ARRAY_TASK_STEP",
        },
        ..counted("Slurm", "SLURM_ARRAY_TASK_ID", 0, "SLURM_ARRAY_TASK_COUNT")
    },
    Convention {
        count: None,
        ..counted("Kubernetes", "JOB_COMPLETION_INDEX", 0, "")
    },
];

/// Variables by which frameworks divide their own test cases. A program that is given one case must not find them, since
/// it would leave the case to another shard and pass.
pub const SHARDING_OF_TESTS: [&str; 6] = [
    "TEST_SHARD_INDEX",
    "TEST_TOTAL_SHARDS",
    "TEST_SHARD_STATUS_FILE",
    "GTEST_SHARD_INDEX",
    "GTEST_TOTAL_SHARDS",
    "GTEST_SHARD_STATUS_FILE",
];

/// The variables that a shard was taken from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShardSource {
    /// The service or the runner that sets them.
    pub name: &'static str,
    /// Their names.
    pub variables: Vec<&'static str>,
}

/// A shard that was found in the environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenShard {
    /// The shard.
    pub shard: Shard,
    /// All that tell it; the first one is to be named.
    pub sources: Vec<ShardSource>,
    /// Files to make, by which runners learn that the shard was respected.
    pub status_files: Vec<String>,
}

/// The reason why the environment tells no shard.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum VariablesError {
    /// None of the variables is set.
    #[error("no variable tells which shard this is (looked for: {0})")]
    Nothing(String),
    /// The number of shards is missing.
    #[error("{0} tells which shard this is, but nothing tells how many there are")]
    NoCount(&'static str),
    /// A value makes no sense.
    #[error("{0} cannot be the number of a shard")]
    Senseless(String),
    /// Two runners disagree.
    #[error("{0} says {1} and {2} says {3}")]
    Disagreement(&'static str, String, &'static str, String),
}

/// The shard that the variables tell; `count` is the number of shards, where the user gives it. `look_up` finds the value
/// of a variable.
pub fn from_variables(
    count: Option<u64>,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<TakenShard, VariablesError> {
    let mut taken: Option<TakenShard> = None;
    for convention in &CONVENTIONS {
        let Some((shard, source)) = convention.shard(count, look_up)? else {
            continue;
        };
        let one = taken.get_or_insert_with(|| TakenShard {
            shard,
            sources: Vec::new(),
            status_files: Vec::new(),
        });
        if let (true, Some(first)) = (one.shard != shard, one.sources.first()) {
            let (this, that) = (one.shard.to_string(), shard.to_string());
            return Err(VariablesError::Disagreement(
                first.name,
                this,
                source.name,
                that,
            ));
        }
        one.sources.push(source);
        one.status_files
            .extend(convention.status_file.and_then(look_up));
    }
    taken.ok_or_else(|| VariablesError::Nothing(looked_for()))
}

fn looked_for() -> String {
    let names = CONVENTIONS.iter().map(|convention| convention.index);
    names.collect::<Vec<_>>().join(", ")
}

impl Convention {
    /// The shard and the variables that tell it; `None` if they are not set.
    fn shard(
        &self,
        given: Option<u64>,
        look_up: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<(Shard, ShardSource)>, VariablesError> {
        let read = |name: &str| look_up(name).map(|text| number(name, &text)).transpose();
        let counted = self.count.map(read).transpose()?.flatten();
        let index = match (read(self.index)?, counted) {
            (Some(index), _) => Some(self.counted_from_zero(index, counted, &read)?),
            // A job that is not divided has the number of shards only.
            (None, Some(1)) => Some(0),
            (None, _) => None,
        };
        let Some(index) = index else {
            return Ok(None);
        };
        let count = given
            .or(counted)
            .ok_or(VariablesError::NoCount(self.index))?;
        let senseless =
            || VariablesError::Senseless(format!("{} of {count} ({})", index + 1, self.name));
        let shard = Shard::at(index, count).ok_or_else(senseless)?;
        let variables = [
            Some(self.index),
            self.count.filter(|_| counted.is_some()),
            self.status_file,
        ];
        Ok(Some((
            shard,
            ShardSource {
                name: self.name,
                variables: variables.into_iter().flatten().collect(),
            },
        )))
    }

    /// The index counted from 0.
    fn counted_from_zero(
        &self,
        index: u64,
        count: Option<u64>,
        read: &dyn Fn(&str) -> Result<Option<u64>, VariablesError>,
    ) -> Result<u64, VariablesError> {
        let senseless =
            |why: &str| VariablesError::Senseless(format!("{}={index}, {why},", self.index));
        let (first, step) = match &self.first {
            First::Number(first) => (*first, 1),
            First::Variables { first, step } => {
                (read(first)?.unwrap_or(0), read(step)?.unwrap_or(1).max(1))
            }
        };
        let distance = index
            .checked_sub(first)
            .ok_or_else(|| senseless("below the first index"))?;
        let is_listed = distance % step != 0 || count.is_some_and(|count| distance / step >= count);
        match is_listed {
            true => Err(senseless("of indices that are not evenly spaced")),
            false => Ok(distance / step),
        }
    }
}

fn number(name: &str, text: &str) -> Result<u64, VariablesError> {
    let parsed = text.trim().parse();
    parsed.map_err(|_| VariablesError::Senseless(format!("{name}={text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(count: Option<u64>, set: &[(&str, &str)]) -> Result<String, String> {
        let look_up = |name: &str| {
            let found = set.iter().find(|(there, _)| *there == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match from_variables(count, &look_up) {
            Ok(taken) => Ok(format!("{} by {}", taken.shard, taken.sources[0].name)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn each_service_counts_in_its_own_way() {
        let cases: [(&[(&str, &str)], &str); 7] = [
            (
                &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "4")],
                "2/4 by GitLab",
            ),
            (&[("CI_NODE_TOTAL", "1")], "1/1 by GitLab"),
            (
                &[("TEST_SHARD_INDEX", "0"), ("TEST_TOTAL_SHARDS", "3")],
                "1/3 by Bazel",
            ),
            (
                &[("GTEST_SHARD_INDEX", "2"), ("GTEST_TOTAL_SHARDS", "3")],
                "3/3 by GoogleTest",
            ),
            (
                &[("CIRCLE_NODE_INDEX", "1"), ("CIRCLE_NODE_TOTAL", "2")],
                "2/2 by CircleCI",
            ),
            (
                &[
                    ("BUILDKITE_PARALLEL_JOB", "1"),
                    ("BUILDKITE_PARALLEL_JOB_COUNT", "2"),
                ],
                "2/2 by Buildkite",
            ),
            (
                &[
                    ("SYSTEM_JOBPOSITIONINPHASE", "1"),
                    ("SYSTEM_TOTALJOBSINPHASE", "2"),
                ],
                "1/2 by Azure Pipelines",
            ),
        ];
        for (set, expected) in cases {
            assert_eq!(shard(None, set), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn arrays_of_slurm_begin_anywhere_and_are_evenly_spaced() {
        let slurm = |id, first, step, count| {
            shard(
                None,
                &[
                    ("SLURM_ARRAY_TASK_ID", id),
                    ("SLURM_ARRAY_TASK_MIN", first),
                    ("SLURM_ARRAY_TASK_STEP", step),
                    ("SLURM_ARRAY_TASK_COUNT", count),
                ],
            )
        };
        assert_eq!(slurm("5", "1", "2", "4"), Ok("3/4 by Slurm".to_owned()));
        assert_eq!(slurm("0", "0", "1", "8"), Ok("1/8 by Slurm".to_owned()));
        assert!(
            slurm("9", "1", "1", "3")
                .unwrap_err()
                .contains("evenly spaced")
        );
    }

    #[test]
    fn kubernetes_needs_the_number_of_shards() {
        let set = [("JOB_COMPLETION_INDEX", "3")];
        assert_eq!(shard(Some(5), &set), Ok("4/5 by Kubernetes".to_owned()));
        assert!(shard(None, &set).unwrap_err().contains("how many"));
        assert!(shard(Some(3), &set).unwrap_err().contains("4 of 3"));
    }

    #[test]
    fn runners_within_services_have_to_agree() {
        let gitlab = [("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "4")];
        let with = |more: &[(&str, &str)]| shard(None, &[&gitlab[..], more].concat());
        let same = [("TEST_SHARD_INDEX", "1"), ("TEST_TOTAL_SHARDS", "4")];
        assert_eq!(with(&same), Ok("2/4 by Bazel".to_owned()));
        let other = [("TEST_SHARD_INDEX", "0"), ("TEST_TOTAL_SHARDS", "4")];
        assert_eq!(
            with(&other),
            Err("Bazel says 1/4 and GitLab says 2/4".to_owned())
        );
    }

    #[test]
    fn nothing_and_nonsense_are_told() {
        assert!(shard(None, &[]).unwrap_err().contains("CI_NODE_INDEX"));
        let set = [("CI_NODE_INDEX", "two"), ("CI_NODE_TOTAL", "4")];
        assert!(shard(None, &set).unwrap_err().contains("CI_NODE_INDEX=two"));
    }
}
