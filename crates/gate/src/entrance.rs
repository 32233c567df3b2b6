//! What the settings of all doors have: where it is, who may come in, under which limits. Checked and opened in one way.

use crate::hazelcast::User;
use filbert_net::{Listener, NetSettings, TlsSettings, is_loopback};
use std::net::SocketAddr;

/// The part of a door's settings that all doors have.
pub(crate) struct Entrance<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) users: &'a [User],
    /// What a user must have to come in here, in words.
    pub(crate) credentials: &'static str,
    pub(crate) tls: Option<&'a TlsSettings>,
    pub(crate) connections: &'a NetSettings,
}

impl Entrance<'_> {
    /// Adds what is wrong, one sentence each: the setting, its value, what to set.
    pub(crate) fn add_problems(&self, problems: &mut Vec<String>) {
        problems.extend(self.exposure());
        problems.extend(User::problems(self.users));
        let connections = self.connections.check().err().map(|wrong| wrong.problems).unwrap_or_default();
        for problem in connections.into_iter().map(|problem| format!("connections.{problem}")) {
            // A value out of its range was found already.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }

    /// That strangers could come in, or listen.
    fn exposure(&self) -> Option<String> {
        if is_loopback(self.address) {
            return None;
        }
        let tls = self.tls.is_none().then(|| "tls with cert_pem_path and key_pem_path".to_owned());
        let users = self.users.is_empty().then(|| format!("at least one user with {}", self.credentials));
        let missing: Vec<String> = tls.into_iter().chain(users).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "address = {}: others than programs of this machine reach it, which needs {}; set that, or listen on 127.0.0.1:{}",
                self.address,
                missing.join(" and "),
                self.address.port()
            )
        })
    }

    /// What listens there.
    pub(crate) fn listener(&self) -> Listener {
        let listener = Listener::new(self.address).settings(self.connections.clone());
        match self.tls {
            Some(tls) => listener.tls(tls.clone()),
            None => listener,
        }
    }
}

/// Where a door may listen, as it is written in a configuration.
pub(crate) fn is_address(text: &str) -> Result<(), String> {
    let right = || "must be an IP address with a port, such as 127.0.0.1:5701 or [::1]:5701".to_owned();
    text.parse::<SocketAddr>().map(|_| ()).map_err(|_| right())
}
