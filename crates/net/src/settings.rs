//! The limits of connections: one declaration with the defaults, and a check that names every problem at once.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The limits of connections. Change what you want of [`NetSettings::default`].
///
/// ```
/// use filbert_net::NetSettings;
///
/// let settings = NetSettings { connections_per_address: 10, ..NetSettings::default() };
/// settings.check()?;
/// # Ok::<(), filbert_net::NetSettingsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetSettings {
    /// Connections in all.
    pub connections: usize,
    /// Connections from one IP address.
    pub connections_per_address: usize,
    /// Bytes of a message before login.
    pub before_login_bytes: usize,
    /// Bytes that wait to be sent on one connection: above, no more of its messages are handled until the peer has taken some.
    pub congested_bytes: usize,
    /// Bytes that wait to be sent on one connection: when there are more already, a further send closes it.
    pub overflow_bytes: usize,
    /// Bytes that wait to be sent on all connections together: above, only those connections are served on which nothing waits.
    pub total_congested_bytes: usize,
    /// Answers that one connection may be owed at a time; fewer when answers are large.
    pub owed_answers: usize,
    /// Time for the TLS handshake.
    pub handshake_timeout_ms: u64,
    /// Time until the peer must have logged in.
    pub login_timeout_ms: u64,
    /// Silence of the peer after which the protocol is asked what to do; it closes unless it says otherwise.
    pub idle_timeout_ms: u64,
    /// Time for which a peer may take nothing while something waits for it.
    pub stall_timeout_ms: u64,
    /// Connections that the system holds until they are accepted.
    pub backlog: u32,
}

impl Default for NetSettings {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: 1_000,
            before_login_bytes: 4 << 10,
            congested_bytes: 512 << 10,
            overflow_bytes: 32 << 20,
            total_congested_bytes: 256 << 20,
            owed_answers: 1_024,
            handshake_timeout_ms: 5_000,
            login_timeout_ms: 5_000,
            idle_timeout_ms: 300_000,
            stall_timeout_ms: 30_000,
            backlog: 1_024,
        }
    }
}

/// What is wrong with [`NetSettings`]: every problem, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings of connections do not fit: {}", .problems.join("; "))]
#[non_exhaustive]
pub struct NetSettingsError {
    /// One sentence each: the setting, its value, what it must be.
    pub problems: Vec<String>,
}

impl NetSettings {
    /// Every problem there is, or none.
    pub fn check(&self) -> Result<(), NetSettingsError> {
        let mut problems = Vec::new();
        let mut range = |name: &str, value: u64, least: u64, most: u64| {
            if value < least || value > most {
                problems.push(format!("{name} = {value}: must be {least} to {most}"));
            }
        };
        const GIB: u64 = 1 << 30;
        const DAY_MS: u64 = 86_400_000;
        range("connections", self.connections as u64, 1, 1_000_000);
        range("connections_per_address", self.connections_per_address as u64, 1, 1_000_000);
        range("before_login_bytes", self.before_login_bytes as u64, 64, GIB);
        range("congested_bytes", self.congested_bytes as u64, 1_024, GIB);
        range("overflow_bytes", self.overflow_bytes as u64, 1_024, 64 * GIB);
        range("total_congested_bytes", self.total_congested_bytes as u64, 1_024, 1_024 * GIB);
        range("owed_answers", self.owed_answers as u64, 1, 1_000_000);
        range("handshake_timeout_ms", self.handshake_timeout_ms, 1, DAY_MS);
        range("login_timeout_ms", self.login_timeout_ms, 1, DAY_MS);
        range("idle_timeout_ms", self.idle_timeout_ms, 1, DAY_MS);
        range("stall_timeout_ms", self.stall_timeout_ms, 1, DAY_MS);
        range("backlog", u64::from(self.backlog), 1, 65_535);
        if self.overflow_bytes < self.congested_bytes {
            problems.push(format!(
                "overflow_bytes = {}: must not be less than congested_bytes, which is {}: a connection is slowed \
                 before it is closed",
                self.overflow_bytes, self.congested_bytes
            ));
        }
        if problems.is_empty() { Ok(()) } else { Err(NetSettingsError { problems }) }
    }

    pub(crate) fn handshake_timeout(&self) -> Duration {
        Duration::from_millis(self.handshake_timeout_ms)
    }

    pub(crate) fn login_timeout(&self) -> Duration {
        Duration::from_millis(self.login_timeout_ms)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub(crate) fn stall_timeout(&self) -> Duration {
        Duration::from_millis(self.stall_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_sound() {
        assert_eq!(NetSettings::default().check(), Ok(()));
    }

    #[test]
    fn every_problem_is_named() {
        let bad = NetSettings {
            connections: 0,
            stall_timeout_ms: 0,
            congested_bytes: 2_048,
            overflow_bytes: 1_024,
            ..NetSettings::default()
        };
        let said = bad.check().unwrap_err();
        assert_eq!(said.problems.len(), 3, "{said}");
        for word in ["connections = 0", "stall_timeout_ms = 0", "congested_bytes, which is 2048"] {
            assert!(said.to_string().contains(word), "{said}");
        }
    }

    #[test]
    fn a_file_names_what_differs_and_nothing_unknown() {
        let read: NetSettings = toml::from_str("connections = 7").unwrap();
        assert_eq!(read, NetSettings { connections: 7, ..NetSettings::default() });
        assert!(toml::from_str::<NetSettings>("conections = 7").is_err());
    }
}
