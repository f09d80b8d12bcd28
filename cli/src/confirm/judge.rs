//! What executing the orders of an explanation means for it.

use super::{
    Confirming,
    attempt::{Attempt, Control, attempt, control, is_whole},
    choose::choose,
    decide::{Decision, decide},
    experiment::Trials,
    not_run,
    time::within,
};
use crate::{
    dsp::{self, Executor, Projection},
    executable::Given,
};
use anyhow::{Result, anyhow};
use std::{sync::atomic::AtomicBool, time::Duration};
use unsnarl_core::{
    Budget, BugKind, Certainty, Corpus, Execution, Explanation, Place, Role, RunSummary, SiteMark,
    Tally, Verdict,
    corpus::failure_place,
    diagnosis::Share,
    dsp::Advice,
    explain::{Turn, Turned, bears_out, never_came, retold, retold_nearly, turned},
    facts::short,
    findings::projection_agrees,
};
use unsnarl_trace::{EventId, EventKind, LocationId, Mode, Outcome, Run, Value};

/// Recorded runs that passed and are looked at for one without what is blamed.
const PASSED: usize = 20;

/// The part of an explanation's time in which its decisive steps are looked for.
const DECIDING: u32 = 4;

/// The share of what is left of it in which stories are tried, in hundredths.
const CHOOSING: u32 = 50;

/// Judges explanations of one corpus.
pub struct Judge<'a> {
    corpus: &'a Corpus,
    with: &'a Confirming<'a>,
    time: Duration,
    known: &'a [String],
}

/// What executing has shown of an explanation so far.
struct Case<'e, 'a> {
    explanation: &'e mut Explanation,
    executor: Executor<'a>,
    tally: Tally,
    decision: Decision,
    /// It passes without a wakeup that was injected: that is no order, and no schedules are drawn for it.
    needs_a_wakeup: bool,
    says: Vec<String>,
}

/// An order that passed.
struct Other {
    says: String,
    is_recorded: bool,
}

/// What came of the orders in which what is blamed is turned round.
#[derive(Default)]
struct Directed {
    passes: Option<(Other, u32, u32)>,
    /// Orders that failed: which, and whether that speaks against the explanation.
    fails: Vec<(Turn, String, bool)>,
    passing: Vec<Turn>,
    /// Orders that passed, where the failing one passes as well when it is executed so far: why they show nothing.
    undecided: Option<String>,
    stopped: bool,
}

impl Directed {
    /// Everything that could be had fails in the same way without what is blamed.
    fn is_against(&self) -> bool {
        !self.fails.is_empty() && self.fails.iter().all(|(.., is_against)| *is_against)
    }
}

