//! Maps on disk, in a member of its own process: killed while clients write, damaged, backed up, and started again.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod bounds;
mod commands;
mod kills;
#[path = "../../../gate/tests/door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;
#[path = "../hostile/process.rs"]
#[allow(dead_code, reason = "shared with the hostile tests, which use more of it")]
mod process;

use process::Process;
use std::path::Path;

/// A member whose map `orders` is in that folder.
fn member(data: &Path, fsync: &str) -> Process {
    Process::start(&format!(
        "[grid]\ndata_directory = '{}'\n[map.orders.persistence]\nfsync = '{fsync}'\nfold_bytes = 65536",
        data.display()
    ))
}
