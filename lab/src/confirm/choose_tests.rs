//! Tests of the choice of the story that is told, with experiments whose outcome is given.

use super::{
    case::{contradicts, is_enough},
    choose::choose,
    decide::Decision,
    experiment::{DrawnSchedules, Experiment, Experiments},
    others::{OtherStory, needed},
    tried::{TriedStory, is_half_of, only_surrounds},
};
use anyhow::Result;
use std::{cell::RefCell, sync::Arc};
use unsnarl_core::{
    Budget, BugKind, Certainty, Corpora, Corpus, Explanation, Place, Role, RunSummary, SiteMark,
    claims::{Claim, Counted, Operation},
    diagnosis::{Counterexample, DecisiveStep, Evidence, FailingShare, PassedOver, Shows},
    explain::{Intervention, Proposers, explain, intervention},
    pairs::AccessClass,
};
use unsnarl_trace::{Event, EventId, EventKind, LeftLocal, Run, ThreadId, script};

/// Two threads count `hits` up and then `done`, without a lock.
fn turn(thread: &str, hits: u32, done: u32) -> [String; 4] {
    [
        format!("{thread} R hits ={hits} @10 work \"int n = hits;\"\n"),
        format!("{thread} W hits ={} @11 work \"hits = n + 1;\"\n", hits + 1),
        format!("{thread} R done ={done} @12 work \"int d = done;\"\n"),
        format!("{thread} W done ={} @13 work \"done = d + 1;\"\n", done + 1),
    ]
}

fn text(middle: &str, hits: u32, ending: &str) -> String {
    format!(
        "start main.1 work\nstart main.2 work\nmain fork main.1 @40 main\nmain fork main.2 @41 main\n{middle}main.1 end\nmain.2 end\nmain join main.1 @42\nmain join main.2 @43\nmain R hits ={hits} @44 main \"assert(hits == 2);\"\n{ending}"
    )
}

fn corpora() -> Corpora {
    let passing = turn("main.1", 0, 0).concat() + &turn("main.2", 1, 1).concat();
    let [a, b, c, d] = turn("main.1", 0, 0);
    let [e, f, g, h] = turn("main.2", 0, 0);
    let failing = [a, e, b, f, c, g, d, h].concat();
    let failing = text(
        &failing,
        1,
        "fails @44 main \"assertion `hits == 2` failed\"\n",
    );
    let passing = text(&passing, 2, "");
    let mut corpora = Corpora::default();
    for at in 0..6 {
        corpora.insert(summary(&format!("passed-{at}"), &passing));
    }
    corpora.insert(summary("failed-0", &failing));
    corpora
}

fn summary(name: &str, text: &str) -> RunSummary {
    RunSummary::new(
        name.to_owned(),
        Arc::new(script::parse(text).expect("a run")),
    )
}

/// Experiments of which each has the outcome that its story stands with here: of 30 schedules with what it blames and 30
/// without it so many fail.
struct GivenOutcomes<'a> {
    run: &'a Run,
    outcomes: &'a [(&'a str, u32, u32)],
    /// Outcomes of stories whose opposite is rare, with patience.
    rare: &'a [(&'a str, u32, u32)],
    /// Stories that what is told can be had without, and failures among such schedules.
    parted: &'a [(&'a str, u32)],
    asked: RefCell<Vec<String>>,
    /// The experiment after which the time is over.
    last: usize,
    over: Budget,
}

