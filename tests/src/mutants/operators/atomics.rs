//! Atomics: one step made of two, and weaker orders.

use super::MutantDraft;
use crate::mutants::{
    edits::Edits,
    model::BaseProgram,
    syntax::{SyntaxCall, ancestors, descendants, statement_in_block},
};
use tree_sitter::Node;
use unsnarl_core::BugKind;

/// Operations with the operator of their two-step form: of C, then the methods of C++.
const STEPS: [(&str, &str); 5] = [
    ("fetch_add", "+"),
    ("fetch_sub", "-"),
    ("fetch_or", "|"),
    ("fetch_and", "&"),
    ("exchange", ""),
];

/// Replaces an atomic change by a load and a store.
pub fn split(program: &BaseProgram) -> Vec<MutantDraft> {
    let nodes = descendants(program.source.root()).into_iter();
    let calls = nodes.filter_map(|one| program.source.call(one));
    calls
        .filter_map(|call| {
            let statement = statement_in_block(call.node)?;
            let mut edits = Edits::default();
            compared(program, &call, &mut edits)
                .or_else(|| in_two_steps(program, &call, statement, &mut edits))?;
            let function = program.function_of(statement)?;
            let mut classes = vec![
                BugKind::AtomicityViolation,
                BugKind::MultiVariableAtomicityViolation,
            ];
            let text = program.source.text(function.body);
            if ["free", "delete", "destroy"]
                .iter()
                .any(|word| text.contains(word))
            {
                classes.push(BugKind::UseAfterFree);
            }
            Some(MutantDraft {
                edits,
                region: vec![statement.byte_range()],
                classes,
            })
        })
        .collect()
}

/// Object, operator and operand of `atomic_fetch_add(&count, 1)` or `count.fetch_add(1)`.
fn change<'s>(
    program: &BaseProgram<'s>,
    call: &SyntaxCall<'s>,
) -> Option<(Atomic, &'static str, &'s str)> {
    let bare = call.name.strip_prefix("std::").unwrap_or(call.name);
    let bare = bare.strip_suffix("_explicit").unwrap_or(bare);
    let (bare, object, operand) = match (bare.strip_prefix("atomic_"), call.receiver) {
        (Some(bare), None) => (bare, None, call.arguments.get(1)?),
        (None, Some(receiver)) => (bare, Some(receiver), call.arguments.first()?),
        _ => return None,
    };
    let (_, sign) = STEPS.iter().find(|(name, _)| *name == bare)?;
    let atomic = match object {
        Some(object) => Atomic::Object(method_base(program, call, object)),
        None => Atomic::Address(program.source.text(*call.arguments.first()?).to_owned()),
    };
    Some((atomic, sign, program.source.text(*operand)))
}

/// The form in which calls name an atomic.
enum Atomic {
    /// By its address, as in C.
    Address(String),
    /// With the dot or arrow of a method.
    Object(String),
}

impl Atomic {
    fn load(&self) -> String {
        match self {
            Atomic::Address(address) => format!("atomic_load({address})"),
            Atomic::Object(object) => format!("{object}load()"),
        }
    }

    fn store(&self, value: &str) -> String {
        match self {
            Atomic::Address(address) => format!("atomic_store({address}, {value})"),
            Atomic::Object(object) => format!("{object}store({value})"),
        }
    }
}

fn method_base(program: &BaseProgram, call: &SyntaxCall, object: &str) -> String {
    let is_pointer = program
        .source
        .text(call.node)
        .contains(&format!("{object}->"));
    format!("{object}{}", if is_pointer { "->" } else { "." })
}

fn in_two_steps(
    program: &BaseProgram,
    call: &SyntaxCall,
    statement: Node,
    edits: &mut Edits,
) -> Option<()> {
    let (atomic, sign, operand) = change(program, call)?;
    let in_loop = ancestors(call.node)
        .take_while(|one| *one != statement)
        .chain([statement])
        .any(|one| {
            matches!(
                one.kind(),
                "while_statement" | "for_statement" | "do_statement"
            )
        });
    let kind = if program.source.is_cpp {
        "const auto"
    } else {
        "const __auto_type"
    };
    let value = |seen: &str| match sign {
        "" => operand.to_owned(),
        sign => format!("{seen} {sign} {operand}"),
    };
    let is_whole = program
        .source
        .statement_call(statement)
        .is_some_and(|one| one.node == call.node);
    match (is_whole, in_loop) {
        (true, _) => {
            let text = atomic.store(&value(&atomic.load()));
            edits.replace(call.node.byte_range(), &text);
        }
        (false, false) => {
            let text = format!(
                "{kind} seen = {}; {};",
                atomic.load(),
                atomic.store(&value("seen"))
            );
            edits.insert_before(program.source, statement, &text);
            edits.replace(call.node.byte_range(), "seen");
        }
        (false, true) => return None,
    }
    Some(())
}

/// Replaces a compare-and-exchange by a comparison and a store.
fn compared(program: &BaseProgram, call: &SyntaxCall, edits: &mut Edits) -> Option<()> {
    let source = program.source;
    let is_exchange = call.name.contains("compare_exchange");
    let (atomic, rest) = match call.receiver {
        _ if !is_exchange => return None,
        Some(object) => (
            Atomic::Object(method_base(program, call, object)),
            call.arguments.as_slice(),
        ),
        None => {
            let address = source.text(*call.arguments.first()?).to_owned();
            (Atomic::Address(address), call.arguments.get(1..)?)
        }
    };
    let expected = source.text(*rest.first()?);
    let expected = match call.receiver {
        Some(_) => expected.to_owned(),
        None => match expected.strip_prefix('&') {
            Some(name) => name.to_owned(),
            None => format!("*{expected}"),
        },
    };
    let (load, store) = (atomic.load(), atomic.store(source.text(*rest.get(1)?)));
    let text = format!("({load} == {expected} ? ({store}, 1) : ({expected} = {load}, 0))");
    edits.replace(call.node.byte_range(), &text);
    Some(())
}

/// Relaxes a memory order.
pub fn weaken(program: &BaseProgram) -> Vec<MutantDraft> {
    const ORDERS: [&str; 4] = [
        "memory_order_release",
        "memory_order_acquire",
        "memory_order_acq_rel",
        "memory_order_seq_cst",
    ];
    let nodes = descendants(program.source.root()).into_iter();
    let names = nodes.filter(|one| one.kind() == "identifier");
    names
        .filter(|one| ORDERS.contains(&program.source.text(*one)))
        .map(|order| {
            let mut edits = Edits::default();
            edits.replace(order.byte_range(), "memory_order_relaxed");
            MutantDraft {
                edits,
                region: vec![order.byte_range()],
                classes: Vec::new(),
            }
        })
        .collect()
}
