//! Who is let in: by the name of the cluster, and a password or a token when there are users.
//!
//! Every secret is compared, whichever fits, and each in constant time: neither the answer nor its time tells which part was wrong.

use super::host::Host;
use super::rights::Rights;
use super::settings::User;
use std::sync::Arc;
use uuid::Uuid;

/// What the answer to a login says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(super) enum Status {
    Authenticated = 0,
    WrongCredentials = 1,
    OtherSerialization = 2,
}

/// How `Data` is written.
pub(super) const SERIALIZATION: i8 = 1;

/// Someone who was let in. Lives in the connection; no later message can change it.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) client: Uuid,
    pub(super) user: Option<Arc<str>>,
    pub(super) rights: Arc<Rights>,
}

/// What a client shows.
pub(crate) enum Credentials<'a> {
    Password { name: Option<&'a str>, password: Option<&'a str> },
    Token(&'a [u8]),
}

impl Host {
    /// Decides on a login by these users of the door; the client counts as present from then on.
    pub(super) fn log_in(
        &self,
        users: &[User],
        cluster: &str,
        credentials: &Credentials<'_>,
        client: Option<Uuid>,
        serialization: i8,
    ) -> Result<Identity, Status> {
        if serialization != SERIALIZATION {
            return Err(Status::OtherSerialization);
        }
        let same_cluster = subtle_eq(cluster, &self.settings.cluster_name);
        let user = known(users, credentials);
        let (true, Some((user, rights))) = (same_cluster, user) else { return Err(Status::WrongCredentials) };
        let client = client.unwrap_or_else(|| self.grid.new_id());
        if !self.clients.enter(client, user.as_ref()) {
            return Err(Status::WrongCredentials);
        }
        Ok(Identity { client, user, rights: Arc::new(rights) })
    }
}

/// Finds the user of these credentials, with the rights; everybody has all rights when there are no users.
fn known(users: &[User], credentials: &Credentials<'_>) -> Option<(Option<Arc<str>>, Rights)> {
    if users.is_empty() {
        return Some((None, Rights::everything()));
    }
    let user = whose(users, credentials)?;
    Some((Some(Arc::from(user.name.as_str())), user.may.clone()))
}

/// Whose credentials these are. All users are looked at, so that the time does not tell which of them is known.
pub(crate) fn whose<'a>(users: &'a [User], credentials: &Credentials<'_>) -> Option<&'a User> {
    let mut found = None;
    for user in users {
        let fits = match credentials {
            Credentials::Password { name, password } => {
                let right = user
                    .password
                    .as_ref()
                    .is_some_and(|known| known.is(password.unwrap_or_default().as_bytes()));
                subtle_eq(name.unwrap_or_default(), &user.name) & right
            }
            Credentials::Token(token) => user.token.as_ref().is_some_and(|known| known.is(token)),
        };
        if fits {
            found = Some(user);
        }
    }
    found
}

fn subtle_eq(given: &str, known: &str) -> bool {
    use subtle::ConstantTimeEq;
    given.as_bytes().ct_eq(known.as_bytes()).into()
}
