//! Input from outside the process, kept so that a replay can give it back.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The input of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInput {
    /// Seed of the program's random numbers, if it asked for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// [`raw::Input`](crate::raw::Input)s with their bytes, as the runtime wrote them; in the file as
    /// hexadecimal text.
    #[serde(skip_serializing_if = "Bytes::is_empty")]
    pub bytes: Bytes,
    /// Variables of the environment that the program looked up, and those that decide how the C library behaves;
    /// sorted by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<EnvironmentVariable>,
    /// Limit of the stack in bytes, where it is not the usual one of 8 MB; the largest number for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u64>,
    /// Calls whose input there was no room for.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl RunInput {
    /// Returns whether nothing came from outside.
    pub fn is_empty(&self) -> bool {
        *self == RunInput::default()
    }
}

/// A variable of the environment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct EnvironmentVariable {
    /// Its name.
    pub name: String,
    /// Its value; `None` where it was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl EnvironmentVariable {
    /// Returns whether a replay never restores the variable: the loader and the C library take code to execute from
    /// it, which a run file made by somebody else must not name.
    pub fn is_withheld(&self) -> bool {
        const PREFIXES: [&str; 5] = ["LD_", "GLIBC_", "GCONV_", "LOCPATH", "UNSNARL_"];
        PREFIXES.iter().any(|prefix| self.name.starts_with(prefix))
            || self.name.is_empty()
            || self.name.contains(['=', '\0'])
            || self
                .value
                .as_ref()
                .is_some_and(|value| value.contains('\0'))
    }

    /// Returns whether the variable is kept in every run because the C library reads it by itself.
    pub fn is_looked_up_by_library(name: &str) -> bool {
        const NAMES: [&str; 3] = ["LANG", "LANGUAGE", "TZ"];
        NAMES.contains(&name)
            || ["LC_", "OMP_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
    }
}

/// Bytes, in JSON as hexadecimal text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
        let mut text = String::with_capacity(2 * self.0.len());
        for byte in &self.0 {
            text.push(digit(byte >> 4));
            text.push(digit(byte & 15));
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom("the recorded input is no hexadecimal text");
        let nibble = |digit: &u8| char::from(*digit).to_digit(16).ok_or_else(wrong);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(wrong());
        }
        let byte = |[high, low]: &[u8; 2]| Ok((nibble(high)? << 4 | nibble(low)?) as u8);
        pairs.iter().map(byte).collect::<Result<_, _>>().map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let input = RunInput {
            seed: Some(7),
            bytes: Bytes((0..=255).collect()),
            environment: vec![EnvironmentVariable {
                name: "MOOD".into(),
                value: None,
            }],
            stack: Some(1 << 20),
            lost: 3,
        };
        let text = serde_json::to_string(&input).unwrap();
        assert_eq!(serde_json::from_str::<RunInput>(&text).unwrap(), input);
    }

    #[test]
    fn nothing_takes_no_room() {
        assert_eq!(serde_json::to_string(&RunInput::default()).unwrap(), "{}");
    }

    #[test]
    fn what_is_no_hexadecimal_text_is_refused() {
        for text in [r#"{"bytes":"0"}"#, r#"{"bytes":"0g"}"#, r#"{"bytes":"é"}"#] {
            assert!(serde_json::from_str::<RunInput>(text).is_err(), "{text}");
        }
    }
}
