//! Encodings: the readings that the types of locations give to bits.

use crate::{model::LocationId, program::Enumerator};
use serde::{Deserialize, Serialize};

/// A reading of bits other than as a whole number.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// A floating-point number of IEEE 754, by its size a single or a double one.
    Float,
    /// A truth value.
    Boolean,
    /// A character.
    Character,
    /// One of these values, by its name.
    Enum(Vec<Enumerator>),
    /// A whole number without a sign, of at most 4 bytes: a size that is as large as can be is -1 to most readers.
    Unsigned,
    /// An address.
    Pointer,
}

impl Encoding {
    /// The bits as the source would write them; `None` where the type has no word for them, or they are part of a value.
    pub fn text(&self, bits: u64, size: u32) -> Option<String> {
        match self {
            Encoding::Float if size == 8 => Some(format!("{:?}", f64::from_bits(bits))),
            Encoding::Float if size == 4 => {
                let bits = u32::try_from(bits).ok()?;
                Some(format!("{:?}", f32::from_bits(bits)))
            }
            Encoding::Float => None,
            Encoding::Boolean => match (bits, size) {
                (0, 1) => Some("false".to_owned()),
                (1, 1) => Some("true".to_owned()),
                _ => None,
            },
            Encoding::Character if size == 1 => character(bits),
            Encoding::Character => None,
            Encoding::Enum(names) => {
                let is_it = |name: &&Enumerator| is_value(name.value, bits, size);
                names.iter().find(is_it).map(|found| found.name.clone())
            }
            Encoding::Unsigned => (size <= 4).then(|| bits.to_string()),
            Encoding::Pointer => (bits == 0).then(|| "NULL".to_owned()),
        }
    }
}

/// A character of ASCII as a literal.
fn character(bits: u64) -> Option<String> {
    let byte = u8::try_from(bits).ok().filter(u8::is_ascii)?;
    match byte {
        0 => Some(r"'\0'".to_owned()),
        b'\t' | b'\n' | b'\r' | b'\'' | b'\\' | b' '..=b'~' => {
            Some(format!("'{}'", char::from(byte).escape_default()))
        }
        _ => None,
    }
}

/// Returns whether an enumerator's value is stored as these bits.
fn is_value(value: i128, bits: u64, size: u32) -> bool {
    let width = size.saturating_mul(8).min(64);
    let mask = u128::MAX.checked_shr(128 - width).unwrap_or(0);
    width > 0 && value.cast_unsigned() & mask == u128::from(bits)
}

/// Locations of one encoding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EncodingRow {
    /// Their encoding.
    pub encoding: Encoding,
    /// The locations as ranges, first and last, sorted and apart.
    pub locations: Vec<(LocationId, LocationId)>,
}

impl EncodingRow {
    /// A row of these locations.
    pub fn new(encoding: Encoding, mut locations: Vec<LocationId>) -> EncodingRow {
        locations.sort_unstable();
        locations.dedup();
        let mut ranges: Vec<(LocationId, LocationId)> = Vec::new();
        for location in locations {
            match ranges.last_mut() {
                Some((_, last)) if last.0.checked_add(1) == Some(location.0) => *last = location,
                _ => ranges.push((location, location)),
            }
        }
        EncodingRow {
            encoding,
            locations: ranges,
        }
    }

    /// Returns whether the location has this encoding.
    pub fn holds(&self, location: LocationId) -> bool {
        let behind = self
            .locations
            .partition_point(|(first, _)| *first <= location);
        let range = behind
            .checked_sub(1)
            .and_then(|range| self.locations.get(range));
        range.is_some_and(|(_, last)| location <= *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_told_as_the_source_writes_them() {
        let text = |encoding: &Encoding, bits, size| encoding.text(bits, size).unwrap_or_default();
        assert_eq!(text(&Encoding::Float, 0.75f64.to_bits(), 8), "0.75");
        assert_eq!(
            text(&Encoding::Float, u64::from(2.0f32.to_bits()), 4),
            "2.0"
        );
        assert_eq!(text(&Encoding::Float, 1, 2), "");
        assert_eq!(text(&Encoding::Boolean, 1, 1), "true");
        assert_eq!(text(&Encoding::Boolean, 2, 1), "");
        assert_eq!(text(&Encoding::Character, 97, 1), "'a'");
        assert_eq!(text(&Encoding::Character, 10, 1), r"'\n'");
        assert_eq!(text(&Encoding::Character, 0, 1), r"'\0'");
        assert_eq!(text(&Encoding::Character, 200, 1), "");
        assert_eq!(text(&Encoding::Unsigned, 148, 1), "148");
        assert_eq!(text(&Encoding::Unsigned, u64::MAX, 8), "");
        assert_eq!(text(&Encoding::Pointer, 0, 8), "NULL");
        assert_eq!(text(&Encoding::Pointer, 16, 8), "");
    }

    #[test]
    fn enumerators_are_compared_in_the_size_of_their_type() {
        let names = [("NONE", -1), ("SOME", 3)].map(|(name, value)| Enumerator {
            name: name.to_owned(),
            value,
        });
        let encoding = Encoding::Enum(names.to_vec());
        assert_eq!(encoding.text(0xffff_ffff, 4).as_deref(), Some("NONE"));
        assert_eq!(encoding.text(3, 1).as_deref(), Some("SOME"));
        assert_eq!(encoding.text(4, 4), None);
    }

    #[test]
    fn locations_of_an_encoding_are_ranges() {
        let row = EncodingRow::new(Encoding::Float, [5, 3, 4, 9, 4].map(LocationId).to_vec());
        assert_eq!(
            row.locations,
            [(3, 5), (9, 9)].map(|(first, last)| (LocationId(first), LocationId(last)))
        );
        let held: Vec<u32> = (0..12).filter(|id| row.holds(LocationId(*id))).collect();
        assert_eq!(held, [3, 4, 5, 9]);
    }
}
