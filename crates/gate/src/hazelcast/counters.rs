//! What the door counts.

crate::counters::counters! {
    /// Clients that logged in.
    logins,
    /// Logins that were refused.
    failed_logins,
    /// Messages of a type that is not served.
    unsupported,
    /// Messages that could not be decoded.
    malformed,
    /// Messages that the user had no right to.
    denied,
    /// Operations that were refused because too many of the connection wait already.
    overloaded,
}
