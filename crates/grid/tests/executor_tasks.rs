//! Tasks run where they are sent, with what they need; each executor is on its own; a failure is its task's own.

mod tasks;

use filbert_grid::{
    Code, ExecutorServiceSettings, Grid, GridError, GridSettings, Registry, Service, TaskContext,
};
use filbert_pool::{Stages, SubmitError, TaskError};
use filbert_wire::{Data, PartitionId};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tasks::{Door, LONG, Task, register};

fn number(number: i64) -> Data {
    Data::new(-8, &number.to_be_bytes())
}

fn read(data: &Data) -> Result<i64, String> {
    let bytes = data.payload().try_into().map_err(|_| format!("{data:?} is no number"))?;
    Ok(i64::from_be_bytes(bytes))
}

fn call(name: &str, argument: i64) -> Code {
    Code::named(name, number(argument))
}

#[test]
fn a_task_runs_where_it_is_sent_and_uses_the_grid() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    register(&grid, "twice", |argument, context| {
        let list = context.grid().list("seen");
        list.add(argument).wait().map_err(|error| error.to_string())?;
        let partition = context.partition().map_or(-1, |partition| i64::from(partition.number()));
        Ok(Some(number(2 * read(argument)? + 1000 * partition)))
    });
    let service = grid.executor("reports");
    assert_eq!(service.submit(call("twice", 4)).wait(), Ok(Some(number(8 - 1000))));
    let partition = PartitionId::new(3).unwrap();
    assert_eq!(service.submit_to_partition(call("twice", 4), partition).wait(), Ok(Some(number(3008))));
    let key = Data::new(-11, b"\0\0\0\x01k");
    let expected = number(8 + 1000 * i64::from(key.partition().number()));
    assert_eq!(service.submit_to_key_owner(call("twice", 4), &key).wait(), Ok(Some(expected)));
    assert_eq!(service.submit_to_member(call("twice", 4), grid.member()).wait(), Ok(Some(number(-992))));
    for (member, result) in service.submit_to_all(call("twice", 5)) {
        assert_eq!((member, result.wait()), (grid.member(), Ok(Some(number(-990)))));
    }
    assert_eq!(grid.list("seen").size().wait(), Ok(5));
    let stranger = grid.new_id();
    let lost = service.submit_to_member(call("twice", 4), stranger).wait();
    assert_eq!(lost, Err(GridError::NoSuchMember { member: stranger, here: grid.member() }));
}

#[test]
fn a_client_calls_by_class_and_an_unknown_task_is_told_so() {
    let stages = Stages::start().unwrap();
    let append = |fields: &[u8]| {
        let text = fields.to_vec();
        let run = |argument: &Data, _: &TaskContext<'_>| Ok(Some(argument.clone()));
        Ok(Task(Data::new(-12, &[&text[..], b"!"].concat()), run))
    };
    let registry = Registry::new().with_task_class(66, 5, append);
    let grid = Grid::with(&stages, GridSettings::default(), registry);
    let service = grid.executor("clients");
    let task = |class: i32| {
        let payload = [&[1], &66_i32.to_be_bytes()[..], &class.to_be_bytes(), b"hi"].concat();
        Code::from_data(&Data::new(-2, &payload)).unwrap()
    };
    assert_eq!(service.submit(task(5)).wait(), Ok(Some(Data::new(-12, b"hi!"))));
    let unknown = service.submit(task(6)).wait();
    assert!(matches!(unknown, Err(GridError::NotRegistered { what: "task", .. })), "{unknown:?}");
    let unknown = service.submit(call("nothing", 0)).wait();
    assert!(matches!(unknown, Err(GridError::NotRegistered { what: "task", .. })), "{unknown:?}");
}

#[test]
fn ten_thousand_panics_fail_their_tasks_and_nothing_else() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    register(&grid, "bomb", |argument, _| match read(argument)? {
        odd if odd % 2 == 1 => panic!("boom {odd}"),
        three if three % 3 == 0 => Err(format!("no {three}")),
        other => Ok(Some(number(other))),
    });
    let service = grid.executor("bombs");
    let results: Vec<_> = (0..20_000).map(|n| service.submit(call("bomb", n))).collect();
    for (n, result) in results.into_iter().enumerate() {
        match result.wait() {
            Err(GridError::Task(TaskError::Panicked { message, .. })) => {
                assert_eq!(message, format!("boom {n}"))
            }
            Err(GridError::UserCode { message, .. }) => assert_eq!(message, format!("no {n}")),
            Ok(Some(given)) => assert_eq!((given, n % 2), (number(n as i64), 0)),
            other => panic!("{n}: {other:?}"),
        }
    }
    assert_eq!(service.submit(call("bomb", 2)).wait(), Ok(Some(number(2))));
}

