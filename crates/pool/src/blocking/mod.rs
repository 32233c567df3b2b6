//! The stages whose work may block, and the event loops: `mixed`, `maintenance`, `dedicated` and `io`.
//!
//! Futures and blocking closures run on tokio: a multi-thread runtime for `mixed`, a small one for `maintenance` and each pool beside `mixed`, one
//! current-thread runtime per `io` loop. A *host* is what they share: something that runs futures and closures for a
//! stage. Under simulation the host is a set of polled tasks on the simulator's thread instead, and nothing above
//! knows the difference.

mod dedicated;
mod host;
mod io;
mod maintenance;
mod mixed;
mod mixed_pool;
mod periodic;
mod reactor;
mod refreshed;
mod runtime;
mod simulated_host;
mod simulated_thread;
mod slots;
mod tokio_host;

#[cfg(test)]
mod tests;

pub use dedicated::{Dedicated, StopSignal, WokenByStop};
pub(crate) use host::Host;
pub use io::Io;
pub(crate) use io::start as start_io;
pub use maintenance::Maintenance;
pub(crate) use maintenance::start as start_maintenance;
pub use mixed::Mixed;
pub(crate) use mixed::start as start_mixed;
pub use mixed_pool::MixedPool;
pub use periodic::Periodic;
pub use reactor::Reactor;
pub use refreshed::Refreshed;
