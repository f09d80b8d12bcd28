//! Numbers the instructions of a module's text so that the numbers reach the line table of the object, and
//! puts the model into it.
//!
//! A number becomes the DWARF discriminator of the instruction's place, which changes no code: the scope of
//! each place is wrapped into a block of its own. Instructions without a place keep none, and line 0, the
//! compiler's word for "nowhere", cannot have a discriminator.

use crate::program::lines::{self, LineKind};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The section that holds the models of a file's units, one behind the other.
pub const SECTION: &str = ".unsnarl.model";
/// Prefix of a unit's name in the flags that its debug info carries.
pub const FLAG: &str = "unsnarl-model=";

/// An error that keeps a text from being numbered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NumberError {
    /// The text does not have exactly one compile unit.
    #[error("it has {0} compile units instead of one")]
    Units(usize),
    /// Metadata without numbers.
    #[error("it has no metadata")]
    NoMetadata,
}

/// The module's text with its numbers, with the model that lies in the file `model` (a path without quotes and
/// backslashes) and its name. Linear.
///
/// # Errors
/// Fails if the debug info is not as clang writes it.
pub fn number(text: &str, model: &str, name: &str) -> Result<String, NumberError> {
    let metadata = MetadataPlaces::read(text);
    if metadata.units != 1 {
        return Err(NumberError::Units(metadata.units));
    }
    let mut next = metadata.next.ok_or(NumberError::NoMetadata)?;
    let mut edited = String::with_capacity(text.len() * 2);
    let mut added = String::new();
    let mut is_embedded = false;
    for item in lines::items(text) {
        match item.kind {
            LineKind::Instruction(point) => {
                let place = metadata.place(item.text);
                match place {
                    Some(place) => {
                        let (before, after) = place.around;
                        let _ = write!(edited, "{before}!{}{after}", next + 1);
                        place.numbered(next, point, &mut added);
                        next += 2;
                    }
                    None => edited.push_str(item.text),
                }
            }
            LineKind::Outer if is_compile_unit(item.text) => {
                edited.push_str(&with_flag(item.text, name));
            }
            _ => edited.push_str(item.text),
        }
        edited.push('\n');
        if !is_embedded && item.kind == LineKind::Outer && item.text.starts_with("target triple") {
            embed(model, &mut edited);
            is_embedded = true;
        }
    }
    edited.push_str(&added);
    Ok(edited)
}

/// Places in the module's metadata.
#[derive(Default)]
struct MetadataPlaces<'t> {
    /// Bodies of `!DILocation(...)` by number, and whether each is `distinct`.
    places: FxHashMap<u64, (bool, &'t str)>,
    /// Files of scopes.
    files: FxHashMap<u64, u64>,
    units: usize,
    /// The first number that is free.
    next: Option<u64>,
}

/// Reference to a place, which gets an instruction's number.
struct PlaceReference<'t> {
    /// The instruction's text around its reference to the place.
    around: (&'t str, &'t str),
    is_distinct: bool,
    /// The place's text around its reference to the scope.
    body: (&'t str, &'t str),
    scope: u64,
    file: u64,
}

