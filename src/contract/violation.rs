//! What an executor does not hold.

use super::Claim;

/// A claim that does not hold, with what was expected and what came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{claim}: {broken}")]
#[non_exhaustive]
pub struct Violation {
    /// Which claim.
    pub claim: Claim,
    /// What was tried, what was expected, and what came.
    pub broken: String,
}