impl<'a> Judge<'a> {
    /// For this corpus, with so much time for each explanation, and the ids of those that were confirmed before.
    pub fn new(
        corpus: &'a Corpus,
        with: &'a Confirming<'a>,
        time: Duration,
        known: &'a [String],
    ) -> Judge<'a> {
        Judge {
            corpus,
            with,
            time,
            known,
        }
    }

    /// Executes the orders of an explanation and notes what came of it.
    pub fn judge(&self, explanation: &mut Explanation) {
        let executed = within(self.time, self.with.stop, |halt, budget| {
            self.execute(explanation, halt, budget)
        });
        explanation.executed = Some(match executed {
            Ok(executed) => executed,
            Err(error) => not_run(&format!("{error:#}")),
        });
    }

    fn execute(
        &self,
        explanation: &mut Explanation,
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Execution> {
        let name = explanation.run.clone();
        let run = self.recorded(&name)?;
        let given = Given {
            stdin: self.with.arguments.stdin.clone(),
            timeout: self.with.arguments.timeout,
            trust: self.with.arguments.trusting.trust(),
        };
        let executor = Executor::new(run, &name, &given, self.with.arguments.times, halt)?;
        let repeated = executor.repeated(run)?;
        let same = u32::try_from(repeated.same).unwrap_or(u32::MAX);
        let tally = Tally {
            fails: same,
            of_fails: same + u32::from(repeated.difference.is_some()),
            ..Tally::default()
        };
        let mut case = Case {
            explanation,
            executor,
            tally,
            decision: Decision::default(),
            needs_a_wakeup: false,
            says: Vec::new(),
        };
        if let Some(difference) = repeated.difference {
            return Ok(case.ends(Verdict::NotReproduced, None, &difference));
        }
        if repeated.stopped {
            return Ok(case.ends(Verdict::Unsettled, None, OVER));
        }
        self.experiment(&mut case, halt, budget)?;
        if let Some((verdict, reason)) = case.whatever_the_schedule() {
            return Ok(case.ends(verdict, None, &reason));
        }
        let directed = self.directed(&mut case)?;
        if let Some(passed) = directed.passes {
            // Nothing says that what is blamed flowed into the failure: another story may be borne out better.
            let is_beside = case.explanation.certainty == Certainty::Possible;
            return match is_beside && !waits(case.explanation) {
                true => self.unless_overruled(case, passed, halt, budget),
                false => Ok(case.passes(passed.0, passed.1, passed.2)),
            };
        }
        // Who waits for what at the end is no matter of interpretation.
        let is_open = !waits(case.explanation);
        if is_open
            && (directed.is_against() || directed.undecided.is_some())
            && let Some((other, passes, of)) = self.retell(&mut case, budget)?
        {
            return Ok(case.passes(other, passes, of));
        }
        if directed.stopped {
            return Ok(case.ends(Verdict::Unsettled, None, OVER));
        }
        if let Some((turn, says, _)) = directed.fails.first()
            && is_open
            && directed.is_against()
        {
            let reason = fails_too(*turn, says, case.explanation);
            return Ok(case.ends(Verdict::Refuted, None, &reason));
        }
        self.by_other_means(case, directed.undecided, halt, budget)
    }

    /// Looks for where the run was decided, and for the story that experiments bear out.
    fn experiment(
        &self,
        case: &mut Case<'_, 'a>,
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<()> {
        let decision = within(self.time / DECIDING, halt, |halt, _| {
            let sampler = case.executor.sampler(halt)?;
            let decided = sampler.map(|sampler| decide(case.executor.run, &sampler));
            decided.transpose()
        })?;
        let Some(decision) = decision else {
            return Ok(());
        };
        case.decision = decision;
        let Some(sampler) = case.executor.sampler(halt)? else {
            return Ok(());
        };
        let passed = self.passed().map(|(_, run)| run);
        let trials = Trials {
            executor: &case.executor,
            sampler: &sampler,
            passed: passed.take(PASSED).collect(),
        };
        choose(
            self.corpus,
            self.known,
            &trials,
            case.explanation,
            &case.decision,
            &budget.percent(CHOOSING),
        )
    }

    fn recorded(&self, name: &str) -> Result<&'a Run> {
        let mut runs = self.with.loaded.runs.iter();
        let found = runs.find(|(known, _)| known == name);
        let (_, run) = found.ok_or_else(|| anyhow!("its run is gone"))?;
        match run.meta.mode {
            Mode::Free => Err(anyhow!(
                "it was recorded while the threads ran freely\n  next: record with a controlled strategy, such as the default"
            )),
            Mode::Path => Err(anyhow!(
                "only its paths were recorded\n  next: unsnarl explain --engine dsp --program PROGRAM, with a build without --path"
            )),
            _ => Ok(run),
        }
    }

    /// Executes the orders in which what is blamed comes the other way round.
    fn directed(&self, case: &mut Case<'_, '_>) -> Result<Directed> {
        let run = case.executor.run;
        let passed = self.passed().map(|(_, run)| run);
        let passed: Vec<&Run> = passed.take(PASSED).collect();
        let mut seen = Directed::default();
        for turned in turned(case.explanation, run) {
            let is_region = matches!(turned.turn, Turn::RegionFirst | Turn::OthersFirst);
            if seen.passes.is_some() && !is_region {
                break;
            }
            let shown = shows(&turned, &passed);
            match attempt(&case.executor, &turned, shown)? {
                Attempt::Passes { passes, of } => {
                    match decides(case, &turned, shown)? {
                        Ok(()) => {}
                        Err(Some(why)) => {
                            seen.undecided.get_or_insert(why);
                            continue;
                        }
                        Err(None) => {
                            seen.stopped = true;
                            break;
                        }
                    }
                    case.needs_a_wakeup |= turned.turn == Turn::NotWoken;
                    seen.passing.push(turned.turn);
                    let other = Other {
                        says: turned.says,
                        is_recorded: false,
                    };
                    seen.passes.get_or_insert((other, passes, of));
                }
                Attempt::Fails { run: failed, why } => {
                    let same = failure_place(&failed).as_ref() == Some(&case.explanation.failure);
                    let is_without = bears_out(case.explanation, &failed) == Some(false);
                    let says = format!("{}: {why}", turned.says);
                    seen.fails.push((turned.turn, says, same && is_without));
                }
                Attempt::NotHad => {}
                Attempt::Stopped => {
                    seen.stopped = true;
                    break;
                }
            }
        }
        case.region(&seen);
        Ok(seen)
    }

    /// What is blamed is not what makes the run fail: does another story of it hold when its orders are executed? Then
    /// that is told instead.
    fn retell(
        &self,
        case: &mut Case<'_, '_>,
        budget: &Budget,
    ) -> Result<Option<(Other, u32, u32)>> {
        for other in retold(self.corpus, case.explanation, budget) {
            let known = std::mem::replace(case.explanation, other);
            let directed = self.directed(case)?;
            if directed.passes.is_some() {
                return Ok(directed.passes);
            }
            *case.explanation = known;
            if directed.stopped {
                break;
            }
        }
        Ok(None)
    }

    /// An order without what is blamed passes; but where the engine dsp has executed one that passes too, about lines that
    /// another story of the run blames, that one is told, because dsp follows the values to the failure.
    fn unless_overruled(
        &self,
        case: Case<'_, 'a>,
        (other, passes, of): (Other, u32, u32),
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Execution> {
        let (mut case, projected) = self.project(case, halt)?;
        let Ok(projection) = projected else {
            return Ok(case.passes(other, passes, of));
        };
        let is_settled =
            projection.unconfirmed.is_none() && projection.confirmed.is_some_and(is_whole);
        let agrees = |one: &Explanation| projection_agrees(&projection.dsp, one);
        if !is_settled || agrees(case.explanation) {
            return Ok(case.passes(other, passes, of));
        }
        let told = retold(self.corpus, case.explanation, budget)
            .into_iter()
            .find(|one| one.certainty != Certainty::Possible && agrees(one));
        let Some(told) = told else {
            return Ok(case.passes(other, passes, of));
        };
        *case.explanation = told;
        case.says.clear();
        match case.projected(&projection) {
            Ok(projected) => {
                let tally = projection.confirmed.unwrap_or_default();
                Ok(case.passes(projected, tally.passes, tally.of_passes))
            }
            Err(reason) => Ok(case.ends(Verdict::Unsettled, None, &reason)),
        }
    }

    /// Asks the engine dsp, in half of the time: the rest is kept for what comes after it.
    fn project<'e>(
        &self,
        mut case: Case<'e, 'a>,
        halt: &AtomicBool,
    ) -> Result<(Case<'e, 'a>, Result<Projection>)> {
        let (name, run) = (case.explanation.run.clone(), case.executor.run);
        let executor = Ok(case.executor);
        let projected = within(self.time / 2, halt, |halt, budget| {
            let asked = dsp::Asked {
                arguments: self.with.arguments,
                loaded: self.with.loaded,
                budget,
                stop: halt,
            };
            dsp::executed(&name, run, &asked, &executor, &mut Vec::new())
        });
        let Ok(executor) = executor else {
            return Err(anyhow!("the program is gone"));
        };
        case.executor = executor;
        Ok((case, projected))
    }

    /// No order of the explanation's own steps tells: the engine dsp looks for another one, and after that a recorded
    /// run that passed without what is blamed stands in.
    fn by_other_means(
        &self,
        case: Case<'_, 'a>,
        undecided: Option<String>,
        halt: &AtomicBool,
        budget: &Budget,
    ) -> Result<Execution> {
        let (mut case, projected) = self.project(case, halt)?;
        let mut reason = match projected {
            Ok(projection) => match self.projected(&mut case, &projection, budget) {
                Ok(other) => {
                    let tally = projection.confirmed.unwrap_or_default();
                    return Ok(case.passes(other, tally.passes, tally.of_passes));
                }
                Err(reason) => reason,
            },
            Err(error) => format!("{error:#}"),
        };
        if let Some(undecided) = undecided {
            return Ok(case.ends(Verdict::Unsettled, None, &undecided));
        }
        // Where runs pass without what is said to be missing, too, one of the others shows nothing.
        let comes = |run: &Run| {
            let mark = never_came(case.explanation);
            mark.is_none_or(|mark| writes_before(run, mark, case.explanation))
        };
        let is_told_apart = self.passed().take(PASSED).all(|(_, run)| comes(run));
        let without = self.passed().take(PASSED);
        let mut without =
            without.filter(|(_, run)| is_told_apart && is_without(case.explanation, run));
        if let Some((name, run)) = without.next() {
            let repeated = case.executor.repeated(run)?;
            let passes = u32::try_from(repeated.same).unwrap_or(u32::MAX);
            let of = passes + u32::from(repeated.difference.is_some());
            if passes > 0 {
                let other = Other {
                    says: name.to_owned(),
                    is_recorded: true,
                };
                return Ok(case.passes(other, passes, of));
            }
        }
        if budget.stop().is_some() {
            OVER.clone_into(&mut reason);
        }
        Ok(case.ends(Verdict::Unsettled, None, &reason))
    }

    /// The order that the engine dsp has executed, if that settles it; else why not. Where it is about other lines,
    /// it may be another story of the run that it bears out: what was executed counts.
    fn projected(
        &self,
        case: &mut Case<'_, '_>,
        projection: &Projection,
        budget: &Budget,
    ) -> Result<Other, String> {
        let is_settled =
            projection.unconfirmed.is_none() && projection.confirmed.is_some_and(is_whole);
        let agrees = |one: &Explanation| projection_agrees(&projection.dsp, one);
        if is_settled && !waits(case.explanation) && !agrees(case.explanation) {
            let mut others = retold_nearly(self.corpus, case.explanation, budget).into_iter();
            if let Some(other) = others.find(agrees) {
                *case.explanation = other;
            }
        }
        case.projected(projection)
    }

    /// Runs of the corpus that passed, the shortest first.
    fn passed(&self) -> impl Iterator<Item = (&'a str, &'a Run)> {
        let mut passed: Vec<&RunSummary> = self.corpus.passing().collect();
        passed.sort_by(|a, b| (a.events, &a.name).cmp(&(b.events, &b.name)));
        let runs = passed.into_iter().filter_map(|summary| {
            let mut runs = self.with.loaded.runs.iter();
            let (name, run) = runs.find(|(name, _)| *name == summary.name)?;
            Some((name.as_str(), &**run))
        });
        runs.filter(|(_, run)| {
            run.meta.mode == Mode::Controlled && run.meta.outcome == Outcome::Passed
        })
    }
}

