//! The settings of the door: where, for whom, with which limits.

use super::rights::Rights;
use super::secret::Secret;
use filbert_net::{NetSettings, TlsSettings, is_loopback};
use filbert_wire::frame::Limits;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// The settings of the door for Hazelcast clients. Change what you want of [`HazelcastSettings::default`].
///
/// Without users everybody who names the cluster is let in, which only an address of this machine alone allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HazelcastSettings {
    /// Where to listen.
    pub address: SocketAddr,
    /// What clients are told that the member's address is, as `host:port`, when it is not the one they reached.
    pub public_address: Option<String>,
    /// What a client must call the cluster to be let in.
    pub cluster_name: String,
    /// Who may log in, and what each may do.
    pub users: Vec<User>,
    /// Encryption.
    pub tls: Option<TlsSettings>,
    /// Bytes of one message, after login.
    pub message_bytes: usize,
    /// Operations that wait (for a lock, an item, room) on one connection.
    pub waiting_invocations: usize,
    /// Bytes of the requests whose operations wait on one connection; when there are as many already, no more may wait.
    pub waiting_bytes: usize,
    /// Bytes of keys and values in one answer; a request whose answer would have more is refused.
    pub answer_bytes: usize,
    /// The same of all answers that are put together or wait to be taken; what would be more is refused.
    pub total_answer_bytes: usize,
    /// Structures that there may be before clients are refused to make more. Each takes memory, an
    /// empty map some hundred kilobytes.
    pub structures: usize,
    /// Logins that may fail on one connection before it is closed.
    pub failed_logins: u32,
    /// Limits of all connections.
    pub connections: NetSettings,
}

/// Someone who may log in: with a name and a password, or with a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The name, in logs too.
    pub name: String,
    /// The password that goes with the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
    /// A token that needs no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Secret>,
    /// What the user may do; nothing unless it stands here.
    #[serde(default)]
    pub may: Rights,
}

/// The largest value that fits by default.
const VALUE_BYTES: usize = 16 << 20;

/// Room for its key, its name and the frames around it.
const HEADROOM_BYTES: usize = 64 << 10;

impl Default for HazelcastSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 5701)),
            public_address: None,
            cluster_name: "dev".to_owned(),
            users: Vec::new(),
            tls: None,
            message_bytes: VALUE_BYTES + HEADROOM_BYTES,
            waiting_invocations: 65_536,
            waiting_bytes: 32 << 20,
            answer_bytes: 256 << 20,
            total_answer_bytes: 1 << 30,
            structures: 4_000,
            failed_logins: 3,
            connections: NetSettings::default(),
        }
    }
}

impl HazelcastSettings {
    /// Every problem there is, one sentence each: the setting, its value, what to set.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !is_loopback(self.address) {
            let mut missing = Vec::new();
            if self.tls.is_none() {
                missing.push("tls with cert_pem_path and key_pem_path");
            }
            if self.users.is_empty() {
                missing.push("at least one user with a password or token");
            }
            if !missing.is_empty() {
                problems.push(format!(
                    "address = {}: others than programs of this machine reach it, which needs {}; set that, or listen on 127.0.0.1:{}",
                    self.address,
                    missing.join(" and "),
                    self.address.port()
                ));
            }
        }
        for (at, user) in self.users.iter().enumerate() {
            let before = &self.users[..at];
            if before.iter().any(|other| other.name == user.name) {
                problems.push(format!("users: two are called {:?}; give each a name of its own", user.name));
            }
            if user.token.is_some() && before.iter().any(|other| other.token == user.token) {
                problems.push(format!("users: {:?} has the token of another; give each its own", user.name));
            }
            let secrets: Vec<_> = [&user.password, &user.token].into_iter().flatten().collect();
            if user.name.is_empty() {
                problems.push("users: one has no name; give each a name".to_owned());
            }
            if secrets.is_empty() || secrets.iter().any(|secret| secret.is_empty()) {
                problems.push(format!(
                    "users: {:?} has no password or token, or an empty one; there is no default: set one of them",
                    user.name
                ));
            }
        }
        let range = |name: &str, value: usize, least: usize, most: usize| {
            (value < least || value > most).then(|| format!("{name} = {value}: must be {least} to {most}"))
        };
        problems.extend(range("message_bytes", self.message_bytes, 4 << 10, 1 << 30));
        problems.extend(range("waiting_invocations", self.waiting_invocations, 1, 10_000_000));
        problems.extend(range("waiting_bytes", self.waiting_bytes, 1, 1 << 40));
        problems.extend(range("answer_bytes", self.answer_bytes, 1 << 10, 1 << 40));
        problems.extend(range("total_answer_bytes", self.total_answer_bytes, self.answer_bytes, 1 << 40));
        problems.extend(range("structures", self.structures, 1, 10_000_000));
        problems.extend(range("failed_logins", self.failed_logins as usize, 1, 1_000));
        if let Some(public) = &self.public_address
            && public_parts(public).is_none()
        {
            problems.push(format!(
                "public_address = {public:?}: must be host:port, such as filbert.example.org:5701"
            ));
        }
        if let Err(wrong) = self.connections.check() {
            problems.extend(wrong.problems.into_iter().map(|problem| format!("connections.{problem}")));
        }
        problems
    }

    /// What a connection may send after login.
    pub(super) fn limits(&self) -> Limits {
        Limits { frame_bytes: self.message_bytes, message_bytes: self.message_bytes, ..Limits::AFTER_LOGIN }
    }
}

