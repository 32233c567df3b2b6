//! How the door is opened and closed again.

use super::answer::Page;
use super::session;
use super::settings::HttpSettings;
use crate::guesses::Guesses;
use crate::hazelcast::User;
use crate::users::Users;
use filbert_net::ListenError;
use filbert_pool::Stages;
use futures::future::BoxFuture;
use std::sync::Arc;

/// What there is to read.
pub trait Pages: Send + Sync + 'static {
    /// The page of a path, which begins with `/`; `None` when there is no such page.
    fn page(&self, path: &str) -> Option<BoxFuture<'static, Page>>;

    /// True when everybody may read it, also where the door has users: whether the member is well, and nothing else.
    fn is_public(&self, path: &str) -> bool;
}

/// A door for those who watch that is not open yet: see the [module](super).
#[must_use = "call `open`"]
pub struct Door {
    stages: Stages,
    pages: Arc<dyn Pages>,
    settings: HttpSettings,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Why the door stays shut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// The settings do not fit, or would let strangers in.
    #[error("the door for HTTP stays shut: {}", .problems.join("; "))]
    Settings {
        /// One sentence each: the setting, its value, what to set.
        problems: Vec<String>,
    },
    /// The address cannot be listened on, or the certificate does not work.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// A door that is open. Dropped, it closes at once.
pub type OpenDoor = crate::OpenDoor<Watched>;

/// What an open door keeps.
pub struct Watched(Arc<Host>);

/// What all connections share.
pub(super) struct Host {
    pub(super) stages: Stages,
    pub(super) pages: Arc<dyn Pages>,
    /// Who may read what is not public.
    pub(super) users: Users,
    /// Names that requests may be for where nobody logs in.
    pub(super) hosts: Vec<String>,
    /// The logins that failed.
    pub(super) guesses: Guesses,
}

impl Door {
    /// To these pages.
    pub fn new(stages: &Stages, pages: impl Pages, settings: HttpSettings) -> Self {
        Self { stages: stages.clone(), pages: Arc::new(pages), settings }
    }

    /// Listens from now on. Refused when others than programs of this machine could read unknown or unencrypted.
    ///
    /// # Errors
    /// Every problem of the settings at once, or why the address cannot be had.
    pub fn open(self) -> Result<OpenDoor, DoorError> {
        let problems = self.settings.problems();
        if !problems.is_empty() {
            return Err(DoorError::Settings { problems });
        }
        let listener = self.settings.entrance().listener();
        let host = Arc::new(Host {
            stages: self.stages.clone(),
            pages: self.pages,
            users: Users::new(self.settings.users),
            hosts: self.settings.hosts,
            guesses: Guesses::default(),
        });
        let shared = Arc::clone(&host);
        let door = listener.serve(&self.stages, move |stream| session::serve(Arc::clone(&shared), stream))?;
        Ok(OpenDoor::new(door, Watched(host)))
    }
}

impl OpenDoor {
    /// Lets these users in from now on. Every request says who it is from, so no connection needs to be closed.
    pub fn replace_users(&self, users: Vec<User>) {
        self.kept.0.users.replace(users);
    }
}
