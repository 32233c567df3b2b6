//! Memory that goes back to the system when it has not been needed for a while: see [`process_memory`] for when that is.
//!
//! A timer and a short task on `maintenance`, which are there only while there is something to look at.

use filbert::Stages;
use filbert::pool::{WeakStages, process_memory};
use std::time::Duration;

/// The while for which memory must not have been needed.
const WHILE: Duration = Duration::from_secs(1);

/// From now on memory is given back, for as long as the stages are there.
pub(super) fn give_back(stages: &Stages) {
    let stages = stages.downgrade();
    process_memory::on_surplus(move || look_later(stages.clone()));
}

fn look_later(stages: WeakStages) {
    let Some(now) = stages.upgrade() else { return };
    now.clock().after(WHILE, move || {
        let Some(now) = stages.upgrade() else { return };
        let look = move || {
            if process_memory::settle(process_memory::give_back) {
                look_later(stages);
            }
        };
        // Refused when the member ends.
        if let Ok(looked) = now.maintenance().submit("give memory back", look) {
            looked.detach();
        }
    });
}
