//! Measurements of one Rust source.
//!
//! Everything but lines is measured outside of tests: functions and modules under `#[test]` and `#[cfg(test)]` are
//! passed over. Bodies of macros are not parsed, so items that a macro makes are not counted.

use super::figures::MeasuredShare;
use crate::language;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use syn::{Attribute, ImplItem, Item, Meta, Signature, Visibility, spanned::Spanned, visit::Visit};

/// Measurements of one Rust source.
#[derive(Debug, Default)]
pub struct SourceFigures {
    /// All its lines.
    pub lines: usize,
    /// Its lines that belong to tests.
    pub test_lines: usize,
    /// The lines of each function from its signature to its closing brace.
    pub functions: Vec<usize>,
    /// The share of documented items among those with plain `pub`: functions, types, traits and their items, constants
    /// and associated functions. Modules are documented in their own files, fields and variants belong to their types.
    pub documented: MeasuredShare,
    /// The names of the structs, enums, unions and type aliases that it defines.
    pub types: Vec<String>,
    /// The share of doc comments that begin with a question word, those of tests included.
    pub questions: MeasuredShare,
    /// Paths without `.rs` of the modules in other files that only tests have.
    pub test_modules: Vec<PathBuf>,
}

/// Measures a source. The path is that of its file; modules in other files are looked for from there.
pub fn measure(path: &Path, text: &str) -> Result<SourceFigures> {
    let unreadable = || format!("{} cannot be parsed", path.display());
    let file = syn::parse_file(text).with_context(unreadable)?;
    let mut walk = Walk::at(path);
    walk.visit_file(&file);
    let mut figures = walk.figures;
    figures.lines = text.lines().count();
    if is_for_tests(&file.attrs) {
        figures = SourceFigures {
            test_lines: figures.lines,
            lines: figures.lines,
            ..SourceFigures::default()
        };
    }
    figures.questions = language::share_of_questions(text);
    Ok(figures)
}

/// A walk over the items of a source.
struct Walk {
    figures: SourceFigures,
    /// The folder in which the modules of the current module have their files.
    folder: PathBuf,
}

impl Walk {
    fn at(path: &Path) -> Self {
        let owns_folder = ["lib.rs", "main.rs", "mod.rs", "build.rs"];
        let named = |name: &&str| path.ends_with(name);
        let folder = match owns_folder.iter().any(named) {
            true => path.parent().map(PathBuf::from).unwrap_or_default(),
            false => path.with_extension(""),
        };
        Self {
            figures: SourceFigures::default(),
            folder,
        }
    }

    /// Notes the lines of an item that only tests have.
    fn skip(&mut self, item: &impl Spanned) {
        self.figures.test_lines += lines_of(item);
    }

    fn function(&mut self, signature: &Signature, body: &syn::Block) {
        let first = signature.span().start().line;
        let last = body.brace_token.span.close().end().line;
        self.figures.functions.push(last + 1 - first);
    }

    fn item(&mut self, visibility: &Visibility, attributes: &[Attribute]) {
        if matches!(visibility, Visibility::Public(_)) {
            self.figures.documented.add(has_doc(attributes));
        }
    }

    fn type_named(&mut self, name: &syn::Ident) {
        self.figures.types.push(name.to_string());
    }

    /// Notes a module of tests with its lines or its file.
    fn test_module(&mut self, module: &syn::ItemMod) {
        if module.content.is_none() {
            let stem = self.folder.join(module.ident.to_string());
            self.figures.test_modules.push(stem);
        }
        self.skip(module);
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(module) if is_for_tests(&module.attrs) => self.test_module(module),
            _ if is_for_tests(attributes(item)) => self.skip(item),
            _ => syn::visit::visit_item(self, item),
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.folder.push(module.ident.to_string());
        syn::visit::visit_item_mod(self, module);
        self.folder.pop();
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(function) if is_for_tests(&function.attrs) => self.skip(item),
            _ => syn::visit::visit_impl_item(self, item),
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.item(&item.vis, &item.attrs);
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.item(&item.vis, &item.attrs);
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.item(&item.vis, &item.attrs);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.item(&item.vis, &item.attrs);
        for inner in &item.items {
            self.item(&item.vis, attributes_in_trait(inner));
        }
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.item(&item.vis, &item.attrs);
        self.type_named(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.item(&item.vis, &item.attrs);
        self.type_named(&item.ident);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.item(&item.vis, &item.attrs);
        self.type_named(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.item(&item.vis, &item.attrs);
        self.type_named(&item.ident);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.item(&item.vis, &item.attrs);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.item(&item.vis, &item.attrs);
    }
}

/// The number of lines from the first attribute or comment of an item to its end.
fn lines_of(item: &impl Spanned) -> usize {
    let span = item.span();
    span.end().line + 1 - span.start().line
}

fn has_doc(attributes: &[Attribute]) -> bool {
    let is_text = |attribute: &Attribute| matches!(&attribute.meta, Meta::NameValue(m) if m.path.is_ident("doc"));
    attributes.iter().any(is_text)
}

/// Returns whether only tests have an item with these attributes.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => requires_test(list.tokens.clone()),
        _ => false,
    })
}

