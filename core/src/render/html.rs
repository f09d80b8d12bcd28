//! Explanations as one self-contained page: no network, no script, light and dark.

mod board;
mod causes;
mod curve;

pub use causes::causes;

use super::{certainty, decided, elsewhere, failure, runs};
use crate::{
    beside::Passing,
    explanation::{BugKind, Explanation},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeMap;

/// Explanations of the runs of one program.
#[derive(Clone, Debug)]
pub struct ReportSection<'a> {
    /// The program and its runs, in a line.
    pub title: String,
    /// Explanations of the failing runs, best first.
    pub explanations: &'a [Explanation],
    /// Steps of an explanation as a passing run took them, by the explanation's id.
    pub passing: BTreeMap<String, Passing>,
    /// Further remarks, a paragraph for each: runs without an explanation, an analysis that ended early.
    pub remarks: Vec<String>,
}

/// Renders the page.
pub fn html(sections: &[ReportSection<'_>]) -> String {
    let body = html! { @for section in sections { (self::section(section)) } };
    page("unsnarl: why the failing runs fail", &body)
}

fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

fn section(section: &ReportSection<'_>) -> Markup {
    html! {
        h1 { (section.title) }
        @if section.explanations.len() > 1 {
            ol.contents {
                @for explanation in section.explanations {
                    li { a href={ "#" (explanation.id) } { (prose(&explanation.headline)) } }
                }
            }
        }
        @for explanation in section.explanations {
            (article(explanation, section.passing.get(&explanation.id)))
        }
        @for remark in &section.remarks { p.remark { (prose(remark)) } }
    }
}

fn article(explanation: &Explanation, passing: Option<&Passing>) -> Markup {
    html! {
        article id=(explanation.id) {
            h2 { (prose(&explanation.headline)) }
            p.failure { (kind(explanation.kind)) " · " (prose(&failure(&explanation.failure))) }
            p {
                @for (at, line) in explanation.detail.lines().enumerate() {
                    @if at > 0 { br; }
                    (prose(line))
                }
            }
            @if !explanation.steps.is_empty() {
                (board::boards(explanation, passing))
                (curve::curve(explanation))
            }
            @for line in facts(explanation) { p { (prose(&line)) } }
        }
    }
}

fn facts(explanation: &Explanation) -> Vec<String> {
    let mut lines = vec![explanation.remark.clone(), explanation.contrast.clone()];
    lines.extend(elsewhere(explanation));
    lines.extend(decided(explanation));
    lines.extend(super::hangs_on(explanation));
    lines.extend(certainty(explanation));
    lines.extend(super::progress(explanation));
    lines.push(runs(explanation));
    lines.extend(super::fix(explanation).map(|fix| format!("Fix: {fix}")));
    lines.extend(super::caveats(explanation).map(|line| format!("Note: {line}")));
    lines.retain(|line| !line.is_empty());
    lines
}

/// Name of the class for people.
fn kind(kind: BugKind) -> &'static str {
    match kind {
        BugKind::AtomicityViolation => "atomicity violation",
        BugKind::MultiVariableAtomicityViolation => "atomicity violation over several variables",
        BugKind::OrderViolation => "order violation",
        BugKind::Deadlock => "deadlock",
        BugKind::LostWakeup => "lost wakeup",
        BugKind::UseAfterFree => "use after free",
        BugKind::Sequential => "fails in every order",
    }
}

/// A sentence in HTML; text in backticks is code.
fn prose(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

const STYLE: &str = "\
:root { color-scheme: light dark; --text: #1d1d1f; --mild: #62626a; --page: #fbfbfa; --card: #fff; --line: #dcdce0; --mark: #fff1c4; --bad: #b3261e; --good: #1b7f3b; --region: #e9e9f6; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6ea; --mild: #a0a0aa; --page: #17171a; --card: #202024; --line: #3a3a42; --mark: #4a3d12; --bad: #ff8a80; --good: #7fd69a; --region: #2b2b3a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 92rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1rem; font-weight: 600; color: var(--mild); overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .3rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1.2rem 1.5rem; margin: 1rem 0; }
article > p { max-width: 52rem; margin: .5rem 0; }
code { font: .875em ui-monospace, monospace; }
.causes { background: var(--card); border: 1px solid var(--line); border-spacing: 0; border-radius: .5rem; width: 100%; margin: 1rem 0; }
.causes th, .causes td { text-align: left; vertical-align: top; padding: .6rem .8rem; border-bottom: 1px solid var(--line); }
.causes tbody tr:last-child td { border-bottom: none; }
.causes th { color: var(--mild); font-size: .8125rem; font-weight: 600; }
.causes .count { text-align: right; font-variant-numeric: tabular-nums; }
.causes h2 { font-size: 1rem; }
.causes p { margin: .2rem 0; }
.causes code { overflow-wrap: anywhere; }
.causes code[title] { white-space: nowrap; }
.failure, .remark { color: var(--mild); font-size: .875rem; }
.boards { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin: 1.2rem 0; }
figure { margin: 0; max-width: 100%; overflow-x: auto; }
figcaption { font-weight: 600; color: var(--good); }
.fails figcaption { color: var(--bad); }
.board { position: relative; }
.board svg { position: absolute; inset: 0; }
.board > * { position: absolute; box-sizing: border-box; }
.lane { font-size: .8125rem; font-weight: 600; text-align: center; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.number { color: var(--mild); font-size: .8125rem; text-align: right; }
.step { background: var(--card); border: 1px solid var(--line); border-radius: .35rem; padding: .2rem .5rem; font-size: .8125rem; line-height: 1.35; overflow: hidden; white-space: nowrap; }
.step > * { display: block; overflow: hidden; text-overflow: ellipsis; }
.step code { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .75rem; }
.step .place { color: var(--mild); font-size: .75rem; }
.step .note { color: var(--bad); font-weight: 600; }
.intrudes { background: var(--mark); border-color: var(--bad); border-width: 2px; }
.last { border-color: var(--bad); border-width: 2px; }
.curve svg { max-width: 100%; }
.rail { stroke: var(--line); stroke-dasharray: 2 4; }
.region { fill: var(--region); }
.arrow { fill: none; stroke: var(--mild); stroke-width: 1.5; }
.head { fill: var(--mild); }
.bad { stroke: var(--bad); stroke-width: 2; }
.head.bad { fill: var(--bad); stroke: none; }
";
