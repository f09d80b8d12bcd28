//! Inputs that are made of valid ones by a few edits.

use bolero::{Driver, ValueGenerator};
use std::ops::Range;

/// Most edits of one input.
const MOST_EDITS: u8 = 8;

/// Longest part that one edit removes, repeats or takes from another sample.
const LONGEST: usize = 64;

/// Numbers that lengths, offsets and counts are replaced by.
const NUMBERS: [u64; 10] = [
    0,
    1,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 40,
    u64::MAX >> 1,
    u64::MAX,
];

/// Generator of inputs from valid samples.
pub struct Mutations {
    samples: Vec<Vec<u8>>,
}

impl Mutations {
    /// Mutations of these samples.
    pub fn of<T: Into<Vec<u8>>>(samples: impl IntoIterator<Item = T>) -> Mutations {
        Mutations {
            samples: samples.into_iter().map(Into::into).collect(),
        }
    }

    fn sample(&self, driver: &mut impl Driver) -> Option<&[u8]> {
        let index = below(driver, self.samples.len())?;
        self.samples.get(index).map(Vec::as_slice)
    }

    fn edit(&self, driver: &mut impl Driver, bytes: &mut Vec<u8>) -> Option<()> {
        match driver.gen_variant(7, 0)? {
            0 => flip(driver, bytes)?,
            1 => number(driver, bytes)?,
            2 => drop(bytes.drain(part(driver, bytes.len())?)),
            3 => {
                let from = part(driver, bytes.len())?;
                let repeated = bytes.get(from.clone())?.to_vec();
                bytes.splice(from.end..from.end, repeated);
            }
            4 => bytes.truncate(below(driver, bytes.len())?),
            5 => {
                let other = self.sample(driver)?;
                let taken = other.get(part(driver, other.len())?)?.to_vec();
                bytes.splice(part(driver, bytes.len())?, taken);
            }
            _ => {
                let at = below(driver, bytes.len() + 1)?;
                bytes.insert(at, driver.produce()?);
            }
        }
        Some(())
    }
}

impl ValueGenerator for Mutations {
    type Output = Vec<u8>;

    fn generate<D: Driver>(&self, driver: &mut D) -> Option<Vec<u8>> {
        let mut bytes = self.sample(driver)?.to_vec();
        let edits = driver.produce::<u8>()? % (MOST_EDITS + 1);
        for _ in 0..edits {
            // An edit that does not fit leaves the input as it is.
            let _ = self.edit(driver, &mut bytes);
        }
        Some(bytes)
    }
}

/// Changes one bit.
fn flip(driver: &mut impl Driver, bytes: &mut [u8]) -> Option<()> {
    let at = below(driver, bytes.len())?;
    *bytes.get_mut(at)? ^= 1 << (driver.produce::<u8>()? % 8);
    Some(())
}

/// Writes one of [`NUMBERS`] in 1, 2, 4 or 8 bytes.
fn number(driver: &mut impl Driver, bytes: &mut [u8]) -> Option<()> {
    let number = NUMBERS.get(below(driver, NUMBERS.len())?)?.to_le_bytes();
    let width = 1usize << (driver.produce::<u8>()? % 4);
    let at = below(driver, bytes.len())?;
    let place = bytes.get_mut(at..at.checked_add(width)?)?;
    place.copy_from_slice(number.get(..width)?);
    Some(())
}

/// A short range of `length` bytes.
fn part(driver: &mut impl Driver, length: usize) -> Option<Range<usize>> {
    let start = below(driver, length + 1)?;
    let end = start + below(driver, LONGEST.min(length - start) + 1)?;
    Some(start..end)
}

/// A number below `bound`; none if that is zero.
fn below(driver: &mut impl Driver, bound: usize) -> Option<usize> {
    (driver.produce::<u32>()? as usize).checked_rem(bound)
}
