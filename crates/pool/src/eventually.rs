//! Waits for a condition, in tests; one that never comes true fails the test after a minute.

use std::time::{Duration, Instant};

/// Returns when `condition` holds.
///
/// # Panics
/// When it does not within a minute.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        // sleeps because what it waits for tells no one; the threads under test get the processor meanwhile.
        std::thread::sleep(Duration::from_micros(200));
    }
}
