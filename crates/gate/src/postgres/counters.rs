//! What the door counts.

crate::counters::counters! {
    /// Clients let in.
    logins,
    /// Clients whose user or password was wrong.
    failed_logins,
    /// Statements that were run.
    statements,
    /// Statements that failed.
    failures,
    /// Cancel requests, whether their key was right or not.
    cancels,
    /// Connections that were closed because their bytes are no messages.
    malformed,
}
