//! What a grant was given for: a digest of the content that was looked at.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::runtime::digest::hex;

/// The SHA-256 of a script or of a skill's scripts, with their names: 64 hexadecimal digits.
///
/// Each part is hashed behind its length (eight bytes, the lowest first), so that no two different sets of names and
/// texts give the same bytes: first what it is of (`script` or `skill`), then the skill's name, then each script's name
/// and text, in the order of the names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ContentPin(String);

/// A text that is no pin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no content pin, which has 64 hexadecimal digits")]
pub struct PinError(String);

impl ContentPin {
    /// The pin of one script.
    pub fn of_script(skill: &str, name: &str, content: &str) -> ContentPin {
        ContentPin::of(["script", skill, name, content])
    }

    /// The pin of all scripts of a skill, as pairs of name and text.
    pub fn of_skill<'a>(skill: &'a str, scripts: impl IntoIterator<Item = (&'a str, &'a str)>) -> ContentPin {
        let mut scripts: Vec<(&str, &str)> = scripts.into_iter().collect();
        scripts.sort_unstable();
        let parts = scripts.into_iter().flat_map(|(name, content)| [name, content]);
        ContentPin::of(["skill", skill].into_iter().chain(parts))
    }

    fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> ContentPin {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        ContentPin(hex(&hash.finalize()))
    }
}

impl fmt::Display for ContentPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ContentPin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<ContentPin, PinError> {
        let is_pin = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_pin { Ok(ContentPin(text.to_ascii_lowercase())) } else { Err(PinError(text.to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_tells_apart_what_only_its_parts_borders_tell_apart() {
        let pins = [
            ContentPin::of_script("s", "a", "bc"),
            ContentPin::of_script("s", "ab", "c"),
            ContentPin::of_script("sa", "", "bc"),
            ContentPin::of_skill("s", [("a", "bc")]),
            ContentPin::of_skill("s", [("a", "b"), ("c", "")]),
            ContentPin::of_skill("s", [("a", ""), ("b", "c")]),
        ];
        for (index, pin) in pins.iter().enumerate() {
            assert!(!pins[..index].contains(pin), "{index}");
        }
        assert_eq!(
            ContentPin::of_skill("s", [("a", "1"), ("b", "2")]),
            ContentPin::of_skill("s", [("b", "2"), ("a", "1")])
        );
    }

    #[test]
    fn a_pin_is_the_sha256_of_its_parts_each_behind_its_length() {
        let mut bytes = Vec::new();
        for part in ["script", "s", "a.py", "print(1)"] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        let expected = hex(&Sha256::digest(&bytes));
        assert_eq!(ContentPin::of_script("s", "a.py", "print(1)").to_string(), expected);
        assert_eq!(expected.to_uppercase().parse::<ContentPin>().unwrap().to_string(), expected);
        assert!("12".parse::<ContentPin>().is_err() && "x".repeat(64).parse::<ContentPin>().is_err());
    }
}
