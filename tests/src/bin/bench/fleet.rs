//! Questions over the summaries of 1,000 to 100,000 made-up runs: time and memory by one process, and by a cluster of one
//! and of two executors on this machine.

use crate::{
    docs,
    measure::{peak_of, peak_of_command},
    table::{PrintedTable, median},
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Numbers of runs, and of repetitions, of which the median counts: what takes long varies little.
const RUNS: [(&str, usize); 3] = [("1000", 3), ("10000", 3), ("100000", 1)];

/// The questions, with their arguments but for the signature.
const QUESTIONS: [&[&str]; 7] = [
    &["pairs"],
    &["procedure-one"],
    &["procedure-two"],
    &["procedure-three", "--signature"],
    &["signatures"],
    &["coverage"],
    &["choose"],
];

/// Measures the engine on what the generator makes.
pub fn run(words: &[String]) -> Result<()> {
    let [engine, generator] = words else {
        bail!("expected the paths of the engine and of the generator");
    };
    let folder = tempfile::tempdir()?;
    let mut table = PrintedTable::new(&[
        "question",
        "runs",
        "in one process",
        "one executor",
        "two executors",
    ]);
    for (runs, times) in RUNS {
        let measured = MeasuredFleet::generate(engine, generator, folder.path(), (runs, times))?;
        table.row(measured.pack()?);
        for question in QUESTIONS {
            table.row(measured.question(question)?);
        }
    }
    println!("{table}");
    docs::replace("fleet.md", "measured", &table.to_string())
}

/// The cost of one answer: time, and bytes of memory of the process that had the most.
type Spent = (Duration, u64);

/// A number of summaries, and the file into which they are packed.
struct MeasuredFleet {
    engine: PathBuf,
    runs: &'static str,
    times: usize,
    summaries: PathBuf,
    packed: PathBuf,
}

impl MeasuredFleet {
    fn generate(
        engine: &str,
        generator: &str,
        folder: &Path,
        (runs, times): (&'static str, usize),
    ) -> Result<MeasuredFleet> {
        let summaries = folder.join("summaries");
        let made = Command::new(generator).arg(&summaries).arg(runs).status()?;
        ensure!(made.success(), "the generator ended with {made}");
        Ok(MeasuredFleet {
            engine: PathBuf::from(engine),
            runs,
            times,
            summaries,
            packed: folder.join("packed"),
        })
    }

    /// Packs the summaries, which are not needed any more then.
    fn pack(&self) -> Result<Vec<String>> {
        let mut pack = Command::new(&self.engine);
        pack.args(["pack", "--out"])
            .args([&self.packed, &self.summaries]);
        let spent = timed(pack)?;
        fs::remove_dir_all(&self.summaries)?;
        eprintln!("{} bytes are packed", fs::metadata(&self.packed)?.len());
        let none = String::new();
        let runs = self.runs.to_owned();
        Ok(vec![
            "(pack)".to_owned(),
            runs,
            in_words(spent),
            none.clone(),
            none,
        ])
    }

    fn question(&self, words: &[&str]) -> Result<Vec<String>> {
        let mut asked = vec!["ask".to_owned()];
        asked.extend(words.iter().map(|word| (*word).to_owned()));
        if words.contains(&"--signature") {
            asked.push(self.signature()?);
        }
        let name = words.first().copied().unwrap_or_default();
        let mut cells = vec![format!("`{name}`"), self.runs.to_owned()];
        cells.push(in_words(self.repeated(|| timed(self.asked(&asked)))?));
        for executors in ["1", "2"] {
            cells.push(in_words(
                self.repeated(|| self.by_cluster(&asked, executors))?,
            ));
        }
        eprintln!("{}", cells.join(" | "));
        Ok(cells)
    }

    fn asked(&self, words: &[String]) -> Command {
        let mut asked = Command::new(&self.engine);
        asked.args(words).arg(&self.packed);
        asked
    }

    /// A way to fail.
    fn signature(&self) -> Result<String> {
        let words = ["ask", "signatures"].map(str::to_owned);
        let answer = String::from_utf8(self.asked(&words).output()?.stdout)?;
        let rest = answer.split_once("\"failure_signature\":\"");
        let signature = rest.and_then(|(_, rest)| rest.split('"').next());
        Ok(signature.context("nothing failed")?.to_owned())
    }

    fn repeated(&self, measure: impl Fn() -> Result<Spent>) -> Result<Spent> {
        let spent = (0..self.times).map(|_| measure());
        let spent = spent.collect::<Result<Vec<Spent>>>()?;
        median(&spent).context("nothing was measured")
    }

    /// The answer by a new cluster.
    fn by_cluster(&self, words: &[String], executors: &str) -> Result<Spent> {
        let cluster = LocalCluster::start(&self.engine, executors)?;
        let mut asked = self.asked(words);
        asked.args(["--scheduler", &cluster.scheduler]);
        let (time, own) = timed(asked)?;
        let peaks = cluster.executors.iter().map(|process| peak_of(*process));
        let peaks = peaks.collect::<Result<Vec<u64>>>()?;
        let most = peaks.into_iter().max().unwrap_or(0) * 1024;
        Ok((time, most.max(own)))
    }
}

fn timed(command: Command) -> Result<Spent> {
    let begin = Instant::now();
    let memory = peak_of_command(command, 0)?;
    Ok((begin.elapsed(), memory))
}

fn in_words((time, memory): Spent) -> String {
    format!("{:.2} s, {} MB", time.as_secs_f64(), memory >> 20)
}

/// A cluster on this machine, which ends with the value.
struct LocalCluster {
    process: Child,
    executors: Vec<u32>,
    scheduler: String,
}

impl LocalCluster {
    fn start(engine: &Path, executors: &str) -> Result<LocalCluster> {
        let mut local = Command::new(engine);
        local.args([
            "local",
            "--port",
            "0",
            "--threads",
            "1",
            "--executors",
            executors,
        ]);
        let mut process = local.stdout(Stdio::piped()).spawn()?;
        let said = process.stdout.take().context("it says nothing")?;
        let mut cluster = LocalCluster {
            process,
            executors: Vec::new(),
            scheduler: String::new(),
        };
        for line in BufReader::new(said).lines() {
            let line = line?;
            if let Some(process) = line.strip_prefix("executor: process ") {
                cluster.executors.push(process.parse()?);
            } else if let Some(url) = line.strip_prefix("scheduler: ") {
                url.clone_into(&mut cluster.scheduler);
                return Ok(cluster);
            }
        }
        bail!("the cluster has ended")
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        // Its executors see that their standard input is closed.
        for ended in [self.process.kill(), self.process.wait().map(drop)] {
            if let Err(error) = ended {
                eprintln!("the cluster cannot be ended: {error}");
            }
        }
    }
}