/// Host and port.
pub(super) fn public_parts(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some((host, port.parse().ok()?)).filter(|(host, _)| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> User {
        User { name: "ann".into(), password: Some("secret".into()), token: None, may: Rights::everything() }
    }

    #[test]
    fn the_defaults_are_sound() {
        assert_eq!(HazelcastSettings::default().problems(), Vec::<String>::new());
    }

    #[test]
    fn an_address_that_others_reach_needs_encryption_and_users() {
        let address = "0.0.0.0:5701".parse().unwrap();
        let open = HazelcastSettings { address, ..HazelcastSettings::default() };
        let said = open.problems().join(" ");
        assert!(
            said.contains("tls with")
                && said.contains("at least one user")
                && said.contains("127.0.0.1:5701"),
            "{said}"
        );
        let in_the_clear = HazelcastSettings { users: vec![user()], ..open.clone() };
        assert!(!in_the_clear.problems()[0].contains("one user"));
        let tls =
            TlsSettings { cert_pem_path: "c".into(), key_pem_path: "k".into(), client_ca_pem_path: None };
        let for_all = HazelcastSettings { tls: Some(tls), ..open };
        assert!(!for_all.problems()[0].contains("tls"));
        let sound = HazelcastSettings { users: vec![user()], ..for_all };
        assert_eq!(sound.problems(), Vec::<String>::new());
    }

    #[test]
    fn every_problem_is_named() {
        let bob = || User { name: "bob".into(), ..user() };
        let bad = HazelcastSettings {
            users: vec![User { password: Some("".into()), ..user() }, User { password: None, ..bob() }],
            message_bytes: 1,
            public_address: Some("nowhere".into()),
            ..HazelcastSettings::default()
        };
        assert_eq!(bad.problems().len(), 4, "{:?}", bad.problems());
        // A login finds one user: with two of a name, or of a token, it would be chance which.
        let known = |user: User| User { token: Some("the same".into()), ..user };
        let twice = HazelcastSettings { users: vec![user(), user()], ..HazelcastSettings::default() };
        let shared =
            HazelcastSettings { users: vec![known(user()), known(bob())], ..HazelcastSettings::default() };
        for (bad, word) in [(twice, "two are called"), (shared, "token of another")] {
            let said = bad.problems();
            assert!(said.len() == 1 && said[0].contains(word), "{said:?}");
        }
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        assert_eq!(public_parts("a.b:1"), Some(("a.b", 1)));
        assert_eq!(public_parts("[::1]:5701"), Some(("::1", 5701)));
        assert_eq!((public_parts(":1"), public_parts("a:b"), public_parts("a")), (None, None, None));
    }
}
