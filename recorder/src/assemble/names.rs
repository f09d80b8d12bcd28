//! Names for people: demangled functions without their parameters, tidy paths.

use std::sync::OnceLock;

/// A function's name, demangled, without parameters and return type.
pub(crate) fn function(raw: &str) -> String {
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let demangled = raw.starts_with("_Z").then(|| {
        cpp_demangle::Symbol::new(raw)
            .ok()?
            .demangle_with_options(&options)
            .ok()
    });
    demangled.flatten().unwrap_or_else(|| raw.to_owned())
}

/// The name of a function, demangled on demand, since most are never asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionName {
    /// Mangled names in the file: there may be several for one function.
    raw: Vec<Box<str>>,
    name: OnceLock<String>,
}

impl FunctionName {
    /// The function with this name in the file.
    pub fn of(raw: &str) -> FunctionName {
        FunctionName {
            raw: vec![raw.into()],
            name: OnceLock::new(),
        }
    }

    /// Adds other names of the same function.
    pub fn join(&mut self, other: FunctionName) {
        self.raw.extend(other.raw);
        self.name = OnceLock::new();
    }

    /// Returns whether this is the better of two names for one function.
    pub fn is_before(&self, other: &FunctionName) -> bool {
        let (one, two) = (self.get(), other.get());
        (one.len(), one) < (two.len(), two)
    }

    /// The demangled name; of several the shortest: `main` rather than `__main_alias`.
    pub fn get(&self) -> &str {
        self.name.get_or_init(|| {
            let names = self.raw.iter().map(|raw| function(raw));
            let shortest = |a: &String, b: &String| (a.len(), a).cmp(&(b.len(), b));
            names.min_by(shortest).unwrap_or_default()
        })
    }
}

/// Returns whether a demangled name is that of a lambda's code, as gcc or clang call it.
pub(crate) fn is_lambda(name: &str) -> bool {
    name.contains("::operator()") && (name.contains("{lambda") || name.contains("$_"))
}

/// The lambda itself: `main::lambda#1` for gcc's `main::{lambda()#1}::operator()` and for clang's
/// `main::$_0::operator() const`.
pub(crate) fn lambda(name: &str) -> String {
    let name = name
        .trim_end_matches(" const")
        .trim_end_matches("::operator()");
    let own = of_itself(name).and_then(|(at, _)| name.split_at_checked(at));
    let by_gcc = own.and_then(|(outer, rest)| {
        let (_, number) = rest.rsplit_once(")#")?;
        Some(format!("{outer}lambda#{}", number.trim_end_matches('}')))
    });
    let by_clang = name.split_once("$_").and_then(|(outer, number)| {
        let number: u32 = number.parse().ok()?;
        Some(format!("{outer}lambda#{}", number.checked_add(1)?))
    });
    by_gcc.or(by_clang).unwrap_or_else(|| name.to_owned())
}

/// The place of the lambda that a name is about, and whether it belongs to the first of several names; those among the arguments
/// of its templates and functions are others.
fn of_itself(name: &str) -> Option<(usize, bool)> {
    let (mut depth, mut is_first) = (0, true);
    for (at, c) in name.char_indices() {
        let rest = name.get(at..)?;
        if depth == 0 && (rest.starts_with("{lambda(") || rest.starts_with("$_")) {
            return Some((at, is_first));
        }
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' | ' ' if depth == 0 => is_first = false,
            _ => {}
        }
    }
    None
}

/// The lambda that a thread is created with, by the name of the library's code that calls it: `main::lambda#1` of
/// `_Invoker<tuple<main::{lambda()#1}>>::_M_run`. What is given to a function is no such lambda.
pub(super) fn lambda_within(name: &str) -> Option<String> {
    const ARGUMENTS: &str = "tuple<";
    let (_, called) = name.split_once(ARGUMENTS)?;
    let (begin, _) = of_itself(called).filter(|(_, is_first)| *is_first)?;
    let number = called.get(begin..)?.find(['#', '$'])? + begin;
    let is_over = |c: char| !c.is_ascii_digit() && c != '_';
    let digits = called.get(number + 1..)?;
    let end = digits.find(is_over).unwrap_or(digits.len()) + number + 1;
    Some(lambda(called.get(..end)?))
}

/// A type's name from its mangled form, as in `type_info::name`.
pub(super) fn type_name(raw: &str) -> String {
    let symbol = format!("_ZTI{raw}");
    let demangled = cpp_demangle::Symbol::new(symbol.as_str()).ok();
    let name = demangled.and_then(|symbol| symbol.demangle().ok());
    let name = name
        .as_deref()
        .and_then(|name| name.strip_prefix("typeinfo for "));
    name.unwrap_or(raw).to_owned()
}

/// A path without `.` and `..` components, as far as that is possible without looking at the disk.
pub(crate) fn path(raw: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in raw.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if raw.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// The last component of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Names come from the log, as in the text of an exception, and may be anything.
        #[test]
        fn any_text_has_a_name(text in "[A-Za-z0-9_$.]{0,40}", odd in ".{0,20}") {
            for text in [&text, &odd] {
                type_name(text);
                function(&format!("_Z{text}"));
                lambda(text);
                path(text);
            }
        }
    }

    #[test]
    fn paths_are_tidied() {
        assert_eq!(path("/a/./b/../c.c"), "/a/c.c");
        assert_eq!(path("../x/./y.c"), "../x/y.c");
        assert_eq!(path("/usr/bin/../include/stdio.h"), "/usr/include/stdio.h");
    }

    #[test]
    fn lambdas_are_numbered() {
        assert_eq!(
            lambda("main::{lambda(int, char)#2}::operator()"),
            "main::lambda#2"
        );
        assert_eq!(lambda("main::$_0::operator() const"), "main::lambda#1");
        let within = |name: &str| lambda_within(name).unwrap_or_default();
        let by_gcc = "std::thread::_Invoker<std::tuple<main::{lambda()#1}> >::_M_run";
        assert_eq!(within(by_gcc), "main::lambda#1");
        let by_clang = "std::thread::_Invoker<std::tuple<Pool<A, B>::start::$_12, int>>::_M_run";
        assert_eq!(within(by_clang), "Pool<A, B>::start::lambda#13");
        let given = "std::thread::_Invoker<std::tuple<void (*)(int), main::{lambda()#1}> >::_M_run";
        assert_eq!(lambda_within(given), None);
        let by_a_template = "std::thread::_Invoker<std::tuple<(anonymous namespace)::workers<main::{lambda(int)#1}>(int, \
            main::{lambda(int)#1})::{lambda()#2}> >::_M_run";
        assert_eq!(
            within(by_a_template),
            "(anonymous namespace)::workers<main::{lambda(int)#1}>(int, main::{lambda(int)#1})::lambda#2"
        );
        assert_eq!(lambda_within("std::vector<int>::push_back"), None);
        assert!(is_lambda("main::$_0::operator() const") && !is_lambda("Less::operator()"));
    }

    #[test]
    fn functions_lose_their_parameters() {
        assert_eq!(function("main"), "main");
        assert_eq!(function("_ZN4bank7deposit3runEi"), "bank::deposit::run");
        assert_eq!(type_name("St13runtime_error"), "std::runtime_error");
    }

    #[test]
    fn of_several_names_the_shortest_is_told() {
        let mut name = FunctionName::of("_ZN4bank7deposit3runEi");
        assert_eq!(name.get(), "bank::deposit::run");
        assert!(FunctionName::of("main").is_before(&name));
        name.join(FunctionName::of("run"));
        name.join(FunctionName::of("a_long_name_that_comes_last"));
        assert_eq!(name.get(), "run");
    }
}