impl<'t> MetadataPlaces<'t> {
    fn read(text: &'t str) -> MetadataPlaces<'t> {
        let mut metadata = MetadataPlaces::default();
        for line in text.lines().filter(|line| line.starts_with('!')) {
            let Some((number, node)) = definition(line) else {
                continue;
            };
            metadata.next = metadata.next.max(Some(number + 1));
            let is_distinct = node.starts_with("distinct ");
            let node = node.strip_prefix("distinct ").unwrap_or(node);
            if let Some(body) = node.strip_prefix("!DILocation") {
                metadata.places.insert(number, (is_distinct, body));
            } else if node.starts_with("!DICompileUnit(") {
                metadata.units += 1;
            } else if is_scope(node)
                && let Some((_, file, _)) = reference(node, "file: !")
            {
                metadata.files.insert(number, file);
            }
        }
        metadata
    }

    fn place(&self, instruction: &'t str) -> Option<PlaceReference<'t>> {
        let at = instruction.rfind(ATTACHED)?;
        let (before, attached) = instruction.split_at_checked(at + ATTACHED.len() - 1)?;
        let (number, after) = leading_number(attached.strip_prefix('!')?)?;
        let (is_distinct, body) = *self.places.get(&number)?;
        if body.starts_with("(line: 0,") {
            return None;
        }
        let (head, scope, tail) = reference(body, "scope: !")?;
        Some(PlaceReference {
            around: (before, after),
            is_distinct,
            body: (head, tail),
            scope,
            file: *self.files.get(&scope)?,
        })
    }
}

/// Text before an instruction's reference to its place.
const ATTACHED: &str = ", !dbg !";

impl PlaceReference<'_> {
    /// Writes the same place with a discriminator, as two nodes.
    fn numbered(&self, number: u64, point: u32, to: &mut String) {
        let (scope, file, (head, tail)) = (self.scope, self.file, self.body);
        let distinct = if self.is_distinct { "distinct " } else { "" };
        let _ = writeln!(
            to,
            "!{number} = !DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: {point})\n\
             !{} = {distinct}!DILocation{head}!{number}{tail}",
            number + 1
        );
    }
}

fn is_scope(node: &str) -> bool {
    let scopes = ["!DISubprogram(", "!DILexicalBlock(", "!DILexicalBlockFile("];
    scopes.iter().any(|scope| node.starts_with(scope))
}

/// Parses `!12 = distinct !DILocation(...)` into the number and the node.
fn definition(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = leading_number(line.strip_prefix('!')?)?;
    Some((number, rest.strip_prefix(" = ")?))
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

/// The first reference with this label, outside of texts (which contain no `"`): the text before its `!`, its number,
/// and the text behind it.
fn reference<'t>(node: &'t str, label: &str) -> Option<(&'t str, u64, &'t str)> {
    let mut from = 0;
    loop {
        let at = from + node.get(from..)?.find(label)?;
        let is_word = node.get(..at)?.ends_with(['(', ' ']);
        let in_text = node.get(..at)?.matches('"').count() % 2 == 1;
        let (before, after) = node.split_at_checked(at + label.len() - 1)?;
        if is_word && !in_text {
            let (number, rest) = leading_number(after.strip_prefix('!')?)?;
            return Some((before, number, rest));
        }
        from = at + label.len();
    }
}

fn is_compile_unit(line: &str) -> bool {
    definition(line).is_some_and(|(_, node)| node.starts_with("distinct !DICompileUnit("))
}

/// The compile unit with the model's name among its flags.
fn with_flag(line: &str, name: &str) -> String {
    const FLAGS: &str = ", flags: \"";
    match line.split_once(FLAGS) {
        Some((before, after)) => format!("{before}{FLAGS}{FLAG}{name} {after}"),
        None => {
            let body = line.strip_suffix(')').unwrap_or(line);
            format!("{body}{FLAGS}{FLAG}{name}\")")
        }
    }
}

/// Writes a section of bytes that is not loaded, as text for the assembler.
fn embed(model: &str, to: &mut String) {
    let _ = writeln!(
        to,
        "\nmodule asm \".pushsection {SECTION},\\22\\22,@progbits\"\n\
         module asm \".incbin \\22{model}\\22\"\n\
         module asm \".popsection\""
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const TEXT: &str = r#"source_filename = "a.c"
target triple = "x86_64-pc-linux-gnu"

define void @f(ptr %0) !dbg !3 {
  %2 = alloca i32, align 4
    #dbg_declare(ptr %2, !9, !DIExpression(), !6)
  call void @__tsan_func_entry(ptr %0), !dbg !8
  store i32 1, ptr @g, align 4, !dbg !6, !tbaa !12
  store i32 2, ptr @g, align 4, !dbg !6
  switch i32 %2, label %3 [
    i32 1, label %3
  ], !dbg !7
}

!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "scope: !9", isOptimized: false)
!1 = !DIFile(filename: "a.c", directory: "/")
!3 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, unit: !0)
!6 = !DILocation(line: 4, column: 2, scope: !3)
!7 = distinct !DILocation(line: 5, column: 2, scope: !10, inlinedAt: !6)
!8 = !DILocation(line: 0, scope: !3)
!10 = distinct !DILexicalBlock(scope: !3, file: !11, line: 4, column: 1)
!11 = !DIFile(filename: "b.h", directory: "/")
"#;

    #[test]
    fn every_instruction_with_a_place_gets_one_of_its_own() {
        expect![[r#"
            source_filename = "a.c"
            target triple = "x86_64-pc-linux-gnu"

            module asm ".pushsection .unsnarl.model,\22\22,@progbits"
            module asm ".incbin \22/m\22"
            module asm ".popsection"

            define void @f(ptr %0) !dbg !3 {
              %2 = alloca i32, align 4
                #dbg_declare(ptr %2, !9, !DIExpression(), !6)
              call void @__tsan_func_entry(ptr %0), !dbg !8
              store i32 1, ptr @g, align 4, !dbg !13, !tbaa !12
              store i32 2, ptr @g, align 4, !dbg !15
              switch i32 %2, label %3 [
                i32 1, label %3
              ], !dbg !17
            }

            !0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "scope: !9", isOptimized: false, flags: "unsnarl-model=abc")
            !1 = !DIFile(filename: "a.c", directory: "/")
            !3 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, unit: !0)
            !6 = !DILocation(line: 4, column: 2, scope: !3)
            !7 = distinct !DILocation(line: 5, column: 2, scope: !10, inlinedAt: !6)
            !8 = !DILocation(line: 0, scope: !3)
            !10 = distinct !DILexicalBlock(scope: !3, file: !11, line: 4, column: 1)
            !11 = !DIFile(filename: "b.h", directory: "/")
            !12 = !DILexicalBlockFile(scope: !3, file: !1, discriminator: 3)
            !13 = !DILocation(line: 4, column: 2, scope: !12)
            !14 = !DILexicalBlockFile(scope: !3, file: !1, discriminator: 4)
            !15 = !DILocation(line: 4, column: 2, scope: !14)
            !16 = !DILexicalBlockFile(scope: !10, file: !11, discriminator: 5)
            !17 = distinct !DILocation(line: 5, column: 2, scope: !16, inlinedAt: !6)
        "#]]
        .assert_eq(&number(TEXT, "/m", "abc").unwrap());
    }

    #[test]
    fn flags_that_are_there_stay() {
        let line = "!0 = distinct !DICompileUnit(file: !1, flags: \"-O2\", runtimeVersion: 0)";
        assert_eq!(
            with_flag(line, "x"),
            "!0 = distinct !DICompileUnit(file: !1, flags: \"unsnarl-model=x -O2\", runtimeVersion: 0)"
        );
    }

    #[test]
    fn a_text_without_debug_info_is_refused() {
        assert_eq!(number("", "/m", "x"), Err(NumberError::Units(0)));
        let two = format!("{TEXT}!20 = distinct !DICompileUnit(language: 1)\n");
        assert_eq!(number(&two, "/m", "x"), Err(NumberError::Units(2)));
    }
}
