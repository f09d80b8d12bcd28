//! A projection as text, as Graphviz and as a picture, with its headline.

mod dot;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use dot::dot;
pub use svg::svg;
pub use text::text;

use super::model::{Advice, Does, Dsp, Flow, ThreadOperation};
use unsnarl_core::{explanation::Region, facts};

/// Sentence that says what would prevent the failure: `With lines 100 to 107 of withdraw made atomic the
/// assertion holds.` None without advice.
pub fn headline(dsp: &Dsp) -> Option<String> {
    let holds = holds(dsp);
    match dsp.advice.as_ref()? {
        Advice::Region { region, .. } => {
            let mut sentence = format!("With {} made atomic {holds}.", lines(region));
            if let Some((first, last)) = locks(dsp) {
                sentence.push_str(&format!(
                    " The threads take `{first}` and `{last}` in different orders."
                ));
            }
            if let Some(lock) = &region.lock {
                sentence.push_str(&format!(
                    " Each part of it holds `{lock}`, but the lock is given up in between."
                ));
            }
            Some(sentence)
        }
        Advice::Order { first, second } => {
            let first = dsp.operations.get(*first as usize)?;
            let second = dsp.operations.get(*second as usize)?;
            Some(format!(
                "When {} before {}, {holds}.",
                clause(first),
                clause(second)
            ))
        }
    }
}

/// `lines 100 to 107 of withdraw`.
fn lines(region: &Region) -> String {
    let of = match region.function.as_str() {
        "" => String::new(),
        function => format!(" of {function}"),
    };
    match region.first == region.last {
        true => format!("line {}{of}", region.first),
        false => format!("lines {} to {}{of}", region.first, region.last),
    }
}

/// The two locks that the advised region acquires, one after the other.
fn locks(dsp: &Dsp) -> Option<(&str, &str)> {
    let Some(Advice::Region { first, last, .. }) = &dsp.advice else {
        return None;
    };
    let lock = |at: u32| {
        let operation = dsp.operations.get(at as usize);
        let operation = operation.filter(|operation| operation.does == Does::Locks)?;
        Some(operation.variable.as_str())
    };
    Some((lock(*first)?, lock(*last)?))
}

/// Property of the program when it does not fail.
fn holds(dsp: &Dsp) -> &'static str {
    if dsp.operations.iter().any(|operation| operation.is_stuck) {
        return "no thread waits for ever";
    }
    let failure = dsp.failure.and_then(|at| dsp.operations.get(at as usize));
    match failure {
        Some(operation) if operation.place.text.contains("assert") => "the assertion holds",
        _ => "the program does not fail",
    }
}

/// An operation as a clause: `consumer (main.1) reads fifo at pbzip2.c:287`.
fn clause(operation: &ThreadOperation) -> String {
    let what = match operation.variable.as_str() {
        "" => String::new(),
        variable => format!(" {variable}"),
    };
    format!(
        "{} {}{what} at {}",
        operation.who,
        operation.does.verb(),
        facts::short(&operation.place)
    )
}

/// An operation with its value: `reads filled = 0`; `finds filled <= 0`.
fn deed(operation: &ThreadOperation, failing: bool) -> String {
    let value = match failing {
        true => &operation.failing_value,
        false => &operation.alternate_value,
    };
    if operation.does == Does::Checks {
        // The condition is the one under which it fails.
        return match (&operation.expression, failing) {
            (Some(expression), true) => format!("finds {expression}"),
            (_, true) => String::new(),
            (_, false) => "passes".to_owned(),
        };
    }
    let mut words = match operation.is_stuck && failing {
        true => "waits for ever for".to_owned(),
        false => operation.does.verb().to_owned(),
    };
    if !operation.variable.is_empty() {
        words.push_str(&format!(" {}", operation.variable));
    }
    if let Some(value) = value {
        words.push_str(&format!(" = {value}"));
    }
    words
}

/// The flow into an operation that only this order has.
fn flow_into(dsp: &Dsp, at: u32, failing: bool) -> Option<&Flow> {
    let flows = match failing {
        true => &dsp.flows.only_failing,
        false => &dsp.flows.only_alternate,
    };
    flows.iter().find(|flow| flow.to == Some(at))
}

/// Sentence about the variations left out.
fn left_out(dsp: &Dsp) -> Option<String> {
    match dsp.counts.not_shown {
        0 => None,
        1 => Some("1 more read takes its value from elsewhere; it is not shown.".to_owned()),
        n => Some(format!(
            "{n} more reads take their values from elsewhere; they are not shown."
        )),
    }
}