/// Why it was not settled when the time was over.
const OVER: &str = "the time for running it again was over\n  next: give it more: --run-budget 2m";

/// Is a run without what is blamed? What a run cannot have or not have is told by none: threads that wait for ever apart,
/// and what is missing in the failing run.
fn is_without(explanation: &Explanation, run: &Run) -> bool {
    match bears_out(explanation, run) {
        Some(has) => !has,
        None => waits(explanation) || never_came(explanation).is_some(),
    }
}

/// Is it the order that decides? The failing run's own, executed up to the same point, has to fail: else an order that
/// passes shows nothing, and why is said. No reason where it was stopped.
fn decides(
    case: &Case<'_, '_>,
    turned: &Turned,
    passed: Option<&Run>,
) -> Result<Result<(), Option<String>>> {
    // The wakeup is no matter of order: the run as it was recorded has it, and fails.
    if turned.turn == Turn::NotWoken {
        return Ok(Ok(()));
    }
    let injected = has_injected(case.executor.run, turned.until);
    Ok(match control(&case.executor, turned, passed)? {
        Control::Decides => Ok(()),
        Control::NotHad if !injected => Ok(()),
        Control::NotHad => Err(Some(
            "its run has a wakeup, a timeout or a failure that was injected, and an order without it shows nothing".to_owned(),
        )),
        Control::PassesToo { passes, of } => Err(Some(format!(
            "the order that is blamed passes as well, {passes} times of {of}, depending on how it goes on"
        ))),
        Control::Stopped => Err(None),
    })
}

