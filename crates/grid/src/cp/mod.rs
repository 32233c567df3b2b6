//! Structures to agree by: numbers and values that are changed in one step, latches, semaphores, locks, and the sessions that own permits
//! and locks.
//!
//! Clients ask for them by a name and a group, which together are the structure's name here: `name`, or `name@group`. Each lives on one
//! strand, so what happens to it happens in one order (it is linearizable). One that is destroyed stays destroyed: whoever still uses it
//! must not find a new one in its place.

mod atomic_long;
mod atomic_reference;
mod latch;
mod lock;
mod semaphore;
mod session;

pub use atomic_long::AtomicLong;
pub use atomic_reference::AtomicReference;
pub use latch::CountDownLatch;
pub use lock::{FencedLock, LockOwnership};
pub use semaphore::{Acquirer, Semaphore};
pub use session::{Session, SessionId, Sessions};

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an act waits, from its first try on.
#[derive(Debug, Serialize, Deserialize)]
struct Patience {
    /// For ever when there is none.
    timeout: Option<Duration>,
    #[serde(skip)]
    deadline: Option<Duration>,
}

impl Patience {
    fn new(timeout: Option<Duration>) -> Self {
        Self { timeout, deadline: None }
    }

    /// True for one that does not wait.
    fn is_none(&self) -> bool {
        self.timeout == Some(Duration::ZERO)
    }

    /// When it ends; never when that is later than the clock can tell.
    fn until(&mut self, now: Duration) -> Option<Duration> {
        if self.deadline.is_none() {
            self.deadline = self.timeout.and_then(|timeout| now.checked_add(timeout));
        }
        self.deadline
    }
}