impl<'a> GivenOutcomes<'a> {
    fn of(run: &'a Run, outcomes: &'a [(&'a str, u32, u32)]) -> GivenOutcomes<'a> {
        GivenOutcomes {
            run,
            outcomes,
            rare: &[],
            parted: &[],
            asked: RefCell::default(),
            last: usize::MAX,
            over: Budget::unlimited(),
        }
    }
}

impl Experiments for GivenOutcomes<'_> {
    fn run(&self) -> &Run {
        self.run
    }

    fn experiment(&self, explanation: &Explanation, _: &Budget) -> Result<DrawnSchedules> {
        self.asked.borrow_mut().push(explanation.headline.clone());
        let mut outcomes = self.outcomes.iter();
        let outcome = outcomes.find(|(about, ..)| explanation.headline.contains(about));
        let share = |fails| FailingShare {
            fails,
            of: 30,
            orders: 30,
        };
        let orders = intervention(explanation, self.run);
        let made = orders.zip(outcome);
        let made = made.map(|(orders, (_, with, without))| Experiment {
            evidence: Evidence {
                with: share(*with),
                without: share(*without),
            },
            takes_more: false,
            orders,
            begins: EventId(0),
        });
        let against = made.as_ref().map(|made| made.evidence);
        let against = against.filter(|evidence| evidence.without.fails > 0);
        if self.asked.borrow().len() == self.last {
            self.over.cancel();
        }
        Ok(DrawnSchedules {
            made,
            schedules: 60,
            is_unfinished: false,
            is_too_rare: self
                .rare
                .iter()
                .any(|(about, ..)| explanation.headline.contains(about)),
            against: against.map(|_| (Shows::FailsWithout, Box::new(self.run.clone()))),
        })
    }

    fn patiently(&self, explanation: &Explanation, budget: &Budget) -> Result<DrawnSchedules> {
        let patient = GivenOutcomes {
            outcomes: self.rare,
            ..GivenOutcomes::of(self.run, &[])
        };
        patient.experiment(explanation, budget)
    }

    fn on_the_way(
        &self,
        explanation: &Explanation,
        _: &Intervention,
        budget: &Budget,
    ) -> Result<DrawnSchedules> {
        self.experiment(explanation, budget)
    }

    fn but_without(
        &self,
        _: &Explanation,
        without: &Explanation,
        _: &Budget,
    ) -> Result<Option<FailingShare>> {
        let parted = self.parted.iter();
        let mut parted = parted.filter(|(about, _)| without.headline.contains(about));
        let fails = parted.next().map(|(_, fails)| *fails);
        Ok(fails.map(|fails| FailingShare {
            fails,
            of: 30,
            orders: 30,
        }))
    }

    fn both(&self, _: &Explanation, _: &Explanation, _: &Budget) -> Result<Option<FailingShare>> {
        Ok(Some(FailingShare {
            fails: 30,
            of: 30,
            orders: 30,
        }))
    }

    fn keep(&self, (shows, _): (Shows, Box<Run>)) -> Option<Counterexample> {
        let run = format!("kept-{}", self.asked.borrow().len());
        Some(Counterexample { run, shows })
    }
}

const HITS: &str = "update of `hits` was lost";
const DONE: &str = "update of `done` was lost";
const BOTH: &str = "`hits` and `done`";

/// The story that the runs of a corpus alone tell first, and its run.
fn first_told(corpus: &Corpus) -> (Explanation, Arc<Run>) {
    let told = explain(corpus, &Budget::unlimited()).findings.remove(0);
    let run = corpus.get(&told.run).and_then(|run| run.run.clone());
    (told, run.expect("the failing run"))
}

/// The headline of what is told in its place after these experiments.
fn chosen_instead(corpus: &Corpus, mut told: Explanation, given: &GivenOutcomes<'_>) -> String {
    let (proposers, budget) = (Proposers::comparing(corpus), Budget::unlimited());
    let decision = Decision::default();
    choose(&proposers, &[], given, &mut told, &decision, &budget).expect("no program is executed");
    told.headline
}

/// The story that is told first by the runs alone, after experiments with these outcomes, and how many were made.
fn chosen(outcomes: &[(&str, u32, u32)], known: &[&str]) -> (Explanation, usize) {
    chosen_until(usize::MAX, outcomes, known)
}

/// The same where the time is over after so many experiments.
fn chosen_until(
    last: usize,
    outcomes: &[(&str, u32, u32)],
    known: &[&str],
) -> (Explanation, usize) {
    chosen_where(last, outcomes, known, |_| Vec::new())
}

/// The same where these steps decide.
fn chosen_where(
    last: usize,
    outcomes: &[(&str, u32, u32)],
    known: &[&str],
    decisive: fn(&Run) -> Vec<DecisiveStep>,
) -> (Explanation, usize) {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let budget = Budget::unlimited();
    let (mut told, run) = first_told(corpus);
    let proposers = Proposers::comparing(corpus);
    let mut proposals = proposers.instead_of(&told, &[]);
    let engines = proposers.all();
    let stories = engines.flat_map(|engine| proposals.by(engine, &budget));
    let ids = stories.filter(|one| known.iter().any(|about| one.headline.contains(about)));
    let ids: Vec<String> = ids.map(|one| one.id).collect();
    let given = GivenOutcomes {
        last,
        over: budget.clone(),
        ..GivenOutcomes::of(&run, outcomes)
    };
    let decision = Decision {
        steps: decisive(given.run),
        curve: Vec::new(),
    };
    choose(&proposers, &ids, &given, &mut told, &decision, &budget)
        .expect("no program is executed");
    (told, given.asked.into_inner().len())
}

/// The same where the write of `done` by the thread that writes it first decides.
fn chosen_around(outcomes: &[(&str, u32, u32)]) -> Explanation {
    chosen_where(usize::MAX, outcomes, &[], first_done).0
}

fn first_done(run: &Run) -> Vec<DecisiveStep> {
    let share = |fails| FailingShare {
        fails,
        of: 40,
        orders: 40,
    };
    let mut rows = run.events.iter();
    let at = rows.find(|(_, event)| run.meta.site(event.site).line == 13);
    let step = at.map(|(row, _)| DecisiveStep {
        event: row.0,
        thread: "main.1".to_owned(),
        place: Place::default(),
        access: "write".to_owned(),
        location: "done".to_owned(),
        before: share(10),
        after: share(40),
    });
    step.into_iter().collect()
}

#[test]
fn what_is_clear_is_told_at_once() {
    let (told, asked) = chosen(&[(HITS, 30, 0)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    assert_eq!((asked, told.passed_over.len()), (1, 0));
}

#[test]
fn what_is_borne_out_takes_the_place_of_what_is_not() {
    let (told, _) = chosen(&[(HITS, 10, 10), (DONE, 30, 0), (BOTH, 12, 9)], &[]);
    assert!(told.headline.contains(DONE), "{}", told.headline);
    let over: Vec<&str> = told
        .passed_over
        .iter()
        .map(|one| one.headline.as_str())
        .collect();
    assert!(
        over.iter().any(|headline| headline.contains(HITS)),
        "{over:?}"
    );
}

/// Threads that wait for each other's signals may do so since something came in the wrong order; a circle of locks is one.
#[test]
fn a_circle_with_a_signal_in_it_may_have_a_cause() {
    let told = |access: &str| {
        let corpora = corpora();
        let corpus = corpora.iter().next().expect("a corpus");
        let (mut told, run) = first_told(corpus);
        told.kind = BugKind::Deadlock;
        told.headline = "main.1 and main.2 wait for each other".to_owned();
        for step in &mut told.steps {
            step.access = access.to_owned();
        }
        chosen_instead(corpus, told, &GivenOutcomes::of(&run, &[(DONE, 30, 0)]))
    };
    assert!(told("wait").contains(DONE), "{}", told("wait"));
    assert!(told("lock-wait").contains("each other"));
}

#[test]
fn what_fails_about_as_often_without_it_is_only_possible() {
    let certainty = |with, without| chosen(&[(HITS, with, without)], &[]).0.certainty;
    assert_eq!(certainty(9, 7), Certainty::Possible);
    assert_eq!(certainty(25, 7), Certainty::Likely);
}

#[test]
fn a_little_more_of_a_difference_is_no_reason() {
    let (told, _) = chosen(&[(HITS, 22, 4), (DONE, 24, 4)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
}

/// All 40 continuations fail from a row on, and so many of 40 before it.
fn decided_at(event: u32, before: u32) -> Decision {
    let share = |fails| FailingShare {
        fails,
        of: 40,
        orders: 40,
    };
    let step = first_done(&failing_run()).into_iter();
    let step = step.map(|step| DecisiveStep {
        event,
        before: share(before),
        after: share(40),
        ..step
    });
    Decision {
        steps: step.collect(),
        curve: Vec::new(),
    }
}

#[test]
fn what_begins_after_all_was_decided_does_not_settle_it() {
    let hits = story(HITS);
    let run = failing_run();
    let given = GivenOutcomes::of(&run, &[(HITS, 30, 0)]);
    let tried = |event: u32, before: u32| {
        let decision = decided_at(event, before);
        let trial = given.experiment(&hits, &Budget::unlimited());
        let made = trial.expect("an outcome").made.expect("orders");
        TriedStory::new(made, &hits, &run, &decision)
    };
    let last = run.events.len() as u32 - 1;
    assert!(tried(0, 30).is_too_late && !tried(0, 30).is_settled());
    // It is chance where the last of few continuations that pass was.
    assert!(!tried(0, 39).is_too_late);
    assert!(!tried(last, 30).is_too_late);
    // Its first step alone decides: what came in between was bound to come.
    let own = hits.steps.first().expect("steps").event;
    let between = hits.steps.get(1).expect("steps").event;
    assert!(!tried(own, 30).is_too_late && !tried(own, 30).is_settled());
    assert!(tried(between, 30).is_settled());
}

/// Is the lost update of `done`, of which a step decides, told rather than that of `hits`?
#[test]
fn what_has_a_step_that_decides_comes_before_what_has_none() {
    let stories = [HITS, DONE].map(story);
    let run = failing_run();
    let given = GivenOutcomes::of(&run, &[(HITS, 20, 0), (DONE, 21, 0)]);
    let is_better = |steps: Vec<DecisiveStep>| {
        let curve = Vec::new();
        let decision = Decision { steps, curve };
        let [hits, done] = stories.each_ref().map(|story| {
            let trial = given.experiment(story, &Budget::unlimited());
            let made = trial.expect("an outcome").made.expect("orders");
            TriedStory::new(made, story, &run, &decision)
        });
        done.is_better_than(Some(&hits))
    };
    assert!(!is_better(Vec::new()));
    assert!(is_better(first_done(&run)));
    let refuted = chosen_around(&[(HITS, 20, 0), (DONE, 21, 20), (BOTH, 2, 0)]);
    assert!(refuted.headline.contains(HITS), "{}", refuted.headline);
}

/// The difference that a second variable makes is chance, unless nothing fails without both.
#[test]
fn a_second_variable_has_to_make_a_difference() {
    let (told, _) = chosen(&[(HITS, 30, 7), (BOTH, 30, 3)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    let (told, _) = chosen(&[(HITS, 30, 7), (BOTH, 30, 0)], &[]);
    assert!(told.headline.contains(BOTH), "{}", told.headline);
}

/// The experiment on `done`, of which so many schedules with it and without it fail.
fn made(run: &Run, with: u32, without: u32) -> Experiment {
    let outcomes = [(DONE, with, without)];
    let given = GivenOutcomes::of(run, &outcomes);
    let trial = given.experiment(&story(DONE), &Budget::unlimited());
    trial.expect("an outcome").made.expect("orders")
}

/// An order that holds the failing read fails with all schedules: the interruption before it is told, if nothing fails without
/// it and most schedules fail with it.
#[test]
fn an_interruption_comes_before_the_order_that_it_leads_to() {
    let run = failing_run();
    let tried = |told: &Explanation, complete: u32, (with, without): (u32, u32)| {
        let made = made(&run, with, without);
        let orders = Intervention {
            complete: EventId(complete),
            ..made.orders
        };
        let made = Experiment { orders, ..made };
        TriedStory::new(made, told, &run, &Decision::default())
    };
    let interruption = story(DONE);
    let order = Explanation {
        kind: BugKind::OrderViolation,
        ..story(BOTH)
    };
    let order = tried(&order, 9, (30, 0));
    let is_told = |own: &TriedStory| {
        (
            own.is_better_than(Some(&order)),
            order.is_better_than(Some(own)),
        )
    };
    assert_eq!(is_told(&tried(&interruption, 7, (20, 0))), (true, false));
    assert!(!is_told(&tried(&interruption, 7, (12, 0))).0);
    assert!(!is_told(&tried(&interruption, 7, (20, 2))).0);
    let mut of_two_visits = tried(&interruption, 7, (20, 0));
    of_two_visits.spans_visits = true;
    assert!(!is_told(&of_two_visits).0);
}

/// That others count in between comes to the same in any order; that somebody looked before does not.
#[test]
fn a_look_at_a_number_is_told_rather_than_that_it_was_counted() {
    let run = failing_run();
    let tried = |with: u32, without: u32| {
        let made = made(&run, with, without);
        TriedStory::new(made, &story(DONE), &run, &Decision::default())
    };
    let mut counting = tried(27, 0);
    counting.is_counting = true;
    let is_told = |own: &TriedStory| {
        (
            own.is_better_than(Some(&counting)),
            counting.is_better_than(Some(own)),
        )
    };
    assert!(!counting.is_settled());
    assert_eq!(is_told(&tried(19, 0)), (true, false));
    assert!(!is_told(&tried(12, 0)).0);
    assert!(!is_told(&tried(19, 9)).0);
}

/// Steps that begin earlier and end where the update of `done` does, in a function that they call: what they have before it
/// only leads there.
#[test]
fn an_interruption_within_the_steps_of_another_one_is_told() {
    let run = failing_run();
    let tried = |about: &str, begins: u32, calls: usize, outcome: (u32, u32)| {
        let made = Experiment {
            begins: EventId(begins),
            ..made(&run, outcome.0, outcome.1)
        };
        let mut tried = TriedStory::new(made, &story(about), &run, &Decision::default());
        tried.calls = Some(calls);
        tried
    };
    let both = tried(BOTH, 0, 0, (30, 0));
    let is_told = |done: &TriedStory| {
        (
            done.is_better_than(Some(&both)),
            both.is_better_than(Some(done)),
        )
    };
    assert_eq!(is_told(&tried(DONE, 1, 1, (17, 0))), (true, false));
    assert_eq!(is_told(&tried(DONE, 1, 0, (17, 0))), (false, true));
    assert_eq!(is_told(&tried(DONE, 1, 1, (17, 9))), (false, true));
}

/// Of two interruptions with which all fails and without which nothing does, the later one came of the earlier one.
#[test]
fn an_interruption_that_is_over_before_another_one_begins_is_told() {
    let run = failing_run();
    let tried = |(begins, complete): (u32, u32), with: u32| {
        let made = made(&run, with, 0);
        let made = Experiment {
            begins: EventId(begins),
            orders: Intervention {
                complete: EventId(complete),
                ..made.orders
            },
            ..made
        };
        TriedStory::new(made, &story(DONE), &run, &Decision::default())
    };
    let later = tried((8, 11), 30);
    let is_told = |own: &TriedStory| {
        (
            own.is_better_than(Some(&later)),
            later.is_better_than(Some(own)),
        )
    };
    assert_eq!(is_told(&tried((2, 7), 30)), (true, false));
    assert!(!is_told(&tried((2, 9), 30)).0);
    assert!(!is_told(&tried((2, 7), 20)).0);
}

/// Two threads do something since each had seen that it is to be done: the one that comes second did it on what it had seen before
/// the other one did it.
#[test]
fn an_outdated_look_of_the_intruder_is_told() {
    let run = failing_run();
    let tried = |thread: u16, begins: u32, complete: u32, (with, without): (u32, u32)| {
        let made = made(&run, with, without);
        let made = Experiment {
            begins: EventId(begins),
            orders: Intervention {
                complete: EventId(complete),
                with: vec![EventId(begins), EventId(7), EventId(complete)],
                ..made.orders
            },
            ..made
        };
        let mut tried = TriedStory::new(made, &story(DONE), &run, &Decision::default());
        tried.thread = Some(ThreadId(thread));
        tried.begins_with_look = true;
        tried
    };
    let told = tried(2, 6, 9, (30, 0));
    let is_told = |own: &TriedStory| {
        (
            own.is_better_than(Some(&told)),
            told.is_better_than(Some(own)),
        )
    };
    assert_eq!(is_told(&tried(1, 4, 7, (11, 0))), (true, false));
    assert!(!is_told(&tried(1, 4, 7, (5, 0))).0);
    let mut without_a_look = tried(1, 4, 7, (11, 0));
    without_a_look.begins_with_look = false;
    assert!(!is_told(&without_a_look).0);
    assert!(!is_told(&tried(1, 4, 7, (11, 2))).0);
    assert!(!is_told(&tried(2, 4, 7, (11, 0))).0);
    assert!(!is_told(&tried(1, 4, 8, (11, 0))).0);
}

/// A thread that finds things half done went there on what it had seen before.
#[test]
fn the_look_before_what_is_found_half_done_is_told() {
    let run = failing_run();
    let tried = |begins: u32, (with, without): (u32, u32)| {
        let made = made(&run, with, without);
        let made = Experiment {
            begins: EventId(begins),
            ..made
        };
        let mut tried = TriedStory::new(made, &story(DONE), &run, &Decision::default());
        tried.thread = Some(ThreadId(1));
        tried.begins_with_look = true;
        tried
    };
    let mut found = tried(6, (30, 0));
    (found.begins_with_look, found.is_symptom) = (false, true);
    let is_told = |own: &TriedStory| {
        (
            own.is_better_than(Some(&found)),
            found.is_better_than(Some(own)),
        )
    };
    assert_eq!(is_told(&tried(4, (11, 0))), (true, false));
    assert!(!is_told(&tried(4, (5, 0))).0);
    assert!(!is_told(&tried(4, (11, 2))).0);
    assert!(!is_told(&tried(8, (11, 0))).0);
    let mut of_nobody = tried(4, (11, 0));
    of_nobody.thread = None;
    assert!(!is_told(&of_nobody).0);
    let mut without_a_look = tried(4, (11, 0));
    without_a_look.begins_with_look = false;
    assert!(!is_told(&without_a_look).0);
}

#[test]
fn an_interruption_of_one_call_is_told_rather_than_of_two() {
    let run = failing_run();
    let tried = |calls: usize, (with, without): (u32, u32)| {
        let made = made(&run, with, without);
        let mut tried = TriedStory::new(made, &story(DONE), &run, &Decision::default());
        tried.calls = Some(calls);
        tried
    };
    let of_two = tried(1, (26, 0));
    let is_told = |own: TriedStory| own.is_better_than(Some(&of_two));
    assert!(is_told(tried(3, (30, 0))));
    assert!(!is_told(tried(3, (24, 0))));
    assert!(!is_told(tried(3, (30, 1))));
    assert!(!is_told(tried(1, (30, 0))));
    let mut symptom = tried(3, (30, 0));
    symptom.is_symptom = true;
    assert!(!is_told(symptom));
}

/// Few schedules fail with an update that was lost, as where it takes a third thread, but none without it: more variables are no
/// other story.
#[test]
fn a_story_of_more_variables_only_surrounds_what_is_borne_out() {
    let told = |with: u32, without: u32| Explanation {
        evidence: Some(made(&failing_run(), with, without).evidence),
        ..story(DONE)
    };
    assert!(only_surrounds(&story(BOTH), &told(3, 0)));
    assert!(!only_surrounds(&story(BOTH), &told(3, 1)));
    assert!(!only_surrounds(&story(BOTH), &told(0, 0)));
    assert!(!only_surrounds(&story(BOTH), &story(DONE)));
    assert!(!only_surrounds(&story(HITS), &told(3, 0)));
}

/// Experiments may leave open which of two interruptions decides: the runs tell.
#[test]
fn two_interruptions_without_which_nothing_fails_are_as_good() {
    let run = failing_run();
    let tried = |about: &str, with: u32, without: u32| {
        let made = made(&run, with, without);
        TriedStory::new(made, &story(about), &run, &Decision::default())
    };
    let hits = tried(HITS, 30, 0);
    assert!(tried(DONE, 30, 0).is_as_good_as(&hits));
    assert!(!tried(DONE, 20, 0).is_as_good_as(&hits));
    assert!(!tried(DONE, 30, 1).is_as_good_as(&hits));
    let mut symptom = tried(DONE, 30, 0);
    symptom.is_symptom = true;
    assert!(!symptom.is_as_good_as(&hits));
    let mut of_two_visits = tried(DONE, 30, 0);
    of_two_visits.spans_visits = true;
    assert!(!of_two_visits.is_as_good_as(&hits));
}

/// The rest of it may be chance, which the runs tell: it makes about as much of a difference.
#[test]
fn a_part_without_which_nothing_fails_may_stand_for_the_whole() {
    let run = failing_run();
    let tried = |about: &str, with: u32, without: u32| {
        let made = made(&run, with, without);
        TriedStory::new(made, &story(about), &run, &Decision::default())
    };
    let both = tried(BOTH, 30, 0);
    assert!(tried(HITS, 25, 0).may_stand_for(&both));
    assert!(!tried(HITS, 20, 0).may_stand_for(&both));
    assert!(!tried(HITS, 25, 1).may_stand_for(&both));
    assert!(!both.may_stand_for(&tried(HITS, 25, 0)));
    let mut symptom = tried(HITS, 25, 0);
    symptom.is_symptom = true;
    assert!(!symptom.may_stand_for(&both));
}

/// Each use of a block begins with a look between its announcement and the end of that.
#[test]
fn a_look_that_passing_runs_have_too_leaves_it_to_who_frees() {
    let run = failing_run();
    let tried = |story: &Explanation, thread: u16| {
        let mut tried = TriedStory::new(made(&run, 30, 0), story, &run, &Decision::default());
        tried.thread = Some(ThreadId(thread));
        tried
    };
    let mut freed = story(DONE);
    freed.kind = BugKind::UseAfterFree;
    let freed = tried(&freed, 2);
    let mut seen = story(HITS);
    for mark in seen.sites.clone() {
        let access = match mark.role {
            Role::Cause => EventKind::Write,
            _ => EventKind::Read,
        };
        let step = mark.step.expect("a step") as usize - 1;
        seen.steps[step].access = access.name().to_owned();
    }
    let mut with_passing = |holds_in| {
        for claim in &mut seen.claims {
            (claim.holds_in, claim.of) = (holds_in, 9);
        }
        seen.clone()
    };
    assert!(!tried(&with_passing(0), 1).leaves_it_to(&freed));
    let seen = with_passing(1);
    assert!(tried(&seen, 1).leaves_it_to(&freed));
    assert!(!tried(&seen, 2).leaves_it_to(&freed));
    assert!(!tried(&seen, 1).leaves_it_to(&tried(&story(DONE), 2)));
    let mut changed = story(HITS);
    changed.claims.clone_from(&seen.claims);
    assert!(!tried(&changed, 1).leaves_it_to(&freed));
}

#[test]
fn without_the_cause_nothing_fails() {
    let (told, _) = chosen(&[(HITS, 24, 4), (DONE, 25, 0)], &[]);
    assert!(told.headline.contains(DONE), "{}", told.headline);
}

#[test]
fn what_something_fails_without_gives_way_to_what_is_needed() {
    let (told, _) = chosen(&[(HITS, 30, 2), (DONE, 30, 0)], &[]);
    assert!(told.headline.contains(DONE), "{}", told.headline);
    let (told, _) = chosen(&[(HITS, 30, 0), (DONE, 30, 0)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
}

#[test]
fn an_order_that_takes_more_is_not_final() {
    let run = failing_run();
    let tried = |kind, takes_more| {
        let mut story = story(DONE);
        story.kind = kind;
        let made = Experiment {
            takes_more,
            ..made(&run, 30, 0)
        };
        TriedStory::new(made, &story, &run, &Decision::default()).is_final()
    };
    assert!(tried(BugKind::OrderViolation, false));
    assert!(!tried(BugKind::OrderViolation, true));
    assert!(tried(BugKind::AtomicityViolation, true));
}

#[test]
fn what_makes_no_difference_is_possible_at_most() {
    let (told, _) = chosen(&[(HITS, 10, 12)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    assert_eq!(told.certainty, Certainty::Possible);
}

#[test]
fn orders_that_cannot_be_had_settle_nothing() {
    let (told, _) = chosen(&[], &[]);
    assert_eq!(told.evidence, None);
    assert!(told.headline.contains(HITS), "{}", told.headline);
}

#[test]
fn a_cause_that_is_known_is_told_of_other_failures_too() {
    let outcomes = [(HITS, 30, 0), (DONE, 29, 1)];
    let (told, asked) = chosen(&outcomes, &[DONE]);
    assert!(told.headline.contains(DONE), "{}", told.headline);
    assert_eq!(asked, 1);
    let (told, _) = chosen(&[(HITS, 30, 0), (DONE, 15, 14)], &[DONE]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
}

/// The story of both variables, tried first, and that of one of them.
fn part_and_whole(part: u32, whole: u32, kind: BugKind) -> (bool, bool) {
    let [mut hits, mut both] = [HITS, BOTH].map(story);
    both.kind = kind;
    let run = failing_run();
    let decision = Decision::default();
    let [part, whole] = [(&mut hits, part), (&mut both, whole)].map(|(story, fails)| {
        let outcomes = [("`hits`", fails, 0)];
        let given = GivenOutcomes::of(&run, &outcomes);
        let made = given
            .experiment(story, &Budget::unlimited())
            .expect("an outcome");
        TriedStory::new(made.made.expect("orders"), story, &run, &decision)
    });
    assert!(whole.may_have_parts());
    (
        part.is_better_than(Some(&whole)),
        whole.is_better_than(Some(&part)),
    )
}

#[test]
fn what_is_left_over_is_not_told() {
    for kind in [
        BugKind::MultiVariableAtomicityViolation,
        BugKind::OrderViolation,
    ] {
        assert_eq!(part_and_whole(25, 26, kind), (true, false));
        assert_eq!(part_and_whole(12, 26, kind), (false, true));
    }
}

#[test]
fn an_interruption_that_most_passing_runs_have_gives_way() {
    let run = failing_run();
    // It spans the step that decides, of which the other one has no part.
    let decision = Decision {
        steps: first_done(&run),
        curve: Vec::new(),
    };
    let tried = |about: &'static str, story: &Explanation, fails| {
        let outcomes = [(about, fails, 0)];
        let given = GivenOutcomes::of(&run, &outcomes);
        let made = given
            .experiment(story, &Budget::unlimited())
            .expect("an outcome");
        TriedStory::new(made.made.expect("orders"), story, &run, &decision)
    };
    let (rare, mut usual) = (story(HITS), story(DONE));
    let told_instead = |usual: &Explanation, fails| {
        let (rare, usual) = (tried(HITS, &rare, fails), tried(DONE, usual, 16));
        (
            rare.is_better_than(Some(&usual)),
            usual.is_better_than(Some(&rare)),
        )
    };
    assert!(!told_instead(&usual, 16).0);
    for claim in &mut usual.claims {
        claim.holds_in = claim.of;
    }
    assert_eq!(told_instead(&usual, 16), (true, false));
    assert!(!told_instead(&usual, 8).0);
}

/// A thread that used a variable which was gone went wrong there, though no schedules could be drawn without that.
#[test]
fn a_use_of_a_local_that_is_gone_is_told_where_nothing_else_makes_a_difference() {
    let told = |hits| {
        let mut corpora = corpora();
        let failing = corpora.iter().next().expect("a corpus").get("failed-0");
        let mut run = Run::clone(failing.and_then(|run| run.run.as_deref()).expect("its run"));
        let is_it = |(_, event): &(EventId, Event)| run.meta.site(event.site).line == 12;
        let used = run.events.iter().find(is_it).expect("done is read").1.seq;
        run.meta.left_locals = vec![LeftLocal {
            used,
            ended: used,
            variable: "limit".to_owned(),
            function: "report".to_owned(),
            ..LeftLocal::default()
        }];
        corpora.insert(RunSummary::new("failed-0".to_owned(), Arc::new(run)));
        let corpus = corpora.iter().next().expect("a corpus");
        let (mut told, run) = first_told(corpus);
        if told.gone.is_some() {
            let proposers = Proposers::comparing(corpus);
            let mut proposals = proposers.instead_of(&told, &[]);
            let engines = proposers.all();
            let mut stories = engines.flat_map(|engine| proposals.by(engine, &Budget::unlimited()));
            told = stories.find(|one| one.headline.contains(HITS)).expect(HITS);
        }
        chosen_instead(corpus, told, &GivenOutcomes::of(&run, &[(HITS, hits, 10)]))
    };
    assert_eq!(told(10), "`limit` was used after report had returned");
    assert!(told(30).contains(HITS), "{}", told(30));
}

#[test]
fn what_is_refuted_keeps_the_run_that_shows_it() {
    let (told, _) = chosen(&[(HITS, 10, 10), (DONE, 30, 0), (BOTH, 12, 9)], &[]);
    let mut over = told.passed_over.iter();
    let refuted = over.find(|one| one.headline.contains(HITS));
    let refuted = refuted.expect("it is passed over");
    let against = refuted.counterexample.as_ref().expect("a run is kept");
    assert_eq!(against.shows, Shows::FailsWithout);
    assert_eq!(refuted.engines.first().map(String::as_str), Some("orders"));
}

#[test]
fn an_answer_without_time_says_how_far_it_came() {
    let outcomes = [(HITS, 10, 10), (DONE, 30, 0), (BOTH, 12, 9)];
    let (all, asked) = chosen(&outcomes, &[]);
    assert_eq!(all.progress, None);
    assert!(asked > 2, "{asked}");
    let (told, made) = chosen_until(1, &outcomes, &[]);
    assert_eq!(made, 1);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    let progress = told.progress.expect("the time was over");
    let tried: Vec<(bool, u32)> = progress
        .tried
        .iter()
        .map(|one| (one.headline.contains(HITS), one.schedules))
        .collect();
    assert_eq!(tried, [(true, 60)]);
    assert!(progress.not_tried.iter().any(|one| one.contains(DONE)));
    assert!(progress.not_asked.contains(&"predict".to_owned()));
}

/// Without the lost update of `hits` that of `done` cannot be had, though it is the one that is enough by itself.
#[test]
fn what_let_the_threads_meet_is_told_with_what_it_leads_to() {
    let (told, _) = chosen(&[(HITS, 12, 0), (DONE, 30, 0)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    let mut follows = told.passed_over.iter().filter(|one| one.follows);
    assert!(follows.next().unwrap().headline.contains(DONE));
}

/// A step of threads that were both let in always decides where they spoil what they work on.
#[test]
fn what_let_the_threads_meet_is_told_where_their_own_step_decides() {
    let told = chosen_around(&[(HITS, 20, 0), (DONE, 30, 0)]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    assert!(told.passed_over.iter().any(|one| one.follows));
}

/// Others may meet there, too: of what is told that makes it no more than likely.
#[test]
fn a_guard_is_looked_for_where_a_few_fail_without_the_meeting() {
    let (told, _) = chosen(&[(HITS, 20, 0), (DONE, 30, 4)], &[]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
}

/// More fails with what is told, but something without it: the steps that decide may have to do with another cause.
#[test]
fn what_has_exceptions_leaves_the_steps_that_decide_to_be_looked_at() {
    let asked = |outcome, decisive| chosen_where(usize::MAX, &[outcome], &[], decisive).1;
    assert!(asked((HITS, 26, 5), first_done) > asked((HITS, 26, 5), |_| Vec::new()));
    assert!(asked((HITS, 30, 0), first_done) < asked((HITS, 26, 5), first_done));
}

/// One schedule that fails without it may have it at another occurrence.
#[test]
fn a_single_exception_makes_nothing_else_more_needed() {
    let told = |exceptions| {
        let outcomes = [(HITS, 30, exceptions), (DONE, 30, 0)];
        chosen(&outcomes, &[]).0.headline
    };
    assert!(told(1).contains(HITS), "{}", told(1));
    assert!(told(2).contains(DONE), "{}", told(2));
}

#[test]
fn what_the_meeting_can_be_had_without_is_no_guard() {
    let (told, _) = chosen(&[(HITS, 12, 1), (DONE, 30, 0)], &[]);
    assert!(told.headline.contains(DONE), "{}", told.headline);
    assert!(told.passed_over.iter().all(|one| !one.follows));
}

fn failing_run() -> Arc<Run> {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let run = corpus.get("failed-0").and_then(|run| run.run.clone());
    run.expect("the failing run")
}

/// The story about this that is told, or proposed instead.
fn story(about: &str) -> Explanation {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let budget = Budget::unlimited();
    let first = explain(corpus, &budget).findings.remove(0);
    let proposers = Proposers::comparing(corpus);
    let mut proposals = proposers.instead_of(&first, &[]);
    let engines = proposers.all();
    let others = engines.flat_map(|engine| proposals.by(engine, &budget));
    let mut all = std::iter::once(first.clone()).chain(others);
    let found = all.find(|one| one.headline.contains(about));
    found.expect("a story")
}

/// Does the lost update of `done` take that of `hits` as well, when so many schedules with it but without the other fail?
fn takes_hits(parted: &[(&str, u32)]) -> bool {
    let [mut hits, mut done] = [HITS, DONE].map(story);
    let (run, budget) = (failing_run(), Budget::unlimited());
    let given = GivenOutcomes {
        parted,
        ..GivenOutcomes::of(&run, &[(HITS, 12, 0), (DONE, 12, 0)])
    };
    let decision = Decision::default();
    let [hit, best] = [&mut hits, &mut done].map(|story| {
        let trial = given.experiment(story, &budget).expect("an outcome");
        let made = trial.made.expect("orders");
        story.evidence = Some(made.evidence);
        TriedStory::new(made, story, &run, &decision)
    });
    let mut others = [OtherStory::of(&hits, Some(&hit))];
    needed(&done, &best, &mut others, (&given, &budget)).expect("no program is executed");
    let passed_over = &others[0].passed_over;
    assert_eq!(passed_over.needed.is_some(), passed_over.both.is_some());
    passed_over.needed.is_some()
}

#[test]
fn what_the_failure_takes_as_well_can_be_left_out_and_nothing_fails() {
    assert!(takes_hits(&[(HITS, 0)]));
    assert!(!takes_hits(&[(HITS, 3)]));
    // It is a part of the way to what is told.
    assert!(!takes_hits(&[]));
}

/// The story told of a flag that is raised before its data is there, when so many schedules fail in which the data is read too
/// early though the flag was not seen.
fn told_of_a_flag(without_the_flag: &[(&str, u32)]) -> String {
    let start =
        "start main.1 fill\nstart main.2 use\nmain fork main.1 @1 main\nmain fork main.2 @2 main\n";
    let fine = "main.1 W data =7 @11 fill\nmain.1 W ready =1 @10 fill\nmain.2 R ready =1 @20 use\n\
        main.2 R data =7 @21 use\n";
    let early = "main.1 W ready =1 @10 fill\nmain.2 R ready =1 @20 use\nmain.2 R data =0 @21 use\n\
        main.1 W data =7 @11 fill\nfails @21 use\n";
    let mut corpora = Corpora::default();
    for at in 0..6 {
        corpora.insert(summary(&format!("passed-{at}"), &format!("{start}{fine}")));
    }
    corpora.insert(summary("failed-0", &format!("{start}{early}")));
    let corpus = corpora.iter().next().expect("a corpus");
    let (told, run) = first_told(corpus);
    let given = GivenOutcomes {
        parted: without_the_flag,
        ..GivenOutcomes::of(&run, &[("`ready`", 30, 0), ("`data` was read", 30, 0)])
    };
    chosen_instead(corpus, told, &given)
}

#[test]
fn a_change_that_the_failure_does_not_take_has_no_part_in_it() {
    let both = "`ready` was changed before `data` was set";
    assert_eq!(told_of_a_flag(&[]), both);
    assert_eq!(told_of_a_flag(&[("`ready`", 0)]), both);
    assert_eq!(
        told_of_a_flag(&[("`ready`", 3)]),
        "`data` was read before fill (main.1) had set it"
    );
}

/// The story told of the two counters where these stories have a rare opposite, and the others these outcomes.
fn told_with_patience(outcomes: &[(&str, u32, u32)], rare: &[(&str, u32, u32)]) -> Explanation {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let (budget, run) = (Budget::unlimited(), failing_run());
    let mut told = explain(corpus, &budget).findings.remove(0);
    let given = GivenOutcomes {
        rare,
        ..GivenOutcomes::of(&run, outcomes)
    };
    let proposers = Proposers::comparing(corpus);
    let decision = Decision::default();
    choose(&proposers, &[], &given, &mut told, &decision, &budget).expect("no program is executed");
    told
}

#[test]
fn what_is_rare_is_tried_with_patience_where_nothing_else_is_borne_out() {
    let told = told_with_patience(&[(HITS, 10, 10)], &[(DONE, 30, 0)]);
    assert!(told.headline.contains(DONE), "{}", told.headline);
    let mut over = told.passed_over.iter();
    assert!(!over.any(|one| one.headline.contains(DONE)));
    let told = told_with_patience(&[(HITS, 30, 0)], &[(DONE, 30, 0)]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    // What is told may be rare itself.
    let told = told_with_patience(&[], &[(HITS, 30, 0)]);
    assert!(told.headline.contains(HITS), "{}", told.headline);
    assert!(told.evidence.is_some_and(Evidence::is_cause));
}

/// The story told instead of one that is as certain and cannot be tried, where another one has this outcome, and a step behind
/// it decides.
fn told_for_want_of_better(certainty: Certainty, outcome: (&str, u32, u32)) -> String {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let (budget, run) = (Budget::unlimited(), failing_run());
    let mut told = explain(corpus, &budget).findings.remove(0);
    told.certainty = certainty;
    let mut steps = first_done(&run);
    for step in &mut steps {
        step.event = run.events.len() as u32 - 1;
    }
    let outcomes = [outcome];
    let given = GivenOutcomes::of(&run, &outcomes);
    let decision = Decision {
        steps,
        curve: Vec::new(),
    };
    let proposers = Proposers::comparing(corpus);
    choose(&proposers, &[], &given, &mut told, &decision, &budget).expect("no program is executed");
    let mut over = told.passed_over.iter();
    assert!(over.all(|one| one.headline != told.headline));
    told.headline
}

#[test]
fn what_the_failure_goes_with_is_told_where_nothing_better_can_be_shown() {
    let told = |certainty, with, without| {
        let told = told_for_want_of_better(certainty, (DONE, with, without));
        told.contains(DONE)
    };
    assert!(told(Certainty::Possible, 30, 0));
    assert!(!told(Certainty::Likely, 30, 0));
    assert!(!told(Certainty::Possible, 15, 0));
    assert!(!told(Certainty::Possible, 30, 10));
}

#[test]
fn an_order_of_an_interruptions_lines_is_half_of_it() {
    let interruption = story(HITS);
    let mut order = interruption.clone();
    order.kind = BugKind::OrderViolation;
    let causes = |one: &SiteMark| one.role == Role::Cause;
    let first = order.sites.iter().position(causes).expect("a cause");
    order.sites.remove(first);
    assert!(is_half_of(&order, &interruption));
    let mut elsewhere = order.clone();
    elsewhere
        .sites
        .iter_mut()
        .for_each(|mark| mark.location = "cells[2]".to_owned());
    assert!(!is_half_of(&elsewhere, &interruption));
    assert!(!is_half_of(&interruption, &order));
}

#[test]
fn what_is_enough_is_told_and_what_is_half_of_it_is_not_confirmed() {
    let of = |fails| FailingShare {
        fails,
        of: 30,
        orders: 30,
    };
    let tried = |with, without| Explanation {
        evidence: Some(Evidence {
            with: of(with),
            without: of(without),
        }),
        ..story(HITS)
    };
    // The program fails for other reasons, too.
    assert!(is_enough(&tried(30, 15)) && contradicts(&tried(30, 15)).is_some());
    assert!(!is_enough(&tried(20, 0)) && contradicts(&tried(20, 0)).is_none());
    let mut half = tried(15, 0);
    let expected = "15 of 30 schedules with it fail, and 0 of 30 without it";
    assert_eq!(contradicts(&half).as_deref(), Some(expected));
    // With what it takes as well it is enough.
    let both = |fails| PassedOver {
        both: Some(of(fails)),
        ..PassedOver::default()
    };
    half.passed_over = vec![both(15)];
    assert!(contradicts(&half).is_some());
    half.passed_over = vec![both(30)];
    assert!(contradicts(&half).is_none());
}

/// An order that all passing runs have as well is a cause only where experiments leave no exception.
#[test]
fn what_all_passing_runs_have_is_confirmed_by_nothing_less_than_all() {
    let operation = |line| Operation {
        place: Place {
            line,
            ..Place::default()
        },
        access: AccessClass::Write,
    };
    let told = |fails, holds_in| {
        let of = |fails| FailingShare {
            fails,
            of: 60,
            orders: 30,
        };
        let claim = Claim::After {
            early: operation(10),
            late: operation(11),
            location: "hits".to_owned(),
        };
        contradicts(&Explanation {
            evidence: Some(Evidence {
                with: of(fails),
                without: of(0),
            }),
            claims: vec![Counted {
                claim,
                holds_in,
                of: 6,
            }],
            ..story(HITS)
        })
    };
    assert!(told(50, 5).is_none() && told(60, 6).is_none());
    assert!(told(50, 6).is_some_and(|why| why.starts_with("all passing runs have")));
}

/// An order that all passing runs have as well, or most of them: those without the other order.
#[test]
fn what_all_passing_runs_have_is_only_possible_where_it_cannot_be_tried() {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let (told, run) = first_told(corpus);
    let given = GivenOutcomes::of(&run, &[]);
    let certainty = |is_after, holds_in| {
        let operation = |line| Operation {
            place: Place {
                line,
                ..Place::default()
            },
            access: AccessClass::Write,
        };
        let (early, late, location) = (operation(10), operation(11), "hits".to_owned());
        let claim = match is_after {
            true => Claim::After {
                early,
                late,
                location,
            },
            false => Claim::Before {
                early,
                late,
                location,
                visit: None,
            },
        };
        let mut told = told.clone();
        told.certainty = Certainty::Likely;
        told.claims = vec![Counted {
            claim,
            holds_in,
            of: 6,
        }];
        let (proposers, budget) = (Proposers::comparing(corpus), Budget::unlimited());
        let decision = Decision::default();
        choose(&proposers, &[], &given, &mut told, &decision, &budget).expect("nothing runs");
        told.certainty
    };
    assert_eq!(certainty(true, 5), Certainty::Likely);
    assert_eq!(certainty(true, 6), Certainty::Possible);
    assert_eq!(certainty(false, 3), Certainty::Likely);
    assert_eq!(certainty(false, 2), Certainty::Possible);
}

/// Something else has to come to it, but chance alone gives no such difference.
#[test]
fn what_makes_a_difference_beyond_chance_is_likely() {
    let corpora = corpora();
    let corpus = corpora.iter().next().expect("a corpus");
    let (told, run) = first_told(corpus);
    let certainty = |decision: &Decision, with, without| {
        let outcomes = [("", with, without)];
        let given = GivenOutcomes::of(&run, &outcomes);
        let mut told = told.clone();
        told.certainty = Certainty::Possible;
        let (proposers, budget) = (Proposers::comparing(corpus), Budget::unlimited());
        choose(&proposers, &[], &given, &mut told, decision, &budget).expect("nothing runs");
        told.certainty
    };
    let open = Decision::default();
    assert_eq!(certainty(&open, 28, 10), Certainty::Likely);
    assert_eq!(certainty(&open, 14, 10), Certainty::Possible);
    // As what comes of the cause does, where all was decided before it began.
    let bound = decided_at(0, 30);
    assert_eq!(certainty(&bound, 28, 10), Certainty::Possible);
}