/// Has a run, up to a row, a wait that ended by itself or an allocation that failed?
fn has_injected(run: &Run, until: EventId) -> bool {
    let mut events = run.events.iter().take_while(|(row, _)| *row <= until);
    events.any(|(_, event)| match event.kind {
        EventKind::Wake => matches!(event.value, Some(Value::Bits(2))),
        EventKind::Alloc => event.location == LocationId(0),
        _ => false,
    })
}

/// The first run in which what the order waits for comes.
fn shows<'r>(turned: &Turned, passed: &[&'r Run]) -> Option<&'r Run> {
    let absent = turned.awaited.as_ref()?;
    passed.iter().find(|run| writes_at(run, absent)).copied()
}

/// Does a run write there before it comes to the last of the explanation's steps that is blamed?
fn writes_before(run: &Run, mark: &SiteMark, explanation: &Explanation) -> bool {
    let is_blamed = |mark: &&SiteMark| matches!(mark.role, Role::Cause | Role::Interference);
    let marks = explanation.sites.iter().filter(is_blamed);
    let Some(last) = marks
        .filter(|mark| mark.step.is_some())
        .max_by_key(|mark| mark.step)
    else {
        return writes_at(run, mark);
    };
    let mut events = run.events.iter();
    let mut is_at = |place: &Place, is_wanted: fn(EventKind) -> bool| {
        events.any(|(_, event)| {
            let site = run.meta.site(event.site);
            is_wanted(event.kind) && (site.line, &site.file) == (place.line, &place.file)
        })
    };
    is_at(&mark.place, EventKind::writes) && is_at(&last.place, EventKind::is_access)
}

