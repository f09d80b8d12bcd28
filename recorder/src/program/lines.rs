//! The lines of LLVM's textual intermediate representation, joined into items, and the numbers of the instructions.
//!
//! An instruction's number in its unit, its *point*, is its place among the instructions of all function bodies in
//! the order of the text, from 1. Labels and debug records (`#dbg_declare`) do not count.

use std::ops::Range;

/// The kind of one or several lines of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineKind {
    /// Outside of functions: a type, a global, a declaration, metadata, a comment, a blank line.
    Outer,
    /// `define ... {`.
    Define,
    /// `12:` or `entry:`, with its comment.
    Label,
    /// `#dbg_declare(...)` and the like.
    Record,
    /// An instruction, with the lines that continue it; its point.
    Instruction(u32),
    /// A blank line or a comment within a function.
    Blank,
    /// The `}` that ends a function.
    End,
}

/// A piece of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item<'t> {
    /// Kind of the item.
    pub kind: LineKind,
    /// Its lines, without the newline at the end.
    pub text: &'t str,
    /// Byte range in the whole text.
    pub range: Range<usize>,
}

/// The pieces of a module's text, in order. Together with the newlines between them they are the text.
pub fn items(text: &str) -> Items<'_> {
    Items {
        text,
        at: 0,
        in_function: false,
        point: 0,
    }
}

/// Iterator of [`items`].
#[derive(Clone, Debug)]
pub struct Items<'t> {
    text: &'t str,
    at: usize,
    in_function: bool,
    point: u32,
}

impl<'t> Iterator for Items<'t> {
    type Item = Item<'t>;

    fn next(&mut self) -> Option<Item<'t>> {
        let start = self.at;
        let line = self.line().filter(|_| start < self.text.len())?;
        let mut end = start + line.len();
        self.at = end + 1;
        let kind = self.kind(line);
        if matches!(kind, LineKind::Instruction(_)) {
            while let Some(more) = self.line().filter(|line| continues(line)) {
                end = self.at + more.len();
                self.at = end + 1;
            }
        }
        Some(Item {
            kind,
            text: self.text.get(start..end)?,
            range: start..end,
        })
    }
}

impl<'t> Items<'t> {
    /// The line that begins here.
    fn line(&self) -> Option<&'t str> {
        self.text.get(self.at..)?.split('\n').next()
    }

    fn kind(&mut self, line: &str) -> LineKind {
        if !self.in_function {
            self.in_function = line.starts_with("define ") && line.ends_with('{');
            return if self.in_function {
                LineKind::Define
            } else {
                LineKind::Outer
            };
        }
        let plain = line.trim_start();
        if line.starts_with('}') {
            self.in_function = false;
            LineKind::End
        } else if plain.is_empty() || plain.starts_with(';') {
            LineKind::Blank
        } else if plain.starts_with("#dbg_") {
            LineKind::Record
        } else if !line.starts_with(' ') {
            LineKind::Label
        } else {
            self.point = self.point.saturating_add(1);
            LineKind::Instruction(self.point)
        }
    }
}

/// Returns whether a line continues an instruction. Instructions begin behind two blanks; the cases of a `switch`,
/// the targets of an `invoke` and the clauses of a `landingpad` are indented further, except for the bracket that
/// ends the cases.
fn continues(line: &str) -> bool {
    let plain = line.trim_start();
    let is_deeper = line.starts_with("   ") && !plain.is_empty();
    (is_deeper && !plain.starts_with("#dbg_") && !plain.starts_with(';')) || line.starts_with("  ]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
source_filename = \"a.c\"

define dso_local i32 @main() #0 personality ptr @p !dbg !7 {
  %1 = alloca i32, align 4
    #dbg_declare(ptr %1, !12, !DIExpression(), !13)
  switch i32 %0, label %9 [
    i32 1, label %3
    i32 2, label %9
  ], !dbg !14

3:                                                ; preds = %0
  invoke void @f(ptr @\"a\\22{\")
          to label %4 unwind label %6, !dbg !15

\"a b\":
  ; a comment
  %7 = landingpad { ptr, i32 }
          cleanup
          catch ptr null, !dbg !16
  ret i32 0
}

declare void @f()
define void @g() {
  unreachable
}
!1 = !{}
";

    fn points(text: &str) -> Vec<(u32, &str)> {
        items(text)
            .filter_map(|item| match item.kind {
                LineKind::Instruction(point) => Some((point, item.text)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn instructions_are_numbered_through_all_functions() {
        let found = points(TEXT);
        let firsts: Vec<_> = found
            .iter()
            .map(|(point, text)| (*point, text.split_whitespace().nth(2).unwrap_or("-")))
            .collect();
        assert_eq!(
            firsts,
            [
                (1, "alloca"),
                (2, "%0,"),
                (3, "@f(ptr"),
                (4, "landingpad"),
                (5, "0"),
                (6, "-"),
            ]
        );
        assert!(
            found[1].1.ends_with("], !dbg !14"),
            "all cases belong to it"
        );
        assert!(found[2].1.ends_with("%6, !dbg !15"));
        assert!(found[3].1.ends_with("null, !dbg !16"));
    }

    #[test]
    fn all_the_rest_is_told_apart() {
        let kinds = |wanted: LineKind| items(TEXT).filter(|item| item.kind == wanted).count();
        assert_eq!(kinds(LineKind::Define), 2);
        assert_eq!(kinds(LineKind::Label), 2);
        assert_eq!(kinds(LineKind::Record), 1);
        assert_eq!(kinds(LineKind::End), 2);
        assert_eq!(kinds(LineKind::Blank), 3);
        assert_eq!(kinds(LineKind::Outer), 5);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "(define v \\{\n|  a\n|   b\n|  \\]\n|\\}\n|;\n|\n|x:|é)*") {
            let mut end = 0;
            for item in items(&text) {
                prop_assert_eq!(item.range.start, end);
                prop_assert_eq!(item.text, &text[item.range.clone()]);
                end = item.range.end + 1;
            }
            prop_assert!(end == text.len() || end == text.len() + 1);
        }
    }
}
