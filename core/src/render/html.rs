//! Explanations as one page that opens anywhere: no network, no script, light and dark.

use super::{certainty, elsewhere, failure, lanes, runs};
use crate::{
    callers,
    explanation::{BugKind, Explanation, Step},
    facts::short,
};

/// What is known about the runs of one program.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// The program and its runs, in a line.
    pub title: String,
    /// What explains its failing runs, best first.
    pub explanations: &'a [Explanation],
    /// What else there is to say, a paragraph for each: runs without an explanation, an analysis that ended early.
    pub remarks: Vec<String>,
}

/// The page.
pub fn html(sections: &[Section<'_>]) -> String {
    let mut page = String::from(HEAD);
    for section in sections {
        page.push_str(&format!("<h1>{}</h1>\n", escaped(&section.title)));
        if section.explanations.len() > 1 {
            page.push_str(&contents(section.explanations));
        }
        for explanation in section.explanations {
            article(explanation, &mut page);
        }
        for remark in &section.remarks {
            page.push_str(&format!("<p class=\"remark\">{}</p>\n", prose(remark)));
        }
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn contents(explanations: &[Explanation]) -> String {
    let rows: Vec<String> = explanations
        .iter()
        .map(|explanation| {
            format!(
                "<li><a href=\"#{}\">{}</a></li>\n",
                escaped(&explanation.id),
                prose(&explanation.headline)
            )
        })
        .collect();
    format!("<ol class=\"contents\">\n{}</ol>\n", rows.concat())
}

fn article(explanation: &Explanation, page: &mut String) {
    let id = escaped(&explanation.id);
    page.push_str(&format!(
        "<article id=\"{id}\">\n<h2>{}</h2>\n",
        prose(&explanation.headline)
    ));
    page.push_str(&format!(
        "<p class=\"failure\">{} · {}</p>\n",
        kind(explanation.kind),
        prose(&failure(&explanation.failure))
    ));
    let detail = explanation.detail.lines().map(prose);
    page.push_str(&format!(
        "<p>{}</p>\n",
        detail.collect::<Vec<_>>().join("<br>\n")
    ));
    if !explanation.steps.is_empty() {
        schedule(explanation, page);
    }
    for line in facts(explanation) {
        page.push_str(&format!("<p>{}</p>\n", prose(&line)));
    }
    page.push_str("</article>\n");
}

/// The steps downwards, a column for each thread.
fn schedule(explanation: &Explanation, page: &mut String) {
    let lanes = lanes::lanes(explanation);
    page.push_str("<div class=\"wide\"><table>\n<caption>The order that fails</caption>\n<thead><tr><th></th>");
    for (_, name) in &lanes {
        page.push_str(&format!("<th scope=\"col\">{}</th>", escaped(name)));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    let last = explanation.steps.len().saturating_sub(1);
    for (at, step) in explanation.steps.iter().enumerate() {
        let class = match (lanes::intrudes(step), at == last) {
            (true, _) => " class=\"intrudes\"",
            (_, true) => " class=\"last\"",
            _ => "",
        };
        page.push_str(&format!("<tr{class}><th scope=\"row\">{}</th>", at + 1));
        for (thread, _) in &lanes {
            match *thread == step.thread {
                true => cell(step, page),
                false => page.push_str("<td class=\"idle\"></td>"),
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn cell(step: &Step, page: &mut String) {
    page.push_str(&format!(
        "<td><span class=\"place\">{}</span> <code>{}</code><br><span class=\"effect\">{}</span>",
        escaped(&short(&step.place)),
        escaped(&step.place.text),
        prose(&step.effect)
    ));
    if !step.note.is_empty() {
        page.push_str(&format!(
            " <strong class=\"note\">{}</strong>",
            prose(&step.note)
        ));
    }
    if !step.via.is_empty() {
        page.push_str(&format!(
            "<br><span class=\"via\">{}</span>",
            prose(&callers::in_words(&step.via))
        ));
    }
    page.push_str("</td>");
}

fn facts(explanation: &Explanation) -> Vec<String> {
    let mut lines = vec![explanation.remark.clone(), explanation.contrast.clone()];
    lines.extend(elsewhere(explanation));
    lines.extend(certainty(explanation));
    lines.push(runs(explanation));
    lines.extend(
        explanation
            .caveats
            .iter()
            .map(|line| format!("Note: {line}")),
    );
    lines.retain(|line| !line.is_empty());
    lines
}

/// The class, for people.
fn kind(kind: BugKind) -> &'static str {
    match kind {
        BugKind::AtomicityViolation => "atomicity violation",
        BugKind::MultiVariableAtomicityViolation => "atomicity violation over several variables",
        BugKind::OrderViolation => "order violation",
        BugKind::DataRace => "data race",
        BugKind::Deadlock => "deadlock",
        BugKind::LostWakeup => "lost wakeup",
        BugKind::UseAfterFree => "use after free",
        BugKind::Sequential => "fails in every order",
    }
}

/// A sentence; what stands in backticks is code.
fn prose(text: &str) -> String {
    let mut result = String::new();
    for (at, part) in text.split('`').enumerate() {
        match at % 2 {
            0 => result.push_str(&escaped(part)),
            _ => result.push_str(&format!("<code>{}</code>", escaped(part))),
        }
    }
    result
}

fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            other => result.push(other),
        }
    }
    result
}

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>unsnarl: why the failing runs fail</title>
<style>
:root { color-scheme: light dark; --text: #1d1d1f; --mild: #62626a; --page: #fbfbfa; --card: #fff; --line: #dcdce0; --mark: #fff1c4; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6ea; --mild: #a0a0aa; --page: #17171a; --card: #202024; --line: #3a3a42; --mark: #4a3d12; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1rem; font-weight: 600; color: var(--mild); overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .3rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1.2rem 1.5rem; margin: 1rem 0; }
.failure, .remark, .via, .place { color: var(--mild); font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; min-width: 100%; }
caption { text-align: left; color: var(--bad); font-weight: 600; padding-bottom: .4rem; }
th, td { border-left: 1px solid var(--line); padding: .35rem .7rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--line); }
tr > :first-child { border-left: 0; color: var(--mild); font-weight: 400; width: 1.5rem; }
tr.intrudes td:not(.idle) { background: var(--mark); outline: 2px solid var(--bad); outline-offset: -2px; }
tr.last td:not(.idle) { border-bottom: 2px solid var(--bad); }
.note { color: var(--bad); }
code { font: .875em ui-monospace, monospace; }
</style>
</head>
<body>
"#;
