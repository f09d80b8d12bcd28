//! Libraries with locks that the recorder does not see: code that was not built for recording and that compares and
//! exchanges memory by itself, as locks do.

use super::{glib, libraries::libraries};
use crate::assemble::MOST;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};
use std::path::{Path, PathBuf};
use unsnarl_trace::files::read_regular;

/// Beginnings of the names of the compilers' own libraries: threads do not use them as locks of the program's data.
const OF_COMPILERS: [&str; 7] = [
    "libstdc++.",
    "libgcc_s.",
    "libc++.",
    "libc++abi.",
    "libunwind.",
    "libgomp.",
    "libatomic.",
];

/// Beginning of the names of the calls by which code that was built for recording reports its functions.
const REPORTS: &str = "__tsan_func";

/// The names of those that a program loads at its start, in the loader's order. Linear in their code.
pub(crate) fn libraries_with_locks(program: &Path) -> Vec<String> {
    let all = libraries(program);
    let names = all.iter().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_compilers = OF_COMPILERS.iter().any(|of| name.starts_with(of));
        let others = all.iter().filter(|other| *other != path);
        let callers = others.map(PathBuf::as_path).chain([program]);
        let is_left_out = is_compilers || glib::is_plain_in(&name, callers);
        (!is_left_out && has_locks(path)).then_some(name)
    });
    names.collect()
}

/// Returns whether a library's code has an atomic exchange that the compiler has not reported.
fn has_locks(library: &Path) -> bool {
    let Ok(bytes) = read_regular(library, MOST) else {
        return false;
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return false;
    };
    let reports = |name: Result<&str, _>| name.is_ok_and(|name| name.starts_with(REPORTS));
    let is_instrumented = file.dynamic_symbols().any(|symbol| reports(symbol.name()));
    let code = file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text);
    let mut code = code.filter_map(|section| section.data().ok());
    !is_instrumented && code.any(compares_and_exchanges)
}

/// Returns whether there is a `lock cmpxchg` in this code: the prefix, perhaps one for wide registers, and the operation.
fn compares_and_exchanges(code: &[u8]) -> bool {
    const LOCK: u8 = 0xf0;
    const WIDE: std::ops::RangeInclusive<u8> = 0x40..=0x4f;
    code.windows(4).any(|bytes| match bytes {
        [LOCK, 0x0f, 0xb1, _] => true,
        [LOCK, wide, 0x0f, 0xb1] => WIDE.contains(wide),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_found_in_code() {
        let narrow = [0x90, 0xf0, 0x0f, 0xb1, 0x17, 0xc3];
        let wide = [0x90, 0xf0, 0x48, 0x0f, 0xb1, 0x17];
        let unlocked = [0x90, 0x48, 0x0f, 0xb1, 0x17, 0xc3];
        assert!(compares_and_exchanges(&narrow) && compares_and_exchanges(&wide));
        assert!(!compares_and_exchanges(&unlocked));
    }
}
