//! The users of an open door, which a reload of the settings replaces.
//!
//! A login and a reload may cross: the login finds its user, the reload removes that user and closes all of its connections, and only then
//! the login counts. So a login first tells its connection who it is, and then asks [`Users::are_still`]; a reload first replaces the users,
//! and then closes connections. Whichever comes second sees what the first has done.

use crate::hazelcast::User;
use std::sync::{Arc, PoisonError, RwLock};

/// The users that may log in now.
#[derive(Debug)]
pub(crate) struct Users(RwLock<Arc<[User]>>);

impl Users {
    pub(crate) fn new(users: Vec<User>) -> Self {
        Self(RwLock::new(users.into()))
    }

    /// Returns the users of this moment.
    pub(crate) fn now(&self) -> Arc<[User]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true when no reload has replaced `users`, which [`Users::now`] gave.
    pub(crate) fn are_still(&self, users: &Arc<[User]>) -> bool {
        Arc::ptr_eq(&self.0.read().unwrap_or_else(PoisonError::into_inner), users)
    }

    /// Replaces the users; returns which sessions must end because of that, or `None` when nothing has changed.
    pub(crate) fn replace(&self, users: Vec<User>) -> Option<OutdatedUsers> {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let outdated = OutdatedUsers::between(&current, &users.into())?;
        *current = Arc::clone(&outdated.after);
        Some(outdated)
    }
}

/// The difference that a reload made: who is not the same user any more.
pub(crate) struct OutdatedUsers {
    before: Arc<[User]>,
    after: Arc<[User]>,
}

impl OutdatedUsers {
    /// Compares two lists of users; `None` when they are equal.
    pub(crate) fn between(before: &Arc<[User]>, after: &Arc<[User]>) -> Option<Self> {
        (before != after).then(|| Self { before: Arc::clone(before), after: Arc::clone(after) })
    }

    /// Returns the users that there are from now on.
    pub(crate) fn after(&self) -> Arc<[User]> {
        Arc::clone(&self.after)
    }

    /// Returns true when a session of that user must end: the user was removed, or has another password, token or rights. A session
    /// without a user is from a time when the door had none.
    pub(crate) fn includes(&self, user: Option<&str>) -> bool {
        let Some(name) = user else { return self.before.is_empty() };
        let named = |users: &Arc<[User]>| users.iter().find(|user| user.name == name).cloned();
        named(&self.after).is_none_or(|after| named(&self.before) != Some(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hazelcast::Rights;

    fn user(name: &str, password: &str) -> User {
        User { name: name.into(), password: Some(password.into()), token: None, may: Rights::everything() }
    }

    #[test]
    fn sessions_of_changed_users_are_outdated_and_no_others() {
        let (ann, bob) = (user("ann", "a"), user("bob", "b"));
        let users = Users::new(vec![ann.clone(), bob.clone()]);
        let begun = users.now();
        assert!(users.replace(vec![ann.clone(), bob.clone()]).is_none() && users.are_still(&begun));
        let changed = users.replace(vec![ann.clone(), user("bob", "c"), user("eve", "e")]).unwrap();
        assert!(!users.are_still(&begun));
        assert!(!changed.includes(Some("ann")) && changed.includes(Some("bob")) && !changed.includes(None));
        let fewer = User { may: Rights::default(), ..ann.clone() };
        let changed = users.replace(vec![fewer]).unwrap();
        assert!(changed.includes(Some("ann")) && changed.includes(Some("bob")), "fewer rights; removed");
        let changed = users.replace(Vec::new()).unwrap();
        assert!(changed.includes(Some("ann")) && !changed.includes(None));
        let changed = users.replace(vec![ann]).unwrap();
        assert!(changed.includes(None), "it came when nobody was asked");
    }
}
