use super::*;
use crate::{Budget, explain, fixture::corpus};
use expect_test::expect;

/// A lost update whose source text contains markup of other languages.
const FAILING: &str = r#"
    file bank.c
    start main.1 add
    start main.2 add
    main fork main.1 @9 main "start(&a, add);"
    main fork main.2 @10 main "start(&b, add);"
    main.1 R n =0 @4 add "n = n + (1 | \"<b>\"[0]);"
    main.2 R n =0 @4 add "n = n + (1 | \"<b>\"[0]);"
    main.2 W n =1 @4 add "n = n + (1 | \"<b>\"[0]);"
    main.1 W n =1 @4 add "n = n + (1 | \"<b>\"[0]);"
    main join main.1 @11 main "join(a);"
    main join main.2 @12 main "join(b);"
    main R n =1 @13 main "assert(n == 2);"
    main fails @13 assertion `n == 2` failed
"#;

fn explanations() -> Vec<Explanation> {
    explain(&corpus(&[], &[FAILING]), &Budget::unlimited()).findings
}

/// The explanation with a long line of source, in the widths for a terminal.
fn for_a_terminal(columns: usize) -> String {
    let long = FAILING.replace(
        "assert(n == 2)",
        "long double mean = table->length ? n / table->length : table->start_value_of_the_mean",
    );
    let told = explain(&corpus(&[], &[&long]), &Budget::unlimited()).findings;
    let texts = told.iter();
    texts
        .map(|told| text_within(told, TextWidth::of(columns)))
        .collect()
}

