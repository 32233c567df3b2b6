//! The striped mechanism, simulated and on real threads.

mod basics;
mod ending;
mod hostile;
mod orders;
mod simulated;
mod takeover;

use super::{Striped, StripedSettings};
use crate::context::StageId;
use crate::engine::Ending;
use crate::env::Env;
use crate::eventually::eventually;
use crate::rules::StageKind;
use std::sync::Arc;
use std::time::Duration;

const TAKEOVER: Duration = Duration::from_millis(2);

fn settings(threads: usize) -> StripedSettings {
    StripedSettings { threads, strands: 16, slow_limit: None, ..StripedSettings::default() }
}

/// A stage that ends with the test.
struct TestStage {
    env: Arc<Env>,
    striped: Striped,
}

impl TestStage {
    fn new(env: Arc<Env>, settings: StripedSettings) -> Self {
        let striped = Striped::start(&env, StageId::of(StageKind::Partition), settings);
        Self { env, striped }
    }

    fn real(settings: StripedSettings) -> Self {
        Self::new(Env::real(), settings)
    }

    fn simulated(seed: u64, settings: StripedSettings) -> Self {
        Self::new(Env::simulated(seed), settings)
    }
}

impl Drop for TestStage {
    fn drop(&mut self) {
        self.striped.engine().close(Ending::Cancel);
        match self.env.simulator() {
            Some(simulator) if !std::thread::panicking() => simulator.settle(&self.env, u64::MAX / 4),
            Some(_) => {}
            None => {
                let left = self.env.threads().join(Duration::from_secs(30));
                if !std::thread::panicking() {
                    assert!(left.is_empty(), "threads that do not end: {left:?}");
                }
            }
        }
    }
}

/// Blocks the current task until `done`: really, or by letting the simulation go on without this worker.
fn block_until(env: &Arc<Env>, mut done: impl FnMut() -> bool) {
    match env.simulator() {
        Some(simulator) => simulator.drive(env, None, &mut done),
        None => eventually("a condition in a blocked task", done),
    }
}
