//! Encoding of units as bytes: a header, then the unit in postcard's wire format. Blobs stand one behind the other,
//! as the linker puts them.

use super::Unit;
use sha2::{Digest, Sha256};
use std::fmt;

/// First bytes of a blob.
const MAGIC: [u8; 8] = *b"unsnarlM";
/// Version of the schema. It changes whenever [`Unit`] does.
const VERSION: u32 = 2;
/// Size of the header: magic, version, length and hash of the content.
const HEADER: usize = 8 + 4 + 8 + 32;

/// SHA-256 of a unit's bytes: its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash(pub [u8; 32]);

/// Hexadecimal.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error that keeps bytes from being decoded as a model.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("the program model is cut off after {0} bytes")]
    CutOff(usize),
    /// The bytes are not a program model.
    #[error("this is no program model")]
    NoModel,
    /// Another version of unsnarl made them.
    #[error(
        "the program model has version {0}, this unsnarl reads version {VERSION}\n  next: build the program again with `unsnarl cc`"
    )]
    OtherVersion(u32),
    /// The bytes were modified.
    #[error("the program model is damaged: {0}")]
    Damaged(String),
}

/// The unit's bytes, with their header. Linear.
///
/// # Errors
/// [`DecodeError::Damaged`] when the unit cannot be written, which needs a length beyond 64 bits.
pub fn encode(unit: &Unit) -> Result<Vec<u8>, DecodeError> {
    let body =
        postcard::to_allocvec(unit).map_err(|error| DecodeError::Damaged(error.to_string()))?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(Sha256::digest(&body));
    bytes.extend(body);
    Ok(bytes)
}

/// The name of an encoded unit, as its header has it.
pub fn hash(blob: &[u8]) -> Option<Hash> {
    let bytes = blob.get(HEADER - 32..HEADER)?;
    Some(Hash(bytes.try_into().ok()?))
}

/// The first unit of the bytes as its own bytes, with its name, and the bytes behind it.
pub(super) fn first(bytes: &[u8]) -> Result<(Hash, &[u8], &[u8]), DecodeError> {
    let cut_off = || DecodeError::CutOff(bytes.len());
    if !bytes.starts_with(&MAGIC) {
        return Err(DecodeError::NoModel);
    }
    let number = |from: usize, to: usize| {
        let digits = bytes.get(from..to)?;
        Some(
            digits
                .iter()
                .rev()
                .fold(0u64, |sum, &digit| sum << 8 | u64::from(digit)),
        )
    };
    let version = number(8, 12).ok_or_else(cut_off)? as u32;
    if version != VERSION {
        return Err(DecodeError::OtherVersion(version));
    }
    let length = usize::try_from(number(12, 20).ok_or_else(cut_off)?).map_err(|_| cut_off())?;
    let name = hash(bytes).ok_or_else(cut_off)?;
    let end = HEADER.checked_add(length).ok_or_else(cut_off)?;
    let body = bytes.get(HEADER..end).ok_or_else(cut_off)?;
    if Sha256::digest(body).as_slice() != name.0 {
        return Err(DecodeError::Damaged(
            "its bytes do not match their hash".into(),
        ));
    }
    let (unit, rest) = bytes.split_at_checked(end).ok_or_else(cut_off)?;
    Ok((name, unit, rest))
}

/// The first unit of the bytes, its name, and the bytes behind it.
///
/// # Errors
/// Anything but a whole unit of this version.
pub fn decode(bytes: &[u8]) -> Result<(Hash, Unit, &[u8]), DecodeError> {
    let (name, unit, rest) = first(bytes)?;
    let unit = postcard::from_bytes(unit.get(HEADER..).unwrap_or(&[]))
        .map_err(|error| DecodeError::Damaged(error.to_string()))?;
    Ok((name, unit, rest))
}

/// All units of the bytes, each once, in their order. Zeros between them are passed over: linkers may align.
///
/// # Errors
/// As [`decode`]; a damaged unit makes those behind it unreadable, since nothing tells where they begin.
pub fn decode_all(mut bytes: &[u8]) -> Result<Vec<(Hash, Unit)>, DecodeError> {
    let mut units: Vec<(Hash, Unit)> = Vec::new();
    loop {
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        bytes = bytes.get(zeros..).unwrap_or(&[]);
        if bytes.is_empty() {
            return Ok(units);
        }
        let (name, unit, rest) = decode(bytes)?;
        if units.iter().all(|(known, _)| *known != name) {
            units.push((name, unit));
        }
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(source: &str) -> Unit {
        Unit {
            source: source.into(),
            ..Unit::default()
        }
    }

    #[test]
    fn units_one_behind_the_other_come_back() {
        let (a, b) = (encode(&unit("a.c")).unwrap(), encode(&unit("b.c")).unwrap());
        let all = [a.as_slice(), &[0, 0, 0], &b, &a, &[0; 5]].concat();
        let units = decode_all(&all).unwrap();
        let sources: Vec<&str> = units.iter().map(|(_, unit)| unit.source.as_str()).collect();
        assert_eq!(sources, ["a.c", "b.c"]);
        assert_eq!(Some(units[0].0), hash(&a));
    }

    #[test]
    fn what_is_cut_off_or_changed_is_an_error() {
        let whole = encode(&unit("source.c")).unwrap();
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            assert!(decode(&changed).is_err(), "{at}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut other = encode(&unit("a.c")).unwrap();
        other[8] = 9;
        assert_eq!(decode(&other), Err(DecodeError::OtherVersion(9)));
    }
}
