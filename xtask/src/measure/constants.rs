//! Numeric constants of the explanation and of its experiments, and the table in the docs that has a reason for each.

use super::source::{attributes, is_for_tests};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use syn::{Item, Type, visit::Visit};

/// The folders in which numbers decide between answers, with their names in the table.
const FOLDERS: [(&str, &str); 4] = [
    ("core/src/explain", "core"),
    ("core/src/diagnosis", "diagnosis"),
    ("lab/src/confirm", "confirm"),
    ("symbolic/src/engines", "symbolic"),
];

/// Types of constants that count.
const NUMBERS: [&str; 8] = ["u8", "u16", "u32", "u64", "usize", "f32", "f64", "Duration"];

/// A constant.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundConstant {
    /// Its name.
    pub name: String,
    /// Its file as the table names it: `core/slice.rs`.
    pub place: String,
}

/// The constants of a source; none where it is in no folder that counts, or belongs to tests.
pub fn constants(path: &Path, text: &str) -> Result<Vec<FoundConstant>> {
    let Some(place) = place(path) else {
        return Ok(Vec::new());
    };
    let unreadable = || format!("{} cannot be parsed", path.display());
    let file = syn::parse_file(text).with_context(unreadable)?;
    let mut walk = ConstantWalk(Vec::new());
    walk.visit_file(&file);
    let named = |name| FoundConstant {
        name,
        place: place.clone(),
    };
    Ok(walk.0.into_iter().map(named).collect())
}

fn place(path: &Path) -> Option<String> {
    let is_test = path.iter().any(|part| {
        let part = Path::new(part).with_extension("");
        part.to_string_lossy().ends_with("tests")
    });
    let mut within = FOLDERS.iter().filter_map(|(folder, name)| {
        let rest = path.strip_prefix(folder).ok()?;
        Some(PathBuf::from(name).join(rest).display().to_string())
    });
    within.next().filter(|_| !is_test)
}

/// Collects the names of numeric constants outside of tests.
struct ConstantWalk(Vec<String>);

impl<'ast> Visit<'ast> for ConstantWalk {
    fn visit_item(&mut self, item: &'ast Item) {
        let is_test_module = matches!(item, Item::Mod(module) if is_for_tests(&module.attrs));
        if !is_test_module && !is_for_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let Type::Path(of) = item.ty.as_ref() else {
            return;
        };
        if NUMBERS.iter().any(|number| of.path.is_ident(number)) {
            self.0.push(item.ident.to_string());
        }
    }
}

/// The number of constants, and the names of those without a row in the table.
pub fn summary(constants: &[FoundConstant], docs: &str) -> String {
    let rows: Vec<&str> = docs.lines().filter(|line| line.starts_with("| ")).collect();
    let is_listed = |one: &&FoundConstant| {
        let (name, place) = (format!("| `{}` ", one.name), format!("| {} |", one.place));
        let mut rows = rows.iter();
        rows.any(|row| row.starts_with(&name) && row.contains(&place))
    };
    let (listed, missing): (Vec<_>, Vec<_>) = constants.iter().partition(is_listed);
    let missing: Vec<String> = missing
        .iter()
        .map(|one| format!("`{}` in {}", one.name, one.place))
        .collect();
    let missing = match missing.is_empty() {
        true => String::new(),
        false => format!("; not in docs/explain.md: {}", missing.join(", ")),
    };
    format!(
        "\nThe explanation and its experiments have {} named numeric constants, {} of them in docs/explain.md{missing}.\n",
        constants.len(),
        listed.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "const MOST: usize = 8;\nconst NAME: &str = \"a\";\n\
        fn f() {\n    const NEAR: u32 = 2;\n}\n#[cfg(test)]\nmod tests {\n    const OF_TESTS: u32 = 1;\n}\n";

    #[test]
    fn numbers_outside_of_tests_count() {
        let path = Path::new("core/src/explain/candidates/missing.rs");
        let found = constants(path, SOURCE).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["MOST", "NEAR"]);
        assert_eq!(found[0].place, "core/candidates/missing.rs");
        for path in ["core/src/explain/tests/waits.rs", "core/src/orders/mod.rs"] {
            assert_eq!(constants(Path::new(path), SOURCE).unwrap(), []);
        }
    }

    #[test]
    fn those_without_a_row_are_named() {
        let path = Path::new("lab/src/confirm/judge.rs");
        let found = constants(path, SOURCE).unwrap();
        let text = summary(&found, "| `MOST` 8 | confirm/judge.rs | none |\n");
        assert!(
            text.contains("have 2 named numeric constants, 1 of them"),
            "{text}"
        );
        assert!(
            text.contains("not in docs/explain.md: `NEAR` in confirm/judge.rs."),
            "{text}"
        );
    }
}
