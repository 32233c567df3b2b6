//! Starvation: tasks that fill every thread of their executor and wait for queries. With one pool for
//! both this is a deadlock; with stages that wait downwards only, all of them finish.

use filbert_pool::Stages;
use std::sync::{Arc, Barrier};

#[test]
fn tasks_that_fill_their_executor_may_wait_for_partitions_and_fragments() {
    let stages =
        Stages::builder().executor("scheduled").set("executor.scheduled.threads", 8).start().unwrap();
    let executor = stages.executor("scheduled").unwrap();
    let strands: Vec<_> = (0..16_u64).map(|key| stages.partition().strand(key, 0_u64)).collect();
    let strands = Arc::new(strands);
    for round in 0..20_u64 {
        // No task goes on before all threads of the executor are taken.
        let full = Arc::new(Barrier::new(8));
        let tasks: Vec<_> = (0..8_u64)
            .map(|task| {
                let (stages, strands, full) = (stages.clone(), Arc::clone(&strands), Arc::clone(&full));
                let body = move || {
                    full.wait();
                    let strand = &strands[(task * 3 + round) as usize % strands.len()];
                    let operation = strand.submit("count", |count| {
                        *count += 1;
                        *count
                    });
                    let counted = operation.unwrap().wait().unwrap();
                    let fragment = stages.fragment().submit("fragment", move || counted * 2).unwrap();
                    let future =
                        stages.fragment().spawn("async fragment", async move { counted * 3 }).unwrap();
                    let sum = stages.cpu().range(0..100_000).map(|i| i as u64).sum();
                    fragment.wait().unwrap() + future.wait().unwrap() + sum - sum
                };
                executor.submit("query", body).unwrap()
            })
            .collect();
        for task in tasks {
            let answer = task.wait().unwrap();
            assert_eq!(answer % 5, 0);
        }
    }
}
