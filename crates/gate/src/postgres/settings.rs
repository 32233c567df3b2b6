//! The settings of the door: where, for whom, with which limits.

use crate::entrance::{Entrance, is_address};
use crate::hazelcast::{HazelcastSettings, User};
use filbert_net::{NetSettings, TlsSettings};
use filbert_pool::settings_fields::{self, Shape};
use std::net::{Ipv4Addr, SocketAddr};

/// What a stranger may send in one message.
const BEFORE_LOGIN_BYTES: usize = 10 << 10;

filbert_pool::settings_struct! {
    /// The settings of the door for PostgreSQL clients. Change what you want of [`PostgresSettings::default`].
    ///
    /// Without users everybody is let in, which only an address of this machine alone allows.
    pub struct PostgresSettings {
        /// Where to listen.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 5433)) => Shape::Text(is_address),
        /// Who may log in with a password (SCRAM-SHA-256), and what each may do. None: everybody, to everything.
        pub users: Vec<User> = Vec::new() => Shape::List(User::FIELDS),
        /// Encryption, which clients must use then. Not set: none, which only an address of this machine alone allows.
        pub tls: Option<TlsSettings> = None => Shape::Table(TlsSettings::FIELDS),
        /// Bytes of one message, after login.
        pub message_bytes: usize = 16 << 20 => Shape::Number(10 << 10, 1 << 30),
        /// Statements that one connection may have prepared.
        pub statements: usize = 10_000 => Shape::Number(1, 1_000_000),
        /// Portals that one connection may have open; each may hold a query that is not read to its end.
        pub portals: usize = 100 => Shape::Number(1, 1_000_000),
        /// Bytes of the prepared statements and the bound values of one connection.
        pub prepared_bytes: usize = 32 << 20 => Shape::Number(1 << 10, 1 << 40),
        /// Limits of all connections. Silence is measured between statements; what waits to be sent is one buffer each.
        pub connections: NetSettings = NetSettings {
            before_login_bytes: BEFORE_LOGIN_BYTES,
            idle_timeout_ms: 3_600_000,
            ..NetSettings::default()
        } => Shape::Table(NetSettings::FIELDS),
    }
}

impl PostgresSettings {
    /// With the users of the Hazelcast door, unless there are others: who is known at one door is known at both.
    ///
    /// ```
    /// use filbert_gate::hazelcast::{HazelcastSettings, Rights, User};
    /// use filbert_gate::postgres::PostgresSettings;
    ///
    /// let ann = User { name: "ann".into(), password: Some("secret".into()), token: None, may: Rights::everything() };
    /// let hazelcast = HazelcastSettings { users: vec![ann], ..HazelcastSettings::default() };
    /// assert_eq!(PostgresSettings::default().or_users_of(&hazelcast).users.len(), 1);
    /// ```
    #[must_use]
    pub fn or_users_of(mut self, hazelcast: &HazelcastSettings) -> Self {
        if self.users.is_empty() {
            self.users.clone_from(&hazelcast.users);
        }
        self
    }

    /// Every problem there is, one sentence each: the setting, its value, what to set.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = settings_fields::check_values("", Self::FIELDS, self);
        self.entrance().add_problems(&mut problems);
        if !self.users.is_empty() && self.users.iter().all(|user| user.password.is_none()) {
            problems.push(
                "users: none has a password, so nobody could log in; give one to those who may".to_owned(),
            );
        }
        problems
    }

    pub(super) fn entrance(&self) -> Entrance<'_> {
        Entrance {
            address: self.address,
            users: &self.users,
            credentials: "a password",
            tls: self.tls.as_ref(),
            connections: &self.connections,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hazelcast::Rights;

    fn user() -> User {
        User { name: "ann".into(), password: Some("secret".into()), token: None, may: Rights::everything() }
    }

    #[test]
    fn the_defaults_are_sound() {
        assert_eq!(PostgresSettings::default().problems(), Vec::<String>::new());
    }

    #[test]
    fn an_address_that_others_reach_needs_encryption_and_users() {
        let address = "0.0.0.0:5433".parse().unwrap();
        let open = PostgresSettings { address, ..PostgresSettings::default() };
        let said = open.problems().join(" ");
        for word in ["tls with cert_pem_path", "at least one user", "127.0.0.1:5433"] {
            assert!(said.contains(word), "{said}");
        }
        let in_the_clear = PostgresSettings { users: vec![user()], ..open.clone() };
        assert!(!in_the_clear.problems()[0].contains("one user"));
        let tls =
            TlsSettings { cert_pem_path: "c".into(), key_pem_path: "k".into(), client_ca_pem_path: None };
        let sound = PostgresSettings { users: vec![user()], tls: Some(tls), ..open };
        assert_eq!(sound.problems(), Vec::<String>::new());
    }

    #[test]
    fn users_without_any_password_could_not_log_in() {
        let token = User { password: None, token: Some("t".into()), ..user() };
        let said =
            PostgresSettings { users: vec![token], ..PostgresSettings::default() }.problems().join(" ");
        assert!(said.contains("none has a password"), "{said}");
    }
}
