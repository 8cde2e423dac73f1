//! W3C Trace Context: which trace a task belongs to, passed on as variables.

use std::fmt::Write;

/// The trace that a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    trace: [u8; 16],
    parent: [u8; 8],
    flags: u8,
    state: Option<String>,
    correlation: Option<String>,
}

/// A text that is no trace context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {value:?} cannot be: {expected}")]
pub struct TraceError {
    what: &'static str,
    value: String,
    expected: &'static str,
}

impl TraceContext {
    /// A new trace, recorded.
    pub fn root() -> TraceContext {
        // All zeros would be none; the lowest bit keeps both ids from that.
        let (trace, parent) = (rand::random::<u128>() | 1, rand::random::<u64>() | 1);
        TraceContext {
            trace: trace.to_be_bytes(),
            parent: parent.to_be_bytes(),
            flags: 1,
            state: None,
            correlation: None,
        }
    }

    /// Reads a `traceparent`: `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`, lower case; of a later version, the
    /// part that is known.
    pub fn parse(traceparent: &str) -> Result<TraceContext, TraceError> {
        let wrong = || TraceError {
            what: "traceparent",
            value: traceparent.chars().take(80).collect(),
            expected: "it is written 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, in lower case, neither id all zeros",
        };
        let parts: Vec<&str> = traceparent.split('-').collect();
        let [version, trace, parent, flags, more @ ..] = parts.as_slice() else { return Err(wrong()) };
        let [version] = bytes(version).ok_or_else(wrong)?;
        if version == 0xff || (version == 0 && !more.is_empty()) {
            return Err(wrong());
        }
        let (trace, parent) = (bytes(trace).ok_or_else(wrong)?, bytes(parent).ok_or_else(wrong)?);
        let [flags] = bytes(flags).ok_or_else(wrong)?;
        if trace == [0; 16] || parent == [0; 8] {
            return Err(wrong());
        }
        Ok(TraceContext { trace, parent, flags, state: None, correlation: None })
    }

    /// Adds a `tracestate`, which is passed on as it is.
    pub fn state(mut self, state: impl Into<String>) -> Result<TraceContext, TraceError> {
        let expected = "a tracestate has at most 512 printable ASCII characters";
        self.state = Some(printable("tracestate", state.into(), 512, expected)?);
        Ok(self)
    }

    /// Adds an id by which the caller finds its own again.
    pub fn correlation(mut self, id: impl Into<String>) -> Result<TraceContext, TraceError> {
        let expected = "a correlation id has at most 256 printable ASCII characters";
        self.correlation = Some(printable("correlation id", id.into(), 256, expected)?);
        Ok(self)
    }

    /// The same trace with a parent of its own: what is handed to a script that this call runs.
    pub fn child(&self) -> TraceContext {
        TraceContext { parent: (rand::random::<u64>() | 1).to_be_bytes(), ..self.clone() }
    }

    /// As a `traceparent`.
    pub fn traceparent(&self) -> String {
        let mut text = String::from("00-");
        let mut hex = |bytes: &[u8], end: &str| {
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            text.push_str(end);
        };
        hex(&self.trace, "-");
        hex(&self.parent, "-");
        // Of the flags those that version 00 knows.
        hex(&[self.flags & 3], "");
        text
    }

    /// The variables that a script finds.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let state = self.state.clone().map(|state| ("TRACESTATE", state));
        let correlation = self.correlation.clone().map(|id| ("CORRELATION_ID", id));
        let all = [Some(("TRACEPARENT", self.traceparent())), state, correlation];
        all.into_iter().flatten().map(|(name, value)| (name.to_owned(), value))
    }
}

fn printable(what: &'static str, value: String, most: usize, expected: &'static str) -> Result<String, TraceError> {
    let fits = value.len() <= most && value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits { Ok(value) } else { Err(TraceError { what, value: value.chars().take(80).collect(), expected }) }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || digits.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = (high? * 16 + low?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_comes_back_as_it_was_and_a_child_keeps_the_trace() {
        let context = TraceContext::parse(PARENT).unwrap();
        assert_eq!(context.traceparent(), PARENT);
        let child = context.child().traceparent();
        assert_eq!((&child[..36], &child[52..]), (&PARENT[..36], &PARENT[52..]));
        assert_ne!(child, PARENT);
        let root = TraceContext::root();
        assert_eq!(TraceContext::parse(&root.traceparent()).unwrap().traceparent(), root.traceparent());
        assert!(TraceContext::parse(&format!("01{}-later", &PARENT[2..])).is_ok());
    }

    #[test]
    fn what_is_no_traceparent_is_refused() {
        for wrong in [
            "",
            "00",
            &PARENT[..54],
            &format!("{PARENT}-more"),
            &PARENT.replace("00-", "ff-"),
            &PARENT.to_uppercase(),
            &PARENT.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &PARENT.replace("b7ad6b7169203331", &"0".repeat(16)),
            &PARENT.replace('a', "g"),
            "00-é",
        ] {
            assert!(TraceContext::parse(wrong).is_err(), "{wrong}");
        }
        let context = TraceContext::parse(PARENT).unwrap();
        assert!(context.clone().state("a\nb").is_err() && context.clone().correlation("x".repeat(257)).is_err());
        let names: Vec<String> =
            context.state("k=v").unwrap().correlation("c").unwrap().variables().map(|(name, _)| name).collect();
        assert_eq!(names, ["TRACEPARENT", "TRACESTATE", "CORRELATION_ID"]);
    }
}
