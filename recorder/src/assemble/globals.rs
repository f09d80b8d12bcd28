//! Data objects of a file by address: variables by debug info, then by symbol, then the rest of each section.

use super::{dwarf::DwarfGlobal, image::ImageSymbol, types::TypeId};
use rustc_hash::FxHashMap;

/// Named memory of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GlobalObject {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Address from which offsets count; not `start` for the rest of a section between other objects.
    pub base: u64,
    pub name: String,
    pub kind: Option<TypeId>,
}

/// All data objects, sorted and without overlap.
pub(super) fn objects(
    globals: Vec<(DwarfGlobal, u64)>,
    symbols: Vec<ImageSymbol>,
    sections: Vec<ImageSymbol>,
) -> Vec<GlobalObject> {
    let mut objects = distinct(globals);
    objects.sort_by(|a, b| (a.start, b.end, &a.name).cmp(&(b.start, a.end, &b.name)));
    let mut objects = without_overlap(objects);
    let untyped = symbols
        .into_iter()
        .filter(|symbol| symbol.size > 0)
        .map(|symbol| GlobalObject {
            start: symbol.start,
            end: symbol.start.saturating_add(symbol.size),
            base: symbol.start,
            name: symbol.name,
            kind: None,
        });
    objects = fill(objects, untyped.collect());
    let rest = sections.into_iter().map(|section| GlobalObject {
        start: section.start,
        end: section.start.saturating_add(section.size),
        base: section.start,
        name: section.name,
        kind: None,
    });
    fill(objects, rest.collect())
}

/// Variables with distinct names: equal names get their file, then their line.
fn distinct(globals: Vec<(DwarfGlobal, u64)>) -> Vec<GlobalObject> {
    let mut by_address: Vec<&(DwarfGlobal, u64)> =
        globals.iter().filter(|(_, size)| *size > 0).collect();
    by_address.sort_by_key(|(global, _)| global.address);
    by_address.dedup_by_key(|(global, _)| global.address);
    let mut names: Vec<String> = by_address
        .iter()
        .map(|(global, _)| global.name.clone())
        .collect();
    let by_file = |global: &DwarfGlobal| format!("{}@{}", global.name, global.declared.0);
    let by_line = |global: &DwarfGlobal| format!("{}:{}", by_file(global), global.declared.1);
    for more in [&by_file as &dyn Fn(&DwarfGlobal) -> String, &by_line] {
        rename_duplicates(&mut names, |i| {
            by_address.get(i).map(|(global, _)| more(global))
        });
    }
    let plain = names.clone();
    let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
    for (name, plain) in names.iter_mut().zip(&plain) {
        let before = seen.entry(plain).or_default();
        if *before > 0 {
            *name = format!("{plain}#{before}");
        }
        *before += 1;
    }
    let object = |((global, size), name): (&&(DwarfGlobal, u64), String)| GlobalObject {
        start: global.address,
        end: global.address.saturating_add(*size),
        base: global.address,
        name,
        kind: Some(global.kind),
    };
    by_address.iter().zip(names).map(object).collect()
}

fn rename_duplicates(names: &mut [String], longer: impl Fn(usize) -> Option<String>) {
    let mut count: FxHashMap<String, usize> = FxHashMap::default();
    for name in names.iter() {
        *count.entry(name.clone()).or_default() += 1;
    }
    for (i, name) in names.iter_mut().enumerate() {
        if count.get(name.as_str()).is_some_and(|count| *count > 1) {
            *name = longer(i).unwrap_or_else(|| std::mem::take(name));
        }
    }
}

fn without_overlap(objects: Vec<GlobalObject>) -> Vec<GlobalObject> {
    let mut kept: Vec<GlobalObject> = Vec::with_capacity(objects.len());
    for object in objects {
        if kept.last().is_none_or(|last| last.end <= object.start) {
            kept.push(object);
        }
    }
    kept
}

/// Adds the parts of `more` that nothing in `objects` covers. Both sorted; `objects` without overlap.
fn fill(objects: Vec<GlobalObject>, more: Vec<GlobalObject>) -> Vec<GlobalObject> {
    let mut result: Vec<GlobalObject> = Vec::with_capacity(objects.len() + more.len());
    let mut filled_to = 0;
    let mut add = |object: &GlobalObject, from: u64, to: u64| {
        if from < to {
            result.push(GlobalObject {
                start: from,
                end: to,
                ..object.clone()
            });
        }
    };
    for object in &more {
        let mut from = object.start.max(filled_to);
        let first = objects.partition_point(|known| known.end <= from);
        for known in objects
            .iter()
            .skip(first)
            .take_while(|known| known.start < object.end)
        {
            add(object, from, known.start.min(object.end));
            from = from.max(known.end);
        }
        add(object, from, object.end);
        filled_to = filled_to.max(object.end);
    }
    result.extend(objects);
    result.sort_by_key(|object| object.start);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(name: &str, file: &str, address: u64) -> (DwarfGlobal, u64) {
        let declared = (file.to_owned(), 7);
        (
            DwarfGlobal {
                address,
                name: name.into(),
                declared,
                kind: TypeId(0),
            },
            4,
        )
    }

    fn symbol(name: &str, start: u64, size: u64) -> ImageSymbol {
        ImageSymbol {
            start,
            size,
            name: name.into(),
        }
    }

    #[test]
    fn sections_fill_what_is_left_and_equal_names_differ() {
        let globals = vec![
            global("n", "a.c", 8),
            global("n", "b.c", 16),
            global("f::s", "a.c", 24),
        ];
        let symbols = vec![symbol("n", 8, 4), symbol("table", 20, 8)];
        let found = objects(globals, symbols, vec![symbol(".bss", 0, 40)]);
        let shown: Vec<String> = found
            .iter()
            .map(|o| format!("{}..{} {}+{}", o.start, o.end, o.name, o.start - o.base))
            .collect();
        let expected = [
            "0..8 .bss+0",
            "8..12 n@a.c+0",
            "12..16 .bss+12",
            "16..20 n@b.c+0",
            "20..24 table+0",
            "24..28 f::s+0",
            "28..40 .bss+28",
        ];
        assert_eq!(shown, expected);
    }
}
