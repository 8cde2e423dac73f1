//! What the host asks for: one script, as a JSON object.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::failure::Failure;

/// A script to run as `sh name args` would.
#[derive(Deserialize)]
pub struct Request {
    /// The script's name: `$0`, and what messages begin with.
    pub name: String,
    /// Its text.
    pub source: String,
    /// `$1` and what follows.
    pub args: Vec<String>,
    /// The variables that are not the same in every call, all of them exported.
    pub env: BTreeMap<String, String>,
    /// The working directory.
    pub cwd: String,
}

impl Request {
    pub fn parse(text: &[u8]) -> Result<Request, Failure> {
        serde_json::from_slice(text).map_err(|error| Failure::usage(format!("the request cannot be read: {error}")))
    }
}
