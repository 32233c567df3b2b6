//! Tasks whose results are kept: as many as there is room for, until they are disposed of, for whoever asks.

use crate::long;
use crate::tasks::{Door, register};
use filbert_grid::{
    Code, DurableExecutorSettings, DurableTask, ExecutorServiceSettings, Grid, GridError, GridSettings,
    Registry, Service,
};
use filbert_pool::{Stages, simulate};
use filbert_wire::PartitionId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn grid(stages: &Stages, capacity: usize) -> Grid {
    grid_with(stages, capacity, GridSettings::default())
}

fn grid_with(stages: &Stages, capacity: usize, mut settings: GridSettings) -> Grid {
    settings.durable_executors.set("*", DurableExecutorSettings { capacity });
    settings.check().unwrap();
    let grid = Grid::with(stages, settings, Registry::new());
    register(&grid, "same", |argument, _| Ok(Some(argument.clone())));
    register(&grid, "fail", |_, _| Err("no".to_owned()));
    register(&grid, "panic", |_, _| panic!("boom"));
    grid
}

fn same(number: usize) -> Code {
    Code::named("same", long(number))
}

#[test]
fn results_stay_until_newer_ones_need_their_place() {
    simulate::seeds("results_stay_until_newer_ones_need_their_place", 0..100, |seed| {
        let stages = Stages::simulated(seed);
        let grid = grid(&stages, 3);
        let executor = grid.durable_executor("kept");
        let partition = PartitionId::new(7).unwrap();
        let tasks: Vec<_> =
            (0..5).map(|number| executor.submit_to_partition(same(number), partition)).collect();
        let tasks: Vec<DurableTask> = tasks.into_iter().filter_map(|task| task.wait().ok()).collect();
        for task in tasks {
            // It may have had to make room for a later one.
            let kept = executor.result(task).wait();
            assert!(matches!(kept, Ok(Some(_)) | Err(GridError::StaleTaskId { .. })), "{kept:?}");
        }
        let tasks: Vec<_> = (0..7)
            .map(|number| {
                let task = executor.submit_to_partition(same(number), partition).wait().unwrap();
                assert_eq!(executor.result(task).wait(), Ok(Some(long(number))));
                task
            })
            .collect();
        for (number, task) in tasks.iter().enumerate() {
            let (kept, id) = (executor.result(*task).wait(), DurableTask::from_id(task.id()));
            assert_eq!(id, Some(*task));
            if number < 4 {
                assert!(matches!(kept, Err(GridError::StaleTaskId { .. })), "{number}: {kept:?}");
            } else {
                assert_eq!(kept, Ok(Some(long(number))));
            }
        }
        assert_eq!(executor.take_result(tasks[6]).wait(), Ok(Some(long(6))));
        assert_eq!(executor.result(tasks[6]).wait(), Ok(None), "it was disposed of");
        executor.dispose(tasks[5]).wait().unwrap();
        assert_eq!(executor.take_result(tasks[5]).wait(), Ok(None));
        assert!(executor.dispose(tasks[0]).wait().is_err());
        let never = DurableTask { partition: PartitionId::new(8).unwrap(), sequence: 0 };
        assert!(matches!(executor.result(never).wait(), Err(GridError::StaleTaskId { .. })));
    });
}

#[test]
fn failures_are_results_and_a_task_is_where_its_key_is() {
    let stages = Stages::simulated(5);
    let grid = grid(&stages, 10);
    let executor = grid.durable_executor("kept");
    for (name, word) in [("fail", "no"), ("panic", "boom"), ("unknown", "not registered")] {
        let task = executor.submit_to_key_owner(Code::named(name, long(1)), &long(9)).wait().unwrap();
        assert_eq!(task.partition, long(9).partition());
        for _ in 0..2 {
            let failed = executor.result(task).wait().unwrap_err().to_string();
            assert!(failed.contains(word), "{failed}");
        }
    }
    let task = executor.submit(same(4)).wait().unwrap();
    assert_eq!(executor.result(task).wait(), Ok(Some(long(4))));
    assert_eq!(executor.is_shutdown().wait(), Ok(false));
    executor.shutdown().wait().unwrap();
    assert_eq!(executor.is_shutdown().wait(), Ok(true));
    let rejected = executor.submit(same(4)).wait();
    assert_eq!(rejected, Err(GridError::RejectedExecution { executor: "kept".to_owned() }));
    assert_eq!(executor.result(task).wait(), Ok(Some(long(4))), "results stay");
}

