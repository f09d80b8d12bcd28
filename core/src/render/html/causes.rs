//! Causes of failures over several builds, as a page.

use super::{kind, page, prose};
use crate::causes::{Cause, RecordedBuild};
use maud::{Markup, html};

/// Digits of a build's id that are shown.
const SHORT: usize = 12;

/// Renders a page with a table of causes, and the failing runs that have no explanation.
pub fn causes(causes: &[Cause], unexplained: &[&str]) -> String {
    page(
        "unsnarl: causes of failures",
        &html! {
            h1 { "Causes of failures" }
            table {
                thead {
                    tr {
                        th { "runs" } th { "cause" } th { "builds" } th { "first" } th { "last" } th { "example" }
                    }
                }
                tbody { @for cause in causes { (row(cause)) } }
            }
            @if !unexplained.is_empty() {
                p.remark { "No explanation: " (unexplained.join(", ")) }
            }
        },
    )
}

fn row(cause: &Cause) -> Markup {
    let programs: Vec<&str> = cause.programs.iter().map(String::as_str).collect();
    html! {
        tr id=(cause.signature) {
            td { (cause.runs) }
            td {
                (prose(&cause.headline)) br;
                (kind(cause.kind)) " · " (programs.join(", ")) " · " code { (cause.signature) }
            }
            td { (cause.builds.len()) }
            td { (short(cause.builds.first())) }
            td { (short(cause.builds.last())) }
            td { code { "unsnarl replay " (cause.example) } }
        }
    }
}

fn short(build: Option<&RecordedBuild>) -> Markup {
    let id = build.map_or("", |build| build.build_id.as_str());
    html! { code title=(id) { (id.get(..SHORT).unwrap_or(id)) } }
}
