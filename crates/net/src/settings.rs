//! The limits of connections: one declaration with the defaults, and a check that names every problem at once.

use filbert_pool::settings_fields::{self, Shape};
use std::time::Duration;

const GIB: u64 = 1 << 30;
const DAY_MS: u64 = 86_400_000;

filbert_pool::settings_struct! {
    /// The limits of connections. Change what you want of [`NetSettings::default`].
    ///
    /// ```
    /// use filbert_net::NetSettings;
    ///
    /// let settings = NetSettings { connections_per_address: 10, ..NetSettings::default() };
    /// settings.check()?;
    /// # Ok::<(), filbert_net::NetSettingsError>(())
    /// ```
    pub struct NetSettings {
        /// Connections in all.
        pub connections: usize = 10_000 => Shape::Number(1, 1_000_000),
        /// Connections from one IP address.
        pub connections_per_address: usize = 1_000 => Shape::Number(1, 1_000_000),
        /// Bytes of a message before login.
        pub before_login_bytes: usize = 4 << 10 => Shape::Number(64, GIB),
        /// Bytes that wait to be sent on one connection: above, no more of its messages are handled until the peer has taken some.
        pub congested_bytes: usize = 512 << 10 => Shape::Number(1_024, GIB),
        /// Bytes that wait to be sent on one connection: when there are more already, a further send closes it.
        pub overflow_bytes: usize = 32 << 20 => Shape::Number(1_024, 64 * GIB),
        /// Bytes that wait to be sent on all connections together: above, only those connections are served on which nothing waits.
        pub total_congested_bytes: usize = 256 << 20 => Shape::Number(1_024, 1_024 * GIB),
        /// Answers that one connection may be owed at a time; fewer when answers are large.
        pub owed_answers: usize = 1_024 => Shape::Number(1, 1_000_000),
        /// Time for the TLS handshake.
        pub handshake_timeout_ms: u64 = 5_000 => Shape::Number(1, DAY_MS),
        /// Time until the peer must have logged in.
        pub login_timeout_ms: u64 = 5_000 => Shape::Number(1, DAY_MS),
        /// Silence of the peer after which the protocol is asked what to do; it closes unless it says otherwise.
        pub idle_timeout_ms: u64 = 300_000 => Shape::Number(1, DAY_MS),
        /// Time for which a peer may take nothing while something waits for it.
        pub stall_timeout_ms: u64 = 30_000 => Shape::Number(1, DAY_MS),
        /// Connections that the system holds until they are accepted.
        pub backlog: u32 = 1_024 => Shape::Number(1, 65_535),
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
        let mut problems = settings_fields::check_values("", Self::FIELDS, self);
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