#[test]
fn for_a_narrow_terminal() {
    let text = for_a_terminal(80);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    expect![[r#"
        error: another thread's update of `n` was lost
          add (main.1) read n = 0 and wrote 1 at bank.c:4;
          in between add (main.2) wrote 1 at bank.c:4.

           main.1  bank.c:4   n = n + (1 | \"<b>\"[0]);          reads 0
           main.2  bank.c:4   n = n + (1 | \"<b>\"[0]);          writes 1  <- in between
           main.1  bank.c:4   n = n + (1 | \"<b>\"[0]);          writes 1  overwrites it
           main    bank.c:13  long double mean = table->leng...  reads 1, fails

          No lock is held at these accesses of `n`: this is also a data race.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]]
    .assert_eq(&text);
}

/// One of several orders that the failure takes besides is told; the others are for those who ask.
#[test]
fn what_else_it_takes_is_told_once() {
    let share = |fails| FailingShare {
        fails,
        of: 30,
        orders: 30,
    };
    let mut told = explanations().remove(0);
    let other = |name: &str| PassedOver {
        headline: format!("`{name}` was read early"),
        needed: Some(share(0)),
        both: Some(share(24)),
        ..PassedOver::default()
    };
    told.passed_over = ["x", "y", "z"].map(other).into();
    assert_eq!(
        decided(&told).unwrap(),
        "It also takes this: `x` was read early; of 30 schedules with the one but without the other none fail, of 30 with \
         both 24. It takes 2 more (--why)."
    );
    told.passed_over.push(PassedOver {
        headline: "`w` was read early".to_owned(),
        ..PassedOver::default()
    });
    let last = told.passed_over.last().unwrap().clone();
    told.passed_over.push(last);
    let why = why(&told, TextWidth::of(200));
    assert_eq!(why.matches("`w` was read early").count(), 1, "{why}");
    assert!(!why.contains("`x` was read early"), "{why}");
    assert!(
        why.contains("It also takes this: `y` was read early") && why.contains("`z`"),
        "{why}"
    );
}

/// A long note stands below its line, and leaves the source text of the others its room.
#[test]
fn a_long_note_in_a_narrow_terminal() {
    let mut told = explain(&corpus(&[], &[FAILING]), &Budget::unlimited()).findings;
    let steps = told.iter_mut().flat_map(|one| &mut one.steps);
    let last = steps.last().unwrap();
    last.effect = "reads 1, ends with exit status 1 (counted as a failure)".to_owned();
    let text = told
        .first()
        .map(|one| text_within(one, TextWidth::of(80)))
        .unwrap();
    let table: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("   "))
        .collect();
    expect![[r#"
           main.1  bank.c:4   n = n + (1 | \"<b>\"[0]);  reads 0
           main.2  bank.c:4   n = n + (1 | \"<b>\"[0]);  writes 1  <- in between
           main.1  bank.c:4   n = n + (1 | \"<b>\"[0]);  writes 1  overwrites it
           main    bank.c:13  assert(n == 2);
                     reads 1, ends with exit status 1 (counted as a failure)"#]]
    .assert_eq(&table.join("\n"));
}

#[test]
fn for_a_wide_terminal() {
    let text = for_a_terminal(200);
    expect![[r#"
        error: another thread's update of `n` was lost
          add (main.1) read n = 0 and wrote 1 at bank.c:4;
          in between add (main.2) wrote 1 at bank.c:4.

           main.1  bank.c:4   n = n + (1 | \"<b>\"[0]);                                                               reads 0
           main.2  bank.c:4   n = n + (1 | \"<b>\"[0]);                                                               writes 1        <- in between
           main.1  bank.c:4   n = n + (1 | \"<b>\"[0]);                                                               writes 1        overwrites it
           main    bank.c:13  long double mean = table->length ? n / table->length : table->start_value_of_the_mean;  reads 1, fails

          No lock is held at these accesses of `n`: this is also a data race.
          Likely: found in the recorded runs, not re-executed. Fails so in failed-0.
          Note: There is no passing run to compare with.
    "#]].assert_eq(&text);
}

#[test]
fn as_markdown() {
    let text: String = explanations().iter().map(markdown).collect();
    expect![[r####"
        ### another thread's update of `n` was lost

        add (main.1) read n = 0 and wrote 1 at bank.c:4; in between add (main.2) wrote 1 at bank.c:4.

        Fails with: assertion `n == 2` failed at bank.c:13

        | | thread | place | source | |
        |---|---|---|---|---|
        | 1 | main.1 | bank.c:4 | `n = n + (1 \| \"<b>\"[0]);` | reads 0 |
        | 2 | main.2 | bank.c:4 | `n = n + (1 \| \"<b>\"[0]);` | writes 1 **in between** |
        | 3 | main.1 | bank.c:4 | `n = n + (1 \| \"<b>\"[0]);` | writes 1 **overwrites it** |
        | 4 | main | bank.c:13 | `assert(n == 2);` | reads 1, fails |

        - No lock is held at these accesses of `n`: this is also a data race.
        - Meant as one step: line 4 of bank.c
        - Likely: found in the recorded runs, not re-executed.
        - Fails so in failed-0.
        - Note: There is no passing run to compare with.
    "####]].assert_eq(&text);
}

#[test]
fn as_a_graph() {
    expect![[r##"
        digraph explanations {
          node [shape=box, fontname="monospace", fontsize=10];
          edge [fontname="sans-serif", fontsize=10];
          subgraph cluster_0 {
            label="another thread's update of `n` was lost";
            e0s0 [label="1. main.1  bank.c:4\ln = n + (1 | \\\"<b>\\\"[0]);\lreads 0"];
            e0s1 [label="2. main.2  bank.c:4\ln = n + (1 | \\\"<b>\\\"[0]);\lwrites 1", style=filled, fillcolor="#fff4c2"];
            e0s2 [label="3. main.1  bank.c:4\ln = n + (1 | \\\"<b>\\\"[0]);\lwrites 1"];
            e0s3 [label="4. main  bank.c:13\lassert(n == 2);\lreads 1, fails"];
            e0s0 -> e0s1 [style=dotted, arrowhead=none, weight=10];
            e0s1 -> e0s2 [style=dotted, arrowhead=none, weight=10];
            e0s2 -> e0s3 [style=dotted, arrowhead=none, weight=10];
            e0s0 -> e0s1 [label="in this run", color="#b3261e", fontcolor="#b3261e", constraint=false];
            e0s1 -> e0s2 [label="in this run", color="#b3261e", fontcolor="#b3261e", constraint=false];
            e0s2 -> e0s3 [label="value", color="#3455a4", fontcolor="#3455a4", constraint=false];
          }
        }
    "##]].assert_eq(&dot(&explanations().iter().collect::<Vec<_>>()));
}

#[test]
fn as_a_page() {
    let explanations = explanations();
    let page = html(&[ReportSection {
        title: "./bank <1>".into(),
        explanations: &explanations,
        passing: Default::default(),
        remarks: vec!["1 run was cut short.".into()],
    }]);
    let (_, body) = page.split_once("<body>").unwrap();
    expect![[r#"
        <h1>./bank &lt;1&gt;</h1>
        <article id="cab0fecc">
        <h2>another thread's update of <code>n</code> was lost</h2>
        <p class="failure">atomicity violation · assertion <code>n == 2</code> failed at bank.c:13</p>
        <p>add (main.1) read n = 0 and wrote 1 at bank.c:4;<br>in between add (main.2) wrote 1 at bank.c:4.</p>
        <div class="boards">
        <figure class="fails">
        <figcaption>The order that fails</figcaption>
        <div class="board" style="width:638px;height:468px">
        <svg width="638" height="468" aria-hidden="true">
        <path class="rail" d="M118 28V468">
        </path>
        <path class="rail" d="M322 28V468">
        </path>
        <path class="rail" d="M526 28V468">
        </path>
        <rect class="region" x="224" y="22" width="196" height="322" rx="8">
        </rect>
        <path class="arrow bad" d="M414 88C427 88 421 168 428 168">
        </path>
        <path class="head bad" d="M434 168L426 163V173Z">
        </path>
        <path class="arrow bad" d="M434 198C421 198 427 278 420 278">
        </path>
        <path class="head bad" d="M414 278L422 273V283Z">
        </path>
        <path class="arrow" d="M230 308C217 308 223 388 216 388">
        </path>
        <path class="head" d="M210 388L218 383V393Z">
        </path>
        </svg>
        <div class="lane" style="left:26px;top:0;width:184px" title="main">main</div>
        <div class="lane" style="left:230px;top:0;width:184px" title="add (main.1)">add (main.1)</div>
        <div class="lane" style="left:434px;top:0;width:184px" title="add (main.2)">add (main.2)</div>
        <div class="number" style="left:0;top:28px;width:18px">1</div>
        <div class="step" style="left:230px;top:28px;width:184px;height:90px" title="n = n + (1 | \&quot;&lt;b&gt;\&quot;[0]);
        reads 0">
        <span class="place">bank.c:4</span>
        <code>n = n + (1 | \&quot;&lt;b&gt;\&quot;[0]);</code>
        <span class="effect">reads 0</span>
        </div>
        <div class="number" style="left:0;top:138px;width:18px">2</div>
        <div class="step intrudes" style="left:434px;top:138px;width:184px;height:90px" title="n = n + (1 | \&quot;&lt;b&gt;\&quot;[0]);
        writes 1">
        <span class="place">bank.c:4</span>
        <code>n = n + (1 | \&quot;&lt;b&gt;\&quot;[0]);</code>
        <span class="effect">writes 1</span>
        <span class="note">in between</span>
        </div>
        <div class="number" style="left:0;top:248px;width:18px">3</div>
        <div class="step" style="left:230px;top:248px;width:184px;height:90px" title="n = n + (1 | \&quot;&lt;b&gt;\&quot;[0]);
        writes 1">
        <span class="place">bank.c:4</span>
        <code>n = n + (1 | \&quot;&lt;b&gt;\&quot;[0]);</code>
        <span class="effect">writes 1</span>
        <span class="note">overwrites it</span>
        </div>
        <div class="number" style="left:0;top:358px;width:18px">4</div>
        <div class="step last" style="left:26px;top:358px;width:184px;height:90px" title="assert(n == 2);
        reads 1, fails">
        <span class="place">bank.c:13</span>
        <code>assert(n == 2);</code>
        <span class="effect">reads 1, fails</span>
        </div>
        </div>
        </figure>
        </div>
        <p>No lock is held at these accesses of <code>n</code>: this is also a data race.</p>
        <p>Likely: found in the recorded runs, not re-executed.</p>
        <p>Fails so in failed-0.</p>
        <p>Note: There is no passing run to compare with.</p>
        </article>
        <p class="remark">1 run was cut short.</p>
        </body>
        </html>"#]].assert_eq(&body.replace("><", ">\n<"));
}

#[test]
fn a_page_asks_for_nothing_from_elsewhere() {
    let page = html(&[]);
    for word in [
        "http:", "https:", "<script", "@import", "url(", "<link", "<img",
    ] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn threads_stand_in_the_order_of_the_fork_tree() {
    let mut explanation = explanations().remove(0);
    let names = ["main.10", "main.2", "main", "main.2.1"];
    let step = explanation.steps[0].clone();
    explanation.steps = names
        .map(|name| crate::explanation::Step {
            thread: name.into(),
            ..step.clone()
        })
        .to_vec();
    let lanes: Vec<String> = super::lanes::lanes(&explanation)
        .into_iter()
        .map(|(thread, _)| thread)
        .collect();
    assert_eq!(lanes, ["main", "main.2", "main.2.1", "main.10"]);
}

#[test]
fn as_a_compiler_says_it() {
    let text: String = explanations().iter().map(lines).collect();
    expect![[r#"
        bank.c:4:1: error: another thread's update of 'n' was lost
        bank.c:4:1: note: 1. main.1 reads 0
        bank.c:4:1: note: 2. main.2 writes 1, in between
        bank.c:4:1: note: 3. main.1 writes 1, overwrites it
        bank.c:13:1: note: 4. main reads 1, fails
    "#]]
    .assert_eq(&text);
}

/// Without a place there is nothing to jump to.
#[test]
fn a_message_without_a_place() {
    let mut told = explanations().remove(0);
    told.sites.clear();
    told.failure.site = None;
    let text = lines(&told);
    assert!(text.starts_with("unsnarl: "), "{text}");
}

/// A line that the failing run lacks is not said to be in all passing runs where only some have it.
#[test]
fn the_note_on_a_missing_line_says_how_many_runs_have_it() {
    let fine = "main fork main.1 @1\nmain W p =5 @7\nmain.1 R p =5 @20 use";
    let failing = "main fork main.1 @1\nmain.1 R p =0 @20 use\nmain.1 fails @20";
    let corpus = crate::fixture::corpus(&[fine; 6], &[failing]);
    let mut told = crate::explain(&corpus, &crate::Budget::unlimited())
        .findings
        .remove(0);
    let note = |told: &Explanation| {
        let text = text(told);
        let line = text.lines().find(|line| line.contains("passing runs main"));
        line.map(|line| line.split("(in ").last().unwrap().to_owned())
    };
    assert_eq!(
        note(&told).as_deref(),
        Some("passing runs main runs it here)")
    );
    told.claims[0].holds_in = 2;
    assert_eq!(
        note(&told).as_deref(),
        Some("some passing runs main runs it here)")
    );
    told.claims[0].holds_in = 4;
    assert_eq!(
        note(&told).as_deref(),
        Some("most passing runs main runs it here)")
    );
}

/// Nearly all continuations failed before a step as well: it is chance which step is the last before one passes.
#[test]
fn a_step_that_decides_by_chance_is_not_told() {
    let share = |fails| FailingShare {
        fails,
        of: 40,
        orders: 3,
    };
    let mut told = explanations().remove(0);
    let own = told.steps[0].clone();
    let step = |before| DecisiveStep {
        event: 4,
        thread: own.thread.clone(),
        place: crate::Place::default(),
        access: "begin".to_owned(),
        location: String::new(),
        before: share(before),
        after: share(40),
    };
    let mut says = |step: DecisiveStep| {
        told.decisive = vec![step];
        decided(&told).unwrap_or_default()
    };
    let start = format!(
        "After the start of {} all 40 continuations fail (3 different orders); before it 30 of 40 do.",
        own.thread
    );
    assert_eq!(says(step(30)), start);
    assert_eq!(says(step(39)), "");
    let at = |place: &crate::Place| DecisiveStep {
        place: place.clone(),
        access: "read".to_owned(),
        ..step(30)
    };
    let elsewhere = crate::Place {
        function: "another".to_owned(),
        ..own.place.clone()
    };
    assert!(says(at(&own.place)).starts_with("After "));
    assert_eq!(says(at(&elsewhere)), "");
}

/// One reason of several speaks against one edit: the text counts them, and `--why` lists them.
#[test]
fn one_reason_against_a_fix_is_told_and_several_are_counted() {
    let mut told = explanations().remove(0);
    told.certainty = Certainty::Likely;
    told.fixes.clear();
    told.not_fixed = vec!["line 4 waits".to_owned()];
    assert!(
        text(&told).contains("No fix is offered: line 4 waits."),
        "{}",
        text(&told)
    );
    told.not_fixed.push("line 5 waits".to_owned());
    let said = text(&told);
    assert!(!said.contains("line 4 waits"), "{said}");
    assert!(said.contains("against each of the 2 edits"), "{said}");
    told.advice = Some("it needs a variable that is looked at".to_owned());
    let advised = text(&told);
    assert!(
        advised.contains("No fix is offered: it needs a variable"),
        "{advised}"
    );
    let why = why(&told, TextWidth::of(200));
    assert!(
        why.contains("line 4 waits") && why.contains("line 5 waits"),
        "{why}"
    );
}
