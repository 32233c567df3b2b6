//! Which task comes out of the queues, one step at a time.

use super::*;
use crate::polled::grouped_queue::LIFO_RUN;
use crate::polled::run_queues::BALANCE_EVERY;

/// A pool whose log says which task had a turn; tasks idle after each turn.
struct Logged {
    pool: Arc<TestPool>,
    log: Arc<Mutex<Vec<usize>>>,
}

impl Logged {
    fn new(workers: usize) -> Self {
        Self { pool: TestPool::by_hand(workers), log: Arc::default() }
    }

    /// An idle task that logs `id` when it has a turn.
    fn idle(&self, group: &Group, id: usize) -> TaskHandle {
        let log = Arc::clone(&self.log);
        let handle = self.pool.spawn(group, move |_: &mut TurnContext<'_>| {
            log.lock().unwrap().push(id);
            Turn::Idle
        });
        self.pool.settle();
        self.log.lock().unwrap().clear();
        handle
    }

    fn take_log(&self) -> Vec<usize> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

#[test]
fn the_owner_takes_the_newest_but_soon_the_oldest() {
    let logged = Logged::new(1);
    let tasks: Vec<_> = (0..8).map(|id| logged.idle(&logged.pool.group, id)).collect();
    tasks.iter().for_each(TaskHandle::wake);
    logged.pool.settle();
    let mut expected: Vec<_> = (8 - LIFO_RUN as usize..8).rev().collect();
    expected.extend([0, 3, 2, 1]);
    assert_eq!(logged.take_log(), expected);
}

#[test]
fn new_tasks_have_their_first_turn_in_order() {
    let logged = Logged::new(1);
    let handles: Vec<_> = (0..6)
        .map(|id| {
            let log = Arc::clone(&logged.log);
            logged.pool.spawn(&logged.pool.group, move |_: &mut TurnContext<'_>| {
                log.lock().unwrap().push(id);
                Turn::Done
            })
        })
        .collect();
    logged.pool.settle();
    assert_eq!(logged.take_log(), [0, 1, 2, 3, 4, 5]);
    assert!(handles.iter().all(TaskHandle::is_done));
}

#[test]
fn a_thief_takes_the_oldest() {
    let logged = Logged::new(2);
    let tasks: Vec<_> = (0..3).map(|id| logged.idle(&logged.pool.group, id)).collect();
    tasks.iter().for_each(TaskHandle::wake);
    assert!(logged.pool.queues.pop(1).is_none(), "all of them are at home on worker 0");
    assert!(logged.pool.step(1));
    assert_eq!(logged.take_log(), [0]);
    assert_eq!(logged.pool.snapshot().stolen, 1);
    logged.pool.settle();
}

#[test]
fn a_thief_takes_from_the_longest_queue() {
    let pool = TestPool::by_hand(3);
    let idle = |_: &mut TurnContext<'_>| Turn::Idle;
    let handles: Vec<_> = (0..5).map(|_| pool.spawn(&pool.group, idle)).collect();
    let tasks = pool.queues.drain();
    assert_eq!((tasks.len(), pool.queues.depth(), pool.queues.has_work()), (5, 0, false));
    let last = Arc::as_ptr(&tasks[2]);
    for (index, task) in tasks.into_iter().enumerate() {
        pool.queues.push(if index < 2 { 0 } else { 1 }, task, Position::Woken);
    }
    let stolen = pool.queues.steal(2).unwrap();
    assert_eq!(Arc::as_ptr(&stolen), last, "the oldest of worker 1, which has three");
    stolen.discard();
    pool.queues.drain().into_iter().for_each(Task::discard);
    assert!(handles.iter().all(TaskHandle::is_done));
}

#[test]
fn a_busy_worker_relieves_a_longer_queue() {
    let pool = TestPool::by_hand(2);
    let ran = Arc::new(Mutex::new(vec![0_usize; 21]));
    let handles: Vec<_> = (0..21)
        .map(|id| {
            let ran = Arc::clone(&ran);
            pool.spawn(&pool.group, move |_: &mut TurnContext<'_>| {
                ran.lock().unwrap()[id] += 1;
                Turn::Again
            })
        })
        .collect();
    for (index, task) in pool.queues.drain().into_iter().enumerate() {
        pool.queues.push(usize::from(index == 0), task, Position::Again);
    }
    // Worker 0 is stuck in a turn; worker 1 always has something of its own to do.
    for _ in 0..BALANCE_EVERY * 21 * 21 {
        pool.step(1);
    }
    let ran = ran.lock().unwrap();
    assert!(ran.iter().filter(|&&turns| turns > 0).count() >= 10, "{ran:?}");
    pool.queues.drain().into_iter().for_each(Task::discard);
    drop(handles);
}

#[test]
fn the_oldest_entry_and_the_depth_are_told() {
    let pool = TestPool::by_hand(2);
    assert_eq!((pool.queues.depth(), pool.queues.oldest()), (0, None));
    let handle = pool.spawn(&pool.group, |_: &mut TurnContext<'_>| Turn::Done);
    assert_eq!((pool.queues.depth(), pool.queues.oldest()), (1, Some(pool.env().now())));
    assert!(pool.queues.has_work());
    pool.settle();
    assert_eq!(handle.wait(), Ok(()));
}

#[test]
fn a_cancelled_idle_task_goes_first() {
    let logged = Logged::new(1);
    let victim = logged.idle(&logged.pool.group, 0);
    let others: Vec<_> = (1..40).map(|id| logged.idle(&logged.pool.group, id)).collect();
    others.iter().for_each(TaskHandle::wake);
    victim.cancel();
    assert!(logged.pool.step(0));
    assert!(victim.is_done());
    assert_eq!(logged.take_log(), [], "a cancelled task has no turn");
    logged.pool.settle();
}
