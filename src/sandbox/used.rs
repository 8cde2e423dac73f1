//! What a guest asked of the host, for the outcome.

/// The most of each, or all of it. What the directory holds is counted by the quota.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// Read from standard input, in all.
    pub stdin_bytes: u64,
    /// Random bytes, in all.
    pub random_bytes: u64,
    /// The longest path.
    pub path_bytes: u64,
    /// The most subscriptions of one poll.
    pub poll_subscriptions: u64,
    /// The most that one read or write moved, its list of buffers included.
    pub hostcall_bytes: u64,
}
