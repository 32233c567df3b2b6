//! Tasks for later: they run when they are due and where they were sent, what they give is kept, and whoever waits is told.

use crate::tasks::{Door, LONG, register};
use crate::{long, number};
use filbert_grid::{
    Code, ExecutorServiceSettings, Grid, GridError, GridSettings, Registry, ScheduledExecutorSettings,
    ScheduledTask, Service, TaskPlace, TaskPlan,
};
use filbert_pool::{Stages, simulate};
use filbert_wire::PartitionId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn second(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// A grid with a task that counts its runs and gives the count; it fails with the run that its argument says.
fn counting(stages: &Stages, settings: GridSettings) -> (Grid, Arc<AtomicUsize>) {
    let grid = Grid::with(stages, settings, Registry::new());
    let runs = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&runs);
    register(&grid, "count", move |argument, _| {
        let run = counts.fetch_add(1, Ordering::SeqCst) + 1;
        match *argument == long(run) {
            true if run % 2 == 1 => panic!("run {run}"),
            true => Err(format!("run {run}")),
            false => Ok(Some(long(run))),
        }
    });
    (grid, runs)
}

fn count(fails_at: usize) -> Code {
    Code::named("count", long(fails_at))
}

#[test]
fn a_task_runs_once_when_it_is_due_and_its_result_stays() {
    simulate::seeds("a_task_runs_once_when_it_is_due_and_its_result_stays", 0..100, |seed| {
        let stages = Stages::simulated(seed);
        let (simulation, (grid, runs)) =
            (stages.simulation().unwrap(), counting(&stages, GridSettings::default()));
        let executor = grid.scheduled_executor("later");
        let task = executor.schedule(TaskPlan::once(count(0), second(10)).named("t")).wait().unwrap();
        let waits = executor.result(&task);
        simulation.advance(second(9));
        assert_eq!((executor.delay(&task).wait(), runs.load(Ordering::SeqCst)), (Ok(second(1)), 0));
        assert_eq!((executor.is_done(&task).wait(), waits.is_done()), (Ok(false), false));
        simulation.advance(second(1));
        assert_eq!((waits.wait(), executor.result(&task).wait()), (Ok(Some(long(1))), Ok(Some(long(1)))));
        assert_eq!(executor.is_done(&task).wait(), Ok(true));
        assert_eq!(
            (executor.is_cancelled(&task).wait(), executor.cancel(&task).wait()),
            (Ok(false), Ok(false))
        );
        let statistics = executor.statistics(&task).wait().unwrap();
        assert_eq!((statistics.runs, statistics.total_idle), (1, statistics.last_idle));
        assert!(statistics.last_idle >= second(10) && statistics.last_idle < second(11), "{statistics:?}");
        assert!(statistics.last_run < second(1), "{statistics:?}");
        assert_eq!(executor.tasks().wait(), Ok(vec![task.clone()]));
        simulation.advance(second(100));
        executor.dispose(&task).wait().unwrap();
        assert_eq!((executor.len(), runs.load(Ordering::SeqCst)), (0, 1));
        let stale = GridError::StaleTask { executor: "later".to_owned(), task: "t".to_owned() };
        assert_eq!(executor.result(&task).wait(), Err(stale.clone()));
        assert_eq!(executor.dispose(&task).wait(), Err(stale));
    });
}

/// Hazelcast's rule: an error or a panic ends further runs, and is what the task gave.
#[test]
fn a_task_at_a_fixed_rate_runs_until_it_fails_or_is_cancelled() {
    simulate::seeds("a_task_at_a_fixed_rate_runs_until_it_fails_or_is_cancelled", 0..100, |seed| {
        for fails_at in [3, 4] {
            let stages = Stages::simulated(seed);
            let (simulation, (grid, runs)) =
                (stages.simulation().unwrap(), counting(&stages, GridSettings::default()));
            let executor = grid.scheduled_executor("often");
            let plan = TaskPlan::at_fixed_rate(count(fails_at), second(1), second(10));
            let task = executor.schedule_on_member(plan, grid.member()).wait().unwrap();
            let waits = executor.result(&task);
            simulation.advance(second(15));
            assert_eq!((runs.load(Ordering::SeqCst), waits.is_done()), (2, false));
            assert_eq!(executor.delay(&task).wait(), Ok(second(6)));
            simulation.advance(second(1_000));
            assert_eq!(runs.load(Ordering::SeqCst), fails_at);
            let failed = waits.wait().unwrap_err().to_string();
            assert!(failed.contains(&format!("run {fails_at}")), "{failed}");
            assert_eq!(executor.is_done(&task).wait(), Ok(true));
            assert_eq!(executor.statistics(&task).wait().unwrap().runs, fails_at as u64);
        }
    });
    let stages = Stages::simulated(7);
    let (simulation, (grid, runs)) =
        (stages.simulation().unwrap(), counting(&stages, GridSettings::default()));
    let executor = grid.scheduled_executor("often");
    let plan = TaskPlan::at_fixed_rate(count(0), second(1), second(10)).named("x");
    let task = executor.schedule_on_key_owner(plan, &long(5)).wait().unwrap();
    assert_eq!(task.place, TaskPlace::Partition(long(5).partition()));
    simulation.advance(second(25));
    let waits = executor.result(&task);
    assert_eq!((executor.cancel(&task).wait(), executor.cancel(&task).wait()), (Ok(true), Ok(false)));
    let cancelled = GridError::TaskCancelled { executor: "often".to_owned(), task: "x".to_owned() };
    assert_eq!(waits.wait(), Err(cancelled));
    simulation.advance(second(100));
    assert_eq!((runs.load(Ordering::SeqCst), executor.is_cancelled(&task).wait()), (3, Ok(true)));
}

