//! Causes of failures over several builds, as a page.

use super::{kind, page, prose};
use crate::causes::{Cause, CauseFix, RecordedBuild};
use maud::{Markup, html};

/// Digits of a build's id that are shown.
const SHORT: usize = 12;

/// Renders a page with a table of causes, and the failing runs that have no explanation.
pub fn causes(causes: &[Cause], unexplained: &[&str]) -> String {
    page(
        "unsnarl: causes of failures",
        &html! {
            h1 { "Causes of failures" }
            table.causes {
                thead {
                    tr {
                        th { "runs" } th { "cause" } th { "builds" } th { "first" } th { "last" } th { "fix" }
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
            td.count { (cause.runs) }
            td {
                h2 { (prose(&cause.headline)) }
                p.failure { (kind(cause.kind)) " · " (programs.join(", ")) " · " code { (cause.signature) } }
                p { code { "unsnarl replay " (cause.example) } }
            }
            td.count { (cause.builds.len()) }
            td { (short(build(cause.builds.first()))) }
            td { (short(build(cause.builds.last()))) }
            td { (fix(cause.fix.as_ref())) }
        }
    }
}

fn build(build: Option<&RecordedBuild>) -> &str {
    build.map_or("", |build| build.build_id.as_str())
}

fn short(id: &str) -> Markup {
    html! { code title=(id) { (id.get(..SHORT).unwrap_or(id)) } }
}

/// The fix with what its trial said, and the build that it is about.
fn fix(fix: Option<&CauseFix>) -> Markup {
    html! {
        @match fix {
            None => span.remark { "none suggested" },
            Some(fix) => {
                (prose(&fix.title))
                p.remark { (prose(&fix.in_words())) " · build " (short(&fix.build_id)) }
                p { code { "unsnarl verify " (fix.name) } }
            }
        }
    }
}
