//! Data whose accesses the compiler does not report: clang has no callbacks for accesses of more than 16 bytes and
//! none for `long double`. A run names such data of the program.

use super::dwarf::{DwarfEntry, Units};
use gimli::{AttributeValue, UnitOffset};

/// Bound for the steps from a member to its underlying type.
const MAX_STEPS: usize = 16;

/// Returns whether clang made this unit.
pub(super) fn is_by_clang(units: &Units, unit: usize) -> bool {
    let producer = units.get(unit).and_then(|header| {
        let root = header.entry(header.header.root_offset()).ok()?;
        units.text(unit, root.attr_value(gimli::DW_AT_producer))
    });
    producer.is_some_and(|producer| producer.contains("clang"))
}

/// Returns whether the type of a variable or member is, or contains, a type whose accesses clang does not report.
pub(super) fn is_unseen(units: &Units, unit: usize, entry: &DwarfEntry) -> bool {
    let (mut at, mut described) = (unit, entry.clone());
    for _ in 0..MAX_STEPS {
        let Some((unit, next)) = target(units, at, &described) else {
            return false;
        };
        at = unit;
        let Some(next) = units.get(unit).and_then(|unit| unit.entry(next).ok()) else {
            return false;
        };
        described = next;
        match described.tag() {
            gimli::DW_TAG_base_type => return is_long_double(&described),
            gimli::DW_TAG_array_type if is_wide_vector(units, unit, &described) => return true,
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_array_type => {}
            _ => return false,
        }
    }
    false
}

fn target(units: &Units, unit: usize, entry: &DwarfEntry) -> Option<(usize, UnitOffset)> {
    units.target(unit, entry.attr_value(gimli::DW_AT_type)?)
}

fn bytes(entry: &DwarfEntry) -> u64 {
    let size = entry.attr(gimli::DW_AT_byte_size);
    size.and_then(|size| size.udata_value()).unwrap_or(0)
}

fn is_long_double(entry: &DwarfEntry) -> bool {
    let encoding = entry.attr_value(gimli::DW_AT_encoding);
    let is_fraction = matches!(
        encoding,
        Some(AttributeValue::Encoding(
            gimli::DW_ATE_float | gimli::DW_ATE_complex_float
        ))
    );
    // A complex number of two `double` has 16 bytes too, and each half has a callback.
    let is_complex = matches!(
        encoding,
        Some(AttributeValue::Encoding(gimli::DW_ATE_complex_float))
    );
    is_fraction && bytes(entry) > if is_complex { 16 } else { 8 }
}

fn is_wide_vector(units: &Units, unit: usize, entry: &DwarfEntry) -> bool {
    if entry.attr(gimli::DW_AT_GNU_vector).is_none() {
        return false;
    }
    let element = target(units, unit, entry)
        .and_then(|(unit, offset)| units.get(unit)?.entry(offset).ok())
        .map_or(0, |element| bytes(&element));
    let count: u64 = units
        .children(unit, entry)
        .iter()
        .map(super::dwarf_types::element_count)
        .product();
    element.saturating_mul(count) > 16
}

/// The remark in a run about such data.
pub(super) fn problem(names: &[String]) -> Option<String> {
    const SHOWN: usize = 3;
    let (shown, rest) = names.split_at_checked(SHOWN).unwrap_or((names, &[]));
    let list = shown.join("`, `");
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        format!(
            "no access to `{list}`{more} is recorded: clang tells nothing of `long double` and of vectors \
             beyond 16 bytes; build with gcc to see them"
        )
    })
}
