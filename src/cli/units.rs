//! Sizes and durations as people write them.

use std::time::Duration;

use bytesize::ByteSize;

/// `1MiB`, `64k`, `1000`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let size: ByteSize = text.parse().map_err(|_| format!("`{text}` is no size; write 256MiB, 64k or 1000"))?;
    Ok(size.as_u64())
}

/// `5s`, `250ms`, `1m 30s`, or seconds as a plain number.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration; write 5s, 250ms or 1m");
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| wrong()),
        Err(_) => humantime::parse_duration(text).map_err(|_| wrong()),
    }
}

/// `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is no variable; write NAME=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_read_as_people_write_them() {
        assert_eq!(bytes("256MiB"), Ok(256 << 20));
        assert_eq!(bytes("1000"), Ok(1000));
        assert!(bytes("lots").is_err());
        assert!(bytes("-1").is_err());
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert!(duration("-1").is_err());
        assert!(duration("soon").is_err());
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert!(variable("A").is_err());
        assert!(variable("=b").is_err());
    }
}