/// Does a run write there?
fn writes_at(run: &Run, mark: &SiteMark) -> bool {
    let mut events = run.events.iter();
    events.any(|(_, event)| {
        let site = run.meta.site(event.site);
        event.kind.writes() && (site.line, &site.file) == (mark.place.line, &mark.place.file)
    })
}

fn every_schedule(share: Share) -> String {
    let orders = match share.orders {
        1 => "all in one order of conflicting steps".to_owned(),
        orders => format!("{orders} different orders of conflicting steps"),
    };
    format!(
        "All {} schedules that were drawn fail so ({orders}): as far as was tried it does not depend on the schedule.",
        share.of
    )
}

/// Threads that wait for ever have no accesses that another run could be without.
fn waits(explanation: &Explanation) -> bool {
    matches!(explanation.kind, BugKind::Deadlock | BugKind::LostWakeup)
}

fn fails_too(turn: Turn, says: &str, explanation: &Explanation) -> String {
    match turn {
        Turn::RegionFirst | Turn::OthersFirst => {
            format!(
                "with {} made atomic it fails all the same",
                piece(explanation)
            )
        }
        Turn::Swapped | Turn::Awaited | Turn::NotWoken => {
            let order = says.split_once(": ").map_or(says, |(order, _)| order);
            format!("with {order} it fails all the same")
        }
    }
}

/// `lines 46 to 54`.
fn piece(explanation: &Explanation) -> String {
    match &explanation.region {
        Some(region) if region.first == region.last => format!("line {}", region.first),
        Some(region) => format!("lines {} to {}", region.first, region.last),
        None => "the two accesses".to_owned(),
    }
}

/// `line 41 of payroll (main.1)`: what came in between.
fn interfering(explanation: &Explanation) -> String {
    let mut marks = explanation.sites.iter();
    let between = marks.find(|mark| mark.role == Role::Interference);
    between.map_or_else(
        || "the other thread".to_owned(),
        |mark| format!("line {} of {}", mark.place.line, mark.thread),
    )
}

impl Case<'_, '_> {
    /// What schedules drawn from the start say of a failure that is told to happen in all of them, or of a circle of waits.
    fn whatever_the_schedule(&mut self) -> Option<(Verdict, String)> {
        let kind = self.explanation.kind;
        let always = self.decision.of_all_schedules();
        if let Some(share) = always.filter(|share| share.is_all()) {
            self.says.push(every_schedule(share));
            let is_settled = matches!(kind, BugKind::Deadlock | BugKind::Sequential);
            return is_settled.then(|| (Verdict::Confirmed, String::new()));
        }
        (kind == BugKind::Sequential).then(|| match always {
            Some(share) => (
                Verdict::Refuted,
                format!(
                    "{} of {} schedules that were drawn pass",
                    share.of - share.fails,
                    share.of
                ),
            ),
            None => (Verdict::Confirmed, String::new()),
        })
    }

