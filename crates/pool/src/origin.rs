//! The client that work is done for, so that a report of a slow task can name it.
//!
//! An origin is a number that a thread carries while it works for a client, and that mail of a strand takes along. Whoever made the number
//! knows what it stands for, and is asked only when there is something to report. Names themselves in each letter were rejected: an operation
//! takes less time than their reference counts cost on many threads.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError, Weak};

/// The client that a thread works for, as a number; [`Origin::default`] for none.
///
/// ```
/// use filbert_pool::Origin;
///
/// assert_eq!(Origin::current(), Origin::default());
/// let guard = Origin::new(7).enter();
/// assert_eq!(Origin::current(), Origin::new(7));
/// drop(guard);
/// assert_eq!(Origin::current(), Origin::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Origin(u64);

/// A client as reports name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginName {
    /// The address that it connects from.
    pub client: String,
    /// The user that it logged in as.
    pub user: Option<String>,
}

/// A directory of clients by the numbers that it gave them.
pub trait OriginNames: Send + Sync {
    /// Names a client; `None` for one that this directory does not know, or that is gone.
    fn name(&self, origin: Origin) -> Option<OriginName>;
}

thread_local! {
    static CURRENT: Cell<Origin> = const { Cell::new(Origin(0)) };
    /// The last one that was left; for reports, which come after the work.
    static LAST: Cell<Origin> = const { Cell::new(Origin(0)) };
}

impl Origin {
    /// Returns the origin of that number; 0 stands for none.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Returns whom this thread works for.
    #[inline]
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Says that this thread works for that client until the result is dropped.
    #[inline]
    pub fn enter(self) -> EnteredOrigin {
        EnteredOrigin { before: CURRENT.replace(self) }
    }

    /// Forgets whom the thread worked for last: a task begins, and may not say.
    #[inline]
    pub(crate) fn forget_last() {
        LAST.set(Self(0));
    }

    /// Returns whom a task on this thread works for, or has just worked for.
    pub(crate) fn of_report() -> Self {
        match CURRENT.get() {
            Self(0) => LAST.get(),
            current => current,
        }
    }
}

/// The promise of a thread to work for a client; see [`Origin::enter`].
#[derive(Debug)]
#[must_use = "dropped, the thread works for whom it worked for before"]
pub struct EnteredOrigin {
    before: Origin,
}

impl Drop for EnteredOrigin {
    #[inline]
    fn drop(&mut self) {
        LAST.set(CURRENT.replace(self.before));
    }
}

/// All directories of a set of stages.
#[derive(Default)]
pub(crate) struct OriginDirectories(Mutex<Vec<Weak<dyn OriginNames>>>);

impl OriginDirectories {
    pub(crate) fn add(&self, names: Weak<dyn OriginNames>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|names| names.strong_count() > 0);
        all.push(names);
    }

    /// Names a client by the first directory that knows it.
    pub(crate) fn name(&self, origin: Origin) -> Option<OriginName> {
        if origin == Origin::default() {
            return None;
        }
        // Not under the lock: a directory has locks of its own.
        let all: Vec<_> = {
            let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        all.iter().find_map(|names| names.name(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Even;

    impl OriginNames for Even {
        fn name(&self, origin: Origin) -> Option<OriginName> {
            let client = format!("client {}", origin.number());
            origin.number().is_multiple_of(2).then_some(OriginName { client, user: None })
        }
    }

    #[test]
    fn a_report_names_the_innermost_client_also_when_its_work_is_over() {
        let outer = Origin::new(1).enter();
        drop(Origin::new(2).enter());
        assert_eq!((Origin::current(), Origin::of_report()), (Origin::new(1), Origin::new(1)));
        drop(outer);
        assert_eq!((Origin::current(), Origin::of_report()), (Origin::default(), Origin::new(1)));
        Origin::forget_last();
        assert_eq!(Origin::of_report(), Origin::default());
    }

    #[test]
    fn a_directory_that_is_gone_knows_nobody() {
        let directories = OriginDirectories::default();
        let even: Arc<dyn OriginNames> = Arc::new(Even);
        directories.add(Arc::downgrade(&even));
        let client = |number| directories.name(Origin::new(number)).map(|name| name.client);
        assert_eq!(client(4).as_deref(), Some("client 4"));
        assert_eq!((client(3), client(0)), (None, None));
        drop(even);
        assert_eq!(client(4), None);
    }
}
