//! What a running member takes over of new settings: users with their rights, and certificates.
//!
//! Everything is read and checked before anything changes, so that settings with a mistake leave the member as it is. The users are judged
//! together with the addresses that the doors listen on, not with those of the new settings, which need a restart: a door that others reach
//! never goes without users.

use crate::config::MemberConfig;
use crate::doors::{DoorSettings, Doors};
use crate::member::{Member, StartError};
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_net::{Certificates, TlsError, TlsSettings};

/// What a reload has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// The doors whose certificates were read again, each as one word.
    pub certificates: Vec<&'static str>,
    /// Connections that were closed, because their user was removed, or has another password, token or rights.
    pub closed_connections: usize,
}

impl Member {
    /// Takes over the users, rights and certificates of new settings, while the member runs. The others stay as they were at the start.
    ///
    /// New connections get the new certificates and users. Open ones stay, except those of users that were removed or changed: they are
    /// closed. It reads files and hashes passwords; call it from a thread that may block.
    ///
    /// ```
    /// use filbert::{Member, MemberConfig};
    ///
    /// let text = "[hazelcast]\naddress = '127.0.0.1:0'\n[[hazelcast.users]]\nname = 'ann'\npassword = 'a'\nmay = ['*']";
    /// let member = Member::builder().hazelcast(MemberConfig::from_toml(text)?.hazelcast).start()?;
    /// let reloaded = member.reload(&MemberConfig::from_toml(&text.replace("'ann'", "'bob'"))?)?;
    /// assert_eq!(reloaded.closed_connections, 0);
    /// # Ok::<(), filbert::StartError>(())
    /// ```
    ///
    /// # Errors
    /// When a certificate cannot be read, or the users do not fit the doors. Then nothing has changed.
    pub fn reload(&self, config: &MemberConfig) -> Result<Reloaded, StartError> {
        // Held meanwhile: reloads come one after the other, and an ending member waits for this one.
        let mut doors = self.doors();
        match doors.as_mut() {
            Some(doors) => doors.reload(config),
            None => Ok(Reloaded { certificates: Vec::new(), closed_connections: 0 }),
        }
    }
}

impl Doors {
    fn reload(&mut self, config: &MemberConfig) -> Result<Reloaded, StartError> {
        let wanted = self.settings.with_users_and_certificates_of(config);
        let problems = wanted.problems();
        if !problems.is_empty() {
            return Err(StartError::Settings { problems });
        }
        let load = |door, tls: Option<&TlsSettings>| tls.map(|tls| load(door, tls)).transpose();
        let hazelcast = load("hazelcast", wanted.hazelcast.as_ref().and_then(|door| door.tls.as_ref()))?;
        let postgres = load("postgres", wanted.postgres.as_ref().and_then(|door| door.tls.as_ref()))?;
        let http = load("http", wanted.http.as_ref().and_then(|door| door.tls.as_ref()))?;
        let mut closed_connections = 0;
        let mut certificates = Vec::new();
        let mut renewed = |door, is_renewed: Option<bool>| {
            if is_renewed == Some(true) {
                certificates.push(door);
            }
        };
        // The only one that can still fail comes first.
        if let (Some(door), Some(settings)) = (&self.postgres, &wanted.postgres) {
            closed_connections += door.replace_users(settings.users.clone()).map_err(StartError::Postgres)?;
            renewed("postgres", postgres.map(|certificates| door.renew(certificates)));
        }
        if let (Some(door), Some(settings)) = (&self.hazelcast, &wanted.hazelcast) {
            closed_connections += door.replace_users(settings.users.clone());
            renewed("hazelcast", hazelcast.map(|certificates| door.renew(certificates)));
        }
        if let (Some((door, monitor)), Some(settings)) = (&self.http, &wanted.http) {
            door.replace_users(settings.users.clone());
            renewed("http", http.map(|certificates| door.renew(certificates)));
            monitor.shows_texts(wanted.shows_texts());
        }
        certificates.sort_unstable();
        self.settings = wanted;
        Ok(Reloaded { certificates, closed_connections })
    }
}

fn load(door: &str, tls: &TlsSettings) -> Result<Certificates, StartError> {
    let problem = |error: TlsError| StartError::Settings { problems: vec![format!("{door}.tls: {error}")] };
    tls.load().map_err(problem)
}

impl DoorSettings {
    /// Returns the settings of the open doors with the users and certificates of others. A door that is not encrypted stays so.
    fn with_users_and_certificates_of(&self, config: &MemberConfig) -> Self {
        // A member that has no door for Hazelcast clients has no users of it either.
        let known =
            if self.hazelcast.is_some() { config.hazelcast.clone() } else { HazelcastSettings::default() };
        let tls = |open: &Option<TlsSettings>, new: Option<TlsSettings>| {
            open.clone().map(|open| new.unwrap_or(open))
        };
        let mut wanted = self.clone();
        if let Some(door) = &mut wanted.hazelcast {
            (door.users, door.tls) = (known.users.clone(), tls(&door.tls, known.tls.clone()));
        }
        if let Some(door) = &mut wanted.postgres {
            let new = config.postgres.clone().or_users_of(&known);
            (door.users, door.tls) = (new.users, tls(&door.tls, new.tls));
        }
        if let Some(door) = &mut wanted.http {
            let new = config.http.clone().or_users_of(&known);
            (door.users, door.tls) = (new.users, tls(&door.tls, new.tls));
        }
        wanted
    }

    /// Names what is wrong with the settings of all doors.
    fn problems(&self) -> Vec<String> {
        let named = |door: &'static str, problems: Vec<String>| {
            problems.into_iter().map(move |problem| format!("{door}.{problem}"))
        };
        let hazelcast = self.hazelcast.iter().flat_map(|door| named("hazelcast", door.problems()));
        let postgres = self.postgres.iter().flat_map(|door| named("postgres", door.problems()));
        let http = self.http.iter().flat_map(|door| named("http", door.problems()));
        hazelcast.chain(postgres).chain(http).collect()
    }
}
