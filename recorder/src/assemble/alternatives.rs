//! Alternatives of a `std::variant`, by the name of the type in which the library keeps them.

use unsnarl_trace::program::Enumerator;

/// The beginning of that type's name: its first argument is no alternative.
const STORAGE: &str = "_Variant_storage<";

/// The alternatives by their numbers, with the names of their types.
pub(super) fn alternatives(name: &str) -> Option<Vec<Enumerator>> {
    let arguments = name.strip_prefix(STORAGE)?.strip_suffix('>')?;
    let types = split(arguments).into_iter().skip(1).map(plain);
    let named = types
        .zip(0..)
        .map(|(name, value)| Enumerator { name, value });
    Some(named.collect())
}

/// The arguments of a template.
fn split(arguments: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let at_end = |c: char| {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    arguments.split(at_end).map(str::trim).collect()
}

/// A type's name as programs write it: without the arguments of its template and the library's inner namespaces.
fn plain(name: &str) -> String {
    let plain = name.split('<').next().unwrap_or(name);
    let rest = name.rsplit('>').next().filter(|_| name.contains('<'));
    let plain = plain
        .replace("std::__cxx11::basic_string", "std::string")
        .replace("std::__cxx11::", "std::");
    plain + rest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::alternatives;

    #[test]
    fn alternatives_have_the_names_of_their_types() {
        let names = |of: &str| -> Vec<String> {
            let all = alternatives(of).unwrap_or_default();
            all.into_iter().map(|one| one.name).collect()
        };
        let text =
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        let of = format!("_Variant_storage<false, int, {text}, Box<int, 2>*, void (*)(int, int)>");
        let expected = ["int", "std::string", "Box*", "void (*)(int, int)"];
        assert_eq!(names(&of), expected);
        assert_eq!(alternatives("_Variant_base<int, double>"), None);
    }
}
