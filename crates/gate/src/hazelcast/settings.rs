//! The settings of the door: where, for whom, with which limits.

use super::rights::Rights;
use super::secret::Secret;
use crate::entrance::{Entrance, is_address};
use filbert_net::{NetSettings, TlsSettings};
use filbert_pool::settings_fields::{self, Shape, is_named};
use filbert_wire::frame::Limits;
use std::net::{Ipv4Addr, SocketAddr};

/// The largest value that fits by default.
const VALUE_BYTES: usize = 16 << 20;

/// Room for its key, its name and the frames around it.
const HEADROOM_BYTES: usize = 64 << 10;

filbert_pool::settings_struct! {
    /// The settings of the door for Hazelcast clients. Change what you want of [`HazelcastSettings::default`].
    ///
    /// Without users everybody who names the cluster is let in, which only an address of this machine alone allows.
    pub struct HazelcastSettings {
        /// Where to listen.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 5701)) => Shape::Text(is_address),
        /// What clients are told that the member's address is, as host:port. Not set: the one they reached.
        pub public_address: Option<String> = None => Shape::Text(is_public_address),
        /// What a client must call the cluster to be let in.
        pub cluster_name: String = "dev".to_owned() => Shape::Text(is_named),
        /// Who may log in, and what each may do. None: whoever names the cluster.
        pub users: Vec<User> = Vec::new() => Shape::List(User::FIELDS),
        /// Encryption. Not set: none, which only an address of this machine alone allows.
        pub tls: Option<TlsSettings> = None => Shape::Table(TlsSettings::FIELDS),
        /// Bytes of one message, after login.
        pub message_bytes: usize = VALUE_BYTES + HEADROOM_BYTES => Shape::Number(4 << 10, 1 << 30),
        /// Operations that wait (for a lock, an item, room) on one connection.
        pub waiting_invocations: usize = 65_536 => Shape::Number(1, 10_000_000),
        /// Bytes of the requests whose operations wait on one connection; when there are as many already, no more may wait.
        pub waiting_bytes: usize = 32 << 20 => Shape::Number(1, 1 << 40),
        /// Bytes of such requests on all connections together, with 512 for each operation. Unless it is set, at most a twentieth of memory.limit_bytes.
        pub total_waiting_bytes: usize = 256 << 20 => Shape::Number(1, 1 << 40),
        /// Bytes of keys and values in one answer; a request whose answer would have more is refused. Unless it is set, at most total_answer_bytes.
        pub answer_bytes: usize = 256 << 20 => Shape::Number(1 << 10, 1 << 40),
        /// The same of all answers that are put together or wait to be taken; what would be more is refused. At least answer_bytes. Unless it is set, at most an eighth of memory.limit_bytes, or what one large value takes.
        pub total_answer_bytes: usize = 1 << 30 => Shape::Number(1 << 10, 1 << 40),
        /// Structures that there may be before clients are refused to make more. Each takes memory, a
        /// map some hundred kilobytes once all its partitions are used.
        pub structures: usize = 4_000 => Shape::Number(1, 10_000_000),
        /// Statements of SQL that one connection may have open: executed, and neither read to the end nor closed. One more waits until one of them is, a minute at most.
        pub sql_statements: usize = 32 => Shape::Number(1, 1_000_000),
        /// Bytes of rows on one page of a statement's result, roughly; a page has at least one row.
        pub sql_page_bytes: usize = 4 << 20 => Shape::Number(1 << 10, 1 << 30),
        /// Logins that may fail on one connection before it is closed.
        pub failed_logins: u32 = 3 => Shape::Number(1, 1_000),
        /// Limits of all connections.
        pub connections: NetSettings = NetSettings::default() => Shape::Table(NetSettings::FIELDS),
    }
}

filbert_pool::settings_struct! {
    /// Someone who may log in: with a name and a password, or with a token.
    pub struct User {
        /// The name, in logs too.
        pub name: String => Shape::Text(is_named),
        /// The password that goes with the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub password: Option<Secret> => Shape::Secret,
        /// A token that needs no name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub token: Option<Secret> => Shape::Secret,
        /// What the user may do, such as "map/orders*: read, put", or "*" for everything; nothing unless it stands here.
        #[serde(default)]
        pub may: Rights => Shape::Texts(is_right),
    }
}

fn is_public_address(text: &str) -> Result<(), String> {
    let right = || "must be host:port, such as filbert.example.org:5701".to_owned();
    public_parts(text).map(|_| ()).ok_or_else(right)
}

fn is_right(text: &str) -> Result<(), String> {
    text.parse::<Rights>().map(|_| ()).map_err(|error| error.to_string())
}

impl HazelcastSettings {
    /// Every problem there is, one sentence each: the setting, its value, what to set.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = settings_fields::check_values("", Self::FIELDS, self);
        self.entrance().add_problems(&mut problems);
        if self.total_answer_bytes < self.answer_bytes {
            problems.push(format!(
                "total_answer_bytes = {}: must not be less than answer_bytes, which is {}",
                self.total_answer_bytes, self.answer_bytes
            ));
        }
        problems
    }

    pub(super) fn entrance(&self) -> Entrance<'_> {
        Entrance {
            address: self.address,
            users: &self.users,
            credentials: "a password or token",
            tls: self.tls.as_ref(),
            connections: &self.connections,
        }
    }

    /// What a connection may send after login.
    pub(super) fn limits(&self) -> Limits {
        Limits { frame_bytes: self.message_bytes, message_bytes: self.message_bytes, ..Limits::AFTER_LOGIN }
    }
}

impl User {
    /// What is wrong with the users of a door, one sentence each.
    pub(crate) fn problems(users: &[Self]) -> Vec<String> {
        let mut problems = Vec::new();
        for (at, user) in users.iter().enumerate() {
            let before = &users[..at];
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
        problems
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
