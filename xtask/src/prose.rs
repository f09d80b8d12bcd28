//! A lint against texts that are read back.
//!
//! Text for people is the last thing that is made. Code that looks for an English word in a text of its own breaks when
//! somebody improves the sentence, and no compiler says so. What code has to know is an enum or a field beside the text.

mod exceptions;

use crate::measure;
use anyhow::{Context, Result, bail};
use exceptions::{OTHERS, OURS};
use std::{collections::BTreeSet, path::Path};
use syn::{Attribute, BinOp, Expr, ImplItem, Item, Lit, Pat, punctuated::Punctuated, visit::Visit};

/// Folders of the crates that are checked: those that make texts.
const CRATES: [&str; 9] = [
    "cli", "core", "lab", "order", "recorder", "runtime", "server", "symbolic", "trace",
];

/// Methods that look into a text.
const METHODS: [&str; 13] = [
    "contains",
    "ends_with",
    "find",
    "matches",
    "rfind",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_start_matches",
];

/// Checks the sources of all [`CRATES`].
pub fn check() -> Result<()> {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for file in measure::product_sources()? {
        if !CRATES.iter().any(|name| file.path.starts_with(name)) {
            continue;
        }
        let reads = reads(&file.text).with_context(|| file.path.display().to_string())?;
        match exception(&file.path) {
            Some(allowed) if !reads.is_empty() => drop(used.insert(allowed)),
            Some(_) => {}
            None => found.extend(
                reads
                    .iter()
                    .map(|(line, text)| format!("{}:{line}: {text:?}", file.path.display())),
            ),
        }
    }
    found.extend(unused(&used));
    if found.is_empty() {
        return Ok(());
    }
    bail!(
        "code looks for words in texts:\n  {}\ncarry what it has to know as a type beside the text; if the text is made \
         by others, say by whom in xtask/src/prose/exceptions.rs",
        found.join("\n  ")
    )
}

/// The files of all exceptions.
fn exceptions() -> impl Iterator<Item = &'static str> {
    let all = OTHERS.iter().chain(OURS);
    all.flat_map(|(_, files)| files.iter().copied())
}

/// The exception that covers a file.
fn exception(path: &Path) -> Option<&'static str> {
    exceptions().find(|allowed| path == Path::new(allowed))
}

/// Exceptions for files that need none: the next one who adds a word to them has to think about it.
fn unused(used: &BTreeSet<&str>) -> Vec<String> {
    exceptions()
        .filter(|file| !used.contains(file))
        .map(|file| format!("xtask/src/prose/exceptions.rs: {file} needs no exception"))
        .collect()
}

/// Line and literal of each place outside of tests that looks for words in a text.
fn reads(source: &str) -> Result<Vec<(usize, String)>> {
    let mut walk = TextWalk::default();
    walk.visit_file(&syn::parse_file(source)?);
    Ok(walk.found)
}

#[derive(Default)]
struct TextWalk {
    found: Vec<(usize, String)>,
}

impl TextWalk {
    /// Notes the literals of an expression: a text, or several in an array.
    fn note(&mut self, expression: &Expr, is_read: fn(&str) -> bool) {
        match expression {
            Expr::Lit(literal) => self.literal(&literal.lit, is_read),
            Expr::Reference(inner) => self.note(&inner.expr, is_read),
            Expr::Array(array) => array.elems.iter().for_each(|one| self.note(one, is_read)),
            _ => {}
        }
    }

    fn literal(&mut self, literal: &Lit, is_read: fn(&str) -> bool) {
        if let Lit::Str(text) = literal
            && is_read(&text.value())
        {
            self.found.push((text.span().start().line, text.value()));
        }
    }
}

/// Returns whether a literal has a word in it.
fn has_word(text: &str) -> bool {
    text.contains(|c: char| c.is_alphabetic())
}

/// Returns whether a literal is more than one word: single words may be names.
fn is_phrase(text: &str) -> bool {
    has_word(text) && text.trim().contains(' ')
}

impl<'ast> Visit<'ast> for TextWalk {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(measure::attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(function) if is_for_tests(&function.attrs) => {}
            _ => syn::visit::visit_impl_item(self, item),
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if METHODS.iter().any(|method| call.method == method) {
            call.args.iter().for_each(|one| self.note(one, has_word));
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            self.note(&binary.left, is_phrase);
            self.note(&binary.right, is_phrase);
        }
        syn::visit::visit_expr_binary(self, binary);
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if let Pat::Lit(literal) = pattern {
            self.literal(&literal.lit, is_phrase);
        }
        syn::visit::visit_pat(self, pattern);
    }

    /// Most macros take expressions, as `format!` and `assert!` do; others are passed over.
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let parser = Punctuated::<Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = mac.parse_body_with(parser) {
            arguments.iter().for_each(|one| self.visit_expr(one));
        }
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    measure::is_for_tests(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Vec<String> {
        let source = format!("fn f(a: &str) {{ {body}; }}");
        let reads = reads(&source).unwrap();
        reads.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn words_are_found() {
        for body in [
            "a.starts_with(\"word\")",
            "a.note().contains(\"word\")",
            "a.split_once(\"word\").map(|x| x)",
            "a.find([\"word\", \"[\"])",
            "format!(\"{}\", a.contains(\"word\"))",
        ] {
            assert_eq!(found(body), ["word"], "{body}");
        }
        assert_eq!(found("a == \"too early\""), ["too early"]);
        assert_eq!(found("\"too early\" != a"), ["too early"]);
        assert_eq!(
            found("match a { \"too early\" => 1, _ => 2 }"),
            ["too early"]
        );
    }

    #[test]
    fn names_and_marks_pass() {
        for body in [
            "a == \"gcc\"",
            "a.contains(\": \")",
            "a.find('x')",
            "say(\"too early\")",
            "match a { \"gcc\" => \"the compiler\", _ => a }",
        ] {
            assert_eq!(found(body), [""; 0], "{body}");
        }
    }

    #[test]
    fn tests_pass() {
        let source = "#[cfg(test)]\nmod tests { fn f(a: &str) { a.contains(\"word\"); } }\n\
                      #[test]\nfn g() { a.contains(\"word\"); }\n";
        assert_eq!(reads(source).unwrap(), []);
        assert_eq!(
            reads("\nfn g() {\n    a.contains(\"word\");\n}\n").unwrap(),
            [(3, "word".to_owned())]
        );
    }
}