/// Returns whether the condition of a `cfg` is `test`, or `all` of several of which one is.
fn requires_test(condition: proc_macro2::TokenStream) -> bool {
    match syn::parse2::<Meta>(condition) {
        Ok(Meta::Path(path)) => path.is_ident("test"),
        Ok(Meta::List(list)) if list.path.is_ident("all") => {
            let parser = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
            let is_test = |part: &Meta| part.path().is_ident("test");
            let parts = list.parse_args_with(parser);
            parts.is_ok_and(|parts| parts.iter().any(is_test))
        }
        _ => false,
    }
}

/// The attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_in_trait(item: &syn::TraitItem) -> &[Attribute] {
    match item {
        syn::TraitItem::Const(item) => &item.attrs,
        syn::TraitItem::Fn(item) => &item.attrs,
        syn::TraitItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str) -> SourceFigures {
        measure(Path::new("one/src/part.rs"), text).unwrap()
    }

    #[test]
    fn functions_have_the_lines_from_signature_to_brace() {
        let source = "/// Adds.\n#[must_use]\npub fn one() -> u8 { 1 }\n\
                      struct S;\nimpl S {\n    fn three(\n        &self) {\n    }\n}\n\
                      trait T {\n    fn none(&self);\n    fn two(&self) {\n    }\n}\n";
        assert_eq!(figures(source).functions, [1, 3, 2]);
    }

    #[test]
    fn a_function_within_another_counts_in_both() {
        let source = "fn outer() {\n    fn inner() {\n    }\n}\n";
        assert_eq!(figures(source).functions, [4, 2]);
    }

    #[test]
    fn plain_public_items_are_counted() {
        let source = "/// A.\npub struct A { pub field: u8 }\npub enum B { One }\npub(crate) struct C;\nfn d() {}\n\
                      impl A {\n    /// E.\n    pub fn e() {}\n    pub fn f() {}\n    fn g() {}\n    pub const H: u8 = 1;\n}\n\
                      /// I.\npub trait I {\n    /// J.\n    fn j();\n    type K;\n}\ntrait L { fn m(); }\n\
                      #[doc(hidden)]\npub const N: u8 = 1;\npub mod o;\npub use a::P;\n";
        // Documented: A, e, I, j. Not documented: B, f, H, K, N.
        assert_eq!(figures(source).documented, MeasuredShare { with: 4, of: 9 });
    }

    #[test]
    fn types_are_named_outside_of_tests() {
        let source = "struct A;\nenum B {}\nunion C { c: u8 }\ntype D = u8;\ntrait E { type F; }\n\
                      mod inner { struct A; }\n#[cfg(test)]\nmod tests { struct G; }\n#[cfg(test)]\nstruct H;\n\
                      impl Iterator for A { type Item = u8; }\n";
        assert_eq!(figures(source).types, ["A", "B", "C", "D", "A"]);
    }

    #[test]
    fn lines_of_tests_are_counted() {
        let source = "fn a() {}\n\n/// Tests.\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n\
                      #[test]\nfn c() {}\n#[cfg(all(test, unix))]\nfn d() {}\n#[cfg(not(test))]\nfn e() {}\n\
                      impl A {\n    #[cfg(test)]\n    fn f() {}\n    #[cfg(any(test, unix))]\n    fn g() {}\n}\n";
        let figures = figures(source);
        assert_eq!(figures.lines, 20);
        // The module with its comment has 6 lines, the functions c, d and f have 2 each.
        assert_eq!(figures.test_lines, 12);
        // Left are a, e and g.
        assert_eq!(figures.functions, [1, 1, 1]);
    }

    #[test]
    fn modules_of_tests_in_other_files_are_found() {
        let source = "mod a;\n#[cfg(test)]\nmod b;\nmod c {\n    #[cfg(test)]\n    mod d;\n}\n";
        let found = |path: &str| measure(Path::new(path), source).unwrap().test_modules;
        let part = ["one/src/part/b", "one/src/part/c/d"].map(PathBuf::from);
        assert_eq!(found("one/src/part.rs"), part);
        let root = ["one/src/b", "one/src/c/d"].map(PathBuf::from);
        assert_eq!(found("one/src/lib.rs"), root);
        assert_eq!(found("one/src/mod.rs"), root);
    }

    #[test]
    fn a_whole_file_can_be_for_tests() {
        let figures = figures("#![cfg(test)]\n/// Why.\npub fn a() {}\n");
        assert_eq!((figures.lines, figures.test_lines), (3, 3));
        assert_eq!(figures.documented, MeasuredShare::default());
        assert_eq!(figures.functions, [0; 0]);
        assert_eq!(figures.questions, MeasuredShare { with: 1, of: 1 });
    }

    #[test]
    fn what_is_no_rust_is_an_error_with_the_file() {
        let error = measure(Path::new("one.rs"), "fn (").unwrap_err();
        assert_eq!(error.to_string(), "one.rs cannot be parsed");
    }
}
