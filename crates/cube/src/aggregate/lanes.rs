//! Tasks with numbers, at most so many at a time, whose results come back in the order of the numbers.

use crate::error::CubeError;
use filbert_pool::{WorkStealing, caught};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `body` for every number below `count`, on `lanes` threads at most. The first error, by number, is the one that is told; no task
/// starts after one is known.
pub(super) fn in_lanes<T: Send>(
    cpu: &WorkStealing,
    lanes: usize,
    count: usize,
    body: impl Fn(usize) -> Result<T, CubeError> + Sync,
) -> Result<Vec<T>, CubeError> {
    let lanes = lanes.min(count);
    if lanes <= 1 {
        return cpu.run(|| (0..count).map(&body).collect());
    }
    let results: Vec<Mutex<Option<Result<T, CubeError>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let lane = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = results.get(number) else { return };
            let result = caught(|| body(number))
                .unwrap_or_else(|message| Err(CubeError::aggregation_panicked(message)));
            if result.is_err() {
                next.fetch_add(count, Ordering::Relaxed);
            }
            *place.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(result);
        }
    };
    cpu.scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|_| lane());
        }
    });
    let results: Vec<_> = results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(|broken| broken.into_inner()))
        .collect();
    if let Some(error) = results.iter().flatten().find_map(|result| result.as_ref().err()) {
        return Err(error.clone());
    }
    results.into_iter().flatten().collect()
}