#[test]
fn a_name_is_one_task_of_its_place_and_the_capacity_holds_for_all() {
    let stages = Stages::simulated(3);
    let mut settings = GridSettings::default();
    settings.scheduled_executors.set("small", ScheduledExecutorSettings { capacity: 3 });
    settings.check().unwrap();
    let (grid, runs) = counting(&stages, settings);
    let executor = grid.scheduled_executor("small");
    let plan = || TaskPlan::once(count(0), second(1)).named("t");
    let [one, other] = [1, 2].map(|number| PartitionId::new(number).unwrap());
    let first = executor.schedule_on_partition(plan(), one).wait().unwrap();
    assert_eq!(
        executor.schedule_on_partition(plan(), one).wait(),
        Err(GridError::DuplicateTask { executor: "small".to_owned(), task: "t".to_owned() })
    );
    executor.schedule_on_partition(plan(), other).wait().unwrap();
    executor.schedule_on_member(plan(), grid.member()).wait().unwrap();
    let refused = executor.schedule(TaskPlan::once(count(0), second(1))).wait().unwrap_err();
    assert!(matches!(refused, GridError::TooManyTasks { limit: 3, .. }), "{refused}");
    stages.simulation().unwrap().advance(second(2));
    assert_eq!((executor.len(), runs.load(Ordering::SeqCst)), (3, 3), "a task that is done takes room");
    executor.dispose(&first).wait().unwrap();
    executor.schedule(TaskPlan::once(count(0), second(1)).auto_dispose()).wait().unwrap();
    stages.simulation().unwrap().advance(second(2));
    assert_eq!((executor.len(), runs.load(Ordering::SeqCst)), (2, 4), "one that nobody asks for does not");
    let stranger = grid.new_id();
    let lost = executor.schedule_on_member(plan(), stranger).wait();
    assert_eq!(lost, Err(GridError::NoSuchMember { member: stranger, here: grid.member() }));
    let each = |period| TaskPlan::at_fixed_rate(count(0), second(1), period);
    for wrong in [plan().named(""), each(Duration::ZERO), each(Duration::from_micros(999))] {
        let refused = executor.schedule(wrong).wait();
        assert!(matches!(refused, Err(GridError::BadArgument { .. })), "{refused:?}");
    }
    executor.shutdown().wait().unwrap();
    let rejected = executor.schedule(plan()).wait();
    assert_eq!(rejected, Err(GridError::RejectedExecution { executor: "small".to_owned() }));
}

#[test]
fn destroying_cancels_everything_and_tells_who_waits() {
    simulate::seeds("destroying_cancels_everything_and_tells_who_waits", 0..50, |seed| {
        let stages = Stages::simulated(seed);
        let (grid, runs) = counting(&stages, GridSettings::default());
        let executor = grid.scheduled_executor("gone");
        let plan = |number: u64| TaskPlan::at_fixed_rate(count(0), second(number), second(1));
        let tasks: Vec<_> = (5..25).map(|number| executor.schedule(plan(number)).wait().unwrap()).collect();
        let waits: Vec<_> = tasks.iter().map(|task| executor.result(task)).collect();
        assert!(grid.structures().destroy(Service::ScheduledExecutor, "gone"));
        for waits in waits {
            assert!(matches!(waits.wait(), Err(GridError::Destroyed { .. })));
        }
        stages.simulation().unwrap().advance(second(100));
        assert_eq!((runs.load(Ordering::SeqCst), executor.len()), (0, 0));
        assert!(executor.schedule(plan(1)).wait().is_err(), "the old handle");
        assert_eq!(grid.scheduled_executor("gone").tasks().wait(), Ok(Vec::new()), "another one is made");
    });
}

