//! Stages that do not get on with their work: every thread is inside one task for long, and other work waits.
//!
//! Two statements with a slow function once held all workers of SQL for a minute, and health said that all was well. A stage with one slow task is
//! no such case, and neither is one that has much to do: there the tasks that run change. Stages whose threads may block, or compute for
//! long, are not looked at: that is what they are for.

use filbert_pool::StageSnapshot;
use std::time::Duration;

/// The stages whose tasks are short, with their pools.
const SHORT: [&str; 5] = ["io", "partition", "query", "fragment", "flow"];

/// A line for each stage that has been stuck for longer than `limit`.
pub(super) fn lines(stages: &[StageSnapshot], limit: Duration) -> String {
    stages.iter().filter_map(|stage| line(stage, limit)).collect()
}

fn line(stage: &StageSnapshot, limit: Duration) -> Option<String> {
    let kind = stage.stage.split('/').next().unwrap_or(stage.stage);
    let is_long = |ms: u64| u128::from(ms) >= limit.as_millis();
    let waited = stage.oldest_ms.filter(|waited| SHORT.contains(&kind) && is_long(*waited))?;
    let all_are_long = stage.running.iter().all(|task| is_long(task.for_ms));
    if stage.running.len() < stage.threads || !all_are_long {
        return None;
    }
    let longest = stage.running.iter().max_by_key(|task| task.for_ms)?;
    Some(format!(
        "stage {}: each of its {} threads is inside one task, the longest is {} since {} s, and other work has waited for {} s\n",
        stage.stage,
        stage.running.len(),
        longest.task,
        longest.for_ms / 1_000,
        waited / 1_000
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_pool::{RunningNow, Stages};

    fn snapshot(stage: &'static str, oldest_ms: Option<u64>, running_ms: &[u64]) -> StageSnapshot {
        let stages = Stages::simulated(1);
        let any = stages.snapshot().into_iter().next().unwrap();
        let running = running_ms.iter().enumerate();
        let running = running.map(|(worker, for_ms)| RunningNow { task: "slow", worker, for_ms: *for_ms });
        StageSnapshot { stage, threads: 2, oldest_ms, running: running.collect(), ..any }
    }

    #[test]
    fn a_stage_is_stuck_when_no_thread_gets_on_and_work_waits() {
        let said = |stage, oldest, running: &[u64]| {
            lines(&[snapshot(stage, oldest, running)], Duration::from_secs(10))
        };
        let stuck = said("fragment", Some(11_000), &[12_000, 40_000]);
        assert_eq!(
            stuck,
            "stage fragment: each of its 2 threads is inside one task, the longest is slow since 40 s, and other work has waited for 11 s\n"
        );
        assert!(said("fragment/reports", Some(11_000), &[12_000, 40_000, 10_000]).contains("3 threads"));
        assert_eq!(said("fragment", None, &[12_000, 40_000]), "", "nobody waits");
        assert_eq!(said("fragment", Some(9_000), &[12_000, 40_000]), "", "not for long");
        assert_eq!(said("fragment", Some(11_000), &[12_000, 5]), "", "one gets on");
        assert_eq!(said("fragment", Some(11_000), &[12_000]), "", "one is free");
        assert_eq!(said("mixed", Some(11_000), &[12_000, 40_000]), "", "its tasks may block");
    }
}