#[test]
fn a_ring_of_tasks_that_run_takes_no_more_and_its_end_is_told() {
    let stages = Stages::start().unwrap();
    let grid = grid(&stages, 2);
    let door = Arc::new(Door::default());
    let waits = Arc::clone(&door);
    register(&grid, "wait", move |argument, _| {
        waits.pass();
        Ok(Some(argument.clone()))
    });
    let (executor, partition) = (grid.durable_executor("full"), PartitionId::new(3).unwrap());
    let wait = |number| executor.submit_to_partition(Code::named("wait", long(number)), partition).wait();
    let (one, two) = (wait(1).unwrap(), wait(2).unwrap());
    door.visited_by(2);
    let refused = wait(3).unwrap_err();
    assert!(matches!(refused, GridError::TooManyTasks { limit: 2, .. }), "{refused}");
    let (first, second) = (executor.result(one), executor.result(two));
    executor.dispose(one).wait().unwrap();
    assert_eq!(first.wait(), Ok(None), "whoever waits for what is given up gets nothing");
    let three = executor.submit_to_partition(same(3), partition).wait().unwrap();
    assert_eq!(executor.result(three).wait(), Ok(Some(long(3))), "there is room for it");
    door.open();
    assert_eq!(second.wait(), Ok(Some(long(2))));
    let late = wait(4).unwrap();
    assert_eq!(executor.result(late).wait(), Ok(Some(long(4))));
    assert!(grid.structures().destroy(Service::DurableExecutor, "full"));
    assert!(matches!(executor.result(late).wait(), Err(GridError::Destroyed { .. })));
    assert!(executor.submit(same(1)).wait().is_err());
}

/// A task that its threads refused took the place of a result.
#[test]
fn a_task_that_is_refused_takes_no_place() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("*", ExecutorServiceSettings { threads: 1, capacity: 1 });
    let grid = grid_with(&stages, 3, settings);
    let door = Arc::new(Door::default());
    let waits = Arc::clone(&door);
    register(&grid, "wait", move |_, _| {
        waits.pass();
        Ok(None)
    });
    let (executor, partition) = (grid.durable_executor("busy"), PartitionId::new(3).unwrap());
    let submit = |code| executor.submit_to_partition(code, partition).wait();
    let kept = submit(same(1)).unwrap();
    assert_eq!(executor.result(kept).wait(), Ok(Some(long(1))));
    let running = submit(Code::named("wait", long(0))).unwrap();
    door.visited_by(1);
    let queued = submit(same(2)).unwrap();
    for _ in 0..5 {
        let refused = submit(same(3)).unwrap_err();
        assert!(matches!(refused, GridError::Refused(_)) && refused.is_retryable(), "{refused}");
    }
    assert_eq!(executor.result(kept).wait(), Ok(Some(long(1))), "nothing took its place");
    door.open();
    assert_eq!(executor.result(running).wait(), Ok(None));
    assert_eq!(executor.result(queued).wait(), Ok(Some(long(2))));
    submit(same(4)).unwrap();
    assert!(matches!(executor.result(kept).wait(), Err(GridError::StaleTaskId { .. })));
}

/// What was queued when its executor was destroyed, or when it was disposed of, ran all the same.
#[test]
fn a_task_that_nobody_wants_any_more_never_begins() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("*", ExecutorServiceSettings { threads: 1, capacity: 100 });
    let grid = grid_with(&stages, 10, settings);
    let door = Arc::new(Door::default());
    let [saw, runs] = [0, 0].map(|none| Arc::new(AtomicUsize::new(none)));
    let (waits, sees, counts) = (Arc::clone(&door), Arc::clone(&saw), Arc::clone(&runs));
    register(&grid, "wait", move |_, context| {
        waits.pass();
        sees.fetch_add(usize::from(context.is_cancelled()), Ordering::SeqCst);
        Ok(None)
    });
    register(&grid, "count", move |_, _| {
        counts.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    });
    let (executor, partition) = (grid.durable_executor("gone"), PartitionId::new(3).unwrap());
    let submit = |name| executor.submit_to_partition(Code::named(name, long(0)), partition).wait().unwrap();
    submit("wait");
    door.visited_by(1);
    let queued: Vec<_> = (0..5).map(|_| submit("count")).collect();
    executor.dispose(queued[0]).wait().unwrap();
    let waits: Vec<_> = queued[1..].iter().map(|task| executor.result(*task)).collect();
    assert!(grid.structures().destroy(Service::DurableExecutor, "gone"));
    for waits in waits {
        assert!(matches!(waits.wait(), Err(GridError::Destroyed { .. })));
    }
    door.open();
    // It has the same thread, after all that was queued.
    let next = grid.durable_executor("gone");
    let last = next.submit(same(1)).wait().unwrap();
    assert_eq!(next.result(last).wait(), Ok(Some(long(1))));
    let [saw, runs] = [saw, runs].map(|count| count.load(Ordering::SeqCst));
    assert_eq!((saw, runs), (1, 0), "the one that ran was told, the others never began");
}