/// On real threads: a run that takes longer than its period is alone, sees that it was cancelled, and holds no partition up.
#[test]
fn a_run_that_takes_long_is_alone_and_sees_that_it_was_cancelled() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("*", ExecutorServiceSettings { threads: 4, capacity: 10 });
    let grid = Grid::with(&stages, settings, Registry::new());
    let (door, begun, saw) =
        (Arc::new(Door::default()), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waits, begins, sees) = (Arc::clone(&door), Arc::clone(&begun), Arc::clone(&saw));
    register(&grid, "long", move |_, context| {
        begins.fetch_add(1, Ordering::SeqCst);
        waits.pass();
        sees.fetch_add(usize::from(context.is_cancelled()), Ordering::SeqCst);
        Ok(None)
    });
    register(&grid, "short", |argument, _| Ok(Some(argument.clone())));
    let executor = grid.scheduled_executor("slow");
    let code = |name: &str| Code::named(name, long(1));
    let partition = PartitionId::new(9).unwrap();
    let plan = TaskPlan::at_fixed_rate(code("long"), Duration::ZERO, Duration::from_millis(1));
    let task = executor.schedule_on_partition(plan, partition).wait().unwrap();
    door.visited_by(1);
    for _ in 0..20 {
        let other = TaskPlan::once(code("short"), Duration::from_millis(1));
        let other = executor.schedule_on_partition(other, partition).wait().unwrap();
        assert_eq!(executor.result(&other).wait(), Ok(Some(long(1))));
        executor.dispose(&other).wait().unwrap();
    }
    assert_eq!(begun.load(Ordering::SeqCst), 1, "its next runs are left out");
    assert_eq!(executor.cancel(&task).wait(), Ok(true));
    door.open();
    let ended = ScheduledTask::on_partition(partition, task.name.clone());
    let (clock, begin) = (stages.clock(), stages.clock().now());
    while executor.statistics(&ended).wait().unwrap().runs == 0 {
        assert!(clock.now() < begin + LONG, "its end is not told");
        std::thread::yield_now();
    }
    assert_eq!(saw.load(Ordering::SeqCst), 1);
}

/// A task that was due while the queue of its threads was full failed for ever.
#[test]
fn a_task_that_is_due_while_its_threads_are_full_runs_later_and_once() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("*", ExecutorServiceSettings { threads: 1, capacity: 1 });
    let (grid, runs) = counting(&stages, settings);
    let door = Arc::new(Door::default());
    let waits = Arc::clone(&door);
    register(&grid, "wait", move |_, _| {
        waits.pass();
        Ok(None)
    });
    let (executor, partition) = (grid.scheduled_executor("busy"), PartitionId::new(9).unwrap());
    let schedule = |code| {
        executor.schedule_on_partition(TaskPlan::once(code, Duration::ZERO), partition).wait().unwrap()
    };
    schedule(Code::named("wait", long(0)));
    door.visited_by(1);
    // One of them has the only place of the queue.
    let tasks: Vec<_> = (0..5).map(|_| schedule(count(0))).collect();
    let (clock, begin) = (stages.clock(), stages.clock().now());
    let mut put_off = BTreeSet::new();
    while put_off.len() < tasks.len() - 1 {
        assert!(clock.now() < begin + LONG, "they do not wait for another time");
        put_off.extend(tasks.iter().filter(|task| executor.delay(task).wait().unwrap() > Duration::ZERO));
    }
    assert!(tasks.iter().all(|task| executor.is_done(task).wait() == Ok(false)));
    door.open();
    let given: BTreeSet<_> =
        tasks.iter().map(|task| number(&executor.result(task).wait().unwrap().unwrap())).collect();
    assert_eq!((given, runs.load(Ordering::SeqCst)), ((1..=5).collect(), 5));
    assert!(tasks.iter().all(|task| executor.statistics(task).wait().unwrap().runs == 1));
}

#[test]
fn a_task_is_found_by_its_name_wherever_it_lives() {
    let stages = Stages::simulated(4);
    let (grid, _) = counting(&stages, GridSettings::default());
    let executor = grid.scheduled_executor("found");
    let plan = || TaskPlan::once(count(0), second(1)).named("t");
    assert_eq!(executor.find("t"), None);
    let of_key = executor.schedule_on_key_owner(plan(), &long(5)).wait().unwrap();
    assert_eq!(executor.find("t"), Some(of_key.clone()));
    let of_name = executor.schedule(plan()).wait().unwrap();
    assert_ne!(of_name, of_key);
    assert_eq!(executor.find("t"), Some(of_name.clone()), "its own partition first");
    let of_member = executor.schedule_on_member(plan(), grid.member()).wait().unwrap();
    assert_eq!(executor.find("t"), Some(of_member.clone()), "the member before");
    let list = executor.task_list().wait().unwrap();
    assert_eq!((&*list.executor, list.tasks.len()), ("found", 3));
    for (gone, next) in [(of_member, Some(of_name.clone())), (of_name, Some(of_key.clone())), (of_key, None)]
    {
        executor.dispose(&gone).wait().unwrap();
        assert_eq!(executor.find("t"), next);
    }
}
