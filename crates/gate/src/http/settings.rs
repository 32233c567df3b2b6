//! The settings of the door: where, for whom, with which limits.

use crate::entrance::{Entrance, is_address};
use crate::hazelcast::{HazelcastSettings, User};
use filbert_net::{NetSettings, TlsSettings};
use filbert_pool::settings_fields::{self, Shape, is_named};
use std::net::{Ipv4Addr, SocketAddr};

filbert_pool::settings_struct! {
    /// The settings of the door for those who watch. Change what you want of [`HttpSettings::default`].
    ///
    /// Without users everybody is told everything, which only an address of this machine alone allows.
    pub struct HttpSettings {
        /// Where to listen.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)) => Shape::Text(is_address),
        /// Who may read figures, with a password or a token; each needs all rights ("*"). None: everybody.
        pub users: Vec<User> = Vec::new() => Shape::List(User::FIELDS),
        /// Names by which requests may call the member when it has no users, beside localhost and every address: a page of a stranger, open in a
        /// browser of this machine, must not read figures under a name of its own.
        pub hosts: Vec<String> = Vec::new() => Shape::Texts(is_named),
        /// /health/ready tells of a stage when all its threads have been inside one task for longer and other work waits as long. 0: never.
        pub stuck_ms: u64 = 10_000 => Shape::Number(0, 86_400_000),
        /// Encryption, which clients must use then. Not set: none, which only an address of this machine alone allows.
        pub tls: Option<TlsSettings> = None => Shape::Table(TlsSettings::FIELDS),
        /// Limits of all connections; before_login_bytes is what the head of a request may have.
        pub connections: NetSettings = NetSettings {
            connections: 100,
            connections_per_address: 50,
            before_login_bytes: 8 << 10,
            idle_timeout_ms: 60_000,
            ..NetSettings::default()
        } => Shape::Table(NetSettings::FIELDS),
    }
}

impl HttpSettings {
    /// With the users of the Hazelcast door, unless there are others: who is asked for a name there is asked for it here.
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
        problems
    }

    pub(super) fn entrance(&self) -> Entrance<'_> {
        Entrance {
            address: self.address,
            users: &self.users,
            credentials: "a password or a token",
            tls: self.tls.as_ref(),
            connections: &self.connections,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_sound_and_others_reach_it_only_known_and_encrypted() {
        assert_eq!(HttpSettings::default().problems(), Vec::<String>::new());
        let open = HttpSettings { address: "0.0.0.0:8080".parse().unwrap(), ..HttpSettings::default() };
        let said = open.problems().join(" ");
        for word in ["tls with cert_pem_path", "at least one user", "127.0.0.1:8080"] {
            assert!(said.contains(word), "{said}");
        }
    }
}
