//! Encodings of types, from their DWARF entries.

use super::dwarf::{DwarfEntry, Units};
use gimli::AttributeValue;
use unsnarl_trace::{Encoding, program::Enumerator};

/// Bound for the names of an enumeration: each run that has a value of it has them all.
const MOST_NAMES: usize = 256;

/// The encoding of a type of values; `None` for whole numbers with a sign.
pub(super) fn encoding(units: &Units, unit: usize, entry: &DwarfEntry) -> Option<Encoding> {
    match entry.tag() {
        gimli::DW_TAG_enumeration_type => enumeration(units, unit, entry),
        gimli::DW_TAG_base_type => base(units, unit, entry),
        gimli::DW_TAG_pointer_type => Some(Encoding::Pointer),
        _ => None,
    }
}

fn base(units: &Units, unit: usize, entry: &DwarfEntry) -> Option<Encoding> {
    let AttributeValue::Encoding(encoding) = entry.attr_value(gimli::DW_AT_encoding)? else {
        return None;
    };
    match encoding {
        gimli::DW_ATE_float => Some(Encoding::Float),
        gimli::DW_ATE_boolean => Some(Encoding::Boolean),
        gimli::DW_ATE_unsigned => Some(Encoding::Unsigned),
        // `signed char` and `unsigned char` are small numbers as a rule.
        gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char
            if units.name(unit, entry) == "char" =>
        {
            Some(Encoding::Character)
        }
        gimli::DW_ATE_unsigned_char => Some(Encoding::Unsigned),
        _ => None,
    }
}

fn enumeration(units: &Units, unit: usize, entry: &DwarfEntry) -> Option<Encoding> {
    let is_scoped = entry.attr(gimli::DW_AT_enum_class).is_some();
    let scope = match is_scoped {
        true => format!("{}::", units.name(unit, entry)),
        false => String::new(),
    };
    let names: Vec<Enumerator> = units
        .children(unit, entry)
        .iter()
        .filter(|child| child.tag() == gimli::DW_TAG_enumerator)
        .filter_map(|child| {
            Some(Enumerator {
                name: format!("{scope}{}", units.name(unit, child)),
                value: constant(child.attr_value(gimli::DW_AT_const_value)?)?,
            })
        })
        .collect();
    (1..=MOST_NAMES)
        .contains(&names.len())
        .then_some(Encoding::Enum(names))
}

/// A constant. Those of a fixed width have no sign of their own: what is compared are the bits of a value's width.
fn constant<R: gimli::Reader>(value: AttributeValue<R>) -> Option<i128> {
    match value {
        AttributeValue::Data1(bits) => Some(bits.into()),
        AttributeValue::Data2(bits) => Some(bits.into()),
        AttributeValue::Data4(bits) => Some(bits.into()),
        AttributeValue::Data8(bits) | AttributeValue::Udata(bits) => Some(bits.into()),
        AttributeValue::Sdata(number) => Some(number.into()),
        _ => None,
    }
}
