//! Maps on disk: a log per map that every change is appended to, folded from time to time into a snapshot.
//!
//! ```text
//! strand -- change --> pending bytes -- group commit, one flush for many --> log segment --> answers
//!   (never waits)        (memory)             stage mixed/store                  | full: sealed
//!                                                                                v
//!                                             stage maintenance: fold --> shelves (snapshot, 16 databases)
//!
//! start: shelves, and on top of them what the log says --> entries, shelf by shelf, side by side
//! ```
//!
//! | Where | What |
//! |---|---|
//! | `change.rs`, `frame.rs` | what is written, with a checksum each |
//! | `log.rs`, `segment.rs` | the log: appended, committed, flushed, sealed |
//! | `shelf.rs`, `sums.rs`, `overlay.rs` | the snapshot, and what a log changes of it |
//! | `manifest.rs` | which files there have to be |
//! | `folder_list.rs` | which folders there have to be |
//! | `marker.rs` | what a data directory is, and in which version |
//! | `definitions.rs` | what is to be known to read the maps |
//! | `store.rs` | the data directory of a member |
//! | `backup.rs`, `backup_file.rs` | backups: made, read, verified |
//!
//! Reads of a map never come here. Nothing here makes a thread, and the embedded database (`redb`) has none.
#![forbid(unsafe_code)]

mod backup;
mod backup_file;
mod change;
mod definitions;
mod error;
mod folder;
mod folder_list;
mod frame;
mod log;
mod manifest;
mod marker;
mod overlay;
mod room;
mod segment;
mod settings;
mod shelf;
mod store;
mod sums;
#[cfg(test)]
mod tests;

pub use backup::{MapReport, Progress, Report, backup, restore, verify};
pub use backup_file::incomplete;
pub use change::{Change, Entry, Life, Untold};
pub use definitions::{Definitions, FoundDefinitions};
pub use error::{Damage, Reach, StoreError};
pub use log::{MapLog, Pending};
pub use room::Room;
pub use settings::{Fsync, PersistenceSettings};
pub use store::{Recovery, ShelfState, Store};
