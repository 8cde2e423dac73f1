//! Sizes and times as people write them: `"16MiB"` or a number of bytes, `"30s"` or a number of seconds.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Bytes.
#[derive(Clone, Copy)]
pub struct Size(u64);

/// A span of time.
#[derive(Clone, Copy)]
pub struct Time(Duration);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a number, or a text with a unit such as \"16MiB\" or \"30s\"")]
enum Written {
    Whole(u64),
    Fraction(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let wrong = |text: &str| D::Error::custom(format!("`{text}` is no size: write \"256MiB\", \"64k\" or 1000"));
        match Written::deserialize(deserializer)? {
            Written::Whole(bytes) => Ok(Size(bytes)),
            Written::Fraction(number) => Err(wrong(&number.to_string())),
            Written::Text(text) => {
                text.parse::<bytesize::ByteSize>().map(|size| Size(size.as_u64())).map_err(|_| wrong(&text))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let wrong = |text: &str| D::Error::custom(format!("`{text}` is no time: write \"30s\", \"250ms\" or 1.5"));
        match Written::deserialize(deserializer)? {
            Written::Whole(seconds) => Ok(Time(Duration::from_secs(seconds))),
            Written::Fraction(seconds) => {
                Duration::try_from_secs_f64(seconds).map(Time).map_err(|_| wrong(&seconds.to_string()))
            }
            Written::Text(text) => humantime::parse_duration(&text).map(Time).map_err(|_| wrong(&text)),
        }
    }
}

impl From<Size> for u64 {
    fn from(size: Size) -> u64 {
        size.0
    }
}

impl From<Size> for usize {
    fn from(size: Size) -> usize {
        usize::try_from(size.0).unwrap_or(usize::MAX)
    }
}

impl From<Time> for Duration {
    fn from(time: Time) -> Duration {
        time.0
    }
}