#[test]
fn an_executor_that_is_full_does_not_affect_another() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("small-*", ExecutorServiceSettings { threads: 2, capacity: 3 });
    settings.check().unwrap();
    let grid = Grid::with(&stages, settings, Registry::new());
    let door = Arc::new(Door::default());
    let waits = Arc::clone(&door);
    register(&grid, "wait", move |_, _| {
        waits.pass();
        Ok(None)
    });
    register(&grid, "same", |argument, _| Ok(Some(argument.clone())));
    let (full, other) = (grid.executor("small-a"), grid.executor("small-b"));
    let mut taken: Vec<_> = (0..2).map(|_| full.submit(call("wait", 0))).collect();
    door.visited_by(2);
    taken.extend((0..3).map(|_| full.submit(call("wait", 0))));
    let refused = full.submit(call("wait", 0)).wait();
    assert!(
        matches!(refused, Err(GridError::Refused(SubmitError::Overloaded { capacity: 3, .. }))),
        "{refused:?}"
    );
    for n in 0..1_000 {
        assert_eq!(other.submit(call("same", n)).wait(), Ok(Some(number(n))));
    }
    door.open();
    taken.into_iter().for_each(|task| assert_eq!(task.wait(), Ok(None)));
}

#[test]
fn a_task_that_is_cancelled_never_runs_or_can_see_it() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("*", ExecutorServiceSettings { threads: 1, capacity: 100 });
    let grid = Grid::with(&stages, settings, Registry::new());
    let (door, ran, saw) =
        (Arc::new(Door::default()), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waits, cancelled) = (Arc::clone(&door), Arc::clone(&saw));
    register(&grid, "look", move |_, context| {
        assert!(!context.is_cancelled());
        waits.pass();
        cancelled.fetch_add(usize::from(context.is_cancelled()), Ordering::SeqCst);
        Ok(None)
    });
    let counts = Arc::clone(&ran);
    register(&grid, "count", move |_, _| {
        counts.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    });
    let service = grid.executor("one");
    let running = service.submit(call("look", 0));
    door.visited_by(1);
    let queued = service.submit(call("count", 0));
    assert!(queued.cancel(), "it had not begun");
    assert!(!running.cancel(), "it had");
    door.open();
    assert_eq!(service.submit(call("count", 0)).wait(), Ok(None));
    assert_eq!((ran.load(Ordering::SeqCst), saw.load(Ordering::SeqCst)), (1, 1));
}

/// Whatever a cancellation says is true, however the threads run.
#[test]
fn a_race_between_begin_and_cancel_has_one_winner() {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    let ran = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&ran);
    register(&grid, "count", move |_, _| {
        counts.fetch_add(1, Ordering::SeqCst);
        Ok(None)
    });
    let service = grid.executor("race");
    let mut expected = 0;
    for _ in 0..5_000 {
        let one = service.submit(call("count", 0));
        expected += usize::from(!one.cancel());
    }
    // The last of each thread may still run when its cancellation lost.
    let clock = stages.clock();
    let deadline = clock.now() + LONG;
    while ran.load(Ordering::SeqCst) < expected && clock.now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(ran.load(Ordering::SeqCst), expected);
}

#[test]
fn an_executor_that_is_shut_down_rejects_and_finishes_what_it_has() {
    let stages = Stages::start().unwrap();
    let mut settings = GridSettings::default();
    settings.executors.set("*", ExecutorServiceSettings { threads: 1, capacity: 100 });
    let grid = Grid::with(&stages, settings, Registry::new());
    let door = Arc::new(Door::default());
    let waits = Arc::clone(&door);
    register(&grid, "wait", move |argument, _| {
        waits.pass();
        Ok(Some(argument.clone()))
    });
    let service = grid.executor("ends");
    let taken: Vec<_> = (0..3).map(|n| service.submit(call("wait", n))).collect();
    assert_eq!(service.is_shutdown().wait(), Ok(false));
    service.shutdown().wait().unwrap();
    assert_eq!(grid.executor("ends").is_shutdown().wait(), Ok(true));
    let rejected = service.submit(call("wait", 0)).wait();
    assert_eq!(rejected, Err(GridError::RejectedExecution { executor: "ends".to_owned() }));
    door.open();
    for (n, task) in taken.into_iter().enumerate() {
        assert_eq!(task.wait(), Ok(Some(number(n as i64))));
    }
    assert!(grid.structures().destroy(Service::Executor, "ends"));
    assert!(matches!(service.submit(call("wait", 0)).wait(), Err(GridError::Destroyed { .. })));
    assert_eq!(
        grid.executor("ends").submit(call("wait", 7)).wait(),
        Ok(Some(number(7))),
        "a new one of that name"
    );
}

#[test]
fn clients_cannot_make_threads_without_end() {
    let stages = Stages::start().unwrap();
    let settings = GridSettings { max_executors: 2, ..Default::default() };
    let grid = Grid::with(&stages, settings, Registry::new());
    register(&grid, "same", |argument, _| Ok(Some(argument.clone())));
    for name in ["a", "b", "a"] {
        assert_eq!(grid.executor(name).submit(call("same", 1)).wait(), Ok(Some(number(1))));
    }
    let refused = grid.executor("c").submit(call("same", 1)).wait().unwrap_err();
    assert!(refused.to_string().contains("max_executors"), "{refused}");
    let bad = grid.executor("no/name");
    assert_eq!(bad.is_shutdown().wait(), Ok(false));
}