    /// Whether the lines that should be one step help as one step.
    fn region(&mut self, seen: &Directed) {
        let passes = |turn| seen.passing.contains(&turn);
        let fails = |turn| seen.fails.iter().find(|(failed, ..)| *failed == turn);
        let piece = piece(self.explanation);
        if passes(Turn::RegionFirst) && passes(Turn::OthersFirst) {
            let other = interfering(self.explanation);
            self.says.push(format!(
                "With {piece} made atomic it passes, whether {other} comes before or after."
            ));
        } else if passes(Turn::RegionFirst) && fails(Turn::OthersFirst).is_none() {
            self.says
                .push(format!("With {piece} made atomic it passes."));
        } else if let Some((.., true)) = fails(Turn::OthersFirst)
            && passes(Turn::RegionFirst)
        {
            // One piece is not enough: it also has to come first.
            self.explanation.region = None;
            let other = interfering(self.explanation);
            self.says.push(format!(
                "With {piece} made atomic it passes only before {other}."
            ));
        }
    }

    /// The order that the engine dsp has executed, if that settles it; else why not.
    fn projected(&mut self, projection: &Projection) -> Result<Other, String> {
        if let Some(reason) = &projection.unconfirmed {
            return Err(reason.clone());
        }
        if !projection.confirmed.is_some_and(is_whole) {
            return Err("no other order passed each time".to_owned());
        }
        let dsp = &projection.dsp;
        let operation = |at: u32| dsp.operations.get(at as usize);
        let in_words = |at: u32| {
            operation(at).map_or(String::new(), |one| {
                format!("{} {}", one.thread, short(&one.place))
            })
        };
        let flipped = dsp
            .flipped
            .map(|(first, second)| format!("{} before {}", in_words(second), in_words(first)));
        if !waits(self.explanation) && !projection_agrees(dsp, self.explanation) {
            let which = flipped.unwrap_or_else(|| "another order".to_owned());
            return Err(format!(
                "what passes is {which}\n  next: unsnarl explain --engine dsp shows both orders"
            ));
        }
        let says =
            "has executed an order in which these lines come the other way round, and it passes";
        self.explanation.join("dsp", says.to_owned());
        if let Some(Advice::Region { region, .. }) = &dsp.advice {
            self.explanation.region = Some(region.clone());
            let piece = piece(self.explanation);
            self.says
                .push(format!("With {piece} made atomic it passes."));
        }
        Ok(Other {
            is_recorded: projection.recorded.is_some(),
            says: match &projection.recorded {
                Some(name) => name.clone(),
                None => flipped.unwrap_or_default(),
            },
        })
    }

    fn passes(mut self, other: Other, passes: u32, of: u32) -> Execution {
        self.tally.passes = passes;
        self.tally.of_passes = of;
        if let Some(says) = contradicts(self.explanation).filter(|_| !self.needs_a_wakeup) {
            return self.ends(Verdict::Unsettled, Some(other), &says);
        }
        match is_whole(self.tally) {
            true => self.ends(Verdict::Confirmed, Some(other), ""),
            false => self.ends(
                Verdict::Unsettled,
                Some(other),
                "it does not end the same each time",
            ),
        }
    }

    fn ends(self, verdict: Verdict, other: Option<Other>, reason: &str) -> Execution {
        self.explanation.confirmed = Some(self.tally);
        self.explanation.decisive = self.decision.steps;
        self.explanation.curve = self.decision.curve;
        let (reason, next) = reason.split_once("\n  next: ").unwrap_or((reason, ""));
        Execution {
            verdict,
            is_recorded: other.as_ref().is_some_and(|other| other.is_recorded),
            other: other.map_or(String::new(), |other| other.says),
            reason: reason.to_owned(),
            next: next.to_owned(),
            says: self.says,
        }
    }
}

/// Why an order that passes is not enough: schedules drawn at random fail about as often without what is blamed, or none
/// could be drawn. Who waits for whom in a circle needs none.
fn contradicts(explanation: &Explanation) -> Option<String> {
    let share = |share: Share| format!("{} of {}", share.fails, share.of);
    match explanation.evidence {
        _ if explanation.kind == BugKind::Deadlock => None,
        Some(evidence) if evidence.tells() && evidence.is_necessary() => None,
        Some(evidence) => Some(format!(
            "{} schedules with it fail, and {} without it",
            share(evidence.with),
            share(evidence.without)
        )),
        None => Some("no other schedules could be drawn with it and without it".to_owned()),
    }
}
